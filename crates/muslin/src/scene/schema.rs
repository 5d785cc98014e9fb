//! The scene file, key by key. The comments here are the reference: the schema for editors is made from them.

use super::friction_schema::{FrictionPair, FrictionValue};
use super::measure_schema::Measure;
use super::obstacle_schema::ObstacleSpec;
use super::soft_schema::{Soft, cloth_or_soft};
use super::solver_schema::Solver;
use super::surface_schema::SurfaceSpec;
use crate::material::Fabric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A point, direction or velocity: x, y, z. Gravity decides what is down; pictures take z as up.
pub type Triple = [f64; 3];

/// A Muslin scene. All units are SI: metres, kilograms, seconds; angles in degrees where the key says so.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SceneFile {
    /// What the scene shows, in a line.
    #[serde(default)]
    pub description: String,
    /// What is written and how often.
    #[serde(default)]
    pub output: Output,
    /// How time is stepped.
    #[serde(default)]
    pub solver: Solver,
    /// What meets what, and how.
    #[serde(default)]
    pub contact: ContactSpec,
    /// What to do if things cross each other at the start.
    #[serde(default)]
    pub start: StartPolicy,
    /// Acceleration of gravity, m/s².
    #[serde(default = "earth")]
    pub gravity: Triple,
    /// Air that moves or resists. Without this section there is no air.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wind: Option<WindSpec>,
    /// Fabrics defined in this scene, by name; they come before shipped ones of the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fabric: BTreeMap<String, Fabric>,
    /// Pieces of cloth, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cloth: BTreeMap<String, Cloth>,
    /// Soft bodies, by name; cloth and soft bodies have different names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub soft: BTreeMap<String, Soft>,
    /// Vertices that are held or led, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pin: BTreeMap<String, Pin>,
    /// Things that cloth meets and does not move, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub obstacle: BTreeMap<String, ObstacleSpec>,
    /// Friction of pairs, by names of objects, fabrics, fibres or materials; it comes before the `friction` of objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub friction: Vec<FrictionPair>,
    /// Forces on vertices, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub force: BTreeMap<String, PointForce>,
    /// What is measured, and what is expected of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measure: Vec<Measure>,
    /// View for pictures; the default frames the motion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub camera: Option<Camera>,
}

fn earth() -> Triple {
    [0.0, 0.0, -9.81]
}

/// What to do if things cross each other at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StartPolicy {
    /// Say where, and do not run.
    #[default]
    Refuse,
    /// Part them first; refuse if that fails.
    Untangle,
    /// Run, and leave the pairs that cross out of contact until they have parted.
    IgnorePairs,
}

/// What is written and how often.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Frames to simulate after the initial one.
    pub frames: usize,
    /// Frames a second.
    pub frame_rate: f64,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            frames: 120,
            frame_rate: 60.0,
        }
    }
}

/// What meets what, and how.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContactSpec {
    /// What cloth meets.
    pub between: Between,
    /// Friction coefficient wherever the scene types no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub friction: Option<f64>,
    /// Things that are nearer than their thickness are parted at most this fast, m/s.
    pub recovery_speed: f64,
    /// How often a step is solved again when its motion meets something new.
    pub rounds: usize,
}

impl Default for ContactSpec {
    fn default() -> Self {
        Self {
            between: Between::All,
            friction: None,
            recovery_speed: 0.5,
            rounds: 4,
        }
    }
}

/// What cloth meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Between {
    /// Obstacles, itself and other cloth.
    All,
    /// Obstacles only.
    Obstacles,
    /// Nothing: everything passes through everything.
    Nothing,
}

/// Moving or resting air.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WindSpec {
    /// Velocity of the air, m/s.
    pub velocity: Triple,
    /// Velocity of the air as formulas of `t`; replaces `velocity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathSpec>,
    /// Density of the air, kg/m³.
    pub density: f64,
    /// Drag coefficient across the surface (1.28 for a flat plate).
    pub normal_drag: f64,
    /// Drag coefficient along the surface, both sides together.
    pub tangential_drag: f64,
}

impl Default for WindSpec {
    fn default() -> Self {
        Self {
            velocity: [0.0; 3],
            path: None,
            density: 1.2,
            normal_drag: 1.28,
            tangential_drag: 0.02,
        }
    }
}

/// A piece of cloth: exactly one of `grid`, `disc`, `tube`, `sphere`, `mesh` or `surface`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cloth {
    /// A rectangle in the xy plane, centred on the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
    /// A disc in the xy plane, centred on the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disc: Option<Disc>,
    /// An open tube round the z axis, centred on the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tube: Option<Tube>,
    /// A closed sphere round the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sphere: Option<Sphere>,
    /// A mesh file (.obj or .ply), relative to the scene file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// Vertices and faces, given here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<SurfaceSpec>,
    /// Size factor; applied first, also to the rest shape.
    #[serde(default = "one")]
    pub scale: f64,
    /// Rotation; applied after scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotate: Option<Rotation>,
    /// Displacement, m; applied last.
    #[serde(default)]
    pub translate: Triple,
    /// A fabric of this scene, a shipped one, or a file (.toml) relative to the scene file.
    pub fabric: String,
    /// Thickness, m; the default is the fabric's. Middle surfaces of cloth keep it as their distance, and half of it
    /// from obstacles. Cloth keeps at most half of its shortest edge from itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thickness: Option<f64>,
    /// Friction on itself, on other cloth (the smaller of both counts) and on obstacles that have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friction: Option<FrictionValue>,
    /// Angle from the shape's first material axis to warp, degrees.
    #[serde(default)]
    pub grain: f64,
    /// Where the rest shape comes from; the default is texture coordinates if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<RestFrom>,
    /// Whether the cloth wants to be flat or keep the bends it is given in; the default is flat for a rest shape from
    /// texture coordinates, and as given otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_bend: Option<RestBend>,
    /// Initial velocity, m/s.
    #[serde(default)]
    pub velocity: Triple,
    /// Initial angular velocity about the centre of mass, rad/s.
    #[serde(default)]
    pub angular_velocity: Triple,
}

