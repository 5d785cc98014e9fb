//! What cloth is made of and how surfaces rub: data as written in a file, and the laws that forces and contacts are built
//! from.

mod fabric;
mod friction;
mod friction_pairs;
mod law;
mod solid;

pub use fabric::{
    Bend, BendElement, Fabric, FabricFault, IsotropicSheet, OrthotropicSheet, Plate, Springs,
    Stretch, shipped_fabric, shipped_fabrics,
};
pub use friction::{Anisotropy, Cone, DEFAULT_CLOTH, DEFAULT_OBSTACLE, Line, Origin, PairFriction};
pub use friction_pairs::{ANY, Grade, ShippedPair, shipped_pairs, shipped_surfaces};
pub use law::{StretchLaw, StretchSample};
pub use solid::{DEFAULT_DAMPING, DEFAULT_POISSON, Solid, shipped_solid, shipped_solids};
