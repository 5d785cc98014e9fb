//! Contacts on copies of the velocities with a weight by node in place of the matrix: the half of splitting that knows
//! Coulomb's law.

use crate::anderson::Anderson;
use crate::cone::length;
use crate::one::Block;
use crate::prepared::{Given, Prepared};
use crate::problem::FrictionProblem;
use muslin_linalg::{Mat3, Vec3};

/// Sweeps over all contacts.
const SWEEPS: usize = 10;
/// Rounds over the rest; each takes as long as the sweeps above at most.
const ROUNDS: usize = 3;
/// Change of velocity, over the target, by which a contact counts to the rest, and at which the rest has settled.
const MOVED: f64 = 0.1;
/// Share of a contact below which a node has no part in it.
const SLIGHT: f64 = 0.01;

/// How a contact resists, on the weights of its nodes.
#[derive(Clone, Copy)]
struct Resistance {
    block: Block,
    /// Whether the block is diagonal with equal tangents and the cone round: the answer is then a mere projection.
    plain: bool,
}

/// Working memory.
#[derive(Default)]
pub(crate) struct Lumped {
    /// By node and axis, kg; zero where nothing touches and on held axes.
    pub(crate) weights: Vec<Vec3>,
    /// Nodes that contacts touch, ascending.
    pub(crate) touched: Vec<u32>,
    /// Whether any of them has several contacts.
    shared: bool,
    inverse: Vec<Vec3>,
    count: Vec<u32>,
    blocks: Vec<Resistance>,
    anderson: Anderson,
    /// Change of velocity that the last sweep made at each contact, m/s.
    moved: Vec<f64>,
    /// Contacts that have not settled, and their nodes.
    rest: Vec<u32>,
    near_nodes: Vec<u32>,
    near: Vec<bool>,
    base: Vec<Vec3>,
    force: Vec<Vec3>,
}

impl Lumped {
    /// Weights and resistances of a problem; `weight` is over the geometric mean of inertia and diagonal.
    pub(crate) fn prepare(&mut self, given: &Given, weight: f64) {
        let Given {
            problem,
            nodes,
            contacts,
        } = *given;
        self.count.clear();
        self.count.resize(nodes.len(), 0);
        for contact in problem.contacts {
            for (n, _) in contact.arms() {
                self.count[n] += 1;
            }
        }
        self.shared = self.count.iter().any(|count| *count > 1);
        self.touched.clear();
        self.touched
            .extend((0..nodes.len() as u32).filter(|n| self.count[*n as usize] > 0));
        self.weights.clear();
        self.inverse.clear();
        for (node, count) in nodes.iter().zip(&self.count) {
            let active = *count > 0 && node.diagonal.is_finite();
            let mean = (node.inertia * node.diagonal).sqrt();
            let weight = (weight * mean).min(node.diagonal);
            let [weight, inverse] = if active {
                [weight, 1.0 / weight]
            } else {
                [0.0; 2]
            };
            self.weights.push(node.free * weight);
            self.inverse.push(node.free * inverse);
        }
        self.blocks.clear();
        let inverse = &self.inverse;
        self.blocks.extend(
            (problem.contacts.iter().zip(contacts)).map(|(contact, prepared)| {
                let mut world = Vec3::ZERO;
                for (n, w) in contact.arms() {
                    world += w * w * inverse[n];
                }
                let mut local =
                    contact.frame * Mat3::from_diagonal(world) * contact.frame.transpose();
                let largest = world.max_element();
                let even = world.min_element() == largest;
                if world.min_element() < 1e-9 * largest {
                    local += Mat3::from_diagonal(Vec3::splat(1e-9 * largest));
                }
                if even {
                    local = Mat3::from_diagonal(world);
                }
                local.x_axis.x += prepared.compliance;
                let block = if prepared.inert {
                    Mat3::IDENTITY
                } else {
                    local.inverse()
                };
                Resistance {
                    block: Block::new(block, &prepared.cone),
                    plain: even && prepared.cone.stretch == Vec3::ONE,
                }
            }),
        );
    }

    /// Velocity that an impulse gives a node, m/s.
    pub(crate) fn push(&self, n: usize, impulse: Vec3) -> Vec3 {
        self.inverse[n] * impulse
    }

    /// Sweeps until one changes velocities by less than `target` (m/s), or a few are done; the copies must carry the
    /// impulses.
    ///
    /// They run to and fro, so that a push travels through a whole stack in one of them, and settle most. A heavy body on
    /// light ones needs hundreds, but only where it lies: that is for `thorough` ones.
    pub(crate) fn settle(
        &mut self,
        problem: &FrictionProblem,
        contacts: &[Prepared],
        thorough: bool,
        target: f64,
        copies: &mut [Vec3],
        r: &mut [Vec3],
    ) {
        if !self.shared {
            self.sweep(problem, contacts, false, copies, r);
            return;
        }
        for k in 0..SWEEPS {
            if self.sweep(problem, contacts, k % 2 == 1, copies, r) <= target {
                return;
            }
        }
        if !thorough {
            return;
        }
        for _ in 0..ROUNDS {
            self.settle_rest(problem, contacts, target, copies, r);
            if self.sweep(problem, contacts, false, copies, r) <= target {
                return;
            }
        }
    }

