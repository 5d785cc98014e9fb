//! Forces as incremental potentials: each element is an energy of the positions at the end of the step.
//!
//! Elasticity is such an energy by nature. Damping and air drag become one once what they need from the start of
//! the step is held (strain, normal, velocity): their gradient is then the implicit force. So one trait, one loop
//! and one derivative test serve all of them.

pub mod bend;
pub mod drag;
mod element;
pub mod grip;
mod group;
pub mod spring;
pub mod stretch;
pub mod tet;

pub use element::{Element, StepContext, Tangent};
pub use group::{ElementGroup, Forces, ForcesBuilder};

#[cfg(test)]
pub(crate) use element::testing;
