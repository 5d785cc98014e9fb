//! Where things touch: what crosses, and what is near or about to cross.

mod crossings;

pub use crossings::{Crossing, CrossingJudge, Party};
