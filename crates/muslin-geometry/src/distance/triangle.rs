//! Point-triangle distance, robust for slivers and for triangles without area.

use super::edge::segment_gap;
use muslin_linalg::Vec3;

/// The part of a triangle on which a closest point lies; corners and sides are numbered within the triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Strictly inside, or too near to a side to tell.
    Interior,
    /// On the side from corner `i` to corner `i + 1` (modulo 3).
    Side(u8),
    /// At corner `i`.
    Corner(u8),
}

/// Closest point of a triangle to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointTriangle {
    /// Squared distance, in square metres.
    pub squared: f64,
    /// Weights of the three corners: non-negative, summing to one.
    pub weights: [f64; 3],
    /// Where on the triangle the closest point lies.
    pub feature: Feature,
    /// From the closest point to the point, in metres.
    pub gap: Vec3,
}

impl PointTriangle {
    /// Distance, in metres.
    pub fn distance(&self) -> f64 {
        self.squared.sqrt()
    }
}

/// Closest point of the triangle `a b c` to `point`. Triangles without area are segments or points.
#[inline]
pub fn point_triangle(point: Vec3, a: Vec3, b: Vec3, c: Vec3) -> PointTriangle {
    let (gap, weights, feature) = point_triangle_gap(point, a, b, c);
    PointTriangle {
        squared: gap.length_squared(),
        weights,
        feature,
        gap,
    }
}

#[inline]
pub(crate) fn point_triangle_gap(
    point: Vec3,
    a: Vec3,
    b: Vec3,
    c: Vec3,
) -> (Vec3, [f64; 3], Feature) {
    let ab = b - a;
    let ac = c - a;
    let ap = point - a;
    // Coordinates along AB and along the height above AB. The height vector is exact to eps times the size of the
    // triangle, and being inside bounds its multiplier by one, so even a height that is pure noise can do no harm.
    let base2 = ab.length_squared();
    if base2 > 0.0 {
        let inverse = 1.0 / base2;
        let c_along = ac.dot(ab) * inverse;
        let p_along = ap.dot(ab) * inverse;
        let height = ac - ab * c_along;
        let across = ap - ab * p_along;
        let wc = across.dot(height) / height.length_squared();
        let wb = p_along - wc * c_along;
        let wa = 1.0 - wb - wc;
        // NaN and infinity (no area) fail here.
        if wa >= 0.0 && wb >= 0.0 && wc >= 0.0 {
            return (across - height * wc, [wa, wb, wc], Feature::Interior);
        }
    }
    let (g, t) = segment_gap(ap, ab);
    let mut best = (g, [1.0 - t, t, 0.0], side(0, t));
    let mut least = g.length_squared();
    let (g, t) = segment_gap(point - b, c - b);
    if g.length_squared() < least {
        least = g.length_squared();
        best = (g, [0.0, 1.0 - t, t], side(1, t));
    }
    let (g, t) = segment_gap(point - c, a - c);
    if g.length_squared() < least {
        best = (g, [t, 0.0, 1.0 - t], side(2, t));
    }
    best
}

#[inline]
fn side(index: u8, t: f64) -> Feature {
    if t <= 0.0 {
        Feature::Corner(index)
    } else if t >= 1.0 {
        Feature::Corner((index + 1) % 3)
    } else {
        Feature::Side(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance::point_segment;
    use proptest::prelude::*;

    fn vec3(range: f64) -> impl Strategy<Value = Vec3> {
        [-range..range, -range..range, -range..range].prop_map(Vec3::from_array)
    }

    /// The triangle as a fan of segments, refined around the best one.
    fn search(p: Vec3, a: Vec3, b: Vec3, c: Vec3) -> f64 {
        let (mut lo, mut hi) = (0.0, 1.0);
        let at = |s: f64| point_segment(p, a, b.lerp(c, s)).squared;
        let mut best = f64::INFINITY;
        let mut at_best = 0.0;
        for _ in 0..40 {
            for k in 0..=16 {
                let s = lo + (hi - lo) * f64::from(k) / 16.0;
                if at(s) < best {
                    best = at(s);
                    at_best = s;
                }
            }
            let width = (hi - lo) / 8.0;
            (lo, hi) = ((at_best - width).max(0.0), (at_best + width).min(1.0));
        }
        best.sqrt()
    }

    proptest! {
        #[test]
        fn agrees_with_search(p in vec3(2.0), a in vec3(1.0), b in vec3(1.0), c in vec3(1.0)) {
            let found = point_triangle(p, a, b, c);
            prop_assert!((found.distance() - search(p, a, b, c)).abs() < 1e-7);
            prop_assert!(found.distance() <= search(p, a, b, c) + 1e-14);
            let [wa, wb, wc] = found.weights;
            prop_assert!((wa + wb + wc - 1.0).abs() < 1e-14);
            prop_assert!((p - (a * wa + b * wb + c * wc) - found.gap).length() < 1e-13);
        }

        #[test]
        fn slivers_are_not_overestimated(
            a in vec3(1.0), u in vec3(1.0), w in vec3(1.0), x in 0.0..1.0f64, y in 0.0..1.0f64,
            thin in 0.0..17.0f64, height in 0.0..12.0f64, along in -2.0..3.0f64,
        ) {
            prop_assume!(u.length() > 0.1);
            let (b, c) = (a + u, a + u * along + w * 10f64.powf(-thin));
            let wb = x * (1.0 - y);
            let inside = a + (b - a) * wb + (c - a) * y;
            let apart = u.cross(w).normalize_or_zero() * 10f64.powf(-height);
            for (a, b, c) in [(a, b, c), (b, c, a), (c, a, b), (c, b, a)] {
                let found = point_triangle(inside + apart, a, b, c).distance();
                prop_assert!(found <= apart.length() + 1e-14, "{found} against {}", apart.length());
            }
        }
    }

    #[test]
    fn features_and_degenerate_triangles() {
        let (a, b, c) = (Vec3::ZERO, Vec3::X, Vec3::Y);
        let at = |x: f64, y: f64| point_triangle(Vec3::new(x, y, 0.5), a, b, c);
        assert_eq!(at(0.25, 0.25).feature, Feature::Interior);
        assert_eq!(at(0.25, 0.25).distance(), 0.5);
        assert_eq!(at(0.5, -1.0).feature, Feature::Side(0));
        assert_eq!(at(1.0, 1.0).feature, Feature::Side(1));
        assert_eq!(at(-1.0, 0.5).feature, Feature::Side(2));
        assert_eq!(at(-1.0, -1.0).feature, Feature::Corner(0));
        assert_eq!(at(2.0, -0.5).feature, Feature::Corner(1));
        assert_eq!(at(-0.5, 2.0).feature, Feature::Corner(2));
        let p = Vec3::new(0.5, 2.0, 0.0);
        assert_eq!(point_triangle(p, a, a, a).squared, 4.25);
        assert_eq!(point_triangle(p, a, b, b).squared, 4.0);
        assert_eq!(point_triangle(p, a, b, b * 0.25).squared, 4.0);
        assert_eq!(point_triangle(p, b, b * 0.25, a).squared, 4.0);
    }
}
