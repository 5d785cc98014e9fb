//! Analytic solids with exact signed distances: plane, box, ball, capsule, torus. Centred on the origin, axis z.

use super::lathe::lathe;
use super::{Nature, Obstacle, ObstaclePoint};
use muslin_geometry::mesh;
use muslin_linalg::{Vec2, Vec3};

/// Triangles of a surface.
#[derive(Clone, Debug, Default)]
pub(super) struct Skin {
    pub positions: Vec<Vec3>,
    pub faces: Vec<[u32; 3]>,
}

/// The parts of [`Obstacle`] that are the same for everything at rest.
macro_rules! resting_solid {
    ($type:ty) => {
        resting_solid!($type, Nature::Solid);
    };
    ($type:ty, $nature:expr) => {
        impl Obstacle for $type {
            fn closest(&self, point: Vec3, _time: f64, within: f64) -> Option<ObstaclePoint> {
                let found = self.nearest(point);
                (found.signed_distance <= within).then_some(found)
            }

            fn faces(&self) -> &[[u32; 3]] {
                &self.skin.faces
            }

            fn positions(&self, _time: f64, out: &mut Vec<Vec3>) {
                out.extend_from_slice(&self.skin.positions);
            }

            fn velocities(&self, _time: f64, out: &mut Vec<Vec3>) {
                out.resize(out.len() + self.skin.positions.len(), Vec3::ZERO);
            }

            fn nature(&self) -> Nature {
                $nature
            }

            fn has_inside(&self) -> bool {
                true
            }

            fn moves(&self) -> bool {
                false
            }
        }
    };
}
pub(super) use resting_solid;

/// A point of a surface at rest.
pub(super) fn at_rest(position: Vec3, normal: Vec3, signed_distance: f64) -> ObstaclePoint {
    ObstaclePoint {
        position,
        normal,
        signed_distance,
        velocity: Vec3::ZERO,
    }
}

/// The surface at `radius` from a core; `core` is the core's point nearest to `point`, and `fallback` a direction out
/// of the core for points on it.
fn around_core(point: Vec3, core: Vec3, radius: f64, fallback: Vec3) -> ObstaclePoint {
    let arm = point - core;
    let normal = arm.try_normalize().unwrap_or(fallback);
    at_rest(core + normal * radius, normal, arm.length() - radius)
}

/// The half-space below a plane through a point; the plane has no end, the square that is drawn has.
#[derive(Clone, Debug)]
pub struct Plane {
    point: Vec3,
    normal: Vec3,
    skin: Skin,
}

impl Plane {
    /// Through `point` (m), solid on the side away from `normal`, drawn as a square with sides of `size` (m).
    pub fn new(point: Vec3, normal: Vec3, size: f64) -> Self {
        let normal = normal.try_normalize().unwrap_or(Vec3::Z);
        // Along x where the plane allows, so that the drawn square lies straight.
        let guide = if normal.x.abs() < 0.9 {
            Vec3::X
        } else {
            Vec3::Y
        };
        let u = (guide - normal * guide.dot(normal)).normalize() * (size / 2.0);
        let v = normal.cross(u);
        Self {
            point,
            normal,
            skin: Skin {
                positions: [-u - v, u - v, u + v, v - u].map(|d| point + d).to_vec(),
                faces: vec![[0, 1, 2], [0, 2, 3]],
            },
        }
    }

    fn nearest(&self, point: Vec3) -> ObstaclePoint {
        let height = (point - self.point).dot(self.normal);
        at_rest(point - self.normal * height, self.normal, height)
    }
}
resting_solid!(Plane);

/// A box.
#[derive(Clone, Debug)]
pub struct Block {
    half: Vec3,
    skin: Skin,
}

