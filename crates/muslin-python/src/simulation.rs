//! A simulation as Python holds it: made, stepped, recorded, saved and branched. Reading it is in `reading.rs`, changing
//! it in `steering.rs`.

use crate::{errors, value};
use muslin::record::{Existing, RunFolder};
use muslin::scene::{Override, SceneSource, shipped_scenes};
use muslin::simulation::Simulation as Engine;
use muslin::step::StepReport;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// What a simulation consists of on this side.
pub struct Inner {
    pub engine: Engine,
    pub recording: Option<RunFolder>,
    pub report: Option<StepReport>,
    /// The process in which its threads are.
    process: u32,
}

impl Inner {
    fn new(engine: Engine) -> Self {
        Self {
            engine,
            recording: None,
            report: None,
            process: std::process::id(),
        }
    }

    fn step(&mut self) -> PyResult<()> {
        let report = self.engine.advance().map_err(errors::step)?;
        if let Some(recording) = &mut self.recording {
            recording
                .step(&self.engine, &report)
                .map_err(errors::record)?;
        }
        self.report = Some(report);
        Ok(())
    }

    /// What is written down is one run from its start to its end.
    fn refuse_while_recording(&self, then: &str) -> PyResult<()> {
        match &self.recording {
            Some(recording) => Err(errors::refused(format!(
                "the simulation is being recorded into {}; call finish() first, then {then}",
                recording.folder().display()
            ))),
            None => Ok(()),
        }
    }
}

/// A simulation. Used by one thread at a time: another one that tries is told so.
#[pyclass(frozen, module = "muslin._engine")]
pub struct Simulation(Mutex<Inner>);

impl Simulation {
    pub fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        let mut inner = match self.0.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::WouldBlock) => {
                return Err(PyRuntimeError::new_err(
                    "the simulation is at work in another thread; wait for it, or use a clone",
                ));
            }
            // Whatever was being done has failed with its own error; the state is that of the last whole step.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        let process = std::process::id();
        if inner.process != process {
            inner.engine.restart_threads().map_err(errors::scene)?;
            inner.process = process;
        }
        Ok(inner)
    }

    fn make(
        py: Python<'_>,
        source: &SceneSource,
        changes: &Bound<'_, PyDict>,
        threads: usize,
    ) -> PyResult<(Self, Option<String>)> {
        let changes = overrides(changes)?;
        let made = py.detach(|| {
            let mut engine = Engine::new(source, &changes, threads)?;
            let note = engine.prepare_start();
            let note = note.map_err(|e| source.locate(e, &changes))?;
            Ok((engine, note))
        });
        let (engine, note) = made.map_err(errors::scene)?;
        Ok((Self(Mutex::new(Inner::new(engine))), note))
    }
}

/// Changes of a scene from a dict of paths and values.
pub fn overrides(changes: &Bound<'_, PyDict>) -> PyResult<Vec<Override>> {
    let mut overrides = Vec::new();
    for (path, value) in changes.iter() {
        let path: String = path.extract()?;
        let value = value::convert(&value, &path)?;
        overrides.push(Override { path, value });
    }
    Ok(overrides)
}

#[pymethods]
impl Simulation {
    /// A simulation of a scene file or a shipped scene, and what was done to make its start fit.
    #[staticmethod]
    fn from_file(
        py: Python<'_>,
        path: &str,
        changes: &Bound<'_, PyDict>,
        threads: usize,
    ) -> PyResult<(Self, Option<String>)> {
        let source = SceneSource::find(path).map_err(errors::scene)?;
        Self::make(py, &source, changes, threads)
    }

    /// The same of a scene given as a dict.
    #[staticmethod]
    fn from_dict(
        py: Python<'_>,
        name: &str,
        scene: &Bound<'_, PyDict>,
        changes: &Bound<'_, PyDict>,
        threads: usize,
    ) -> PyResult<(Self, Option<String>)> {
        let table = value::table(scene)?;
        let source = SceneSource::from_table(name, &table).map_err(errors::scene)?;
        Self::make(py, &source, changes, threads)
    }

