//! Obstacles of the world, from the scene.

use super::World;
use super::build::{motion, rotation_vector};
use super::select::bounds;
use crate::motion::Motion;
use crate::obstacle::{
    Ball, Block, Capsule, Cone, Cylinder, MeshObstacle, Obstacle, Placed, Placement, Plane,
    Sequence, Standing, Torus,
};
use crate::scene::{ObstacleSpec, SceneError, SceneFile, SequenceSpec, mesh_file};
use crate::simulation::steps_per_frame;
use muslin_geometry::mesh::{self, MeshError, Repair, SurfaceMesh};
use muslin_linalg::{Quat, Vec3};
use std::path::{Path, PathBuf};

/// An obstacle with its name.
#[derive(Clone)]
pub struct WorldObstacle {
    /// Name in the scene.
    pub name: String,
    /// Its key in the scene, such as `sphere`.
    pub kind: &'static str,
    /// What it is and how it moves.
    pub shape: Standing,
    /// What was mended when its mesh was read.
    pub repairs: Vec<Repair>,
}

impl WorldObstacle {
    /// Whether its triangles are all of its surface. A plane has no end, its triangles have.
    pub fn has_skin(&self) -> bool {
        self.kind != "plane"
    }
}

impl World {
    /// Obstacles whose triangles take part in searches, with their numbers.
    pub fn skins(&self) -> impl Iterator<Item = (usize, &WorldObstacle)> {
        self.obstacles
            .iter()
            .enumerate()
            .filter(|(_, o)| o.has_skin())
    }

    /// Positions of everything made of triangles (m): those of the state as given, then of the skins of obstacles at a
    /// time (s). Searches number vertices in this order, so that what one has found another knows.
    pub fn surface_positions(&self, state: &[Vec3], time: f64, out: &mut Vec<Vec3>) {
        out.clear();
        out.extend_from_slice(state);
        for (_, obstacle) in self.skins() {
            obstacle.shape.positions(time, out);
        }
    }
}

impl std::fmt::Debug for WorldObstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} `{}`", self.kind, self.name)
    }
}

pub(super) fn build(scene: &SceneFile, folder: &Path) -> Result<Vec<WorldObstacle>, SceneError> {
    let mut obstacles = Vec::new();
    for (name, spec) in &scene.obstacle {
        let key = format!("obstacle.{name}");
        let mut repairs = Vec::new();
        let (kind, inner) = shape(&key, spec, folder, &mut repairs)?;
        let placement = Placement {
            scale: spec.scale,
            rotation: spec.rotate.as_ref().map_or(Quat::IDENTITY, |r| {
                Quat::from_scaled_axis(rotation_vector(r))
            }),
            translation: Vec3::from_array(spec.translate),
        };
        let motion = motion(&key, spec.keyframes.as_deref(), spec.path.as_ref())?;
        stays_in_the_realm_of_numbers(&key, scene, &motion)?;
        let pivot = spec.pivot.map_or_else(
            || {
                let mut x = Vec::new();
                inner.positions(0.0, &mut x);
                let (min, max) = bounds(&x);
                placement.apply((min + max) / 2.0)
            },
            Vec3::from_array,
        );
        obstacles.push(WorldObstacle {
            name: name.clone(),
            kind,
            shape: Standing(Placed::new(inner, placement, motion, pivot)),
            repairs,
        });
    }
    Ok(obstacles)
}

/// The catalogue of obstacles.
fn shape(
    key: &str,
    spec: &ObstacleSpec,
    folder: &Path,
    repairs: &mut Vec<Repair>,
) -> Result<(&'static str, Box<dyn Obstacle>), SceneError> {
    let vector = Vec3::from_array;
    if let Some(p) = &spec.plane {
        let plane = Plane::new(vector(p.point), vector(p.normal), p.size);
        return Ok(("plane", Box::new(plane)));
    }
    if let Some(b) = &spec.r#box {
        return Ok(("box", Box::new(Block::new(vector(b.size)))));
    }
    if let Some(b) = &spec.sphere {
        return Ok(("sphere", Box::new(Ball::new(b.radius))));
    }
    if let Some(c) = &spec.capsule {
        return Ok(("capsule", Box::new(Capsule::new(c.radius, c.length))));
    }
    if let Some(c) = &spec.cylinder {
        return Ok(("cylinder", Box::new(Cylinder::new(c.radius, c.length))));
    }
    if let Some(c) = &spec.cone {
        return Ok(("cone", Box::new(Cone::new(c.radius, c.height))));
    }
    if let Some(t) = &spec.torus {
        return Ok(("torus", Box::new(Torus::new(t.radius, t.tube))));
    }
    if let Some(s) = &spec.sequence {
        let sequence = read_sequence(&format!("{key}.sequence"), s, folder, repairs)?;
        return Ok(("sequence", Box::new(sequence)));
    }
    let (key, raw) = if let Some(surface) = &spec.surface {
        let key = format!("{key}.surface");
        let raw = surface.mesh(&key)?;
        (key, raw)
    } else {
        let file = spec.mesh.as_deref().unwrap_or_default();
        (format!("{key}.mesh"), mesh_file::read(&folder.join(file))?)
    };
    let mesh = mended(&key, raw, repairs)?;
    let mesh = MeshObstacle::new(&mesh.positions, &mesh.faces)
        .map_err(|e| SceneError::at(&key, e.to_string(), "mend the mesh"))?;
    Ok(("mesh", Box::new(mesh)))
}

