//! Friction of a pair of surfaces, and the cone it makes at a contact.
//!
//! Friction that depends on direction follows the Matchstick model: each surface may have a line; where the lines agree
//! there is one coefficient along them and one across, where they are at right angles there is none to prefer, and the
//! coefficients between are blended by the angle.

use muslin_friction::matchstick;
use muslin_linalg::{Mat3, Vec2, Vec3};
use std::fmt;

/// Coefficient of cloth on cloth if nobody says otherwise; authored, not measured.
pub const DEFAULT_CLOTH: f64 = 0.4;
/// Coefficient of cloth on an obstacle if nobody says otherwise; authored, not measured.
pub const DEFAULT_OBSTACLE: f64 = 0.3;

/// Friction between two surfaces.
#[derive(Clone, Debug, PartialEq)]
pub struct PairFriction {
    /// Coefficient in all directions; with anisotropy, where the lines are at right angles or there are none.
    pub isotropic: f64,
    /// How it depends on direction, if it does.
    pub anisotropy: Option<Anisotropy>,
    /// Who said so.
    pub origin: Origin,
}

/// How friction depends on direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anisotropy {
    /// Coefficient along the lines.
    pub along: f64,
    /// Coefficient across the lines.
    pub across: f64,
    /// The line on each surface, first and second; at least one has one.
    pub lines: [Option<Line>; 2],
}

/// A line on a surface; its sign and length do not matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line {
    /// On cloth, in warp and weft coordinates.
    Material(Vec2),
    /// On an obstacle, in its own frame.
    Own(Vec3),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Material(d) if d.y == 0.0 => f.write_str("the warp"),
            Self::Material(d) if d.x == 0.0 => f.write_str("the weft"),
            Self::Material(d) => write!(f, "direction {d}"),
            Self::Own(d) => write!(f, "direction {d}"),
        }
    }
}

/// Where a coefficient comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The `friction` of an object; its key.
    Typed(String),
    /// An entry of `[[friction]]`, from 0, and its names.
    Pair(usize, [String; 2]),
    /// The table that comes with Muslin: names, grade and source.
    Shipped([String; 2], String),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed(key) => write!(f, "typed at {key}"),
            Self::Pair(i, [a, b]) => {
                write!(f, "from [[friction]] number {i}, between `{a}` and `{b}`")
            }
            Self::Shipped([a, b], source) => {
                write!(f, "from Muslin's table, {a} on {b}: {source}")
            }
            Self::Default => f.write_str("default; authored, not measured"),
        }
    }
}

impl PairFriction {
    /// The same with the surfaces in the other order.
    #[must_use]
    pub fn swapped(&self) -> Self {
        let mut other = self.clone();
        if let Some(a) = &mut other.anisotropy {
            a.lines.reverse();
        }
        other
    }

    /// The cone at a contact with a unit normal. `lines` are directions in space on each surface, of any length; what
    /// is along the normal does not count.
    pub fn cone(&self, normal: Vec3, lines: [Option<Vec3>; 2]) -> Cone {
        let Some(a) = &self.anisotropy else {
            return Cone::isotropic(normal, self.isotropic);
        };
        let lines = lines.map(|l| l.and_then(|l| in_plane(l, normal)));
        let (s1, s2) = match lines {
            [Some(s1), Some(s2)] => (s1, s2),
            // One line alone: the other surface has nothing against it.
            [Some(s), None] | [None, Some(s)] => (s, s),
            [None, None] => return Cone::isotropic(normal, self.isotropic),
        };
        let found = matchstick(normal, s1, s2, self.isotropic, a.along, a.across);
        Cone {
            frame: Mat3::from_cols(normal, found.t, found.b).transpose(),
            friction: found.friction,
        }
    }
}

