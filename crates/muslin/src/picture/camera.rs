//! Where a picture is seen from.

use crate::record::Frame;
use crate::scene::Camera;
use muslin_linalg::Vec3;

/// A perspective view; up is z.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Position, m.
    pub from: Vec3,
    /// Point in the middle of the picture, m.
    pub to: Vec3,
    /// Vertical opening angle, rad.
    pub opening: f64,
    /// Radius of what is looked at, m.
    pub radius: f64,
}

/// Parts of obstacles up to so many radii of the cloth away are worth showing.
const OBSTACLE_REACH: f64 = 3.0;

/// Middle of the box round points, and the distance of the farthest from it.
fn ball(points: &[Vec3]) -> (Vec3, f64) {
    let start = (Vec3::splat(f64::INFINITY), Vec3::splat(f64::NEG_INFINITY));
    let (min, max) = points
        .iter()
        .fold(start, |(a, b), p| (a.min(*p), b.max(*p)));
    let middle = if min.is_finite() {
        (min + max) / 2.0
    } else {
        Vec3::ZERO
    };
    let far = points.iter().map(|p| p.distance(middle));
    (middle, far.fold(1e-3, f64::max))
}

impl View {
    /// The scene's own view.
    pub fn from_scene(camera: &Camera) -> Self {
        let (from, to) = (Vec3::from_array(camera.from), Vec3::from_array(camera.to));
        Self {
            from,
            to,
            opening: camera.degrees.to_radians(),
            radius: 0.25 * from.distance(to),
        }
    }

    /// A view from the front right that shows all of the given frames. Obstacles named in `beside` and what of the
    /// others is far from the cloth do not widen it.
    pub fn framing(frames: &[Frame], beside: &[String]) -> Self {
        let cloth: Vec<Vec3> = frames
            .iter()
            .flat_map(|f| &f.bodies)
            .flat_map(|b| &b.positions)
            .copied()
            .collect();
        let (middle, reach) = ball(&cloth);
        let mut points = cloth;
        for obstacle in frames.iter().flat_map(|f| &f.obstacles) {
            let near = |p: &&Vec3| p.distance(middle) < OBSTACLE_REACH * reach;
            if !beside.contains(&obstacle.name) {
                points.extend(obstacle.positions.iter().filter(near));
            }
        }
        let (to, radius) = ball(&points);
        let opening = 35f64.to_radians();
        let direction = Vec3::new(0.75, -1.0, 0.45).normalize();
        Self {
            from: to + direction * (1.08 * radius / (opening / 2.0).sin()),
            to,
            opening,
            radius,
        }
    }

    /// Unit vectors to the right, up and forward.
    pub(super) fn axes(&self) -> [Vec3; 3] {
        let forward = (self.to - self.from).normalize_or_zero();
        let guide = if forward.z.abs() > 0.999 {
            Vec3::Y
        } else {
            Vec3::Z
        };
        let right = forward.cross(guide).normalize_or_zero();
        [right, right.cross(forward), forward]
    }
}
