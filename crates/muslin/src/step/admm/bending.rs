//! Bending as a constant quadratic form: the vector of curvature is linear in the positions, and what the fabric wants
//! instead is a vector along the normal.
//!
//! As long as cloth hardly stretches, that vector *is* along the normal, and its length is the curvature (of a patch) or
//! twice the sine of half the angle (at an edge). The form then equals the energy of the implicit stepper's elements; a
//! measured law, or an angle that is not small, only changes the place about which the form holds.

use super::split::Following;
use crate::force::bend::{CurvaturePatch, Hinge, PATCH};
use crate::force::{Element, StepContext};
use muslin_linalg::Vec3;

/// The form of a hinge over the stiffest entry of its law: angles make it stiffer, and a form that is too soft would
/// overshoot.
const MARGIN: f64 = 1.5;
/// Cosines of half angles are not taken below this; sharper folds than that are held by contact.
const SHARPEST: f64 = 0.8;

/// Two triangles that bend at an edge.
pub struct EdgeBend {
    element: Hinge,
    /// Weights of the vertices in the vector of curvature, 1/m.
    row: [f64; 4],
    stiffness: f64,
}

impl EdgeBend {
    /// `heights` of the opposite corners over the edge, m, and `feet` where they stand, as fractions of the edge; both at
    /// rest. `dt`: length of the steps, s.
    pub fn new(element: Hinge, heights: [f64; 2], feet: [f64; 2], dt: f64) -> Self {
        let [g, h] = heights.map(|h| 1.0 / h);
        // Minus the unit vectors from the edge to the corners: along the normal when the angle is positive.
        let row = [
            (1.0 - feet[0]) * g + (1.0 - feet[1]) * h,
            feet[0] * g + feet[1] * h,
            -g,
            -h,
        ];
        Self {
            stiffness: MARGIN * element.stiffest(dt),
            element,
            row,
        }
    }
}

impl Following<4> for EdgeBend {
    fn vertices(&self) -> [u32; 4] {
        self.element.vertices()
    }

    fn stiffness(&self) -> [[f64; 4]; 4] {
        self.row.map(|a| self.row.map(|b| self.stiffness * a * b))
    }

    fn begin_step(&mut self, x: &[Vec3; 4], v: &[Vec3; 4], step: &StepContext) {
        self.element.begin_step(x, v, step);
    }

    fn pull(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        let bend: Vec3 = (0..4).map(|a| x[a] * self.row[a]).sum();
        let edge = x[1] - x[0];
        let normal = edge.cross(x[2] - x[0]).normalize_or_zero()
            + (x[3] - x[0]).cross(edge).normalize_or_zero();
        let Some(normal) = normal.try_normalize() else {
            // Folded flat: no direction to bend in.
            return self.row.map(|w| bend * (self.stiffness * w));
        };
        let length = bend.dot(normal);
        let sine = (0.5 * length).clamp(-1.0, 1.0);
        let cosine = (1.0 - sine * sine).sqrt();
        let force = self.element.moment(2.0 * sine.asin()) / cosine.max(SHARPEST);
        let place = normal * (self.stiffness * length - force);
        self.row.map(|w| place * w)
    }
}

/// A triangle that bends with its neighbours.
pub struct PatchBend {
    element: CurvaturePatch,
    /// Weights times moments per curvature: one triple a vertex.
    moments: [[f64; 3]; PATCH],
    dt: f64,
}

impl PatchBend {
    /// `dt`: length of the steps, s.
    pub fn new(element: CurvaturePatch, dt: f64) -> Self {
        let (stencil, moduli) = element.form(dt);
        let moments = stencil
            .weights
            .map(|w| std::array::from_fn(|j| (0..3).map(|i| w[i] * moduli[i][j]).sum::<f64>()));
        Self {
            element,
            moments,
            dt,
        }
    }
}

impl Following<PATCH> for PatchBend {
    fn vertices(&self) -> [u32; PATCH] {
        self.element.vertices()
    }

    fn stiffness(&self) -> [[f64; PATCH]; PATCH] {
        let weights = self.element.form(self.dt).0.weights;
        self.moments
            .map(|m| weights.map(|w| m[0] * w[0] + m[1] * w[1] + m[2] * w[2]))
    }

    fn begin_step(&mut self, x: &[Vec3; PATCH], v: &[Vec3; PATCH], step: &StepContext) {
        self.element.begin_step(x, v, step);
    }

