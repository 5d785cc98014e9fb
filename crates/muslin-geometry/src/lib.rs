//! Shapes for Muslin: triangle meshes, and the questions one asks of them.

pub mod mesh;
