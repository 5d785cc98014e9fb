//! Frictional contact solved exactly: velocities and impulses that satisfy the balance of momentum, non-penetration and
//! Coulomb's law together, to a stated tolerance.
//!
//! Local components are (normal, first tangent, second tangent). Impulses are in N s, velocities in m/s, masses in kg.

mod admm;
mod anderson;
mod colour;
mod cone;
mod dual;
mod error;
pub mod families;
mod gauss_seidel;
mod impossible;
mod kept;
mod lumped;
mod matchstick;
mod newton;
mod one;
mod outlook;
mod prepared;
mod problem;
mod report;
mod residual;
mod rows;
mod solver;
mod validate;

pub use anderson::Anderson;
pub use cone::law_error;
pub use error::FrictionError;
pub use matchstick::{Matchstick, matchstick};
pub use one::{OneContact, solve_one};
pub use problem::{Contact, FrictionProblem, NO_NODE, State};
pub use report::{Method, SolveParams, SolveReport};
pub use residual::{Residual, residual, states};
pub use solver::Solver;
