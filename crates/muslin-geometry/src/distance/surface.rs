//! Signed distance from a point to a triangle surface, with one sensible normal everywhere.
//!
//! The sign comes from pseudo-normals: the face normal inside a face, the sum of the adjacent face normals on an edge, the
//! angle-weighted sum at a vertex (Bærentzen and Aanæs 2005). For closed surfaces that sign is exact; the normal of a
//! single face would be wrong beside sharp edges. Open surfaces have no inside: there the sign tells the two sides of the
//! nearest feature apart, and at a border it follows the plane of the border faces.

use super::triangle::{Feature, point_triangle};
use crate::bvh::Bvh;
use crate::validate::InputError;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Points closer than this, relative to the size of the face, are on the surface.
const ON_SURFACE: f64 = 1e-12;
/// A weight below this puts a point of the surface on a side or a corner.
const ON_SIDE: f64 = 1e-9;

/// A triangle surface prepared for distance queries.
#[derive(Clone, Debug)]
pub struct SurfaceDistance {
    positions: Vec<Vec3>,
    faces: Vec<[u32; 3]>,
    bvh: Bvh,
    face_normals: Vec<Vec3>,
    /// Unit, or zero where everything around is degenerate.
    vertex_normals: Vec<Vec3>,
    /// Index into `edge_normals` of side `k` of each face.
    face_edges: Vec<[u32; 3]>,
    edge_normals: Vec<Vec3>,
}

/// The closest point of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint {
    /// Distance in metres, negative behind the surface.
    pub signed_distance: f64,
    /// The closest point, in metres.
    pub position: Vec3,
    /// The face it lies on.
    pub face: u32,
    /// Weights of the corners of that face.
    pub weights: [f64; 3],
    /// Whether it lies inside the face, on a side or at a corner.
    pub feature: Feature,
    /// Unit direction in which the signed distance grows. Away from the surface this is the direction to or from the closest
    /// point, so it is the same for all faces that meet there; on the surface it is the pseudo-normal.
    pub normal: Vec3,
}

impl SurfaceDistance {
    /// Prepares a surface. Open surfaces, faces without area and several components are all allowed.
    pub fn new(positions: &[Vec3], faces: &[[u32; 3]]) -> Result<Self, InputError> {
        let bvh = Bvh::new(positions, faces, &[])?;
        let (face_edges, edge_count) = number_edges(faces);
        let mut surface = Self {
            positions: positions.to_vec(),
            faces: faces.to_vec(),
            bvh,
            face_normals: vec![Vec3::ZERO; faces.len()],
            vertex_normals: vec![Vec3::ZERO; positions.len()],
            face_edges,
            edge_normals: vec![Vec3::ZERO; edge_count],
        };
        surface.update_normals();
        Ok(surface)
    }

    /// Moves the surface; the connectivity stays.
    pub fn update(&mut self, positions: &[Vec3]) -> Result<(), InputError> {
        self.bvh.refit(positions, 0.0)?;
        if self.bvh.degradation() > 2.0 {
            self.bvh.rebuild();
        }
        self.positions.copy_from_slice(positions);
        self.update_normals();
        Ok(())
    }

    /// Current positions, in metres.
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// The faces.
    pub fn faces(&self) -> &[[u32; 3]] {
        &self.faces
    }

    /// The hierarchy over the faces, refitted without margin.
    pub fn bvh(&self) -> &Bvh {
        &self.bvh
    }

    fn update_normals(&mut self) {
        let x = &self.positions;
        self.vertex_normals.fill(Vec3::ZERO);
        self.edge_normals.fill(Vec3::ZERO);
        for (f, face) in self.faces.iter().enumerate() {
            let [a, b, c] = face.map(|v| x[v as usize]);
            let normal = (b - a).cross(c - a).normalize_or_zero();
            self.face_normals[f] = normal;
            for (corner, (p, q, r)) in [(a, b, c), (b, c, a), (c, a, b)].into_iter().enumerate() {
                let (u, v) = (q - p, r - p);
                // atan2 stays accurate for very small and very flat angles.
                let angle = u.cross(v).length().atan2(u.dot(v));
                self.vertex_normals[face[corner] as usize] += normal * angle;
                self.edge_normals[self.face_edges[f][corner] as usize] += normal;
            }
        }
        for normal in self.vertex_normals.iter_mut().chain(&mut self.edge_normals) {
            *normal = normal.normalize_or_zero();
        }
    }

