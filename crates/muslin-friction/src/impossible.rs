//! Contacts that no velocity can obey together: cloth squeezed between crossing obstacles, or jammed in a wedge that
//! friction does not let go of.
//!
//! Impulses of such contacts grow without bound in every solver. Whether velocities exist that part all contacts is a
//! question of geometry, answered by projecting on one contact after the other: the projections settle if such velocities
//! exist, and run in circles among the contradicting contacts if not. With velocities that part faster than friction
//! coefficient times sliding speed an answer is known to exist, so that is asked second.

use crate::prepared::Given;
use muslin_linalg::Vec3;

/// Rounds of projections.
const ROUNDS: usize = 1000;
/// A violation that keeps this share through the second half of the rounds is there to stay.
const KEPT: f64 = 0.95;

/// Contacts that no velocities part all of, ascending; empty if some do.
pub(crate) fn squeezed(given: &Given, start: &[Vec3], tolerance: f64) -> Vec<u32> {
    circle(given, start, tolerance, |_, u| {
        Vec3::new(u.x.max(0.0), u.y, u.z)
    })
}

/// Contacts that friction may not let part, ascending. There may be an answer all the same: cloth that slides between two
/// plates, for instance.
pub(crate) fn jammed(given: &Given, start: &[Vec3], tolerance: f64) -> Vec<u32> {
    let contacts = given.contacts;
    circle(given, start, tolerance, |c, u| contacts[c].cone.part(u))
}

/// Contacts that the projections run in circles among.
fn circle(
    given: &Given,
    start: &[Vec3],
    tolerance: f64,
    project: impl Fn(usize, Vec3) -> Vec3,
) -> Vec<u32> {
    let Given {
        problem,
        nodes,
        contacts,
    } = *given;
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
            let u = contact.velocity(&v);
            let wanted = contact.frame.transpose() * (project(c, u) - u);
            let size = wanted.length();
            if size == 0.0 {
                continue;
            }
            let direction = wanted / size;
            let ease: f64 = contact
                .arms()
                .map(|(n, w)| w * w * (nodes[n].free * direction).length_squared())
                .sum();
            if ease <= 0.0 {
                continue;
            }
            for (n, w) in contact.arms() {
                v[n] += nodes[n].free * wanted * (w / ease);
            }
            violation[c] = size;
            worst = worst.max(size);
        }
        if worst <= tolerance {
            return Vec::new();
        }
        if round == ROUNDS / 2 {
            halfway.clone_from(&violation);
        }
    }
    (0..contacts.len())
        .filter(|c| violation[*c] > tolerance && violation[*c] > KEPT * halfway[*c])
        .map(|c| c as u32)
        .collect()
}
