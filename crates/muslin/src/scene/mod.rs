//! What the user wrote: a TOML file, read into [`SceneFile`], checked, with errors that name file, line and remedy.

mod admm_schema;
mod error;
mod friction_schema;
mod load;
mod measure_schema;
pub mod mesh_file;
mod obstacle_schema;
mod schema;
mod shipped;
mod soft_schema;
mod solver_schema;
mod surface_schema;
pub mod tet_file;
mod validate;
mod validate_friction;
mod validate_obstacle;
mod validate_soft;

pub use admm_schema::{Acceleration, AdmmSettings};
pub use error::SceneError;
pub use friction_schema::*;
pub use load::{Override, SceneSource};
pub(crate) use load::{nearest_name, read_fabric};
pub use measure_schema::*;
pub use obstacle_schema::*;
pub use schema::*;
pub use shipped::{ShippedScene, shipped_scene, shipped_scenes};
pub use soft_schema::*;
pub use solver_schema::*;
pub use surface_schema::SurfaceSpec;
pub(crate) use validate_friction::direction as check_direction;