    fn pull(&self, x: &[Vec3; PATCH]) -> [Vec3; PATCH] {
        let ease = self.element.ease();
        let normal = (x[1] - x[0]).cross(x[2] - x[0]).normalize_or_zero();
        self.moments
            .map(|m| normal * (m[0] * ease[0] + m[1] * ease[1] + m[2] * ease[2]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::bend::{BendingModuli, HingeLaw, RestSurface, stencils};
    use crate::step::admm::testing::force_of;
    use muslin_geometry::mesh::Topology;
    use muslin_linalg::Vec2;
    use std::sync::Arc;

    fn step() -> StepContext {
        StepContext {
            time: 0.0,
            dt: 0.01,
        }
    }

    fn hinge(rest: f64) -> EdgeBend {
        let law = HingeLaw {
            table: [[60e-6, 70e-6, 90e-6, 80e-6, 20e-6]; 3],
            damping: 0.003,
        };
        let element = Hinge::new([0, 1, 2, 3], 0.02, 4e-4, 0.3, rest, Arc::new(law));
        EdgeBend::new(element, [0.02, 0.02], [0.5, 0.5], 0.01)
    }

    /// Two faces folded by an angle about an edge along x.
    fn folded(angle: f64) -> [Vec3; 4] {
        let (s, c) = (0.5 * angle).sin_cos();
        [
            Vec3::new(-0.01, 0.0, 0.0),
            Vec3::new(0.01, 0.0, 0.0),
            Vec3::new(0.0, 0.02 * c, -0.02 * s),
            Vec3::new(0.0, -0.02 * c, -0.02 * s),
        ]
    }

    #[test]
    fn an_edge_pulls_like_the_hinge_of_the_implicit_stepper() {
        for rest in [0.0, 0.4] {
            for angle in [-0.9, -0.1, 0.0, 0.3, 1.0] {
                let mut bend = hinge(rest);
                bend.begin_step(&folded(0.5 * angle), &[Vec3::ZERO; 4], &step());
                let x = folded(angle);
                let (force, exact) = (force_of(&bend, &x), bend.element.gradient(&x));
                let scale = exact.iter().map(|g| g.length()).fold(1e-9, f64::max);
                // Across the edge both push alike; what is left lies in the faces, where stretch bears it.
                for k in [2, 3] {
                    let face = (x[1] - x[0]).cross(x[k] - x[0]).normalize();
                    let difference = (force[k] + exact[k]).dot(face).abs();
                    assert!(difference < 1e-9 * scale, "{rest} {angle}: {difference}");
                }
            }
        }
    }

    #[test]
    fn a_patch_pulls_like_the_one_of_the_implicit_stepper() {
        // A piece of a plate, bent into cylinders.
        let (n, cell) = (4u32, 0.01);
        let mut material = Vec::new();
        let mut faces = Vec::new();
        let at = |i: u32, j: u32| Vec2::new(f64::from(i) * cell, f64::from(j) * cell);
        for j in 0..n {
            for i in 0..n {
                let corner = |a: u32, b: u32| j * (n + 1) + i + a + b * (n + 1);
                faces.push([corner(0, 0), corner(1, 0), corner(1, 1)]);
                material.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
                faces.push([corner(0, 0), corner(1, 1), corner(0, 1)]);
                material.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
            }
        }
        let topology = Topology::build(25, &faces).unwrap();
        let rest = RestSurface {
            topology: &topology,
            material: &material,
            clamped: &[false; 25],
        };
        let moduli = Arc::new(BendingModuli::isotropic(1e-3, 0.3, 0.002));
        for radius in [0.1, 0.4] {
            let roll = |p: Vec2| {
                let (s, c) = (p.x / radius).sin_cos();
                Vec3::new(radius * s, p.y, radius * (1.0 - c))
            };
            let all: Vec<Vec3> = (0..25).map(|k| roll(at(k % 5, k / 5))).collect();
            for stencil in stencils(&rest).into_iter().flatten() {
                let x = stencil.vertices.map(|v| all[v as usize]);
                let element = CurvaturePatch::new(stencil, 5e-5, moduli.clone(), None);
                let mut bend = PatchBend::new(element, 0.01);
                bend.begin_step(&x.map(|x| x * 1.01), &[Vec3::ZERO; PATCH], &step());
                let (force, exact) = (force_of(&bend, &x), bend.element.gradient(&x));
                let scale = exact.iter().map(|g| g.length()).fold(1e-9, f64::max);
                let apart = force.iter().zip(exact).map(|(f, g)| (*f + g).length());
                let apart = apart.fold(0.0, f64::max) / scale;
                // At a border the patch lies about a cell to one side, and its vector leans as the surface turns there.
                assert!(apart < cell / radius, "{radius}: {apart}");
            }
        }
    }
}
