//! Continuous collision detection: will two moving features come within a given separation, and when at the earliest?
//!
//! Vertices move on straight lines during the step, from `x0` at time 0 to `x1` at time 1. [`vertex_face`] and [`edge_edge`]
//! are conservative: they never miss a contact and never report it later than it happens. The price is an occasional alarm
//! for features that pass within about two separations without touching. [`inclusion`] is the slow, independent twin.
//!
//! A whole step, from hierarchy to times of impact:
//!
//! ```
//! use muslin_geometry::bvh::{Bvh, CandidatePairs};
//! use muslin_geometry::ccd::{CcdParams, vertex_face_times};
//! use muslin_linalg::Vec3;
//! // A vertex of one triangle falls through another.
//! let high = [[0.3, 0.3, 1.0], [0.4, 0.3, 2.0], [0.3, 0.4, 2.0]].map(Vec3::from_array);
//! let x0: Vec<Vec3> = [Vec3::ZERO, Vec3::X, Vec3::Y].into_iter().chain(high).collect();
//! let x1: Vec<Vec3> = x0.iter().map(|x| Vec3::new(x.x, x.y, -x.z)).collect();
//! let faces = [[0, 1, 2], [3, 4, 5]];
//! let params = CcdParams::default();
//!
//! let mut bvh = Bvh::new(&x0, &faces, &[])?;
//! bvh.refit_swept(&x0, &x1, params.broad_phase_margin())?;
//! let mut pairs = CandidatePairs::default();
//! bvh.self_pairs(&mut pairs);
//! let mut times = Vec::new();
//! vertex_face_times(&x0, &x1, &faces, &pairs.vertex_face, &params, &mut times)?;
//!
//! let first = times.iter().copied().fold(f64::INFINITY, f64::min);
//! assert!(first <= 0.5 && first > 0.4999);
//! # Ok::<(), muslin_geometry::InputError>(())
//! ```

mod additive;
mod batch;
pub mod inclusion;

pub use additive::{edge_edge, vertex_face};
pub use batch::{edge_edge_motions, edge_edge_times, vertex_face_motions, vertex_face_times};

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
