//! Problem families that tests and benches share: sheets on a wavy body, layers, many contacts a node, plates.
//!
//! `ratio` is stiffness times squared time step over node mass: how much stiffer than inertia a sheet is in one step.

mod mesh;
mod plates;

pub use plates::{leaning_cards, plate};

use crate::problem::{Contact, FrictionProblem, NO_NODE};
use mesh::{Mesh, Random};
use muslin_linalg::{BlockMatrix, BlockPattern, Mat3, Vec3};

/// Time step of all families, s.
pub const TIME_STEP: f64 = 0.002;
/// Gravity, m/s².
pub const GRAVITY: f64 = 9.81;
/// Mass of a node, kg.
pub const NODE_MASS: f64 = 1e-4;

/// A problem that owns its arrays.
#[derive(Clone, Debug)]
pub struct Family {
    /// What it is.
    pub name: String,
    /// See [`FrictionProblem`].
    pub pattern: BlockPattern,
    /// See [`FrictionProblem`].
    pub matrix: BlockMatrix,
    /// See [`FrictionProblem`].
    pub b: Vec<Vec3>,
    /// See [`FrictionProblem`].
    pub contacts: Vec<Contact>,
    /// See [`FrictionProblem`]; empty unless [`Family::strict`] was called.
    pub inertia: Vec<f64>,
}

impl Family {
    /// The problem, all coordinates free.
    pub fn problem(&self) -> FrictionProblem<'_> {
        FrictionProblem {
            pattern: &self.pattern,
            matrix: &self.matrix,
            b: &self.b,
            contacts: &self.contacts,
            free: &[],
            inertia: &self.inertia,
        }
    }

    /// The same with every contact open by up to 5 cm/s, as those of the reference problems are.
    #[must_use]
    pub fn opened(mut self) -> Self {
        let mut random = Random(17);
        for contact in &mut self.contacts {
            contact.offset.x += random.between(0.0, 0.05);
        }
        self.name += ", gaps";
        self
    }

    /// The same with errors measured by mass.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.inertia = vec![NODE_MASS; self.b.len()];
        self
    }
}

/// A frame with the given normal.
pub fn frame(normal: Vec3) -> Mat3 {
    let n = normal.normalize();
    let (t, b) = n.any_orthonormal_pair();
    Mat3::from_cols(n, t, b).transpose()
}

/// An obstacle contact of one node.
pub fn obstacle(node: usize, normal: Vec3, mu: f64, gap_speed: f64) -> Contact {
    Contact {
        nodes: [node as u32, NO_NODE, NO_NODE, NO_NODE],
        weights: [1.0, 0.0, 0.0, 0.0],
        frame: frame(normal),
        friction: [mu; 2],
        offset: Vec3::new(gap_speed, 0.0, 0.0),
    }
}

/// Normal of the wavy, inclined body below a place.
fn body_normal(p: Vec3) -> Vec3 {
    Vec3::new(
        -0.25 + 0.1 * (17.0 * p.y).sin(),
        0.1 * (23.0 * p.x).cos(),
        1.0,
    )
    .normalize()
}

/// One sheet of n x n nodes that falls on a wavy body; `share` of its nodes meet it, with gaps if asked.
pub fn sheet(n: usize, ratio: f64, mu: f64, share: f64, gaps: bool) -> Family {
    let mut random = Random(11);
    let mut mesh = Mesh::default();
    mesh.sheet(n, Vec3::ZERO, ratio, 0.02 * ratio, &mut random);
    let mut contacts = Vec::new();
    for i in 0..n * n {
        if random.next() < share {
            let gap = if gaps { random.between(0.0, 0.05) } else { 0.0 };
            contacts.push(obstacle(i, body_normal(mesh.places[i]), mu, gap));
        }
    }
    mesh.family(
        format!("sheet {n}x{n}, ratio {ratio}, mu {mu}"),
        contacts,
        &mut random,
    )
}

/// One sheet that lies on a ball with its middle and hangs freely around it.
pub fn draped(n: usize, ratio: f64, mu: f64) -> Family {
    let mut random = Random(13);
    let mut mesh = Mesh::default();
    mesh.sheet(n, Vec3::ZERO, ratio, 0.02 * ratio, &mut random);
    let side = mesh::SPACING * n as f64;
    let centre = Vec3::new(0.5 * side, 0.5 * side, -0.3 * side);
    let contacts = (0..n * n)
        .filter(|i| (mesh.places[*i] - centre).truncate().length() < 0.2 * side)
        .map(|i| obstacle(i, mesh.places[i] - centre, mu, 0.0))
        .collect();
    mesh.family(
        format!("draped {n}x{n}, ratio {ratio}, mu {mu}"),
        contacts,
        &mut random,
    )
}

