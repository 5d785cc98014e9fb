//! Alternating directions: contacts act on copies of the velocities, a matrix factored once pulls both together.
//!
//! The workhorse wherever sweeps crawl: stiff sheets, stacks, cards, dishes, grips. The matrix is factored without its
//! contacts, so bodies stay apart in it; an iteration is one solve and a few sweeps over the contacts alone. Iterations
//! are accelerated like sweeps are. Mixing copies, duals and impulses matters: mixing their sum alone, which determines
//! them in theory, took three times as many iterations or stalled.

use crate::anderson::Anderson;
use crate::kept::Kept;
use crate::lumped::{Lumped, scale};
use crate::newton::System;
use crate::prepared::{Given, Prepared};
use crate::problem::FrictionProblem;
use crate::report::COARSE;
use crate::residual::{Residual, contact_errors, impulses, measure};
use muslin_linalg::Vec3;

/// The sweeps end when they change less than this share of what parts velocities and copies.
const INNER_ACCURACY: f64 = 0.05;
/// Iterations between looks at the error, unless velocities and copies have come together before.
const ITERATIONS_PER_CHECK: usize = 5;
/// Error of the contacts on the copies, over what parts velocities and copies, above which a few sweeps are too few; and
/// iterations before that is judged.
const UNSETTLED: f64 = 0.5;
const JUDGED_FROM: usize = 20;
/// Iterations without halving the least error that end the first pass of a run, and how many times as many each pass after
/// it may take: where short ones undo each other, long ones arrive.
const PATIENCE: f64 = 15.0;
const LONGER: f64 = 1.25;
/// Weights of a node over the geometric mean of its inertia and its diagonal: of the first pass, and of those that follow
/// where it stalls, in turns.
///
/// Splitting is quickest where the weight lies between the softest mode that contacts excite, which moves by its inertia,
/// and the stiffest, which the diagonal bounds. Measured on draped sheets, stacks, cards, dishes and grips: 2 to 5 are
/// equally good. Large weights then move what is stiff, small ones what is soft, in turns: each pass begins quickly, from where
/// the last one ended. From the best point so far they would undo each other.
const FIRST_WEIGHT: f64 = 3.0;
const FURTHER_WEIGHTS: [f64; 2] = [12.0, 0.8];

/// Times the tolerance that errors scaled by mass may reach, unless the tolerance is coarse.
const BY_MASS: f64 = 10.0;

/// Working memory.
#[derive(Default)]
pub(crate) struct Admm {
    system: System,
    lumped: Lumped,
    anderson: Anderson,
    copies: Vec<Vec3>,
    force: Vec<Vec3>,
    pull: Vec<Vec3>,
    /// Copies less duals that the velocities stand for.
    pulled: Vec<Vec3>,
    best: Kept,
    /// Whether a few sweeps over the contacts were found to be too few.
    thorough: bool,
}

/// What a run is to reach.
pub(crate) struct Goal {
    /// Both errors are to fall below this, m/s.
    pub(crate) tolerance: f64,
    pub(crate) max_iterations: usize,
    pub(crate) passes: Passes,
}

impl Goal {
    /// What iterations are to bring below the tolerance, m/s. They leave the largest error where it is allowed to be
    /// largest, in slow motions of whole bodies, so errors by mass are held tighter than the tolerance asks; further
    /// passes give that up after half of their budget. Where the tolerance is coarse, what is asked is enough.
    fn aim(&self, residual: &Residual) -> f64 {
        if self.tolerance >= COARSE {
            return residual.merit();
        }
        residual.local.max(residual.strict() / BY_MASS)
    }
}

/// Which passes a run makes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passes {
    /// One. What it leaves in slow motions others can mend, so it has arrived only where little of that is left.
    First,
    /// As many as the budget allows.
    Further,
}

impl Passes {
    fn weights(self) -> impl Iterator<Item = f64> {
        let (first, further): (&[f64], &[f64]) = match self {
            Self::First => (&[FIRST_WEIGHT], &[]),
            Self::Further => (&[], &FURTHER_WEIGHTS),
        };
        first.iter().chain(further.iter().cycle()).copied()
    }
}

