//! The door for solids: what can be mended without changing the solid is mended and reported, the rest is refused with
//! the place.

use super::{Solid, TetMesh, quality, surface_faces};
use crate::mesh::{MeshError, Topology, usable};
use std::fmt;

/// Why a solid cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TetError {
    /// No tetrahedra at all.
    #[error("the mesh has no tetrahedra")]
    Empty,
    /// A tetrahedron names a vertex that does not exist.
    #[error(
        "tetrahedron {tetrahedron} names vertex {index}, but there are only {vertices} vertices"
    )]
    IndexOutOfRange {
        /// Tetrahedron, from 0.
        tetrahedron: usize,
        /// The index it names.
        index: u32,
        /// How many vertices there are.
        vertices: usize,
    },
    /// A coordinate is NaN, infinite or absurdly large.
    #[error("vertex {vertex} has a coordinate that is not a usable number: {value}")]
    BadCoordinate {
        /// Vertex, from 0.
        vertex: usize,
        /// The coordinate.
        value: f64,
    },
    /// A tetrahedron has no volume, or so little that nothing can be computed with it.
    #[error(
        "tetrahedron {tetrahedron} is flat: its quality is {quality:.1e} (1 is the regular one)"
    )]
    Flat {
        /// Tetrahedron, from 0.
        tetrahedron: usize,
        /// See [`quality`].
        quality: f64,
    },
    /// Two tetrahedra lie on the same side of the face they share: one of them is inside out.
    #[error("tetrahedra {} and {} lie on the same side of their common face: one of them is inverted", .tetrahedra[0], .tetrahedra[1])]
    Overlap {
        /// The two.
        tetrahedra: [usize; 2],
    },
    /// More than two tetrahedra share a face.
    #[error("{tetrahedra} tetrahedra share the face of vertices {}, {} and {}", .vertices[0], .vertices[1], .vertices[2])]
    SharedFace {
        /// The face.
        vertices: [u32; 3],
        /// How many have it.
        tetrahedra: usize,
    },
    /// The surface is not one that things can touch.
    #[error("its surface is not that of a solid: {0}")]
    Surface(MeshError),
    /// A surface that should be filled has an edge with one face only.
    #[error(
        "the surface is open: only one face has the edge between vertices {} and {}, and {open} edges are like that", .vertices[0], .vertices[1]
    )]
    Open {
        /// Ends of such an edge.
        vertices: [u32; 2],
        /// How many there are.
        open: usize,
    },
    /// A surface that should be filled crosses itself.
    #[error("the surface crosses itself: faces {} and {} have a point in common", .faces[0], .faces[1])]
    Crosses {
        /// Two faces that cross.
        faces: [u32; 2],
    },
    /// The wanted edge length does not suit the shape.
    #[error("{0}")]
    Size(String),
}

/// Something that was mended, for the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TetRepair {
    /// Tetrahedra whose corners were listed in the other order were turned.
    Turned(usize),
    /// Vertices that no tetrahedron uses were left out.
    DroppedVertices(usize),
}

impl fmt::Display for TetRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turned(n) => write!(f, "turned {n} tetrahedra that were listed inside out"),
            Self::DroppedVertices(n) => {
                write!(f, "left out {n} vertices that no tetrahedron uses")
            }
        }
    }
}

/// Tetrahedra of a lower quality than this make matrices that cannot be solved.
const FLAT: f64 = 1e-6;

/// Checks a solid, mends what can be mended, finds its surface and puts the surface's vertices first.
pub fn prepare(mesh: TetMesh) -> Result<Solid, TetError> {
    let mut mesh = mesh;
    let mut repairs = Vec::new();
    check_numbers(&mesh)?;
    let turned = turn(&mut mesh)?;
    if turned > 0 {
        repairs.push(TetRepair::Turned(turned));
    }
    let surface = surface_faces(&mesh.tetrahedra)?;
    let (mesh, surface, surface_vertices) = surface_first(&mesh, surface, &mut repairs);
    Topology::build(surface_vertices, &surface).map_err(|e| TetError::Surface(named(e, &mesh)))?;
    Ok(Solid {
        mesh,
        surface_vertices,
        surface,
        repairs,
    })
}

/// An error about the surface with the numbers that the file uses.
fn named(error: MeshError, mesh: &TetMesh) -> MeshError {
    match error {
        MeshError::NonManifoldEdge { vertices, faces } => MeshError::NonManifoldEdge {
            vertices: vertices.map(|v| mesh.original_index(v as usize)),
            faces,
        },
        other => other,
    }
}

fn check_numbers(mesh: &TetMesh) -> Result<(), TetError> {
    if mesh.tetrahedra.is_empty() {
        return Err(TetError::Empty);
    }
    for (vertex, p) in mesh.positions.iter().enumerate() {
        if let Some(&value) = p.to_array().iter().find(|c| !usable(**c)) {
            return Err(TetError::BadCoordinate { vertex, value });
        }
    }
    let vertices = mesh.positions.len();
    for (tetrahedron, corners) in mesh.tetrahedra.iter().enumerate() {
        if let Some(&index) = corners.iter().find(|v| **v as usize >= vertices) {
            return Err(TetError::IndexOutOfRange {
                tetrahedron,
                index,
                vertices,
            });
        }
    }
    Ok(())
}

/// Gives every tetrahedron a positive volume by the order of its corners; says how many were turned.
fn turn(mesh: &mut TetMesh) -> Result<usize, TetError> {
    let mut turned = 0;
    for t in 0..mesh.tetrahedra.len() {
        let quality = quality(mesh.corners(t));
        if quality.abs() < FLAT {
            return Err(TetError::Flat {
                tetrahedron: t,
                quality,
            });
        }
        if quality < 0.0 {
            mesh.tetrahedra[t].swap(2, 3);
            turned += 1;
        }
    }
    Ok(turned)
}

