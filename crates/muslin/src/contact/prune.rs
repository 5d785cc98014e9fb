//! Leaves out candidates that say the same as another: the same vertices take part, and the normals agree.
//!
//! A vertex above the edge between two faces, for instance, is found once for each face and once for each of its own
//! edges, always with the same closest points.

use super::{Candidate, Kind, NO_VERTEX, Party};
use muslin_linalg::Vec3;

/// Which vertices take part, on which side; the solid too, if there is one.
type Key = ([i64; 4], Option<Party>);

fn key(c: &Candidate) -> Key {
    let mut taking_part = [i64::MAX; 4];
    for (slot, (v, w)) in taking_part.iter_mut().zip(c.vertices.iter().zip(c.weights)) {
        if w != 0.0 && *v != NO_VERTEX {
            // Sides are told apart by sign.
            *slot = (i64::from(*v) + 1) * if w > 0.0 { 1 } else { -1 };
        }
    }
    taking_part.sort_unstable();
    // An edge pair may name the sides the other way round than another pair does: the smallest vertex decides.
    let smallest = taking_part
        .iter()
        .filter(|v| **v != i64::MAX)
        .min_by_key(|v| v.abs());
    if smallest.is_some_and(|v| *v < 0) {
        for v in taking_part.iter_mut().filter(|v| **v != i64::MAX) {
            *v = -*v;
        }
        taking_part.sort_unstable();
    }
    let solid = (c.vertices[1] == NO_VERTEX).then_some(c.parties[1]);
    (taking_part, solid)
}

/// Leaves out what a vertex near the border of two faces says twice: of candidates of one vertex with one object whose
/// normals differ by at most `angle` (rad) and whose closest points (m) lie within `distance` (m), the nearest stays.
pub fn prune_places(
    candidates: &mut Vec<Candidate>,
    x: &[Vec3],
    angle: f64,
    distance: f64,
    keep: &mut Vec<bool>,
) {
    let cosine = angle.cos();
    keep.clear();
    keep.resize(candidates.len(), true);
    let mut begin = 0;
    // They are sorted by parties, kind and vertices: those of one vertex follow each other.
    for group in candidates
        .chunk_by(|a, b| (a.parties, a.kind, a.vertices[0]) == (b.parties, b.kind, b.vertices[0]))
    {
        if group.len() > 1 && group[0].kind == Kind::VertexFace {
            let place = |c: &Candidate| x[c.vertices[0] as usize] - c.gap;
            for i in 0..group.len() {
                let said = (0..group.len()).any(|j| {
                    let (mine, other) = (&group[i], &group[j]);
                    let order = other.gap.length().total_cmp(&mine.gap.length());
                    order.then(j.cmp(&i)).is_lt()
                        && other.normal.dot(mine.normal) >= cosine
                        && place(other).distance(place(mine)) <= distance
                });
                keep[begin + i] = !said || group[i].time < f64::INFINITY;
            }
        }
        begin += group.len();
    }
    let mut i = 0;
    candidates.retain(|_| {
        i += 1;
        keep[i - 1]
    });
}

/// Leaves out repetitions whose normals differ by at most `angle` (rad), whatever their sign. Of each group the one
/// that touches first stays, then the one that comes first; the order of the rest does not change.
pub fn prune(candidates: &mut Vec<Candidate>, angle: f64) {
    let cosine = angle.cos();
    let mut order: Vec<(Key, u32)> = candidates
        .iter()
        .enumerate()
        .map(|(i, c)| (key(c), i as u32))
        .collect();
    order.sort_unstable();
    let mut keep = vec![true; candidates.len()];
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        if group.len() == 1 {
            continue;
        }
        let mut members: Vec<usize> = group.iter().map(|g| g.1 as usize).collect();
        members.sort_by(|a, b| {
            let time = |i: &usize| candidates[*i].time;
            time(a).total_cmp(&time(b)).then(a.cmp(b))
        });
        for (i, member) in members.iter().enumerate() {
            let normal = candidates[*member].normal;
            let said = members[..i]
                .iter()
                .any(|m| keep[*m] && candidates[*m].normal.dot(normal).abs() >= cosine);
            keep[*member] = !said;
        }
    }
    let mut i = 0;
    candidates.retain(|_| {
        i += 1;
        keep[i - 1]
    });
}
