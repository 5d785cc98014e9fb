//! A hand that holds a vertex by a spring: how cloth is dragged while it is simulated.

use super::{Element, StepContext, Tangent};
use muslin_linalg::{Mat3, Vec3};
use std::sync::{Arc, PoisonError, RwLock};

/// Where a hand is and how firmly it holds. Copies share the place.
#[derive(Clone, Debug)]
pub struct Hand {
    place: Arc<RwLock<Vec3>>,
    /// Vertex of the state.
    pub vertex: u32,
    /// Force per distance, N/m.
    pub stiffness: f64,
}

impl Hand {
    /// A hand at `place` (m) that holds a vertex with `stiffness` (N/m).
    pub fn new(vertex: u32, place: Vec3, stiffness: f64) -> Self {
        Self {
            place: Arc::new(RwLock::new(place)),
            vertex,
            stiffness,
        }
    }

    /// Moves the hand, m; it counts from the next step on.
    pub fn move_to(&self, place: Vec3) {
        *self.place.write().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// A hand of the same kind that does not share its place.
    #[must_use]
    pub fn branch(&self) -> Self {
        Self::new(self.vertex, self.place(), self.stiffness)
    }

    fn place(&self) -> Vec3 {
        *self.place.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The spring between a hand and its vertex, with a dashpot that keeps the vertex from swinging round the hand.
pub struct Grip {
    hand: Hand,
    target: Vec3,
    start: Vec3,
    viscosity: f64,
}

/// Relaxation time of the dashpot, s.
const DAMPING: f64 = 0.03;

impl Grip {
    /// The spring of a hand.
    pub fn new(hand: Hand) -> Self {
        Self {
            target: hand.place(),
            start: hand.place(),
            hand,
            viscosity: 0.0,
        }
    }

    /// Force per distance over steps of `dt` (s), dashpot included, N/m.
    pub fn stiffness_over(&self, dt: f64) -> f64 {
        self.hand.stiffness * (1.0 + DAMPING / dt)
    }
}

impl Element<1> for Grip {
    fn vertices(&self) -> [u32; 1] {
        [self.hand.vertex]
    }

    fn begin_step(&mut self, x: &[Vec3; 1], _v: &[Vec3; 1], step: &StepContext) {
        self.target = self.hand.place();
        self.start = x[0];
        self.viscosity = DAMPING / step.dt;
    }

    fn energy(&self, x: &[Vec3; 1]) -> f64 {
        let pulled = x[0].distance_squared(self.target);
        0.5 * self.hand.stiffness * (pulled + self.viscosity * x[0].distance_squared(self.start))
    }

    fn gradient(&self, x: &[Vec3; 1]) -> [Vec3; 1] {
        let moved = (x[0] - self.start) * self.viscosity;
        [(x[0] - self.target + moved) * self.hand.stiffness]
    }

    fn linearise(&self, x: &[Vec3; 1], out: &mut Tangent<1>) {
        out.gradient = self.gradient(x);
        out.hessian = [[Mat3::IDENTITY * (self.hand.stiffness * (1.0 + self.viscosity))]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::testing::{assert_semidefinite, hessian_error};

    #[test]
    fn derivatives() {
        let hand = Hand::new(0, Vec3::ZERO, 40.0);
        let mut e = Grip::new(hand.clone());
        hand.move_to(Vec3::new(0.1, 0.2, 0.3));
        let step = StepContext {
            time: 0.0,
            dt: 0.01,
        };
        e.begin_step(&[Vec3::X], &[Vec3::ZERO], &step);
        let x = [Vec3::new(0.9, 0.1, -0.2)];
        assert_semidefinite(&e, &x);
        assert!(hessian_error(&e, &x, |_, _| [Vec3::ZERO; 1]) < 1e-6);
        let h = 1e-6;
        for k in 0..3 {
            let (mut up, mut down) = (x, x);
            up[0][k] += h;
            down[0][k] -= h;
            let difference = (e.energy(&up) - e.energy(&down)) / (2.0 * h);
            assert!((difference - e.gradient(&x)[0][k]).abs() < 1e-6);
        }
    }
}
