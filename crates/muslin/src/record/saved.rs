//! A simulation in one file: the scene as it was given, what was changed since, and the state. Going on from it gives
//! the same bits as going on without it.

use super::arrays::{ArrayFile, ArrayWriter, RecordError};
use super::run_folder::{read_impulses, read_state, write_impulses, write_state};
use super::{contacts, run_folder::write_steering};
use crate::scene::{Override, SceneSource};
use crate::simulation::Simulation;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name of the entry that tells the file apart.
const ABOUT: &str = "simulation.json";

#[derive(Serialize, Deserialize)]
struct About {
    version: String,
    name: String,
    file: PathBuf,
    folder: PathBuf,
    scene: String,
    changes: Vec<(String, toml::Value)>,
    step: usize,
}

/// Writes a simulation into a file.
pub fn save(simulation: &Simulation, path: &Path) -> Result<(), RecordError> {
    let source = simulation.source();
    let folder = &source.folder;
    let about = About {
        version: env!("CARGO_PKG_VERSION").into(),
        name: source.name.clone(),
        file: source.file.clone(),
        // Files named in the scene must be found from anywhere; the empty path is the current folder.
        folder: std::path::absolute(if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        })
        .map_err(RecordError::io(folder))?,
        scene: source.text().into(),
        changes: simulation
            .overrides()
            .iter()
            .map(|o| (o.path.clone(), o.value.clone()))
            .collect(),
        step: simulation.steps(),
    };
    let mut file = ArrayWriter::create(path)?;
    let text = serde_json::to_string(&about).map_err(|e| RecordError::damaged(path, e))?;
    file.text(ABOUT, &text)?;
    write_state(&mut file, &simulation.world)?;
    write_impulses(&mut file, &simulation.world.impulses)?;
    write_steering(&mut file, path, &simulation.world)?;
    contacts::write(&mut file, &simulation.world.touches)?;
    file.finish()
}

/// Makes a simulation from a file written by [`save`]. `threads` 0 means as many as there are cores.
pub fn load(path: &Path, threads: usize) -> Result<Simulation, RecordError> {
    let mut file = ArrayFile::open(path)?;
    let about: About =
        serde_json::from_str(&file.text(ABOUT)?).map_err(|e| RecordError::damaged(path, e))?;
    let source = SceneSource::new(about.name, about.file, about.folder, about.scene);
    let changes = about.changes.into_iter();
    let overrides: Vec<Override> = changes
        .map(|(path, value)| Override { path, value })
        .collect();
    let mut simulation = Simulation::new(&source, &overrides, threads)
        .map_err(|e| RecordError::Refused(e.to_string()))?;
    read_state(&mut file, path, &mut simulation.world)?;
    simulation.world.impulses = read_impulses(&mut file)?;
    let world = &simulation.world;
    let (cloths, obstacles) = (world.bodies.len(), world.obstacles.len());
    simulation.world.touches = contacts::read(&mut file, path, cloths, obstacles)?;
    simulation.set_steps(about.step);
    Ok(simulation)
}
