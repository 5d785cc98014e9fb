//! The door: what the rest of the crate refuses to look at, with an error that names the culprit.
//!
//! A NaN compares false with everything, so inside a hierarchy it would make a primitive silently invisible. Everything that
//! takes a whole mesh therefore checks here first, and everything behind the door may assume finite numbers.

use muslin_linalg::Vec3;
use thiserror::Error;

/// A mesh or a trajectory that cannot be judged.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum InputError {
    /// A coordinate is NaN or infinite.
    #[error("vertex {vertex} has a coordinate that is not a finite number")]
    NotFinite {
        /// Index of the first such vertex.
        vertex: usize,
    },
    /// A coordinate exceeds what the called function can treat.
    #[error("vertex {vertex} has a coordinate of {value:e} m; the limit is {limit:e} m")]
    TooLarge {
        /// Index of the first such vertex.
        vertex: usize,
        /// The coordinate, in metres.
        value: f64,
        /// The largest magnitude allowed, in metres.
        limit: f64,
    },
    /// A face or an edge names a vertex that does not exist.
    #[error("{kind} {index} names vertex {vertex}, but there are only {vertices} vertices")]
    NoSuchVertex {
        /// `"face"`, `"edge"` or `"pair"`.
        kind: &'static str,
        /// Index of the face, edge or pair.
        index: usize,
        /// The vertex it names.
        vertex: u32,
        /// How many vertices there are.
        vertices: usize,
    },
    /// A candidate pair names a face or an edge that does not exist.
    #[error("pair {index} names {kind} {primitive}, but there are only {primitives}")]
    NoSuchPrimitive {
        /// `"face"` or `"edge"`.
        kind: &'static str,
        /// Index of the pair.
        index: usize,
        /// The face or edge it names.
        primitive: u32,
        /// How many there are.
        primitives: usize,
    },
    /// Two arrays that describe the same things have different lengths.
    #[error("{what}: expected {expected} entries, found {found}")]
    LengthMismatch {
        /// Which arrays disagree.
        what: &'static str,
        /// Entries expected.
        expected: usize,
        /// Entries found.
        found: usize,
    },
    /// A tolerance or margin is negative, zero where it must not be, or not a number.
    #[error("{name} = {value:e} is not allowed: {needs}")]
    BadParameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it must satisfy.
        needs: &'static str,
    },
    /// More primitives than 32-bit indices can count.
    #[error("{count} primitives are more than can be indexed")]
    TooMany {
        /// The number of primitives.
        count: usize,
    },
}

/// Checks that every coordinate is finite.
pub fn validate_positions(positions: &[Vec3]) -> Result<(), InputError> {
    match positions.iter().position(|x| !x.is_finite()) {
        Some(vertex) => Err(InputError::NotFinite { vertex }),
        None => Ok(()),
    }
}

/// Checks that every coordinate is finite and at most `limit` metres in magnitude.
pub fn validate_magnitude(positions: &[Vec3], limit: f64) -> Result<(), InputError> {
    validate_positions(positions)?;
    match positions.iter().position(|x| x.abs().max_element() > limit) {
        Some(vertex) => {
            let value = positions[vertex].abs().max_element();
            Err(InputError::TooLarge {
                vertex,
                value,
                limit,
            })
        }
        None => Ok(()),
    }
}

/// Checks that every face names existing vertices only.
pub fn validate_faces(vertices: usize, faces: &[[u32; 3]]) -> Result<(), InputError> {
    validate_indices("face", vertices, faces)
}

/// Checks that every edge names existing vertices only.
pub fn validate_edges(vertices: usize, edges: &[[u32; 2]]) -> Result<(), InputError> {
    validate_indices("edge", vertices, edges)
}

fn validate_indices<const N: usize>(
    kind: &'static str,
    vertices: usize,
    primitives: &[[u32; N]],
) -> Result<(), InputError> {
    for (index, primitive) in primitives.iter().enumerate() {
        if let Some(&vertex) = primitive.iter().find(|&&v| v as usize >= vertices) {
            return Err(InputError::NoSuchVertex {
                kind,
                index,
                vertex,
                vertices,
            });
        }
    }
    Ok(())
}

/// Checks a whole mesh: finite coordinates, existing vertices.
pub fn validate_mesh(
    positions: &[Vec3],
    faces: &[[u32; 3]],
    edges: &[[u32; 2]],
) -> Result<(), InputError> {
    validate_positions(positions)?;
    validate_faces(positions.len(), faces)?;
    validate_edges(positions.len(), edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_culprit() {
        let mut x = vec![Vec3::ZERO; 4];
        assert!(validate_mesh(&x, &[[0, 1, 2]], &[[2, 3]]).is_ok());
        assert_eq!(
            validate_mesh(&x, &[[0, 1, 2]], &[[2, 4]]),
            Err(InputError::NoSuchVertex {
                kind: "edge",
                index: 0,
                vertex: 4,
                vertices: 4
            })
        );
        x[2].y = f64::NAN;
        assert_eq!(
            validate_positions(&x),
            Err(InputError::NotFinite { vertex: 2 })
        );
        x[2].y = 1e80;
        assert!(matches!(
            validate_magnitude(&x, 1e75),
            Err(InputError::TooLarge { vertex: 2, .. })
        ));
    }
}