    /// A simulation from a file that `save` wrote.
    #[staticmethod]
    fn from_saved(py: Python<'_>, path: PathBuf, threads: usize) -> PyResult<Self> {
        let engine = py.detach(|| muslin::record::load(&path, threads));
        let engine = engine.map_err(errors::record)?;
        Ok(Self(Mutex::new(Inner::new(engine))))
    }

    /// One time step, recorded if there is a recording.
    fn step(&self, py: Python<'_>) -> PyResult<()> {
        let mut inner = self.lock()?;
        let inner = &mut *inner;
        py.detach(|| inner.step())
    }

    /// Begins to record into a folder, or goes on with a recording.
    fn record(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        resume: bool,
        overwrite: bool,
    ) -> PyResult<()> {
        let mut inner = self.lock()?;
        let inner = &mut *inner;
        inner.refuse_while_recording("begin another recording")?;
        if !inner.engine.at_frame() {
            return Err(errors::refused(
                "a recording begins where a frame is complete; run to the end of the frame first"
                    .into(),
            ));
        }
        if !resume && !overwrite && RunFolder::existing(&folder) == Existing::Unfinished {
            return Err(errors::refused(format!(
                "{} holds an unfinished run; record with resume=True to go on with it, or overwrite=True to start anew",
                folder.display()
            )));
        }
        let begun = py.detach(|| {
            if resume {
                RunFolder::resume(&folder, &mut inner.engine)
            } else {
                RunFolder::create(&folder, &inner.engine)
            }
        });
        inner.recording = Some(begun.map_err(errors::record)?);
        Ok(())
    }

    /// Where it is recorded.
    fn recording(&self) -> PyResult<Option<PathBuf>> {
        let inner = self.lock()?;
        Ok(inner.recording.as_ref().map(|r| r.folder().to_path_buf()))
    }

    /// Brings the recording up to date: checkpoint and summary, which is returned as JSON.
    fn summarise(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let mut inner = self.lock()?;
        let Inner {
            engine, recording, ..
        } = &mut *inner;
        let Some(recording) = recording else {
            return Ok(None);
        };
        let summary = py.detach(move || {
            recording.checkpoint(engine)?;
            recording.summarise(engine)
        });
        let summary = summary.map_err(errors::record)?;
        serde_json::to_string(&summary)
            .map(Some)
            .map_err(errors::value)
    }

    /// Ends the recording.
    fn stop_recording(&self) -> PyResult<()> {
        self.lock()?.recording = None;
        Ok(())
    }

    /// Writes scene, changes and state into a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let mut inner = self.lock()?;
        let engine = &mut inner.engine;
        py.detach(move || muslin::record::save(engine, &path))
            .map_err(errors::record)
    }

    /// Takes over scene, changes and state of a file.
    fn load(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let mut inner = self.lock()?;
        inner.refuse_while_recording("load another state, or use Simulation.from_saved")?;
        let threads = inner.engine.threads();
        let engine = py.detach(|| muslin::record::load(&path, threads));
        let watched = inner.engine.world.wants_reactions;
        inner.engine = engine.map_err(errors::record)?;
        inner.engine.world.wants_reactions |= watched;
        inner.report = None;
        Ok(())
    }

    /// Measures the forces of pins from now on; that takes one more assembly a step.
    fn watch_pins(&self) -> PyResult<()> {
        self.lock()?.engine.world.wants_reactions = true;
        Ok(())
    }

    /// A simulation of its own in the same state; not recorded.
    fn branch(&self, py: Python<'_>) -> PyResult<Self> {
        let mut inner = self.lock()?;
        let engine = &mut inner.engine;
        let engine = py.detach(move || engine.branch()).map_err(errors::scene)?;
        let mut branch = Inner::new(engine);
        branch.report.clone_from(&inner.report);
        Ok(Self(Mutex::new(branch)))
    }
}

/// Names and descriptions of the scenes that come with Muslin.
#[pyfunction]
pub fn scenes() -> Vec<(&'static str, String)> {
    shipped_scenes()
        .map(|s| (s.name, s.description()))
        .collect()
}

/// Names of the fabrics that come with Muslin.
#[pyfunction]
pub fn fabrics() -> Vec<&'static str> {
    muslin::material::shipped_fabrics().collect()
}

/// Version of Muslin.
#[pyfunction]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
