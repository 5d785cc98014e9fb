//! The door for meshes: what can be mended without changing the surface is mended and reported, the rest is
//! refused with the place.

use super::{NONE, SurfaceMesh, Topology, area_vector};
use std::fmt;

/// Why a mesh cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// No faces at all, or none left after cleaning.
    #[error("the mesh has no triangles with an area")]
    Empty,
    /// A face names a vertex that does not exist.
    #[error("face {face} names vertex {index}, but there are only {vertices} vertices")]
    IndexOutOfRange {
        /// Face number, from 0.
        face: usize,
        /// The index it names.
        index: u32,
        /// How many vertices there are.
        vertices: usize,
    },
    /// A coordinate is NaN, infinite or absurdly large.
    #[error("vertex {vertex} has a coordinate that is not a usable number: {value}")]
    BadCoordinate {
        /// Vertex number, from 0.
        vertex: usize,
        /// The coordinate.
        value: f64,
    },
    /// Three or more faces meet in one edge.
    #[error("{faces} faces share the edge between vertices {} and {}; a surface can have at most two", .vertices[0], .vertices[1])]
    NonManifoldEdge {
        /// The edge's ends.
        vertices: [u32; 2],
        /// How many faces have it.
        faces: usize,
    },
    /// The faces round a vertex fall into several fans that touch only in that vertex.
    #[error(
        "at vertex {vertex} two parts of the surface touch in a single point; give each part its own vertex"
    )]
    NonManifoldVertex {
        /// The vertex.
        vertex: u32,
    },
    /// The two faces cannot be oriented alike (the surface is one-sided, like a Möbius strip).
    #[error("faces {} and {} cannot be given a common front side; the surface is one-sided: cut it open along a line", .faces[0], .faces[1])]
    Orientation {
        /// The two faces.
        faces: [usize; 2],
    },
    /// A triangle has no area in material space.
    #[error(
        "face {face} has no area in texture space (its corners are in a line there), so it has no rest shape"
    )]
    FlatRestShape {
        /// The face.
        face: usize,
    },
}

/// Something that was mended, for the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Faces without area were left out.
    DroppedDegenerate(usize),
    /// Copies of faces that were there already were left out.
    DroppedDuplicates(usize),
    /// Faces whose corners ran the other way than their neighbours' were turned.
    Flipped(usize),
    /// Vertices that no face uses were left out.
    DroppedVertices(usize),
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DroppedDegenerate(n) => write!(f, "left out {n} triangles without area"),
            Self::DroppedDuplicates(n) => write!(f, "left out {n} repeated triangles"),
            Self::Flipped(n) => write!(f, "turned over {n} triangles that faced the wrong way"),
            Self::DroppedVertices(n) => write!(f, "left out {n} vertices that no triangle uses"),
        }
    }
}

/// Coordinates beyond this (m) lose too many digits for contact to mean anything.
const LARGEST_COORDINATE: f64 = 1e6;

/// Whether a coordinate is a number of sensible size; NaN is not.
pub(crate) fn usable(coordinate: f64) -> bool {
    coordinate.abs() <= LARGEST_COORDINATE
}

/// A triangle is without area if its height is below this fraction of its longest side.
const FLAT: f64 = 1e-9;

/// Checks a mesh and mends what can be mended.
pub fn clean(mesh: SurfaceMesh) -> Result<(SurfaceMesh, Vec<Repair>), MeshError> {
    let mut mesh = mesh;
    let mut repairs = Vec::new();
    check_numbers(&mesh)?;
    drop_faces(&mut mesh, &mut repairs)?;
    let flipped = orient(&mut mesh)?;
    if flipped > 0 {
        repairs.push(Repair::Flipped(flipped));
    }
    drop_unused_vertices(&mut mesh, &mut repairs);
    let topology = Topology::build(mesh.positions.len(), &mesh.faces)?;
    single_fans(&topology)?;
    if let Some(material) = &mesh.material {
        for (face, m) in material.iter().enumerate() {
            let (a, b) = (m[1] - m[0], m[2] - m[0]);
            if a.perp_dot(b).abs() <= FLAT * a.length_squared().max(b.length_squared()) {
                return Err(MeshError::FlatRestShape { face });
            }
        }
    }
    Ok((mesh, repairs))
}

