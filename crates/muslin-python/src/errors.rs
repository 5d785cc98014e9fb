//! Errors of the engine as exceptions of the package, with the text that the command line prints.

use muslin::record::RecordError;
use muslin::scene::SceneError;
use muslin::step::StepError;
use muslin::world::SteerError;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyError, PyValueError};

mod classes {
    pyo3::import_exception!(muslin.errors, SceneError);
    pyo3::import_exception!(muslin.errors, StepError);
    pyo3::import_exception!(muslin.errors, RecordError);
}

/// A mistake in a scene.
pub fn scene(e: SceneError) -> PyErr {
    let text = e.to_string();
    let file = e.file.map(|f| f.to_string_lossy().into_owned());
    let place = (file, e.line, e.column);
    classes::SceneError::new_err((text, place.0, place.1, place.2, e.key, e.problem, e.remedy))
}

/// A step that cannot go on.
pub fn step(e: StepError) -> PyErr {
    classes::StepError::new_err(e.to_string())
}

/// A recording that cannot be written or read.
pub fn record(e: RecordError) -> PyErr {
    classes::RecordError::new_err(e.to_string())
}

/// A recording that is refused.
pub fn refused(message: String) -> PyErr {
    classes::RecordError::new_err(message)
}

/// A change that does not fit.
pub fn steer(e: SteerError) -> PyErr {
    match e {
        SteerError::NoSuch { .. } => PyKeyError::new_err(e.to_string()),
        _ => PyValueError::new_err(e.to_string()),
    }
}

/// Anything else that is wrong with an argument.
pub fn value(e: impl ToString) -> PyErr {
    PyValueError::new_err(e.to_string())
}
