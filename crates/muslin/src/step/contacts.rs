//! The contact part of an implicit step: find, build, solve, look whether the motion met anything new.

use super::{SolvedProblem, StepError, StepReport};
use crate::contact::{ContactParams, ContactSet, DetectParams, Detector, NEAR, SecondLine};
use crate::scene::{Between, FrictionSolver, ImplicitSettings};
use crate::world::World;
use muslin_friction::{
    Contact, FrictionProblem, Method, SolveParams, SolveReport, Solver, State, states,
};
use muslin_linalg::{BlockMatrix, Vec3};

/// Fraction of a missing distance made up for in a step: all at once would throw things apart.
const RECOVERY: f64 = 0.2;

/// What is near at the start of a step.
const NEARBY: Sought = Sought {
    near: NEAR,
    second: SecondLine::Skins,
    recovery: RECOVERY,
};
/// The same with edges that are near in folds.
const FOLDS: Sought = Sought {
    second: SecondLine::SkinsAndFolds,
    ..NEARBY
};
/// The same with edges that carried an impulse in the last step.
const CARRIED: Sought = Sought {
    second: SecondLine::SkinsFoldsAndCarried,
    ..NEARBY
};
/// What the motion crosses.
const CROSSING: Sought = Sought {
    near: 0.0,
    ..NEARBY
};

/// Matrix, imbalance of momentum and free coordinates of a linearised step.
type System<'a> = (&'a BlockMatrix, &'a [Vec3], &'a [[bool; 3]]);

fn problem<'a>(
    world: &'a World,
    (matrix, b, free): System<'a>,
    contacts: &'a [Contact],
) -> FrictionProblem<'a> {
    FrictionProblem {
        pattern: world.forces.pattern(),
        matrix,
        b,
        contacts,
        free,
        inertia: &world.mass,
    }
}

/// What is looked for.
#[derive(Clone, Copy)]
pub(super) struct Sought {
    /// What is nearer than so many thicknesses at the start of the step; if zero, what the motion crosses.
    pub near: f64,
    /// What counts where vertices do not keep surfaces apart.
    pub second: SecondLine,
    /// Fraction of a missing distance made up for in the step.
    pub recovery: f64,
}

/// Adds to the set what is sought on the way to `end` (m). Says how much it added.
pub(super) fn detect(
    world: &World,
    detector: &mut Detector,
    set: &mut ContactSet,
    end: &[Vec3],
    dt: f64,
    sought: &Sought,
) -> Result<usize, StepError> {
    if world.contact.between == Between::Nothing {
        return Ok(0);
    }
    let thickest = world.bodies.iter().map(|b| b.thickness).fold(0.0, f64::max);
    let params = DetectParams {
        margin: sought.near * thickest,
        crossings: sought.near == 0.0,
        between_cloth: world.contact.between == Between::All,
        second: sought.second,
        ..DetectParams::default()
    };
    detector
        .detect(world, Some(end), dt, &params)
        .map_err(|e| StepError::Contact {
            reason: e.to_string(),
            time: world.time + dt,
        })?;
    let params = ContactParams {
        dt,
        recovery: sought.recovery,
        recovery_speed: world.contact.recovery_speed,
    };
    let before = set.contacts.len();
    set.add(world, detector, &params);
    Ok(set.contacts.len() - before)
}

/// Contacts of the step under way, and the memory for finding and solving them.
#[derive(Default)]
pub(super) struct ContactPhase {
    detector: Detector,
    set: ContactSet,
    solver: Solver,
    /// Contacts with the velocity about which the step is linearised in their offsets.
    shifted: Vec<Contact>,
    states: Vec<State>,
    so_far: SoFar,
}

/// What the solves of the step under way have shown.
#[derive(Clone, Copy, Default)]
struct SoFar {
    /// The last solve has an answer, which contacts found since then may spoil where they are.
    nearly_solved: bool,
    /// The tolerance was missed.
    missed: bool,
    /// Folds count.
    folds: bool,
    /// Contacts that had to yield, in all solves.
    yielding: usize,
    /// Work done, in sweeps.
    work: usize,
}

/// Work that a step with a coarse tolerance may take, in sweeps: ten times that of a usual one, which factors twice and
/// makes thirty splitting iterations each time.
const STEP_WORK: usize = 3000;

/// Part of the usual patience with the last digits after a solve of the same step has missed them: a step that does not
/// arrive would else take as long in each of its rounds.
const AFTER_MISS: usize = 8;

/// What the scene asks of a solve.
fn asked(settings: &ImplicitSettings) -> SolveParams {
    SolveParams {
        tolerance: settings.tolerance,
        method: match settings.friction_solver {
            FrictionSolver::Auto => Method::Auto,
            FrictionSolver::GaussSeidel => Method::GaussSeidel,
            FrictionSolver::Newton => Method::Newton,
            FrictionSolver::Admm => Method::Admm,
        },
        max_sweeps: settings.max_sweeps,
        ..SolveParams::default()
    }
}

impl SoFar {
    /// What is asked of the next solve of the step.
    fn learnt(&self, asked: SolveParams) -> SolveParams {
        if !asked.coarse() || asked.method != Method::Auto {
            return asked;
        }
        let part = if self.missed { AFTER_MISS } else { 1 };
        SolveParams {
            nearly_solved: self.nearly_solved,
            jams: self.yielding > 0,
            max_work: STEP_WORK.saturating_sub(self.work),
            max_factorisations: asked.max_factorisations / part,
            max_admm_iterations: asked.max_admm_iterations / part,
            ..asked
        }
    }
}

