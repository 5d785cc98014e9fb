//! Semismooth Newton: for stiff systems, where sweeps crawl.
//!
//! Full steps solve the law's linearisation exactly and converge in a few factorisations from a fair start. Far from an
//! answer they may run in circles; then cautious steps, on a convex energy that penalises the contacts, bring order.
//! Impulses are eliminated, so what is factored is the matrix plus a block at every active contact.

mod branch;
mod cautious;
mod krylov;
mod system;

use crate::kept::Kept;
use crate::prepared::{Given, Node};
use crate::problem::FrictionProblem;
use crate::residual::{Residual, imbalance, impulses, measure};
use branch::Branch;
use cautious::Pressed;
pub(crate) use krylov::{Coupling, Krylov};
use muslin_linalg::{Mat3, Vec3};
pub(crate) use system::System;

/// Accuracy of the coupling of sliding friction with normal impulses.
const COUPLING_TOLERANCE: f64 = 1e-4;
/// Full steps in a row that may fail to halve the error.
const PATIENCE: usize = 2;
/// Rounds of cautious and full steps in a row that may fail to halve the least error.
const MAX_UNHELPFUL: usize = 6;
/// Cautious steps of the first round; each further one may take twice as many.
const SETTLING: usize = 12;
/// Penalty of those steps.
const MILD: f64 = 1.0;

/// Working memory.
#[derive(Default)]
pub(crate) struct Newton {
    system: System,
    krylov: Krylov,
    branches: Vec<Branch>,
    couplings: Vec<Coupling>,
    factored: Vec<Mat3>,
    force: Vec<Vec3>,
    step: Vec<Vec3>,
    slope: Vec<Vec3>,
    image: Vec<Vec3>,
    clamped: Vec<Vec3>,
    best: Kept,
    settled: Kept,
    /// Of cautious steps, by contact.
    pressed: Vec<Pressed>,
}

/// How a run ended.
pub(crate) struct NewtonEnd {
    pub(crate) residual: Residual,
    pub(crate) iterations: usize,
    pub(crate) factorisations: usize,
    pub(crate) converged: bool,
    /// Whether a factorisation was refused: the matrix is not positive definite, or too large.
    pub(crate) failed: bool,
}

impl Newton {
    /// Iterates until both errors are below `tolerance`, `max_factorisations` are done, or steps lead nowhere.
    ///
    /// Full steps come first. When they stop helping, the best point so far is settled by cautious ones, and full steps
    /// start again from there; without `settling` that is the end. The best point is what is returned.
    pub(crate) fn run(
        &mut self,
        given: &Given,
        tolerance: f64,
        max_factorisations: usize,
        settling: bool,
        v: &mut [Vec3],
        r: &mut [Vec3],
    ) -> NewtonEnd {
        let Given {
            problem,
            nodes,
            contacts,
        } = *given;
        let mut end = self.begin(given, v, r);
        let mut best = end.residual.merit();
        let mut last = f64::INFINITY;
        let mut stale = 0;
        let mut best_before = f64::INFINITY;
        let mut unhelpful = 0;
        let mut rounds = 0;
        loop {
            impulses(problem, r, &mut self.force);
            let residual = measure(given, v, r, &self.force);
            let merit = residual.merit();
            if merit < best {
                best = merit;
                end.residual = residual;
                self.best.keep(v, r);
            }
            if merit > 0.5 * last {
                stale += 1;
            }
            // Full steps square the error, so they may as well go on to where nothing drifts.
            let arrived = best < tolerance && (residual.strict() < tolerance || merit > 0.1 * last);
            last = merit;
            end.converged = best < tolerance;
            if arrived || end.failed || end.factorisations >= max_factorisations {
                break;
            }
            if stale > PATIENCE && !settling {
                break;
            }
            if stale > PATIENCE {
                unhelpful = if best < 0.5 * best_before {
                    0
                } else {
                    unhelpful + 1
                };
                best_before = best;
                if unhelpful > MAX_UNHELPFUL {
                    break;
                }
                if rounds == 0 {
                    self.best.restore(v, r);
                } else {
                    self.settled.restore(v, r);
                }
                // Full steps may come too early, so each round settles for longer, from where the last one ended.
                let steps = SETTLING << rounds.min(3);
                self.press(r.len(), MILD);
                self.settle(given, tolerance, steps, v, r, &mut end);
                self.settled.keep(v, r);
                rounds += 1;
                stale = 0;
                last = f64::INFINITY;
                continue;
            }
            let law = if rounds % 2 == 0 {
                Branch::exact
            } else {
                Branch::exact_mildly
            };
            self.branch(problem, v, |c, u| law(&contacts[c], u, r[c]));
            self.refactor(problem, &mut end);
            if !end.failed {
                self.newton_step(problem, nodes, v, r);
                end.iterations += 1;
            }
        }
        self.best.restore(v, r);
        end
    }