/// Mends a mesh where it can be. Edges with many faces and the like are bad in cloth but harmless in an obstacle.
fn mended(
    key: &str,
    raw: SurfaceMesh,
    repairs: &mut Vec<Repair>,
) -> Result<SurfaceMesh, SceneError> {
    let raw = SurfaceMesh {
        material: None,
        ..raw
    };
    match mesh::clean(raw.clone()) {
        Ok((mesh, done)) => {
            *repairs = done;
            Ok(mesh)
        }
        Err(
            MeshError::NonManifoldEdge { .. }
            | MeshError::NonManifoldVertex { .. }
            | MeshError::Orientation { .. },
        ) => Ok(raw),
        Err(e) => Err(SceneError::at(
            key,
            format!("the mesh of the obstacle cannot be used: {e}"),
            "mend the mesh in the program it comes from",
        )),
    }
}

fn read_sequence(
    key: &str,
    spec: &SequenceSpec,
    folder: &Path,
    repairs: &mut Vec<Repair>,
) -> Result<Sequence, SceneError> {
    let files = sequence_files(key, spec, folder)?;
    let in_file = |file: &Path, problem: String, remedy: &str| {
        let mut e = SceneError::at(key, problem, remedy);
        e.file = Some(file.to_path_buf());
        e
    };
    let first = mesh_file::read(&files[0])?;
    let (vertices, faces) = (first.positions.len(), first.faces.clone());
    let used = mended(key, first, repairs)?;
    let mut frames = vec![used.positions.clone()];
    for file in &files[1..] {
        let mesh = mesh_file::read(file)?;
        if mesh.positions.len() != vertices || mesh.faces != faces {
            return Err(in_file(
                file,
                format!(
                    "the mesh has {} vertices and {} triangles, the first one of the sequence {vertices} and {}, or \
                     they are joined differently",
                    mesh.positions.len(),
                    mesh.faces.len(),
                    faces.len()
                ),
                "export all meshes of a sequence with the same connectivity",
            ));
        }
        let kept = (0..used.positions.len()).map(|v| used.original_index(v) as usize);
        frames.push(kept.map(|v| mesh.positions[v]).collect());
    }
    Sequence::new(frames, &used.faces, spec.frame_rate, spec.start).map_err(|e| {
        use crate::obstacle::SequenceError as E;
        let index = match e {
            E::Empty => 0,
            E::VertexCount { index, .. } | E::Input { index, .. } => index,
        };
        in_file(&files[index], e.to_string(), "mend the mesh")
    })
}

/// The files of a sequence, in order; never empty.
pub(crate) fn sequence_files(
    key: &str,
    spec: &SequenceSpec,
    folder: &Path,
) -> Result<Vec<PathBuf>, SceneError> {
    if let Some(files) = &spec.files {
        return Ok(files.iter().map(|f| folder.join(f)).collect());
    }
    let pattern = folder.join(spec.pattern.as_deref().unwrap_or_default());
    let name = pattern
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let none = |problem: String| {
        SceneError::at(
            format!("{key}.pattern"),
            problem,
            "check the folder and the name; `#` stands for digits",
        )
    };
    let (Some(start), Some(end)) = (name.find('#'), name.rfind('#')) else {
        return Err(none(format!("`{name}` has no place for the number")));
    };
    let (before, after) = (&name[..start], &name[end + 1..]);
    let place = pattern.parent().unwrap_or(folder);
    let place = if place.as_os_str().is_empty() {
        Path::new(".")
    } else {
        place
    };
    let entries = std::fs::read_dir(place).map_err(|e| {
        none(format!(
            "the folder {} cannot be read: {e}",
            place.display()
        ))
    })?;
    let mut numbered: Vec<(u64, PathBuf)> = Vec::new();
    for entry in entries.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let digits = file
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after));
        if let Some(digits) = digits
            && !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
            && let Ok(number) = digits.parse()
        {
            numbered.push((number, entry.path()));
        }
    }
    numbered.sort();
    if numbered.is_empty() {
        return Err(none(format!("no file of the form `{name}` is there")));
    }
    if let Some(gap) = numbered.windows(2).find(|w| w[1].0 != w[0].0 + 1) {
        return Err(none(format!(
            "the files jump from number {} to {}",
            gap[0].0, gap[1].0
        )));
    }
    Ok(numbered.into_iter().map(|(_, file)| file).collect())
}

/// Most times at which a path is tried before the run.
const MOST_TRIALS: usize = 100_000;

/// A formula may fail in the middle of a run; better to say so before.
fn stays_in_the_realm_of_numbers(
    key: &str,
    scene: &SceneFile,
    motion: &Motion,
) -> Result<(), SceneError> {
    let steps = scene.output.frames.saturating_mul(steps_per_frame(scene));
    let dt = 1.0 / (scene.output.frame_rate * steps_per_frame(scene) as f64);
    let trials = steps.min(MOST_TRIALS);
    for i in 0..=trials {
        let time = dt * steps as f64 * (i as f64 / trials.max(1) as f64);
        let pose = motion.at(time);
        // The smooth curve through sizes may swing below zero between two keys.
        if pose.scale <= 0.0 {
            return Err(SceneError::at(
                format!("{key}.keyframes"),
                format!("the size shrinks to nothing between keys, at t = {time:.3} s"),
                "add a keyframe there, or let the size change less",
            ));
        }
        // Not by the largest component: maxima pass over what is not a number.
        if !pose.translation.is_finite() || pose.translation.abs().max_element() > 1e6 {
            return Err(SceneError::at(
                if matches!(motion, Motion::Path(_)) {
                    format!("{key}.path")
                } else {
                    format!("{key}.keyframes")
                },
                format!("the obstacle has no usable position at t = {time} s"),
                "use a motion that stays within 1e6 m for the whole run",
            ));
        }
    }
    Ok(())
}
