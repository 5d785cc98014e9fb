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

    /// A view from the front right that shows all of the given frames.
    pub fn framing(frames: &[Frame]) -> Self {
        let points = || {
            frames
                .iter()
                .flat_map(|f| &f.bodies)
                .flat_map(|b| &b.positions)
        };
        let start = (Vec3::splat(f64::INFINITY), Vec3::splat(f64::NEG_INFINITY));
        let (min, max) = points().fold(start, |(a, b), p| (a.min(*p), b.max(*p)));
        let to = if min.is_finite() {
            (min + max) / 2.0
        } else {
            Vec3::ZERO
        };
        let radius = points().map(|p| p.distance(to)).fold(1e-3, f64::max);
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
