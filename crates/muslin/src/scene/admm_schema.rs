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
    /// A step ends before its budget, and counts as converged, when the largest error of momentum and friction is within
    /// this, m/s; 0 to use up the budget always.
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
    /// Rayleigh damping, s: the force of a velocity is that of a displacement this many seconds long, with the stiffness at rest
    /// in all directions. It conserves momentum but slows rotations and bending. Fabrics have damping of their own.
    pub rayleigh: f64,
    /// Largest stretch of a triangle in any direction, as a fraction; 0 for no limit.
    pub strain_limit: f64,
    /// Weight of elements as a share of their stiffness. The default is half for solids, and for cloth what its stiffness, its mass, the
    /// step and its pressure ask for. It changes how fast iterations converge, not where to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elastic_weight: Option<f64>,
    /// Weight of contact in masses of the vertex; the default is a fifth of the number of iterations up to 60, but ten
    /// where that is less, and two fifths of budgets below 25. It changes how fast
    /// iterations converge, not where to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact_weight: Option<f64>,
    /// Which steps are accelerated by what their last iterations had in common (Anderson).
    pub acceleration: Acceleration,
    /// Whether the fail-safe guards the end of each step.
    pub failsafe: bool,
    /// Whether both residuals of every iteration are recorded with each step.
    pub trace: bool,
}

/// Which steps are accelerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Acceleration {
    /// None.
    Never,
    /// Those in which nothing touches. Contact has corners, and acceleration makes stacks restless.
    Free,
    /// All. Stiff bodies with few contacts converge faster.
    Always,
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
            elastic_weight: None,
            contact_weight: None,
            acceleration: Acceleration::Free,
            failsafe: true,
            trace: false,
        }
    }
}

impl AdmmSettings {
    /// Weight of contact in masses of the vertex. A motion as a whole is held back by this over itself plus one in each
    /// iteration, so that a budget of few iterations bears no heavy contact; many converge faster with it.
    pub fn contact_weight(&self) -> f64 {
        let budget = self.iterations as f64;
        self.contact_weight
            .unwrap_or((0.2 * budget).clamp(10.0, 60.0).min(0.4 * budget))
    }

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
            (
                "elastic_weight",
                self.elastic_weight.unwrap_or(1.0),
                1e-3,
                1e3,
                "",
            ),
            ("contact_weight", self.contact_weight(), 1e-3, 1e6, "masses"),
        ];
        for (key, value, low, high, unit) in numbers {
            range(&format!("solver.admm.{key}"), value, low, high, unit)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{Override, SceneSource};

    #[test]
    fn settings_out_of_range_are_refused_with_their_key() {
        let source = SceneSource::find("analytical_cloth").unwrap();
        for (key, value) in [
            ("iterations", "1"),
            ("sweeps", "0"),
            ("refresh", "0"),
            ("milliseconds", "-1"),
            ("tolerance", "2"),
            ("contact_compliance", "-1"),
            ("contact_stiffness", "-1"),
            ("rayleigh", "-0.1"),
            ("strain_limit", "-0.1"),
            ("elastic_weight", "0"),
            ("contact_weight", "0"),
            ("acceleration", "\"sometimes\""),
            ("no_such_key", "1"),
        ] {
            let change = Override::parse(&format!("solver.admm.{key}={value}")).unwrap();
            let error = source.load(&[change]).unwrap_err().to_string();
            assert!(error.contains(key), "{key}: {error}");
        }
    }
}