/// How a run ended.
pub(crate) struct AdmmEnd {
    pub(crate) residual: Residual,
    pub(crate) iterations: usize,
    pub(crate) factorisations: usize,
    pub(crate) converged: bool,
}

impl Admm {
    /// A new problem begins.
    pub(crate) fn forget(&mut self) {
        self.thorough = false;
    }

    /// Iterates from `v` and `r` until the goal is reached or nothing improves; the best point is returned.
    pub(crate) fn run(
        &mut self,
        given: &Given,
        goal: &Goal,
        v: &mut [Vec3],
        r: &mut [Vec3],
    ) -> AdmmEnd {
        let problem = given.problem;
        impulses(problem, r, &mut self.force);
        let mut end = AdmmEnd {
            residual: measure(given, v, r, &self.force),
            iterations: 0,
            factorisations: 0,
            converged: false,
        };
        if self.system.analyse(problem, false).is_err() {
            return end;
        }
        self.best.keep(v, r);
        let mut patience = PATIENCE;
        for weight in goal.passes.weights() {
            self.lumped.prepare(given, weight);
            let shift = &self.lumped.weights;
            end.factorisations += 1;
            if self.system.factorise_shifted(problem, shift).is_err() {
                break;
            }
            self.system.choose_part(|n| shift[n] != Vec3::ZERO);
            let arrived = self.pass(given, goal, patience as usize, v, r, &mut end);
            patience *= LONGER;
            if arrived || end.iterations >= goal.max_iterations {
                break;
            }
        }
        self.best.restore(v, r);
        let reached = match goal.passes {
            Passes::First => goal.aim(&end.residual),
            Passes::Further => end.residual.merit(),
        };
        end.converged = reached < goal.tolerance;
        end
    }

    /// Iterations with one set of weights; tells whether they have arrived. The best point of all passes is kept.
    fn pass(
        &mut self,
        given: &Given,
        goal: &Goal,
        patience: usize,
        v: &mut [Vec3],
        r: &mut [Vec3],
        end: &mut AdmmEnd,
    ) -> bool {
        let Given {
            problem, contacts, ..
        } = *given;
        self.start(problem, contacts, v, r);
        let begun = end.iterations;
        let (mut halved_to, mut halved_at) = (f64::INFINITY, begun);
        let mut gap = f64::INFINITY;
        while end.iterations < goal.max_iterations && end.iterations - halved_at < patience {
            let whole = end.iterations == begun
                || (end.iterations + 1).is_multiple_of(ITERATIONS_PER_CHECK)
                || gap < 2.0 * goal.tolerance;
            end.iterations += 1;
            self.pull_together(problem, whole, v);
            gap = self.settle(problem, contacts, gap, v, r);
            if whole {
                impulses(problem, r, &mut self.force);
                let residual = measure(given, v, r, &self.force);
                let error = goal.aim(&residual);
                if error < goal.aim(&end.residual) {
                    end.residual = residual;
                    self.best.keep(v, r);
                }
                if error < goal.tolerance {
                    return true;
                }
                let late =
                    goal.passes == Passes::Further && end.iterations > goal.max_iterations / 2;
                if late && residual.merit() < goal.tolerance {
                    end.residual = residual;
                    self.best.keep(v, r);
                    return true;
                }
                if error < 0.5 * halved_to {
                    (halved_to, halved_at) = (error, end.iterations);
                }
                self.thorough |= end.iterations - begun >= JUDGED_FROM
                    && self.unsettled(given, r) > UNSETTLED * gap;
            }
            self.anderson.mix();
        }
        false
    }

    /// Largest error that the sweeps have left on the copies, m/s.
    fn unsettled(&self, given: &Given, r: &[Vec3]) -> f64 {
        let contacts = 0..given.contacts.len();
        let error = |c| contact_errors(given.problem, given.contacts, &self.copies, r, c)[1];
        contacts.map(error).fold(0.0, f64::max)
    }

