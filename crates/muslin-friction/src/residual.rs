//! How far velocities and impulses are from an answer, computed from the problem alone: no solver is trusted with it.
//!
//! With errors e at a contact, `(r - rho e, ũ - e)` obeys the law exactly. So a small e is a small wrong velocity plus a
//! small wrong impulse rho e, and the latter is a wrong velocity of the same size only if rho is no larger than the mass
//! that moves: its share of the body, if all contacts of a body err alike. That is why inertia, where given, scales both
//! measures.

use crate::prepared::{Node, Prepared, prepare};
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
    /// Contact of the former; `None` without contacts.
    pub worst_contact: Option<usize>,
    /// Node of the latter; `None` without nodes.
    pub worst_node: Option<usize>,
}

/// Errors of `v` and `r`; contacts on held nodes only are left out, for no impulse can mend them.
///
/// The problem must be well-formed, as [`crate::Solver::solve`] checks it.
pub fn residual(problem: &FrictionProblem, v: &[Vec3], r: &[Vec3]) -> Residual {
    let (mut nodes, mut contacts) = (Vec::new(), Vec::new());
    prepare(problem, &[], &mut nodes, &mut contacts);
    let mut force = Vec::new();
    impulses(problem, r, &mut force);
    measure(problem, &nodes, &contacts, v, r, &force)
}

/// State of every contact.
pub fn states(problem: &FrictionProblem, v: &[Vec3], r: &[Vec3], out: &mut Vec<State>) {
    let (mut nodes, mut contacts) = (Vec::new(), Vec::new());
    prepare(problem, &[], &mut nodes, &mut contacts);
    out.clear();
    out.extend(contacts.iter().enumerate().map(|(c, prepared)| {
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
pub(crate) fn measure(
    problem: &FrictionProblem,
    nodes: &[Node],
    contacts: &[Prepared],
    v: &[Vec3],
    r: &[Vec3],
    force: &[Vec3],
) -> Residual {
    let (dynamics, worst_node) = largest(nodes.len(), |n| {
        imbalance(problem, nodes, v, force, n).length() / nodes[n].inertia
    });
    let (contact, worst_contact) = largest(contacts.len(), |c| {
        contact_error(problem, contacts, v, r, c)
    });
    Residual {
        contact,
        dynamics,
        worst_contact,
        worst_node,
    }
}

/// Error of one contact's law.
pub(crate) fn contact_error(
    problem: &FrictionProblem,
    contacts: &[Prepared],
    v: &[Vec3],
    r: &[Vec3],
    c: usize,
) -> f64 {
    let prepared = &contacts[c];
    if prepared.inert {
        return 0.0;
    }
    let u = prepared.lawful(problem.contacts[c].velocity(v), r[c]);
    prepared.cone.error(u, r[c], prepared.measure)
}

/// Largest value and its first place; NaN counts as infinite.
fn largest(count: usize, value: impl Fn(usize) -> f64 + Sync) -> (f64, Option<usize>) {
    let best_of = |range: std::ops::Range<usize>| {
        let mut best = (-1.0, None);
        for k in range {
            let mut e = value(k);
            if e.is_nan() {
                e = f64::INFINITY;
            }
            if e > best.0 {
                best = (e, Some(k));
            }
        }
        best
    };
    if count <= 2 * PER_TASK {
        let best = best_of(0..count);
        return (best.0.max(0.0), best.1);
    }
    let tasks = count.div_ceil(PER_TASK);
    let best = (0..tasks)
        .into_par_iter()
        .map(|t| best_of(t * PER_TASK..((t + 1) * PER_TASK).min(count)))
        // Ties go to the lower index whatever the tree of reductions looks like.
        .reduce(
            || (-1.0, None),
            |a, b| {
                if b.0 > a.0 || (b.0 == a.0 && b.1 < a.1 && b.1.is_some()) {
                    b
                } else {
                    a
                }
            },
        );
    (best.0.max(0.0), best.1)
}
