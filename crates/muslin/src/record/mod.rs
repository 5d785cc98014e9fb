//! What is left afterwards: the run folder with frames, step reports, checkpoint and summary.

mod arrays;
mod contacts;
mod frame;
mod measure;
mod run_folder;
mod summary;

pub use arrays::{ArrayFile, ArrayWriter, RecordError};
pub use frame::{Frame, FrameBody, FrameObstacle, FrameReader, write_frame};
pub use measure::MeasureSet;
pub use run_folder::{Existing, RunFolder};
pub use summary::{Expectation, Series, Summary};
