//! Continuous collision detection: will two moving features come within a given separation, and when at the earliest?
//!
//! Vertices move on straight lines during the step, from `x0` at time 0 to `x1` at time 1. [`vertex_face`] and [`edge_edge`]
//! are conservative: they never miss a contact and never report it later than it happens. The price is an occasional alarm
//! for features that pass within about two separations without touching. [`inclusion`] is the slow, independent twin.

mod additive;
mod batch;
pub mod inclusion;

pub use additive::{edge_edge, vertex_face};
pub use batch::{edge_edge_times, vertex_face_times};

use crate::validate::InputError;

/// Parameters of the conservative detector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CcdParams {
    /// Features closer than this are in contact, in metres. Must be positive: it is what absorbs rounding errors, and without it
    /// contacts are missed. Keep it below every initial distance.
    pub separation: f64,
    /// The search stops when the distance beyond the separation falls below this, in metres: alarms are raised only for
    /// features that really come within `separation + gap_cap`.
    pub gap_cap: f64,
    /// After so many steps the pair is reported as a hit at the time reached.
    pub max_iterations: u32,
}

impl Default for CcdParams {
    fn default() -> Self {
        Self {
            separation: 1e-6,
            gap_cap: 1e-6,
            max_iterations: 10_000,
        }
    }
}

impl CcdParams {
    /// Largest extent of a query (size and motion together) per separation for which rounding stays harmless. Wider
    /// queries are reported as hits at time 0 instead of being guessed.
    pub const MAX_EXTENT_PER_SEPARATION: f64 = 1e12;

    /// Checks the parameters.
    pub fn validate(&self) -> Result<(), InputError> {
        let positive = |name, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(())
            } else {
                Err(InputError::BadParameter {
                    name,
                    value,
                    needs: "finite and positive",
                })
            }
        };
        positive("separation", self.separation)?;
        positive("gap_cap", self.gap_cap)?;
        positive("max_iterations", f64::from(self.max_iterations))
    }

    /// The margin for swept boxes (m): pairs farther apart than this are misses for sure.
    pub fn broad_phase_margin(&self) -> f64 {
        self.separation + self.gap_cap
    }
}
