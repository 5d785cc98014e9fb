//! Starts that are not fit to run: cloth that crosses itself, other cloth or obstacles is parted first.

mod contour;
mod untangle;

pub use untangle::{Untangled, untangle};
