//! Alternating directions: contacts act on copies of the velocities, a matrix factored once pulls both together.
//!
//! Slower than the others where they work, but it has solved what made them circle. Iterations are accelerated like the
//! sweeps are.

use crate::anderson::Anderson;
use crate::newton::System;
use crate::one::solve_in_cone;
use crate::prepared::{Node, Prepared};
use crate::problem::FrictionProblem;
use crate::residual::{Residual, impulses, measure};
use muslin_linalg::{Mat3, Vec3};

/// Sweeps over the contacts of an iteration, if contacts share nodes.
const INNER_SWEEPS: usize = 10;
/// Iterations between looks at the error.
const ITERATIONS_PER_CHECK: usize = 5;

/// Working memory.
#[derive(Default)]
pub(crate) struct Admm {
    system: System,
    anderson: Anderson,
    weights: Vec<Vec3>,
    inverse: Vec<Vec3>,
    blocks: Vec<Mat3>,
    touched: Vec<u32>,
    copies: Vec<Vec3>,
    duals: Vec<Vec3>,
    force: Vec<Vec3>,
}

/// How a run ended.
pub(crate) struct AdmmEnd {
    pub(crate) residual: Residual,
    pub(crate) iterations: usize,
    pub(crate) factorisations: usize,
    pub(crate) converged: bool,
}

impl Admm {
    /// Iterates until both errors are below `tolerance`; starts at `v` and the duals that `r` stands for.
    #[allow(clippy::too_many_arguments)] // the problem, what was prepared of it, and the unknowns
    pub(crate) fn run(
        &mut self,
        problem: &FrictionProblem,
        nodes: &[Node],
        contacts: &[Prepared],
        tolerance: f64,
        max_iterations: usize,
        v: &mut [Vec3],
        r: &mut [Vec3],
    ) -> AdmmEnd {
        let mut end = AdmmEnd {
            residual: Residual::default(),
            iterations: 0,
            factorisations: 1,
            converged: false,
        };
        self.prepare(problem, nodes, contacts, v.len());
        if self.system.analyse(problem, false).is_err()
            || self
                .system
                .factorise_shifted(problem, &self.weights)
                .is_err()
        {
            impulses(problem, r, &mut self.force);
            end.residual = measure(problem, nodes, contacts, v, r, &self.force);
            return end;
        }
        let n = v.len();
        self.copies.clear();
        self.copies.extend_from_slice(v);
        impulses(problem, r, &mut self.force);
        self.duals.clear();
        self.duals
            .extend((0..n).map(|k| -self.inverse[k] * self.force[k]));
        self.anderson.reset(2 * n + r.len());
        let shared = self.touched.iter().any(|t| *t > 1);
        let sweeps = if shared { INNER_SWEEPS } else { 1 };
        self.store(contacts, r, false);
        while end.iterations < max_iterations {
            if end.iterations > 0 {
                self.copies.copy_from_slice(&self.anderson.x[..n]);
                self.duals.copy_from_slice(&self.anderson.x[n..2 * n]);
                for (c, r) in r.iter_mut().enumerate() {
                    *r = contacts[c].rho * self.anderson.x[2 * n + c];
                }
            }
            end.iterations += 1;
            for k in 0..n {
                v[k] = self.weights[k] * (self.copies[k] - self.duals[k]) - problem.b[k];
            }
            self.system.solve(v);
            // Copies without contact impulses; the sweeps below add these.
            impulses(problem, r, &mut self.force);
            for k in 0..n {
                self.copies[k] = v[k] + self.duals[k] + self.inverse[k] * self.force[k];
            }
            for _ in 0..sweeps {
                for c in 0..contacts.len() {
                    self.relax(problem, contacts, r, c);
                }
            }
            for k in 0..n {
                self.duals[k] += v[k] - self.copies[k];
            }
            if end.iterations.is_multiple_of(ITERATIONS_PER_CHECK)
                || end.iterations == max_iterations
            {
                impulses(problem, r, &mut self.force);
                end.residual = measure(problem, nodes, contacts, v, r, &self.force);
                end.converged = end.residual.merit() < tolerance;
                if end.converged {
                    break;
                }
            }
            self.store(contacts, r, true);
            self.anderson.mix();
        }
        end
    }

    /// Weights on free coordinates of contact nodes, and the contacts' resistance with them.
    fn prepare(
        &mut self,
        problem: &FrictionProblem,
        nodes: &[Node],
        contacts: &[Prepared],
        count: usize,
    ) {
        self.touched.clear();
        self.touched.resize(count, 0);
        for contact in problem.contacts {
            for (n, _) in contact.arms() {
                self.touched[n] += 1;
            }
        }
        self.weights.clear();
        self.inverse.clear();
        for (node, touched) in nodes.iter().zip(&self.touched) {
            let active = *touched > 0 && node.diagonal.is_finite();
            let weight = if active { node.diagonal } else { 0.0 };
            self.weights.push(node.free * weight);
            self.inverse.push(if active {
                node.free / weight
            } else {
                Vec3::ZERO
            });
        }
        self.blocks.clear();
        for (contact, prepared) in problem.contacts.iter().zip(contacts) {
            let mut world = Vec3::ZERO;
            for (n, w) in contact.arms() {
                world += w * w * self.inverse[n];
            }
            let mut local = contact.frame * Mat3::from_diagonal(world) * contact.frame.transpose();
            let largest = world.max_element();
            if world.min_element() < 1e-9 * largest {
                local += Mat3::from_diagonal(Vec3::splat(1e-9 * largest));
            }
            local.x_axis.x += prepared.compliance;
            self.blocks.push(if prepared.inert {
                Mat3::IDENTITY
            } else {
                local.inverse()
            });
        }
    }

    /// Solves one contact on the copies.
    fn relax(
        &mut self,
        problem: &FrictionProblem,
        contacts: &[Prepared],
        r: &mut [Vec3],
        c: usize,
    ) {
        let contact = &problem.contacts[c];
        if contacts[c].inert {
            r[c] = Vec3::ZERO;
            return;
        }
        let own = contact.frame.transpose() * r[c];
        let mut q = Vec3::ZERO;
        for (n, w) in contact.arms() {
            q += w * (self.copies[n] - w * self.inverse[n] * own);
        }
        let q = contact.frame * q + contact.offset;
        let block = &self.blocks[c];
        let new = solve_in_cone(block, -(*block * q), &contacts[c].cone).r;
        let change = contact.frame.transpose() * (new - r[c]);
        r[c] = new;
        for (n, w) in contact.arms() {
            self.copies[n] += w * self.inverse[n] * change;
        }
    }

    /// Copies, duals and impulses as one vector of velocities.
    fn store(&mut self, contacts: &[Prepared], r: &[Vec3], image: bool) {
        let out = if image {
            &mut self.anderson.g
        } else {
            &mut self.anderson.x
        };
        let n = self.copies.len();
        out[..n].copy_from_slice(&self.copies);
        out[n..2 * n].copy_from_slice(&self.duals);
        for (c, r) in r.iter().enumerate() {
            out[2 * n + c] = *r / contacts[c].rho;
        }
    }
}