    /// The closest point of the surface, if one lies within `max_distance` (m, may be infinite) and `point` is finite.
    pub fn closest(&self, point: Vec3, max_distance: f64) -> Option<SurfacePoint> {
        if !point.is_finite() {
            return None;
        }
        let corners = |face: u32| self.faces[face as usize].map(|v| self.positions[v as usize]);
        let nearest = self.bvh.nearest_face(point, max_distance, |face| {
            let [a, b, c] = corners(face);
            point_triangle(point, a, b, c).squared
        })?;
        let [a, b, c] = corners(nearest.face);
        let found = point_triangle(point, a, b, c);
        let face = nearest.face as usize;
        let distance = found.distance();
        // A gap at rounding level has no direction worth the name, and which side of an edge it is on means nothing.
        let scale = (b - a).abs().max((c - a).abs()).max_element();
        let on_surface = distance <= ON_SURFACE * scale;
        let feature = if on_surface {
            feature_at(found.weights)
        } else {
            found.feature
        };
        let pseudo = match feature {
            Feature::Interior => self.face_normals[face],
            Feature::Side(k) => self.edge_normals[self.face_edges[face][k as usize] as usize],
            Feature::Corner(k) => self.vertex_normals[self.faces[face][k as usize] as usize],
        };
        let side = if found.gap.dot(pseudo) < 0.0 {
            -1.0
        } else {
            1.0
        };
        let towards = found.gap * (side / distance);
        let normal = if !on_surface && towards.is_finite() {
            towards
        } else if pseudo == Vec3::ZERO {
            // Nothing but degenerate faces around: any direction is as good, but it must be one.
            found.gap.try_normalize().unwrap_or(Vec3::Z)
        } else {
            pseudo
        };
        let [wa, wb, wc] = found.weights;
        Some(SurfacePoint {
            signed_distance: side * distance,
            position: a * wa + b * wb + c * wc,
            face: nearest.face,
            weights: found.weights,
            feature,
            normal,
        })
    }

    /// [`SurfaceDistance::closest`] for many points at once, in parallel.
    pub fn closest_all(
        &self,
        points: &[Vec3],
        max_distance: f64,
        out: &mut Vec<Option<SurfacePoint>>,
    ) {
        points
            .par_iter()
            .with_min_len(64)
            .map(|&p| self.closest(p, max_distance))
            .collect_into_vec(out);
    }
}

/// The feature a point of the triangle belongs to, by its weights alone.
fn feature_at(weights: [f64; 3]) -> Feature {
    let [a, b, c] = weights.map(|w| w > ON_SIDE);
    match (a, b, c) {
        (true, true, false) => Feature::Side(0),
        (false, true, true) => Feature::Side(1),
        (true, false, true) => Feature::Side(2),
        (true, false, false) => Feature::Corner(0),
        (false, true, false) => Feature::Corner(1),
        (false, false, true) => Feature::Corner(2),
        _ => Feature::Interior,
    }
}

