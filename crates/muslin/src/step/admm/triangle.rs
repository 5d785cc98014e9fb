//! The proximal map of a triangle that resists stretch and shear: the same law of Green strain as in the implicit
//! stepper, so that both mean the same fabric.
//!
//! The deformation is the pair of images of warp and weft. The nearest one lies in the plane of what is asked for, since
//! the law does not care for directions in space; that leaves four unknowns and Newton's method.

use super::split::Split;
use crate::force::stretch::{Law, StretchTriangle};
use crate::force::{Element, StepContext};
use muslin_linalg::Vec3;

/// Most Newton steps; near the answer one or two are enough.
const MOST_STEPS: usize = 6;
/// Newton steps shorter than this end the search; deformations are of size one.
const EXACT: f64 = 1e-9;
/// A deformation whose squared area is this share of its vectors' squared lengths is a line.
const FLAT: f64 = 1e-12;
/// Newton steps are cut to this length: the law is far from quadratic beyond.
const LONGEST: f64 = 0.5;

/// A triangle of cloth with a deformation of its own.
pub struct Triangle {
    element: StretchTriangle,
    /// Weights along warp and weft per area, N/m.
    weights: [f64; 2],
    law: Law,
    /// The last answer in its plane, where the next search starts.
    last: [f64; 4],
}

impl Triangle {
    /// `share` of a stiffness at rest (N/m): the weights. `dt`: length of the steps, s.
    pub fn new(element: StretchTriangle, share: impl Fn(f64) -> f64, dt: f64) -> Self {
        let [warp, weft] = element.rest_moduli(dt);
        // A direction without resistance still has to be solved for.
        let least = 1e-3 * warp.max(weft).max(1e-6);
        let share = share(warp.max(weft).max(least));
        Self {
            weights: [warp, weft].map(|k| share * k.max(least)),
            law: element.law(),
            element,
            last: [1.0, 0.0, 0.0, 1.0],
        }
    }
}

/// Plane coordinates of two vectors: the first axis along the first of them.
fn in_plane(y: &[Vec3; 2]) -> ([Vec3; 2], [f64; 4]) {
    let length = y[0].length();
    let first = if length > 0.0 {
        y[0] / length
    } else {
        y[1].any_orthogonal_vector().normalize_or(Vec3::X)
    };
    let along = y[1].dot(first);
    let rest = y[1] - first * along;
    let across = rest.length();
    let second = if across > 0.0 {
        rest / across
    } else {
        first.any_orthonormal_vector()
    };
    ([first, second], [length, 0.0, along, across])
}

impl Split<3, 2> for Triangle {
    fn vertices(&self) -> [u32; 3] {
        self.element.vertices()
    }

    fn rows(&self) -> [[f64; 3]; 2] {
        let w = self.element.weights();
        [w.map(|w| w.x), w.map(|w| w.y)]
    }

    fn weights(&self) -> [f64; 2] {
        self.weights.map(|w| w * self.element.area())
    }

    fn stiffness(&self) -> [f64; 2] {
        // Of very long steps, so that damping does not count.
        let moduli = self.element.rest_moduli(f64::INFINITY);
        moduli.map(|k| k * self.element.area())
    }

    fn begin_step(&mut self, x: &[Vec3; 3], v: &[Vec3; 3], step: &StepContext) {
        self.element.begin_step(x, v, step);
        self.law = self.element.law();
        let f = self.element.deformation(x);
        self.last = in_plane(&[f.x, f.y]).1;
    }

    fn pressure(&self, z: &[Vec3; 2], stress: &[Vec3; 2]) -> f64 {
        // The stress is z S; the least principal value of S belongs to the pair zᵀ z S, zᵀ z.
        let c = [z[0].length_squared(), z[0].dot(z[1]), z[1].length_squared()];
        let b = [
            z[0].dot(stress[0]),
            0.5 * (z[0].dot(stress[1]) + z[1].dot(stress[0])),
            z[1].dot(stress[1]),
        ];
        let area = c[0] * c[2] - c[1] * c[1];
        if area <= FLAT * c[0] * c[2] {
            // On a line there is one direction.
            return -(b[0] + b[2]) / (c[0] + c[2]).max(f64::MIN_POSITIVE);
        }
        let mean = 0.5 * (b[0] * c[2] + b[2] * c[0] - 2.0 * b[1] * c[1]) / area;
        let product = (b[0] * b[2] - b[1] * b[1]) / area;
        (mean * mean - product).max(0.0).sqrt() - mean
    }

