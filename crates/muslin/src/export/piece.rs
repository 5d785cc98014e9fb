//! One object of a frame, in the axes and units of the file.

use super::Job;
use crate::picture::smooth_normals;
use crate::record::{Frame, Split};
use muslin_linalg::Vec3;

pub(super) struct Piece<'a> {
    pub name: &'a str,
    pub cloth: bool,
    pub positions: Vec<Vec3>,
    /// Cloth only.
    pub velocities: Vec<Vec3>,
    /// One a vertex; empty if not wanted.
    pub normals: Vec<Vec3>,
    pub faces: &'a [[i32; 3]],
    /// Texture coordinates of each face's corners; empty if not wanted or not there.
    pub uv: &'a [[[f32; 2]; 3]],
}

/// The chosen objects of a frame, cloth before obstacles.
pub(super) fn pieces<'a>(job: &Job, frame: &'a Frame) -> Vec<Piece<'a>> {
    let chosen = |name: &String| job.objects.contains(name);
    let make = |name, cloth, positions: &[Vec3], faces: &'a [[i32; 3]]| {
        let normals = if job.options.normals {
            smooth_normals(positions, faces)
        } else {
            Vec::new()
        };
        Piece {
            name,
            cloth,
            positions: positions.iter().map(|p| job.placed(*p)).collect(),
            velocities: Vec::new(),
            normals: normals.into_iter().map(|n| job.turned(n)).collect(),
            faces,
            uv: &[],
        }
    };
    let mut all = Vec::new();
    for b in frame.bodies.iter().filter(|b| chosen(&b.name)) {
        let mut piece = make(&b.name, true, &b.positions, &b.faces);
        let velocity = |v: &[f32; 3]| job.placed(Vec3::from_array(v.map(f64::from)));
        piece.velocities = b.velocities.iter().map(velocity).collect();
        if job.options.uv {
            piece.uv = &b.material;
        }
        all.push(piece);
    }
    for o in frame.obstacles.iter().filter(|o| chosen(&o.name)) {
        all.push(make(&o.name, false, &o.positions, &o.faces));
    }
    all
}

impl Piece<'_> {
    /// Its mesh with one texture coordinate a vertex.
    pub fn split(&self) -> Split {
        Split::new(self.positions.len(), self.faces, self.uv)
    }
}
