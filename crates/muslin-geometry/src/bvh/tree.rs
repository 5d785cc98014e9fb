//! The hierarchy itself: building, refitting, and telling when it has aged.

use super::bounds::{Bounds, Bounds4, Splat};
use super::elements::{Element, elements};
use super::leaves::LeafLists;
use crate::validate::InputError;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Vertices or nodes per parallel task. Chunks never depend on the thread count.
const CHUNK: usize = 2048;

/// Hierarchy over the faces, edges and vertices of one mesh.
///
/// Refit it whenever positions change; rebuild it when [`Bvh::degradation`] says so; make a new one when the topology
/// changes. Boxes are grown by half the margin, so that two primitives (of this or of another mesh refitted with the same
/// margin) are paired when their boxes come closer than the margin.
#[derive(Clone, Debug)]
pub struct Bvh {
    /// In the order of the leaves.
    pub(super) elements: Vec<Element>,
    /// Per vertex, grown.
    pub(super) boxes: Vec<Bounds>,
    /// Level by level, leaves first. Lane `k` of node `i` of a level is element or node `4 i + k` of the level below.
    pub(super) nodes: Vec<Bounds4>,
    /// Box of each leaf node as a whole.
    pub(super) leaf_bounds: Vec<Bounds>,
    /// What each leaf owns.
    pub(super) lists: LeafLists,
    /// Where each level starts in `nodes`.
    pub(super) levels: Vec<usize>,
    /// Cost just after the last rebuild.
    fresh_cost: f64,
    /// Scratch of the rebuild.
    keys: Vec<SortKey>,
}

#[derive(Clone, Copy, Debug)]
struct SortKey {
    center: [f32; 3],
    element: u32,
}

impl Bvh {
    /// Builds the hierarchy over all faces and edges and the vertices they use, with boxes around `positions` and no margin.
    pub fn new(
        positions: &[Vec3],
        faces: &[[u32; 3]],
        edges: &[[u32; 2]],
    ) -> Result<Self, InputError> {
        Self::with_points(positions, faces, edges, &[])
    }

    /// The same, with the vertices in `points` included even if no face or edge uses them.
    pub fn with_points(
        positions: &[Vec3],
        faces: &[[u32; 3]],
        edges: &[[u32; 2]],
        points: &[u32],
    ) -> Result<Self, InputError> {
        let elements = elements(positions.len(), faces, edges, points)?;
        let mut levels = vec![0];
        let mut total = elements.len().div_ceil(4).max(1);
        let mut width = total;
        while width > 1 {
            levels.push(total);
            width = width.div_ceil(4);
            total += width;
        }
        let mut lists = LeafLists::default();
        lists.rebuild(&elements);
        let mut bvh = Self {
            leaf_bounds: vec![Bounds::EMPTY; elements.len().div_ceil(4)],
            lists,
            boxes: vec![Bounds::EMPTY; positions.len()],
            nodes: vec![Bounds4::EMPTY; total],
            levels,
            fresh_cost: 1.0,
            keys: Vec::with_capacity(elements.len()),
            elements,
        };
        bvh.refit(positions, 0.0)?;
        bvh.rebuild();
        Ok(bvh)
    }

    /// Number of vertices this hierarchy expects.
    pub fn vertices(&self) -> usize {
        self.boxes.len()
    }

    /// The grown box of a vertex; the box of an edge or a face is the union of its vertices' boxes.
    pub fn vertex_bounds(&self, vertex: u32) -> Bounds {
        self.boxes[vertex as usize]
    }

    /// Recomputes all boxes around `positions`, grown for pairs closer than `margin` (m).
    pub fn refit(&mut self, positions: &[Vec3], margin: f64) -> Result<(), InputError> {
        self.refit_swept(positions, positions, margin)
    }