impl Block {
    /// With sides of the given lengths, m.
    pub fn new(size: Vec3) -> Self {
        let half = size / 2.0;
        let corner =
            |i: u32| Vec3::from_array([0, 1, 2].map(|k| f64::from(2 * (i >> k & 1)) - 1.0));
        let quads = [
            [0, 2, 3, 1],
            [4, 5, 7, 6],
            [0, 1, 5, 4],
            [2, 6, 7, 3],
            [0, 4, 6, 2],
            [1, 3, 7, 5],
        ];
        Self {
            half,
            skin: Skin {
                positions: (0..8).map(|i| corner(i) * half).collect(),
                faces: quads
                    .iter()
                    .flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]])
                    .collect(),
            },
        }
    }

    fn nearest(&self, point: Vec3) -> ObstaclePoint {
        let outside = point.abs() - self.half;
        if outside.max_element() <= 0.0 {
            // Inside: through the nearest side.
            let axis = (0..3).fold(0, |a, b| if outside[b] > outside[a] { b } else { a });
            let mut normal = Vec3::ZERO;
            normal[axis] = if point[axis] < 0.0 { -1.0 } else { 1.0 };
            let depth = outside[axis];
            return at_rest(point - normal * depth, normal, depth);
        }
        let position = point.clamp(-self.half, self.half);
        let gap = point - position;
        at_rest(position, gap.normalize_or(Vec3::Z), gap.length())
    }
}
// Cloth edges would cut through its edges and corners if only vertices were kept out.
resting_solid!(Block, Nature::Mesh);

/// A ball.
#[derive(Clone, Debug)]
pub struct Ball {
    radius: f64,
    skin: Skin,
}

impl Ball {
    /// Of a radius, m.
    pub fn new(radius: f64) -> Self {
        let sphere = mesh::sphere(radius, 3).unwrap_or_default();
        Self {
            radius,
            skin: Skin {
                positions: sphere.positions,
                faces: sphere.faces,
            },
        }
    }

    fn nearest(&self, point: Vec3) -> ObstaclePoint {
        around_core(point, Vec3::ZERO, self.radius, Vec3::Z)
    }
}
resting_solid!(Ball);

/// A cylinder with round ends.
#[derive(Clone, Debug)]
pub struct Capsule {
    radius: f64,
    half: f64,
    skin: Skin,
}

impl Capsule {
    /// Radius and distance between the centres of the round ends, m.
    pub fn new(radius: f64, length: f64) -> Self {
        let half = length / 2.0;
        let arc = |centre: f64, from: usize| {
            (from..=from + 8).map(move |i| {
                let angle = std::f64::consts::FRAC_PI_2 * (i as f64 / 8.0 - 1.0);
                let p = Vec2::from_angle(angle) * radius;
                // The poles exactly on the axis, so that they become single vertices.
                let x = if i == 0 || i == 16 { 0.0 } else { p.x };
                Vec2::new(x, centre + p.y)
            })
        };
        let profile: Vec<Vec2> = arc(-half, 0).chain(arc(half, 8)).collect();
        Self {
            radius,
            half,
            skin: lathe(&profile, false),
        }
    }

    fn nearest(&self, point: Vec3) -> ObstaclePoint {
        let core = Vec3::new(0.0, 0.0, point.z.clamp(-self.half, self.half));
        around_core(point, core, self.radius, Vec3::X)
    }
}
resting_solid!(Capsule);

/// A ring.
#[derive(Clone, Debug)]
pub struct Torus {
    ring: f64,
    tube: f64,
    skin: Skin,
}

impl Torus {
    /// Radius of the circle in the middle of the tube, and radius of the tube, m.
    pub fn new(ring: f64, tube: f64) -> Self {
        let around = 24;
        let at = |i: usize| std::f64::consts::TAU * i as f64 / around as f64;
        let profile: Vec<Vec2> = (0..around)
            .map(|i| Vec2::new(ring, 0.0) + Vec2::from_angle(at(i)) * tube)
            .collect();
        Self {
            ring,
            tube,
            skin: lathe(&profile, true),
        }
    }

    fn nearest(&self, point: Vec3) -> ObstaclePoint {
        let out = Vec3::new(point.x, point.y, 0.0)
            .try_normalize()
            .unwrap_or(Vec3::X);
        around_core(point, out * self.ring, self.tube, Vec3::Z)
    }
}
resting_solid!(Torus);
