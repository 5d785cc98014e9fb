//! Frictional contact solved exactly: velocities and impulses that satisfy the balance of momentum, non-penetration and
//! Coulomb's law together, to a stated tolerance.
//!
//! Local components are (normal, first tangent, second tangent). Impulses are in N s, velocities in m/s, masses in kg.

mod problem;

pub use problem::{Contact, FrictionProblem, NO_NODE, State};
