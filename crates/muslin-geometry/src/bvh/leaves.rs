//! The vertices and edges owned by the elements of each leaf, laid out for comparison four at a time.
//!
//! A leaf of four faces owns about two vertices and six edges. Testing an edge of one leaf against the edges of another this way
//! takes two comparisons instead of one per pair of edges.

use super::bounds::{Bounds, Bounds4};
use super::elements::{Element, NONE};
use rayon::prelude::*;

const CHUNK: usize = 2048;

/// An edge and its ends; the index is [`NONE`] where a group of four is not full.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnedEdge {
    pub index: u32,
    pub ends: [u32; 2],
}

impl OwnedEdge {
    const EMPTY: Self = Self {
        index: NONE,
        ends: [0; 2],
    };

    #[inline]
    pub(super) fn bounds(&self, boxes: &[Bounds]) -> Bounds {
        boxes[self.ends[0] as usize].union(boxes[self.ends[1] as usize])
    }

    #[inline]
    pub(super) fn adjacent(&self, other: &Self) -> bool {
        let ([a, b], [c, d]) = (self.ends, other.ends);
        a == c || a == d || b == c || b == d
    }
}

/// Lists per leaf, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct LeafLists {
    vertices: Vec<u32>,
    vertex_start: Vec<u32>,
    edges: Vec<OwnedEdge>,
    /// In groups of four.
    edge_start: Vec<u32>,
    edge_bounds: Vec<Bounds4>,
}

impl LeafLists {
    /// Lists what the elements, four per leaf, own. Boxes are not computed yet.
    pub(super) fn rebuild(&mut self, elements: &[Element]) {
        self.vertices.clear();
        self.edges.clear();
        self.vertex_start.clear();
        self.edge_start.clear();
        for leaf in elements.chunks(4) {
            self.vertex_start.push(self.vertices.len() as u32);
            self.edge_start.push(self.edges.len() as u32 / 4);
            for element in leaf {
                self.vertices.extend(element.owned_vertices());
                let owned = element.owned_edges();
                self.edges
                    .extend(owned.map(|(index, ends)| OwnedEdge { index, ends }));
            }
            let full = self.edges.len().next_multiple_of(4);
            self.edges.resize(full, OwnedEdge::EMPTY);
        }
        self.vertex_start.push(self.vertices.len() as u32);
        self.edge_start.push(self.edges.len() as u32 / 4);
        self.edge_bounds
            .resize(self.edges.len() / 4, Bounds4::EMPTY);
    }

    /// Recomputes the boxes of the edges from those of the vertices.
    pub(super) fn refit(&mut self, boxes: &[Bounds]) {
        self.edge_bounds
            .par_chunks_mut(CHUNK)
            .zip(self.edges.par_chunks(4 * CHUNK))
            .for_each(|(bounds, edges)| {
                for (bounds, edges) in bounds.iter_mut().zip(edges.chunks(4)) {
                    let mut lanes = [Bounds::EMPTY; 4];
                    for (lane, edge) in lanes.iter_mut().zip(edges) {
                        if edge.index != NONE {
                            *lane = edge.bounds(boxes);
                        }
                    }
                    *bounds = Bounds4::new(&lanes);
                }
            });
    }

    #[inline]
    pub(super) fn vertices(&self, leaf: usize) -> &[u32] {
        &self.vertices[self.vertex_start[leaf] as usize..self.vertex_start[leaf + 1] as usize]
    }

    /// The edges of a leaf in groups of four, each with its boxes.
    #[inline]
    pub(super) fn edges(&self, leaf: usize) -> (&[OwnedEdge], &[Bounds4]) {
        let (start, end) = (
            self.edge_start[leaf] as usize,
            self.edge_start[leaf + 1] as usize,
        );
        (
            &self.edges[4 * start..4 * end],
            &self.edge_bounds[start..end],
        )
    }
}
