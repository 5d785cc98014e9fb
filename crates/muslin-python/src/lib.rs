//! The compiled part of the Python package `muslin`: it converts arrays and errors, and holds no logic of its own. What
//! users see is in `python/muslin`.
//!
//! Everything that computes releases the interpreter lock. Nothing here keeps a reference into an array of Python's
//! longer than a call, and no array of Python's ever refers to memory of the engine: results are moved or copied out.

// The macros of pyo3 write `unsafe` glue between Python and Rust; nothing else here does.
#![allow(unsafe_code)]
// Arguments from Python arrive by value, and errors are converted by value in `map_err`.
#![allow(clippy::needless_pass_by_value)]
// The lifetime of the interpreter is written the same way everywhere.
#![allow(clippy::elidable_lifetime_names)]
// What Python gets is what its stub says: tuples of arrays.
#![allow(clippy::type_complexity)]

mod arrays;
mod errors;
mod friction;
mod geometry;
mod reading;
mod simulation;
mod steering;
mod threads;
mod value;
mod view;

use pyo3::prelude::*;

/// The engine of Muslin. Use the package `muslin` instead; it checks what it hands on.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::friction::FrictionProblem;
    #[pymodule_export]
    use super::geometry::{
        closest_points, edge_edge_distances, impact_times, intersections_between,
        point_triangle_distances, self_intersections,
    };
    #[pymodule_export]
    use super::simulation::{Simulation, fabrics, scenes, version};
    #[pymodule_export]
    use super::view::Viewer;
}
