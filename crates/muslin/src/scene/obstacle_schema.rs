//! The `[obstacle.NAME]` sections of a scene file, key by key.

use super::friction_schema::FrictionValue;
use super::schema::{Keyframe, PathSpec, Rotation, Triple, one};
use super::surface_schema::SurfaceSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that cloth meets and does not move: exactly one of `plane`, `box`, `sphere`, `capsule`, `cylinder`, `cone`,
/// `torus`, `mesh`, `surface` or `sequence`; at most one of `keyframes` and `path`, else it stays where it is.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObstacleSpec {
    /// Everything below an endless plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plane: Option<PlaneSpec>,
    /// A solid box, centred on the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#box: Option<BlockSpec>,
    /// A solid ball round the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sphere: Option<BallSpec>,
    /// A solid cylinder with round ends along the z axis, centred on the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<RodSpec>,
    /// A solid cylinder with flat ends along the z axis, centred on the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cylinder: Option<RodSpec>,
    /// A solid cone along the z axis, its tip up, centred on the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cone: Option<ConeSpec>,
    /// A solid ring round the z axis, centred on the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torus: Option<TorusSpec>,
    /// A mesh file (.obj or .ply), relative to the scene file. It may be thin and open; cloth stays on the side on
    /// which it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// Vertices and faces, given here; like a mesh from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<SurfaceSpec>,
    /// Mesh files of the same connectivity, passed through smoothly in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<SequenceSpec>,
    /// Friction with everything that touches it, unless a `[[friction]]` says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friction: Option<FrictionValue>,
    /// What its surface is made of: a name for `[[friction]]` and for the table that comes with Muslin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub material: Option<String>,
    /// Size factor; applied first.
    #[serde(default = "one")]
    pub scale: f64,
    /// Rotation; applied after scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotate: Option<Rotation>,
    /// Displacement, m; applied last.
    #[serde(default)]
    pub translate: Triple,
    /// Displacement, rotation and size over time, smooth between keys, at rest before the first and after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyframes: Option<Vec<Keyframe>>,
    /// Displacement as formulas of `t`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathSpec>,
    /// Point of the scene about which keyframes rotate and scale; the default is the middle of the obstacle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pivot: Option<Triple>,
}

/// Everything below a plane.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PlaneSpec {
    /// A point of the plane, m.
    pub point: Triple,
    /// Direction out of the solid side.
    pub normal: Triple,
    /// Side of the square that is drawn round the point, m; the plane itself has no end.
    pub size: f64,
}

impl Default for PlaneSpec {
    fn default() -> Self {
        Self {
            point: [0.0; 3],
            normal: [0.0, 0.0, 1.0],
            size: 20.0,
        }
    }
}

/// A solid box.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockSpec {
    /// Lengths along x, y and z, m.
    pub size: Triple,
}

/// A solid ball.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BallSpec {
    /// Radius, m.
    pub radius: f64,
}

/// A solid rod.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RodSpec {
    /// Radius, m.
    pub radius: f64,
    /// Length, m; for a capsule, between the centres of its round ends.
    pub length: f64,
}

/// A solid cone.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConeSpec {
    /// Radius of the base, m.
    pub radius: f64,
    /// Height, m.
    pub height: f64,
}

/// A solid ring.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TorusSpec {
    /// Radius of the circle in the middle of the tube, m.
    pub radius: f64,
    /// Radius of the tube, m; smaller than `radius`.
    pub tube: f64,
}

/// Mesh files of the same connectivity: exactly one of `files` and `pattern`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SequenceSpec {
    /// The files in order (.obj or .ply), relative to the scene file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// A file name in which `#` stands for digits, such as `walk/body_####.obj`: all files of that form, by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Meshes a second.
    pub frame_rate: f64,
    /// Time of the first mesh, s.
    #[serde(default)]
    pub start: f64,
}
