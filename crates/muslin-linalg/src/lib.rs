//! Numbers for Muslin: small vectors, block-sparse matrices, factorisations and Krylov solvers.
//!
//! Everything is `f64`. The heavy factorisation library is hidden behind plain functions here, so the
//! rest of the workspace neither sees nor pays for it.

pub mod block;
pub mod cholesky;
pub mod pcg;
pub mod scalar;
pub mod small;
mod svd;
mod triplets;

pub use block::{BlockMatrix, BlockPattern, SpanTooLarge};
pub use cholesky::{Cholesky, CholeskyError};
pub use pcg::{ConjugateGradients, PcgReport};
pub use scalar::{LowerColumns, ScalarCholesky};
pub use small::{Mat2, Mat3, Mat3x2, Quat, ShortVec3, Vec2, Vec3, outer};
pub use svd::{Svd, polar_rotation, svd};
pub use triplets::{TripletError, symmetric_from_triplets};
