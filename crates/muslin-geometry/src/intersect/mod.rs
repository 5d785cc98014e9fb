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
//!
//! ```
//! use muslin_geometry::intersect::{self_intersections, triangles_intersect};
//! use muslin_linalg::Vec3;
//! let flat = [Vec3::ZERO, Vec3::X, Vec3::Y];
//! // Touching in a single point counts; missing it by the last bit does not.
//! let standing = |z: f64| [Vec3::new(0.25, 0.25, z), Vec3::new(0.0, 0.5, 1.0), Vec3::new(0.5, 0.0, 1.0)];
//! assert!(triangles_intersect(flat, standing(0.0))?);
//! assert!(!triangles_intersect(flat, standing(1e-30))?);
//! // Faces that share a side intersect when they are folded onto each other.
//! let x = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::new(0.1, 0.1, 0.0)];
//! assert_eq!(self_intersections(&x, &[[0, 1, 2], [1, 0, 3]])?, [[0, 1]]);
//! # Ok::<(), muslin_geometry::InputError>(())
//! ```

mod judge;
mod predicates;
mod triangle;

pub use judge::{
    Crossing, MeshJudge, SceneMesh, intersections_between, scene_intersections, self_intersections,
};

use crate::validate::{InputError, validate_faces, validate_magnitude};
use muslin_linalg::Vec3;
use triangle::Triangle;

/// Largest magnitude of a coordinate the judge accepts, in metres.
pub const MAX_COORDINATE: f64 = 1e75;
/// Coordinates of smaller magnitude than this count as zero, in metres.
pub const MIN_COORDINATE: f64 = 1e-75;

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
    validate_faces(positions.len(), &faces)?;
    let corners = faces.map(|f| f.map(|v| positions[v as usize]));
    for t in &corners {
        validate_magnitude(t, MAX_COORDINATE)?;
    }
    Ok(meet_beyond_shared(face_a, face_b, |v| {
        flush(positions[v as usize])
    }))
}

/// Removes magnitudes whose products could underflow.
fn flush(v: Vec3) -> Vec3 {
    v.map(|c| if c.abs() < MIN_COORDINATE { 0.0 } else { c })
}

/// `at` gives positions within the exact range.
fn meet_beyond_shared(f: [u32; 3], g: [u32; 3], at: impl Fn(u32) -> Vec3) -> bool {
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
    let corners = |face: [u32; 3]| -> Triangle { face.map(&at) };
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
