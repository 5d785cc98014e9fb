//! Tetrahedral meshes: solids as read or made, checking with a report, their surface, and procedural ones.

mod check;
mod fill;
mod shapes;
mod surface;

pub use check::{TetError, TetRepair, prepare};
pub use fill::{ball, fill, fill_surface};
pub use shapes::{bar, block, hexahedron, torus};
pub use surface::surface_faces;

use muslin_linalg::Vec3;

/// A solid as read from a file or made by a generator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TetMesh {
    /// Vertex positions, m.
    pub positions: Vec<Vec3>,
    /// Vertex quadruples; after [`prepare`] the fourth lies on the front side of the other three, seen from where these
    /// run clockwise, so that volumes are positive.
    pub tetrahedra: Vec<[u32; 4]>,
    /// Number that each vertex had in the file it came from; empty if unchanged.
    pub origin: Vec<u32>,
}

/// A solid that was checked: all volumes positive, surface vertices first.
#[derive(Clone, Debug, PartialEq)]
pub struct Solid {
    /// The mesh.
    pub mesh: TetMesh,
    /// Its first vertices, this many, are on the surface; the rest is inside.
    pub surface_vertices: usize,
    /// Vertex triples of the surface, counter-clockwise seen from outside.
    pub surface: Vec<[u32; 3]>,
    /// What was mended.
    pub repairs: Vec<TetRepair>,
}

/// Volume of a tetrahedron, m³; negative if it is inside out.
#[inline]
pub fn volume(corners: [Vec3; 4]) -> f64 {
    let [a, b, c, d] = corners;
    (b - a).cross(c - a).dot(d - a) / 6.0
}

/// How well a tetrahedron is shaped: 1 for the regular one, 0 for a flat one, negative if inside out. It is the volume
/// over that of the regular tetrahedron with the same mean squared edge.
pub fn quality(corners: [Vec3; 4]) -> f64 {
    let [a, b, c, d] = corners;
    let edges = [a - b, a - c, a - d, b - c, b - d, c - d];
    let mean = edges.iter().map(|e| e.length_squared()).sum::<f64>() / 6.0;
    if mean > 0.0 {
        // The regular tetrahedron of edge l has the volume l³ / (6 √2).
        volume(corners) * 72f64.sqrt() / mean.powf(1.5)
    } else {
        0.0
    }
}

impl TetMesh {
    /// Corners of a tetrahedron, m.
    pub fn corners(&self, t: usize) -> [Vec3; 4] {
        self.tetrahedra[t].map(|v| self.positions[v as usize])
    }

    /// Volume of all tetrahedra together, m³.
    pub fn volume(&self) -> f64 {
        (0..self.tetrahedra.len())
            .map(|t| volume(self.corners(t)))
            .sum()
    }

    /// Quality of the worst tetrahedron; see [`quality`].
    pub fn worst_quality(&self) -> f64 {
        (0..self.tetrahedra.len())
            .map(|t| quality(self.corners(t)))
            .fold(f64::INFINITY, f64::min)
    }

    /// Number that vertex `v` had in its file.
    pub fn original_index(&self, v: usize) -> u32 {
        self.origin.get(v).copied().unwrap_or(v as u32)
    }
}
