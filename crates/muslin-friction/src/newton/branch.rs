//! One contact's part of Newton's equations, exact for full steps and penalised for cautious ones.

use crate::prepared::Prepared;
use muslin_linalg::{Mat3, Vec3};

/// How strongly active rows of a full step ask for zero velocity, over the contact's own resistance.
///
/// Multipliers make up for what is missing, so this is no approximation: it divides the error once an iteration, and
/// keeps redundant contacts solvable.
const PENALTY: f64 = 1e3;

/// One contact, linearised: `r - stiffness du - pull (normal du_N)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Branch {
    /// Impulse at the present velocity.
    pub(crate) r: Vec3,
    /// Symmetric part of minus its derivative by velocity.
    pub(crate) stiffness: Mat3,
    /// Friction per normal impulse of a sliding contact, which the symmetric part leaves out.
    pub(crate) pull: Vec3,
    /// Minus the derivative of the normal impulse by normal velocity.
    pub(crate) normal: f64,
}

impl Branch {
    /// No impulse, whatever the velocity.
    const SEPARATE: Self = Self {
        r: Vec3::ZERO,
        stiffness: Mat3::ZERO,
        pull: Vec3::ZERO,
        normal: 0.0,
    };

    /// Newton's equations: the state is told by `r - rho u`, active rows ask for zero velocity.
    pub(crate) fn exact(prepared: &Prepared, u: Vec3, r: Vec3) -> Self {
        Self::judged(prepared, u, r, prepared.rho)
    }

    /// The same with a milder judge: a resistance between that of the contact's nodes and that of their mass alone.
    ///
    /// A strong one misjudges contacts of very stiff sheets while velocities are still a little wrong; a weak one is slow
    /// to see that they are. Neither is better throughout.
    pub(crate) fn exact_mildly(prepared: &Prepared, u: Vec3, r: Vec3) -> Self {
        let between = (prepared.rho * prepared.measure.min(prepared.rho)).sqrt();
        Self::judged(prepared, u, r, between)
    }

    fn judged(prepared: &Prepared, u: Vec3, r: Vec3, rho: f64) -> Self {
        if prepared.inert {
            return Self::SEPARATE;
        }
        let s = prepared.cone.stretch;
        let mu = prepared.cone.mu;
        let (u, r) = (u * s, r / s);
        let y = r - rho * prepared.lawful(u, r);
        if y.x <= 0.0 {
            return Self::SEPARATE;
        }
        let penalty = PENALTY * prepared.rho;
        let soft = 1.0 + penalty * prepared.compliance;
        let normal = penalty / soft;
        let push = (r.x - penalty * u.x) / soft;
        let tangent = y.y.hypot(y.z);
        if tangent <= mu * y.x {
            return Self {
                r: Vec3::new(push, r.y - penalty * u.y, r.z - penalty * u.z) * s,
                stiffness: Mat3::from_diagonal(Vec3::new(normal, penalty, penalty) * s * s),
                pull: Vec3::ZERO,
                normal,
            };
        }
        // The derivative by impulse is eliminated: it turns the slope across sliding into mu r_N / |u_T|.
        let (ty, tz) = (y.y / tangent, y.z / tangent);
        let share = mu * y.x / tangent;
        let across = (rho * share / (1.0 - share)).min(penalty);
        let aside = across * (ty * u.z - tz * u.y);
        Self {
            r: Vec3::new(
                push,
                mu * push * ty + aside * tz,
                mu * push * tz - aside * ty,
            ) * s,
            stiffness: sliding(normal, across, ty, tz, s),
            pull: Vec3::new(0.0, mu * ty, mu * tz) * s,
            normal,
        }
    }

    /// The penalised law: impulse less penalty times velocity, clamped to normal and friction bounds. The penalty is over
    /// the contact's own resistance.
    pub(crate) fn cautious(prepared: &Prepared, u: Vec3, r: Vec3, penalty: f64) -> Self {
        if prepared.inert {
            return Self::SEPARATE;
        }
        let s = prepared.cone.stretch;
        let penalty = penalty * prepared.rho;
        let y = penalised(prepared, u, r, penalty);
        if y.x <= 0.0 {
            return Self::SEPARATE;
        }
        let normal = penalty / (1.0 + penalty * prepared.compliance);
        let tangent = y.y.hypot(y.z);
        let bound = prepared.cone.mu * y.x;
        if tangent <= bound {
            return Self {
                r: y * s,
                stiffness: Mat3::from_diagonal(Vec3::new(normal, penalty, penalty) * s * s),
                pull: Vec3::ZERO,
                normal,
            };
        }
        let (ty, tz) = (y.y / tangent, y.z / tangent);
        Self {
            r: Vec3::new(y.x, bound * ty, bound * tz) * s,
            stiffness: sliding(normal, penalty * bound / tangent, ty, tz, s),
            pull: Vec3::ZERO,
            normal,
        }
    }
}

/// The impulse of the penalised law with a given bound of friction.
pub(crate) fn bounded(prepared: &Prepared, u: Vec3, r: Vec3, penalty: f64, bound: f64) -> Vec3 {
    if prepared.inert {
        return Vec3::ZERO;
    }
    let mut y = penalised(prepared, u, r, penalty * prepared.rho);
    y.x = y.x.max(0.0);
    let tangent = y.y.hypot(y.z);
    if tangent > bound {
        y.y *= bound / tangent;
        y.z *= bound / tangent;
    }
    y * prepared.cone.stretch
}

/// Impulse less penalty times velocity, in the coordinates of the round cone.
fn penalised(prepared: &Prepared, u: Vec3, r: Vec3, penalty: f64) -> Vec3 {
    let s = prepared.cone.stretch;
    let mut y = r / s - penalty * (u * s);
    y.x /= 1.0 + penalty * prepared.compliance;
    y
}

/// Stiffness of normal and of the direction across (ty, tz).
fn sliding(normal: f64, across: f64, ty: f64, tz: f64, s: Vec3) -> Mat3 {
    let off = -across * ty * tz * s.y * s.z;
    Mat3::from_cols(
        Vec3::new(normal, 0.0, 0.0),
        Vec3::new(0.0, across * tz * tz * s.y * s.y, off),
        Vec3::new(0.0, off, across * ty * ty * s.z * s.z),
    )
}
