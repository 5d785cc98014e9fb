//! What many frames of a run have in common: connectivity, texture coordinates, and which vertices appear several times.
//! It is worked out once and shared by all frames and all viewers.

use muslin::linalg::Vec3;
use muslin::record::{Frame, Split};
use std::sync::Arc;

/// Faces of an obstacle that meet at a sharper angle than this (cosine) keep their edge when shaded.
const SMOOTH: f64 = 0.7;

/// The surfaces of a frame without their places: bodies first, then obstacles.
pub struct Shape {
    /// Frames of one run with this number share it.
    pub faces_frame: usize,
    pub surfaces: Vec<Split>,
    /// Vertices of the frame in each surface; the frame fits if it has as many.
    counts: Vec<usize>,
}

impl Shape {
    /// The shape of a frame.
    pub fn of(frame: &Frame) -> Self {
        let bodies = frame
            .bodies
            .iter()
            .map(|b| Split::new(b.surface_vertices(), &b.faces, &b.material));
        let obstacles = frame
            .obstacles
            .iter()
            .map(|o| creased(&o.positions, &o.faces));
        Self {
            faces_frame: frame.faces_frame,
            surfaces: bodies.chain(obstacles).collect(),
            counts: counts(frame).collect(),
        }
    }

    /// Whether it is that of a frame.
    pub fn fits(&self, frame: &Frame) -> bool {
        self.faces_frame == frame.faces_frame && counts(frame).eq(self.counts.iter().copied())
    }
}

fn counts(frame: &Frame) -> impl Iterator<Item = usize> {
    let bodies = frame.bodies.iter().map(|b| b.positions.len());
    bodies.chain(frame.obstacles.iter().map(|o| o.positions.len()))
}

/// Vertices of a solid, once for each smooth part of the surface that meets there: a box has corners, a ball has none.
fn creased(positions: &[Vec3], faces: &[[i32; 3]]) -> Split {
    let mut split = Split::new(positions.len(), faces, &[]);
    // Copies of each vertex with the direction of the face each began with.
    let mut parts: Vec<Vec<(u32, Vec3)>> = vec![Vec::new(); positions.len()];
    for (face, corners) in faces.iter().zip(&mut split.faces) {
        let [a, b, c] = face.map(|v| positions[v as usize]);
        let flat = (b - a).cross(c - a).normalize_or_zero();
        for (v, corner) in face.iter().zip(corners) {
            let there = &mut parts[*v as usize];
            if let Some((copy, _)) = there.iter().find(|(_, n)| n.dot(flat) >= SMOOTH) {
                *corner = *copy;
                continue;
            }
            if !there.is_empty() {
                *corner = split.origin.len() as u32;
                split.origin.push(*v as u32);
            }
            there.push((*corner, flat));
        }
    }
    split
}

/// Shapes that were needed last, of all runs.
#[derive(Default)]
pub struct Shapes(Vec<((usize, u64), Arc<Shape>)>);

/// Remeshed runs have many; the newest are wanted again and again.
const KEPT: usize = 8;

impl Shapes {
    /// The shape of a frame of a run (its index and generation), made if it is not known.
    pub fn of(&mut self, run: (usize, u64), frame: &Frame) -> Arc<Shape> {
        let known = |(owner, s): &&((usize, u64), Arc<Shape>)| *owner == run && s.fits(frame);
        if let Some((_, shape)) = self.0.iter().find(known) {
            return shape.clone();
        }
        let shape = Arc::new(Shape::of(frame));
        self.0.push((run, shape.clone()));
        if self.0.len() > KEPT {
            self.0.remove(0);
        }
        shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_keeps_its_edges_and_a_flat_sheet_stays_whole() {
        // Two squares at right angles that share an edge, then the same in one plane.
        let bent = [
            [0., 0., 0.],
            [1., 0., 0.],
            [0., 1., 0.],
            [1., 1., 0.],
            [0., 1., 1.],
            [1., 1., 1.],
        ];
        let faces = [[0, 1, 3], [0, 3, 2], [2, 3, 5], [2, 5, 4]];
        let points = bent.map(Vec3::from_array);
        let split = creased(&points, &faces);
        assert_eq!(split.origin.len(), 8);
        let of = |k: usize| split.faces[k].map(|v| split.origin[v as usize] as i32);
        assert_eq!([of(0), of(1), of(2), of(3)], faces);
        assert!(split.faces[2][0] >= 6 && split.faces[3][0] == split.faces[2][0]);
        let flat = points.map(|p| Vec3::new(p.x, p.y + p.z, 0.0));
        assert_eq!(creased(&flat, &faces).origin.len(), 6);
    }
}
