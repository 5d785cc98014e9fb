//! Soft bodies in a scene file: shape, material and place.

use super::friction_schema::FrictionValue;
use super::schema::{Rotation, Triple, one};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

/// A soft body: a solid of tetrahedra. Exactly one of `box`, `hexahedron`, `ball`, `torus`, `bar`, `mesh` or `fill`;
/// `material`, or at least `density` and `young`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Soft {
    /// A block with edges along the axes, centred on the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#box: Option<SoftBox>,
    /// A solid between eight corners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hexahedron: Option<SoftHexahedron>,
    /// A ball round the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ball: Option<SoftBall>,
    /// A ring round the z axis, centred on the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torus: Option<SoftTorus>,
    /// A round bar along the x axis, centred on the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bar: Option<SoftBar>,
    /// A file of tetrahedra, relative to the scene file: Gmsh (.msh, ASCII, format 2 or 4) or TetGen (.node, with the
    /// .ele of the same name beside it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// A closed surface that is filled with tetrahedra.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<SoftFill>,
    /// Size factor; applied first, also to the rest shape.
    #[serde(default = "one")]
    pub scale: f64,
    /// Rotation; applied after scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotate: Option<Rotation>,
    /// Displacement, m; applied last.
    #[serde(default)]
    pub translate: Triple,
    /// Copies of the shape in rows, columns and layers. Together they are one body of pieces that do not hang together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
    /// A solid that comes with Muslin, such as `rubber`. The keys below change single numbers of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub material: Option<String>,
    /// Mass per volume, kg/m³.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// Young's modulus, Pa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub young: Option<f64>,
    /// Poisson ratio; 0.3 without a material. Above 0.45 tetrahedra become much too stiff in bending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poisson: Option<f64>,
    /// Kelvin-Voigt damping time, s: a strain rate of 1/s stresses like a strain of this much. 0.002 without a material.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damping: Option<f64>,
    /// Distance that its surface keeps from itself and, half of it, from obstacles, m; from other bodies half of it plus
    /// half of theirs. The default is 1 mm, or a tenth of the shortest edge of its surface if that is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thickness: Option<f64>,
    /// Friction on itself, on other bodies (the smaller of both counts) and on obstacles that have none of their own. Its
    /// warp is the x direction of the shape, along the surface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friction: Option<FrictionValue>,
    /// Initial velocity, m/s.
    #[serde(default)]
    pub velocity: Triple,
    /// Initial angular velocity about the centre of mass, rad/s.
    #[serde(default)]
    pub angular_velocity: Triple,
}

/// Copies of a shape, side by side.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// Number along x, y and z, counted from the place of the shape itself.
    pub count: [usize; 3],
    /// Distance from each to the next, m.
    pub spacing: Triple,
    /// Rotation of each about the centre of its mass against the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Rotation>,
}

/// A block of cubes. Give `cells` or `edge`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftBox {
    /// Lengths along x, y and z, m.
    pub size: Triple,
    /// Cubes along x, y and z; each becomes six tetrahedra.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<[usize; 3]>,
    /// Wanted edge length, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<f64>,
}

/// A solid between eight corners, such as a stone of an arch.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftHexahedron {
    /// Corners, m: the four of the bottom counter-clockwise seen from above, then those above them.
    pub corners: [Triple; 8],
    /// Cells from the first corner to the second, the fourth and the fifth; each becomes six tetrahedra.
    pub cells: [usize; 3],
}

/// A ball.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftBall {
    /// Radius, m.
    pub radius: f64,
    /// Wanted edge length, m.
    pub edge: f64,
}

/// A ring.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftTorus {
    /// Radius of the circle in the middle of the tube, m.
    pub radius: f64,
    /// Radius of the tube, m.
    pub tube: f64,
    /// Wanted edge length, m.
    pub edge: f64,
}

/// A round bar.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftBar {
    /// Radius, m.
    pub radius: f64,
    /// Length, m.
    pub length: f64,
    /// Wanted edge length, m.
    pub edge: f64,
}

/// A closed surface, filled with tetrahedra. Edges sharper than the tetrahedra are blunted.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftFill {
    /// A closed surface (.obj or .ply), relative to the scene file.
    pub mesh: String,
    /// Wanted edge length, m, in the units of the file (before `scale`).
    pub edge: f64,
}

/// Tells editors of the other word for the key `cloth`, which the derived schema does not know of.
pub(super) fn cloth_or_soft(schema: &mut Schema) {
    if let Some(keys) = schema.get_mut("properties").and_then(|p| p.as_object_mut())
        && let Some(cloth) = keys.get("cloth").cloned()
    {
        keys.insert("soft".into(), cloth);
    }
    if let Some(required) = schema.get_mut("required").and_then(|r| r.as_array_mut()) {
        required.retain(|key| key != "cloth");
    }
}
