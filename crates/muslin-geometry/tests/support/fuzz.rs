//! Random and adversarial collision queries, and what must hold for every one of them.
//!
//! Half of the queries are built backwards: two features are placed in contact at a chosen time, then moved away along
//! random velocities. The detector must report them, and not later than that time. For the others the distance is sampled: whatever
//! comes within the separation must be reported by then, and whatever is reported must really come near.

#![allow(dead_code)]

use super::Random;
use muslin_geometry::ccd::{CcdParams, edge_edge, vertex_face};
use muslin_geometry::distance;
use muslin_linalg::Vec3;

#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub queries: u64,
    pub hits: u64,
    /// Reported at time 0 because the features start within the separation.
    pub touching: u64,
    pub missed: u64,
    pub late: u64,
    /// Reported although they stay three separations apart.
    pub unfounded: u64,
    /// Reported while still more than ten caps apart: safe, but only the limit of iterations explains it.
    pub early: u64,
}

impl Count {
    pub fn add(&mut self, other: &Self) {
        self.queries += other.queries;
        self.hits += other.hits;
        self.touching += other.touching;
        self.missed += other.missed;
        self.late += other.late;
        self.unfounded += other.unfounded;
        self.early += other.early;
    }
}

pub struct Query {
    pub vertex_face: bool,
    pub x0: [Vec3; 4],
    pub x1: [Vec3; 4],
    /// A time at which they touch, up to rounding.
    pub contact: Option<f64>,
    pub params: CcdParams,
}

impl Query {
    fn distance(&self, t: f64) -> f64 {
        let x = [0, 1, 2, 3].map(|i| self.x0[i] + (self.x1[i] - self.x0[i]) * t);
        if self.vertex_face {
            distance::point_triangle(x[0], x[1], x[2], x[3]).distance()
        } else {
            distance::edge_edge(x[0], x[1], x[2], x[3]).distance()
        }
    }
}

/// A position along an edge, with a taste for its ends.
fn along(r: &mut Random) -> f64 {
    match r.below(8) {
        0 => 0.0,
        1 => 1.0,
        2 => r.decades(-17.0, -3.0),
        3 => 1.0 - r.decades(-16.0, -3.0),
        _ => r.unit(),
    }
}

pub fn query(r: &mut Random) -> Query {
    let vertex_face = r.below(2) == 0;
    let size = r.decades(-3.0, 0.0);
    let mut x = [0; 4].map(|_| r.vector(size));
    // Shapes.
    match r.below(6) {
        // Sliver, or nearly parallel edges.
        0 => {
            let thin = r.decades(-17.0, -1.0);
            x[3] = if vertex_face {
                x[1] + (x[2] - x[1]) * r.within(-1.0, 2.0) + r.vector(size * thin)
            } else {
                x[2] + (x[1] - x[0]) * r.within(-2.0, 2.0) + r.vector(size * thin)
            };
        }
        // A zero-length edge.
        1 => x[3] = x[2],
        // On a coarse grid: exact coincidences.
        2 => x = x.map(|v| (v * (4.0 / size)).round() * (size / 4.0)),
        _ => {}
    }
    // Bring them into contact by moving the first side.
    let built = r.below(2) == 0;
    if built {
        let (s, t) = (along(r), along(r));
        if vertex_face {
            let (u, v) = if s + t > 1.0 {
                (1.0 - s, 1.0 - t)
            } else {
                (s, t)
            };
            x[0] = x[1] + (x[2] - x[1]) * u + (x[3] - x[1]) * v;
        } else {
            let shift = x[2] + (x[3] - x[2]) * t - (x[0] + (x[1] - x[0]) * s);
            x[0] += shift;
            x[1] += shift;
        }
    }
    // Motions.
    let fast = size * r.decades(-4.0, 1.0);
    let mut v = [0; 4].map(|_| r.vector(fast));
    match r.below(6) {
        // Two translations.
        0 => {
            v[3] = v[2];
            v[1] = if vertex_face { v[2] } else { v[0] };
        }
        // Almost the same motion for all.
        1 => {
            let slow = r.decades(-8.0, -1.0);
            v = v.map(|d| d * slow + Vec3::X * fast);
        }
        // Sliding past each other within the plane of the features.
        2 => {
            let n = (x[2] - x[1]).cross(x[3] - x[1]).normalize_or_zero();
            v = v.map(|d| d - n * d.dot(n));
        }
        _ => {}
    }
    let contact = match r.below(6) {
        0 => 0.0,
        1 => 1.0,
        2 => r.decades(-16.0, -6.0),
        _ => r.unit(),
    };
    // Far from the origin coordinates are coarser: the contact is then only as good as their last bit.
    let away = match r.below(4) {
        0 => r.vector(100.0),
        _ => Vec3::ZERO,
    };
    let at = |t: f64| [0, 1, 2, 3].map(|i| x[i] + v[i] * (t - contact) + away);
    let mut params = CcdParams::default();
    if r.below(4) == 0 {
        params.separation = r.decades(-8.0, -4.0);
        params.gap_cap = params.separation;
    }
    Query {
        vertex_face,
        x0: at(0.0),
        x1: at(1.0),
        contact: built.then_some(contact),
        params,
    }
}

