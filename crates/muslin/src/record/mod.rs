//! What is left afterwards: the run folder with frames, step reports, checkpoint and summary.

mod arrays;
mod contacts;
mod field;
mod frame;
mod measure;
mod recorded_scene;
mod run_folder;
mod saved;
mod split;
mod summary;

pub use arrays::{ArrayFile, ArrayWriter, RecordError};
pub use contacts::{party_code, state_code};
pub use field::{contact_pressure, principal_stretch, principal_stretches, vertex_areas};
pub use frame::{Frame, FrameBody, FrameObstacle, FrameReader, write_frame};
pub use measure::MeasureSet;
pub use recorded_scene::recorded_scene;
pub use run_folder::{Existing, RunFolder};
pub use saved::{load, save};
pub use split::Split;
pub use summary::{Expectation, Incident, Series, Summary};
