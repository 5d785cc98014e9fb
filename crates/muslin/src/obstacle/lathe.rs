//! Surfaces of revolution as triangles.

use super::solids::Skin;
use muslin_linalg::{Vec2, Vec3};

/// Pieces round the axis.
const AROUND: usize = 48;

/// Turns a profile of (distance from the axis, height) round the z axis. The profile runs from bottom to top along the
/// outside, or counter-clockwise if it is closed. Points on the axis become one vertex, repeated points none.
pub(super) fn lathe(profile: &[Vec2], closed: bool) -> Skin {
    let mut skin = Skin::default();
    let mut rings: Vec<(u32, bool)> = Vec::new();
    for (i, p) in profile.iter().enumerate() {
        if i > 0 && profile[i - 1].distance(*p) <= 1e-12 * p.length() {
            continue;
        }
        rings.push((skin.positions.len() as u32, p.x == 0.0));
        if p.x == 0.0 {
            skin.positions.push(Vec3::new(0.0, 0.0, p.y));
            continue;
        }
        skin.positions.extend((0..AROUND).map(|k| {
            let angle = std::f64::consts::TAU * k as f64 / AROUND as f64;
            (Vec2::from_angle(angle) * p.x).extend(p.y)
        }));
    }
    let steps = if closed { rings.len() } else { rings.len() - 1 };
    for i in 0..steps {
        let (low, high) = (rings[i], rings[(i + 1) % rings.len()]);
        let at =
            |ring: (u32, bool), k: usize| ring.0 + if ring.1 { 0 } else { (k % AROUND) as u32 };
        for k in 0..AROUND {
            let (a, b, c, d) = (at(low, k), at(low, k + 1), at(high, k + 1), at(high, k));
            if a != b {
                skin.faces.push([a, b, c]);
            }
            if c != d {
                skin.faces.push([a, c, d]);
            }
        }
    }
    skin
}
