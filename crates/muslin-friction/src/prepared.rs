//! What all solvers compute once from a problem: inverse diagonal blocks, cones, and how easily each contact moves.

use crate::cone::Cone;
use crate::one::Block;
use crate::problem::FrictionProblem;
use muslin_linalg::{Mat3, Vec3};

/// Relative compliance that makes the response of a partly held contact invertible.
const HELD_COMPLIANCE: f64 = 1e-9;

/// One node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// `A_nn⁻¹`.
    pub(crate) inverse: Mat3,
    /// The same with held axes zeroed: how impulses move the node.
    pub(crate) response: Mat3,
    /// One on free axes, zero on held ones.
    pub(crate) free: Vec3,
    /// Mean of the free part of the diagonal, kg; infinite if nothing is free.
    pub(crate) diagonal: f64,
    /// What the error of momentum is divided by, kg.
    pub(crate) inertia: f64,
    /// Mass that an impulse of one contact has to move at least: of the body, by the number of its contacts; kg.
    pub(crate) share: f64,
}

/// One contact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prepared {
    /// Inverse of the local response, compliance included.
    pub(crate) block: Block,
    /// Cone.
    pub(crate) cone: Cone,
    /// `1 / Σ w²/a_n`, kg: scale between impulse and velocity.
    pub(crate) rho: f64,
    /// The same with shares of the bodies' masses: the scale of the error measure.
    pub(crate) measure: f64,
    /// Normal compliance, 1/kg: zero but for contacts that were found impossible.
    pub(crate) compliance: f64,
    /// Whether no impulse can change its normal velocity.
    pub(crate) inert: bool,
}

impl Prepared {
    /// Relative velocity the law is asked of: a yielding contact may be entered by compliance times impulse.
    #[inline]
    pub(crate) fn lawful(&self, u: Vec3, r: Vec3) -> Vec3 {
        Vec3::new(u.x + self.compliance * r.x, u.y, u.z)
    }
}

/// A problem with what was prepared of it.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) problem: &'a FrictionProblem<'a>,
    pub(crate) nodes: &'a [Node],
    pub(crate) contacts: &'a [Prepared],
}

/// What all solvers compute once.
#[derive(Default)]
pub(crate) struct Ready {
    pub(crate) nodes: Vec<Node>,
    pub(crate) contacts: Vec<Prepared>,
}

impl Ready {
    /// Of a problem; `compliance` is by contact, empty if none yields.
    pub(crate) fn prepare(&mut self, problem: &FrictionProblem, compliance: &[f64]) {
        self.nodes.clear();
        self.nodes
            .extend((0..problem.pattern.rows()).map(|n| one_node(problem, n)));
        share_masses(problem, &mut self.nodes);
        self.contacts.clear();
        let nodes = &self.nodes;
        self.contacts.extend((0..problem.contacts.len()).map(|c| {
            let compliance = compliance.get(c).copied().unwrap_or(0.0);
            one_contact(problem, nodes, c, compliance)
        }));
    }

    /// Together with the problem it was prepared for.
    pub(crate) fn given<'a>(&'a self, problem: &'a FrictionProblem<'a>) -> Given<'a> {
        Given {
            problem,
            nodes: &self.nodes,
            contacts: &self.contacts,
        }
    }
}

/// Divides the mass of every body, a connected part of the matrix, among its contacts.
fn share_masses(problem: &FrictionProblem, nodes: &mut [Node]) {
    if problem.inertia.is_empty() {
        return;
    }
    let rows = problem.pattern.rows();
    let mut body = vec![usize::MAX; rows];
    let mut masses = Vec::new();
    let mut pending = Vec::new();
    for first in 0..rows {
        if body[first] != usize::MAX {
            continue;
        }
        let this = masses.len();
        masses.push(0.0);
        body[first] = this;
        pending.push(first);
        while let Some(n) = pending.pop() {
            masses[this] += problem.inertia[n];
            for &m in problem.pattern.columns_of(n) {
                if body[m as usize] == usize::MAX {
                    body[m as usize] = this;
                    pending.push(m as usize);
                }
            }
        }
    }
    let mut contacts = vec![0.0; masses.len()];
    for contact in problem.contacts {
        let (mut told, mut count) = ([usize::MAX; 4], 0);
        for (n, _) in contact.arms() {
            if !told[..count].contains(&body[n]) {
                told[count] = body[n];
                count += 1;
                contacts[body[n]] += 1.0;
            }
        }
    }
    for (n, node) in nodes.iter_mut().enumerate() {
        let share = masses[body[n]] / f64::max(contacts[body[n]], 1.0);
        node.share = share.min(node.diagonal);
    }
}

fn one_node(problem: &FrictionProblem, n: usize) -> Node {
    let block = problem.matrix.diagonal(problem.pattern, n);
    let free = problem.free.get(n).map_or(Vec3::ONE, |f| {
        Vec3::from(f.map(|f| if f { 1.0 } else { 0.0 }))
    });
    let mask = Mat3::from_diagonal(free);
    let inverse = block.inverse();
    let count = free.element_sum();
    let diagonal = if count > 0.0 {
        let entries = Vec3::new(block.x_axis.x, block.y_axis.y, block.z_axis.z);
        entries.dot(free) / count
    } else {
        f64::INFINITY
    };
    Node {
        inverse,
        response: mask * inverse * mask,
        free,
        diagonal,
        inertia: problem.inertia.get(n).copied().unwrap_or(diagonal),
        share: diagonal,
    }
}

fn one_contact(problem: &FrictionProblem, nodes: &[Node], c: usize, compliance: f64) -> Prepared {
    let contact = &problem.contacts[c];
    let mut world = Mat3::ZERO;
    let (mut ease, mut measured_ease) = (0.0, 0.0);
    let mut partly_held = false;
    for (n, w) in contact.arms() {
        let node = &nodes[n];
        world += node.response * (w * w);
        if node.diagonal.is_finite() {
            ease += w * w / node.diagonal;
            measured_ease += w * w / node.share;
        }
        partly_held |= node.free != Vec3::ONE;
    }
    let mut local = contact.frame * world * contact.frame.transpose();
    let largest = local.x_axis.x.max(local.y_axis.y).max(local.z_axis.z);
    let inert = !(ease > 0.0 && local.x_axis.x > HELD_COMPLIANCE * largest);
    if partly_held {
        local += Mat3::from_diagonal(Vec3::splat(HELD_COMPLIANCE * largest));
    }
    local.x_axis.x += compliance;
    let cone = Cone::new(contact.friction);
    let block = if inert {
        Mat3::IDENTITY
    } else {
        local.inverse()
    };
    Prepared {
        block: Block::new(block, &cone),
        cone,
        rho: if inert { 1.0 } else { 1.0 / ease },
        measure: if inert { 1.0 } else { 1.0 / measured_ease },
        compliance,
        inert,
    }
}
