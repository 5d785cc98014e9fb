//! A triangle mesh as an obstacle: thin, open and non-manifold ones too.

use super::solids::at_rest;
use super::{Nature, Obstacle, ObstaclePoint};
use muslin_geometry::InputError;
use muslin_geometry::distance::SurfaceDistance;
use muslin_linalg::Vec3;

/// A mesh at rest.
#[derive(Clone, Debug)]
pub struct MeshObstacle {
    surface: SurfaceDistance,
}

impl MeshObstacle {
    /// Front sides are where the corners run counter-clockwise.
    pub fn new(positions: &[Vec3], faces: &[[u32; 3]]) -> Result<Self, InputError> {
        Ok(Self {
            surface: SurfaceDistance::new(positions, faces)?,
        })
    }
}

impl Obstacle for MeshObstacle {
    fn closest(&self, point: Vec3, _time: f64, within: f64) -> Option<ObstaclePoint> {
        let found = self.surface.closest(point, within)?;
        Some(at_rest(found.position, found.normal, found.signed_distance))
    }

    fn faces(&self) -> &[[u32; 3]] {
        self.surface.faces()
    }

    fn positions(&self, _time: f64, out: &mut Vec<Vec3>) {
        out.extend_from_slice(self.surface.positions());
    }

    fn velocities(&self, _time: f64, out: &mut Vec<Vec3>) {
        out.resize(out.len() + self.surface.positions().len(), Vec3::ZERO);
    }

    fn nature(&self) -> Nature {
        Nature::Mesh
    }

    fn moves(&self) -> bool {
        false
    }
}
