//! Interval inclusion (Wang et al. 2021): the slow twin of the fast detector.
//!
//! Two features touch when `F(t, u, v) = 0`, with `t` the time and `u, v` positions on the features. `F` is linear in each
//! argument, so over a box it is bounded by its values at the eight corners. Boxes that cannot contain a root are thrown
//! away, the others are halved, earliest first, until the image of one is smaller than a tolerance. Written from the
//! paper's description and sharing no code with the fast detector, it serves as an oracle and for pairs that are
//! reported again and again.

use muslin_linalg::Vec3;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Parameters of the inclusion test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InclusionParams {
    /// A box whose image is at most this wide (m) and contains the origin counts as a root.
    pub tolerance: f64,
    /// Features within this distance along every axis count as touching, in metres; 0 tests for contact itself.
    pub separation: f64,
    /// After so many boxes the earliest time not yet excluded is returned as a hit.
    pub max_boxes: usize,
}

impl Default for InclusionParams {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            separation: 0.0,
            max_boxes: 1_000_000,
        }
    }
}

/// Earliest time at which vertex `x[0]` may touch the face `x[1] x[2] x[3]`; never later than the true one.
pub fn vertex_face(x0: [Vec3; 4], x1: [Vec3; 4], params: &InclusionParams) -> Option<f64> {
    // Coefficient of the rounding bound: Wang et al. 2021, section 5.
    search(x0, x1, 6.66e-15, true, params, |x, u, v| {
        x[0] - (x[1] * (1.0 - u - v) + x[2] * u + x[3] * v)
    })
}

/// Earliest time at which the edges `x[0] x[1]` and `x[2] x[3]` may touch; never later than the true one.
pub fn edge_edge(x0: [Vec3; 4], x1: [Vec3; 4], params: &InclusionParams) -> Option<f64> {
    search(x0, x1, 6.22e-15, false, params, |x, u, v| {
        (x[0] * (1.0 - u) + x[1] * u) - (x[2] * (1.0 - v) + x[3] * v)
    })
}

/// Box in `(t, u, v)`: lower corner and widths. All are dyadic, hence exact.
#[derive(Clone, Copy)]
struct Cell {
    low: [f64; 3],
    width: [f64; 3],
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Cell {}
impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Cell {
    /// The heap gives out the greatest: earliest first, then the smallest, which finishes soonest.
    fn cmp(&self, other: &Self) -> Ordering {
        let volume = |c: &Self| c.width[0] * c.width[1] * c.width[2];
        other.low[0]
            .total_cmp(&self.low[0])
            .then(volume(other).total_cmp(&volume(self)))
    }
}

fn search(
    x0: [Vec3; 4],
    x1: [Vec3; 4],
    coefficient: f64,
    triangle: bool,
    params: &InclusionParams,
    f: impl Fn(&[Vec3; 4], f64, f64) -> Vec3,
) -> Option<f64> {
    let largest = x0.iter().chain(&x1).fold(Vec3::ZERO, |m, x| m.max(x.abs()));
    if !x0.iter().chain(&x1).all(|x| x.is_finite()) || largest.max_element() > 1e100 {
        return Some(0.0);
    }
    let allowed = largest
        .max(Vec3::ONE)
        .map(|m| coefficient * m * m * m + params.separation);
    let at = |t: f64| {
        [
            x0[0] * (1.0 - t) + x1[0] * t,
            x0[1] * (1.0 - t) + x1[1] * t,
            x0[2] * (1.0 - t) + x1[2] * t,
            x0[3] * (1.0 - t) + x1[3] * t,
        ]
    };
    let mut heap = BinaryHeap::from([Cell {
        low: [0.0; 3],
        width: [1.0; 3],
    }]);
    let mut boxes = 0;
    while let Some(cell) = heap.pop() {
        boxes += 1;
        if boxes > params.max_boxes {
            return Some(cell.low[0]);
        }
        let [t, u, v] = cell.low;
        let [dt, du, dv] = cell.width;
        if triangle && u + v > 1.0 {
            continue;
        }
        let ends = [at(t), at(t + dt)];
        let mut corners = [Vec3::ZERO; 8];
        for (k, corner) in corners.iter_mut().enumerate() {
            let pick = |bit: usize, low: f64, width: f64| {
                if k >> bit & 1 == 1 { low + width } else { low }
            };
            *corner = f(&ends[k & 1], pick(1, u, du), pick(2, v, dv));
        }
        let low = corners.iter().fold(Vec3::INFINITY, |m, &c| m.min(c));
        let high = corners.iter().fold(Vec3::NEG_INFINITY, |m, &c| m.max(c));
        if low.cmpgt(allowed).any() || high.cmplt(-allowed).any() {
            continue;
        }
        if (high - low).max_element() <= params.tolerance {
            return Some(t);
        }
        // Halve the argument along which F varies most.
        let change = |bit: usize| {
            (0..8usize)
                .filter(|k| k >> bit & 1 == 0)
                .map(|k| (corners[k | 1 << bit] - corners[k]).abs().max_element())
                .fold(0.0, f64::max)
        };
        let changes = [change(0), change(1), change(2)];
        let axis = (1..3).fold(0, |a, b| if changes[b] > changes[a] { b } else { a });
        let half = cell.width[axis] * 0.5;
        let mut first = cell;
        first.width[axis] = half;
        let mut second = first;
        second.low[axis] += half;
        if half == 0.0 || second.low[axis] == cell.low[axis] {
            // Cannot be halved any more: as good as found.
            return Some(t);
        }
        heap.push(first);
        heap.push(second);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_contacts() {
        let face = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let at = |z: f64| [Vec3::new(0.2, 0.2, z), face[0], face[1], face[2]];
        let p = InclusionParams::default();
        let t = vertex_face(at(1.0), at(-1.0), &p).unwrap();
        assert!(t <= 0.5 && t > 0.5 - 1e-5, "{t}");
        assert_eq!(vertex_face(at(1.0), at(1e-3), &p), None);
        let near = InclusionParams {
            separation: 2e-3,
            ..p
        };
        assert!(vertex_face(at(1.0), at(1e-3), &near).is_some());
        let bad = at(f64::NAN);
        assert_eq!(vertex_face(bad, bad, &p), Some(0.0));
        let edges = |z: f64| {
            [
                -Vec3::X,
                Vec3::X,
                Vec3::new(0.0, -1.0, z),
                Vec3::new(0.0, 1.0, z),
            ]
        };
        let t = edge_edge(edges(1.0), edges(-3.0), &p).unwrap();
        assert!(t <= 0.25 && t > 0.25 - 1e-5, "{t}");
        assert_eq!(edge_edge(edges(1.0), edges(1e-3), &p), None);
    }
}
