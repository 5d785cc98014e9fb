//! Measures the pairs of features of two objects that the hierarchies found, and keeps those that matter.

use super::NEAR;
use super::Party;
use super::build::Remembered;
use super::candidate::{Candidate, Kind, Pair};
use super::detector::{DetectParams, Object, SECOND_LINE, SecondLine};
use super::neighbours::touches_here;
use muslin_geometry::bvh::CandidatePairs;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Pairs a task.
const CHUNK: usize = 256;

fn vertex_face(v: &Object, f: &Object, vertex: u32, face: u32) -> Pair {
    let [p, q, r] = f.faces[face as usize].map(|k| k + f.first);
    Pair {
        kind: Kind::VertexFace,
        parties: [v.party, f.party],
        vertices: [vertex + v.first, p, q, r],
    }
}

fn edge_edge(a: &Object, b: &Object, e: u32, f: u32) -> Pair {
    let [p, q] = a.edges[e as usize].map(|k| k + a.first);
    let [r, s] = b.edges[f as usize].map(|k| k + b.first);
    Pair {
        kind: Kind::EdgeEdge,
        parties: [a.party, b.party],
        vertices: [p, q, r, s],
    }
}

/// Two objects, or one twice, with the pairs of features to be measured.
pub(super) struct Search<'a> {
    pub a: &'a Object,
    pub b: &'a Object,
    pub pairs: &'a CandidatePairs,
    /// Positions of all vertices at the start of the step and, if they are known, at its end, m.
    pub start: &'a [Vec3],
    pub end: Option<&'a [Vec3]>,
    /// Distance within which pairs of the second line are near, m.
    pub second: f64,
    /// What carried an impulse in the last step, in order.
    pub carried: &'a [Remembered],
    pub params: &'a DetectParams,
}

impl Search<'_> {
    /// Keeps the pairs that matter. Edges that are said to touch nowhere, because the vertices around say the same, count
    /// within the second distance all the same.
    pub fn surfaces(&self, found: &mut Vec<Candidate>) {
        let Self {
            a, b, pairs, start, ..
        } = *self;
        let look = |v: &Object, f: &Object, pair: Pair| {
            let (mut found, way) = self.measure(pair, self.params.margin)?;
            let (ends, time) = match way {
                Some(end) if !found.near => ([start, end], found.time),
                _ => ([start; 2], 0.0),
            };
            let (a, b) = (v.surface(ends, time), f.surface(ends, time));
            found.closest = touches_here(&found, a, b, [v.first, f.first]);
            if !found.closest
                && let Some(share) = self.folded(&found)
            {
                found.closest = true;
                found.share = share;
            }
            let counts = !self.params.closest_only || found.closest || !found.near;
            counts.then_some(found)
        };
        let vertex_faces = pairs.vertex_face.par_iter().with_min_len(CHUNK);
        found.par_extend(vertex_faces.filter_map(|&[v, f]| look(a, b, vertex_face(a, b, v, f))));
        let face_vertices = pairs.face_vertex.par_iter().with_min_len(CHUNK);
        found.par_extend(face_vertices.filter_map(|&[f, v]| look(b, a, vertex_face(b, a, v, f))));
        let edges = pairs.edge_edge.par_iter().with_min_len(CHUNK);
        found.par_extend(edges.filter_map(|&[e, f]| look(a, b, edge_edge(a, b, e, f))));
    }

    /// Of cloth and the skin of a solid, keeps the pairs that vertices of the cloth say nothing about: insides of its
    /// faces and of its edges. They count within the second distance, or if they cross.
    pub fn skin(&self, found: &mut Vec<Candidate>) {
        let Self { a, b, pairs, .. } = *self;
        let look = |pair: Pair| {
            let (mut found, _) = self.measure(pair, self.second)?;
            found.share = SECOND_LINE;
            found.inner.then_some(found)
        };
        let face_vertices = pairs.face_vertex.par_iter().with_min_len(CHUNK);
        found.par_extend(face_vertices.filter_map(|&[f, v]| look(vertex_face(b, a, v, f))));
        let edges = pairs.edge_edge.par_iter().with_min_len(CHUNK);
        found.par_extend(edges.filter_map(|&[e, f]| look(edge_edge(a, b, e, f))));
    }

    /// Measures a pair within a margin (m); with the positions that it was followed to, if it was.
    fn measure(&self, pair: Pair, margin: f64) -> Option<(Candidate, Option<&[Vec3]>)> {
        let way = self.end.filter(|_| self.params.crossings);
        let found = pair.examine(self.start, way, margin, &self.params.ccd)?;
        Some((found, way))
    }

    /// Part of the thickness that two edges of cloth keep whose insides are near, as in a fold.
    fn folded(&self, found: &Candidate) -> Option<f64> {
        let cloth = |p: &Party| matches!(p, Party::Cloth(_));
        let carried = match self.params.second {
            SecondLine::SkinsAndFolds => false,
            SecondLine::SkinsFoldsAndCarried => true,
            SecondLine::Nothing | SecondLine::Skins => return None,
        };
        let fold = found.near
            && found.inner
            && found.kind == Kind::EdgeEdge
            && found.parties.iter().all(cloth);
        if !fold {
            return None;
        }
        let distance = found.gap.length();
        if distance <= self.second {
            return Some(SECOND_LINE);
        }
        let features = found.features();
        let known = |r: &Remembered| r.features.cmp(&features);
        // All of the thickness would push apart what half of it held.
        (carried && self.carried.binary_search_by(known).is_ok())
            .then(|| (NEAR * SECOND_LINE * distance / self.second).min(1.0))
    }
}
