//! What cloth is made of: data as written in a file, and the laws that forces are built from.

mod fabric;
mod law;

pub use fabric::{
    Bend, BendElement, Fabric, FabricFault, IsotropicSheet, OrthotropicSheet, Plate, Springs,
    Stretch, shipped_fabric, shipped_fabrics,
};
pub use law::{StretchLaw, StretchSample};
