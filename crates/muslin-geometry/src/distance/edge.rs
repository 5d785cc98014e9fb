//! Point-segment and segment-segment distance, robust for parallel and for zero-length segments.

use super::{EdgeEdge, PointSegment};
use muslin_linalg::Vec3;

/// Below this squared sine the interior solution may be rounding noise, and the end points are looked at as well.
const NEARLY_PARALLEL: f64 = 1e-10;

/// Closest point of the segment `a b` to `point`. A zero-length segment is a point.
#[inline]
pub fn point_segment(point: Vec3, a: Vec3, b: Vec3) -> PointSegment {
    let (gap, parameter) = segment_gap(point - a, b - a);
    PointSegment {
        squared: gap.length_squared(),
        parameter,
        gap,
    }
}

/// The same with the segment starting at the origin; returns the gap vector and the parameter.
#[inline]
pub(super) fn segment_gap(point: Vec3, direction: Vec3) -> (Vec3, f64) {
    let length2 = direction.length_squared();
    let along = point.dot(direction);
    // Written so that 0/0 never happens: a zero-length segment has `along == 0` as well.
    let parameter = if along <= 0.0 {
        0.0
    } else if along >= length2 {
        1.0
    } else {
        along / length2
    };
    (point - direction * parameter, parameter)
}

/// Closest points of the segments `a0 a1` and `b0 b1`.
///
/// Parallel, collinear, touching and zero-length segments are all fine; where the closest points are not unique one pair
/// of them is returned.
#[inline]
pub fn edge_edge(a0: Vec3, a1: Vec3, b0: Vec3, b1: Vec3) -> EdgeEdge {
    let (gap, parameters) = edge_edge_gap(a0, a1, b0, b1);
    EdgeEdge {
        squared: gap.length_squared(),
        parameters,
        gap,
    }
}

/// Gap vector (from B to A) and the two parameters.
#[inline]
pub(crate) fn edge_edge_gap(a0: Vec3, a1: Vec3, b0: Vec3, b1: Vec3) -> (Vec3, [f64; 2]) {
    let u = a1 - a0;
    let v = b1 - b0;
    let r = b0 - a0;
    let uu = u.length_squared();
    let mut best: Option<(Vec3, [f64; 2])> = None;
    if uu > 0.0 {
        // Remove what lies along A: the rest is a point-line problem in the plane across A. Unlike the usual 2x2 system
        // this never subtracts squares, so the error is eps/sin(angle) instead of eps/sin²(angle).
        let inverse = 1.0 / uu;
        let v_along = v.dot(u) * inverse;
        let r_along = r.dot(u) * inverse;
        let v_across = v - u * v_along;
        let r_across = r - u * r_along;
        let vv = v_across.length_squared();
        let t = -r_across.dot(v_across) / vv;
        let s = r_along + t * v_along;
        // Zero-length or exactly parallel: t is NaN or infinite and the test fails.
        if (0.0..=1.0).contains(&t) && (0.0..=1.0).contains(&s) {
            let gap = -(r_across + v_across * t);
            if vv > NEARLY_PARALLEL * v.length_squared() {
                return (gap, [s, t]);
            }
            best = Some((gap, [s, t]));
        }
    }
    // Otherwise an end point is involved.
    let (g, t) = segment_gap(-r, v);
    let mut end = (g, [0.0, t]);
    let mut least = g.length_squared();
    let mut consider = |gap: Vec3, parameters: [f64; 2]| {
        let squared = gap.length_squared();
        if squared < least {
            least = squared;
            end = (gap, parameters);
        }
    };
    let (g, t) = segment_gap(a1 - b0, v);
    consider(g, [1.0, t]);
    let (g, s) = segment_gap(r, u);
    consider(-g, [s, 0.0]);
    let (g, s) = segment_gap(b1 - a0, u);
    consider(-g, [s, 1.0]);
    if let Some((gap, parameters)) = best {
        consider(gap, parameters);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vec3(range: f64) -> impl Strategy<Value = Vec3> {
        [-range..range, -range..range, -range..range].prop_map(Vec3::from_array)
    }

    /// Alternating projection from many starts: slow, but every value it sees is an upper bound.
    fn search(a0: Vec3, a1: Vec3, b0: Vec3, b1: Vec3) -> f64 {
        let mut best = f64::INFINITY;
        for start in 0..=16 {
            let mut s = f64::from(start) / 16.0;
            for _ in 0..200 {
                let t = point_segment(a0.lerp(a1, s), b0, b1).parameter;
                let back = point_segment(b0.lerp(b1, t), a0, a1);
                s = back.parameter;
                best = best.min(back.squared);
            }
        }
        best.sqrt()
    }

    proptest! {
        #[test]
        fn never_beaten_by_search(a0 in vec3(1.0), u in vec3(1.0), b0 in vec3(1.0), v in vec3(1.0)) {
            let found = edge_edge(a0, a0 + u, b0, b0 + v);
            let searched = search(a0, a0 + u, b0, b0 + v);
            prop_assert!(found.distance() <= searched + 1e-14);
            let [s, t] = found.parameters;
            let gap = a0.lerp(a0 + u, s) - b0.lerp(b0 + v, t);
            prop_assert!((gap - found.gap).length() < 1e-13);
        }

        #[test]
        fn near_parallel_edges_are_not_overestimated(
            a0 in vec3(1.0), u in vec3(1.0), w in vec3(1.0), s in 0.0..1.0f64, t in 0.0..1.0f64,
            angle in 0.0..16.0f64, height in 0.0..12.0f64,
        ) {
            // Edges built around two given points at a known distance: the true distance is at most that.
            prop_assume!(u.length() > 0.1);
            let v = u + w * 10f64.powf(-angle);
            let apart = u.cross(w).normalize_or_zero() * 10f64.powf(-height);
            let meet = a0 + u * s;
            let b0 = meet - v * t - apart;
            let found = edge_edge(a0, a0 + u, b0, b0 + v).distance();
            prop_assert!(found <= apart.length() + 4e-15, "{found} against {}", apart.length());
        }
    }

    #[test]
    fn degenerate_edges() {
        let o = Vec3::ZERO;
        let x = Vec3::X;
        assert_eq!(edge_edge(o, o, x, x).squared, 1.0);
        assert_eq!(edge_edge(o, o, o, o).squared, 0.0);
        assert_eq!(edge_edge(o, x, x * 0.5, x * 0.5).squared, 0.0);
        assert_eq!(edge_edge(o, x, x * 3.0, x * 5.0).squared, 4.0);
        assert_eq!(edge_edge(o, x, Vec3::Y, Vec3::Y + x).squared, 1.0);
        let far = edge_edge(o, x, x * 3.0, x * 5.0);
        assert_eq!(far.parameters, [1.0, 0.0]);
        assert_eq!(far.weights(), [0.0, 1.0, -1.0, 0.0]);
    }
}
