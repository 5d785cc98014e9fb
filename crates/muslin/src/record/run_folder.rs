//! The run folder: written as the run goes, readable at any moment, continued after an interruption.

use super::arrays::{ArrayFile, ArrayWriter, RecordError, truncate};
use super::{Summary, frame};
use crate::contact::{Features, Remembered};
use crate::simulation::Simulation;
use crate::step::StepReport;
use crate::world::{Carried, CollisionSteps, World};
use muslin_linalg::Vec3;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A run being recorded.
pub struct RunFolder {
    folder: PathBuf,
    steps: BufWriter<fs::File>,
    steps_length: u64,
    recorded_revision: Option<u64>,
    /// Frame that holds the connectivity now in force.
    faces_frame: usize,
    frames: usize,
    wall_before: f64,
    begun: Instant,
}

/// What a folder holds before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Nothing, or it does not exist.
    Nothing,
    /// A run that reached its end.
    Finished,
    /// A run that was interrupted or is going on.
    Unfinished,
    /// Files that are not a run.
    Foreign,
}

/// What a checkpoint says besides positions and velocities.
#[derive(Serialize, Deserialize)]
struct Progress {
    version: String,
    step: usize,
    frames: usize,
    faces_frame: usize,
    steps_length: u64,
    wall_seconds: f64,
}

/// Everything a run writes; nothing else is ever removed.
const OWN_FILES: [&str; 3] = ["scene.toml", "summary.json", "steps.jsonl"];
const OWN_FOLDERS: [&str; 2] = ["frames", "checkpoint"];

impl RunFolder {
    /// What stands at a path.
    pub fn existing(folder: &Path) -> Existing {
        let Ok(mut entries) = fs::read_dir(folder) else {
            return if folder.exists() {
                Existing::Foreign
            } else {
                Existing::Nothing
            };
        };
        if folder.join("scene.toml").is_file() && folder.join("frames").is_dir() {
            let complete = fs::read_to_string(folder.join("summary.json"))
                .ok()
                .and_then(|t| serde_json::from_str::<Summary>(&t).ok())
                .is_some_and(|s| s.complete);
            return if complete {
                Existing::Finished
            } else {
                Existing::Unfinished
            };
        }
        if entries.next().is_none() {
            Existing::Nothing
        } else {
            Existing::Foreign
        }
    }

    /// Begins a recording with the initial state as frame 0; an older run in the folder is removed.
    pub fn create(folder: &Path, simulation: &Simulation) -> Result<Self, RecordError> {
        if Self::existing(folder) == Existing::Foreign {
            return Err(RecordError::Refused(format!(
                "{} holds other files; give an empty or new folder with --out",
                folder.display()
            )));
        }
        for name in OWN_FILES {
            let file = folder.join(name);
            if file.exists() {
                fs::remove_file(&file).map_err(RecordError::io(&file))?;
            }
        }
        for name in OWN_FOLDERS {
            let inner = folder.join(name);
            if inner.exists() {
                fs::remove_dir_all(&inner).map_err(RecordError::io(&inner))?;
            }
            fs::create_dir_all(&inner).map_err(RecordError::io(&inner))?;
        }
        let scene = folder.join("scene.toml");
        fs::write(&scene, scene_text(simulation)?).map_err(RecordError::io(&scene))?;
        let steps = folder.join("steps.jsonl");
        let file = fs::File::create(&steps).map_err(RecordError::io(&steps))?;
        let mut run = Self {
            folder: folder.to_path_buf(),
            steps: BufWriter::new(file),
            steps_length: 0,
            recorded_revision: None,
            faces_frame: 0,
            frames: 0,
            wall_before: 0.0,
            begun: Instant::now(),
        };
        run.frame(simulation)?;
        run.checkpoint(simulation)?;
        Ok(run)
    }

