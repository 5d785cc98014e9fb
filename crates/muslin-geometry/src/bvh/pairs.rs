//! Candidate pairs: within one mesh, and between two.
//!
//! Leaves are walked in fixed chunks; each chunk writes to its own lists, which are joined in order. The result is therefore
//! the same, in the same order, for any number of threads. That order follows the tree and changes when it is rebuilt;
//! whoever needs an order that depends on the geometry alone calls [`CandidatePairs::sort`].

use super::bounds::{Bounds, Splat};
use super::elements::{Element, NONE};
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

fn join<C>(all: &mut Vec<[u32; 2]>, chunks: &[C], part: impl Fn(&C) -> &Vec<[u32; 2]>) {
    all.clear();
    all.reserve(chunks.iter().map(|c| part(c).len()).sum());
    for chunk in chunks {
        all.extend_from_slice(part(chunk));
    }
}

impl Bvh {
    /// Vertex-face and edge-edge pairs of this mesh whose boxes overlap, each once, except those that share a vertex.
    pub fn self_pairs(&self, out: &mut CandidatePairs) {
        out.collect(self.leaf_count(), |leaf, out| {
            let query = Splat::new(&self.nodes[leaf].union());
            self.leaves_overlapping(&query, leaf, |other| {
                if other == leaf {
                    self.pairs_within_leaf(leaf, out);
                } else {
                    leaf_pair::<true>(self, leaf, self, other, out);
                }
            });
        });
    }

    /// Vertex-face, face-vertex and edge-edge pairs of this mesh and another whose boxes overlap, each once.
    ///
    /// Vertices of the two meshes are unrelated, even if they have the same index.
    pub fn pairs_with(&self, other: &Bvh, out: &mut CandidatePairs) {
        out.collect(self.leaf_count(), |leaf, out| {
            let query = Splat::new(&self.nodes[leaf].union());
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

    fn edge_bounds(&self, [a, b]: [u32; 2]) -> Bounds {
        self.boxes[a as usize].union(self.boxes[b as usize])
    }

    fn pairs_within_leaf(&self, leaf: usize, out: &mut Lists) {
        let elements = self.leaf(leaf);
        let node = &self.nodes[leaf];
        for (i, a) in elements.iter().enumerate() {
            for v in a.owned_vertices() {
                let near = node.overlaps(&Splat::new(&self.boxes[v as usize]));
                push_faces::<true>(near, elements, v, |face| out.vertex_face.push([v, face]));
            }
            let later = u32::MAX << (i + 1);
            for (e, ends) in a.owned_edges() {
                let bounds = self.edge_bounds(ends);
                let near = node.overlaps(&Splat::new(&bounds)) & later;
                push_edges::<true>(near, self, elements, (e, ends, &bounds), out);
            }
        }
    }
}

/// All pairs of two different leaves. `SAME`: both trees are one, so adjacency matters and the kinds are not distinguished.
#[inline]
fn leaf_pair<const SAME: bool>(a: &Bvh, leaf_a: usize, b: &Bvh, leaf_b: usize, out: &mut Lists) {
    let (node_a, node_b) = (&a.nodes[leaf_a], &b.nodes[leaf_b]);
    let (elements_a, elements_b) = (a.leaf(leaf_a), b.leaf(leaf_b));
    let mut touched = 0;
    for (i, element) in elements_a.iter().enumerate() {
        let near = node_b.overlaps(&Splat::new(&node_a.lane(i)));
        touched |= near;
        if near == 0 {
            continue;
        }
        for v in element.owned_vertices() {
            let near = near & node_b.overlaps(&Splat::new(&a.boxes[v as usize]));
            push_faces::<SAME>(near, elements_b, v, |face| out.vertex_face.push([v, face]));
        }
        for (e, ends) in element.owned_edges() {
            let bounds = a.edge_bounds(ends);
            let near = near & node_b.overlaps(&Splat::new(&bounds));
            push_edges::<SAME>(near, b, elements_b, (e, ends, &bounds), out);
        }
    }
    while touched != 0 {
        let element = &elements_b[touched.trailing_zeros() as usize];
        touched &= touched - 1;
        for v in element.owned_vertices() {
            let near = node_a.overlaps(&Splat::new(&b.boxes[v as usize]));
            push_faces::<SAME>(near, elements_a, v, |face| {
                if SAME {
                    out.vertex_face.push([v, face]);
                } else {
                    out.face_vertex.push([face, v]);
                }
            });
        }
    }
}

#[inline]
fn push_faces<const SAME: bool>(
    mut near: u32,
    elements: &[Element],
    vertex: u32,
    mut push: impl FnMut(u32),
) {
    while near != 0 {
        let element = &elements[near.trailing_zeros() as usize];
        near &= near - 1;
        if element.face != NONE && !(SAME && element.touches(vertex)) {
            push(element.face);
        }
    }
}

#[inline]
fn push_edges<const SAME: bool>(
    mut near: u32,
    tree: &Bvh,
    elements: &[Element],
    (edge, [p, q], bounds): (u32, [u32; 2], &Bounds),
    out: &mut Lists,
) {
    while near != 0 {
        let element = &elements[near.trailing_zeros() as usize];
        near &= near - 1;
        for (other, ends) in element.owned_edges() {
            let [r, s] = ends;
            if SAME && (p == r || p == s || q == r || q == s) {
                continue;
            }
            if bounds.overlaps(&tree.edge_bounds(ends)) {
                out.edge_edge.push(if SAME && other < edge {
                    [other, edge]
                } else {
                    [edge, other]
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
                let query = Splat::new(&a.nodes[leaf].union());
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
