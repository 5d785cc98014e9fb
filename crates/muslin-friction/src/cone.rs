//! Coulomb's cone, round or elliptical: the law's projection and its measure of error.
//!
//! An elliptical cone becomes a round one by stretching the tangents: with `S = diag(stretch)` of unit determinant,
//! impulses `S⁻¹ r` and velocities `S u` obey the circular law with the mean coefficient, and the product of both is
//! untouched. Friction of maximum dissipation is exactly what this gives.

use crate::State;
use muslin_linalg::{Mat3, Vec3};

/// Coefficients of an elliptical cone are not taken below this: the stretch is inverted.
const LEAST_ELLIPTIC_FRICTION: f64 = 1e-4;

/// Beyond this no finite problem slides, and products stay finite.
const LARGEST_FRICTION: f64 = 1e8;

/// A friction cone in the form the solvers use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cone {
    /// Coefficient of the round cone.
    pub(crate) mu: f64,
    /// `diag(1, stretch)`; ones for a cone that is round already.
    pub(crate) stretch: Vec3,
}

/// `√(y² + z²)`: quicker than the library's where squares neither over- nor underflow.
#[inline]
pub(crate) fn length(y: f64, z: f64) -> f64 {
    let square = y * y + z * z;
    if square > 1e-280 && square < 1e280 {
        square.sqrt()
    } else {
        y.hypot(z)
    }
}

/// By how much a local relative velocity (m/s) and an impulse (N s) miss Coulomb's law with the given coefficients, m/s.
/// `rho` (kg) is the impulse per velocity of the contact. The measure of [`crate::residual`], for one contact.
pub fn law_error(friction: [f64; 2], u: Vec3, r: Vec3, rho: f64) -> f64 {
    Cone::new(friction).error(u, r, rho)
}

impl Cone {
    pub(crate) fn new(friction: [f64; 2]) -> Self {
        let [a, b] = friction.map(|f| f.min(LARGEST_FRICTION));
        if a == b {
            return Self {
                mu: a,
                stretch: Vec3::ONE,
            };
        }
        let (a, b) = (
            a.max(LEAST_ELLIPTIC_FRICTION),
            b.max(LEAST_ELLIPTIC_FRICTION),
        );
        let mu = (a * b).sqrt();
        Self {
            mu,
            stretch: Vec3::new(1.0, a / mu, b / mu),
        }
    }

    /// `S⁻¹ W S⁻¹`: the primal block of stretched coordinates.
    pub(crate) fn stretched_block(&self, w: &Mat3) -> Mat3 {
        if self.stretch == Vec3::ONE {
            return *w;
        }
        let s = Mat3::from_diagonal(self.stretch.recip());
        s * *w * s
    }

    /// Nearest local velocity that the dual cone holds: it parts by at least mu times its sliding speed.
    pub(crate) fn part(&self, u: Vec3) -> Vec3 {
        if self.mu == 0.0 {
            return Vec3::new(u.x.max(0.0), u.y, u.z);
        }
        let dual = Self {
            mu: 1.0 / self.mu,
            stretch: Vec3::ONE,
        };
        dual.project(u * self.stretch) / self.stretch
    }

    /// Nearest point of the round cone.
    pub(crate) fn project(&self, x: Vec3) -> Vec3 {
        let mu = self.mu;
        let tangent = length(x.y, x.z);
        if tangent <= mu * x.x {
            x
        } else if mu * tangent <= -x.x {
            Vec3::ZERO
        } else {
            let s = (x.x + mu * tangent) / (1.0 + mu * mu);
            let k = mu * s / tangent;
            Vec3::new(s, k * x.y, k * x.z)
        }
    }

    /// `ũ = u + mu |u_T| n` and impulse in stretched coordinates.
    fn stretched(&self, u: Vec3, r: Vec3) -> (Vec3, Vec3) {
        let u = u * self.stretch;
        let tilted = Vec3::new(u.x + self.mu * length(u.y, u.z), u.y, u.z);
        (tilted, r / self.stretch)
    }

    /// By how much a velocity and an impulse miss the law, m/s.
    ///
    /// `(r - rho e, ũ - e)` obeys it exactly, so e is a true bound on the velocity that is wrong.
    pub(crate) fn error(&self, u: Vec3, r: Vec3, rho: f64) -> f64 {
        let (u, r) = self.stretched(u, r);
        let x = r - rho * u;
        // Inside the cone the difference is known; forming it would hide velocities behind the rounding of impulses.
        let e = if length(x.y, x.z) <= self.mu * x.x {
            u
        } else {
            (r - self.project(x)) / rho
        };
        (e / self.stretch).length()
    }

    /// Which branch of the law a velocity and an impulse are on.
    pub(crate) fn state(&self, u: Vec3, r: Vec3, rho: f64) -> State {
        // Rounding may put a sticking impulse at the cone's border just outside.
        const ROUNDING: f64 = 1e-13;
        let (u, r) = self.stretched(u, r);
        let x = r - rho * u;
        let tangent = length(x.y, x.z);
        if x.x <= 0.0 && self.mu * tangent <= -x.x {
            State::Separate
        } else if tangent <= self.mu * x.x * (1.0 + ROUNDING) && self.mu > 0.0 {
            State::Stick
        } else {
            State::Slide
        }
    }
}