    /// Accelerated sweeps over the contacts that the last one has moved and those beside them.
    fn settle_rest(
        &mut self,
        problem: &FrictionProblem,
        contacts: &[Prepared],
        target: f64,
        copies: &mut [Vec3],
        r: &mut [Vec3],
    ) {
        self.choose_rest(problem, MOVED * target);
        let rest = std::mem::take(&mut self.rest);
        self.gather(problem, &rest, r);
        self.base.clear();
        for &n in &self.near_nodes {
            let n = n as usize;
            self.base.push(copies[n] - self.inverse[n] * self.force[n]);
        }
        self.anderson.reset(rest.len());
        for (x, &c) in self.anderson.x.iter_mut().zip(&rest) {
            *x = r[c as usize] / contacts[c as usize].rho;
        }
        for _ in 0..SWEEPS * r.len() / rest.len().max(1) {
            let mut largest: f64 = 0.0;
            for &c in &rest {
                largest = largest.max(self.visit(problem, contacts, c as usize, copies, r));
            }
            if largest <= MOVED * target {
                break;
            }
            for (g, &c) in self.anderson.g.iter_mut().zip(&rest) {
                *g = r[c as usize] / contacts[c as usize].rho;
            }
            self.anderson.mix();
            for (x, &c) in self.anderson.x.iter().zip(&rest) {
                r[c as usize] = contacts[c as usize].rho * *x;
            }
            self.gather(problem, &rest, r);
            for (base, &n) in self.base.iter().zip(&self.near_nodes) {
                let n = n as usize;
                copies[n] = *base + self.inverse[n] * self.force[n];
            }
        }
        self.rest = rest;
    }

    /// Contacts at nodes that the last sweep has moved by more than `least` (m/s), and all their nodes.
    fn choose_rest(&mut self, problem: &FrictionProblem, least: f64) {
        let takes_part = |w: f64| w.abs() > SLIGHT;
        self.near.clear();
        self.near.resize(self.inverse.len(), false);
        for (contact, moved) in problem.contacts.iter().zip(&self.moved) {
            if *moved > least {
                for (n, _) in contact.arms().filter(|(_, w)| takes_part(*w)) {
                    self.near[n] = true;
                }
            }
        }
        self.rest.clear();
        self.near_nodes.clear();
        for (c, contact) in problem.contacts.iter().enumerate() {
            if (contact.arms()).any(|(n, w)| takes_part(w) && self.near[n]) {
                self.rest.push(c as u32);
                self.near_nodes
                    .extend(contact.arms().map(|(n, _)| n as u32));
            }
        }
        self.near_nodes.sort_unstable();
        self.near_nodes.dedup();
        self.force.resize(self.inverse.len(), Vec3::ZERO);
    }

    /// Impulses that some contacts give their nodes.
    fn gather(&mut self, problem: &FrictionProblem, some: &[u32], r: &[Vec3]) {
        for &n in &self.near_nodes {
            self.force[n as usize] = Vec3::ZERO;
        }
        for &c in some {
            let contact = &problem.contacts[c as usize];
            let world = contact.frame.transpose() * r[c as usize];
            for (n, w) in contact.arms() {
                self.force[n] += w * world;
            }
        }
    }

    /// One sweep over all contacts; returns the largest change of velocity.
    fn sweep(
        &mut self,
        problem: &FrictionProblem,
        contacts: &[Prepared],
        backwards: bool,
        copies: &mut [Vec3],
        r: &mut [Vec3],
    ) -> f64 {
        let mut largest: f64 = 0.0;
        let count = contacts.len();
        self.moved.resize(count, 0.0);
        for k in 0..count {
            let c = if backwards { count - 1 - k } else { k };
            let moved = self.visit(problem, contacts, c, copies, r);
            self.moved[c] = moved;
            largest = largest.max(moved);
        }
        largest
    }

    /// Relaxes one contact; returns the largest change of velocity.
    fn visit(
        &self,
        problem: &FrictionProblem,
        contacts: &[Prepared],
        c: usize,
        copies: &mut [Vec3],
        r: &mut [Vec3],
    ) -> f64 {
        let block = &self.blocks[c];
        let new = relax(problem, contacts, &self.inverse, block, copies, r[c], c);
        let contact = &problem.contacts[c];
        let change = contact.frame.transpose() * (new - r[c]);
        r[c] = new;
        let mut largest: f64 = 0.0;
        for (n, w) in contact.arms() {
            let step = w * self.inverse[n] * change;
            largest = largest.max(step.abs().max_element());
            copies[n] += step;
        }
        largest
    }
}

/// Impulses as the velocities they cause.
pub(crate) fn scale(contacts: &[Prepared], r: &[Vec3], out: &mut [Vec3]) {
    for ((out, r), prepared) in out.iter_mut().zip(r).zip(contacts) {
        *out = *r / prepared.rho;
    }
}

/// Impulse of one contact with the other impulses held.
fn relax(
    problem: &FrictionProblem,
    contacts: &[Prepared],
    inverse: &[Vec3],
    resistance: &Resistance,
    copies: &[Vec3],
    r: Vec3,
    c: usize,
) -> Vec3 {
    let contact = &problem.contacts[c];
    let prepared = &contacts[c];
    if prepared.inert {
        return Vec3::ZERO;
    }
    let own = contact.frame.transpose() * r;
    let mut q = Vec3::ZERO;
    for (n, w) in contact.arms() {
        q += w * (copies[n] - w * inverse[n] * own);
    }
    let q = contact.frame * q + contact.offset;
    let block = &resistance.block;
    if !resistance.plain {
        return block.solve(-(block.matrix * q), &prepared.cone).r;
    }
    let stop = -block.matrix.x_axis.x * q.x;
    if stop <= 0.0 {
        return Vec3::ZERO;
    }
    let grip = Vec3::new(
        0.0,
        -block.matrix.y_axis.y * q.y,
        -block.matrix.y_axis.y * q.z,
    );
    let bound = prepared.cone.mu * stop;
    let asked = length(grip.y, grip.z);
    let kept = if asked > bound { bound / asked } else { 1.0 };
    Vec3::new(stop, kept * grip.y, kept * grip.z)
}
