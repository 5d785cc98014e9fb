//! The conservative detector: additive continuous collision detection (Li et al. 2021) with a capped stopping gap and with
//! steps that look in the direction of the gap.
//!
//! The additive method advances by `gap / lp`, where `lp` bounds the relative speed in any direction. Here every distance
//! evaluation also gives a unit vector `n` from one feature to the other. Along `n` every pair of vertices moves linearly, so the
//! time at which the features could first come within the separation *in that direction* is exact and cheap. Both
//! bounds are safe; the larger one is taken. Most candidates of a broad phase are dismissed after one distance evaluation,
//! because along the first `n` they stay apart for the whole step.
//!
//! Everything is computed relative to the first vertex. Differences of doubles are correct relative to their own size, so
//! rounding depends on the extent of the query, not on how far from the origin it happens.

use super::CcdParams;
use crate::distance::{edge_edge_gap, point_triangle_gap};
use muslin_linalg::Vec3;

/// Fraction of the safe step that is taken: the rest keeps the gap from vanishing.
const STEP: f64 = 0.9;
/// The gap at which the search stops, relative to the initial one.
const STOP: f64 = 0.1;

/// Earliest time in `[0, 1]` at which vertex `x[0]` may come within the separation of the face `x[1] x[2] x[3]`.
///
/// `None` means that the distance stays above the separation throughout. `Some(t)` is never later than the first contact.
/// Coordinates that are not finite, or too widely spread for the separation, are answered with `Some(0.0)`: an alarm, not
/// a miss.
#[inline]
pub fn vertex_face(x0: [Vec3; 4], x1: [Vec3; 4], params: &CcdParams) -> Option<f64> {
    detect::<VertexFace>(x0, x1, params)
}

/// Earliest time in `[0, 1]` at which the edges `x[0] x[1]` and `x[2] x[3]` may come within the separation of each other.
///
/// See [`vertex_face`] for the meaning of the result.
#[inline]
pub fn edge_edge(x0: [Vec3; 4], x1: [Vec3; 4], params: &CcdParams) -> Option<f64> {
    detect::<EdgeEdge>(x0, x1, params)
}

trait Query {
    /// The vertices of the first side come first.
    const FIRST_SIDE: usize;
    /// Vector from the second side to the first where they are closest.
    fn gap(x: &[Vec3; 4]) -> Vec3;
}

struct VertexFace;
struct EdgeEdge;

impl Query for VertexFace {
    const FIRST_SIDE: usize = 1;
    #[inline]
    fn gap(x: &[Vec3; 4]) -> Vec3 {
        point_triangle_gap(x[0], x[1], x[2], x[3]).0
    }
}

impl Query for EdgeEdge {
    const FIRST_SIDE: usize = 2;
    #[inline]
    fn gap(x: &[Vec3; 4]) -> Vec3 {
        edge_edge_gap(x[0], x[1], x[2], x[3]).0
    }
}

#[inline]
fn detect<Q: Query>(x0: [Vec3; 4], x1: [Vec3; 4], params: &CcdParams) -> Option<f64> {
    let xi = params.separation;
    let origin = x0[0];
    let start = x0.map(|x| x - origin);
    let mut motion = [x1[0] - x0[0], x1[1] - x0[1], x1[2] - x0[2], x1[3] - x0[3]];
    // Only relative motion counts.
    let mean = (motion[0] + motion[1] + motion[2] + motion[3]) * 0.25;
    motion = motion.map(|p| p - mean);

    let extent = start
        .iter()
        .chain(&motion)
        .fold(mean.abs(), |e, v| e.max(v.abs()))
        .element_sum();
    if extent.is_nan() || extent > CcdParams::MAX_EXTENT_PER_SEPARATION * xi {
        return Some(0.0);
    }
    let gap_vector = Q::gap(&start);
    let distance = gap_vector.length();
    let mut gap = distance - xi;
    // `max` ignores NaN, so the extent may have hidden one; a NaN separation fails here too.
    let sound = gap > 0.0 && all_finite(&start, &motion);
    if !sound {
        return Some(0.0);
    }

    let mut t = 0.0;
    let mut step = directional_step::<Q>(&start, &motion, gap_vector / distance, xi);
    if step > 1.0 {
        return None;
    }
    let lp = relative_speed_bound::<Q>(&motion);
    step = step.max(STEP * gap / lp);
    let stop = (STOP * gap).min(params.gap_cap);
    for _ in 0..params.max_iterations {
        // The distance exceeds the separation from t to t + step.
        if t + step > 1.0 {
            return None;
        }
        let now = t + step;
        let x = [
            start[0] + motion[0] * now,
            start[1] + motion[1] * now,
            start[2] + motion[2] * now,
            start[3] + motion[3] * now,
        ];
        let gap_vector = Q::gap(&x);
        let distance = gap_vector.length();
        gap = distance - xi;
        if gap <= 0.0 || (t > 0.0 && gap < stop) {
            return Some(t);
        }
        t = now;
        step = directional_step::<Q>(&x, &motion, gap_vector / distance, xi).max(STEP * gap / lp);
    }
    Some(t)
}

