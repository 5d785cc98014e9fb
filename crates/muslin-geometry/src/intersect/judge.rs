//! Whole meshes and scenes before the judge.

use super::{MAX_COORDINATE, flush, meet_beyond_shared, triangle};
use crate::bvh::{Bvh, FacePairs};
use crate::validate::{InputError, validate_magnitude};
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Candidate pairs per parallel task.
const CHUNK: usize = 1024;
/// How much the hierarchy may age before it is rebuilt; see [`Bvh::degradation`].
const MAX_DEGRADATION: f64 = 1.5;

/// A mesh that is judged again and again while it moves.
#[derive(Clone, Debug)]
pub struct MeshJudge {
    bvh: Bvh,
    faces: Vec<[u32; 3]>,
    /// Within the exact range.
    positions: Vec<Vec3>,
    candidates: FacePairs,
}

impl MeshJudge {
    /// Prepares a mesh.
    pub fn new(positions: &[Vec3], faces: &[[u32; 3]]) -> Result<Self, InputError> {
        validate_magnitude(positions, MAX_COORDINATE)?;
        Ok(Self {
            bvh: Bvh::new(positions, faces, &[])?,
            faces: faces.to_vec(),
            positions: positions.iter().copied().map(flush).collect(),
            candidates: FacePairs::default(),
        })
    }

    /// Moves the mesh. On an error it stays where it was.
    pub fn update(&mut self, positions: &[Vec3]) -> Result<(), InputError> {
        validate_magnitude(positions, MAX_COORDINATE)?;
        self.bvh.refit(positions, 0.0)?;
        if self.bvh.degradation() > MAX_DEGRADATION {
            self.bvh.rebuild();
        }
        self.positions.clear();
        self.positions.extend(positions.iter().copied().map(flush));
        Ok(())
    }

    /// All pairs of faces that intersect, smaller index first, in ascending order.
    pub fn self_intersections(&mut self) -> Vec<[u32; 2]> {
        self.bvh.self_face_pairs(&mut self.candidates);
        judge(&self.candidates.faces, |[f, g]| {
            let (f, g) = (self.faces[f as usize], self.faces[g as usize]);
            meet_beyond_shared(f, g, |v| self.positions[v as usize])
        })
    }

    /// All pairs of a face of this mesh and a face of another that intersect, in ascending order.
    ///
    /// The meshes share nothing, even if vertices have the same index.
    pub fn intersections_with(&mut self, other: &Self) -> Vec<[u32; 2]> {
        self.bvh.face_pairs_with(&other.bvh, &mut self.candidates);
        judge(&self.candidates.faces, |[f, g]| {
            triangle::triangles_meet(&self.corners(f), &other.corners(g))
        })
    }

    fn corners(&self, face: u32) -> triangle::Triangle {
        self.faces[face as usize].map(|v| self.positions[v as usize])
    }
}

/// All pairs of faces of one mesh that intersect, smaller index first, in ascending order.
pub fn self_intersections(
    positions: &[Vec3],
    faces: &[[u32; 3]],
) -> Result<Vec<[u32; 2]>, InputError> {
    Ok(MeshJudge::new(positions, faces)?.self_intersections())
}

/// All pairs of a face of one mesh and a face of another that intersect, in ascending order.
///
/// The meshes share nothing, even if vertices have the same index.
pub fn intersections_between(
    positions_a: &[Vec3],
    faces_a: &[[u32; 3]],
    positions_b: &[Vec3],
    faces_b: &[[u32; 3]],
) -> Result<Vec<[u32; 2]>, InputError> {
    let mut a = MeshJudge::new(positions_a, faces_a)?;
    let b = MeshJudge::new(positions_b, faces_b)?;
    Ok(a.intersections_with(&b))
}

/// One object of a scene.
#[derive(Clone, Copy, Debug)]
pub struct SceneMesh<'a> {
    /// Positions, in metres.
    pub positions: &'a [Vec3],
    /// Faces as indices into these positions.
    pub faces: &'a [[u32; 3]],
}

/// Two faces that intersect, each as `(object, face)`; the smaller object or, within one object, face comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crossing {
    /// First object and its face.
    pub a: (u32, u32),
    /// Second object and its face.
    pub b: (u32, u32),
}

/// All intersections of a whole scene, within and between its objects, in ascending order of objects and faces.
pub fn scene_intersections(scene: &[SceneMesh]) -> Result<Vec<Crossing>, InputError> {
    let mut judges = Vec::with_capacity(scene.len());
    for mesh in scene {
        judges.push(MeshJudge::new(mesh.positions, mesh.faces)?);
    }
    let mut found = Vec::new();
    for i in 0..judges.len() {
        let (before, after) = judges.split_at_mut(i + 1);
        let a = &mut before[i];
        let mut add = |j: usize, pairs: Vec<[u32; 2]>| {
            found.extend(pairs.into_iter().map(|[f, g]| Crossing {
                a: (i as u32, f),
                b: (j as u32, g),
            }));
        };
        add(i, a.self_intersections());
        for (k, b) in after.iter().enumerate() {
            add(i + 1 + k, a.intersections_with(b));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn judge(candidates: &[[u32; 2]], meet: impl Fn([u32; 2]) -> bool + Sync) -> Vec<[u32; 2]> {
    let mut found: Vec<[u32; 2]> = candidates
        .par_iter()
        .with_min_len(CHUNK)
        .copied()
        .filter(|&pair| meet(pair))
        .collect();
    found.par_sort_unstable();
    found
}
