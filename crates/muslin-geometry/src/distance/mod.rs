//! Distances between points, segments, triangles and surfaces, with the weights of the closest points.
//!
//! The conservative steps of [`crate::ccd`] rest on these functions, so what matters is that a distance is never
//! overestimated by more than rounding. All of them therefore work in orthogonal components (subtract the part along the
//! first edge, then measure the rest): the error stays near `1e-15` times the size of the features even when a triangle is
//! a sliver or two edges are almost parallel, and no threshold decides what "parallel" means.

mod edge;
mod surface;
mod triangle;

pub use edge::{edge_edge, point_segment};
pub use surface::{SurfaceDistance, SurfacePoint};
pub use triangle::{Feature, PointTriangle, point_triangle};

pub(crate) use edge::edge_edge_gap;
pub(crate) use triangle::point_triangle_gap;

use muslin_linalg::Vec3;

/// Closest points of a point and a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointSegment {
    /// Squared distance, in square metres.
    pub squared: f64,
    /// Position of the closest point: 0 at the first end, 1 at the second.
    pub parameter: f64,
    /// From the closest point of the segment to the point, in metres.
    pub gap: Vec3,
}

/// Closest points of two segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeEdge {
    /// Squared distance, in square metres.
    pub squared: f64,
    /// Positions of the closest points on the first and the second segment: 0 at the first end, 1 at the second.
    pub parameters: [f64; 2],
    /// From the closest point of the second segment to that of the first, in metres.
    pub gap: Vec3,
}

impl PointSegment {
    /// Distance, in metres.
    pub fn distance(&self) -> f64 {
        self.squared.sqrt()
    }
}

impl EdgeEdge {
    /// Distance, in metres.
    pub fn distance(&self) -> f64 {
        self.squared.sqrt()
    }

    /// Signed weights of the four end points such that their sum is the gap vector: `1-a, a, -(1-b), -b`.
    pub fn weights(&self) -> [f64; 4] {
        let [a, b] = self.parameters;
        [1.0 - a, a, b - 1.0, -b]
    }
}
