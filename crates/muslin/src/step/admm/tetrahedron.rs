//! The proximal map of a tetrahedron with Hooke's law in a frame that turns with it.
//!
//! The law sees nothing but the principal stretches, and so does the distance: the nearest deformation has the same
//! principal directions as the one asked for, and its stretches solve a linear system with an answer in closed form.
//! Damping is on Green strain and follows the positions.

use super::following::Following;
use super::split::Split;
use crate::force::tet::{Tetrahedron, green_strain};
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

    fn stiffness(&self) -> [f64; 3] {
        let [lambda, mu] = self.element.lame();
        [(2.0 * mu + lambda) * self.element.volume(); 3]
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

    fn nearest(&mut self, y: &[Vec3; 3], weights: &[f64; 3]) -> [Vec3; 3] {
        let weight = weights[0] / self.element.volume();
        let [lambda, mu] = self.element.lame();
        let parts = svd(&Mat3::from_cols(y[0], y[1], y[2]));
        let stretches = parts.s;
        let own = 2.0 * mu + weight;
        let sum =
            (6.0 * mu + 9.0 * lambda + weight * stretches.element_sum()) / (own + 3.0 * lambda);
        let pressed = Vec3::splat(2.0 * mu - lambda * (sum - 3.0));
        let found = (pressed + stretches * weight) / own;
        let z = parts.u * Mat3::from_diagonal(found) * parts.v.transpose();
        [z.x_axis, z.y_axis, z.z_axis]
    }
}

/// The damping of a tetrahedron.
pub struct DampedTetrahedron {
    element: Tetrahedron,
    /// Constant bound of its stiffness per volume, Pa.
    stiffness: f64,
    /// Damping time over the length of the step.
    viscosity: f64,
    strain_at_start: Mat3,
}

/// Stretch up to which damping is exact. Its force grows with the third power of the deformation, and no constant form
/// bounds that: iterations that go astray in an impact would fly off to infinity.
const LONGEST: f64 = 1.4;

impl DampedTetrahedron {
    /// `dt`: length of the steps, s.
    pub fn new(element: Tetrahedron, dt: f64) -> Self {
        let [lambda, mu] = element.lame();
        let viscosity = element.damping() / dt;
        Self {
            // What swelling meets. It holds up to a stretch of 1.4, the root of two: iterations settle while the form is
            // half of what they meet.
            stiffness: (2.0 * mu + 3.0 * lambda) * viscosity,
            viscosity,
            strain_at_start: Mat3::ZERO,
            element,
        }
    }
}

/// A deformation with stretches of at most [`LONGEST`].
fn within_bounds(f: Mat3) -> Mat3 {
    // Sums of rows bound the largest squared stretch; few tetrahedra need more.
    let squared = f.transpose() * f;
    let rows = squared.x_axis.abs() + squared.y_axis.abs() + squared.z_axis.abs();
    if rows.max_element() <= LONGEST * LONGEST {
        return f;
    }
    let parts = svd(&f);
    let stretches = parts.s.min(Vec3::splat(LONGEST));
    parts.u * Mat3::from_diagonal(stretches) * parts.v.transpose()
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

    fn begin_step(&mut self, x: &[Vec3; 4], _v: &[Vec3; 4], _step: &StepContext) {
        self.strain_at_start = green_strain(&within_bounds(self.element.deformation(x)));
    }

    fn pull(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        let f = self.element.deformation(x);
        let bound = within_bounds(f);
        let change = green_strain(&bound) - self.strain_at_start;
        let viscous = bound * self.element.stress(change, self.viscosity);
        // The form itself acts on the whole deformation.
        let pull = (f * self.stiffness - viscous) * self.element.volume();
        self.element.weights().map(|w| pull * w)
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
            damping: 0.01,
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

    #[test]
    fn damping_is_that_of_the_element_and_bounded() {
        let step = StepContext {
            time: 0.0,
            dt: 0.02,
        };
        let mut element = tetrahedron(0.3);
        let mut damped = DampedTetrahedron::new(tetrahedron(0.3), step.dt);
        let start = [Vec3::ZERO, Vec3::X, Vec3::new(0.1, 1.1, 0.0), Vec3::Z];
        element.begin_step(&start, &[Vec3::ZERO; 4], &step);
        damped.begin_step(&start, &[Vec3::ZERO; 4], &step);
        let force = |damped: &DampedTetrahedron, x: &[Vec3; 4]| {
            let (pull, form) = (damped.pull(x), damped.stiffness());
            let of = |a: usize| pull[a] - (0..4).map(|b| x[b] * form[a][b]).sum::<Vec3>();
            [0, 1, 2, 3].map(of)
        };
        let x = [
            Vec3::ZERO,
            Vec3::new(1.1, 0.1, 0.1),
            Vec3::new(-0.1, 0.9, 0.1),
            Vec3::new(0.1, 0.1, 1.1),
        ];
        let all = element.gradient(&x);
        let elastic = SplitTetrahedron::new(tetrahedron(0.3), 0.5).stress(&[x[1], x[2], x[3]]);
        for k in 1..4 {
            let viscous = force(&damped, &x)[k];
            assert!((all[k] - elastic[k - 1] + viscous).length() < 1e-9 * all[k].length());
        }
        let size = |scale: f64| force(&damped, &x.map(|x| x * scale))[1].length();
        let most = size(10.0);
        assert!(size(100.0) < 1.01 * most);
        // Nothing moves, nothing resists, however far it is stretched.
        let far = x.map(|x| x * 3.0);
        damped.begin_step(&far, &[Vec3::ZERO; 4], &step);
        assert!(force(&damped, &far)[1].length() < 1e-9 * most);
    }
}
