//! Shapes for Muslin: triangle meshes, and the questions one asks of them.
//!
//! * [`mesh`] surfaces, their cleaning and their connectivity
//! * [`tet`] solids of tetrahedra, their checking, their surface, and the filling of closed surfaces
//! * [`distance`] how far apart are two features, and where are they closest?
//! * [`bvh`] which features of a mesh are near each other?
//! * [`ccd`] will two moving features touch, and when at the earliest?
//! * [`intersect`] do two triangles cross? The judge of everything else: exact, without tolerances.
//!
//! All lengths are metres. Meshes are plain slices of positions and vertex indices, so the crate can be used without the
//! rest of Muslin. Results do not depend on the number of threads.

pub mod bvh;
pub mod ccd;
pub mod distance;
pub mod intersect;
pub mod mesh;
pub mod tet;
pub mod validate;

pub use validate::InputError;
