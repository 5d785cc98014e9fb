//! Direction-dependent friction of two fabrics: each has a line (its threads, its grain), and where the lines agree
//! friction differs along and across them; where they cross it is isotropic.

use muslin_linalg::Vec3;
use std::f64::consts::FRAC_2_PI;

/// Axes and coefficients of the elliptical cone of a pair of surfaces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matchstick {
    /// First tangent: the mean line.
    pub t: Vec3,
    /// Second tangent, normal times t.
    pub b: Vec3,
    /// Coefficients along both.
    pub friction: [f64; 2],
}

/// Cone of two surfaces with lines `s1` and `s2` that meet at a unit normal.
///
/// `isotropic` holds for crossed lines; `along` and `across` for parallel ones. A surface without a line (zero, or along
/// the normal) makes the pair isotropic.
pub fn matchstick(
    normal: Vec3,
    s1: Vec3,
    s2: Vec3,
    isotropic: f64,
    along: f64,
    across: f64,
) -> Matchstick {
    let flat = |s: Vec3| (s - normal * normal.dot(s)).try_normalize();
    let (Some(s1), Some(s2)) = (flat(s1), flat(s2)) else {
        let t = flat(s1)
            .or_else(|| flat(s2))
            .unwrap_or_else(|| normal.any_orthonormal_vector());
        return Matchstick {
            t,
            b: normal.cross(t),
            friction: [isotropic; 2],
        };
    };
    // Lines have no sense of direction.
    let t = if s1.dot(s2) < 0.0 { s1 - s2 } else { s1 + s2 }.normalize();
    let parallel = 1.0 - FRAC_2_PI * s1.dot(s2).abs().min(1.0).acos();
    Matchstick {
        t,
        b: normal.cross(t),
        friction: [along, across].map(|f| parallel * f + (1.0 - parallel) * isotropic),
    }
}
