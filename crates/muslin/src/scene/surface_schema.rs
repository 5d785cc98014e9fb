//! A surface given vertex by vertex, for scenes that programs write.

use super::SceneError;
use super::schema::Triple;
use muslin_geometry::mesh::SurfaceMesh;
use muslin_linalg::{Vec2, Vec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A surface given vertex by vertex.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SurfaceSpec {
    /// Positions of the vertices, m.
    pub positions: Vec<Triple>,
    /// Three vertices each, counted from 0, counter-clockwise seen from the front.
    pub faces: Vec<[u32; 3]>,
    /// Texture coordinates of each vertex, m: the rest shape of cloth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texture: Option<Vec<[f64; 2]>>,
}

impl SurfaceSpec {
    /// The surface, before cleaning; `key` is where it stands in the scene.
    pub(crate) fn mesh(&self, key: &str) -> Result<SurfaceMesh, SceneError> {
        let vertices = self.positions.len();
        if let Some(texture) = &self.texture
            && texture.len() != vertices
        {
            return Err(SceneError::at(
                format!("{key}.texture"),
                format!(
                    "there are {} texture coordinates for {vertices} vertices",
                    texture.len()
                ),
                "give one pair for each vertex",
            ));
        }
        let wrong = |f: &[u32; 3]| f.iter().any(|v| *v as usize >= vertices);
        if let Some(i) = self.faces.iter().position(wrong) {
            return Err(SceneError::at(
                format!("{key}.faces.{i}"),
                format!("face {i} names a vertex that does not exist"),
                format!("there are {vertices} vertices, numbered from 0"),
            ));
        }
        let material = self.texture.as_ref().map(|texture| {
            let corner = |v: u32| Vec2::from_array(texture[v as usize]);
            self.faces.iter().map(|f| f.map(corner)).collect()
        });
        Ok(SurfaceMesh {
            positions: self
                .positions
                .iter()
                .copied()
                .map(Vec3::from_array)
                .collect(),
            faces: self.faces.clone(),
            material,
            origin: Vec::new(),
        })
    }
}
