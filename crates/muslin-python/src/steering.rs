//! What can be changed in a simulation between steps.

use crate::arrays::{from_vectors, vectors};
use crate::errors;
use crate::simulation::{Inner, Simulation, overrides};
use muslin::obstacle::Placement;
use muslin_linalg::{Quat, Vec3};
use numpy::{PyArray2, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyDict;

#[pymethods]
impl Simulation {
    /// Changes values of the scene by their paths.
    fn change(&self, py: Python<'_>, changes: &Bound<'_, PyDict>) -> PyResult<()> {
        let changes = overrides(changes)?;
        let mut inner = self.lock()?;
        let Inner {
            engine, recording, ..
        } = &mut *inner;
        py.detach(|| engine.change(&changes))
            .map_err(errors::scene)?;
        match recording {
            Some(recording) => recording.scene_changed(engine).map_err(errors::record),
            None => Ok(()),
        }
    }

    /// Puts a cloth elsewhere, m.
    fn set_positions(&self, cloth: &str, values: PyReadonlyArrayDyn<'_, f64>) -> PyResult<()> {
        let rows = vectors("positions", &values)?;
        let mut inner = self.lock()?;
        inner
            .engine
            .set_positions(cloth, rows)
            .map_err(errors::steer)
    }

    /// Gives a cloth other velocities, m/s.
    fn set_velocities(&self, cloth: &str, values: PyReadonlyArrayDyn<'_, f64>) -> PyResult<()> {
        let rows = vectors("velocities", &values)?;
        let mut inner = self.lock()?;
        inner
            .engine
            .set_velocities(cloth, rows)
            .map_err(errors::steer)
    }

    /// Puts forces on a cloth until they are changed, N.
    fn set_forces(&self, cloth: &str, values: PyReadonlyArrayDyn<'_, f64>) -> PyResult<()> {
        let rows = vectors("forces", &values)?;
        let mut inner = self.lock()?;
        inner.engine.world.push(cloth, rows).map_err(errors::steer)
    }

    /// Forces put on a cloth from outside, N.
    fn forces<'py>(&self, py: Python<'py>, cloth: &str) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = self.lock()?;
        let world = &inner.engine.world;
        let body = crate::reading::body(&inner, cloth)?;
        match world.pushed().get(body.vertices.clone()) {
            Some(forces) => from_vectors(py, forces),
            None => from_vectors(py, &vec![Vec3::ZERO; body.vertices.len()]),
        }
    }

    /// Holds vertices of a cloth where they are.
    fn hold(&self, name: &str, cloth: &str, vertices: Vec<u32>, axes: [bool; 3]) -> PyResult<()> {
        let mut inner = self.lock()?;
        let world = &mut inner.engine.world;
        world
            .hold(name, cloth, &vertices, axes)
            .map_err(errors::steer)
    }

    /// Lets go of a pin.
    fn release(&self, name: &str) -> PyResult<()> {
        let mut inner = self.lock()?;
        inner.engine.world.release(name).map_err(errors::steer)
    }

    /// Leads a pin to places (m) within a duration (s), by default the next step.
    fn lead(
        &self,
        name: &str,
        places: PyReadonlyArrayDyn<'_, f64>,
        duration: Option<f64>,
    ) -> PyResult<()> {
        let rows = vectors("places", &places)?;
        let mut inner = self.lock()?;
        inner
            .engine
            .lead(name, rows, duration)
            .map_err(errors::steer)
    }

    /// Drives an obstacle to a place within a duration (s), by default the next step.
    fn drive(
        &self,
        obstacle: &str,
        translation: [f64; 3],
        rotation: [f64; 4],
        scale: f64,
        duration: Option<f64>,
    ) -> PyResult<()> {
        let place = Placement {
            scale,
            rotation: Quat::from_array(rotation),
            translation: Vec3::from_array(translation),
        };
        let mut inner = self.lock()?;
        inner
            .engine
            .drive(obstacle, place, duration)
            .map_err(errors::steer)
    }
}
