//! The proximal map of an edge spring.

use super::split::Split;
use crate::force::spring::Spring;
use crate::force::{Element, StepContext};
use muslin_linalg::Vec3;

/// A spring with a vector of its own from end to end.
pub struct SplitSpring {
    element: Spring,
    weight: f64,
    /// Stiffness (N/m) and length at ease (m) over the step, dashpot included.
    law: (f64, f64),
}

impl SplitSpring {
    /// `share` of a stiffness (N/m): the weight. `dt`: length of the steps, s.
    pub fn new(element: Spring, share: impl Fn(f64) -> f64, dt: f64) -> Self {
        let stiffness = element.stiffness_over(dt);
        Self {
            weight: (share(stiffness) * stiffness).max(f64::MIN_POSITIVE),
            law: element.law(),
            element,
        }
    }
}

impl Split<2, 1> for SplitSpring {
    fn vertices(&self) -> [u32; 2] {
        self.element.vertices()
    }

    fn rows(&self) -> [[f64; 2]; 1] {
        [[-1.0, 1.0]]
    }

    fn weights(&self) -> [f64; 1] {
        [self.weight]
    }

    fn stiffness(&self) -> [f64; 1] {
        // Of very long steps, so that damping does not count.
        [self.element.stiffness_over(f64::INFINITY)]
    }

    fn begin_step(&mut self, x: &[Vec3; 2], v: &[Vec3; 2], step: &StepContext) {
        self.element.begin_step(x, v, step);
        self.law = self.element.law();
    }

    fn pressure(&self, z: &[Vec3; 1], stress: &[Vec3; 1]) -> f64 {
        -z[0].dot(stress[0]) / z[0].length_squared().max(f64::MIN_POSITIVE)
    }

    fn stress(&self, z: &[Vec3; 1]) -> [Vec3; 1] {
        let (stiffness, ease) = self.law;
        [z[0].normalize_or_zero() * (stiffness * (z[0].length() - ease))]
    }

    fn nearest(&mut self, y: &[Vec3; 1], &[weight]: &[f64; 1]) -> [Vec3; 1] {
        let (stiffness, ease) = self.law;
        let length = (stiffness * ease + weight * y[0].length()) / (stiffness + weight);
        [y[0].normalize_or(Vec3::X) * length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::admm::testing::assert_minimises;

    #[test]
    fn the_nearest_spring_costs_least() {
        let mut spring = SplitSpring::new(Spring::new([0, 1], 0.7, 30.0, 0.02), |_| 0.5, 0.01);
        let step = StepContext {
            time: 0.0,
            dt: 0.01,
        };
        spring.begin_step(&[Vec3::ZERO, Vec3::X], &[Vec3::ZERO; 2], &step);
        for y in [Vec3::new(0.3, 0.2, 0.1), Vec3::new(0.8, 0.9, -0.4)] {
            assert_minimises(&mut spring, &[y], |s, z| {
                s.element.energy(&[Vec3::ZERO, z[0]])
            });
        }
    }
}
