//! Numbers of a factor, by fronts: a supernode gathers its entries and the updates of its children, eliminates its
//! columns in dense arithmetic, and leaves an update for its parent. Subtrees are independent tasks.

use super::tree::{Supernode, Tree};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, Par};
use std::mem::MaybeUninit;

/// Where a block of the matrix belongs in the panel of its supernode.
pub(crate) struct Entry {
    /// Number of the block.
    pub(crate) slot: u32,
    /// Place of its first number in the panel.
    pub(super) at: u32,
}

/// A factorisation under way; blocks are B x B.
pub(super) struct Fronts<'a, const B: usize, F> {
    pub(super) tree: &'a Tree,
    /// Entries by supernode, and where those of each begin.
    pub(super) entries: &'a [Entry],
    pub(super) entry_start: &'a [u32],
    /// Columns of a block of the matrix.
    pub(super) block: F,
}

impl<const B: usize, F: Fn(&Entry) -> [[f64; B]; B] + Sync> Fronts<'_, B, F> {
    /// Factorises; fails with the column whose pivot is not positive.
    pub(super) fn factorise(&self, panels: &mut [f64], memory: &mut [f64]) -> Result<(), usize> {
        self.subtrees(&self.tree.roots, true, panels, memory)
    }

    fn subtrees(
        &self,
        list: &[u32],
        parallel: bool,
        mut panels: &mut [f64],
        memory: &mut [f64],
    ) -> Result<(), usize> {
        if let (&[only], true) = (list, parallel) {
            return self.subtree(only as usize, panels, memory);
        }
        if parallel && list.len() > 1 {
            let (left, right) = list.split_at(list.len() / 2);
            let need = left.iter().map(|c| self.tree.nodes[*c as usize].memory);
            let (left_memory, right_memory) = memory.split_at_mut(need.sum());
            let length = left.iter().map(|c| self.tree.panels_below(*c as usize));
            let (left_panels, right_panels) = panels.split_at_mut(length.sum());
            let (a, b) = rayon::join(
                || self.subtrees(left, true, left_panels, left_memory),
                || self.subtrees(right, true, right_panels, right_memory),
            );
            return a.and(b);
        }
        let mut held = 0;
        for &c in list {
            let (own, rest) = panels.split_at_mut(self.tree.panels_below(c as usize));
            self.subtree(c as usize, own, &mut memory[held..])?;
            held += self.update_len(c as usize);
            panels = rest;
        }
        Ok(())
    }

    fn update_len(&self, node: usize) -> usize {
        (B * self.tree.nodes[node].rows.len()).pow(2)
    }

    fn subtree(&self, at: usize, panels: &mut [f64], memory: &mut [f64]) -> Result<(), usize> {
        let node = &self.tree.nodes[at];
        let (w, h) = (B * node.width(), B * node.height());
        let (below, panel) = panels.split_at_mut(panels.len() - w * h);
        let (update, rest) = memory.split_at_mut((h - w) * (h - w));
        self.subtrees(&node.children, node.parallel, below, rest)?;
        panel.fill(0.0);
        update.fill(0.0);
        let entries = self.entry_start[at] as usize..self.entry_start[at + 1] as usize;
        for entry in &self.entries[entries] {
            for (l, column) in (self.block)(entry).iter().enumerate() {
                let begin = entry.at as usize + l * h;
                panel[begin..begin + B].copy_from_slice(column);
            }
        }
        let mut held = 0;
        for &c in &node.children {
            let child = &self.tree.nodes[c as usize];
            let length = self.update_len(c as usize);
            let places = &self.tree.in_parent[child.rows.clone()];
            extend_add::<B>(&rest[held..held + length], places, node, panel, update);
            held += if node.parallel { child.memory } else { length };
        }
        eliminate(panel, update, w, h).map_err(|k| node.columns.start + k / B)
    }
}

/// Adds the lower triangle of a child's update to the front of its parent.
fn extend_add<const B: usize>(
    from: &[f64],
    places: &[u32],
    node: &Supernode,
    panel: &mut [f64],
    update: &mut [f64],
) {
    let (width, height) = (node.width(), node.height());
    let length = B * places.len();
    for (j, &column) in places.iter().enumerate() {
        let column = column as usize;
        // Rows count from the first that the target holds.
        let (target, stride, skip) = if column < width {
            (&mut panel[column * B * height * B..], height * B, 0)
        } else {
            let stride = (height - width) * B;
            (&mut update[(column - width) * B * stride..], stride, width)
        };
        for l in 0..B {
            let source = &from[(j * B + l) * length..][..length];
            let target = &mut target[l * stride..][..stride];
            for (i, &row) in places.iter().enumerate().skip(j) {
                let to = (row as usize - skip) * B;
                let (to, source) = (&mut target[to..to + B], &source[i * B..i * B + B]);
                for (t, s) in to.iter_mut().zip(source) {
                    *t += s;
                }
            }
        }
    }
}

/// Eliminates the first `w` columns of a front of height `h`; fails with the column whose pivot is not positive.
fn eliminate(panel: &mut [f64], update: &mut [f64], w: usize, h: usize) -> Result<(), usize> {
    if w == 0 {
        return Ok(());
    }
    let front = MatMut::from_column_major_slice_mut(panel, h, w);
    let (mut top, mut bottom) = front.split_at_row_mut(w);
    let need = cholesky_in_place_scratch::<f64>(w, Par::Seq, Default::default());
    let mut small = [MaybeUninit::<u8>::uninit(); 1 << 13];
    let mut large;
    let stack = if need.unaligned_bytes_required() <= small.len() {
        MemStack::new(&mut small)
    } else {
        large = MemBuffer::new(need);
        MemStack::new(&mut large)
    };
    let done = cholesky_in_place(
        top.rb_mut(),
        Default::default(),
        Par::Seq,
        stack,
        Default::default(),
    );
    if let Err(LltError::NonPositivePivot { index }) = done {
        return Err(index);
    }
    if h == w {
        return Ok(());
    }
    solve_lower_triangular_in_place(top.rb(), bottom.rb_mut().transpose_mut(), Par::Seq);
    matmul(
        MatMut::from_column_major_slice_mut(update, h - w, h - w),
        BlockStructure::TriangularLower,
        Accum::Add,
        bottom.rb(),
        BlockStructure::Rectangular,
        bottom.rb().transpose(),
        BlockStructure::Rectangular,
        -1.0,
        Par::Seq,
    );
    Ok(())
}