    /// Continues a recording where its last checkpoint was made, setting the simulation to that state.
    pub fn resume(folder: &Path, simulation: &mut Simulation) -> Result<Self, RecordError> {
        let place = folder.join("checkpoint").join("latest.npz");
        if !place.is_file() {
            return Err(RecordError::Refused(format!(
                "{} has no run to resume; leave --resume out to start one",
                folder.display()
            )));
        }
        let scene = folder.join("scene.toml");
        let recorded = fs::read_to_string(&scene).map_err(RecordError::io(&scene))?;
        if without_frames(&recorded) != without_frames(&scene_text(simulation)?) {
            return Err(RecordError::Refused(format!(
                "the scene has changed since the run in {} began; resume it with `muslin run {} --out {} --resume`, or \
                 start anew in another folder",
                folder.display(),
                scene.display(),
                folder.display()
            )));
        }
        let mut file = ArrayFile::open(&place)?;
        let progress: Progress = serde_json::from_str(&file.text("progress.json")?)
            .map_err(|e| RecordError::damaged(&place, e))?;
        if progress.frames > simulation.scene.output.frames + 1 {
            return Err(RecordError::Refused(format!(
                "{} has {} frames already, more than the {} asked for; ask for more with --frames",
                folder.display(),
                progress.frames - 1,
                simulation.scene.output.frames
            )));
        }
        read_state(&mut file, &place, &mut simulation.world)?;
        simulation.world.impulses = read_impulses(&mut file)?;
        simulation.set_steps(progress.step);
        fs::write(&scene, scene_text(simulation)?).map_err(RecordError::io(&scene))?;
        let file = truncate(&folder.join("steps.jsonl"), progress.steps_length)?;
        // A frame written after the checkpoint would be written again; without it the folder tells one story.
        for n in progress.frames.. {
            let later = frame::path(folder, n);
            if !later.exists() {
                break;
            }
            fs::remove_file(&later).map_err(RecordError::io(&later))?;
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            steps: BufWriter::new(file),
            steps_length: progress.steps_length,
            recorded_revision: Some(simulation.world.topology_revision),
            faces_frame: progress.faces_frame,
            frames: progress.frames,
            wall_before: progress.wall_seconds,
            begun: Instant::now(),
        })
    }

    /// Appends a step's report; writes frame and checkpoint if the step completed one.
    pub fn step(
        &mut self,
        simulation: &Simulation,
        report: &StepReport,
    ) -> Result<(), RecordError> {
        let path = self.folder.join("steps.jsonl");
        let mut line = serde_json::to_string(report).map_err(|e| RecordError::damaged(&path, e))?;
        line.push('\n');
        self.steps
            .write_all(line.as_bytes())
            .map_err(RecordError::io(&path))?;
        self.steps_length += line.len() as u64;
        if simulation.at_frame() {
            self.frame(simulation)?;
            self.checkpoint(simulation)?;
        }
        Ok(())
    }

    fn frame(&mut self, simulation: &Simulation) -> Result<(), RecordError> {
        let revision = simulation.world.topology_revision;
        if self.recorded_revision != Some(revision) {
            self.faces_frame = self.frames;
            self.recorded_revision = Some(revision);
        }
        frame::write(
            &self.folder,
            self.frames,
            &simulation.world,
            self.faces_frame,
        )?;
        self.frames += 1;
        Ok(())
    }

    /// Saves the state, so that the run can be resumed from here.
    pub fn checkpoint(&mut self, simulation: &Simulation) -> Result<(), RecordError> {
        let path = self.folder.join("steps.jsonl");
        self.steps.flush().map_err(RecordError::io(&path))?;
        let progress = Progress {
            version: env!("CARGO_PKG_VERSION").into(),
            step: simulation.steps(),
            frames: self.frames,
            faces_frame: self.faces_frame,
            steps_length: self.steps_length,
            wall_seconds: self.wall_seconds(),
        };
        let place = self.folder.join("checkpoint").join("latest.npz");
        let mut file = ArrayWriter::create(&place)?;
        let text = serde_json::to_string(&progress).map_err(|e| RecordError::damaged(&place, e))?;
        file.text("progress.json", &text)?;
        write_state(&mut file, &simulation.world)?;
        write_impulses(&mut file, &simulation.world.impulses)?;
        write_steering(&mut file, &place, &simulation.world)?;
        file.finish()
    }

    /// Writes the scene again, after a change in the middle of the run: it is what the last checkpoint goes on with.
    pub fn scene_changed(&mut self, simulation: &Simulation) -> Result<(), RecordError> {
        let scene = self.folder.join("scene.toml");
        fs::write(&scene, scene_text(simulation)?).map_err(RecordError::io(&scene))?;
        self.checkpoint(simulation)
    }

    /// Where it is written.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes `summary.json` and returns it.
    pub fn summarise(&mut self, simulation: &Simulation) -> Result<Summary, RecordError> {
        let steps = self.folder.join("steps.jsonl");
        self.steps.flush().map_err(RecordError::io(&steps))?;
        let mut summary = Summary::gather(&simulation.name, &simulation.scene, &steps)?;
        summary.complete = simulation.frame() >= simulation.scene.output.frames;
        summary.frames = self.frames;
        summary.threads = simulation.threads();
        summary.wall_seconds = self.wall_seconds();
        let path = self.folder.join("summary.json");
        let text =
            serde_json::to_string_pretty(&summary).map_err(|e| RecordError::damaged(&path, e))?;
        fs::write(&path, text).map_err(RecordError::io(&path))?;
        Ok(summary)
    }

    /// Frames written, with the initial one.
    pub fn frames(&self) -> usize {
        self.frames
    }

    fn wall_seconds(&self) -> f64 {
        self.wall_before + self.begun.elapsed().as_secs_f64()
    }
}

/// Positions and velocities of all vertices.
pub(super) fn write_state(file: &mut ArrayWriter, world: &World) -> Result<(), RecordError> {
    let state = &world.state;
    file.array::<f64>("x", &[state.x.len(), 3], bytemuck::cast_slice(&state.x))?;
    file.array::<f64>("v", &[state.v.len(), 3], bytemuck::cast_slice(&state.v))?;
    let Carried { stresses, factors } = &state.carried;
    if !factors.is_empty() {
        let size = [stresses.len(), 3];
        file.array::<f64>(STRESSES, &size, bytemuck::cast_slice(stresses))?;
        file.array::<f64>(FACTORS, &[factors.len()], factors)?;
    }
    let CollisionSteps { halvings, good } = state.collisions;
    file.array::<i32>(COLLISIONS, &[2], &[halvings as i32, good as i32])
}

