//! The velocity solve at the end of a collision step: damping and drag implicitly, by conjugate gradients without a matrix.
//!
//! The preconditioner is the mass. Then every change that the iteration makes is orthogonal to rigid motions by mass:
//! linear and angular momentum stay, however early it stops. Stiff and soft elements have their turns one after the other:
//! what takes few iterations does not take part in the many of the others.

use super::frequency::{Pace, dot};
use crate::force::StepContext;
use crate::world::World;
use muslin_linalg::Vec3;

/// So short a step that nothing but dashpots counts, s.
const ONLY_DASHPOT: f64 = 1e-9;
/// Change of velocity that is left, as a part of the first and in m/s, and most products with the stiffness.
const PART: f64 = 3e-3;
const LEAST: f64 = 1e-5;
const MOST: usize = 20;

/// Working memory of the solve.
#[derive(Default)]
pub struct Calm {
    residual: Vec<Vec3>,
    direction: Vec<Vec3>,
    image: Vec<Vec3>,
    scaled: Vec<Vec3>,
    partial: Vec<f64>,
}

impl Calm {
    /// Damps velocities `v` (m/s) at positions `x` (m) over `dt` (s): solves `(M + dt D) v' = M v`; after contact
    /// `(M + dt D + dt² K) v' = M v`, which also calms the vibrations that a sudden stop excites in stiff cloth. Drag
    /// towards moving air is in the forces already; what resists the cloth's own motion is in `D`. Inverse masses are
    /// per axis, 1/kg, zero where a vertex is held: there velocities stay.
    pub fn damp(
        &mut self,
        world: &mut World,
        pace: &Pace,
        x: &[Vec3],
        v: &mut [Vec3],
        (dt, after_contact): (f64, bool),
        inverse_mass: &[Vec3],
    ) {
        let dashpots = world.wind.is_some() || world.bodies.iter().any(|b| b.damping() > 0.0);
        if !dashpots && !after_contact {
            return;
        }
        let context = StepContext {
            time: world.time + dt,
            dt: if after_contact { dt } else { ONLY_DASHPOT },
        };
        world.forces.begin_step(x, v, &context);
        for chosen in [&pace.fast, &pace.slow] {
            if chosen.contains(&true) {
                self.solve(world, chosen, x, v, dt * context.dt, inverse_mass);
            }
        }
    }

    /// Solves `(M + scale H) v' = M v` with the Hessian of some of the elements.
    fn solve(
        &mut self,
        world: &World,
        chosen: &[bool],
        x: &[Vec3],
        v: &mut [Vec3],
        scale: f64,
        inverse_mass: &[Vec3],
    ) {
        let n = v.len();
        for w in [
            &mut self.residual,
            &mut self.direction,
            &mut self.image,
            &mut self.scaled,
        ] {
            w.resize(n, Vec3::ZERO);
        }
        // Held vertices move as they are told; the rest feels them through the right-hand side. The unknown is the
        // change of velocity, zero where held because the inverse mass is.
        world.forces.product_of(chosen, x, v, &mut self.image);
        for i in 0..n {
            self.residual[i] = self.image[i] * -scale;
            self.scaled[i] = self.residual[i] * inverse_mass[i];
        }
        self.direction.copy_from_slice(&self.scaled);
        let largest = |w: &[Vec3]| w.iter().map(|w| w.length_squared()).fold(0.0, f64::max);
        let enough = LEAST.max(PART * largest(&self.scaled).sqrt()).powi(2);
        let mut rz = dot(&self.residual, &self.scaled, &mut self.partial);
        for _ in 0..MOST {
            if largest(&self.scaled) <= enough || rz <= 0.0 {
                break;
            }
            world
                .forces
                .product_of(chosen, x, &self.direction, &mut self.image);
            for i in 0..n {
                self.image[i] = self.image[i] * scale + self.direction[i] * world.mass[i];
            }
            let curvature = dot(&self.direction, &self.image, &mut self.partial);
            if curvature <= 0.0 || !curvature.is_finite() {
                break;
            }
            let alpha = rz / curvature;
            for i in 0..n {
                v[i] += self.direction[i] * alpha;
                self.residual[i] -= self.image[i] * alpha;
                self.scaled[i] = self.residual[i] * inverse_mass[i];
            }
            let next = dot(&self.residual, &self.scaled, &mut self.partial);
            let beta = next / rz;
            rz = next;
            for i in 0..n {
                self.direction[i] = self.scaled[i] + self.direction[i] * beta;
            }
        }
    }
}
