//! Where things touch: what crosses, and what is near or about to cross.

mod candidate;
mod crossings;
mod detector;
mod prune;
mod touch;

pub use candidate::{Candidate, Kind, NO_VERTEX};
pub use crossings::{Crossing, CrossingJudge, Party};
pub use detector::{DetectParams, Detector};
pub use prune::prune;
pub use touch::Touch;

#[cfg(test)]
mod tests;
