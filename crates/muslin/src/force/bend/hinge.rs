//! Bending across an edge (Bridson, Marino, Fedkiw 2003): energy `k l² (θ - θ0)² / (8 (A1 + A2))`.
//!
//! A table over curvature is linearised at the start of each step, like the stretch law (see `stretch`).
//!
//! The measured tables were fitted with this element, so measured fabrics use it. As a model of a plate it depends on
//! the mesh and does not converge; see `CurvaturePatch` for one that does.

use super::super::{Element, StepContext, Tangent};
use muslin_linalg::{Vec3, outer};
use std::sync::Arc;

/// Hinge coefficient over curvature and direction.
#[derive(Clone, Debug, PartialEq)]
pub struct HingeLaw {
    /// Rows for edges at 0, 45 and 90 degrees to warp; columns for curvatures 0, 10, 20, 30, 40 1/m. N·m.
    pub table: [[f64; 5]; 3],
    /// Damping time, s.
    pub damping: f64,
}

impl HingeLaw {
    /// Linear between the table's entries, held beyond them.
    pub fn coefficient(&self, angle_position: f64, curvature: f64) -> f64 {
        let blend = |row: &[f64; 5]| {
            let c = (curvature / 10.0).clamp(0.0, 4.0);
            let i = (c as usize).min(3);
            row[i] + (row[i + 1] - row[i]) * (c - i as f64)
        };
        let a = angle_position.clamp(0.0, 2.0);
        let i = (a as usize).min(1);
        let (low, high) = (blend(&self.table[i]), blend(&self.table[i + 1]));
        (low + (high - low) * (a - i as f64)).max(0.0)
    }
}

/// Two triangles joined at an edge. Vertices: the edge's ends, then the opposite corners of the left and right face.
pub struct Hinge {
    vertices: [u32; 4],
    law: Arc<HingeLaw>,
    /// Edge direction as a position in the table's rows.
    angle_position: f64,
    /// Edge length over area, 1/m: turns an angle into a curvature.
    angle_to_curvature: f64,
    rest_length: f64,
    rest_angle: f64,
    /// Second derivative of the energy by the angle over the step, viscous part included, N·m.
    stiffness: f64,
    moment_at_start: f64,
    angle_at_start: f64,
}

impl Hinge {
    /// `edge_angle`: between rest edge and warp, rad; `area`: of both triangles that can bend, m².
    pub fn new(
        vertices: [u32; 4],
        rest_length: f64,
        area: f64,
        edge_angle: f64,
        rest_angle: f64,
        law: Arc<HingeLaw>,
    ) -> Self {
        use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
        let folded = edge_angle.rem_euclid(PI);
        let folded = if folded > FRAC_PI_2 {
            PI - folded
        } else {
            folded
        };
        let mut hinge = Self {
            vertices,
            law,
            angle_position: folded / FRAC_PI_4,
            angle_to_curvature: rest_length / area,
            rest_length,
            rest_angle,
            stiffness: 0.0,
            moment_at_start: 0.0,
            angle_at_start: rest_angle,
        };
        hinge.sample(rest_angle, 0.0);
        hinge
    }

    /// Takes moment and tangent from the table at an angle. A table that softens gets its secant as tangent.
    fn sample(&mut self, angle: f64, viscosity: f64) {
        let bend = angle - self.rest_angle;
        let [secant, tangent] = self.tabled(bend.abs() * self.angle_to_curvature);
        self.stiffness = tangent * (1.0 + viscosity);
        self.moment_at_start = secant * bend;
        self.angle_at_start = angle;
    }

    /// Moment per angle and its growth by the angle at a curvature, N·m.
    fn tabled(&self, curvature: f64) -> [f64; 2] {
        let coefficient = |c: f64| self.law.coefficient(self.angle_position, c);
        let k = coefficient(curvature);
        let hardening = (coefficient(curvature + PROBE) - k).max(0.0) / PROBE * curvature;
        let scale = 0.25 * self.rest_length * self.angle_to_curvature;
        [scale * k, scale * (k + hardening)]
    }

    /// Most that the moment grows by the angle at any angle, over steps of `dt` (s), N·m.
    pub fn stiffest(&self, dt: f64) -> f64 {
        let most = [0.0, 9.9, 19.9, 29.9, 39.9, 50.0].map(|c| self.tabled(c)[1]);
        most.iter().fold(0.0, |m: f64, k| m.max(*k)) * (1.0 + self.law.damping / dt)
    }

    /// Derivative of the energy by the angle, N·m.
    pub fn moment(&self, angle: f64) -> f64 {
        self.moment_at_start + self.stiffness * (angle - self.angle_at_start)
    }
}

/// Step in curvature (1/m) over which the table's slope is taken.
const PROBE: f64 = 1e-3;

