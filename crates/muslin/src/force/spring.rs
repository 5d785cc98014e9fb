//! A spring along an edge: the oldest cloth model, for comparison and for methods that are built on springs.

use super::{Element, StepContext, Tangent};
use muslin_linalg::{Mat3, Vec3, outer};

/// Energy `k (l - l0)² / 2`, with a dashpot of the same stiffness times the damping time.
pub struct Spring {
    vertices: [u32; 2],
    rest_length: f64,
    stiffness: f64,
    damping: f64,
    length_at_start: f64,
    viscosity: f64,
}

impl Spring {
    /// `rest_length` in m, `stiffness` in N/m, `damping` in s.
    pub fn new(vertices: [u32; 2], rest_length: f64, stiffness: f64, damping: f64) -> Self {
        Self {
            vertices,
            rest_length,
            stiffness,
            damping,
            length_at_start: rest_length,
            viscosity: 0.0,
        }
    }

    /// Stiffness over a step of `dt` (s), dashpot included, N/m.
    pub fn stiffness_over(&self, dt: f64) -> f64 {
        self.stiffness * (1.0 + self.damping / dt)
    }

    /// Stiffness (N/m) and length at ease (m) over the step begun last, dashpot included.
    pub fn law(&self) -> (f64, f64) {
        let all = 1.0 + self.viscosity;
        let ease = (self.rest_length + self.viscosity * self.length_at_start) / all;
        (self.stiffness * all, ease)
    }

    /// Direction, and second derivative of the energy along it and across, N/m. Under pressure the latter would be
    /// negative and is left out.
    fn curvature(&self, x: &[Vec3; 2]) -> (Vec3, f64, f64) {
        let d = x[1] - x[0];
        let l = d.length();
        let along = self.stiffness * (1.0 + self.viscosity);
        if l > 0.0 {
            (d / l, along, (self.tension(l) / l).max(0.0))
        } else {
            (Vec3::ZERO, along, 0.0)
        }
    }

    /// Derivative of the energy by the length, N.
    fn tension(&self, length: f64) -> f64 {
        self.stiffness
            * (length - self.rest_length + self.viscosity * (length - self.length_at_start))
    }
}

impl Element<2> for Spring {
    fn vertices(&self) -> [u32; 2] {
        self.vertices
    }

    fn begin_step(&mut self, x: &[Vec3; 2], _v: &[Vec3; 2], step: &StepContext) {
        self.length_at_start = x[0].distance(x[1]);
        self.viscosity = self.damping / step.dt;
    }

    fn energy(&self, x: &[Vec3; 2]) -> f64 {
        let l = x[0].distance(x[1]);
        0.5 * self.stiffness
            * ((l - self.rest_length).powi(2) + self.viscosity * (l - self.length_at_start).powi(2))
    }

    fn gradient(&self, x: &[Vec3; 2]) -> [Vec3; 2] {
        let d = x[1] - x[0];
        let l = d.length();
        let pull = if l > 0.0 {
            d * (self.tension(l) / l)
        } else {
            Vec3::ZERO
        };
        [-pull, pull]
    }

    fn linearise(&self, x: &[Vec3; 2], out: &mut Tangent<2>) {
        let (n, along, across) = self.curvature(x);
        let k = outer(n, n) * (along - across) + Mat3::IDENTITY * across;
        out.gradient = self.gradient(x);
        out.hessian = [[k, -k], [-k, k]];
    }

    fn product(&self, x: &[Vec3; 2], d: &[Vec3; 2]) -> [Vec3; 2] {
        let (n, along, across) = self.curvature(x);
        let d = d[1] - d[0];
        let pull = n * ((along - across) * n.dot(d)) + d * across;
        [-pull, pull]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::testing::{assert_gradient, assert_semidefinite, hessian_error};

    #[test]
    fn derivatives() {
        for end in [Vec3::new(0.3, 0.2, 0.1), Vec3::new(0.8, 0.9, -0.4)] {
            let mut e = Spring::new([0, 1], 0.7, 30.0, 0.02);
            let x = [Vec3::new(0.1, 0.0, 0.2), end];
            let start = [x[0], end * 1.1];
            e.begin_step(
                &start,
                &[Vec3::ZERO; 2],
                &StepContext {
                    time: 0.0,
                    dt: 0.01,
                },
            );
            assert_gradient(&e, &x);
            assert_semidefinite(&e, &x);
        }
        let e = Spring::new([0, 1], 0.7, 30.0, 0.0);
        let x = [Vec3::ZERO, Vec3::new(0.8, 0.9, -0.4)];
        assert!(hessian_error(&e, &x, |_, _| [Vec3::ZERO; 2]) < 1e-6);
    }
}
