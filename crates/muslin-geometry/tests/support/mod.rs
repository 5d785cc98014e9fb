//! What several tests and benches need: random numbers, meshes to detect collisions in, the table of reference queries.
#![allow(dead_code, clippy::unwrap_used)]

use muslin_linalg::Vec3;

/// The `SplitMix64` generator: small, seedable, the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn within(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.unit()
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    pub fn vector(&mut self, size: f64) -> Vec3 {
        Vec3::new(
            self.within(-size, size),
            self.within(-size, size),
            self.within(-size, size),
        )
    }

    /// Sizes spread evenly over the decades between `10^lo` and `10^hi`.
    pub fn decades(&mut self, lo: f64, hi: f64) -> f64 {
        10f64.powf(self.within(lo, hi))
    }
}

pub struct Mesh {
    pub x: Vec<Vec3>,
    pub faces: Vec<[u32; 3]>,
    pub edges: Vec<[u32; 2]>,
}

pub fn edges_of(faces: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let mut edges: Vec<[u32; 2]> = faces
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
        .map(|[a, b]| [a.min(b), a.max(b)])
        .collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// A square of `n` by `n` cells; `shape` maps the unit square to space.
pub fn sheet(n: u32, shape: impl Fn(f64, f64) -> Vec3) -> Mesh {
    let at = |i: u32| f64::from(i) / f64::from(n);
    let mut x = Vec::new();
    let mut faces = Vec::new();
    for j in 0..=n {
        for i in 0..=n {
            x.push(shape(at(i), at(j)));
            if i < n && j < n {
                let a = j * (n + 1) + i;
                let (b, c, d) = (a + 1, a + n + 1, a + n + 2);
                faces.push([a, b, d]);
                faces.push([a, d, c]);
            }
        }
    }
    let edges = edges_of(&faces);
    Mesh { x, faces, edges }
}

/// A metre of cloth folded into eight wavy layers about two millimetres apart, with crumples on top: many close pairs, some
/// crossings, boxes of every orientation.
pub fn crumpled(n: u32) -> Mesh {
    sheet(n, |u, v| {
        let layer = 8.0 * u;
        let fold = layer.floor();
        let within = layer - fold;
        let zigzag = if fold.rem_euclid(2.0) < 1.0 {
            within
        } else {
            1.0 - within
        };
        let (a, b) = (0.125 * zigzag, v);
        Vec3::new(
            a + 0.004 * (31.0 * v).sin() + 0.002 * (17.0 * u + 5.0 * v).cos(),
            0.6 * b + 0.02 * (11.0 * zigzag + 3.0 * v).sin(),
            0.002 * layer
                + 0.03 * (9.0 * v + 2.0 * zigzag).sin()
                + 0.0012 * (61.0 * u).sin() * (47.0 * v).cos(),
        )
    })
}

/// The same a moment later: a smooth motion of some millimetres that presses the layers together.
pub fn pressed(x: &[Vec3]) -> Vec<Vec3> {
    x.iter()
        .map(|p| {
            let push = 0.004 * (40.0 * p.x + 25.0 * p.y).sin();
            *p + Vec3::new(
                0.3 * push,
                0.001 * (90.0 * p.z).cos(),
                push * (300.0 * p.z).sin(),
            )
        })
        .collect()
}

pub struct CcdQuery {
    pub id: String,
    pub vertex_face: bool,
    pub hit: bool,
    pub toi: f64,
    pub distance: f64,
    pub x0: [Vec3; 4],
    pub x1: [Vec3; 4],
}

/// Reads a table of queries: see the description of `reference/ccd_queries.csv`.
pub fn read_queries(text: &str) -> Vec<CcdQuery> {
    let parse = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].trim().parse::<f64>().unwrap();
        let point = |i: usize| Vec3::new(number(i), number(i + 1), number(i + 2));
        let four = |i: usize| [point(i), point(i + 3), point(i + 6), point(i + 9)];
        CcdQuery {
            id: format!("{} {}", fields[0], fields[2]),
            vertex_face: fields[1] == "vf",
            hit: fields[3] == "1",
            toi: number(4),
            distance: number(6),
            x0: four(7),
            x1: four(19),
        }
    };
    text.lines()
        .skip(1)
        .filter(|l| !l.is_empty())
        .map(parse)
        .collect()
}