impl ContactPhase {
    /// Whether nothing touches.
    pub fn is_empty(&self) -> bool {
        self.set.contacts.is_empty()
    }

    /// Finds what is near at the start of the step. What the motion crosses is left to [`Self::look`]: a guess of the
    /// motion, such as `predicted` (m), finds some that never meets.
    ///
    /// Where the tolerance is coarse that is no harm, and saves a second solve in most steps of cloth that falls. Edges in folds
    /// count from the beginning too, if some of them carried an impulse in the last step: found anew by crossings, they would
    /// cost a solve in every step of cloth that is wound up or crumpled.
    pub fn find(
        &mut self,
        world: &World,
        settings: &ImplicitSettings,
        predicted: &[Vec3],
        dt: f64,
    ) -> Result<(), StepError> {
        self.set.clear();
        self.shifted.clear();
        self.states.clear();
        self.so_far = SoFar::default();
        let (detector, set) = (&mut self.detector, &mut self.set);
        detect(world, detector, set, predicted, dt, &NEARBY)?;
        if asked(settings).coarse() && set.lacks_carried(world) {
            self.so_far.folds = true;
            let first = set.contacts.len();
            detect(world, detector, set, predicted, dt, &CARRIED)?;
            set.drop_known(first);
        }
        if asked(settings).coarse() {
            let first = set.contacts.len();
            detect(world, detector, set, predicted, dt, &CROSSING)?;
            set.drop_known(first);
        }
        Ok(())
    }

    /// Looks whether the motion to `end` (m) crosses anything; adds it to the contacts and says how much there is.
    ///
    /// Where something crosses in spite of the contacts, edges in folds may be what vertices do not keep apart. They would be
    /// found a few a round, each round a solve; so all of them that are near count from then on.
    pub fn look(&mut self, world: &World, end: &[Vec3], dt: f64) -> Result<usize, StepError> {
        let (detector, set) = (&mut self.detector, &mut self.set);
        let crossing = detect(world, detector, set, end, dt, &CROSSING)?;
        if crossing == 0 || self.so_far.folds {
            return Ok(crossing);
        }
        self.so_far.folds = true;
        let first = set.contacts.len();
        detect(world, detector, set, end, dt, &FOLDS)?;
        set.drop_known(first);
        Ok(crossing)
    }

    /// Solves `A c + b = Jᵀ r` with contact for the correction `c` of the velocities `base` (m/s).
    pub fn solve(
        &mut self,
        world: &World,
        system: System,
        settings: &ImplicitSettings,
        base: &[Vec3],
        correction: &mut [Vec3],
    ) -> Result<SolveReport, StepError> {
        self.shifted.clear();
        self.shifted.extend(self.set.contacts.iter().map(|c| {
            let moving = c.nodes.iter().zip(c.weights).filter(|(_, w)| *w != 0.0);
            let velocity: Vec3 = moving.map(|(n, w)| base[*n as usize] * w).sum();
            Contact {
                offset: c.offset + c.frame * velocity,
                ..*c
            }
        }));
        let problem = problem(world, system, &self.shifted);
        let params = self.so_far.learnt(asked(settings));
        let report = self
            .solver
            .solve(&problem, &params, correction, &mut self.set.impulses)
            .map_err(|e| StepError::Contact {
                reason: e.to_string(),
                time: world.time,
            })?;
        self.so_far.nearly_solved = report.converged;
        self.so_far.missed |= !report.converged;
        self.so_far.yielding += report.yielding.len();
        self.so_far.work += report.work();
        states(&problem, correction, &self.set.impulses, &mut self.states);
        Ok(report)
    }

    /// Adds the impulses of all contacts to the momentum of each vertex, kg m/s.
    pub fn add_impulses(&self, momentum: &mut [Vec3]) {
        for (c, r) in self.set.contacts.iter().zip(&self.set.impulses) {
            let push = c.frame.transpose() * *r;
            for (n, w) in c.nodes.iter().zip(c.weights).filter(|(_, w)| *w != 0.0) {
                momentum[*n as usize] += push * w;
            }
        }
    }

    /// Says in the report which contacts gave way.
    pub fn place_yielding(&self, solved: &SolveReport, report: &mut StepReport) {
        report.yielding = solved.yielding.len();
        let first = solved.yielding.first();
        report.yielding_at = first.map(|c| self.set.position(*c as usize).to_array());
    }

    /// Leaves the contacts with the world and counts them in the report.
    pub fn leave(&mut self, world: &mut World, report: &mut StepReport) {
        // What was found when no round was left has not been solved.
        self.set.truncate(self.states.len());
        let count = |state| self.states.iter().filter(|s| **s == state).count();
        report.contacts = self.set.contacts.len();
        report.sticking = count(State::Stick);
        report.sliding = count(State::Slide);
        self.set.leave(&self.states, world);
    }

    /// The last problem solved, with its answer.
    pub fn solved<'a>(
        &'a self,
        world: &'a World,
        system: System<'a>,
        correction: &'a [Vec3],
    ) -> SolvedProblem<'a> {
        SolvedProblem {
            problem: problem(world, system, &self.shifted),
            v: correction,
            r: &self.set.impulses,
        }
    }
}