/// Layers of n x n nodes above each other; 60 % of the nodes touch the next layer, and the lowest the body if asked.
pub fn layers(n: usize, count: usize, ratio: f64, mu: f64, body: bool) -> Family {
    let mut random = Random(5);
    let mut mesh = Mesh::default();
    for k in 0..count {
        mesh.sheet(
            n,
            Vec3::new(0.0, 0.0, 0.001 * k as f64),
            ratio,
            0.02 * ratio,
            &mut random,
        );
    }
    let mut contacts = Vec::new();
    for i in 0..n * n {
        if body && random.next() < 0.6 {
            contacts.push(obstacle(i, body_normal(mesh.places[i]), mu, 0.0));
        }
        for k in 1..count {
            if random.next() < 0.6 {
                let mut contact = obstacle(k * n * n + i, body_normal(mesh.places[i]), mu, 0.0);
                contact.nodes[1] = ((k - 1) * n * n + i) as u32;
                contact.weights[1] = -1.0;
                contacts.push(contact);
            }
        }
    }
    mesh.family(
        format!("{count} layers {n}x{n}, ratio {ratio}, mu {mu}"),
        contacts,
        &mut random,
    )
}

/// One sheet whose contact nodes have one to four contacts each, in directions up to 60 degrees apart.
pub fn many_contacts(n: usize, ratio: f64, mu: f64) -> Family {
    let mut random = Random(3);
    let mut mesh = Mesh::default();
    mesh.sheet(n, Vec3::ZERO, ratio, 0.02 * ratio, &mut random);
    let mut contacts = Vec::new();
    for i in 0..n * n {
        if random.next() < 0.6 {
            for _ in 0..=(4.0 * random.next()) as usize % 4 {
                let normal = body_normal(mesh.places[i]) + 0.5 * random.vector();
                contacts.push(obstacle(i, normal, mu, 0.0));
            }
        }
    }
    mesh.family(
        format!("1-4 contacts a node {n}x{n}, ratio {ratio}, mu {mu}"),
        contacts,
        &mut random,
    )
}

/// Two sheets, the lower on the body, the upper's nodes on triangles of the lower.
pub fn node_on_triangle(n: usize, ratio: f64, mu: f64) -> Family {
    let mut random = Random(9);
    let mut mesh = Mesh::default();
    for k in 0..2 {
        mesh.sheet(
            n,
            Vec3::new(0.0, 0.0, 0.001 * f64::from(k)),
            ratio,
            0.02 * ratio,
            &mut random,
        );
    }
    let mut contacts = Vec::new();
    for i in 0..n * n {
        let normal = body_normal(mesh.places[i]);
        if random.next() < 0.4 {
            contacts.push(obstacle(i, normal, mu, 0.0));
        }
        if i % n + 1 < n && i / n + 1 < n && random.next() < 0.7 {
            let (a, b) = (random.next(), random.next());
            let (a, b) = if a + b > 1.0 {
                (1.0 - a, 1.0 - b)
            } else {
                (a, b)
            };
            contacts.push(Contact {
                nodes: [(n * n + i) as u32, i as u32, (i + 1) as u32, (i + n) as u32],
                weights: [1.0, a + b - 1.0, -a, -b],
                ..obstacle(i, normal, mu, 0.0)
            });
        }
    }
    mesh.family(
        format!("nodes on triangles 2x{n}x{n}, ratio {ratio}, mu {mu}"),
        contacts,
        &mut random,
    )
}

/// A flat sheet at rest on an incline of the given angle (rad), every node in contact: it moves by
/// [`incline_speed`], rigidly.
pub fn incline(n: usize, ratio: f64, angle: f64, mu: f64) -> Family {
    let mut random = Random(1);
    let mut mesh = Mesh::default();
    mesh.sheet(n, Vec3::ZERO, ratio, 0.02 * ratio, &mut random);
    let contacts = (0..n * n).map(|i| obstacle(i, Vec3::Z, mu, 0.0)).collect();
    let mut family = mesh.family(
        format!("incline {n}x{n}, ratio {ratio}, mu {mu}"),
        contacts,
        &mut random,
    );
    let pull = Vec3::new(angle.sin(), 0.0, -angle.cos()) * GRAVITY * TIME_STEP;
    family.b.fill(-NODE_MASS * pull);
    family
}

/// Speed of [`incline`] after its step, along x.
pub fn incline_speed(angle: f64, mu: f64) -> f64 {
    (angle.sin() - mu * angle.cos()).max(0.0) * GRAVITY * TIME_STEP
}
