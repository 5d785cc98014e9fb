//! What can be read from a simulation.

use crate::arrays::{self, from_vectors, list, table};
use crate::errors;
use crate::simulation::{Inner, Simulation};
use muslin::picture::{PictureOptions, draw, encode_png};
use muslin::record::{Frame, party_code, state_code};
use muslin::world::Body;
use muslin_linalg::Vec3;
use numpy::ndarray::IxDyn;
use numpy::{PyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;

/// Position, normal, impulse, state and parties of contacts.
type Contacts<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray2<i32>>,
);

pub fn body<'a>(inner: &'a Inner, name: &str) -> PyResult<&'a Body> {
    let world = &inner.engine.world;
    world.body(name).ok_or_else(|| {
        let known: Vec<&str> = world.bodies.iter().map(|b| b.name.as_str()).collect();
        PyKeyError::new_err(format!(
            "there is no cloth or soft body `{name}`; there is {}",
            known.join(", ")
        ))
    })
}

fn no_object(inner: &Inner, name: &str) -> PyErr {
    let world = &inner.engine.world;
    let cloths = world.bodies.iter().map(|b| b.name.as_str());
    let known: Vec<&str> = cloths
        .chain(world.obstacles.iter().map(|o| o.name.as_str()))
        .collect();
    PyKeyError::new_err(format!(
        "there is no cloth or obstacle `{name}`; there is {}",
        known.join(", ")
    ))
}

#[pymethods]
impl Simulation {
    /// Name of the scene.
    fn name(&self) -> PyResult<String> {
        Ok(self.lock()?.engine.name.clone())
    }

    /// Names of cloths, obstacles and pins.
    fn names(&self) -> PyResult<(Vec<String>, Vec<String>, Vec<String>)> {
        let inner = self.lock()?;
        let world = &inner.engine.world;
        Ok((
            world.bodies.iter().map(|b| b.name.clone()).collect(),
            world.obstacles.iter().map(|o| o.name.clone()).collect(),
            world.pins.iter().map(|p| p.name.clone()).collect(),
        ))
    }

    /// Time, s; steps; frames complete; frames wanted.
    fn progress(&self) -> PyResult<(f64, usize, usize, usize)> {
        let inner = self.lock()?;
        let engine = &inner.engine;
        Ok((
            engine.world.time,
            engine.steps(),
            engine.frame(),
            engine.scene.output.frames,
        ))
    }

    /// Length of a step, s; steps a frame; threads.
    fn clock(&self) -> PyResult<(f64, usize, usize)> {
        let inner = self.lock()?;
        let engine = &inner.engine;
        Ok((engine.dt(), engine.steps_per_frame(), engine.threads()))
    }