/// Renumbers so that vertices of the surface come first and unused ones are gone.
fn surface_first(
    mesh: &TetMesh,
    mut surface: Vec<[u32; 3]>,
    repairs: &mut Vec<TetRepair>,
) -> (TetMesh, Vec<[u32; 3]>, usize) {
    const UNUSED: u8 = 0;
    const INSIDE: u8 = 1;
    const SURFACE: u8 = 2;
    let n = mesh.positions.len();
    let mut place = vec![UNUSED; n];
    for v in mesh.tetrahedra.iter().flatten() {
        place[*v as usize] = INSIDE;
    }
    for v in surface.iter().flatten() {
        place[*v as usize] = SURFACE;
    }
    let of = |kind: u8| {
        let place = &place;
        (0..n).filter(move |v| place[*v] == kind)
    };
    let order: Vec<usize> = of(SURFACE).chain(of(INSIDE)).collect();
    let mut number = vec![u32::MAX; n];
    for (new, old) in order.iter().enumerate() {
        number[*old] = new as u32;
    }
    if order.len() < n {
        repairs.push(TetRepair::DroppedVertices(n - order.len()));
    }
    for v in surface.iter_mut().flatten() {
        *v = number[*v as usize];
    }
    let unchanged = order.iter().enumerate().all(|(new, old)| new == *old);
    let origin = if unchanged {
        mesh.origin.clone()
    } else {
        order.iter().map(|v| mesh.original_index(*v)).collect()
    };
    let renumbered = TetMesh {
        positions: order.iter().map(|v| mesh.positions[*v]).collect(),
        tetrahedra: mesh
            .tetrahedra
            .iter()
            .map(|t| t.map(|v| number[v as usize]))
            .collect(),
        origin,
    };
    (renumbered, surface, of(SURFACE).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use muslin_linalg::Vec3;

    fn one() -> TetMesh {
        TetMesh {
            positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z],
            tetrahedra: vec![[0, 1, 2, 3]],
            origin: Vec::new(),
        }
    }

    #[test]
    fn a_tetrahedron_has_four_faces_that_look_outward() {
        let solid = prepare(one()).unwrap();
        assert_eq!((solid.surface.len(), solid.surface_vertices), (4, 4));
        let p = |v: u32| solid.mesh.positions[v as usize];
        let enclosed: f64 = solid
            .surface
            .iter()
            .map(|f| p(f[0]).dot(p(f[1]).cross(p(f[2]))) / 6.0)
            .sum();
        assert!((enclosed - 1.0 / 6.0).abs() < 1e-15, "{enclosed}");
        assert!(solid.repairs.is_empty());
    }

    #[test]
    fn order_is_mended_and_reported() {
        let mut mesh = one();
        mesh.tetrahedra[0].swap(0, 1);
        mesh.positions.insert(0, Vec3::splat(9.0));
        mesh.tetrahedra[0] = mesh.tetrahedra[0].map(|v| v + 1);
        let solid = prepare(mesh).unwrap();
        assert!((solid.mesh.volume() - 1.0 / 6.0).abs() < 1e-15);
        let mended = [TetRepair::Turned(1), TetRepair::DroppedVertices(1)];
        assert_eq!(solid.repairs, mended);
        assert_eq!(solid.mesh.origin, [1, 2, 3, 4]);
    }

    #[test]
    fn what_is_no_solid_is_refused() {
        assert_eq!(prepare(TetMesh::default()), Err(TetError::Empty));
        let mut mesh = one();
        mesh.positions[3] = Vec3::new(0.3, 0.3, 0.0);
        assert!(matches!(prepare(mesh), Err(TetError::Flat { .. })));
        let mut mesh = one();
        mesh.positions[3].z = f64::NAN;
        assert!(matches!(
            prepare(mesh),
            Err(TetError::BadCoordinate { vertex: 3, .. })
        ));
        let mut mesh = one();
        mesh.tetrahedra[0][2] = 7;
        assert!(matches!(
            prepare(mesh),
            Err(TetError::IndexOutOfRange { index: 7, .. })
        ));
        // A second one on the same side of a face: it should be on the other.
        let mut mesh = one();
        mesh.positions.push(Vec3::new(0.2, 0.2, 0.5));
        mesh.tetrahedra.push([0, 1, 2, 4]);
        assert!(matches!(
            prepare(mesh.clone()),
            Err(TetError::Overlap { .. })
        ));
        mesh.positions[4].z = -0.5;
        assert!(prepare(mesh.clone()).is_ok());
        mesh.positions.push(Vec3::new(0.2, 0.2, 0.7));
        mesh.tetrahedra.push([0, 1, 2, 5]);
        assert!(matches!(
            prepare(mesh),
            Err(TetError::SharedFace { tetrahedra: 3, .. })
        ));
    }

    #[test]
    fn two_that_touch_in_an_edge_are_refused_with_its_numbers() {
        let mut mesh = one();
        mesh.positions.push(Vec3::new(-1.0, 0.0, 0.0));
        mesh.positions.push(Vec3::new(0.0, -1.0, 0.0));
        mesh.tetrahedra.push([0, 3, 4, 5]);
        let error = prepare(mesh).unwrap_err();
        let edge = MeshError::NonManifoldEdge {
            vertices: [0, 3],
            faces: 4,
        };
        assert_eq!(error, TetError::Surface(edge));
    }
}