    fn stress(&self, z: &[Vec3; 2]) -> [Vec3; 2] {
        let s = self.law.stress(&green(z));
        let area = self.element.area();
        [
            (z[0] * s[0] + z[1] * s[2]) * area,
            (z[0] * s[2] + z[1] * s[1]) * area,
        ]
    }

    fn nearest(&mut self, y: &[Vec3; 2], weights: &[f64; 2]) -> [Vec3; 2] {
        let (axes, wanted) = in_plane(y);
        let weights = weights.map(|w| w / self.element.area());
        let mut f = self.last;
        for _ in 0..MOST_STEPS {
            let step = newton_step(&self.law, weights, &wanted, &f);
            let length = step.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
            let cut = (LONGEST / length).min(1.0);
            for k in 0..4 {
                f[k] += cut * step[k];
            }
            // Newton's method squares the error: what is left is far smaller than the step.
            if length < EXACT.sqrt() {
                break;
            }
        }
        if !f.iter().all(|f| f.is_finite()) {
            f = wanted;
        }
        self.last = f;
        [
            axes[0] * f[0] + axes[1] * f[1],
            axes[0] * f[2] + axes[1] * f[3],
        ]
    }
}

/// Green strain of a deformation: along warp, along weft, shear.
fn green([warp, weft]: &[Vec3; 2]) -> [f64; 3] {
    [
        (warp.length_squared() - 1.0) / 2.0,
        (weft.length_squared() - 1.0) / 2.0,
        warp.dot(*weft),
    ]
}

/// The same of a deformation in its plane.
fn green_in_plane([a, b, c, d]: &[f64; 4]) -> [f64; 3] {
    [
        (a * a + b * b - 1.0) / 2.0,
        (c * c + d * d - 1.0) / 2.0,
        a * c + b * d,
    ]
}

/// One step of Newton's method for energy plus weighted distance to `wanted`, per area.
fn newton_step(law: &Law, [wu, wv]: [f64; 2], wanted: &[f64; 4], f: &[f64; 4]) -> [f64; 4] {
    let [a, b, c, d] = *f;
    let s = law.stress(&green_in_plane(f));
    let gradient = [
        a * s[0] + c * s[2] + wu * (a - wanted[0]),
        b * s[0] + d * s[2] + wu * (b - wanted[1]),
        a * s[2] + c * s[1] + wv * (c - wanted[2]),
        b * s[2] + d * s[1] + wv * (d - wanted[3]),
    ];
    // Pressure makes the form lose its definiteness unless the weights outweigh it.
    let t = law.geometric(&s, 0.5 * wu.min(wv));
    let [m00, m01, m02, m11, m12, m22] = law.moduli;
    // Rows of the strain's derivative: (a, b, 0, 0), (0, 0, c, d), (c, d, a, b).
    let uu = |p: f64, q: f64, r: f64, s: f64| m00 * p * r + m02 * (p * s + q * r) + m22 * q * s;
    let vv = |p: f64, q: f64, r: f64, s: f64| m11 * p * r + m12 * (p * s + q * r) + m22 * q * s;
    // Entry of a warp component (own p, other q) and a weft component (own r, other s).
    let uv = |p: f64, q: f64, r: f64, s: f64| m01 * p * r + m02 * p * s + m12 * q * r + m22 * q * s;
    let h = [
        [uu(a, c, a, c) + t[0] + wu, 0.0, 0.0, 0.0],
        [uu(b, d, a, c), uu(b, d, b, d) + t[0] + wu, 0.0, 0.0],
        [
            uv(a, c, c, a) + t[2],
            uv(b, d, c, a),
            vv(c, a, c, a) + t[1] + wv,
            0.0,
        ],
        [
            uv(a, c, d, b),
            uv(b, d, d, b) + t[2],
            vv(d, b, c, a),
            vv(d, b, d, b) + t[1] + wv,
        ],
    ];
    solve(h, gradient.map(|g| -g))
}

