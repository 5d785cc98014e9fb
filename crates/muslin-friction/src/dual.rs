//! Few contacts on stiff bodies: the matrix is factored once and condensed to the contacts, where sweeps see whole bodies
//! move instead of nodes.
//!
//! Costs three solves a contact, so it is for tens of contacts; the sweeps themselves are cheap then. Momentum is balanced
//! exactly throughout, only the contact law converges.

use crate::anderson::Anderson;
use crate::newton::System;
use crate::one::Block;
use crate::prepared::{Given, Prepared};
use crate::residual::{Residual, impulses, measure};
use muslin_linalg::{Mat3, Vec3};

/// Sweeps between looks at the error.
const SWEEPS_PER_CHECK: usize = 10;
/// Contacts whose responses are solved for together.
const CONTACTS_AT_ONCE: usize = 16;
/// A contact's own response may be singular beside that of the others; this much of it is added, relative.
const RIDGE: f64 = 1e-12;

/// Working memory.
#[derive(Default)]
pub(crate) struct Dual {
    system: System,
    anderson: Anderson,
    /// Response of contact c to an impulse at d, at `c * contacts + d`.
    response: Vec<Mat3>,
    blocks: Vec<Block>,
    free_velocity: Vec<Vec3>,
    column: Vec<Vec3>,
    force: Vec<Vec3>,
}

/// How a run ended.
pub(crate) struct DualEnd {
    pub(crate) residual: Residual,
    pub(crate) sweeps: usize,
    pub(crate) converged: bool,
}

impl Dual {
    /// Sweeps from the impulses given until the law holds to `tolerance`; velocities are those that belong to the
    /// impulses. `None` if the matrix cannot be factored: then nothing was changed.
    pub(crate) fn run(
        &mut self,
        given: &Given,
        tolerance: f64,
        max_sweeps: usize,
        v: &mut [Vec3],
        r: &mut [Vec3],
    ) -> Option<DualEnd> {
        let Given {
            problem,
            nodes,
            contacts,
        } = *given;
        self.system.analyse(problem, false).ok()?;
        self.system.factorise_shifted(problem, &[]).ok()?;
        self.condense(given);
        self.anderson.reset(r.len());
        for (c, x) in self.anderson.x.iter_mut().enumerate() {
            *x = r[c] / contacts[c].measure;
        }
        let mut sweeps = 0;
        while sweeps < max_sweeps {
            for (c, r) in r.iter_mut().enumerate() {
                *r = contacts[c].measure * self.anderson.x[c];
            }
            for c in 0..r.len() {
                if contacts[c].inert {
                    r[c] = Vec3::ZERO;
                    continue;
                }
                let others = self.velocity(r, c) - self.response[c * r.len() + c] * r[c];
                let block = &self.blocks[c];
                r[c] = block.solve(-(block.matrix * others), &contacts[c].cone).r;
            }
            sweeps += 1;
            if sweeps % SWEEPS_PER_CHECK == 0 && self.error(contacts, r) < 0.5 * tolerance {
                break;
            }
            for (c, g) in self.anderson.g.iter_mut().enumerate() {
                *g = r[c] / contacts[c].measure;
            }
            self.anderson.mix();
        }
        impulses(problem, r, &mut self.force);
        for n in 0..v.len() {
            v[n] = nodes[n].free * self.force[n] - problem.b[n];
        }
        self.system.solve(v);
        let residual = measure(given, v, r, &self.force);
        Some(DualEnd {
            converged: residual.merit() < tolerance,
            residual,
            sweeps,
        })
    }

    /// Response of every contact to every other, and their velocities without impulses.
    fn condense(&mut self, given: &Given) {
        let Given {
            problem,
            nodes,
            contacts,
        } = *given;
        let m = contacts.len();
        self.response.clear();
        self.response.resize(m * m, Mat3::ZERO);
        let rows = nodes.len();
        for first in (0..m).step_by(CONTACTS_AT_ONCE) {
            let group = &problem.contacts[first..(first + CONTACTS_AT_ONCE).min(m)];
            self.column.clear();
            self.column.resize(3 * rows * group.len(), Vec3::ZERO);
            for (k, contact) in group.iter().enumerate() {
                for axis in 0..3 {
                    let column = &mut self.column[(3 * k + axis) * rows..][..rows];
                    let direction = contact.frame.row(axis);
                    for (n, w) in contact.arms() {
                        column[n] = w * nodes[n].free * direction;
                    }
                }
            }
            self.system.solve_many(&mut self.column, 3 * group.len());
            for (c, other) in problem.contacts.iter().enumerate() {
                for (k, column) in self.column.chunks(rows).enumerate() {
                    let u = other.velocity(column) - other.offset;
                    *self.response[c * m + first + k / 3].col_mut(k % 3) = u;
                }
            }
        }
        self.column.clear();
        self.column.extend(problem.b.iter().map(|b| -*b));
        self.system.solve(&mut self.column);
        self.free_velocity.clear();
        self.free_velocity
            .extend(problem.contacts.iter().map(|c| c.velocity(&self.column)));
        self.blocks.clear();
        for (c, prepared) in contacts.iter().enumerate() {
            let own = self.response[c * m + c];
            let mut own = (own + own.transpose()) * 0.5;
            let size = own.x_axis.x.max(own.y_axis.y).max(own.z_axis.z);
            own += Mat3::from_diagonal(Vec3::splat(RIDGE * size));
            own.x_axis.x += prepared.compliance;
            let block = if prepared.inert {
                Mat3::IDENTITY
            } else {
                own.inverse()
            };
            self.blocks.push(Block::new(block, &prepared.cone));
        }
    }

    fn velocity(&self, r: &[Vec3], c: usize) -> Vec3 {
        let row = &self.response[c * r.len()..(c + 1) * r.len()];
        row.iter()
            .zip(r)
            .fold(self.free_velocity[c], |u, (w, r)| u + *w * *r)
    }

    fn error(&self, contacts: &[Prepared], r: &[Vec3]) -> f64 {
        (0..r.len())
            .filter(|c| !contacts[*c].inert)
            .map(|c| {
                let prepared = &contacts[c];
                let u = prepared.lawful(self.velocity(r, c), r[c]);
                prepared.cone.error(u, r[c], prepared.measure)
            })
            .fold(0.0, f64::max)
    }
}
