//! Cylinder and cone: convex polygons turned round the z axis, with exact signed distances from the polygon's.

use super::lathe::lathe;
use super::solids::{Skin, at_rest, resting_solid};
use super::{Nature, Obstacle, ObstaclePoint};
use muslin_linalg::{Vec2, Vec3};

/// A convex outline in (distance from the axis, height), from the axis at the bottom to the axis at the top; what lies
/// on the axis itself is no surface.
#[derive(Clone, Debug)]
struct Outline(Vec<Vec2>);

impl Outline {
    fn nearest(&self, point: Vec3) -> ObstaclePoint {
        let across = Vec2::new(point.x, point.y);
        // On the axis every direction is as good; it must be one.
        let out = across.try_normalize().unwrap_or(Vec2::X);
        let p = Vec2::new(across.length(), point.z);
        let mut best = (f64::INFINITY, Vec2::ZERO);
        let mut normals = Vec2::ZERO;
        let mut inside = true;
        for side in self.0.windows(2) {
            let along = side[1] - side[0];
            let normal = Vec2::new(along.y, -along.x).normalize_or_zero();
            inside &= (p - side[0]).dot(normal) <= 0.0;
            let share = ((p - side[0]).dot(along) / along.length_squared()).clamp(0.0, 1.0);
            let q = side[0] + along * share;
            let distance = p.distance(q);
            if distance < best.0 {
                best = (distance, q);
                normals = normal;
            } else if distance == best.0 && q.distance(best.1) <= 1e-12 * q.length() {
                // A corner belongs to both sides.
                normals += normal;
            }
        }
        let sign = if inside { -1.0 } else { 1.0 };
        let gap = (p - best.1) * sign;
        let scale = self.0.iter().fold(0.0, |s: f64, q| s.max(q.length()));
        let flat = if best.0 > 1e-12 * scale {
            gap.normalize_or_zero()
        } else {
            normals.normalize_or(Vec2::X)
        };
        let lift = |v: Vec2| (out * v.x).extend(v.y);
        at_rest(lift(best.1), lift(flat), sign * best.0)
    }
}

/// A cylinder with flat ends.
#[derive(Clone, Debug)]
pub struct Cylinder {
    outline: Outline,
    skin: Skin,
}

impl Cylinder {
    /// Radius and length, m.
    pub fn new(radius: f64, length: f64) -> Self {
        let h = length / 2.0;
        let outline = [[0.0, -h], [radius, -h], [radius, h], [0.0, h]].map(Vec2::from_array);
        Self {
            skin: lathe(&outline, false),
            outline: Outline(outline.to_vec()),
        }
    }

    fn nearest(&self, point: Vec3) -> ObstaclePoint {
        self.outline.nearest(point)
    }
}
resting_solid!(Cylinder);

/// A cone, its tip up.
#[derive(Clone, Debug)]
pub struct Cone {
    outline: Outline,
    skin: Skin,
}

impl Cone {
    /// Radius of the base and height, m; the origin is half-way up.
    pub fn new(radius: f64, height: f64) -> Self {
        let h = height / 2.0;
        let outline = [[0.0, -h], [radius, -h], [0.0, h]].map(Vec2::from_array);
        Self {
            skin: lathe(&outline, false),
            outline: Outline(outline.to_vec()),
        }
    }

    fn nearest(&self, point: Vec3) -> ObstaclePoint {
        self.outline.nearest(point)
    }
}
resting_solid!(Cone);
