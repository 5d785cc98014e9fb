//! The judge: which triangles of a scene cross each other.
//!
//! Every answer is exact for the coordinates given. There is no tolerance anywhere, so the judge can test parts that have
//! tolerances of their own.
//!
//! What counts:
//! * Triangles are closed, so touching at a single point is an intersection. Zero-area triangles are segments or points.
//! * Triangles of a mesh that share vertices *by index* of course touch there; they intersect if they also meet anywhere beyond
//!   the shared corner or side, for instance when folded flat onto each other. Faces with the same three vertices have nothing
//!   beyond and are never reported. Vertices that merely coincide in space are not shared: weld them first.
//! * Coordinates may be up to [`MAX_COORDINATE`] in magnitude; magnitudes below [`MIN_COORDINATE`] are read as zero. Within
//!   that range the arithmetic can neither overflow nor underflow. Anything else is an error, never a guess.

mod predicates;
mod triangle;

use crate::bvh::{Bvh, FacePairs};
use crate::validate::{InputError, validate_magnitude, validate_mesh};
use muslin_linalg::Vec3;
use rayon::prelude::*;
use triangle::Triangle;

/// Largest magnitude of a coordinate the judge accepts, in metres.
pub const MAX_COORDINATE: f64 = 1e75;
/// Coordinates of smaller magnitude than this count as zero, in metres.
pub const MIN_COORDINATE: f64 = 1e-75;

/// Face pairs per parallel task.
const CHUNK: usize = 1024;

/// Whether two closed triangles, unrelated to each other, have a point in common.
pub fn triangles_intersect(a: [Vec3; 3], b: [Vec3; 3]) -> Result<bool, InputError> {
    validate_magnitude(&a, MAX_COORDINATE)?;
    validate_magnitude(&b, MAX_COORDINATE)?;
    Ok(triangle::triangles_meet(&a.map(flush), &b.map(flush)))
}

/// Whether two faces of one mesh meet anywhere beyond the vertices they share.
pub fn faces_intersect(
    positions: &[Vec3],
    face_a: [u32; 3],
    face_b: [u32; 3],
) -> Result<bool, InputError> {
    let faces = [face_a, face_b];
    crate::validate::validate_faces(positions.len(), &faces)?;
    let corners = faces.map(|f| f.map(|v| positions[v as usize]));
    for t in &corners {
        validate_magnitude(t, MAX_COORDINATE)?;
    }
    Ok(meet_beyond_shared(face_a, face_b, positions))
}

/// All pairs of faces of one mesh that intersect, smaller index first, in ascending order.
pub fn self_intersections(
    positions: &[Vec3],
    faces: &[[u32; 3]],
) -> Result<Vec<[u32; 2]>, InputError> {
    validate_mesh(positions, faces, &[])?;
    validate_magnitude(positions, MAX_COORDINATE)?;
    let bvh = Bvh::new(positions, faces, &[])?;
    let mut candidates = FacePairs::default();
    bvh.self_face_pairs(&mut candidates);
    Ok(judge(&candidates.faces, |[a, b]| {
        meet_beyond_shared(faces[a as usize], faces[b as usize], positions)
    }))
}

/// All pairs of a face of one mesh and a face of another that intersect, in ascending order.
///
/// The meshes share nothing, even if vertices have the same index.
pub fn intersections_between(
    positions_a: &[Vec3],
    faces_a: &[[u32; 3]],
    positions_b: &[Vec3],
    faces_b: &[[u32; 3]],
) -> Result<Vec<[u32; 2]>, InputError> {
    validate_mesh(positions_a, faces_a, &[])?;
    validate_mesh(positions_b, faces_b, &[])?;
    validate_magnitude(positions_a, MAX_COORDINATE)?;
    validate_magnitude(positions_b, MAX_COORDINATE)?;
    let a = Bvh::new(positions_a, faces_a, &[])?;
    let b = Bvh::new(positions_b, faces_b, &[])?;
    let mut candidates = FacePairs::default();
    a.face_pairs_with(&b, &mut candidates);
    Ok(judge(&candidates.faces, |[f, g]| {
        let s = faces_a[f as usize].map(|v| flush(positions_a[v as usize]));
        let t = faces_b[g as usize].map(|v| flush(positions_b[v as usize]));
        triangle::triangles_meet(&s, &t)
    }))
}

/// One object of a scene.
#[derive(Clone, Copy, Debug)]
pub struct SceneMesh<'a> {
    /// Positions, in metres.
    pub positions: &'a [Vec3],
    /// Faces as indices into these positions.
    pub faces: &'a [[u32; 3]],
}

/// Two faces that intersect, each as `(object, face)`; the smaller object or, within one object, face comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crossing {
    /// First object and its face.
    pub a: (u32, u32),
    /// Second object and its face.
    pub b: (u32, u32),
}

/// All intersections of a whole scene, within and between its objects, in ascending order of objects and faces.
pub fn scene_intersections(scene: &[SceneMesh]) -> Result<Vec<Crossing>, InputError> {
    let mut found = Vec::new();
    for (i, a) in scene.iter().enumerate() {
        let mut add = |j: usize, pairs: Vec<[u32; 2]>| {
            found.extend(pairs.into_iter().map(|[f, g]| Crossing {
                a: (i as u32, f),
                b: (j as u32, g),
            }));
        };
        add(i, self_intersections(a.positions, a.faces)?);
        for (j, b) in scene.iter().enumerate().skip(i + 1) {
            add(
                j,
                intersections_between(a.positions, a.faces, b.positions, b.faces)?,
            );
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn judge(candidates: &[[u32; 2]], meet: impl Fn([u32; 2]) -> bool + Sync) -> Vec<[u32; 2]> {
    let mut found: Vec<[u32; 2]> = candidates
        .par_iter()
        .with_min_len(CHUNK)
        .copied()
        .filter(|&pair| meet(pair))
        .collect();
    found.par_sort_unstable();
    found
}

/// Removes magnitudes whose products could underflow.
fn flush(v: Vec3) -> Vec3 {
    v.map(|c| if c.abs() < MIN_COORDINATE { 0.0 } else { c })
}

fn meet_beyond_shared(f: [u32; 3], g: [u32; 3], positions: &[Vec3]) -> bool {
    let at = |v: u32| flush(positions[v as usize]);
    // Vertices by name, each once: a face may name a vertex twice.
    let mut shared = [0; 3];
    let mut count = 0;
    for (k, &v) in f.iter().enumerate() {
        if g.contains(&v) && !f[..k].contains(&v) {
            shared[count] = v;
            count += 1;
        }
    }
    // The other corners; one that repeats stands in for a missing one.
    let others = |face: [u32; 3]| {
        let mut rest = face.into_iter().filter(|v| !shared[..count].contains(v));
        let first = rest.next();
        [first, rest.next().or(first)]
    };
    let corners = |face: [u32; 3]| -> Triangle { face.map(at) };
    match (count, others(f), others(g)) {
        (0, ..) => triangle::triangles_meet(&corners(f), &corners(g)),
        (1, [Some(b), Some(c)], [Some(d), Some(e)]) => {
            triangle::meet_beyond_corner(at(shared[0]), [at(b), at(c)], [at(d), at(e)])
        }
        (2, [Some(c), _], [Some(d), _]) => {
            triangle::meet_beyond_side(at(shared[0]), at(shared[1]), at(c), at(d))
        }
        // One face is nothing but what is shared.
        _ => false,
    }
}
