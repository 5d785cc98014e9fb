//! Air on triangles: pressure across and friction along the surface, quadratic in the relative wind.
//!
//! Normal and relative wind speed are held from the start of the step, so the drag is linear in the new velocity and
//! its potential is a positive quadratic form: it can only take energy out of the motion relative to the wind.

use super::{Element, StepContext, Tangent};
use crate::motion::TimeVector;
use muslin_linalg::{Mat3, Vec3, outer};
use std::sync::Arc;

/// The moving air, shared by all triangles.
#[derive(Clone, Debug)]
pub struct Wind {
    /// Velocity of the air over time, m/s.
    pub velocity: TimeVector,
    /// Density of the air, kg/m³.
    pub density: f64,
    /// Coefficient of the pressure across the surface.
    pub normal: f64,
    /// Coefficient of the friction along the surface, for both sides together.
    pub tangential: f64,
}

/// A triangle in the wind.
pub struct DragTriangle {
    vertices: [u32; 3],
    wind: Arc<Wind>,
    /// Force per relative velocity of the centre, N s/m.
    resistance: Mat3,
    centre_at_start: Vec3,
    wind_velocity: Vec3,
    dt: f64,
}

impl DragTriangle {
    /// A triangle of the state in the given wind.
    pub fn new(vertices: [u32; 3], wind: Arc<Wind>) -> Self {
        Self {
            vertices,
            wind,
            resistance: Mat3::ZERO,
            centre_at_start: Vec3::ZERO,
            wind_velocity: Vec3::ZERO,
            dt: 1.0,
        }
    }

    /// Velocity of the centre relative to the air.
    fn relative(&self, x: &[Vec3; 3]) -> Vec3 {
        ((x[0] + x[1] + x[2]) / 3.0 - self.centre_at_start) / self.dt - self.wind_velocity
    }
}

impl Element<3> for DragTriangle {
    fn vertices(&self) -> [u32; 3] {
        self.vertices
    }

    fn begin_step(&mut self, x: &[Vec3; 3], v: &[Vec3; 3], step: &StepContext) {
        self.dt = step.dt;
        self.centre_at_start = (x[0] + x[1] + x[2]) / 3.0;
        self.wind_velocity = self.wind.velocity.at(step.time);
        let area_vector = (x[1] - x[0]).cross(x[2] - x[0]) / 2.0;
        let n = area_vector.normalize_or_zero();
        let relative = (v[0] + v[1] + v[2]) / 3.0 - self.wind_velocity;
        let across = relative.dot(n);
        let along = (relative - n * across).length();
        let pressure = 0.5 * self.wind.density * area_vector.length();
        let normal = outer(n, n);
        self.resistance = normal * (pressure * self.wind.normal * across.abs())
            + (Mat3::IDENTITY - normal) * (pressure * self.wind.tangential * along);
    }

    fn energy(&self, x: &[Vec3; 3]) -> f64 {
        let u = self.relative(x);
        0.5 * self.dt * u.dot(self.resistance * u)
    }

    fn gradient(&self, x: &[Vec3; 3]) -> [Vec3; 3] {
        [self.resistance * self.relative(x) / 3.0; 3]
    }

    fn linearise(&self, x: &[Vec3; 3], out: &mut Tangent<3>) {
        out.gradient = self.gradient(x);
        out.hessian = [[self.resistance * (1.0 / (9.0 * self.dt)); 3]; 3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::testing::{assert_semidefinite, hessian_error};

    fn triangle(velocity: Vec3) -> (DragTriangle, [Vec3; 3]) {
        let wind = Wind {
            velocity: TimeVector::Constant(velocity),
            density: 1.2,
            normal: 1.3,
            tangential: 0.1,
        };
        let x = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let mut e = DragTriangle::new([0, 1, 2], Arc::new(wind));
        e.begin_step(
            &x,
            &[Vec3::ZERO; 3],
            &StepContext {
                time: 0.01,
                dt: 0.01,
            },
        );
        (e, x)
    }

    #[test]
    fn force_on_a_plate_at_rest_in_the_wind() {
        let (e, x) = triangle(Vec3::new(0.0, 0.0, 3.0));
        let total: Vec3 = e.gradient(&x).iter().map(|g| -*g).sum();
        // Half the density, the coefficient, the speed squared, the area.
        assert!((total.z - 0.5 * 1.2 * 1.3 * 9.0 * 0.5).abs() < 1e-12 && total.x == 0.0);
    }

    #[test]
    fn derivatives() {
        let (e, x) = triangle(Vec3::new(2.0, 0.5, -1.0));
        let moved = x.map(|p| p + Vec3::new(0.01, -0.02, 0.03));
        assert!(hessian_error(&e, &moved, |_, _| [Vec3::ZERO; 3]) < 1e-6);
        assert_semidefinite(&e, &moved);
        let h = 1e-6;
        for k in 0..3 {
            let (mut up, mut down) = (moved, moved);
            up[1][k] += h;
            down[1][k] -= h;
            let difference = (e.energy(&up) - e.energy(&down)) / (2.0 * h);
            assert!((difference - e.gradient(&moved)[1][k]).abs() < 1e-6);
        }
    }
}