/// Puts one query to the detector and looks at the answer from all sides.
pub fn check(q: &Query, count: &mut Count) -> Option<f64> {
    let params = q.params;
    let found = if q.vertex_face {
        vertex_face(q.x0, q.x1, &params)
    } else {
        edge_edge(q.x0, q.x1, &params)
    };
    count.queries += 1;
    // The earliest time known to be within the separation (with a little room for the rounding of the samples).
    let near = |d: f64| d < 0.999 * params.separation;
    let mut known = q.contact.filter(|&t| near(q.distance(t)));
    if known.is_none() {
        known = (0..=16)
            .map(|k| f64::from(k) / 16.0)
            .find(|&t| near(q.distance(t)));
    }
    match found {
        None => count.missed += u64::from(known.is_some()),
        Some(t) => {
            count.hits += 1;
            count.touching += u64::from(t == 0.0);
            count.late += u64::from(known.is_some_and(|k| t > k));
            let near = known.is_some() || really_near(q, t, 3.0 * params.separation);
            count.unfounded += u64::from(!near);
            // The last step of the search leaves a tenth of the gap, so before it the gap was at most ten caps.
            let early = t > 0.0 && q.distance(t) > params.separation + 10.1 * params.gap_cap;
            count.early += u64::from(early);
        }
    }
    found
}

/// Whether the distance falls below `limit` at or after `t`. Samples find features that slide along each other for long;
/// conservative steps cannot jump over a short approach.
fn really_near(q: &Query, mut t: f64, limit: f64) -> bool {
    let sample = |k: i32| t + (1.0 - t) * f64::from(k.clamp(0, 1000)) / 1000.0;
    let nearest = (0..=1000).min_by(|&a, &b| {
        let (a, b) = (q.distance(sample(a)), q.distance(sample(b)));
        a.total_cmp(&b)
    });
    let (mut lo, mut hi) = nearest.map_or((t, 1.0), |k| (sample(k - 1), sample(k + 1)));
    for _ in 0..100 {
        let (a, b) = ((2.0 * lo + hi) / 3.0, (lo + 2.0 * hi) / 3.0);
        if q.distance(a) < q.distance(b) {
            hi = b;
        } else {
            lo = a;
        }
    }
    if q.distance(lo) < limit {
        return true;
    }
    let motion = [0, 1, 2, 3].map(|i| q.x1[i] - q.x0[i]);
    let speed: f64 = motion.iter().map(|&v| (v - motion[0]).length()).sum();
    for _ in 0..1_000_000 {
        let d = q.distance(t);
        if d < limit {
            return true;
        }
        // At this speed the limit cannot be undercut earlier.
        t += ((d - limit) / speed).max(1e-12);
        if t > 1.0 {
            return q.distance(1.0) < limit;
        }
    }
    false
}