    /// Copies, duals and impulses that velocities and impulses stand for.
    fn start(&mut self, problem: &FrictionProblem, contacts: &[Prepared], v: &[Vec3], r: &[Vec3]) {
        impulses(problem, r, &mut self.force);
        self.copies.clear();
        self.copies.extend_from_slice(v);
        self.pulled.resize(v.len(), Vec3::ZERO);
        let touched = &self.lumped.touched;
        self.anderson.reset(2 * touched.len() + r.len());
        let [copies, duals, scaled] = split(&mut self.anderson.x, touched.len());
        for (k, &n) in touched.iter().enumerate() {
            let n = n as usize;
            copies[k] = v[n];
            duals[k] = -self.lumped.push(n, self.force[n]);
        }
        scale(contacts, r, scaled);
    }

    /// Velocities for the copies and duals of the state: all of them, or only where contacts touch, by what has changed
    /// since the last iteration. That is quicker, and a whole solve mends what it leaves.
    fn pull_together(&mut self, problem: &FrictionProblem, whole: bool, v: &mut [Vec3]) {
        let touched = &self.lumped.touched;
        let [copies, duals, _] = split(&mut self.anderson.x, touched.len());
        let pulls = touched.iter().zip(copies.iter().zip(duals.iter()));
        let pulls = pulls.map(|(n, (copy, dual))| (*n as usize, *copy - *dual));
        if whole {
            self.pull.clear();
            self.pull.extend(problem.b.iter().map(|b| -*b));
            for (n, pull) in pulls {
                self.pull[n] += self.lumped.weights[n] * pull;
                self.pulled[n] = pull;
            }
            self.system.improve(&self.pull, v);
        } else {
            self.pull.fill(Vec3::ZERO);
            for (n, pull) in pulls {
                self.pull[n] = self.lumped.weights[n] * (pull - self.pulled[n]);
                self.pulled[n] = pull;
            }
            self.system.follow(&mut self.pull);
            for &n in touched {
                v[n as usize] += self.pull[n as usize];
            }
        }
    }

    /// The other half of an iteration, from velocities to the image of the state; returns how far velocities and copies
    /// are apart, m/s, which was `last` before.
    fn settle(
        &mut self,
        problem: &FrictionProblem,
        contacts: &[Prepared],
        last: f64,
        v: &[Vec3],
        r: &mut [Vec3],
    ) -> f64 {
        let count = self.lumped.touched.len();
        let [_, duals, scaled] = split(&mut self.anderson.x, count);
        for ((scaled, r), prepared) in scaled.iter().zip(&mut *r).zip(contacts) {
            *r = prepared.rho * *scaled;
        }
        impulses(problem, r, &mut self.force);
        for (k, &n) in self.lumped.touched.iter().enumerate() {
            let n = n as usize;
            self.copies[n] = v[n] + duals[k] + self.lumped.push(n, self.force[n]);
        }
        let target = INNER_ACCURACY * last;
        self.lumped.settle(
            problem,
            contacts,
            self.thorough,
            target,
            &mut self.copies,
            r,
        );
        let mut gap: f64 = 0.0;
        let [new_copies, new_duals, new_scaled] = split(&mut self.anderson.g, count);
        for (k, &n) in self.lumped.touched.iter().enumerate() {
            let n = n as usize;
            let apart = v[n] - self.copies[n];
            gap = gap.max(apart.abs().max_element());
            new_copies[k] = self.copies[n];
            new_duals[k] = duals[k] + apart;
        }
        scale(contacts, r, new_scaled);
        gap
    }
}

/// Copies, duals and scaled impulses of a state.
fn split(state: &mut [Vec3], touched: usize) -> [&mut [Vec3]; 3] {
    let (copies, rest) = state.split_at_mut(touched);
    let (duals, scaled) = rest.split_at_mut(touched);
    [copies, duals, scaled]
}
