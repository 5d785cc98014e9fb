//! Where a picture is seen from.

use crate::record::Frame;
use crate::scene::Camera;
use muslin_linalg::Vec3;
use std::borrow::Borrow;

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

/// Height of the lowest point of all frames, m; 0 if nothing is below. Obstacles named in `beside` do not count.
pub fn lowest<F: Borrow<Frame>>(frames: &[F], beside: &[String]) -> f64 {
    let bodies = frames.iter().flat_map(|f| &f.borrow().bodies);
    let obstacles = frames.iter().flat_map(|f| &f.borrow().obstacles);
    let solid = obstacles.filter(|o| !beside.contains(&o.name));
    let points = bodies.flat_map(|b| &b.positions);
    let points = points.chain(solid.flat_map(|o| &o.positions));
    points.map(|p| p.z).fold(0.0, f64::min)
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
    pub fn framing<F: Borrow<Frame>>(frames: &[F], beside: &[String]) -> Self {
        let cloth: Vec<Vec3> = frames
            .iter()
            .flat_map(|f| &f.borrow().bodies)
            .flat_map(|b| &b.positions)
            .copied()
            .collect();
        let (middle, reach) = ball(&cloth);
        let mut points = cloth;
        for obstacle in frames.iter().flat_map(|f| &f.borrow().obstacles) {
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