pub(super) fn one() -> f64 {
    1.0
}

/// A rectangle. Give `cells` or `edge`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Lengths along x and y, m.
    pub size: [f64; 2],
    /// Squares along x and y.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<[usize; 2]>,
    /// Wanted edge length, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<f64>,
    /// How squares are cut, or `unstructured` for a mesh without squares (needs `edge`).
    #[serde(default)]
    pub diagonals: DiagonalsSpec,
}

/// How squares are cut into triangles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiagonalsSpec {
    /// Directions take turns.
    #[default]
    Alternate,
    /// All from lower left to upper right.
    Forward,
    /// All from upper left to lower right.
    Backward,
    /// Both, with a vertex in the middle.
    Crossed,
    /// No squares: triangles without a preferred direction.
    Unstructured,
}

/// A disc.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disc {
    /// Radius, m.
    pub radius: f64,
    /// Wanted edge length, m.
    pub edge: f64,
}

/// An open tube.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tube {
    /// Radius, m.
    pub radius: f64,
    /// Length, m.
    pub length: f64,
    /// Squares round and along.
    pub cells: [usize; 2],
}

/// A closed sphere.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sphere {
    /// Radius, m.
    pub radius: f64,
    /// How often an icosahedron's triangles are split in four.
    pub subdivisions: usize,
}

/// A rotation about an axis through the origin.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// Axis.
    pub axis: Triple,
    /// Angle, degrees.
    pub degrees: f64,
}

/// Where a rest shape comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RestFrom {
    /// Texture coordinates, in metres.
    Texture,
    /// The positions in the file.
    Positions,
}

/// The bends in which cloth is at ease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RestBend {
    /// Flat.
    Flat,
    /// As the shape is given.
    Shape,
}

/// Vertices that are held or led: exactly one of `vertices`, `nearest`, `box` or `sphere`; at most one of `keyframes`
/// and `path`, else they stay where they are.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = cloth_or_soft)]
pub struct Pin {
    /// The cloth or soft body they belong to; `soft` is another word for this key.
    #[serde(alias = "soft")]
    pub cloth: String,
    /// By number, counted from 0 in the order of the file or generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertices: Option<Vec<u32>>,
    /// The vertex nearest to each of these points of the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Vec<Triple>>,
    /// All vertices in a box of the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#box: Option<BoxRegion>,
    /// All vertices in a ball of the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sphere: Option<BallRegion>,
    /// Which coordinates are held: some of `x`, `y`, `z`. The default is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axes: Option<Vec<Axis>>,
    /// Displacement and rotation over time, smooth between keys, at rest before the first and after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyframes: Option<Vec<Keyframe>>,
    /// Displacement as formulas of `t`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathSpec>,
    /// Point about which keyframes rotate and scale; the default is the middle of the held vertices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pivot: Option<Triple>,
    /// Time at which the vertices are let go, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
}

/// A coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// x
    X,
    /// y
    Y,
    /// z
    Z,
}

/// An axis-aligned box.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxRegion {
    /// Lowest corner, m.
    pub min: Triple,
    /// Highest corner, m.
    pub max: Triple,
}

/// A ball.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BallRegion {
    /// Centre, m.
    pub center: Triple,
    /// Radius, m.
    pub radius: f64,
}

/// Where something is at a time, relative to its start.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keyframe {
    /// Time, s.
    pub time: f64,
    /// Displacement, m.
    #[serde(default)]
    pub translate: Triple,
    /// Rotation; angles beyond 360 degrees turn several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotate: Option<Rotation>,
    /// Size factor.
    #[serde(default = "one")]
    pub scale: f64,
}

/// Formulas of `t` (seconds), such as `0.1*sin(2*PI*t)`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathSpec {
    /// Along x.
    #[serde(default = "nought")]
    pub x: String,
    /// Along y.
    #[serde(default = "nought")]
    pub y: String,
    /// Along z.
    #[serde(default = "nought")]
    pub z: String,
}

fn nought() -> String {
    "0".into()
}

/// A force on vertices, shared out along the border they form, by the area of a soft body's surface they form, or else
/// equally: exactly one of `vertices`, `nearest`, `box` or `sphere`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = cloth_or_soft)]
pub struct PointForce {
    /// The cloth or soft body they belong to; `soft` is another word for this key.
    #[serde(alias = "soft")]
    pub cloth: String,
    /// By number, counted from 0 in the order of the file or generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertices: Option<Vec<u32>>,
    /// The vertex nearest to each of these points of the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Vec<Triple>>,
    /// All vertices in a box of the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#box: Option<BoxRegion>,
    /// All vertices in a ball of the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sphere: Option<BallRegion>,
    /// Total force, N.
    #[serde(default)]
    pub force: Triple,
    /// Total force as formulas of `t`, N; replaces `force`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathSpec>,
    /// Time at which it begins, s.
    #[serde(default)]
    pub from: f64,
    /// Time at which it ends, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
}

/// A view.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Camera {
    /// Where it stands, m.
    pub from: Triple,
    /// What it looks at, m.
    pub to: Triple,
    /// Vertical opening angle, degrees.
    #[serde(default = "opening")]
    pub degrees: f64,
}

fn opening() -> f64 {
    35.0
}