    /// Recomputes all boxes around the motions from `start` to `end`, grown for pairs closer than `margin` (m).
    ///
    /// On an error the boxes are unspecified until the next successful refit.
    pub fn refit_swept(
        &mut self,
        start: &[Vec3],
        end: &[Vec3],
        margin: f64,
    ) -> Result<(), InputError> {
        for x in [start, end] {
            if x.len() != self.boxes.len() {
                return Err(InputError::LengthMismatch {
                    what: "positions of a hierarchy",
                    expected: self.boxes.len(),
                    found: x.len(),
                });
            }
        }
        if !(margin >= 0.0 && margin.is_finite()) {
            return Err(InputError::BadParameter {
                name: "margin",
                value: margin,
                needs: "finite and not negative",
            });
        }
        let radius = 0.5 * margin;
        let bad = self
            .boxes
            .par_chunks_mut(CHUNK)
            .zip(start.par_chunks(CHUNK).zip(end.par_chunks(CHUNK)))
            .enumerate()
            .filter_map(|(chunk, (boxes, (start, end)))| {
                let mut finite = true;
                for ((b, &x0), &x1) in boxes.iter_mut().zip(start).zip(end) {
                    finite &= x0.is_finite() & x1.is_finite();
                    *b = Bounds::swept_numbers(x0, x1, radius);
                }
                if finite {
                    return None;
                }
                let first = (0..start.len()).find(|&i| !(start[i] + end[i] * 0.0).is_finite());
                first.map(|i| chunk * CHUNK + i)
            })
            .min();
        if let Some(vertex) = bad {
            return Err(InputError::NotFinite { vertex });
        }
        self.refit_nodes();
        Ok(())
    }

    fn refit_nodes(&mut self) {
        let (elements, boxes) = (&self.elements, &self.boxes);
        let first_above = self.levels.get(1).copied().unwrap_or(self.nodes.len());
        self.nodes[..first_above]
            .par_chunks_mut(CHUNK)
            .zip(self.leaf_bounds.par_chunks_mut(CHUNK))
            .zip(elements.par_chunks(4 * CHUNK))
            .for_each(|((nodes, hulls), elements)| {
                let leaves = nodes.iter_mut().zip(hulls).zip(elements.chunks(4));
                for ((node, hull), children) in leaves {
                    let mut lanes = [Bounds::EMPTY; 4];
                    for (lane, element) in lanes.iter_mut().zip(children) {
                        *lane = element.bounds(boxes);
                    }
                    *node = Bounds4::new(&lanes);
                    *hull = lanes[0].union(lanes[1]).union(lanes[2].union(lanes[3]));
                }
            });
        self.lists.refit(boxes);
        for level in 1..self.levels.len() {
            let (below, above) = self.nodes.split_at_mut(self.levels[level]);
            let below = &below[self.levels[level - 1]..];
            let width = below.len().div_ceil(4);
            above[..width]
                .par_chunks_mut(CHUNK)
                .zip(below.par_chunks(4 * CHUNK))
                .for_each(|(nodes, below)| {
                    for (node, children) in nodes.iter_mut().zip(below.chunks(4)) {
                        let mut lanes = [Bounds::EMPTY; 4];
                        for (lane, child) in lanes.iter_mut().zip(children) {
                            *lane = child.union();
                        }
                        *node = Bounds4::new(&lanes);
                    }
                });
        }
    }

    /// How much slower queries have become since the last rebuild, as a ratio of box areas: 1 when fresh. Rebuilding pays
    /// from about 1.5 to 2.
    pub fn degradation(&self) -> f64 {
        self.cost() / self.fresh_cost
    }

    /// Area of the inner boxes relative to that of the elements, which no rebuild could improve.
    fn cost(&self) -> f64 {
        let first_above = self.levels.get(1).copied().unwrap_or(self.nodes.len());
        let sum = |nodes: &[Bounds4]| nodes.iter().map(Bounds4::half_area).sum::<f64>();
        let leaves = sum(&self.nodes[..first_above]);
        let inner = sum(&self.nodes[first_above..]);
        let ratio = (leaves + inner) / leaves;
        // All boxes without area, or too large to measure.
        if ratio.is_finite() { ratio } else { 1.0 }
    }