fn check_numbers(mesh: &SurfaceMesh) -> Result<(), MeshError> {
    let vertices = mesh.positions.len();
    for (vertex, p) in mesh.positions.iter().enumerate() {
        if let Some(&value) = p.to_array().iter().find(|c| !usable(**c)) {
            return Err(MeshError::BadCoordinate { vertex, value });
        }
    }
    for (face, corners) in mesh.faces.iter().enumerate() {
        if let Some(&index) = corners.iter().find(|v| **v as usize >= vertices) {
            return Err(MeshError::IndexOutOfRange {
                face,
                index,
                vertices,
            });
        }
    }
    for (face, m) in mesh.material.iter().flatten().enumerate() {
        if let Some(value) = m.iter().flat_map(|p| [p.x, p.y]).find(|c| !usable(*c)) {
            return Err(MeshError::BadCoordinate {
                vertex: mesh.faces[face][0] as usize,
                value,
            });
        }
    }
    Ok(())
}

fn drop_faces(mesh: &mut SurfaceMesh, repairs: &mut Vec<Repair>) -> Result<(), MeshError> {
    let flat = |f: &[u32; 3]| {
        let [a, b, c] = f.map(|v| mesh.positions[v as usize]);
        let longest = (b - a)
            .length_squared()
            .max((c - a).length_squared())
            .max((c - b).length_squared());
        area_vector(a, b, c).length() <= FLAT * longest
    };
    let mut order: Vec<usize> = (0..mesh.faces.len()).collect();
    let sorted = |f: &[u32; 3]| {
        let mut s = *f;
        s.sort_unstable();
        s
    };
    order.sort_by_key(|f| (sorted(&mesh.faces[*f]), *f));
    let mut keep: Vec<bool> = mesh.faces.iter().map(|f| !flat(f)).collect();
    let degenerate = keep.iter().filter(|k| !**k).count();
    let mut duplicates = 0;
    for pair in order.windows(2) {
        if keep[pair[1]] && sorted(&mesh.faces[pair[0]]) == sorted(&mesh.faces[pair[1]]) {
            keep[pair[1]] = false;
            duplicates += 1;
        }
    }
    let retain = |i: &mut usize| {
        *i += 1;
        keep[*i - 1]
    };
    let mut i = 0;
    mesh.faces.retain(|_| retain(&mut i));
    let mut i = 0;
    if let Some(material) = &mut mesh.material {
        material.retain(|_| retain(&mut i));
    }
    if degenerate > 0 {
        repairs.push(Repair::DroppedDegenerate(degenerate));
    }
    if duplicates > 0 {
        repairs.push(Repair::DroppedDuplicates(duplicates));
    }
    if mesh.faces.is_empty() {
        Err(MeshError::Empty)
    } else {
        Ok(())
    }
}

/// Turns faces so that each connected part runs one way; the first face of a part decides.
fn orient(mesh: &mut SurfaceMesh) -> Result<usize, MeshError> {
    let mut sides: Vec<(u32, u32, u32)> = Vec::with_capacity(3 * mesh.faces.len());
    for (f, face) in mesh.faces.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (face[k], face[(k + 1) % 3]);
            sides.push((a.min(b), a.max(b), f as u32));
        }
    }
    sides.sort_unstable();
    let mut neighbours = vec![Vec::new(); mesh.faces.len()];
    for group in sides.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
        match group {
            [_] => {}
            [a, b] => {
                neighbours[a.2 as usize].push(b.2);
                neighbours[b.2 as usize].push(a.2);
            }
            more => {
                return Err(MeshError::NonManifoldEdge {
                    vertices: [more[0].0, more[0].1],
                    faces: more.len(),
                });
            }
        }
    }
    let runs_along =
        |face: &[u32; 3], a: u32, b: u32| (0..3).any(|k| face[k] == a && face[(k + 1) % 3] == b);
    // An edge both faces run along the same way means that one of them is wrong.
    let disagree = |f: &[u32; 3], g: &[u32; 3]| (0..3).any(|k| runs_along(g, f[k], f[(k + 1) % 3]));
    let mut done = vec![false; mesh.faces.len()];
    let mut flipped = 0;
    for seed in 0..mesh.faces.len() {
        if std::mem::replace(&mut done[seed], true) {
            continue;
        }
        let mut front = vec![seed];
        while let Some(f) = front.pop() {
            for &g in &neighbours[f] {
                let g = g as usize;
                let wrong = disagree(&mesh.faces[f], &mesh.faces[g]);
                if done[g] {
                    if wrong {
                        return Err(MeshError::Orientation {
                            faces: [f.min(g), f.max(g)],
                        });
                    }
                    continue;
                }
                if wrong {
                    mesh.faces[g].swap(1, 2);
                    if let Some(material) = &mut mesh.material {
                        material[g].swap(1, 2);
                    }
                    flipped += 1;
                }
                done[g] = true;
                front.push(g);
            }
        }
    }
    Ok(flipped)
}

