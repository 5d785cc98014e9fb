//! Settings of `method = "admm"`. The comments here are the reference: the schema for editors is made from them.

use super::SceneError;
use super::validate::range;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the stepper with a fixed budget.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdmmSettings {
    /// Iterations a step, at least 2: local steps, contact and one global step each.
    pub iterations: usize,
    /// Time after which no further iteration of a step begins, ms; 0 for no limit. Runs with a limit differ from each
    /// other, for they depend on the speed of the machine.
    pub milliseconds: f64,
    /// A step ends before its budget when primal and dual residual are below this, m/s; 0 to use it up always. Steps
    /// count as converged when the largest error of momentum and friction is within it.
    pub tolerance: f64,
    /// Sweeps over all contacts an iteration.
    pub sweeps: usize,
    /// Iterations after which contacts are looked for again.
    pub refresh: usize,
    /// Whether contacts give way a little and make up for it slowly. Without it stacks of many layers jitter.
    pub stabilisation: bool,
    /// Normal velocity per impulse that a contact yields, 1/kg, with stabilisation.
    pub contact_compliance: f64,
    /// Stiffness with which contacts that yielded are pushed back, N/m, with stabilisation. Times compliance and squared
    /// time step this is the share of a missing distance that is made up for in a step.
    pub contact_stiffness: f64,
    /// Rayleigh damping, s: the force of a velocity is that of a displacement this many seconds long. It conserves
    /// momentum but slows rotations. Fabrics have damping of their own.
    pub rayleigh: f64,
    /// Largest stretch of a triangle in any direction, as a fraction; 0 for no limit.
    pub strain_limit: f64,
    /// Weight of elements as a share of their stiffness. It changes how fast iterations converge, not where to.
    pub elastic_weight: f64,
    /// Weight of contact in masses of the vertex. It changes how fast iterations converge, not where to.
    pub contact_weight: f64,
    /// Whether iterations of steps without contact are accelerated by what the last ones had in common (Anderson).
    pub acceleration: bool,
    /// Whether the fail-safe guards the end of each step.
    pub failsafe: bool,
    /// Whether both residuals of every iteration are recorded with each step.
    pub trace: bool,
}

impl Default for AdmmSettings {
    fn default() -> Self {
        Self {
            iterations: 30,
            milliseconds: 0.0,
            tolerance: 1e-4,
            sweeps: 5,
            refresh: 5,
            stabilisation: true,
            contact_compliance: 1e-4,
            contact_stiffness: 1e6,
            rayleigh: 0.0,
            strain_limit: 0.0,
            elastic_weight: 0.5,
            contact_weight: 2.5,
            acceleration: true,
            failsafe: true,
            trace: false,
        }
    }
}

impl AdmmSettings {
    /// Whether all numbers make sense.
    pub(super) fn check(&self) -> Result<(), SceneError> {
        let counts = [
            ("iterations", self.iterations, 2.0, 1e6, "iterations"),
            ("sweeps", self.sweeps, 1.0, 1e4, "sweeps"),
            ("refresh", self.refresh, 1.0, 1e6, "iterations"),
        ];
        for (key, value, low, high, unit) in counts {
            range(&format!("solver.admm.{key}"), value as f64, low, high, unit)?;
        }
        let numbers = [
            ("milliseconds", self.milliseconds, 0.0, 1e6, "ms"),
            ("tolerance", self.tolerance, 0.0, 1.0, "m/s"),
            (
                "contact_compliance",
                self.contact_compliance,
                0.0,
                1e6,
                "1/kg",
            ),
            (
                "contact_stiffness",
                self.contact_stiffness,
                0.0,
                1e12,
                "N/m",
            ),
            ("rayleigh", self.rayleigh, 0.0, 1.0, "s"),
            (
                "strain_limit",
                self.strain_limit,
                0.0,
                10.0,
                "as a fraction",
            ),
            ("elastic_weight", self.elastic_weight, 1e-3, 1e3, ""),
            ("contact_weight", self.contact_weight, 1e-3, 1e6, "masses"),
        ];
        for (key, value, low, high, unit) in numbers {
            range(&format!("solver.admm.{key}"), value, low, high, unit)?;
        }
        Ok(())
    }
}
