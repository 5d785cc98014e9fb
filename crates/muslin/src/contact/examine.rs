//! Measures the pairs of features of two objects that the hierarchies found, and keeps those that matter.

use super::Party;
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

/// Measures all pairs of two objects and keeps those that matter. Edges that are said to touch nowhere, because the
/// vertices around say the same, count within the distance `second` (m) all the same.
pub(super) fn examine(
    (a, b): (&Object, &Object),
    pairs: &CandidatePairs,
    (x0, x1): (&[Vec3], Option<&[Vec3]>),
    second: f64,
    params: &DetectParams,
    found: &mut Vec<Candidate>,
) {
    let look = |v: &Object, f: &Object, pair: Pair| {
        let way = x1.filter(|_| params.crossings);
        let mut found = pair.examine(x0, way, params.margin, &params.ccd)?;
        let (ends, time) = match way {
            Some(x1) if !found.near => ([x0, x1], found.time),
            _ => ([x0; 2], 0.0),
        };
        let (a, b) = (v.surface(ends, time), f.surface(ends, time));
        found.closest = touches_here(&found, a, b, [v.first, f.first]);
        let cloth = |p: &Party| matches!(p, Party::Cloth(_));
        let folded = found.near && !found.closest && found.inner;
        if folded
            && params.second == SecondLine::SkinsAndFolds
            && found.kind == Kind::EdgeEdge
            && found.parties.iter().all(cloth)
            && found.gap.length_squared() <= second * second
        {
            found.closest = true;
            found.share = SECOND_LINE;
        }
        let counts = !params.closest_only || found.closest || !found.near;
        counts.then_some(found)
    };
    let vertex_faces = pairs.vertex_face.par_iter().with_min_len(CHUNK);
    found.par_extend(vertex_faces.filter_map(|&[v, f]| look(a, b, vertex_face(a, b, v, f))));
    let face_vertices = pairs.face_vertex.par_iter().with_min_len(CHUNK);
    found.par_extend(face_vertices.filter_map(|&[f, v]| look(b, a, vertex_face(b, a, v, f))));
    let edges = pairs.edge_edge.par_iter().with_min_len(CHUNK);
    found.par_extend(edges.filter_map(|&[e, f]| look(a, b, edge_edge(a, b, e, f))));
}

/// Measures the pairs of cloth and the skin of a solid that vertices of the cloth say nothing about: insides of its faces
/// and of its edges. They count within the distance `second` (m), or if they cross.
pub(super) fn examine_skin(
    (a, b): (&Object, &Object),
    pairs: &CandidatePairs,
    (x0, x1): (&[Vec3], Option<&[Vec3]>),
    second: f64,
    params: &DetectParams,
    found: &mut Vec<Candidate>,
) {
    let look = |pair: Pair| {
        let way = x1.filter(|_| params.crossings);
        let mut found = pair.examine(x0, way, second, &params.ccd)?;
        found.share = SECOND_LINE;
        found.inner.then_some(found)
    };
    let face_vertices = pairs.face_vertex.par_iter().with_min_len(CHUNK);
    found.par_extend(face_vertices.filter_map(|&[f, v]| look(vertex_face(b, a, v, f))));
    let edges = pairs.edge_edge.par_iter().with_min_len(CHUNK);
    found.par_extend(edges.filter_map(|&[e, f]| look(edge_edge(a, b, e, f))));
}
