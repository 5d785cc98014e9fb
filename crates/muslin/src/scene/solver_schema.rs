//! How time is stepped: the `[solver]` table of a scene file.

use super::admm_schema::AdmmSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How time is stepped.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Solver {
    /// Time stepper.
    pub method: Method,
    /// Largest time step, s. A frame is cut into equal steps of at most this length.
    pub time_step: f64,
    /// Settings of the implicit stepper.
    pub implicit: ImplicitSettings,
    /// Settings of the impulse stepper.
    pub impulse: ImpulseSettings,
    /// Settings of the stepper with a fixed budget.
    pub admm: AdmmSettings,
}

impl Default for Solver {
    fn default() -> Self {
        Self {
            method: Method::Implicit,
            time_step: 0.005,
            implicit: ImplicitSettings::default(),
            impulse: ImpulseSettings::default(),
            admm: AdmmSettings::default(),
        }
    }
}

/// The time steppers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Implicit Euler.
    Implicit,
    /// Internal dynamics by central differences, then repulsions, collision impulses and impact zones.
    Impulse,
    /// Projective dynamics with friction by alternating directions, at a fixed budget a step.
    Admm,
}

/// Settings of the impulse stepper.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImpulseSettings {
    /// Largest deviation of edges from their length at rest, as a fraction; 0 for no limit.
    pub strain_limit: f64,
    /// Largest change of an edge's length in a collision step, as a fraction; 0 for no limit.
    pub rate_limit: f64,
    /// Collision steps in which something meets are halved as long as they are no shorter than this, s, and resolved
    /// there. The longest is `time_step`.
    pub smallest_step: f64,
}

impl Default for ImpulseSettings {
    fn default() -> Self {
        Self {
            strain_limit: 0.1,
            rate_limit: 0.1,
            smallest_step: 2e-3,
        }
    }
}

/// Settings of the implicit stepper.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImplicitSettings {
    /// Linearise forces once a step, or solve the nonlinear step by Newton's method. Contact and friction are exact
    /// either way.
    pub scheme: Scheme,
    /// Largest error of a step, m/s: of the balance of momentum of any vertex and of the law of friction of any contact.
    pub tolerance: f64,
    /// Most Newton iterations a step.
    pub max_iterations: usize,
    /// Most sweeps of the friction solver.
    pub max_sweeps: usize,
    /// How friction is solved.
    pub friction_solver: FrictionSolver,
    /// How linear systems are solved.
    pub linear_solver: LinearSolver,
}

impl Default for ImplicitSettings {
    fn default() -> Self {
        Self {
            scheme: Scheme::Linearised,
            tolerance: 1e-6,
            max_iterations: 20,
            max_sweeps: 2000,
            friction_solver: FrictionSolver::Auto,
            linear_solver: LinearSolver::Auto,
        }
    }
}

/// What is solved each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Newton's method with line search, to tolerance.
    Newton,
    /// One linear system a step.
    Linearised,
}

/// How friction is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FrictionSolver {
    /// Whichever is estimated to be faster, and the others when it stalls.
    Auto,
    /// Coloured Gauss-Seidel over contacts with Anderson acceleration.
    GaussSeidel,
    /// Newton's method with a sparse factorisation.
    Newton,
    /// Alternating directions with a prefactored matrix.
    Admm,
}

/// How linear systems are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinearSolver {
    /// Whichever is estimated to be faster for each system.
    Auto,
    /// Sparse Cholesky factorisation.
    Cholesky,
    /// Conjugate gradients.
    Cg,
}
