//! Tells the closest points that count from those that only look close.
//!
//! A vertex above a flat sheet is near the face below it, but also near the borders of the faces next to it, at a slant.
//! Those are no places where the surfaces could touch, and their slanted normals would turn friction into something
//! else. A closest point on an edge or a corner counts only if no face around it comes nearer still.

use super::{Candidate, Kind};
use muslin_linalg::Vec3;

/// Faces around each vertex of an object.
pub(super) struct Neighbours {
    start: Vec<u32>,
    faces: Vec<u32>,
}

/// Sine of the angle that counts as flat.
const FLAT: f64 = 0.03;
/// Sine of the angle up to which edges count as parallel.
const PARALLEL: f64 = 0.2;
/// Cosine of the angle between the faces at an edge from which on it is a ridge; flat ones have -1.
///
/// It is the surface that has a ridge, whatever leans on it: with the lean of the faces away from the contact instead,
/// cloth that bends only a little over the edge of a box was pushed off it in one step and let go in the next.
const RIDGE: f64 = -0.92;

impl Neighbours {
    pub fn new(vertices: usize, faces: &[[u32; 3]]) -> Self {
        let mut start = vec![0u32; vertices + 1];
        for v in faces.iter().flatten() {
            start[*v as usize + 1] += 1;
        }
        for v in 0..vertices {
            start[v + 1] += start[v];
        }
        let mut next = start.clone();
        let mut around = vec![0u32; 3 * faces.len()];
        for (f, face) in faces.iter().enumerate() {
            for v in face {
                around[next[*v as usize] as usize] = f as u32;
                next[*v as usize] += 1;
            }
        }
        Self {
            start,
            faces: around,
        }
    }

    fn around(&self, v: u32) -> &[u32] {
        let v = v as usize;
        &self.faces[self.start[v] as usize..self.start[v + 1] as usize]
    }
}

/// An object's triangles and positions, as the rules below need them.
#[derive(Clone, Copy)]
pub(super) struct Surface<'a> {
    pub faces: &'a [[u32; 3]],
    pub neighbours: &'a Neighbours,
    /// Its positions at the start and end of the step, m, and the fraction of the step that is looked at.
    pub x: [&'a [Vec3]; 2],
    pub time: f64,
}

impl Surface<'_> {
    fn at(&self, v: u32) -> Vec3 {
        self.x[0][v as usize].lerp(self.x[1][v as usize], self.time)
    }

    /// How far the face at an edge that leans most leans towards a unit vector, as a sine; and whether the edge is a
    /// ridge or a border.
    fn lean_at_edge(&self, a: u32, b: u32, towards: Vec3) -> (f64, bool) {
        let along = self.along(a, b);
        let mut most = f64::NEG_INFINITY;
        let mut ridge = true;
        let mut last: Option<Vec3> = None;
        for f in self.neighbours.around(a) {
            let face = self.faces[*f as usize];
            if !face.contains(&b) {
                continue;
            }
            for o in face.into_iter().filter(|o| *o != a && *o != b) {
                let arm = self.at(o) - self.at(a);
                let inward = (arm - along * arm.dot(along)).normalize_or_zero();
                most = most.max(inward.dot(towards));
                ridge &= last.is_none_or(|last| last.dot(inward) > RIDGE);
                last = Some(inward);
            }
        }
        (most, ridge)
    }

    /// How far the edge at a vertex that leans most leans towards a unit vector, as a sine.
    fn lean_at_vertex(&self, a: u32, towards: Vec3) -> f64 {
        let mut most = f64::NEG_INFINITY;
        for f in self.neighbours.around(a) {
            for q in self.faces[*f as usize].into_iter().filter(|q| *q != a) {
                let edge = (self.at(q) - self.at(a)).normalize_or_zero();
                most = most.max(edge.dot(towards));
            }
        }
        most
    }

    /// Direction of an edge.
    fn along(&self, a: u32, b: u32) -> Vec3 {
        (self.at(b) - self.at(a)).normalize_or_zero()
    }

    /// Whether an edge may touch something in a direction: no face comes nearer; and whether it is a ridge or a border.
    fn edge_may_touch(&self, a: u32, b: u32, towards: Vec3) -> (bool, bool) {
        let (lean, ridge) = self.lean_at_edge(a, b, towards);
        (lean <= FLAT, ridge)
    }
}

/// Whether the surfaces `a` and `b` of a candidate are closest to each other here, as far as their neighbours tell.
/// Vertices are taken relative to `first`, the first of each surface.
pub(super) fn touches_here(c: &Candidate, a: Surface, b: Surface, first: [u32; 2]) -> bool {
    match c.kind {
        Kind::VertexSolid => true,
        Kind::EdgeEdge => {
            let v = c.vertices;
            let (e, f) = ([v[0], v[1]], [v[2], v[3]]);
            let (e, f) = (e.map(|v| v - first[0]), f.map(|v| v - first[1]));
            let (a_may, a_ridge) = a.edge_may_touch(e[0], e[1], -c.normal);
            let (b_may, b_ridge) = b.edge_may_touch(f[0], f[1], c.normal);
            let angle = a.along(e[0], e[1]).cross(b.along(f[0], f[1])).length();
            // Where flat parts cross or edges lie side by side, the vertices around say all there is to say.
            c.inner && a_may && b_may && (a_ridge || b_ridge) && angle > PARALLEL
        }
        Kind::VertexFace => {
            let mut taking_part = (1..4)
                .filter(|k| c.weights[*k] != 0.0)
                .map(|k| c.vertices[k] - first[1]);
            match (taking_part.next(), taking_part.next(), taking_part.next()) {
                (Some(v), None, None) => b.lean_at_vertex(v, c.normal) <= FLAT,
                (Some(v), Some(w), None) => b.lean_at_edge(v, w, c.normal).0 <= FLAT,
                _ => true,
            }
        }
    }
}
