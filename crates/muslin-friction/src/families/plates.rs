//! Nearly rigid plates, as playing cards are: a few nodes, stiff in every direction.

use super::mesh::{Mesh, SPACING};
use super::{Family, GRAVITY, NODE_MASS, TIME_STEP, obstacle};
use crate::problem::Contact;
use muslin_linalg::Vec3;

/// A strip of n x m nodes at rest on a table, all in contact.
pub fn plate(n: usize, m: usize, ratio: f64, mu: f64) -> Family {
    let mut mesh = Mesh::default();
    let place = |i: usize, j: usize| Vec3::new(SPACING * i as f64, SPACING * j as f64, 0.0);
    mesh.grid(n, m, place, ratio, ratio);
    let contacts = (0..n * m).map(|i| obstacle(i, Vec3::Z, mu, 0.0)).collect();
    let push = Vec3::new(0.3, 0.1, -1.0) * (GRAVITY * TIME_STEP);
    mesh.family_with(
        format!("plate {n}x{m}, ratio {ratio:e}, mu {mu}"),
        contacts,
        vec![-NODE_MASS * push; n * m],
    )
}

/// Two cards of n x m nodes that lean against each other on a table, as in a house of cards: lower edges on the table,
/// upper edges on each other.
pub fn leaning_cards(n: usize, m: usize, ratio: f64, mu: f64) -> Family {
    let mut mesh = Mesh::default();
    let slope = 70f64.to_radians();
    let height = |i: usize| SPACING * i as f64;
    for side in [-1.0, 1.0] {
        let place = |i: usize, j: usize| {
            Vec3::new(
                side * height(n - 1 - i) * slope.cos(),
                SPACING * j as f64,
                height(i) * slope.sin(),
            )
        };
        mesh.grid(n, m, place, ratio, ratio);
    }
    let mut contacts: Vec<Contact> = Vec::new();
    for card in 0..2 {
        contacts.extend((0..m).map(|j| obstacle(card * n * m + j, Vec3::Z, mu, 0.0)));
    }
    for j in 0..m {
        let top = (n - 1) * m + j;
        // The left card is pushed to the left.
        let mut contact = obstacle(top, -Vec3::X, mu, 0.0);
        contact.nodes[1] = (n * m + top) as u32;
        contact.weights[1] = -1.0;
        contacts.push(contact);
    }
    let fall = Vec3::new(0.0, 0.0, -GRAVITY * TIME_STEP);
    mesh.family_with(
        format!("leaning cards 2x{n}x{m}, ratio {ratio:e}, mu {mu}"),
        contacts,
        vec![-NODE_MASS * fall; 2 * n * m],
    )
}
