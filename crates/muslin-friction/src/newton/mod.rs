//! Semismooth Newton: for stiff systems, where sweeps crawl.
//!
//! Full steps solve the law's linearisation exactly and converge in a few factorisations from a fair start. Far from an
//! answer they may run in circles; then cautious steps, on a convex energy that penalises the contacts, bring order.
//! Impulses are eliminated, so what is factored is the matrix plus a block at every active contact.

mod branch;
mod krylov;
mod system;

use crate::kept::Kept;
use crate::prepared::{Given, Node, Prepared};
use crate::problem::FrictionProblem;
use crate::residual::{Residual, imbalance, impulses, measure};
pub(crate) use branch::Branch;
use branch::bounded;
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
    image: Vec<Vec3>,
    clamped: Vec<Vec3>,
    best: Kept,
    settled: Kept,
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
        let mut end = NewtonEnd {
            residual: Residual::default(),
            iterations: 0,
            factorisations: 0,
            converged: false,
            failed: false,
        };
        if self.system.analyse(problem, true).is_err() {
            end.failed = true;
            return end;
        }
        self.factored.clear();
        self.step.resize(v.len(), Vec3::ZERO);
        let mut best = f64::INFINITY;
        let mut last = f64::INFINITY;
        let mut stale = 0;
        let mut best_before = f64::INFINITY;
        let mut unhelpful = 0;
        let mut rounds = 0;
        loop {
            impulses(problem, r, &mut self.force);
            let residual = measure(given, v, r, &self.force);
            let merit = residual.merit();
            if merit < best || end.iterations == 0 {
                best = merit;
                end.residual = residual;
                self.best.keep(v, r);
            }
            if merit > 0.5 * last {
                stale += 1;
            }
            last = merit;
            end.converged = merit < tolerance;
            if end.converged || end.failed || end.factorisations >= max_factorisations {
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
                let limit = SETTLING << rounds.min(3);
                self.settle(given, tolerance, limit, v, r, &mut end);
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
            self.branch(problem, contacts, v, r, law);
            self.refactor(problem, &mut end);
            if !end.failed {
                self.newton_step(problem, nodes, v, r);
                end.iterations += 1;
            }
        }
        self.best.restore(v, r);
        end
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

    /// Steps with a line search on the energy of the penalised problem, whose friction bounds are held during a step.
    ///
    /// That energy is convex, so these steps cannot run away. They end when momentum is balanced well enough for new
    /// multipliers to make sense.
    fn settle(
        &mut self,
        given: &Given,
        tolerance: f64,
        limit: usize,
        v: &mut [Vec3],
        r: &mut [Vec3],
        end: &mut NewtonEnd,
    ) {
        let Given {
            problem,
            nodes,
            contacts,
        } = *given;
        for _ in 0..limit {
            self.branch(problem, contacts, v, r, Branch::cautious);
            self.refactor(problem, end);
            if end.failed {
                break;
            }
            self.clamped.clear();
            self.clamped.extend(self.branches.iter().map(|b| b.r));
            self.imbalances(problem, nodes, v);
            let slope = self.step.clone();
            self.system.solve(&mut self.step);
            let t = self.search(problem, contacts, v, r, &slope);
            for (v, step) in v.iter_mut().zip(&self.step) {
                *v += t * *step;
            }
            end.iterations += 1;
            self.branch(problem, contacts, v, r, Branch::cautious);
            self.clamped.clear();
            self.clamped.extend(self.branches.iter().map(|b| b.r));
            impulses(problem, &self.clamped, &mut self.force);
            let e = measure(given, v, &self.clamped, &self.force);
            if e.dynamics < (0.1 * e.contact).max(0.1 * tolerance) {
                break;
            }
        }
        r.copy_from_slice(&self.clamped);
    }

    /// Where along the step the energy is least, at most one.
    fn search(
        &mut self,
        problem: &FrictionProblem,
        contacts: &[Prepared],
        v: &[Vec3],
        r: &[Vec3],
        slope: &[Vec3],
    ) -> f64 {
        // Without contacts the derivative is linear along the step.
        impulses(problem, &self.clamped, &mut self.force);
        let mut start = 0.0;
        let mut curvature = 0.0;
        self.image.resize(v.len(), Vec3::ZERO);
        problem
            .matrix
            .multiply(problem.pattern, &self.step, &mut self.image);
        for n in 0..v.len() {
            start -= self.step[n].dot(slope[n] - self.force[n]);
            curvature += self.step[n].dot(self.image[n]);
        }
        let derivative = |t: f64| {
            let mut sum = start + t * curvature;
            for (c, contact) in problem.contacts.iter().enumerate() {
                let du = contact.velocity(&self.step) - contact.offset;
                let u = contact.velocity(v) + t * du;
                let bound = contacts[c].cone.mu * self.clamped[c].x;
                sum -= bounded(&contacts[c], u, r[c], bound).dot(du);
            }
            sum
        };
        let first = derivative(0.0);
        let last = derivative(1.0);
        if last <= 0.1 * first.abs() {
            return 1.0;
        }
        let (mut low, mut high, mut f_low, mut f_high) = (0.0, 1.0, first, last);
        let mut t = 0.5;
        for _ in 0..30 {
            t = low - f_low * (high - low) / (f_high - f_low);
            if !(t > low && t < high) {
                t = 0.5 * (low + high);
            }
            let f = derivative(t);
            if f.abs() <= 0.1 * first.abs() {
                break;
            }
            // The end that stays is weighed down, or the secant creeps.
            if f < 0.0 {
                (low, f_low) = (t, f);
                f_high *= 0.5;
            } else {
                (high, f_high) = (t, f);
                f_low *= 0.5;
            }
        }
        t
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
        contacts: &[Prepared],
        v: &[Vec3],
        r: &[Vec3],
        law: fn(&Prepared, Vec3, Vec3) -> Branch,
    ) {
        self.branches.clear();
        self.branches.extend(
            problem
                .contacts
                .iter()
                .zip(contacts)
                .zip(r)
                .map(|((contact, prepared), r)| law(prepared, contact.velocity(v), *r)),
        );
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