/// Signed angle between the two faces' normals, zero when flat, and its gradient.
pub fn dihedral(x: &[Vec3; 4]) -> (f64, [Vec3; 4]) {
    let e = x[1] - x[0];
    let left = e.cross(x[2] - x[0]);
    let right = (x[3] - x[0]).cross(e);
    let length = e.length();
    let angle = left.cross(right).dot(e).atan2(left.dot(right) * length);
    // A face without area has no angle; it gets no force rather than an infinite one.
    let scaled = |n: Vec3| {
        if n.length_squared() > 0.0 {
            n * (length / n.length_squared())
        } else {
            Vec3::ZERO
        }
    };
    let (g2, g3) = (-scaled(left), -scaled(right));
    let along = |p: Vec3| (p - x[0]).dot(e) / (length * length).max(f64::MIN_POSITIVE);
    let (t2, t3) = (along(x[2]), along(x[3]));
    (
        angle,
        [
            -(1.0 - t2) * g2 - (1.0 - t3) * g3,
            -t2 * g2 - t3 * g3,
            g2,
            g3,
        ],
    )
}

impl Element<4> for Hinge {
    fn vertices(&self) -> [u32; 4] {
        self.vertices
    }

    fn begin_step(&mut self, x: &[Vec3; 4], _v: &[Vec3; 4], step: &StepContext) {
        self.sample(dihedral(x).0, self.law.damping / step.dt);
    }

    fn energy(&self, x: &[Vec3; 4]) -> f64 {
        let change = dihedral(x).0 - self.angle_at_start;
        change * (self.moment_at_start + 0.5 * self.stiffness * change)
    }

    fn gradient(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        let (angle, g) = dihedral(x);
        g.map(|g| g * self.moment(angle))
    }

    /// Gauss-Newton: the curvature of the angle itself is left out, which keeps the Hessian semi-definite.
    fn linearise(&self, x: &[Vec3; 4], out: &mut Tangent<4>) {
        let (angle, g) = dihedral(x);
        let moment = self.moment(angle);
        let k = self.stiffness;
        for a in 0..4 {
            out.gradient[a] = g[a] * moment;
            for b in a..4 {
                out.hessian[a][b] = outer(g[a] * k, g[b]);
            }
        }
    }

    fn product(&self, x: &[Vec3; 4], d: &[Vec3; 4]) -> [Vec3; 4] {
        let (_, g) = dihedral(x);
        let turn: f64 = g.iter().zip(d).map(|(g, d)| g.dot(*d)).sum();
        g.map(|g| g * (self.stiffness * turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::testing::{assert_gradient, assert_semidefinite, hessian_error};

    fn bent() -> [Vec3; 4] {
        [
            Vec3::new(0.1, 0.0, 0.0),
            Vec3::new(1.0, 0.1, 0.2),
            Vec3::new(0.5, 0.8, 0.3),
            Vec3::new(0.4, -0.7, 0.5),
        ]
    }

    fn hinge(rest_angle: f64) -> Hinge {
        let table = [[1e-4, 2e-4, 3e-4, 2e-4, 1e-4], [2e-4; 5], [4e-4; 5]];
        let law = Arc::new(HingeLaw {
            table,
            damping: 0.0,
        });
        let mut e = Hinge::new([0, 1, 2, 3], 0.9, 0.7, 0.5, rest_angle, law);
        e.sample(0.2, 0.7);
        e
    }

    #[test]
    fn derivatives() {
        let x = bent();
        let e = hinge(-0.4);
        assert_gradient(&e, &x);
        assert_semidefinite(&e, &x);
        // What Gauss-Newton leaves out is exactly moment times second derivative of the angle.
        let h = 1e-6;
        let moment = e.moment(dihedral(&x).0);
        let missing = |a: usize, k: usize| {
            let (mut up, mut down) = (x, x);
            up[a][k] += h;
            down[a][k] -= h;
            let (up, down) = (dihedral(&up).1, dihedral(&down).1);
            std::array::from_fn(|b| (up[b] - down[b]) * (moment / (2.0 * h)))
        };
        assert!(hessian_error(&e, &x, missing) < 1e-6);
        let mut at_rest = hinge(dihedral(&x).0);
        at_rest.sample(dihedral(&x).0, 0.0);
        assert!(hessian_error(&at_rest, &x, |_, _| [Vec3::ZERO; 4]) < 1e-6);
    }

    #[test]
    fn table_is_linear_between_entries_and_held_outside() {
        let table = [[1.0, 2.0, 3.0, 4.0, 5.0], [2.0; 5], [4.0; 5]];
        let law = HingeLaw {
            table,
            damping: 0.0,
        };
        assert_eq!(law.coefficient(0.0, 15.0), 2.5);
        assert_eq!(law.coefficient(0.5, 0.0), 1.5);
        assert_eq!(law.coefficient(1.5, 99.0), 3.0);
        assert_eq!(law.coefficient(0.0, 99.0), 5.0);
    }

    #[test]
    fn flat_is_zero_and_up_is_positive_on_one_side() {
        let flat = [Vec3::ZERO, Vec3::X, Vec3::Y, -Vec3::Y];
        assert_eq!(dihedral(&flat).0, 0.0);
        let quarter = [Vec3::ZERO, Vec3::X, Vec3::Y, -Vec3::Z];
        assert!((dihedral(&quarter).0.abs() - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
    }
}
