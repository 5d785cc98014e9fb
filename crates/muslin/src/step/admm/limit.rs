//! The proximal map of a limit of stretch: a triangle may be anything that is nowhere longer than allowed.

use super::split::Split;
use muslin_linalg::{Vec2, Vec3};

/// A triangle that may stretch so far and no farther.
pub struct StretchLimit {
    vertices: [u32; 3],
    rows: [[f64; 3]; 2],
    weight: f64,
    longest: f64,
}

impl StretchLimit {
    /// `gradients` of the corners' weights in material space, 1/m; `weight` in N m; `longest` as a factor of the length
    /// at rest.
    pub fn new(vertices: [u32; 3], gradients: [Vec2; 3], weight: f64, longest: f64) -> Self {
        Self {
            vertices,
            rows: [gradients.map(|g| g.x), gradients.map(|g| g.y)],
            weight,
            longest,
        }
    }
}

impl Split<3, 2> for StretchLimit {
    fn vertices(&self) -> [u32; 3] {
        self.vertices
    }

    fn rows(&self) -> [[f64; 3]; 2] {
        self.rows
    }

    fn weights(&self) -> [f64; 2] {
        [self.weight; 2]
    }

    fn stress(&self, _z: &[Vec3; 2]) -> [Vec3; 2] {
        // Not known from the deformation alone: it is whatever holds the limit.
        [Vec3::ZERO; 2]
    }

    /// Both weights are alike, so the nearest allowed deformation is the one with its largest stretches cut off.
    fn nearest(&mut self, y: &[Vec3; 2], _weights: &[f64; 2]) -> [Vec3; 2] {
        let (uu, vv, uv) = (y[0].length_squared(), y[1].length_squared(), y[0].dot(y[1]));
        let angle = 0.5 * (2.0 * uv).atan2(uu - vv);
        let (sin, cos) = angle.sin_cos();
        // Principal directions of the material and their images.
        let along = y[0] * cos + y[1] * sin;
        let across = y[1] * cos - y[0] * sin;
        let cut = |v: Vec3| v * (self.longest / v.length().max(self.longest));
        let (along, across) = (cut(along), cut(across));
        [along * cos - across * sin, along * sin + across * cos]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::admm::testing::assert_minimises;

    #[test]
    fn the_nearest_allowed_deformation_is_found() {
        let gradients = [
            Vec2::new(-1.0, -1.0),
            Vec2::new(1.0, 0.0),
            Vec2::new(0.0, 1.0),
        ];
        let mut limit = StretchLimit::new([0, 1, 2], gradients, 2.0, 1.1);
        let largest = |z: &[Vec3; 2]| {
            (0..180)
                .map(|k| {
                    let (s, c) = f64::from(k).to_radians().sin_cos();
                    (z[0] * c + z[1] * s).length()
                })
                .fold(0.0, f64::max)
        };
        for y in [
            [Vec3::new(1.3, 0.1, 0.3), Vec3::new(-0.1, 0.9, 0.4)],
            [Vec3::new(1.5, -0.3, 0.1), Vec3::new(0.3, 1.6, -0.4)],
            [Vec3::new(0.5, 0.1, 0.1), Vec3::new(0.3, 0.6, -0.4)],
        ] {
            let z = limit.nearest(&y, &[2.0; 2]);
            assert!(largest(&z) <= 1.1 + 1e-9, "{}", largest(&z));
            assert_minimises(&mut limit, &y, |_, z| {
                if largest(z) > 1.1 + 1e-4 { 1e9 } else { 0.0 }
            });
        }
        // What is allowed is left alone.
        let y = [Vec3::X, Vec3::Y];
        assert!(limit.nearest(&y, &[2.0; 2])[0].distance(Vec3::X) < 1e-15);
    }
}
