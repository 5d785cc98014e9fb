//! How far velocities and impulses are from an answer, computed from the problem alone: no solver is trusted with it.
//!
//! With errors e at a contact, `(r - rho e, ũ - e)` obeys the law exactly. So a small e is a small wrong velocity plus a
//! small wrong impulse rho e, and the latter is a wrong velocity of the same size only if rho is no larger than the mass
//! that moves: its share of the body, if all contacts of a body err alike. That is why inertia, where given, scales both
//! measures.

use crate::prepared::{Given, Node, Prepared, Ready};
use crate::problem::{FrictionProblem, State};
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Rows or contacts of one task; fixed, so that results never depend on the thread count.
pub(crate) const PER_TASK: usize = 512;

/// Largest errors, m/s, and where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residual {
    /// Largest error of the contact law.
    pub contact: f64,
    /// Largest error of momentum over inertia, free coordinates only.
    pub dynamics: f64,
    /// Both errors scaled by the diagonal of the matrix instead of masses, the larger: what a relaxation would change.
    pub local: f64,
    /// Contact with the largest error; `None` without contacts.
    pub worst_contact: Option<usize>,
    /// Node with the largest; `None` without nodes.
    pub worst_node: Option<usize>,
}

/// Times the tolerance that errors scaled by mass may reach. Impulses of nearly rigid bodies with redundant contacts are
/// known only to rounding times stiffness over mass.
const BY_MASS: f64 = 100.0;

impl Residual {
    /// What has to fall below a tolerance, m/s: the local error, and a hundredth of those that bound wrong velocities.
    pub fn merit(&self) -> f64 {
        self.local.max(self.strict() / BY_MASS)
    }

    /// Largest error of all, m/s. Bodies at rest drift by what is left of it.
    pub(crate) fn strict(&self) -> f64 {
        self.contact.max(self.dynamics)
    }
}

/// Errors of `v` and `r`; contacts on held nodes only are left out, for no impulse can mend them.
///
/// The problem must be well-formed, as [`crate::Solver::solve`] checks it.
pub fn residual(problem: &FrictionProblem, v: &[Vec3], r: &[Vec3]) -> Residual {
    let mut ready = Ready::default();
    ready.prepare(problem, &[]);
    let mut force = Vec::new();
    impulses(problem, r, &mut force);
    measure(&ready.given(problem), v, r, &force)
}

/// State of every contact.
pub fn states(problem: &FrictionProblem, v: &[Vec3], r: &[Vec3], out: &mut Vec<State>) {
    let mut ready = Ready::default();
    ready.prepare(problem, &[]);
    out.clear();
    out.extend(ready.contacts.iter().enumerate().map(|(c, prepared)| {
        if prepared.inert {
            return State::Separate;
        }
        let u = problem.contacts[c].velocity(v);
        prepared.cone.state(u, r[c], prepared.rho)
    }));
}

/// `Jᵀ r`: the impulse that contacts give each node.
pub(crate) fn impulses(problem: &FrictionProblem, r: &[Vec3], force: &mut Vec<Vec3>) {
    force.clear();
    force.resize(problem.pattern.rows(), Vec3::ZERO);
    for (contact, r) in problem.contacts.iter().zip(r) {
        let world = contact.frame.transpose() * *r;
        for (n, w) in contact.arms() {
            force[n] += w * world;
        }
    }
}

/// `(A v + b - Jᵀ r)_n` on free axes.
pub(crate) fn imbalance(
    problem: &FrictionProblem,
    nodes: &[Node],
    v: &[Vec3],
    force: &[Vec3],
    n: usize,
) -> Vec3 {
    let mut sum = problem.b[n] - force[n];
    for slot in problem.pattern.row(n) {
        sum += problem.matrix.values[slot] * v[problem.pattern.columns()[slot] as usize];
    }
    sum * nodes[n].free
}

/// Errors with everything at hand.
pub(crate) fn measure(given: &Given, v: &[Vec3], r: &[Vec3], force: &[Vec3]) -> Residual {
    let Given {
        problem,
        nodes,
        contacts,
    } = *given;
    let (dynamics, worst_node) = largest(nodes.len(), |n| {
        let missing = imbalance(problem, nodes, v, force, n).length();
        [missing / nodes[n].inertia, missing / nodes[n].diagonal]
    });
    let (contact, worst_contact) = largest(contacts.len(), |c| {
        contact_errors(problem, contacts, v, r, c)
    });
    Residual {
        contact: contact[0],
        dynamics: dynamics[0],
        local: contact[1].max(dynamics[1]),
        worst_contact,
        worst_node,
    }
}

/// Errors of one contact's law, scaled by mass and by the diagonal.
pub(crate) fn contact_errors(
    problem: &FrictionProblem,
    contacts: &[Prepared],
    v: &[Vec3],
    r: &[Vec3],
    c: usize,
) -> [f64; 2] {
    let prepared = &contacts[c];
    if prepared.inert {
        return [0.0; 2];
    }
    let u = prepared.lawful(problem.contacts[c].velocity(v), r[c]);
    [prepared.measure, prepared.rho].map(|scale| prepared.cone.error(u, r[c], scale))
}

/// Largest values, and the first place of the first; NaN counts as infinite.
fn largest(count: usize, value: impl Fn(usize) -> [f64; 2] + Sync) -> ([f64; 2], Option<usize>) {
    let best_of = |range: std::ops::Range<usize>| {
        let mut best = ([-1.0, 0.0], None);
        for k in range {
            let e = value(k).map(|e| if e.is_nan() { f64::INFINITY } else { e });
            if e[0] > best.0[0] {
                best = ([e[0], best.0[1]], Some(k));
            }
            best.0[1] = f64::max(best.0[1], e[1]);
        }
        best
    };
    let tasks = count.div_ceil(PER_TASK).max(1);
    let one = |t: usize| best_of(t * PER_TASK..((t + 1) * PER_TASK).min(count));
    let (found, place) = if tasks <= 2 {
        best_of(0..count)
    } else {
        (0..tasks).into_par_iter().map(one).reduce(
            || ([-1.0, 0.0], None),
            |a, b| {
                let second = f64::max(a.0[1], b.0[1]);
                // Ties go to the lower index whatever the tree of reductions looks like.
                let later = b.0[0] == a.0[0] && b.1 < a.1 && b.1.is_some();
                let best = if b.0[0] > a.0[0] || later { b } else { a };
                ([best.0[0], second], best.1)
            },
        )
    };
    ([found[0].max(0.0), found[1]], place)
}