    /// Reorders the elements by where they are now. Boxes and margin stay as they are.
    pub fn rebuild(&mut self) {
        // By identity first, so that the result does not depend on the previous order.
        self.elements
            .sort_unstable_by_key(|e| (e.face, e.vertices, e.edges));
        let boxes = &self.boxes;
        self.keys.clear();
        self.keys
            .extend(self.elements.iter().enumerate().map(|(i, e)| SortKey {
                center: e.bounds(boxes).doubled_center(),
                element: i as u32,
            }));
        let capacity = 4usize.pow(self.levels.len() as u32 - 1);
        subdivide(&mut self.keys, capacity);
        let old = std::mem::take(&mut self.elements);
        self.elements
            .extend(self.keys.iter().map(|k| old[k.element as usize]));
        self.lists.rebuild(&self.elements);
        self.refit_nodes();
        self.fresh_cost = self.cost();
    }

    /// Calls `visit` with every leaf node, from `first` on and in order, whose box overlaps `query`.
    #[inline]
    pub(super) fn leaves_overlapping(
        &self,
        query: &Splat,
        first: usize,
        mut visit: impl FnMut(usize),
    ) {
        // Three pending siblings per level, sixteen levels for 32-bit indices.
        let mut stack = [(0u32, 0u32); 64];
        let top = self.levels.len() - 1;
        if top == 0 {
            if self.nodes[0].overlaps(query) != 0 {
                visit(0);
            }
            return;
        }
        stack[0] = (top as u32, 0);
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let (level, index) = stack[depth];
            let mut hits = self.nodes[self.levels[level as usize] + index as usize].overlaps(query);
            if level == 1 {
                while hits != 0 {
                    let leaf = 4 * index as usize + hits.trailing_zeros() as usize;
                    hits &= hits - 1;
                    if leaf >= first {
                        visit(leaf);
                    }
                }
            } else {
                // Highest lane first onto the stack, so that leaves come out in order.
                while hits != 0 {
                    let lane = hits.ilog2();
                    hits &= !(1 << lane);
                    let child = 4 * index + lane;
                    // Skipped when even the last leaf below it comes too early.
                    if (child as usize + 1) << (2 * (level - 1)) > first {
                        stack[depth] = (level - 1, child);
                        depth += 1;
                    }
                }
            }
        }
    }

    pub(super) fn leaf_count(&self) -> usize {
        self.elements.len().div_ceil(4)
    }

    /// The elements of a leaf node.
    #[inline]
    pub(super) fn leaf(&self, leaf: usize) -> &[Element] {
        &self.elements[4 * leaf..(4 * leaf + 4).min(self.elements.len())]
    }
}

/// Orders keys such that every aligned run of `4^k` is compact in space. `capacity` elements fit below one lane.
fn subdivide(keys: &mut [SortKey], capacity: usize) {
    if keys.len() <= 1 {
        return;
    }
    if capacity < 4 && keys.len() <= 4 {
        // Inside a leaf the order is free; by index it is also independent of how selection shuffles.
        keys.sort_unstable_by_key(|k| k.element);
        return;
    }
    let lanes = keys.len().div_ceil(capacity);
    if lanes == 1 {
        subdivide(keys, capacity / 4);
        return;
    }
    let middle = lanes.div_ceil(2) * capacity;
    let axis = longest_axis(keys);
    keys.select_nth_unstable_by(middle, |a, b| {
        a.center[axis]
            .total_cmp(&b.center[axis])
            .then(a.element.cmp(&b.element))
    });
    let (left, right) = keys.split_at_mut(middle);
    if keys_worth_a_task(left) {
        rayon::join(|| subdivide(left, capacity), || subdivide(right, capacity));
    } else {
        subdivide(left, capacity);
        subdivide(right, capacity);
    }
}

fn keys_worth_a_task(keys: &[SortKey]) -> bool {
    keys.len() > 4 * CHUNK
}

fn longest_axis(keys: &[SortKey]) -> usize {
    let mut lo = [f32::INFINITY; 3];
    let mut hi = [f32::NEG_INFINITY; 3];
    for k in keys {
        for axis in 0..3 {
            lo[axis] = lo[axis].min(k.center[axis]);
            hi[axis] = hi[axis].max(k.center[axis]);
        }
    }
    let size = [hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]];
    (0..3).fold(0, |a, b| if size[b] > size[a] { b } else { a })
}
