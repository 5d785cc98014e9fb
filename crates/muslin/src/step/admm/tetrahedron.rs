//! The proximal map of a tetrahedron with Hooke's law in a frame that turns with it.
//!
//! The law sees nothing but the principal stretches, and so does the distance: the nearest deformation has the same
//! principal directions as the one asked for, and its stretches solve a linear system with an answer in closed form.
//! Damping is on Green strain and follows the positions.

use super::split::{Following, Split};
use crate::force::tet::Tetrahedron;
use crate::force::{Element, StepContext};
use muslin_linalg::{Mat3, Vec3, polar_rotation, svd};

/// A tetrahedron with a deformation of its own: the images of the three axes.
pub struct SplitTetrahedron {
    element: Tetrahedron,
    /// Weight per volume, Pa.
    weight: f64,
}

impl SplitTetrahedron {
    /// `share`: weight as a share of the stiffness.
    pub fn new(element: Tetrahedron, share: f64) -> Self {
        let [lambda, mu] = element.lame();
        Self {
            weight: share * (2.0 * mu + lambda),
            element,
        }
    }
}

impl Split<4, 3> for SplitTetrahedron {
    fn vertices(&self) -> [u32; 4] {
        self.element.vertices()
    }

    fn rows(&self) -> [[f64; 4]; 3] {
        let w = self.element.weights();
        [w.map(|w| w.x), w.map(|w| w.y), w.map(|w| w.z)]
    }

    fn weights(&self) -> [f64; 3] {
        [self.weight * self.element.volume(); 3]
    }

    fn stress(&self, z: &[Vec3; 3]) -> [Vec3; 3] {
        let [lambda, mu] = self.element.lame();
        let f = Mat3::from_cols(z[0], z[1], z[2]);
        let r = polar_rotation(&f);
        let turned = r.transpose() * f;
        let trace = turned.x_axis.x + turned.y_axis.y + turned.z_axis.z - 3.0;
        let stress = ((f - r) * (2.0 * mu) + r * (lambda * trace)) * self.element.volume();
        [stress.x_axis, stress.y_axis, stress.z_axis]
    }

    fn nearest(&mut self, y: &[Vec3; 3]) -> [Vec3; 3] {
        let [lambda, mu] = self.element.lame();
        let parts = svd(&Mat3::from_cols(y[0], y[1], y[2]));
        let stretches = parts.s;
        let own = 2.0 * mu + self.weight;
        let sum = (6.0 * mu + 9.0 * lambda + self.weight * stretches.element_sum())
            / (own + 3.0 * lambda);
        let pressed = Vec3::splat(2.0 * mu - lambda * (sum - 3.0));
        let found = (pressed + stretches * self.weight) / own;
        let z = parts.u * Mat3::from_diagonal(found) * parts.v.transpose();
        [z.x_axis, z.y_axis, z.z_axis]
    }
}

/// The damping of a tetrahedron.
pub struct DampedTetrahedron {
    element: Tetrahedron,
    /// Constant bound of its stiffness per volume, Pa.
    stiffness: f64,
}

impl DampedTetrahedron {
    /// `dt`: length of the steps, s.
    pub fn new(element: Tetrahedron, dt: f64) -> Self {
        let [lambda, mu] = element.lame();
        Self {
            stiffness: (2.0 * mu + lambda) * element.damping() / dt,
            element,
        }
    }
}

impl Following<4> for DampedTetrahedron {
    const TURNS: bool = true;

    fn vertices(&self) -> [u32; 4] {
        self.element.vertices()
    }

    fn stiffness(&self) -> [[f64; 4]; 4] {
        let scale = self.stiffness * self.element.volume();
        let w = self.element.weights();
        w.map(|a| w.map(|b| scale * a.dot(b)))
    }

    fn begin_step(&mut self, x: &[Vec3; 4], v: &[Vec3; 4], step: &StepContext) {
        self.element.begin_step(x, v, step);
    }

    fn pull(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        let stiffness = self.stiffness();
        let viscous = self.element.viscous_gradient(x);
        std::array::from_fn(|a| (0..4).map(|b| x[b] * stiffness[a][b]).sum::<Vec3>() - viscous[a])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Solid;
    use crate::step::admm::testing::assert_minimises;

    const REST: [Vec3; 4] = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];

    fn tetrahedron(poisson: f64) -> Tetrahedron {
        let solid = Solid {
            description: String::new(),
            source: String::new(),
            assumed: String::new(),
            density: 1000.0,
            young: 900.0,
            poisson,
            damping: 0.0,
        };
        Tetrahedron::new([0, 1, 2, 3], REST, &solid)
    }

    #[test]
    fn the_nearest_deformation_costs_least() {
        for poisson in [0.0, 0.3, 0.45] {
            let mut split = SplitTetrahedron::new(tetrahedron(poisson), 0.5);
            for y in [
                [
                    Vec3::new(1.1, 0.1, 0.3),
                    Vec3::new(-0.1, 0.9, 0.4),
                    Vec3::new(0.2, 0.1, 1.3),
                ],
                [
                    Vec3::new(0.1, 1.1, 0.0),
                    Vec3::new(-0.8, 0.1, 0.1),
                    Vec3::new(0.0, 0.3, 0.7),
                ],
                // Inside out.
                [
                    Vec3::new(1.1, 0.1, 0.3),
                    Vec3::new(-0.1, 0.9, 0.4),
                    Vec3::new(0.2, 0.1, -0.5),
                ],
            ] {
                assert_minimises(&mut split, &y, |split, z| {
                    split.element.energy(&[Vec3::ZERO, z[0], z[1], z[2]])
                });
            }
        }
    }

    #[test]
    fn stress_is_the_derivative_of_the_energy() {
        let split = SplitTetrahedron::new(tetrahedron(0.3), 0.5);
        let z = [
            Vec3::new(1.1, 0.1, 0.3),
            Vec3::new(-0.1, 0.9, 0.4),
            Vec3::new(0.2, 0.1, 1.3),
        ];
        let gradient = split.element.gradient(&[Vec3::ZERO, z[0], z[1], z[2]]);
        for (stress, gradient) in split.stress(&z).iter().zip(&gradient[1..]) {
            assert!((*stress - *gradient).length() < 1e-9 * gradient.length().max(1.0));
        }
    }
}