/// Numbers the distinct sides of all faces; returns the number of each side and how many there are.
fn number_edges(faces: &[[u32; 3]]) -> (Vec<[u32; 3]>, usize) {
    let mut sides: Vec<([u32; 2], u32, u8)> = Vec::with_capacity(3 * faces.len());
    for (f, face) in faces.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (face[k], face[(k + 1) % 3]);
            sides.push(([a.min(b), a.max(b)], f as u32, k as u8));
        }
    }
    sides.sort_unstable();
    let mut numbers = vec![[0; 3]; faces.len()];
    let mut count = 0;
    for (i, side) in sides.iter().enumerate() {
        if i > 0 && sides[i - 1].0 != side.0 {
            count += 1;
        }
        numbers[side.1 as usize][side.2 as usize] = count;
    }
    (
        numbers,
        if sides.is_empty() {
            0
        } else {
            count as usize + 1
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let x = (0..8u32)
            .map(|i| {
                Vec3::new(
                    f64::from(i & 1),
                    f64::from(i >> 1 & 1),
                    f64::from(i >> 2 & 1),
                )
            })
            .collect();
        let quads = [
            [0, 2, 3, 1],
            [4, 5, 7, 6],
            [0, 1, 5, 4],
            [2, 6, 7, 3],
            [0, 4, 6, 2],
            [1, 3, 7, 5],
        ];
        let faces = quads
            .iter()
            .flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]])
            .collect();
        (x, faces)
    }

    /// Signed distance to the unit cube, in closed form.
    fn cube_distance(p: Vec3) -> f64 {
        let q = (p - 0.5).abs() - 0.5;
        q.max(Vec3::ZERO).length() + q.max_element().min(0.0)
    }

    #[test]
    fn cube_is_exact_everywhere() {
        let (x, faces) = cube();
        let surface = SurfaceDistance::new(&x, &faces).unwrap();
        let n = 17;
        for i in 0..n * n * n {
            let c = |k: i32| f64::from(k) / 8.0 - 0.5;
            let p = Vec3::new(c(i % n), c(i / n % n), c(i / n / n));
            let found = surface.closest(p, f64::INFINITY).unwrap();
            let expected = cube_distance(p);
            assert!(
                (found.signed_distance - expected).abs() < 1e-15,
                "{p} {found:?}"
            );
            assert!((found.normal.length() - 1.0).abs() < 1e-14);
            // The signed distance grows along the normal (kinks only where it is a maximum).
            if expected > -0.2 {
                let ahead = cube_distance(p + found.normal * 1e-6);
                assert!((ahead - expected - 1e-6).abs() < 1e-9, "{p} {found:?}");
            }
        }
        assert_eq!(surface.closest(Vec3::splat(9.0), 1.0), None);
        assert_eq!(surface.closest(Vec3::NAN, 1.0), None);
    }

    #[test]
    fn sharp_edges_have_the_right_side() {
        // A thin wedge: points beyond its edge lie behind the plane of one of the two faces.
        let x = [
            Vec3::new(0.0, 0.0, 0.0),
            Vec3::new(0.0, 1.0, 0.0),
            Vec3::new(-1.0, 0.5, 0.01),
            Vec3::new(-1.0, 0.5, -0.01),
        ];
        let surface = SurfaceDistance::new(&x, &[[0, 1, 2], [1, 0, 3]]).unwrap();
        for z in [-0.05, -0.001, 0.0, 0.001, 0.05] {
            let p = Vec3::new(0.1, 0.5, z);
            let found = surface.closest(p, 1.0).unwrap();
            assert!(found.signed_distance > 0.0, "{found:?}");
            assert!(
                found
                    .normal
                    .abs_diff_eq((p - Vec3::new(0.0, 0.5, 0.0)).normalize(), 1e-12)
            );
        }
    }

    #[test]
    fn open_sheet_moves_and_keeps_its_sides() {
        let mut x = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::new(1.0, 1.0, 0.0)];
        let faces = [[0, 1, 2], [2, 1, 3]];
        let mut surface = SurfaceDistance::new(&x, &faces).unwrap();
        let at = |s: &SurfaceDistance, z: f64| {
            s.closest(Vec3::new(0.5, 0.5, z), 9.0)
                .unwrap()
                .signed_distance
        };
        assert_eq!(at(&surface, 0.25), 0.25);
        assert_eq!(at(&surface, -0.25), -0.25);
        for v in &mut x {
            v.z = 1.0;
        }
        surface.update(&x).unwrap();
        assert_eq!(at(&surface, 0.25), -0.75);
        let on = surface.closest(Vec3::new(0.5, 0.5, 1.0), 9.0).unwrap();
        assert_eq!((on.signed_distance, on.normal), (0.0, Vec3::Z));
        // Degenerate surroundings still give a unit normal, and the mesh is not refused.
        let flat =
            SurfaceDistance::new(&[Vec3::ZERO, Vec3::X, Vec3::X * 2.0], &[[0, 1, 2]]).unwrap();
        let found = flat.closest(Vec3::X, 1.0).unwrap();
        assert_eq!(found.normal.length(), 1.0);
        assert!(SurfaceDistance::new(&[Vec3::NAN; 3], &[[0, 1, 2]]).is_err());
        let none = SurfaceDistance::new(&[], &[]).unwrap();
        assert_eq!(none.closest(Vec3::ZERO, f64::INFINITY), None);
    }
}
