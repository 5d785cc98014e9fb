//! Candidate pairs: within one mesh, and between two.
//!
//! Leaves are walked in fixed chunks; each chunk writes to its own lists, which are joined in order. The result is therefore
//! the same, in the same order, for any number of threads. That order follows the tree and changes when it is rebuilt;
//! whoever needs an order that depends on the geometry alone calls [`CandidatePairs::sort`], or better sorts what is left after
//! the distances have been measured, which is much less.

use super::bounds::Splat;
use super::elements::NONE;
use super::tree::Bvh;
use rayon::prelude::*;

/// Leaves per parallel task.
const CHUNK: usize = 64;

/// Near pairs of primitives. Keep one of these and hand it in again: its memory is reused.
#[derive(Clone, Debug, Default)]
pub struct CandidatePairs {
    /// Vertex (of the first mesh), face (of the second, or of the same).
    pub vertex_face: Vec<[u32; 2]>,
    /// Face of the first mesh, vertex of the second. Empty for pairs within one mesh.
    pub face_vertex: Vec<[u32; 2]>,
    /// Edge of the first mesh, edge of the second; within one mesh the smaller index comes first.
    pub edge_edge: Vec<[u32; 2]>,
    chunks: Vec<Lists>,
}

/// Pairs of faces whose boxes overlap. Keep one of these and hand it in again: its memory is reused.
#[derive(Clone, Debug, Default)]
pub struct FacePairs {
    /// Face (of the first mesh), face (of the second); within one mesh the smaller index comes first.
    pub faces: Vec<[u32; 2]>,
    chunks: Vec<Vec<[u32; 2]>>,
}

#[derive(Clone, Debug, Default)]
struct Lists {
    vertex_face: Vec<[u32; 2]>,
    face_vertex: Vec<[u32; 2]>,
    edge_edge: Vec<[u32; 2]>,
}

impl CandidatePairs {
    /// Number of pairs of all kinds.
    pub fn len(&self) -> usize {
        self.vertex_face.len() + self.face_vertex.len() + self.edge_edge.len()
    }

    /// Whether there are no pairs at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Brings all lists into ascending order, which no longer depends on the shape of the tree.
    pub fn sort(&mut self) {
        self.vertex_face.par_sort_unstable();
        self.face_vertex.par_sort_unstable();
        self.edge_edge.par_sort_unstable();
    }

    /// Fills the lists, leaf by leaf.
    fn collect(&mut self, leaves: usize, walk: impl Fn(usize, &mut Lists) + Sync) {
        let count = leaves.div_ceil(CHUNK);
        if self.chunks.len() < count {
            self.chunks.resize_with(count, Lists::default);
        }
        let chunks = &mut self.chunks[..count];
        chunks.par_iter_mut().enumerate().for_each(|(chunk, out)| {
            out.vertex_face.clear();
            out.face_vertex.clear();
            out.edge_edge.clear();
            for leaf in chunk * CHUNK..((chunk + 1) * CHUNK).min(leaves) {
                walk(leaf, out);
            }
        });
        let chunks = &self.chunks[..count];
        join(&mut self.vertex_face, chunks, |c| &c.vertex_face);
        join(&mut self.face_vertex, chunks, |c| &c.face_vertex);
        join(&mut self.edge_edge, chunks, |c| &c.edge_edge);
    }
}

fn join<C: Sync>(
    all: &mut Vec<[u32; 2]>,
    chunks: &[C],
    part: impl Fn(&C) -> &Vec<[u32; 2]> + Copy + Sync,
) {
    let total = chunks.iter().map(|c| part(c).len()).sum();
    // Not cleared first: in steady state nothing is written twice.
    all.resize(total, [0; 2]);
    copy(all, chunks, part);
}

/// Copies the chunks one after the other into `all`, halves in parallel.
fn copy<C: Sync>(
    all: &mut [[u32; 2]],
    chunks: &[C],
    part: impl Fn(&C) -> &Vec<[u32; 2]> + Copy + Sync,
) {
    if chunks.len() <= 16 {
        let mut rest = all;
        for chunk in chunks {
            let (here, after) = rest.split_at_mut(part(chunk).len());
            here.copy_from_slice(part(chunk));
            rest = after;
        }
        return;
    }
    let (first, second) = chunks.split_at(chunks.len() / 2);
    let (here, after) = all.split_at_mut(first.iter().map(|c| part(c).len()).sum());
    rayon::join(|| copy(here, first, part), || copy(after, second, part));
}

impl Bvh {
    /// Vertex-face and edge-edge pairs of this mesh whose boxes overlap, each once, except those that share a vertex.
    pub fn self_pairs(&self, out: &mut CandidatePairs) {
        out.collect(self.leaf_count(), |leaf, out| {
            let query = Splat::new(&self.leaf_bounds[leaf]);
            self.leaves_overlapping(&query, leaf, |other| {
                leaf_pair::<true>(self, leaf, self, other, out);
            });
        });
    }

    /// Vertex-face, face-vertex and edge-edge pairs of this mesh and another whose boxes overlap, each once.
    ///
    /// Vertices of the two meshes are unrelated, even if they have the same index.
    pub fn pairs_with(&self, other: &Bvh, out: &mut CandidatePairs) {
        out.collect(self.leaf_count(), |leaf, out| {
            let query = Splat::new(&self.leaf_bounds[leaf]);
            other.leaves_overlapping(&query, 0, |theirs| {
                leaf_pair::<false>(self, leaf, other, theirs, out);
            });
        });
    }

