//! Solves with a factor by supernodes. A solve is bound by how fast the factor is read: columns are read four at a time,
//! subtrees by tasks of their own, and a copy of the factor in single precision halves what is read.

use super::kernel::{Real, backward, forward};
use super::tree::{Supernode, Tree};
use pulp::Arch;

/// A factor and its tree: B scalars a vertex.
pub(crate) struct Solve<'a, const B: usize, S> {
    pub(super) tree: &'a Tree,
    pub(super) panels: &'a [S],
    /// Supernodes that take part; all if there are none in the list. What others hold is neither read nor written.
    pub(super) active: &'a [bool],
    /// Vector instructions that the machine has; which ones does not change any bit.
    pub(super) arch: Arch,
}

/// Which half of a solve.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Up,
    Down,
}

impl<const B: usize, S: Real> Solve<'_, B, S> {
    /// Solves for N right-hand sides side by side, in place and in the order of elimination. `passed` has room for the
    /// rows of all supernodes.
    pub(crate) fn solve<const N: usize>(&self, x: &mut [[S; N]], passed: &mut [[S; N]]) {
        let roots = &self.tree.roots;
        self.subtrees(Way::Up, roots, true, None, x, passed);
        self.subtrees(Way::Down, roots, true, None, x, passed);
    }

    /// Subtrees side by side, whose unknowns and rows are `x` and `passed`; `above` is the front of their parent.
    fn subtrees<const N: usize>(
        &self,
        way: Way,
        list: &[u32],
        parallel: bool,
        above: Option<Above<'_, S, N>>,
        mut x: &mut [[S; N]],
        mut passed: &mut [[S; N]],
    ) {
        if parallel && list.len() > 1 {
            let (left, right) = list.split_at(list.len() / 2);
            let middle = self.begin(right[0] as usize);
            let first = self.begin(left[0] as usize);
            let (left_x, right_x) = x.split_at_mut(middle[0] - first[0]);
            let (left_passed, right_passed) = passed.split_at_mut(middle[1] - first[1]);
            rayon::join(
                || self.subtrees(way, left, true, above, left_x, left_passed),
                || self.subtrees(way, right, true, above, right_x, right_passed),
            );
            return;
        }
        for &c in list {
            let node = &self.tree.nodes[c as usize];
            let [x_begin, passed_begin] = self.begin(c as usize);
            let (own_x, rest_x) = x.split_at_mut(B * node.columns.end - x_begin);
            let (own_passed, rest_passed) = passed.split_at_mut(B * node.rows.end - passed_begin);
            match way {
                _ if !self.takes_part(c) => {}
                Way::Up => self.up(c as usize, own_x, own_passed),
                Way::Down => self.down(c as usize, above, own_x, own_passed),
            }
            (x, passed) = (rest_x, rest_passed);
        }
    }

    fn takes_part(&self, node: u32) -> bool {
        self.active.get(node as usize).is_none_or(|active| *active)
    }

    /// First unknown and first row of the subtree of a node.
    fn begin(&self, node: usize) -> [usize; 2] {
        let first = &self.tree.nodes[self.tree.nodes[node].first];
        [B * first.columns.start, B * first.rows.start]
    }

    fn panel(&self, node: &Supernode) -> (&[S], usize, usize) {
        let (w, h) = (B * node.width(), B * node.height());
        (&self.panels[node.panel..node.panel + w * h], w, h)
    }

    /// Forward substitution; what the subtree takes from its ancestors is left in `passed`.
    fn up<const N: usize>(&self, at: usize, x: &mut [[S; N]], passed: &mut [[S; N]]) {
        let node = &self.tree.nodes[at];
        let (panel, w, h) = self.panel(node);
        let (x_below, x) = x.split_at_mut(x.len() - w);
        let (passed_below, passed) = passed.split_at_mut(passed.len() - (h - w));
        let children = &node.children;
        self.subtrees(
            Way::Up,
            children,
            node.parallel_solve,
            None,
            x_below,
            passed_below,
        );
        passed.fill([S::default(); N]);
        let base = self.begin(at)[1];
        for &c in children.iter().filter(|c| self.takes_part(**c)) {
            let rows = self.tree.nodes[c as usize].rows.clone();
            let from = passed_below[B * rows.start - base..].chunks_exact(B);
            for (from, &place) in from.zip(&self.tree.in_parent[rows]) {
                let place = B * place as usize;
                let to = if place < w {
                    &mut x[place..place + B]
                } else {
                    &mut passed[place - w..place - w + B]
                };
                for (t, f) in to.iter_mut().zip(from) {
                    for k in 0..N {
                        t[k] += f[k];
                    }
                }
            }
        }
        self.arch.dispatch(|| forward(panel, w, h, x, passed));
    }

    /// Back substitution; `passed` takes the solution at the rows of the supernode.
    fn down<const N: usize>(
        &self,
        at: usize,
        above: Option<Above<'_, S, N>>,
        x: &mut [[S; N]],
        passed: &mut [[S; N]],
    ) {
        let node = &self.tree.nodes[at];
        let (panel, w, h) = self.panel(node);
        let (x_below, x) = x.split_at_mut(x.len() - w);
        let (passed_below, passed) = passed.split_at_mut(passed.len() - (h - w));
        if let Some(above) = above {
            let places = &self.tree.in_parent[node.rows.clone()];
            for (to, &place) in passed.chunks_exact_mut(B).zip(places) {
                to.copy_from_slice(above.at::<B>(place as usize));
            }
        }
        self.arch.dispatch(|| backward(panel, w, h, x, passed));
        let above = Some(Above { x, passed });
        let children = &node.children;
        self.subtrees(
            Way::Down,
            children,
            node.parallel_solve,
            above,
            x_below,
            passed_below,
        );
    }
}

/// The solution at the columns and rows of a supernode.
#[derive(Clone, Copy)]
struct Above<'a, S, const N: usize> {
    x: &'a [[S; N]],
    passed: &'a [[S; N]],
}

impl<S, const N: usize> Above<'_, S, N> {
    fn at<const B: usize>(&self, place: usize) -> &[[S; N]] {
        let place = B * place;
        match place.checked_sub(self.x.len()) {
            None => &self.x[place..place + B],
            Some(row) => &self.passed[row..row + B],
        }
    }
}