/// Solves a positive definite system of which the lower triangle is given.
fn solve(mut h: [[f64; 4]; 4], mut g: [f64; 4]) -> [f64; 4] {
    for k in 0..4 {
        let pivot = 1.0 / h[k][k];
        for i in k + 1..4 {
            let factor = h[i][k] * pivot;
            for j in k + 1..=i {
                h[i][j] -= factor * h[j][k];
            }
            g[i] -= factor * g[k];
        }
    }
    for k in (0..4).rev() {
        for i in k + 1..4 {
            g[k] -= h[i][k] * g[i];
        }
        g[k] /= h[k][k];
    }
    g
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{StretchLaw, shipped_fabric};
    use crate::step::admm::testing::assert_minimises;
    use muslin_linalg::Vec2;
    use std::sync::Arc;

    const MATERIAL: [Vec2; 3] = [
        Vec2::new(0.1, 0.2),
        Vec2::new(1.0, 0.3),
        Vec2::new(0.2, 0.9),
    ];

    fn energy(triangle: &Triangle, z: &[Vec3; 2]) -> f64 {
        // The element at rest in a frame in which its deformation is z.
        let at = MATERIAL.map(|m| z[0] * m.x + z[1] * m.y);
        triangle.element.energy(&at)
    }

    #[test]
    fn the_nearest_deformation_costs_least() {
        let plate = Arc::new(StretchLaw::constant([500.0, 150.0, 300.0, 75.0], 0.005));
        let denim = shipped_fabric("11oz-black-denim").unwrap();
        for law in [plate, Arc::new(denim.stretch_law())] {
            let mut triangle = Triangle::new(
                StretchTriangle::new([0, 1, 2], MATERIAL, law),
                |_| 0.5,
                0.02,
            );
            let start = MATERIAL.map(|m| Vec3::new(1.05 * m.x, m.y + 0.1 * m.x, 0.2 * m.y));
            let step = StepContext {
                time: 0.0,
                dt: 0.02,
            };
            triangle.begin_step(&start, &[Vec3::ZERO; 3], &step);
            for y in [
                [Vec3::new(1.1, 0.1, 0.3), Vec3::new(-0.1, 0.9, 0.4)],
                [Vec3::new(0.8, -0.3, 0.1), Vec3::new(0.3, 0.6, -0.4)],
                [Vec3::new(0.1, 1.3, 0.0), Vec3::new(1.2, 0.2, 0.5)],
            ] {
                for _ in 0..3 {
                    triangle.nearest(&y, &triangle.weights());
                }
                assert_minimises(&mut triangle, &y, energy);
            }
        }
    }

    #[test]
    fn pressure_is_that_of_the_direction_pressed_most() {
        let law = Arc::new(StretchLaw::constant([500.0, 0.0, 500.0, 250.0], 0.0));
        let mut triangle = Triangle::new(
            StretchTriangle::new([0, 1, 2], MATERIAL, law),
            |_| 0.5,
            0.02,
        );
        let step = StepContext {
            time: 0.0,
            dt: 0.02,
        };
        let mut pressure = |stretch: Vec2, degrees: f64| {
            let along = Vec2::from_angle(degrees.to_radians());
            // Stretched along two directions of the material at right angles.
            let x = MATERIAL.map(|m| {
                let turned = m.rotate(along) * stretch;
                Vec3::new(turned.x, turned.y, 0.0)
            });
            triangle.begin_step(&x, &[Vec3::ZERO; 3], &step);
            let f = triangle.element.deformation(&x);
            let z = [f.x, f.y];
            triangle.pressure(&z, &triangle.stress(&z)) / triangle.element.area()
        };
        // Green strain: (0.81 - 1) / 2.
        for degrees in [0.0, 30.0, 90.0] {
            let found = pressure(Vec2::new(0.9, 1.2), degrees);
            assert!((found - 0.095 * 500.0).abs() < 1e-9, "{found}");
        }
        assert!(pressure(Vec2::new(1.1, 1.2), 20.0) <= 0.0);
    }

    #[test]
    fn a_triangle_without_extent_has_an_answer() {
        let law = Arc::new(StretchLaw::constant([500.0, 150.0, 300.0, 75.0], 0.0));
        let element = StretchTriangle::new([0, 1, 2], MATERIAL, law);
        let mut triangle = Triangle::new(element, |_| 0.5, 0.02);
        for y in [[Vec3::ZERO; 2], [Vec3::X, Vec3::X], [Vec3::ZERO, Vec3::Y]] {
            assert!(
                triangle
                    .nearest(&y, &triangle.weights())
                    .iter()
                    .all(|z| z.is_finite())
            );
        }
    }
}