fn drop_unused_vertices(mesh: &mut SurfaceMesh, repairs: &mut Vec<Repair>) {
    let mut new_index = vec![NONE; mesh.positions.len()];
    for v in mesh.faces.iter().flatten() {
        new_index[*v as usize] = 0;
    }
    let unused = new_index.iter().filter(|i| **i == NONE).count();
    if unused == 0 {
        return;
    }
    repairs.push(Repair::DroppedVertices(unused));
    let mut origin = Vec::new();
    let mut positions = Vec::new();
    for (v, index) in new_index.iter_mut().enumerate() {
        if *index != NONE {
            *index = positions.len() as u32;
            positions.push(mesh.positions[v]);
            origin.push(mesh.original_index(v));
        }
    }
    for v in mesh.faces.iter_mut().flatten() {
        *v = new_index[*v as usize];
    }
    mesh.positions = positions;
    mesh.origin = origin;
}

/// Round each vertex, the faces must form one fan or ring.
fn single_fans(topology: &Topology) -> Result<(), MeshError> {
    for v in 0..topology.vertices() {
        let around = topology.faces_of(v);
        let mut reached = vec![around[0] as usize];
        let mut next = 0;
        while next < reached.len() {
            let f = reached[next];
            next += 1;
            for k in 0..3 {
                if topology.faces[f][k] as usize == v {
                    continue;
                }
                if let Some(g) = topology.neighbour(f, k)
                    && topology.faces[g].contains(&(v as u32))
                    && !reached.contains(&g)
                {
                    reached.push(g);
                }
            }
        }
        if reached.len() != around.len() {
            return Err(MeshError::NonManifoldVertex { vertex: v as u32 });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use muslin_linalg::Vec3;

    fn square() -> SurfaceMesh {
        SurfaceMesh {
            positions: vec![Vec3::ZERO, Vec3::X, Vec3::X + Vec3::Y, Vec3::Y],
            faces: vec![[0, 1, 2], [0, 2, 3]],
            ..Default::default()
        }
    }

    #[test]
    fn mends_what_can_be_mended() {
        let mut mesh = square();
        mesh.positions.insert(0, Vec3::Z);
        mesh.faces = vec![[1, 2, 3], [1, 4, 3], [1, 2, 3], [2, 2, 3]];
        let (mesh, repairs) = clean(mesh).unwrap();
        assert_eq!(
            repairs,
            [
                Repair::DroppedDegenerate(1),
                Repair::DroppedDuplicates(1),
                Repair::Flipped(1),
                Repair::DroppedVertices(1)
            ]
        );
        assert_eq!(mesh.faces, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(mesh.original_index(0), 1);
    }

    #[test]
    fn refuses_the_rest_with_the_place() {
        let mut nan = square();
        nan.positions[2].y = f64::NAN;
        assert!(matches!(
            clean(nan),
            Err(MeshError::BadCoordinate { vertex: 2, .. })
        ));

        let mut out = square();
        out.faces[1][2] = 9;
        assert!(matches!(
            clean(out),
            Err(MeshError::IndexOutOfRange {
                face: 1,
                index: 9,
                vertices: 4
            })
        ));

        let bow_tie = SurfaceMesh {
            positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y, -Vec3::X, -Vec3::Y],
            faces: vec![[0, 1, 2], [0, 3, 4]],
            ..Default::default()
        };
        assert_eq!(
            clean(bow_tie).unwrap_err(),
            MeshError::NonManifoldVertex { vertex: 0 }
        );

        // Five triangles in a ring with an odd number of half twists.
        let ring = |i: usize| {
            Vec3::new(
                (i as f64 * 1.26).cos(),
                (i as f64 * 1.26).sin(),
                (i % 2) as f64,
            )
        };
        let moebius = SurfaceMesh {
            positions: (0..5).map(ring).collect(),
            faces: (0..5).map(|i| [i, (i + 1) % 5, (i + 2) % 5]).collect(),
            ..Default::default()
        };
        assert!(matches!(clean(moebius), Err(MeshError::Orientation { .. })));
        assert_eq!(clean(SurfaceMesh::default()).unwrap_err(), MeshError::Empty);
    }
}
