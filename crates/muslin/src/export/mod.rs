//! Carries a recording into other programs: USD, glTF, PC2, OBJ, PLY, VTK; and refines it.
//!
//! Frames are read one after the other and written at once, so memory does not grow with the length of the run. Formats
//! that want one attribute over all times, or sizes before data, go through a [`spool::Spool`] on disk.

mod gltf;
pub mod loop_masks;
mod pc2;
mod piece;
mod sequence;
mod spool;
pub mod subdivide;
mod usd;
mod usda;
mod usdc;
mod vtu;

use crate::record::{Frame, FrameBody, FrameReader, RecordError, recorded_scene};
use crate::scene::SceneFile;
use crate::simulation::steps_per_frame;
use muslin_linalg::Vec3;
use piece::Piece;
use std::path::{Path, PathBuf};

/// Which axis points up in the file. Scenes have z up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpAxis {
    /// As in glTF, Maya and most games.
    Y,
    /// As in scenes and in Blender.
    Z,
}

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Universal Scene Description, text; the topology may change.
    Usda,
    /// Universal Scene Description, binary; the topology may change.
    Usdc,
    /// Binary glTF 2.0 with a morph target a frame.
    Glb,
    /// Point cache with an OBJ of the first frame, a pair for each object.
    Pc2,
    /// One OBJ a frame.
    Obj,
    /// One binary PLY a frame.
    Ply,
    /// One VTK unstructured grid a frame.
    Vtu,
    /// VTK unstructured grids and the collection that names them.
    Pvd,
}

impl Format {
    /// The format that the ending of a path stands for.
    pub fn of(path: &Path) -> Result<Self, RecordError> {
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match ending.as_deref() {
            Some("usda") => Ok(Self::Usda),
            Some("glb") => Ok(Self::Glb),
            Some("pc2") => Ok(Self::Pc2),
            Some("obj") => Ok(Self::Obj),
            Some("ply") => Ok(Self::Ply),
            Some("vtu") => Ok(Self::Vtu),
            Some("pvd") => Ok(Self::Pvd),
            Some("usdc" | "usd") => Ok(Self::Usdc),
            Some("gltf") => Err(RecordError::Refused(format!(
                "{}: glTF is written in its binary form; use the ending .glb",
                path.display()
            ))),
            _ => Err(RecordError::Refused(format!(
                "{}: the ending decides the format; use .usda, .usdc, .glb, .pc2, .obj, .ply, .vtu or .pvd",
                path.display()
            ))),
        }
    }

    /// The axis that points up in files of this format unless something else is asked for.
    pub fn usual_up(self) -> UpAxis {
        match self {
            Self::Glb => UpAxis::Y,
            _ => UpAxis::Z,
        }
    }
}

/// What to export and how.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// Axis that points up; none for what is usual in the format.
    pub up: Option<UpAxis>,
    /// File units in a metre: 100 for centimetres.
    pub scale: f64,
    /// First frame.
    pub first: usize,
    /// Last frame; none for the last one recorded.
    pub last: Option<usize>,
    /// Every how many frames one is taken.
    pub every: usize,
    /// Names of cloths and obstacles; empty for all.
    pub objects: Vec<String>,
    /// Whether smooth normals are written.
    pub normals: bool,
    /// Whether warp and weft coordinates are written as texture coordinates, in metres.
    pub uv: bool,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self {
            up: None,
            scale: 1.0,
            first: 0,
            last: None,
            every: 1,
            objects: Vec::new(),
            normals: true,
            uv: true,
        }
    }
}

/// A recording on its way out.
struct Job<'a> {
    reader: FrameReader,
    scene: SceneFile,
    /// Name of the run folder.
    name: String,
    to: &'a Path,
    options: &'a ExportOptions,
    up: UpAxis,
    frames: Vec<usize>,
    /// Names of what is exported, cloth before obstacles.
    objects: Vec<String>,
}

