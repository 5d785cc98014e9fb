//! What is made of recordings: smooth refinements of them.

pub mod loop_masks;
pub mod subdivide;
