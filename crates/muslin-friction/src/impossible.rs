//! Contacts that no velocity can obey together: cloth squeezed between crossing obstacles.
//!
//! Impulses of such contacts grow without bound in every solver. Whether velocities exist that part all contacts is a
//! question of geometry alone, answered by projecting on one contact after the other: the projections settle if such
//! velocities exist, and run in circles among the contradicting contacts if not.

use crate::prepared::{Node, Prepared};
use crate::problem::FrictionProblem;
use muslin_linalg::Vec3;

/// Rounds of projections.
const ROUNDS: usize = 1000;
/// A violation that keeps this share through the second half of the rounds is there to stay.
const KEPT: f64 = 0.9;

/// Contacts that contradict each other, ascending; empty if all can be obeyed.
pub(crate) fn impossible(
    problem: &FrictionProblem,
    nodes: &[Node],
    contacts: &[Prepared],
    start: &[Vec3],
    tolerance: f64,
) -> Vec<u32> {
    let mut v = start.to_vec();
    let mut violation = vec![0.0; contacts.len()];
    let mut halfway = Vec::new();
    for round in 0..ROUNDS {
        let mut worst: f64 = 0.0;
        for (c, contact) in problem.contacts.iter().enumerate() {
            violation[c] = 0.0;
            if contacts[c].inert {
                continue;
            }
            let normal = contact.frame.transpose().x_axis;
            let u = contact.velocity(&v).x;
            if u >= 0.0 {
                continue;
            }
            let ease: f64 = contact
                .arms()
                .map(|(n, w)| w * w * (nodes[n].free * normal).length_squared())
                .sum();
            for (n, w) in contact.arms() {
                v[n] -= nodes[n].free * normal * (w * u / ease);
            }
            violation[c] = -u;
            worst = worst.max(-u);
        }
        if worst <= tolerance {
            return Vec::new();
        }
        if round == ROUNDS / 2 {
            halfway.clone_from(&violation);
        }
    }
    (0..contacts.len())
        .filter(|c| violation[*c] > 10.0 * tolerance && violation[*c] > KEPT * halfway[*c])
        .map(|c| c as u32)
        .collect()
}