#[inline]
fn all_finite(start: &[Vec3; 4], motion: &[Vec3; 4]) -> bool {
    // Differences of finite doubles may overflow, and `max` ignores NaN, so look at every number once.
    let sum = start
        .iter()
        .chain(motion)
        .fold(Vec3::ZERO, |s, &v| s + v * 0.0);
    sum == Vec3::ZERO
}

/// Bound of the speed at which any two points of the two sides approach, in any direction.
#[inline]
fn relative_speed_bound<Q: Query>(motion: &[Vec3; 4]) -> f64 {
    let fastest = |side: &[Vec3]| side.iter().map(|p| p.length_squared()).fold(0.0, f64::max);
    let (a, b) = motion.split_at(Q::FIRST_SIDE);
    fastest(a).sqrt() + fastest(b).sqrt()
}

/// A time for which the sides surely stay more than `xi` apart along the unit vector `n`; infinite if they never approach.
///
/// The separation along `n` is the smallest over all pairs of vertices, and each of those is linear in time.
#[inline]
fn directional_step<Q: Query>(x: &[Vec3; 4], motion: &[Vec3; 4], n: Vec3, xi: f64) -> f64 {
    let place = x.map(|x| x.dot(n));
    let speed = motion.map(|p| p.dot(n));
    let mut least = f64::INFINITY;
    for i in 0..Q::FIRST_SIDE {
        for j in Q::FIRST_SIDE..4 {
            let gap = place[i] - place[j] - xi;
            let closing = speed[j] - speed[i];
            // Receding pairs never meet: a large finite time instead of a branch.
            let time = if closing > 0.0 {
                STEP * gap / closing
            } else {
                f64::INFINITY
            };
            least = least.min(time);
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACE: [Vec3; 3] = [
        Vec3::ZERO,
        Vec3::new(1.0, 0.0, 0.0),
        Vec3::new(0.0, 1.0, 0.0),
    ];

    fn falling(from: f64, to: f64) -> Option<f64> {
        let at = |z: f64| [Vec3::new(0.2, 0.2, z), FACE[0], FACE[1], FACE[2]];
        vertex_face(at(from), at(to), &CcdParams::default())
    }

    #[test]
    fn falling_vertex() {
        let t = falling(1.0, -1.0).unwrap();
        assert!(t <= 0.5 && t > 0.5 - 1e-5, "{t}");
        assert_eq!(falling(1.0, 0.1), None);
        assert_eq!(falling(1.0, 3e-6), None);
        assert!(falling(1.0, 0.0).is_some());
        assert_eq!(falling(0.0, 1.0), Some(0.0));
        assert_eq!(falling(1.0, 1.0), None);
    }

    #[test]
    fn crossing_edges() {
        let at = |z: f64| {
            [
                -Vec3::X,
                Vec3::X,
                Vec3::new(0.0, -1.0, z),
                Vec3::new(0.0, 1.0, z),
            ]
        };
        let params = CcdParams::default();
        let t = edge_edge(at(1.0), at(-3.0), &params).unwrap();
        assert!(t <= 0.25 && t > 0.25 - 1e-5, "{t}");
        assert_eq!(edge_edge(at(1.0), at(0.5), &params), None);
        // Far from the origin nothing changes.
        let far = Vec3::splat(1e6);
        let t = edge_edge(at(1.0).map(|x| x + far), at(-3.0).map(|x| x + far), &params).unwrap();
        assert!(t <= 0.25 && t > 0.25 - 1e-5, "{t}");
    }

    #[test]
    fn nonsense_is_an_alarm_and_never_a_miss() {
        let params = CcdParams::default();
        for bad in [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e300,
            -1e200,
            1e20,
        ] {
            for k in 0..24 {
                let mut x0 = [FACE[0], FACE[1], FACE[2], Vec3::Z];
                let mut x1 = x0.map(|x| x + Vec3::X * 0.1);
                let x = if k < 12 { &mut x0 } else { &mut x1 };
                x[k % 4][k / 4 % 3] = bad;
                assert_eq!(vertex_face(x0, x1, &params), Some(0.0));
                assert_eq!(edge_edge(x0, x1, &params), Some(0.0));
            }
        }
        for separation in [0.0, -1.0, f64::NAN] {
            let params = CcdParams {
                separation,
                ..params
            };
            assert!(params.validate().is_err());
            assert_eq!(
                vertex_face([Vec3::ZERO; 4], [Vec3::ONE; 4], &params),
                Some(0.0)
            );
        }
    }
}
