//! Triangle meshes: data as read or made, cleaning with a report, and connectivity.

mod clean;
mod shapes;
mod topology;

pub(crate) use clean::usable;
pub use clean::{MeshError, Repair, clean};
pub(crate) use shapes::check_sizes;
pub use shapes::{Diagonals, ShapeError, disc, grid, sphere, tube, unstructured_grid};
pub use topology::{Edge, NONE, Topology};

use muslin_linalg::{Vec2, Vec3};

/// A surface as read from a file or made by a generator, before anything is known about its connectivity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SurfaceMesh {
    /// Vertex positions, m.
    pub positions: Vec<Vec3>,
    /// Vertex triples, counter-clockwise seen from the front.
    pub faces: Vec<[u32; 3]>,
    /// Material (texture) coordinates of each face's corners, m; absent if the surface has none.
    pub material: Option<Vec<[Vec2; 3]>>,
    /// Number that each vertex had in the file it came from; empty if unchanged.
    pub origin: Vec<u32>,
}

impl SurfaceMesh {
    /// Number that vertex `v` had in its file.
    pub fn original_index(&self, v: usize) -> u32 {
        self.origin.get(v).copied().unwrap_or(v as u32)
    }
}

/// Twice-area vector of a triangle: its direction is the normal, its length twice the area.
#[inline]
pub fn area_vector(a: Vec3, b: Vec3, c: Vec3) -> Vec3 {
    (b - a).cross(c - a)
}
