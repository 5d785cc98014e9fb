//! What soft bodies are made of: density, elasticity and damping, as written in a file.

use super::fabric::{FabricFault, fault, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A homogeneous elastic solid, alike in all directions.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Solid {
    /// What it is, in a line.
    #[serde(default)]
    pub description: String,
    /// Where the numbers come from.
    #[serde(default)]
    pub source: String,
    /// Which numbers the source does not give and how they were chosen.
    #[serde(default)]
    pub assumed: String,
    /// Mass per volume, kg/m³.
    pub density: f64,
    /// Young's modulus, Pa.
    pub young: f64,
    /// Poisson ratio.
    pub poisson: f64,
    /// Kelvin-Voigt damping time, s: a strain rate of 1/s stresses like a strain of this much.
    pub damping: f64,
}

/// Poisson ratio where none is given.
pub const DEFAULT_POISSON: f64 = 0.3;
/// Damping time where none is given, s.
pub const DEFAULT_DAMPING: f64 = 0.002;

impl Solid {
    /// Checks that every number makes physical sense.
    pub fn check(&self) -> Result<(), FabricFault> {
        within("density", self.density, 0.1, 1e5, "kg/m³")?;
        within("young", self.young, 1.0, 1e12, "Pa")?;
        within("damping", self.damping, 0.0, 10.0, "s")?;
        // At 0.5 a solid cannot be compressed, and its modulus of compression has no number.
        if !(-0.9..=0.499).contains(&self.poisson) {
            return Err(fault(
                "poisson",
                format!("a Poisson ratio of {} is not possible here", self.poisson),
                "use a value from -0.9 to 0.499; 0.45 is nearly incompressible",
            ));
        }
        Ok(())
    }

    /// Lamé's constants: resistance to changes of volume and of shape, Pa.
    pub fn lame(&self) -> [f64; 2] {
        let (e, nu) = (self.young, self.poisson);
        let lambda = e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
        [lambda, e / (2.0 * (1.0 + nu))]
    }
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../materials/solids/", $name, ".toml")))),*]
    };
}

/// Names and texts of the solids that come with Muslin.
const SHIPPED: &[(&str, &str)] = shipped!["foam", "gelatin", "rubber", "silicone", "sponge"];

/// Names of the solids that come with Muslin.
pub fn shipped_solids() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

/// A solid that comes with Muslin.
pub fn shipped_solid(name: &str) -> Option<Solid> {
    let (_, text) = SHIPPED.iter().find(|(n, _)| *n == name)?;
    toml::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_solids_are_sound_and_complete() {
        for name in shipped_solids() {
            let solid = shipped_solid(name).unwrap_or_else(|| panic!("{name} cannot be read"));
            solid.check().unwrap_or_else(|f| panic!("{name}: {f:?}"));
            assert!(!solid.source.is_empty() && !solid.description.is_empty());
        }
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../materials/solids");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), SHIPPED.len());
    }

    #[test]
    fn lame_constants_give_back_young_and_poisson() {
        let solid = shipped_solid("foam").unwrap();
        let [lambda, mu] = solid.lame();
        let young = mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu);
        assert!((young / solid.young - 1.0).abs() < 1e-12);
        assert!((lambda / (2.0 * (lambda + mu)) - solid.poisson).abs() < 1e-12);
    }
}