/// Names of the arrays with what `admm` carries on.
const STRESSES: &str = "stresses";
const FACTORS: &str = "weight_factors";

/// Name of the array with the length of collision steps.
const COLLISIONS: &str = "collision_steps";

/// Name of the entry with what was changed from outside.
const STEERING: &str = "steering.json";

/// What was changed from outside, if anything was.
pub(super) fn write_steering(
    file: &mut ArrayWriter,
    place: &Path,
    world: &World,
) -> Result<(), RecordError> {
    let steering = world.steering();
    if steering.is_empty() {
        return Ok(());
    }
    let text = serde_json::to_string(&steering).map_err(|e| RecordError::damaged(place, e))?;
    file.text(STEERING, &text)
}

/// Sets a world of the same scene to what [`write_state`] and [`write_steering`] wrote.
pub(super) fn read_state(
    file: &mut ArrayFile,
    place: &Path,
    world: &mut World,
) -> Result<(), RecordError> {
    let (_, x) = file.array::<f64>("x")?;
    let (_, v) = file.array::<f64>("v")?;
    let state = &mut world.state;
    if x.len() != 3 * state.x.len() || v.len() != x.len() {
        return Err(RecordError::damaged(
            place,
            "it has another number of vertices than the scene",
        ));
    }
    state.x = bytemuck::allocation::pod_collect_to_vec::<f64, Vec3>(&x);
    state.v = bytemuck::allocation::pod_collect_to_vec::<f64, Vec3>(&v);
    state.carried = Carried::default();
    if file.has(STRESSES) && file.has(FACTORS) {
        let (_, stresses) = file.array::<f64>(STRESSES)?;
        let (_, factors) = file.array::<f64>(FACTORS)?;
        let finite = stresses.iter().chain(&factors).all(|n| n.is_finite());
        let positive = factors.iter().all(|f| *f >= 1.0);
        if !stresses.len().is_multiple_of(3) || !finite || !positive {
            return Err(RecordError::damaged(
                place,
                "its stresses are not whole vectors of finite numbers, or factors of their weights are less than one",
            ));
        }
        state.carried = Carried {
            stresses: bytemuck::allocation::pod_collect_to_vec::<f64, Vec3>(&stresses),
            factors,
        };
    }
    // Files of earlier versions do not have it; those runs go on with the longest collision steps.
    if file.has(COLLISIONS) {
        let (_, collisions) = file.array::<i32>(COLLISIONS)?;
        if let &[halvings, good] = &collisions[..] {
            state.collisions = CollisionSteps {
                halvings: halvings.max(0) as u32,
                good: good.max(0) as u32,
            };
        }
    }
    if file.names().any(|n| n == STEERING) {
        let steering = serde_json::from_str(&file.text(STEERING)?)
            .map_err(|e| RecordError::damaged(place, e))?;
        let steered = world.steer(&steering);
        steered.map_err(|e| RecordError::damaged(place, e))?;
    }
    Ok(())
}

/// Impulses of the last step: the next one starts from them, so a resumed run needs them to give the same bits.
pub(super) fn write_impulses(
    file: &mut ArrayWriter,
    impulses: &[Remembered],
) -> Result<(), RecordError> {
    let features: Vec<i32> = impulses
        .iter()
        .flat_map(|r| r.features.to_numbers())
        .collect();
    let size = [impulses.len(), features.len() / impulses.len().max(1)];
    file.array("impulses/features", &size, &features)?;
    let values: Vec<f64> = impulses.iter().flat_map(|r| r.impulse.to_array()).collect();
    file.array("impulses/values", &[impulses.len(), 3], &values)
}

pub(super) fn read_impulses(file: &mut ArrayFile) -> Result<Vec<Remembered>, RecordError> {
    let (_, features) = file.array::<i32>("impulses/features")?;
    let (_, values) = file.array::<f64>("impulses/values")?;
    let features = features.chunks_exact(Features::NUMBERS);
    let pairs = features.zip(values.chunks_exact(3));
    Ok(pairs
        .filter_map(|(f, v)| {
            Some(Remembered {
                features: Features::from_numbers(f)?,
                impulse: Vec3::from_slice(v),
            })
        })
        .collect())
}

fn scene_text(simulation: &Simulation) -> Result<String, RecordError> {
    toml::to_string(&simulation.scene)
        .map_err(|e| RecordError::Refused(format!("the scene cannot be written as TOML: {e}")))
}

/// A resumed run may go on for longer; everything else must be the same.
fn without_frames(scene: &str) -> Option<toml::Table> {
    let mut table: toml::Table = scene.parse().ok()?;
    if let Some(toml::Value::Table(output)) = table.get_mut("output") {
        output.remove("frames");
    }
    Some(table)
}
