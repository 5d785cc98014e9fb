//! Sweeps guided by a factorisation: for sheets whose stiffness makes sweeps alone slow.
//!
//! Each iteration first solves for the smooth part of what is missing, with active contacts held where they are by a
//! strong penalty, then sweeps twice, which settles each contact's state and impulse where it is. The factorisation is a
//! mere guide, so it serves many iterations, until too many contacts have come or gone. Velocities that contacts still
//! miss are left to the sweeps: asking the solve for them makes impulses run away where contacts are redundant. All is
//! wrapped in Anderson acceleration.

use crate::anderson::Anderson;
use crate::gauss_seidel::{GaussSeidel, pack};
use crate::kept::Kept;
use crate::newton::{Branch, System};
use crate::prepared::{Node, Prepared};
use crate::problem::FrictionProblem;
use crate::residual::{Residual, imbalance, impulses, measure};
use muslin_linalg::{Mat3, Vec3};

/// Sweeps after each linear solve.
const SWEEPS: usize = 2;
/// Share of the contacts that may come or go before the matrix is factored again.
const CHANGED: f64 = 0.02;
/// Iterations without halving the least error after which there is no hope.
const PATIENCE: usize = 4;
/// Iterations at most.
const MAX_ITERATIONS: usize = 40;

/// Working memory.
#[derive(Default)]
pub(crate) struct Guided {
    system: System,
    anderson: Anderson,
    held: Vec<Mat3>,
    factored: Vec<Mat3>,
    force: Vec<Vec3>,
    step: Vec<Vec3>,
    best: Kept,
}

/// How a run ended.
pub(crate) struct GuidedEnd {
    pub(crate) residual: Residual,
    pub(crate) iterations: usize,
    pub(crate) factorisations: usize,
    pub(crate) sweeps: usize,
    pub(crate) converged: bool,
}

impl Guided {
    /// Iterates until the errors are below `tolerance` or nothing improves; the best point is returned.
    #[allow(clippy::too_many_arguments)] // the problem, what was prepared of it, and the unknowns
    pub(crate) fn run(
        &mut self,
        sweeper: &mut GaussSeidel,
        problem: &FrictionProblem,
        nodes: &[Node],
        contacts: &[Prepared],
        tolerance: f64,
        v: &mut [Vec3],
        r: &mut [Vec3],
    ) -> GuidedEnd {
        impulses(problem, r, &mut self.force);
        let mut end = GuidedEnd {
            residual: measure(problem, nodes, contacts, v, r, &self.force),
            iterations: 0,
            factorisations: 0,
            sweeps: 0,
            converged: false,
        };
        self.best.keep(v, r);
        if self.system.analyse(problem, true).is_err() {
            return end;
        }
        let n = v.len();
        self.step.resize(n, Vec3::ZERO);
        self.factored.clear();
        self.anderson.reset(n + r.len());
        pack(contacts, v, r, &mut self.anderson.x);
        let mut best = f64::INFINITY;
        let mut stale = 0;
        while end.iterations < MAX_ITERATIONS && stale < PATIENCE {
            if end.iterations > 0 {
                v.copy_from_slice(&self.anderson.x[..n]);
                for (c, r) in r.iter_mut().enumerate() {
                    *r = contacts[c].rho * self.anderson.x[n + c];
                }
            }
            end.iterations += 1;
            if self.refactor(problem, contacts, v, r) {
                end.factorisations += 1;
                if self.system.factorise(problem, &self.factored).is_err() {
                    break;
                }
            }
            self.correct(problem, nodes, v, r);
            for _ in 0..SWEEPS {
                sweeper.sweep(problem, nodes, contacts, v, r);
            }
            end.sweeps += SWEEPS;
            impulses(problem, r, &mut self.force);
            let residual = measure(problem, nodes, contacts, v, r, &self.force);
            let merit = residual.merit();
            stale = if merit < 0.5 * best { 0 } else { stale + 1 };
            if merit < best {
                best = merit;
                end.residual = residual;
                self.best.keep(v, r);
            }
            if merit < tolerance {
                end.converged = true;
                break;
            }
            pack(contacts, v, r, &mut self.anderson.g);
            self.anderson.mix();
        }
        self.best.restore(v, r);
        end
    }

    /// Looks what each contact holds now, and whether that differs too much from what was factored.
    fn refactor(
        &mut self,
        problem: &FrictionProblem,
        contacts: &[Prepared],
        v: &[Vec3],
        r: &[Vec3],
    ) -> bool {
        self.held.clear();
        let all = problem.contacts.iter().zip(contacts).zip(r);
        self.held.extend(all.map(|((contact, prepared), r)| {
            Branch::exact(prepared, contact.velocity(v), *r).stiffness
        }));
        if self.factored.len() == self.held.len() {
            let both = self.held.iter().zip(&self.factored);
            let changed = both
                .filter(|(a, b)| (**a == Mat3::ZERO) != (**b == Mat3::ZERO))
                .count();
            if changed as f64 <= CHANGED * self.held.len() as f64 {
                return false;
            }
        }
        std::mem::swap(&mut self.held, &mut self.factored);
        true
    }

    /// Adds what the factored system answers to the missing momentum.
    fn correct(
        &mut self,
        problem: &FrictionProblem,
        nodes: &[Node],
        v: &mut [Vec3],
        r: &mut [Vec3],
    ) {
        impulses(problem, r, &mut self.force);
        for k in 0..v.len() {
            self.step[k] = -imbalance(problem, nodes, v, &self.force, k);
            let held = Vec3::ONE - nodes[k].free;
            if held != Vec3::ZERO {
                let block = problem.matrix.diagonal(problem.pattern, k);
                self.step[k] -= held * (block * v[k] + problem.b[k]);
            }
        }
        self.system.solve(&mut self.step);
        for ((r, contact), block) in r.iter_mut().zip(problem.contacts).zip(&self.factored) {
            *r -= *block * (contact.velocity(&self.step) - contact.offset);
        }
        for (v, step) in v.iter_mut().zip(&self.step) {
            *v += *step;
        }
    }
}
