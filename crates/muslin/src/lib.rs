//! The engine of Muslin: scene → world → step → recording.
//!
//! A [`scene::SceneFile`] is what the user wrote, a [`world::World`] what exists now; a [`step::Stepper`] moves the
//! world forward, and [`record`] keeps what is left afterwards. [`simulation::Simulation`] is the loop that everybody
//! calls.
//!
//! ```
//! use muslin::{scene::SceneSource, simulation::Simulation};
//! let source = SceneSource::find("hanging_cloth")?;
//! let mut simulation = Simulation::new(&source, &[], 1)?;
//! let report = simulation.advance()?;
//! assert!(report.converged);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use muslin_geometry as geometry;
pub use muslin_linalg as linalg;

pub mod contact;
pub mod export;
pub mod force;
pub mod material;
pub mod motion;
pub mod obstacle;
pub mod picture;
pub mod record;
pub mod scene;
pub mod simulation;
pub mod step;
pub mod world;
