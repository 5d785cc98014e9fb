//! Which way shortens the line along which two pieces of cloth cross (Volino and Magnenat-Thalmann 2006).
//!
//! Where an edge pierces a face, the line of intersection begins and runs into the faces at the edge. Moving the edge
//! against the face along the sum of these directions, less what the face's slope takes back, makes the line shorter.

use muslin_linalg::Vec3;

/// A place where an edge goes through a face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piercing {
    /// Ends of the edge.
    pub edge: [u32; 2],
    /// Where along the edge, from 0 to 1.
    pub along: f64,
    /// Corners of the face.
    pub face: [u32; 3],
    /// Weights of the corners.
    pub weights: [f64; 3],
    /// Unit vector along which the edge has to move against the face.
    pub way: Vec3,
}

/// Whether an edge goes through a face, and where: parameter along the edge and weights of the corners.
pub fn pierces(edge: [Vec3; 2], face: [Vec3; 3]) -> Option<(f64, [f64; 3])> {
    let normal = (face[1] - face[0]).cross(face[2] - face[0]);
    let heights = edge.map(|p| (p - face[0]).dot(normal));
    if heights[0] * heights[1] >= 0.0 {
        return None;
    }
    let along = heights[0] / (heights[0] - heights[1]);
    let at = edge[0].lerp(edge[1], along);
    let square = normal.length_squared();
    let weights = [0, 1, 2].map(|k| {
        let (b, c) = (face[(k + 1) % 3], face[(k + 2) % 3]);
        (b - at).cross(c - at).dot(normal) / square
    });
    weights
        .iter()
        .all(|w| *w >= 0.0)
        .then_some((along, weights))
}

/// The direction that shortens the contour at a piercing. `wings` are the third corners of the faces at the edge.
pub fn shortening(edge: [Vec3; 2], face: [Vec3; 3], wings: &[Vec3]) -> Option<Vec3> {
    let normal = (face[1] - face[0])
        .cross(face[2] - face[0])
        .try_normalize()?;
    let e = (edge[1] - edge[0]).try_normalize()?;
    let slope = e.dot(normal);
    let mut sum = Vec3::ZERO;
    for wing in wings {
        let own = (edge[1] - edge[0]).cross(*wing - edge[0]);
        let Some(line) = own.cross(normal).try_normalize() else {
            continue;
        };
        // Into the face at the edge, not out of it.
        let inward = *wing - edge[0];
        let inward = inward - e * inward.dot(e);
        let r = if line.dot(inward) < 0.0 { -line } else { line };
        sum += r - normal * (2.0 * e.dot(r) / slope);
    }
    sum.try_normalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_pierces_where_it_does() {
        let face = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let edge = |x: f64| [Vec3::new(x, 0.2, -1.0), Vec3::new(x, 0.2, 3.0)];
        let (along, weights) = pierces(edge(0.3), face).unwrap();
        assert!((along - 0.25).abs() < 1e-15);
        assert!((weights[0] - 0.5).abs() < 1e-15 && (weights[1] - 0.3).abs() < 1e-15);
        assert_eq!(pierces(edge(0.9), face), None);
    }

    #[test]
    fn a_corner_that_pokes_through_is_drawn_back() {
        // The corner of a vertical triangle pokes through the ground from above: two edges pierce it.
        let ground = [
            Vec3::new(-5.0, -5.0, 0.0),
            Vec3::new(5.0, -5.0, 0.0),
            Vec3::new(0.0, 9.0, 0.0),
        ];
        let (tip, left, right) = (
            Vec3::new(0.0, 0.0, -0.1),
            Vec3::new(-1.0, 0.0, 1.0),
            Vec3::new(1.0, 0.0, 1.0),
        );
        let length = |lift: f64| {
            let at = |p: Vec3| {
                let (a, b) = (tip + Vec3::Z * lift, p + Vec3::Z * lift);
                a.lerp(b, a.z / (a.z - b.z))
            };
            at(left).distance(at(right))
        };
        for (edge, wing) in [([tip, left], right), ([tip, right], left)] {
            let way = shortening(edge, ground, &[wing]).unwrap();
            assert!(way.z > 0.0, "{way}");
        }
        assert!(length(0.05) < length(0.0));
    }
}
