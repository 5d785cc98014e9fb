//! The browser viewer.

use crate::errors;
use muslin::scene::SceneSource;
use muslin_view::{LiveRun, RecordedRun, Source, Viewer as Server};
use pyo3::prelude::*;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A viewer that is being served until it is closed.
#[pyclass(frozen, module = "muslin._engine")]
pub struct Viewer {
    server: Mutex<Option<Server>>,
    url: String,
}

#[pymethods]
impl Viewer {
    /// Serves run folders, and live simulations of scenes.
    #[new]
    fn new(py: Python<'_>, what: Vec<String>, port: u16, threads: usize) -> PyResult<Self> {
        let mut sources: Vec<Arc<dyn Source>> = Vec::new();
        for what in &what {
            if Path::new(what).is_dir() {
                let run = RecordedRun::open(Path::new(what)).map_err(errors::record)?;
                sources.push(Arc::new(run));
            } else {
                let scene = SceneSource::find(what).map_err(errors::scene)?;
                let run = py.detach(|| LiveRun::start(scene, Vec::new(), threads));
                sources.push(Arc::new(run.map_err(errors::scene)?));
            }
        }
        let server = Server::start(sources, port).map_err(errors::value)?;
        Ok(Self {
            url: server.url(),
            server: Mutex::new(Some(server)),
        })
    }

    /// Where the page is.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Ends the viewer.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
            drop(server.take());
        });
    }
}
