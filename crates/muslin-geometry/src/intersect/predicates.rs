//! Signs that are right: orientations of points in the plane and in space, decided exactly.
//!
//! The signs come from the `robust` crate (Shewchuk's adaptive predicates), which is exact as long as no intermediate
//! product overflows or underflows. Degree three and a coordinate range of `1e-75..1e75` keep the smallest bit of any
//! product above `2^-906` and the largest below `2^750`, well inside the range of doubles. [`super`] lets nothing else in.

use muslin_linalg::Vec3;
use robust::{Coord, Coord3D};
use std::cmp::Ordering;

/// Side of `d` with respect to the plane through `a b c`: 1 where `a b c` turns counter-clockwise, -1 on the other side, 0
/// exactly when the four points are coplanar.
pub(super) fn orient3d(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> i8 {
    let p = |v: Vec3| Coord3D {
        x: v.x,
        y: v.y,
        z: v.z,
    };
    // The crate's sign is positive below.
    -sign(robust::orient3d(p(a), p(b), p(c), p(d)))
}

/// Whether all points lie strictly on one side of the plane through `a b c`, decided by a filter: `true` is certain,
/// `false` means that the exact predicates have to look.
#[inline]
pub(super) fn surely_on_one_side(a: Vec3, b: Vec3, c: Vec3, points: &[Vec3]) -> bool {
    let (u, v) = (b - a, c - a);
    let (left, right) = (
        Vec3::new(u.y * v.z, u.z * v.x, u.x * v.y),
        Vec3::new(u.z * v.y, u.x * v.z, u.y * v.x),
    );
    let normal = left - right;
    let permanent = left.abs() + right.abs();
    let mut sides = [true; 2];
    for &p in points {
        let w = p - a;
        let height = normal.dot(w);
        // Shewchuk's bound for this order of operations is 7.8e-16 times the permanent.
        let error = 1e-15 * permanent.dot(w.abs());
        sides = [sides[0] && height > error, sides[1] && -height > error];
    }
    sides[0] || sides[1]
}

/// A projection along one coordinate axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projection(usize, usize);

impl Projection {
    pub(super) const ALL: [Self; 3] = [Self(0, 1), Self(1, 2), Self(2, 0)];

    /// Turning direction of `a b c` in this projection: -1, 0 or 1.
    pub(super) fn orient(self, a: Vec3, b: Vec3, c: Vec3) -> i8 {
        let p = |v: Vec3| Coord {
            x: v[self.0],
            y: v[self.1],
        };
        sign(robust::orient2d(p(a), p(b), p(c)))
    }

    /// A projection in which `a b c` is not collapsed to a line, if the points are not on a line in space. It is then
    /// one-to-one on the whole plane through them.
    pub(super) fn of_plane(a: Vec3, b: Vec3, c: Vec3) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.orient(a, b, c) != 0)
    }
}

pub(super) fn collinear(a: Vec3, b: Vec3, c: Vec3) -> bool {
    Projection::of_plane(a, b, c).is_none()
}

/// Lexicographic order. Along any line it is monotone, so it orders collinear points without a division.
pub(super) fn order(a: Vec3, b: Vec3) -> Ordering {
    // Adding zero turns -0 into 0, which `total_cmp` would tell apart.
    let key = |v: Vec3| (v + 0.0).to_array();
    let (a, b) = (key(a), key(b));
    a[0].total_cmp(&b[0])
        .then(a[1].total_cmp(&b[1]))
        .then(a[2].total_cmp(&b[2]))
}

/// Whether `p`, known to be on the line through `a` and `b`, lies between them or at one of them.
pub(super) fn between(p: Vec3, a: Vec3, b: Vec3) -> bool {
    let (lo, hi) = sorted(a, b);
    order(lo, p) != Ordering::Greater && order(p, hi) != Ordering::Greater
}

pub(super) fn sorted(a: Vec3, b: Vec3) -> (Vec3, Vec3) {
    if order(a, b) == Ordering::Greater {
        (b, a)
    } else {
        (a, b)
    }
}

fn sign(value: f64) -> i8 {
    i8::from(value > 0.0) - i8::from(value < 0.0)
}