    /// Pairs of faces of this mesh whose boxes overlap, each once, neighbours included.
    pub fn self_face_pairs(&self, out: &mut FacePairs) {
        out.collect(self, self, true);
    }

    /// Pairs of a face of this mesh and a face of another whose boxes overlap.
    pub fn face_pairs_with(&self, other: &Bvh, out: &mut FacePairs) {
        out.collect(self, other, false);
    }
}

/// All pairs of two leaves. `SAME`: both trees are one, so adjacency matters, the kinds are not distinguished, and the two
/// leaves may be the same.
#[inline]
fn leaf_pair<const SAME: bool>(a: &Bvh, leaf_a: usize, b: &Bvh, leaf_b: usize, out: &mut Lists) {
    let within = SAME && leaf_a == leaf_b;
    vertices_on_faces::<SAME>(a, leaf_a, b, leaf_b, |v, face| {
        out.vertex_face.push([v, face]);
    });
    edges_on_edges::<SAME>(a, leaf_a, b, leaf_b, &mut out.edge_edge);
    if !within {
        vertices_on_faces::<SAME>(b, leaf_b, a, leaf_a, |v, face| {
            if SAME {
                out.vertex_face.push([v, face]);
            } else {
                out.face_vertex.push([face, v]);
            }
        });
    }
}

/// Vertices owned by leaf `a` against the faces of leaf `b`.
#[inline]
fn vertices_on_faces<const SAME: bool>(
    a: &Bvh,
    leaf_a: usize,
    b: &Bvh,
    leaf_b: usize,
    mut push: impl FnMut(u32, u32),
) {
    let hull = &b.leaf_bounds[leaf_b];
    let (node, elements) = (&b.nodes[leaf_b], b.leaf(leaf_b));
    for &v in a.lists.vertices(leaf_a) {
        let bounds = &a.boxes[v as usize];
        if !bounds.overlaps(hull) {
            continue;
        }
        let mut near = node.overlaps(&Splat::new(bounds));
        while near != 0 {
            let element = &elements[near.trailing_zeros() as usize];
            near &= near - 1;
            if element.face != NONE && !(SAME && element.touches(v)) {
                push(v, element.face);
            }
        }
    }
}

/// Edges owned by leaf `a` against those owned by leaf `b`.
#[inline]
fn edges_on_edges<const SAME: bool>(
    a: &Bvh,
    leaf_a: usize,
    b: &Bvh,
    leaf_b: usize,
    out: &mut Vec<[u32; 2]>,
) {
    let hull = &b.leaf_bounds[leaf_b];
    let (theirs, groups) = b.lists.edges(leaf_b);
    let within = SAME && leaf_a == leaf_b;
    for (i, edge) in a.lists.edges(leaf_a).0.iter().enumerate() {
        if edge.index == NONE {
            // Only the last group has gaps, and they are at its end.
            break;
        }
        let bounds = edge.bounds(&a.boxes);
        if !bounds.overlaps(hull) {
            continue;
        }
        let query = Splat::new(&bounds);
        for (g, group) in groups.iter().enumerate() {
            let mut near = group.overlaps(&query);
            while near != 0 {
                let j = 4 * g + near.trailing_zeros() as usize;
                near &= near - 1;
                let other = &theirs[j];
                if within && j <= i || SAME && edge.adjacent(other) {
                    continue;
                }
                out.push(if SAME && other.index < edge.index {
                    [other.index, edge.index]
                } else {
                    [edge.index, other.index]
                });
            }
        }
    }
}

impl FacePairs {
    /// Brings the list into ascending order, which no longer depends on the shape of the tree.
    pub fn sort(&mut self) {
        self.faces.par_sort_unstable();
    }

    fn collect(&mut self, a: &Bvh, b: &Bvh, same: bool) {
        let leaves = a.leaf_count();
        let count = leaves.div_ceil(CHUNK);
        if self.chunks.len() < count {
            self.chunks.resize_with(count, Vec::new);
        }
        let chunks = &mut self.chunks[..count];
        chunks.par_iter_mut().enumerate().for_each(|(chunk, out)| {
            out.clear();
            for leaf in chunk * CHUNK..((chunk + 1) * CHUNK).min(leaves) {
                let query = Splat::new(&a.leaf_bounds[leaf]);
                b.leaves_overlapping(&query, if same { leaf } else { 0 }, |other| {
                    let (mine, theirs) = (a.leaf(leaf), b.leaf(other));
                    for (i, element) in mine.iter().enumerate() {
                        let lane = a.nodes[leaf].lane(i);
                        let mut near = b.nodes[other].overlaps(&Splat::new(&lane));
                        if same && other == leaf {
                            near &= u32::MAX << (i + 1);
                        }
                        while near != 0 {
                            let f = theirs[near.trailing_zeros() as usize].face;
                            near &= near - 1;
                            let e = element.face;
                            if e != NONE && f != NONE {
                                out.push(if same && f < e { [f, e] } else { [e, f] });
                            }
                        }
                    }
                });
            }
        });
        join(&mut self.faces, &self.chunks[..count], |c| c);
    }
}
