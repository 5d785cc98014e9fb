//! Where things touch: what crosses, and what is near or about to cross.

mod build;
mod candidate;
mod crossings;
mod detector;
mod examine;
mod neighbours;
mod prune;
mod redundant;
mod touch;

pub use build::{ContactParams, ContactSet, Features, NEAR, Remembered};
pub(crate) use candidate::Pair;
pub use candidate::{Candidate, Kind, NO_VERTEX};
pub use crossings::{Crossing, CrossingJudge, Party};
pub use detector::{DetectParams, Detector, SECOND_LINE, SecondLine};
pub use prune::prune;
pub use touch::Touch;

#[cfg(test)]
mod tests;
