//! Time steppers: each moves the world forward by one step and says what it reached.

pub mod implicit;
mod linear;

pub use implicit::Implicit;
pub use linear::LinearSystem;

use crate::world::World;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a step reached. Written to `steps.jsonl`, one object a line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Number of the step, from 1.
    pub step: usize,
    /// Time at its end, s.
    pub time: f64,
    /// Vertices in the world.
    pub vertices: usize,
    /// Contacts the solver saw.
    pub contacts: usize,
    /// Contacts that stick.
    pub sticking: usize,
    /// Contacts that slide.
    pub sliding: usize,
    /// Iterations of the stepper.
    pub iterations: usize,
    /// Largest imbalance left, m/s.
    pub residual: f64,
    /// Whether the residual is within the tolerance; with one linearisation a step, that of the linear system.
    pub converged: bool,
    /// Crossing pairs of triangles at the end; none if nobody looked.
    pub intersections: Option<usize>,
    /// Whether the fail-safe acted.
    pub failsafe: bool,
    /// How linear systems were solved.
    pub linear_solver: String,
    /// Iterations of the linear solver, all systems of the step together; 0 for a factorisation.
    pub linear_iterations: usize,
    /// Measures asked for by the scene.
    #[serde(default)]
    pub measures: BTreeMap<String, f64>,
    /// Wall-clock seconds: `total` and one entry a phase.
    pub seconds: BTreeMap<String, f64>,
}

/// Why a run cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A position or velocity stopped being a number.
    #[error(
        "vertex {vertex} of cloth `{cloth}` left the realm of numbers at t = {time} s; a smaller time step or softer fabric helps"
    )]
    NotFinite {
        /// Vertex of the cloth.
        vertex: usize,
        /// Name of the cloth.
        cloth: String,
        /// Time, s.
        time: f64,
    },
    /// A prescribed motion has no value.
    #[error("pin `{pin}` has no position at t = {time} s; check its path")]
    PinUndefined {
        /// Name of the pin.
        pin: String,
        /// Time, s.
        time: f64,
    },
    /// The linear system could not be set up or solved.
    #[error("the linear system of the step at t = {time} s could not be solved: {reason}")]
    Linear {
        /// What the solver said.
        reason: String,
        /// Time, s.
        time: f64,
    },
}

/// Moves the world forward.
pub trait Stepper: Send {
    /// One step of length `dt` (s), ending at `world.time + dt`, which the caller sets as the new time.
    fn step(&mut self, world: &mut World, dt: f64) -> Result<StepReport, StepError>;
}

/// Measures the phases of a step.
pub(crate) struct Phases {
    begun: std::time::Instant,
    last: std::time::Instant,
    seconds: BTreeMap<String, f64>,
}

impl Phases {
    pub fn start() -> Self {
        let now = std::time::Instant::now();
        Self {
            begun: now,
            last: now,
            seconds: BTreeMap::new(),
        }
    }

    /// Books the time since the last call under a name.
    pub fn done(&mut self, phase: &str) {
        let now = std::time::Instant::now();
        let spent = (now - self.last).as_secs_f64();
        self.last = now;
        match self.seconds.get_mut(phase) {
            Some(s) => *s += spent,
            None => {
                self.seconds.insert(phase.to_string(), spent);
            }
        }
    }

    /// Moves part of one phase's time to another.
    pub fn shift(&mut self, from: &str, to: &str, seconds: f64) {
        if seconds > 0.0 {
            *self.seconds.entry(from.to_string()).or_default() -= seconds;
            *self.seconds.entry(to.to_string()).or_default() += seconds;
        }
    }

    pub fn finish(mut self) -> BTreeMap<String, f64> {
        self.seconds
            .insert("total".into(), self.begun.elapsed().as_secs_f64());
        self.seconds
    }
}