    /// Makes ready for a problem; what is given is the best point so far.
    fn begin(&mut self, given: &Given, v: &[Vec3], r: &[Vec3]) -> NewtonEnd {
        let problem = given.problem;
        self.factored.clear();
        self.step.resize(problem.b.len(), Vec3::ZERO);
        self.best.keep(v, r);
        impulses(problem, r, &mut self.force);
        NewtonEnd {
            residual: measure(given, v, r, &self.force),
            iterations: 0,
            factorisations: 0,
            converged: false,
            failed: self.system.analyse(problem, true).is_err(),
        }
    }

    /// Factors the symmetric part, unless that was the last one factored.
    fn refactor(&mut self, problem: &FrictionProblem, end: &mut NewtonEnd) {
        let same = self.factored.len() == self.branches.len()
            && end.factorisations > 0
            && (self.branches.iter().zip(&self.factored)).all(|(b, f)| b.stiffness == *f);
        if same {
            return;
        }
        self.factored.clear();
        self.factored
            .extend(self.branches.iter().map(|b| b.stiffness));
        end.factorisations += 1;
        end.failed = self.system.factorise(problem, &self.factored).is_err();
    }

    /// Minus what is missing from the balance of momentum with the clamped impulses; held rows included.
    fn imbalances(&mut self, problem: &FrictionProblem, nodes: &[Node], v: &[Vec3]) {
        impulses(problem, &self.clamped, &mut self.force);
        for n in 0..v.len() {
            self.step[n] = -imbalance(problem, nodes, v, &self.force, n);
            // A held coordinate takes the velocity its own row gives it.
            let held = Vec3::ONE - nodes[n].free;
            if held != Vec3::ZERO {
                let block = problem.matrix.diagonal(problem.pattern, n);
                self.step[n] -= held * (block * v[n] + problem.b[n]);
            }
        }
    }

    /// States, impulses and derivatives at the present point.
    fn branch(
        &mut self,
        problem: &FrictionProblem,
        v: &[Vec3],
        law: impl Fn(usize, Vec3) -> Branch,
    ) {
        self.branches.clear();
        let contacts = problem.contacts.iter().enumerate();
        self.branches
            .extend(contacts.map(|(c, contact)| law(c, contact.velocity(v))));
    }

    /// Solves for a change of velocity and applies it, with the change of impulses that belongs to it.
    fn newton_step(
        &mut self,
        problem: &FrictionProblem,
        nodes: &[Node],
        v: &mut [Vec3],
        r: &mut [Vec3],
    ) {
        self.clamped.clear();
        self.clamped.extend(self.branches.iter().map(|b| b.r));
        self.imbalances(problem, nodes, v);
        self.couplings.clear();
        self.couplings
            .extend(self.branches.iter().map(|b| Coupling {
                pull: b.pull,
                row: Vec3::X * b.normal,
            }));
        self.krylov.solve(
            problem,
            &mut self.system,
            &self.couplings,
            COUPLING_TOLERANCE,
            &mut self.step,
        );
        for (c, contact) in problem.contacts.iter().enumerate() {
            let branch = &self.branches[c];
            let change = contact.velocity(&self.step) - contact.offset;
            r[c] = branch.r - branch.stiffness * change - branch.pull * (branch.normal * change.x);
        }
        for (v, step) in v.iter_mut().zip(&self.step) {
            *v += *step;
        }
    }
}