/// A direction's unit part across a normal; none if there is next to nothing of it.
fn in_plane(line: Vec3, normal: Vec3) -> Option<Vec3> {
    let unit = line.try_normalize()?;
    let flat = unit - normal * unit.dot(normal);
    (flat.length_squared() > NO_LINE * NO_LINE)
        .then(|| flat.try_normalize())
        .flatten()
}

/// Sine of the angle to the normal below which a direction has no part in the surface.
const NO_LINE: f64 = 1e-6;

/// What a contact allows: a frame and the half-axes of the cone's ellipse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    /// Rows are normal, first and second tangent; orthonormal.
    pub frame: Mat3,
    /// Coefficients along the two tangents.
    pub friction: [f64; 2],
}

impl Cone {
    /// The same in all directions.
    #[inline]
    pub fn isotropic(normal: Vec3, coefficient: f64) -> Self {
        let (t, b) = normal.any_orthonormal_pair();
        Self {
            frame: Mat3::from_cols(normal, t, b).transpose(),
            friction: [coefficient; 2],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directional(lines: [Option<Line>; 2]) -> PairFriction {
        PairFriction {
            isotropic: 0.4,
            anisotropy: Some(Anisotropy {
                along: 0.2,
                across: 0.8,
                lines,
            }),
            origin: Origin::Default,
        }
    }

    fn assert_frame(cone: &Cone, normal: Vec3) {
        let e = cone.frame;
        let unit = e * e.transpose() - Mat3::IDENTITY;
        assert!(unit.to_cols_array().iter().all(|c| c.abs() < 1e-14));
        assert!((e.row(0) - normal).length() < 1e-15 && e.determinant() > 0.0);
    }

    #[test]
    fn cones_have_the_coefficients_that_were_typed() {
        let n = Vec3::new(0.3, -0.5, 0.8).normalize();
        let plain = PairFriction {
            isotropic: 0.37,
            anisotropy: None,
            origin: Origin::Default,
        };
        let cone = plain.cone(n, [Some(Vec3::X), None]);
        assert_frame(&cone, n);
        assert_eq!(cone.friction, [0.37; 2]);
        // A single line: exact coefficients along it and across it, whatever part of it leaves the surface.
        let pair = directional([None, Some(Line::Own(Vec3::X))]);
        let cone = pair.cone(n, [None, Some(Vec3::X * 5.0)]);
        assert_frame(&cone, n);
        assert_eq!(cone.friction, [0.2, 0.8]);
        let flat = (Vec3::X - n * n.x).normalize();
        assert!((cone.frame.row(1) - flat).length() < 1e-14);
        // A line along the normal is none.
        assert_eq!(pair.cone(n, [None, Some(n)]).friction, [0.4; 2]);
    }

    #[test]
    fn lines_blend_by_their_angle_and_have_no_sign() {
        let n = Vec3::Z;
        let pair = directional([Some(Line::Material(Vec2::X)), Some(Line::Material(Vec2::X))]);
        for degrees in [0.0f64, 30.0, 45.0, 60.0, 89.0] {
            let turned = Vec3::new(degrees.to_radians().cos(), degrees.to_radians().sin(), 0.0);
            for sign in [1.0, -1.0] {
                let cone = pair.cone(n, [Some(Vec3::X), Some(turned * sign)]);
                assert_frame(&cone, n);
                let d = 1.0 - degrees / 90.0;
                assert!((cone.friction[0] - (0.2 * d + 0.4 * (1.0 - d))).abs() < 1e-12);
                assert!((cone.friction[1] - (0.8 * d + 0.4 * (1.0 - d))).abs() < 1e-12);
                // Along the bisector.
                let t = cone.frame.row(1);
                assert!((t.dot(Vec3::X).abs() - t.dot(turned).abs()).abs() < 1e-12);
            }
        }
        let cone = pair.cone(n, [Some(Vec3::X), Some(Vec3::Y)]);
        assert!(cone.friction.iter().all(|c| (c - 0.4).abs() < 1e-12));
        assert_frame(&cone, n);
    }
}
