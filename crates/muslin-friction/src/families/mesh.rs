//! Grids of springs and hinges, and the block matrix of one implicit step with them.

use super::{Family, GRAVITY, NODE_MASS, TIME_STEP};
use crate::problem::Contact;
use muslin_linalg::{BlockMatrix, BlockPattern, Mat3, Vec3, outer};

/// Distance of neighbours, m.
pub(super) const SPACING: f64 = 0.01;

/// A small generator of reproducible numbers: splitmix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn between(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * self.next()
    }

    pub(super) fn vector(&mut self) -> Vec3 {
        Vec3::new(
            self.between(-1.0, 1.0),
            self.between(-1.0, 1.0),
            self.between(-1.0, 1.0),
        )
    }
}

/// Nodes, springs and hinges.
#[derive(Default)]
pub(super) struct Mesh {
    pub(super) places: Vec<Vec3>,
    springs: Vec<([u32; 2], f64)>,
    hinges: Vec<([u32; 3], f64)>,
}

impl Mesh {
    /// A square sheet that is wavy unless stiffness would show it: out of plane it has `bend` only.
    pub(super) fn sheet(
        &mut self,
        n: usize,
        corner: Vec3,
        ratio: f64,
        bend: f64,
        random: &mut Random,
    ) {
        let phase = random.next();
        let place = |i: usize, j: usize| {
            let (x, y) = (SPACING * i as f64, SPACING * j as f64);
            corner + Vec3::new(x, y, 0.01 * (21.0 * x + phase).sin() * (19.0 * y).cos())
        };
        self.grid(n, n, place, ratio, bend);
    }

    /// A grid of springs along edges and diagonals, and hinges along both directions.
    pub(super) fn grid(
        &mut self,
        n: usize,
        m: usize,
        place: impl Fn(usize, usize) -> Vec3,
        ratio: f64,
        bend: f64,
    ) {
        let first = self.places.len();
        let id = |i: usize, j: usize| (first + i * m + j) as u32;
        for i in 0..n {
            for j in 0..m {
                self.places.push(place(i, j));
                if i + 1 < n {
                    self.springs.push(([id(i, j), id(i + 1, j)], ratio));
                }
                if j + 1 < m {
                    self.springs.push(([id(i, j), id(i, j + 1)], ratio));
                }
                if i + 1 < n && j + 1 < m {
                    self.springs.push(([id(i, j), id(i + 1, j + 1)], ratio));
                    self.springs.push(([id(i + 1, j), id(i, j + 1)], ratio));
                }
                if i + 2 < n {
                    self.hinges
                        .push(([id(i, j), id(i + 1, j), id(i + 2, j)], bend));
                }
                if j + 2 < m {
                    self.hinges
                        .push(([id(i, j), id(i, j + 1), id(i, j + 2)], bend));
                }
            }
        }
    }

    /// The problem of a step in which the nodes fall, and are stirred by half a decimetre a second.
    pub(super) fn family(
        &self,
        name: String,
        contacts: Vec<Contact>,
        random: &mut Random,
    ) -> Family {
        let fall = Vec3::new(0.1, 0.0, -0.2 - GRAVITY * TIME_STEP);
        let b = (0..self.places.len())
            .map(|_| -NODE_MASS * (fall + 0.05 * random.vector()))
            .collect();
        self.family_with(name, contacts, b)
    }

    pub(super) fn family_with(&self, name: String, contacts: Vec<Contact>, b: Vec<Vec3>) -> Family {
        let pattern = BlockPattern::from_groups(self.places.len(), |group| {
            for (pair, _) in &self.springs {
                group(pair);
            }
            for (triple, _) in &self.hinges {
                group(triple);
            }
        })
        .unwrap_or_default();
        let mut matrix = BlockMatrix::zeros(&pattern);
        let mut add = |i: u32, j: u32, block: Mat3| {
            if let Some(slot) = pattern.slot(i as usize, j) {
                matrix.values[slot] += block;
            }
        };
        for i in 0..self.places.len() as u32 {
            add(i, i, Mat3::IDENTITY * NODE_MASS);
        }
        for ([i, j], ratio) in &self.springs {
            let d = (self.places[*j as usize] - self.places[*i as usize]).normalize();
            let k = outer(d, d) * (ratio * NODE_MASS);
            add(*i, *i, k);
            add(*j, *j, k);
            add(*i, *j, -k);
            add(*j, *i, -k);
        }
        for (nodes, bend) in &self.hinges {
            let w = [1.0, -2.0, 1.0];
            for (i, wi) in nodes.iter().zip(w) {
                for (j, wj) in nodes.iter().zip(w) {
                    add(*i, *j, Mat3::IDENTITY * (bend * NODE_MASS * wi * wj));
                }
            }
        }
        Family {
            name,
            pattern,
            matrix,
            b,
            contacts,
            inertia: Vec::new(),
        }
    }
}
