//! Time steppers: each moves the world forward by one step and says what it reached.

pub mod admm;
mod contacts;
pub mod implicit;
pub mod impulse;
mod islands;
mod linear;

pub use admm::Admm;
pub use implicit::Implicit;
pub use impulse::Impulse;
pub use linear::LinearSystem;

use crate::world::World;
use muslin_friction::FrictionProblem;
use muslin_linalg::Vec3;
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
    /// Largest error left, m/s: of the balance of momentum and of the law of friction.
    pub residual: f64,
    /// The same scaled by mass instead of the diagonal of the matrix: a bound of wrong velocities, m/s; 0 without contacts.
    #[serde(default)]
    pub velocity_error: f64,
    /// Distance of positions from what local steps and contact want, m/s, root mean square by mass; `admm` only.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub primal: f64,
    /// Change of what they want in the last iteration, m/s, likewise; `admm` only.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dual: f64,
    /// Both of every iteration, if asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<[f64; 2]>,
    /// Whether the residual is within the tolerance; with one linearisation a step, that of the linearised problem.
    pub converged: bool,
    /// Crossing pairs of triangles at the end; none if nobody looked.
    pub intersections: Option<usize>,
    /// Whether the fail-safe acted.
    pub failsafe: bool,
    /// The last stage that the fail-safe needed; empty if it did not act.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failsafe_stage: String,
    /// Vertices that the fail-safe put elsewhere than proposed.
    #[serde(default)]
    pub failsafe_vertices: usize,
    /// Places where obstacles or pins closed on cloth, so that nothing could keep them apart.
    #[serde(default)]
    pub trapped: usize,
    /// How linear systems were solved.
    pub linear_solver: String,
    /// Iterations of the linear solver, all systems of the step together; 0 for a factorisation.
    pub linear_iterations: usize,
    /// How friction was solved; empty without contacts.
    #[serde(default)]
    pub friction_solver: String,
    /// Sweeps over all contacts and vertices.
    #[serde(default)]
    pub sweeps: usize,
    /// Factorisations for friction.
    #[serde(default)]
    pub factorisations: usize,
    /// How often the step was solved again because its motion met something new.
    #[serde(default)]
    pub rounds: usize,
    /// Crossings on the way that were still there when the rounds were used up.
    #[serde(default)]
    pub unresolved: usize,
    /// Contacts that contradict each other and had to give way.
    #[serde(default)]
    pub yielding: usize,
    /// Where the first of them is, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yielding_at: Option<[f64; 3]>,
    /// Measures asked for by the scene.
    #[serde(default)]
    pub measures: BTreeMap<String, f64>,
    /// Wall-clock seconds: `total` and one entry a phase.
    pub seconds: BTreeMap<String, f64>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
fn is_zero(value: &f64) -> bool {
    *value == 0.0
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
    /// The elements are too stiff for steps of central differences.
    #[error(
        "the cloth at t = {time} s is so stiff that central differences need steps of {step:.1e} s; use the implicit \
         method, a softer fabric or a coarser mesh"
    )]
    TooStiff {
        /// Largest stable step, s.
        step: f64,
        /// Time, s.
        time: f64,
    },
    /// Contacts could not be found or solved.
    #[error("the contacts of the step at t = {time} s could not be handled: {reason}")]
    Contact {
        /// What went wrong.
        reason: String,
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

/// The last contact problem of a step with its answer, so that it can be checked or solved on its own.
#[derive(Clone, Copy)]
pub struct SolvedProblem<'a> {
    /// What was given.
    pub problem: FrictionProblem<'a>,
    /// Change of each vertex's velocity from the one about which the step was linearised, m/s.
    pub v: &'a [Vec3],
    /// Impulses in the frames of the contacts, N s.
    pub r: &'a [Vec3],
}

/// Moves the world forward.
pub trait Stepper: Send {
    /// The contact problem of the last step, if anything touched and the stepper poses one.
    fn solved_problem<'a>(&'a self, world: &'a World) -> Option<SolvedProblem<'a>> {
        let _ = world;
        None
    }

    /// One step of length `dt` (s), ending at `world.time + dt`, which the caller sets as the new time.
    fn step(&mut self, world: &mut World, dt: f64) -> Result<StepReport, StepError>;
}

/// No scene is as large, m: what is farther away is on its way to infinity.
const FARTHEST: f64 = 1e12;

/// An error if a position (m) or velocity (m/s) of the state is not a number, or far beyond all bounds.
pub(crate) fn finite(world: &World, x: &[Vec3], v: &[Vec3], time: f64) -> Result<(), StepError> {
    let astray = |x: Vec3| !x.is_finite() || x.abs().max_element() > FARTHEST;
    let Some(vertex) = (0..x.len()).find(|i| astray(x[*i]) || !v[*i].is_finite()) else {
        return Ok(());
    };
    let body = world.bodies.iter().find(|b| b.vertices.contains(&vertex));
    Err(StepError::NotFinite {
        vertex: body.map_or(vertex, |b| vertex - b.vertices.start),
        cloth: body.map(|b| b.name.clone()).unwrap_or_default(),
        time,
    })
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
