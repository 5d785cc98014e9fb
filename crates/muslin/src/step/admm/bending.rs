//! Bending as a constant quadratic form: the vector of curvature is linear in the positions.
//!
//! As long as cloth hardly stretches and folds are not sharp, the form equals the energy of the implicit stepper's
//! elements. What is left between the two, a measured law, an angle that is not small, a triangle that gave, only changes
//! the place about which the form holds: it is chosen so that the force is that of the element, and both methods come to
//! rest in the same folds.

use super::following::Following;
use crate::force::bend::{CurvaturePatch, Hinge, PATCH};
use crate::force::{Element, StepContext};
use muslin_linalg::Vec3;

/// The form of a hinge over the stiffest entry of its law: angles make it stiffer, and a form that is too soft would
/// overshoot.
const MARGIN: f64 = 1.5;

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
    const ELASTIC: bool = true;

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
        let gradient = self.element.gradient(x);
        std::array::from_fn(|a| bend * (self.stiffness * self.row[a]) - gradient[a])
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
    const ELASTIC: bool = true;

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
        let (second, gradient) = self.element.bent(x);
        std::array::from_fn(|a| {
            let m = self.moments[a];
            second[0] * m[0] + second[1] * m[1] + second[2] * m[2] - gradient[a]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::bend::{BendingModuli, HingeLaw, RestSurface, dihedral, stencils};
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
                // Stretched and sheared by a few per cent.
                let x = folded(angle).map(|x| Vec3::new(1.03 * x.x + 0.02 * x.y, 0.98 * x.y, x.z));
                assert_same(&force_of(&bend, &x), &bend.element.gradient(&x));
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
                assert_same(&force_of(&bend, &x), &bend.element.gradient(&x));
            }
        }
    }

    /// Where there is nothing but bending, iterations of the global step must not overshoot: the form is at least as stiff
    /// as the element along the normal.
    #[test]
    fn an_edge_springs_back_without_overshooting() {
        for rest in [0.0, 0.4] {
            let mut bend = hinge(rest);
            for angle in [-1.2, -0.3, 0.05, 0.9, 1.4] {
                bend.begin_step(&folded(angle), &[Vec3::ZERO; 4], &step());
                let (stiffness, row) = (bend.stiffness, bend.row);
                let length: f64 = row.iter().map(|w| w * w).sum();
                let mut x = folded(angle);
                let moment = |x: &[Vec3; 4]| bend.element.moment(dihedral(x).0);
                let mut left = moment(&x);
                for _ in 0..30 {
                    let force = force_of(&bend, &x);
                    let along: Vec3 = (0..4).map(|a| force[a] * row[a]).sum();
                    for a in 0..4 {
                        x[a] += along * (row[a] / (stiffness * length * length));
                    }
                    let next = moment(&x);
                    let ratio = next / left;
                    assert!(ratio > -1e-9 && ratio < 1.0, "{rest} {angle}: {ratio}");
                    left = next;
                    if left.abs() < 1e-12 {
                        break;
                    }
                }
            }
        }
    }

    fn assert_same<const N: usize>(force: &[Vec3; N], gradient: &[Vec3; N]) {
        let scale = gradient.iter().map(|g| g.length()).fold(1e-9, f64::max);
        for (f, g) in force.iter().zip(gradient) {
            assert!((*f + *g).length() < 1e-9 * scale, "{f} {g}");
        }
    }
}