    /// Positions of a cloth, m: into `out`, or as a new array.
    fn positions<'py>(
        &self,
        py: Python<'py>,
        cloth: &str,
        out: Option<Bound<'py, PyArray<f64, IxDyn>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let inner = self.lock()?;
        let range = body(&inner, cloth)?.vertices.clone();
        vectors_out(py, &inner.engine.world.state.x[range], out)
    }

    /// Velocities of a cloth, m/s: into `out`, or as a new array.
    fn velocities<'py>(
        &self,
        py: Python<'py>,
        cloth: &str,
        out: Option<Bound<'py, PyArray<f64, IxDyn>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let inner = self.lock()?;
        let range = body(&inner, cloth)?.vertices.clone();
        vectors_out(py, &inner.engine.world.state.v[range], out)
    }

    /// Faces of a cloth or obstacle.
    fn faces<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let inner = self.lock()?;
        let world = &inner.engine.world;
        let faces = match (world.body(name), world.obstacle(name)) {
            (Some(body), _) => &body.topology.faces[..],
            (None, Some(obstacle)) => muslin::obstacle::Obstacle::faces(&*obstacle.shape),
            (None, None) => return Err(no_object(&inner, name)),
        };
        table(py, bytemuck::cast_slice::<_, [i32; 3]>(faces).to_vec())
    }

    /// Grows when vertices or faces change.
    fn topology(&self) -> PyResult<u64> {
        Ok(self.lock()?.engine.world.topology_revision)
    }

    /// Rest positions of each face's corners in warp and weft coordinates, m.
    fn material<'py>(&self, py: Python<'py>, cloth: &str) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let inner = self.lock()?;
        let body = body(&inner, cloth)?;
        let flat: Vec<f64> = body
            .material
            .iter()
            .flatten()
            .flat_map(muslin_linalg::Vec2::to_array)
            .collect();
        list(py, flat).reshape([body.material.len(), 3, 2])
    }

    /// Mass of each vertex, kg.
    fn masses<'py>(&self, py: Python<'py>, cloth: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let inner = self.lock()?;
        let range = body(&inner, cloth)?.vertices.clone();
        Ok(PyArray1::from_slice(py, &inner.engine.world.mass[range]))
    }

    /// Vertex quadruples of a soft body; none of cloth.
    fn tetrahedra<'py>(&self, py: Python<'py>, body: &str) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let inner = self.lock()?;
        let tetrahedra = &self::body(&inner, body)?.tetrahedra;
        table(py, bytemuck::cast_slice::<_, [i32; 4]>(tetrahedra).to_vec())
    }

    /// Positions of the surface of an obstacle now, m: into `out`, or as a new array.
    fn surface<'py>(
        &self,
        py: Python<'py>,
        obstacle: &str,
        out: Option<Bound<'py, PyArray<f64, IxDyn>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let inner = self.lock()?;
        let world = &inner.engine.world;
        let found = world.obstacle(obstacle);
        let found = found.ok_or_else(|| no_object(&inner, obstacle))?;
        let mut positions = Vec::new();
        muslin::obstacle::Obstacle::positions(&*found.shape, world.time, &mut positions);
        vectors_out(py, &positions, out)
    }

    /// Translation, rotation (x, y, z, w) and scale of an obstacle now.
    fn pose(&self, obstacle: &str) -> PyResult<([f64; 3], [f64; 4], f64)> {
        let inner = self.lock()?;
        let place = inner.engine.world.place(obstacle).map_err(errors::steer)?;
        Ok((
            place.translation.to_array(),
            place.rotation.to_array(),
            place.scale,
        ))
    }

    /// Contacts of the last step.
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Contacts<'py>> {
        let inner = self.lock()?;
        let touches = &inner.engine.world.touches;
        let rows = |of: fn(&muslin::contact::Touch) -> Vec3| -> Vec<[f64; 3]> {
            touches.iter().map(|t| of(t).to_array()).collect()
        };
        Ok((
            table(py, rows(|t| t.position))?,
            table(py, rows(|t| t.normal))?,
            table(py, rows(|t| t.impulse))?,
            list(py, touches.iter().map(|t| state_code(t.state)).collect()),
            table(
                py,
                touches.iter().map(|t| t.parties.map(party_code)).collect(),
            )?,
        ))
    }

    /// Force of all contacts on an object, mean over the last step, N.
    fn contact_force(&self, name: &str) -> PyResult<[f64; 3]> {
        let inner = self.lock()?;
        let force = inner.engine.contact_force(name);
        force
            .map(|f| f.to_array())
            .ok_or_else(|| no_object(&inner, name))
    }

    /// Cloth and vertices of a pin, and the force it puts on each of them in the last step, N, if that is measured.
    fn pin<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(
        String,
        Bound<'py, PyArray1<i32>>,
        Option<Bound<'py, PyArray2<f64>>>,
    )> {
        let inner = self.lock()?;
        let world = &inner.engine.world;
        let pin = world.pins.iter().find(|p| p.name == name);
        let pin = pin.ok_or_else(|| {
            let known: Vec<&str> = world.pins.iter().map(|p| p.name.as_str()).collect();
            PyKeyError::new_err(format!(
                "there is no pin `{name}`; there is {}",
                if known.is_empty() {
                    "none".into()
                } else {
                    known.join(", ")
                }
            ))
        })?;
        let first = pin.vertices.first().map_or(0, |v| *v as usize);
        let body = world.bodies.iter().find(|b| b.vertices.contains(&first));
        let (cloth, start) = body.map_or((String::new(), 0), |b| {
            (b.name.clone(), b.vertices.start as i32)
        });
        let local = pin.vertices.iter().map(|v| *v as i32 - start).collect();
        let force = |v: &u32| world.reactions.get(*v as usize).copied();
        let forces: Vec<Vec3> = pin
            .vertices
            .iter()
            .map(|v| force(v).unwrap_or(Vec3::ZERO))
            .collect();
        let forces = if world.wants_reactions {
            Some(from_vectors(py, &forces)?)
        } else {
            None
        };
        Ok((cloth, list(py, local), forces))
    }

    /// The report of the last step as JSON.
    fn report(&self) -> PyResult<Option<String>> {
        let inner = self.lock()?;
        let text = inner.report.as_ref().map(serde_json::to_string);
        text.transpose().map_err(errors::value)
    }

    /// Measures of the scene now.
    fn measures(&self) -> PyResult<BTreeMap<String, f64>> {
        Ok(self.lock()?.engine.measure())
    }

    /// Pairs of objects that cross now: names, crossing pairs of triangles, vertices inside.
    fn crossings(&self, py: Python<'_>) -> PyResult<Vec<(String, usize, usize)>> {
        let mut inner = self.lock()?;
        let engine = &mut inner.engine;
        Ok(py.detach(|| {
            let found = engine.crossings();
            let told = found
                .iter()
                .map(|c| (c.parties(&engine.world), c.pairs, c.inside));
            told.collect()
        }))
    }

    /// The scene with all changes, as TOML.
    fn scene(&self) -> PyResult<String> {
        let inner = self.lock()?;
        toml::to_string(&inner.engine.scene).map_err(errors::value)
    }

    /// A picture: PNG bytes and RGB rows.
    fn picture<'py>(
        &self,
        py: Python<'py>,
        size: [usize; 2],
        contacts: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyArray3<u8>>)> {
        let mut inner = self.lock()?;
        let engine = &mut inner.engine;
        let drawn = py.detach(move || {
            let frame = Frame::of_world(engine.frame(), &engine.world);
            let frames = [frame];
            let mut options = PictureOptions::suiting(&engine.scene, &frames, size);
            options.contacts = contacts;
            let rgb = draw(&frames[0], &options);
            let mut png = Vec::new();
            encode_png(&mut png, size, &rgb).map(|()| (png, rgb))
        });
        let (png, rgb) = drawn.map_err(errors::value)?;
        let rows = list(py, rgb).reshape([size[1], size[0], 3])?;
        Ok((PyBytes::new(py, &png), rows))
    }
}

fn vectors_out<'py>(
    py: Python<'py>,
    vectors: &[Vec3],
    out: Option<Bound<'py, PyArray<f64, IxDyn>>>,
) -> PyResult<Bound<'py, PyAny>> {
    match out {
        Some(out) => {
            arrays::write_vectors(&out, vectors)?;
            Ok(out.into_any())
        }
        None => Ok(from_vectors(py, vectors)?.into_any()),
    }
}