/// Writes a recording to `to` and returns the files written. `progress` hears of each frame done, and how many there are.
pub fn export(
    run: &Path,
    to: &Path,
    options: &ExportOptions,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<PathBuf>, RecordError> {
    let format = Format::of(to)?;
    let job = Job::new(run, to, options, format)?;
    if let Some(folder) = to.parent().filter(|f| !f.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(RecordError::io(folder))?;
    }
    match format {
        Format::Usda => usda::write(&job, progress),
        Format::Usdc => usdc::write(&job, progress),
        Format::Glb => gltf::write(&job, progress),
        Format::Pc2 => pc2::write(&job, progress),
        Format::Obj => sequence::write(&job, sequence::obj, progress),
        Format::Ply => sequence::write(&job, sequence::ply, progress),
        Format::Vtu => vtu::write(&job, false, progress),
        Format::Pvd => vtu::write(&job, true, progress),
    }
}

impl<'a> Job<'a> {
    fn new(
        run: &Path,
        to: &'a Path,
        options: &'a ExportOptions,
        format: Format,
    ) -> Result<Self, RecordError> {
        let refuse = |message: String| Err(RecordError::Refused(message));
        if !(options.scale.is_finite() && options.scale > 0.0) {
            return refuse(format!("a scale of {} is not positive", options.scale));
        }
        if options.every == 0 {
            return refuse("every 0 frames is none; give 1 or more".into());
        }
        let reader = FrameReader::open(run)?;
        let recorded = reader.last();
        let last = options.last.unwrap_or(recorded);
        if last > recorded || options.first > last {
            return refuse(format!(
                "frames {} to {last} are not recorded; there are 0 to {recorded}",
                options.first
            ));
        }
        // Times and pressures of the file depend on it: one that is lost has to be put back.
        let (scene, lost) = recorded_scene(run, &reader)?;
        if let Some(why) = lost {
            return refuse(format!(
                "{}; an export needs the scene of the run for its frame rate and time step: put it back as {}",
                why.lines().next().unwrap_or_default(),
                run.join("scene.toml").display()
            ));
        }
        let all = reader.object_names();
        for wanted in &options.objects {
            if !all.contains(wanted) {
                return refuse(format!(
                    "there is no object `{wanted}` in {}; there are {}",
                    run.display(),
                    all.join(", ")
                ));
            }
        }
        let chosen = |n: &String| options.objects.is_empty() || options.objects.contains(n);
        let name = std::path::absolute(run)
            .ok()
            .and_then(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()));
        Ok(Self {
            objects: all.into_iter().filter(chosen).collect(),
            name: name.unwrap_or_else(|| "run".into()),
            frames: (options.first..=last).step_by(options.every).collect(),
            up: options.up.unwrap_or_else(|| format.usual_up()),
            reader,
            scene,
            to,
            options,
        })
    }

    /// Length of a step, s.
    fn dt(&self) -> f64 {
        1.0 / (self.scene.output.frame_rate * steps_per_frame(&self.scene) as f64)
    }

    /// A direction in the axes of the file.
    fn turned(&self, v: Vec3) -> Vec3 {
        match self.up {
            UpAxis::Z => v,
            UpAxis::Y => Vec3::new(v.x, v.z, -v.y),
        }
    }

    /// A point, velocity or length in the axes and units of the file.
    fn placed(&self, v: Vec3) -> Vec3 {
        self.turned(v) * self.options.scale
    }

    /// Hands the chosen objects of each frame to `take`, one frame after the other.
    fn each_frame(
        &self,
        progress: &mut dyn FnMut(usize, usize),
        mut take: impl FnMut(usize, f64, &[Piece]) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        for (done, number) in self.frames.iter().enumerate() {
            let frame = self.read(*number)?;
            take(*number, frame.time, &piece::pieces(self, &frame))?;
            progress(done + 1, self.frames.len());
        }
        Ok(())
    }

    /// Reads the surfaces of a frame. Other programs expect every frame, so a damaged one is not left out.
    fn read(&self, number: usize) -> Result<Frame, RecordError> {
        let read = self.reader.read(number).map(|mut frame| {
            frame.bodies.iter_mut().for_each(FrameBody::keep_surface);
            frame
        });
        read.map_err(|e| match number.checked_sub(1) {
            Some(before) if before >= self.frames[0] => RecordError::Refused(format!(
                "frame {number} cannot be exported: {e}; the frames before it can, with --frames {}-{before}",
                self.frames[0]
            )),
            _ => e,
        })
    }

    /// For formats with one connectivity for all times.
    fn changing_topology(&self, object: &str, frame: usize) -> RecordError {
        RecordError::Refused(format!(
            "the mesh of `{object}` changes at frame {frame}, which {} cannot hold; export .usda, .usdc, .obj or .vtu, or fewer \
             frames",
            self.to.display()
        ))
    }
}

/// Single precision, as most formats have it.
fn single(v: Vec3) -> [f32; 3] {
    v.as_vec3().to_array()
}

#[cfg(test)]
mod tests;
