//! Resistance to bending: the classical hinge, and a curvature element that does not depend on the mesh.

mod curvature;
mod hinge;
mod patch;

pub use curvature::{BendingModuli, CurvaturePatch};
pub use hinge::{Hinge, HingeLaw, dihedral};
pub use patch::{PATCH, RestSurface, Stencil, stencils};
