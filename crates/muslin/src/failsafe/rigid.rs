//! The last resort of the fail-safe: vertices that cannot be parted move together as one rigid body.
//!
//! The body gets the rigid motion nearest to the velocities that its vertices wanted, by mass; without held vertices
//! that is the one that keeps linear and angular momentum. Held vertices keep their velocity, and what they leave of the
//! six unknowns goes to the others.

use muslin_linalg::{Mat3, Quat, Vec3, outer};

/// A vertex of a zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Position at the start of the step, m.
    pub x: Vec3,
    /// Velocity it wants, or has to have if it is held, m/s.
    pub v: Vec3,
    /// Mass, kg; infinite if it is held.
    pub mass: f64,
}

/// A rigid motion: `v + ω × (x - x0)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RigidMotion {
    /// The point it turns about: the centre of the held vertices, or else of mass, m.
    pub center: Vec3,
    /// Velocity of that point, m/s.
    pub velocity: Vec3,
    /// Angular velocity, rad/s.
    pub omega: Vec3,
    /// Largest difference between the velocity of a held vertex and this motion, m/s.
    pub misfit: f64,
}

/// Eigenvalues below this fraction of the largest are no resistance to turning: all arms point along the axis.
const SINGULAR: f64 = 1e-12;

impl RigidMotion {
    /// The motion nearest to what the members want.
    pub fn fit(members: &[Member]) -> Self {
        let held = || members.iter().filter(|m| m.mass == f64::INFINITY);
        let free = || members.iter().filter(|m| m.mass < f64::INFINITY);
        let holds = held().next().is_some();
        let weight = |m: &Member| if holds { 1.0 } else { m.mass };
        let (mut total, mut center, mut velocity) = (0.0, Vec3::ZERO, Vec3::ZERO);
        for m in members.iter().filter(|m| !holds || m.mass == f64::INFINITY) {
            total += weight(m);
            center += m.x * weight(m);
            velocity += m.v * weight(m);
        }
        center /= total;
        velocity /= total;
        let turning = |ones: &mut dyn Iterator<Item = &Member>| {
            let (mut inertia, mut momentum) = (Mat3::ZERO, Vec3::ZERO);
            for m in ones {
                let w = if m.mass == f64::INFINITY { 1.0 } else { m.mass };
                let arm = m.x - center;
                inertia +=
                    (Mat3::from_diagonal(Vec3::splat(arm.length_squared())) - outer(arm, arm)) * w;
                momentum += arm.cross(m.v - velocity) * w;
            }
            (inertia, momentum)
        };
        let (inertia, momentum) = turning(&mut held());
        let (given, open) = solve_where_possible(&inertia, momentum, &[Vec3::X, Vec3::Y, Vec3::Z]);
        let (inertia, momentum) = turning(&mut free());
        let (rest, _) = solve_where_possible(&inertia, momentum - inertia * given, &open);
        let omega = given + rest;
        let misfit = held()
            .map(|m| (velocity + omega.cross(m.x - center)).distance(m.v))
            .fold(0.0, f64::max);
        Self {
            center,
            velocity,
            omega,
            misfit,
        }
    }

    /// Where a point is after `dt` (s), turned exactly, m.
    pub fn carry(&self, x: Vec3, dt: f64) -> Vec3 {
        let turned = Quat::from_scaled_axis(self.omega * dt) * (x - self.center);
        self.center + turned + self.velocity * dt
    }
}

/// Solves `a w = b` for `w` in the span of orthonormal `directions` where `a` resists, and gives the directions in which
/// it does not.
fn solve_where_possible(a: &Mat3, b: Vec3, directions: &[Vec3]) -> (Vec3, Vec<Vec3>) {
    let scale = a.x_axis.x + a.y_axis.y + a.z_axis.z;
    let (mut w, mut open) = (Vec3::ZERO, Vec::new());
    for axis in principal_axes(a, directions) {
        let resistance = axis.dot(*a * axis);
        if resistance > SINGULAR * scale {
            w += axis * (axis.dot(b) / resistance);
        } else {
            open.push(axis);
        }
    }
    (w, open)
}

/// Orthonormal combinations of `directions` along which the symmetric `a` does not couple, by Jacobi rotations.
fn principal_axes(a: &Mat3, directions: &[Vec3]) -> Vec<Vec3> {
    let mut axes = directions.to_vec();
    for _ in 0..30 {
        let mut turned = false;
        for i in 0..axes.len() {
            for j in i + 1..axes.len() {
                let (p, q) = (axes[i], axes[j]);
                let (pp, pq, qq) = (p.dot(*a * p), p.dot(*a * q), q.dot(*a * q));
                if pq.abs() <= 1e-17 * (pp.abs() + qq.abs()) {
                    continue;
                }
                turned = true;
                let angle = 0.5 * (2.0 * pq).atan2(pp - qq);
                let (s, c) = angle.sin_cos();
                axes[i] = p * c + q * s;
                axes[j] = q * c - p * s;
            }
        }
        if !turned {
            break;
        }
    }
    axes
}
