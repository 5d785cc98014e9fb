//! The detector applied to the pairs of a broad phase, in parallel.

use super::{CcdParams, additive};
use crate::validate::{InputError, validate_edges, validate_faces, validate_positions};
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Pairs per parallel task.
const CHUNK: usize = 512;

/// First contact times of vertex-face pairs (`[vertex, face]`), infinite where there is none.
///
/// `times` is overwritten and keeps its memory; entry `i` belongs to pair `i`.
pub fn vertex_face_times(
    x0: &[Vec3],
    x1: &[Vec3],
    faces: &[[u32; 3]],
    pairs: &[[u32; 2]],
    params: &CcdParams,
    times: &mut Vec<f64>,
) -> Result<(), InputError> {
    check(x0, x1, params)?;
    validate_faces(x0.len(), faces)?;
    for (index, &[vertex, face]) in pairs.iter().enumerate() {
        if vertex as usize >= x0.len() {
            return Err(InputError::NoSuchVertex {
                kind: "pair",
                index,
                vertex,
                vertices: x0.len(),
            });
        }
        check_primitive("face", index, face, faces.len())?;
    }
    run(pairs, times, |[v, f]| {
        let [a, b, c] = faces[f as usize];
        let ids = [v, a, b, c];
        let at = |x: &[Vec3]| ids.map(|i| x[i as usize]);
        additive::vertex_face(at(x0), at(x1), params)
    });
    Ok(())
}

/// First contact times of edge-edge pairs, infinite where there is none.
///
/// `times` is overwritten and keeps its memory; entry `i` belongs to pair `i`.
pub fn edge_edge_times(
    x0: &[Vec3],
    x1: &[Vec3],
    edges: &[[u32; 2]],
    pairs: &[[u32; 2]],
    params: &CcdParams,
    times: &mut Vec<f64>,
) -> Result<(), InputError> {
    check(x0, x1, params)?;
    validate_edges(x0.len(), edges)?;
    for (index, pair) in pairs.iter().enumerate() {
        for &edge in pair {
            check_primitive("edge", index, edge, edges.len())?;
        }
    }
    run(pairs, times, |[e, f]| {
        let ([a, b], [c, d]) = (edges[e as usize], edges[f as usize]);
        let ids = [a, b, c, d];
        let at = |x: &[Vec3]| ids.map(|i| x[i as usize]);
        additive::edge_edge(at(x0), at(x1), params)
    });
    Ok(())
}

/// First contact times of moving vertices (first) and faces (the other three), infinite where there is none.
///
/// Entry `i` belongs to the motion from `x0[i]` to `x1[i]`.
pub fn vertex_face_motions(
    x0: &[[Vec3; 4]],
    x1: &[[Vec3; 4]],
    params: &CcdParams,
) -> Result<Vec<f64>, InputError> {
    motions(x0, x1, params, additive::vertex_face)
}

/// First contact times of moving edges (the first two and the last two), infinite where there is none.
///
/// Entry `i` belongs to the motion from `x0[i]` to `x1[i]`.
pub fn edge_edge_motions(
    x0: &[[Vec3; 4]],
    x1: &[[Vec3; 4]],
    params: &CcdParams,
) -> Result<Vec<f64>, InputError> {
    motions(x0, x1, params, additive::edge_edge)
}

fn motions(
    x0: &[[Vec3; 4]],
    x1: &[[Vec3; 4]],
    params: &CcdParams,
    query: impl Fn([Vec3; 4], [Vec3; 4], &CcdParams) -> Option<f64> + Sync,
) -> Result<Vec<f64>, InputError> {
    check(x0.as_flattened(), x1.as_flattened(), params)?;
    let mut times = vec![f64::INFINITY; x0.len()];
    let queries = x0.par_chunks(CHUNK).zip(x1.par_chunks(CHUNK));
    times
        .par_chunks_mut(CHUNK)
        .zip(queries)
        .for_each(|(times, (x0, x1))| {
            for (time, (x0, x1)) in times.iter_mut().zip(x0.iter().zip(x1)) {
                *time = query(*x0, *x1, params).unwrap_or(f64::INFINITY);
            }
        });
    Ok(times)
}

fn check(x0: &[Vec3], x1: &[Vec3], params: &CcdParams) -> Result<(), InputError> {
    params.validate()?;
    if x0.len() != x1.len() {
        return Err(InputError::LengthMismatch {
            what: "positions at the end of the step",
            expected: x0.len(),
            found: x1.len(),
        });
    }
    validate_positions(x0)?;
    validate_positions(x1)
}

fn check_primitive(
    kind: &'static str,
    index: usize,
    primitive: u32,
    primitives: usize,
) -> Result<(), InputError> {
    if (primitive as usize) < primitives {
        return Ok(());
    }
    Err(InputError::NoSuchPrimitive {
        kind,
        index,
        primitive,
        primitives,
    })
}

fn run(pairs: &[[u32; 2]], times: &mut Vec<f64>, query: impl Fn([u32; 2]) -> Option<f64> + Sync) {
    times.clear();
    times.resize(pairs.len(), f64::INFINITY);
    times
        .par_chunks_mut(CHUNK)
        .zip(pairs.par_chunks(CHUNK))
        .for_each(|(times, pairs)| {
            for (time, &pair) in times.iter_mut().zip(pairs) {
                *time = query(pair).unwrap_or(f64::INFINITY);
            }
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_input_is_refused() {
        let x = vec![Vec3::ZERO; 4];
        let mut nan = x.clone();
        nan[3].z = f64::NAN;
        let p = CcdParams::default();
        let mut t = vec![];
        let faces = [[0, 1, 2]];
        assert!(vertex_face_times(&x, &x, &faces, &[[3, 0]], &p, &mut t).is_ok());
        assert_eq!(t, [0.0]);
        assert!(vertex_face_times(&x, &nan, &faces, &[[3, 0]], &p, &mut t).is_err());
        assert!(vertex_face_times(&x, &x[1..], &faces, &[[3, 0]], &p, &mut t).is_err());
        assert!(vertex_face_times(&x, &x, &faces, &[[4, 0]], &p, &mut t).is_err());
        assert!(vertex_face_times(&x, &x, &faces, &[[3, 1]], &p, &mut t).is_err());
        assert!(edge_edge_times(&x, &x, &[[0, 1]], &[[0, 1]], &p, &mut t).is_err());
        assert!(edge_edge_times(&x, &x, &[[0, 9]], &[], &p, &mut t).is_err());
        let (still, broken) = ([[Vec3::ZERO; 4]; 2], [[Vec3::NAN; 4]; 2]);
        assert_eq!(edge_edge_motions(&still, &still, &p), Ok(vec![0.0; 2]));
        assert!(vertex_face_motions(&still, &broken, &p).is_err());
        assert!(vertex_face_motions(&still, &still[1..], &p).is_err());
    }
}
