//! Broad phase: which primitives of deforming meshes are near each other.
//!
//! One [`Bvh`] per mesh stands over its *elements*: the faces, plus edges and points that belong to no face. Every vertex and
//! every edge is owned by exactly one element, so a single walk over overlapping elements yields each vertex-face and each
//! edge-edge candidate exactly once; a separate hierarchy over the three times more numerous edges is not needed.
//!
//! The tree is implicit: four children per node, leaves filled in the order of a balanced spatial subdivision, no pointers.
//! Boxes are `f32`, rounded outward, 24 bytes each, stored four at a time so that one comparison tests four of them.
//!
//! ```
//! use muslin_geometry::bvh::{Bvh, CandidatePairs};
//! use muslin_linalg::Vec3;
//! // Two triangles, one a millimetre above the other.
//! let mut x = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
//! x.extend_from_within(..);
//! for v in &mut x[3..] {
//!     v.z = 1e-3;
//! }
//! let faces = [[0, 1, 2], [3, 4, 5]];
//! let edges = [[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]];
//! let mut bvh = Bvh::new(&x, &faces, &edges)?;
//! let mut pairs = CandidatePairs::default();
//! bvh.refit(&x, 2e-3)?;
//! bvh.self_pairs(&mut pairs);
//! assert_eq!(pairs.vertex_face.len(), 6);
//! bvh.refit(&x, 0.5e-3)?;
//! bvh.self_pairs(&mut pairs);
//! assert_eq!(pairs.vertex_face.len(), 0);
//! # Ok::<(), muslin_geometry::InputError>(())
//! ```

mod bounds;
mod elements;
mod leaves;
mod pairs;
mod query;
mod tree;

pub use bounds::Bounds;
pub use pairs::{CandidatePairs, FacePairs};
pub use query::Nearest;
pub use tree::Bvh;
