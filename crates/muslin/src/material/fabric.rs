//! A fabric as written in a file: physical numbers with units, and which model they belong to.

use super::law::StretchLaw;
use crate::force::bend::{BendingModuli, HingeLaw};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sheet material. Give either `plate`, or `stretch` and `bend`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fabric {
    /// What it is, in a line.
    #[serde(default)]
    pub description: String,
    /// Where the numbers come from.
    #[serde(default)]
    pub source: String,
    /// Which numbers the source does not give and how they were chosen.
    #[serde(default)]
    pub assumed: String,
    /// Fibre that makes up at least 85 % of it, such as `cotton`: friction is looked up by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fibre: Option<String>,
    /// Mass per area, kg/m².
    pub density: f64,
    /// Thickness of the sheet, m. The default is 0.5 mm, or the plate's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thickness: Option<f64>,
    /// Kelvin-Voigt damping time of stretch and bending, s: a strain rate of 1/s stresses like a strain of this much.
    #[serde(default = "default_damping")]
    pub damping: f64,
    /// Resistance to stretch and shear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stretch: Option<Stretch>,
    /// Resistance to bending; without it the sheet bends freely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bend: Option<Bend>,
    /// A homogeneous elastic plate: sets stretch and bending together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plate: Option<Plate>,
}

fn default_damping() -> f64 {
    0.005
}

/// Resistance to stretch: exactly one of the models.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// Measured table of (c11, c12, c22, c33), N/m: a row near zero strain, then rows at stretch 1 + 1/6 for the
    /// largest strain at 0, 22.5, 45, 67.5 and 90 degrees to warp. Used doubled, negative entries as zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<[[f64; 4]; 6]>,
    /// Constant moduli along warp and weft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orthotropic: Option<OrthotropicSheet>,
    /// The same in all directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isotropic: Option<IsotropicSheet>,
    /// Springs along the mesh's edges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub springs: Option<Springs>,
}

/// Constant membrane moduli.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrthotropicSheet {
    /// Stress per strain along warp, N/m.
    pub warp: f64,
    /// Stress per strain along weft, N/m.
    pub weft: f64,
    /// Stress along one per strain along the other, N/m.
    #[serde(default)]
    pub coupling: f64,
    /// Stress per shear angle, N/m.
    pub shear: f64,
}

/// A membrane that is alike in all directions.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IsotropicSheet {
    /// Young's modulus times thickness, N/m.
    pub modulus: f64,
    /// Poisson ratio.
    #[serde(default)]
    pub poisson: f64,
}

/// Springs along edges, each with the stiffness that makes a mesh of equilateral triangles a membrane of the given
/// modulus (and Poisson ratio 1/3); on other meshes approximately so.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Springs {
    /// Young's modulus times thickness, N/m.
    pub modulus: f64,
}

/// Resistance to bending: exactly one of `measured`, `rigidity`, or `warp` with `weft`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bend {
    /// Measured hinge coefficients, N·m: rows for edges at 0, 45, 90 degrees to warp, columns for curvatures 0, 10,
    /// 20, 30, 40 1/m. For a sheet bent into a cylinder along a grid direction the plate rigidity is a quarter of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<[[f64; 5]; 3]>,
    /// Plate rigidity in all directions, N·m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rigidity: Option<f64>,
    /// Plate rigidity for curvature along warp, N·m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warp: Option<f64>,
    /// Plate rigidity for curvature along weft, N·m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weft: Option<f64>,
    /// Twisting rigidity, N·m; the default is that of an isotropic plate of the mean rigidity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twist: Option<f64>,
    /// Poisson ratio of bending.
    #[serde(default)]
    pub poisson: f64,
    /// Which element measures the bending. The default is `hinge` for measured tables, `curvature` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<BendElement>,
}

/// How bending is measured on the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BendElement {
    /// Angle at each edge: fast, what measured tables were fitted with; depends on the mesh.
    Hinge,
    /// Curvature of each triangle from its neighbourhood: does not depend on the mesh; couples more vertices and costs more.
    Curvature,
}

/// A homogeneous elastic plate.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plate {
    /// Young's modulus, Pa.
    pub young: f64,
    /// Poisson ratio.
    #[serde(default)]
    pub poisson: f64,
    /// Thickness, m.
    pub thickness: f64,
    /// Which element measures the bending; the default is `curvature`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<BendElement>,
}

/// What is wrong with a fabric: the key, what is wrong with it, what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct FabricFault {
    /// Path of the key inside the fabric.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

pub(super) fn fault(
    key: &str,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> FabricFault {
    FabricFault {
        key: key.into(),
        problem: problem.into(),
        remedy: remedy.into(),
    }
}

pub(super) fn within(
    key: &str,
    value: f64,
    low: f64,
    high: f64,
    unit: &str,
) -> Result<(), FabricFault> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(fault(
        key,
        format!("{value} {unit} is not believable"),
        format!("use a value from {low:e} to {high:e} {unit}"),
    ))
}

impl Fabric {
    /// Checks that every number makes physical sense and that the models fit together.
    pub fn check(&self) -> Result<(), FabricFault> {
        within("density", self.density, 1e-4, 1e3, "kg/m²")?;
        if let Some(t) = self.thickness {
            within("thickness", t, 1e-6, 0.1, "m")?;
        }
        within("damping", self.damping, 0.0, 10.0, "s")?;
        match (&self.plate, &self.stretch) {
            (Some(_), Some(_)) => Err(fault(
                "stretch",
                "both `plate` and `stretch` are given",
                "keep one of them",
            )),
            (None, None) => Err(fault(
                "",
                "neither `plate` nor `stretch` is given",
                "say how the fabric resists stretch",
            )),
            (Some(plate), None) => {
                if self.bend.is_some() {
                    return Err(fault(
                        "bend",
                        "a `plate` has its bending already",
                        "remove `bend` or `plate`",
                    ));
                }
                plate.check()
            }
            (None, Some(stretch)) => {
                stretch.check()?;
                self.bend.as_ref().map_or(Ok(()), Bend::check)
            }
        }
    }

    /// Thickness, m.
    pub fn thickness(&self) -> f64 {
        self.plate
            .as_ref()
            .map(|p| p.thickness)
            .or(self.thickness)
            .unwrap_or(0.5e-3)
    }

    /// In-plane law. Springs have none; theirs is zero.
    pub fn stretch_law(&self) -> StretchLaw {
        let isotropic = |modulus: f64, nu: f64| {
            let c = modulus / (1.0 - nu * nu);
            StretchLaw::constant([c, nu * c, c, modulus / (2.0 * (1.0 + nu))], self.damping)
        };
        if let Some(p) = &self.plate {
            return isotropic(p.young * p.thickness, p.poisson);
        }
        match &self.stretch {
            Some(Stretch {
                measured: Some(rows),
                ..
            }) => StretchLaw::measured(*rows, self.damping),
            Some(Stretch {
                orthotropic: Some(o),
                ..
            }) => StretchLaw::constant([o.warp, o.coupling, o.weft, o.shear], self.damping),
            Some(Stretch {
                isotropic: Some(i), ..
            }) => isotropic(i.modulus, i.poisson),
            _ => StretchLaw::constant([0.0; 4], self.damping),
        }
    }

    /// Modulus of edge springs, N/m, if the fabric is made of them.
    pub fn spring_modulus(&self) -> Option<f64> {
        self.stretch
            .as_ref()
            .and_then(|s| s.springs.as_ref())
            .map(|s| s.modulus)
    }

    /// Stress per strain of the sheet at rest, the larger of warp and weft, N/m.
    pub fn membrane_modulus(&self) -> f64 {
        self.spring_modulus().unwrap_or_else(|| {
            let [warp, _, weft, _] = self.stretch_law().sample(&[0.0; 3]).coefficients;
            warp.max(weft)
        })
    }

    /// Element that measures bending, if the fabric resists it.
    pub fn bend_element(&self) -> Option<BendElement> {
        if let Some(p) = &self.plate {
            return Some(p.element.unwrap_or(BendElement::Curvature));
        }
        let bend = self.bend.as_ref()?;
        let default = if bend.measured.is_some() {
            BendElement::Hinge
        } else {
            BendElement::Curvature
        };
        Some(bend.element.unwrap_or(default))
    }

    /// Plate rigidities. A measured hinge table counts with a quarter of its entries at zero curvature.
    pub fn bending_moduli(&self) -> BendingModuli {
        if let Some(p) = &self.plate {
            let rigidity = p.young * p.thickness.powi(3) / (12.0 * (1.0 - p.poisson * p.poisson));
            return BendingModuli::isotropic(rigidity, p.poisson, self.damping);
        }
        let bend = self.bend.clone().unwrap_or_default();
        if let Some(rows) = bend.measured {
            // An edge along warp bends the weft.
            let (warp, weft) = (rows[2][0] / 4.0, rows[0][0] / 4.0);
            let twist = (rows[1][0] / 4.0 - (warp + weft) / 4.0).max(0.0);
            return BendingModuli {
                warp,
                weft,
                coupling: 0.0,
                twist,
                damping: self.damping,
            };
        }
        let warp = bend.warp.or(bend.rigidity).unwrap_or(0.0);
        let weft = bend.weft.or(bend.rigidity).unwrap_or(0.0);
        let mean = (warp * weft).sqrt();
        BendingModuli {
            warp,
            weft,
            coupling: bend.poisson * mean,
            twist: bend.twist.unwrap_or((1.0 - bend.poisson) / 2.0 * mean),
            damping: self.damping,
        }
    }

    /// Hinge coefficients: the measured ones, or four times the rigidity across each edge direction.
    pub fn hinge_law(&self) -> HingeLaw {
        if let Some(Bend {
            measured: Some(table),
            ..
        }) = self.bend
        {
            return HingeLaw {
                table,
                damping: self.damping,
            };
        }
        let m = self.bending_moduli();
        let rows = [m.weft, f64::midpoint(m.warp, m.weft), m.warp];
        HingeLaw {
            table: rows.map(|b| [4.0 * b; 5]),
            damping: self.damping,
        }
    }
}

impl Plate {
    fn check(&self) -> Result<(), FabricFault> {
        within("plate.young", self.young, 1.0, 1e13, "Pa")?;
        within("plate.poisson", self.poisson, -0.99, 0.5, "")?;
        within("plate.thickness", self.thickness, 1e-6, 0.1, "m")
    }
}

impl Stretch {
    fn check(&self) -> Result<(), FabricFault> {
        let given = [
            self.measured.is_some(),
            self.orthotropic.is_some(),
            self.isotropic.is_some(),
            self.springs.is_some(),
        ];
        if given.iter().filter(|g| **g).count() != 1 {
            return Err(fault(
                "stretch",
                "exactly one stretch model is needed",
                "give one of `measured`, `orthotropic`, `isotropic`, `springs`",
            ));
        }
        if let Some(rows) = &self.measured {
            for c in rows.iter().flatten() {
                within("stretch.measured", *c, -1e9, 1e9, "N/m")?;
            }
            if rows[0][0] <= 0.0 || rows[0][2] <= 0.0 {
                return Err(fault(
                    "stretch.measured",
                    "c11 and c22 must be positive in the first row",
                    "check the order of the columns: c11, c12, c22, c33",
                ));
            }
        }
        if let Some(o) = &self.orthotropic {
            within("stretch.orthotropic.warp", o.warp, 1e-3, 1e9, "N/m")?;
            within("stretch.orthotropic.weft", o.weft, 1e-3, 1e9, "N/m")?;
            within("stretch.orthotropic.shear", o.shear, 0.0, 1e9, "N/m")?;
            if o.coupling.powi(2) >= o.warp * o.weft {
                return Err(fault(
                    "stretch.orthotropic.coupling",
                    format!("{} N/m makes the sheet unstable", o.coupling),
                    format!("its size must stay below {:.6}", (o.warp * o.weft).sqrt()),
                ));
            }
        }
        if let Some(i) = &self.isotropic {
            within("stretch.isotropic.modulus", i.modulus, 1e-3, 1e9, "N/m")?;
            within("stretch.isotropic.poisson", i.poisson, -0.99, 0.99, "")?;
        }
        self.springs.as_ref().map_or(Ok(()), |s| {
            within("stretch.springs.modulus", s.modulus, 1e-3, 1e9, "N/m")
        })
    }
}

impl Bend {
    fn check(&self) -> Result<(), FabricFault> {
        let given = [
            self.measured.is_some(),
            self.rigidity.is_some(),
            self.warp.is_some() || self.weft.is_some(),
        ];
        if given.iter().filter(|g| **g).count() != 1 || self.warp.is_some() != self.weft.is_some() {
            return Err(fault(
                "bend",
                "exactly one bending model is needed",
                "give `measured`, or `rigidity`, or `warp` and `weft`",
            ));
        }
        let rows = self.measured.iter().flatten().flatten().copied();
        for value in rows
            .chain(self.rigidity)
            .chain(self.warp)
            .chain(self.weft)
            .chain(self.twist)
        {
            within("bend", value, 0.0, 1e6, "N·m")?;
        }
        within("bend.poisson", self.poisson, -0.99, 0.99, "")
    }
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../materials/fabrics/", $name, ".toml")))),*]
    };
}

/// Names and texts of the fabrics that come with Muslin.
const SHIPPED: &[(&str, &str)] = shipped![
    "11oz-black-denim",
    "aluminium-foil",
    "camel-ponte-roma",
    "cotton-woven",
    "cupro-lining",
    "elastane-twill",
    "garment-leather",
    "gray-interlock",
    "ivory-rib-knit",
    "navy-sparkle-sweat",
    "paper",
    "pink-ribbon-brown",
    "polyester-woven",
    "royal-target",
    "tango-red-jet-set",
    "white-dots-on-blk",
    "white-swim-solid",
    "wool-lycra",
    "wool-woven",
];

/// Names of the fabrics that come with Muslin.
pub fn shipped_fabrics() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

/// A fabric that comes with Muslin.
pub fn shipped_fabric(name: &str) -> Option<Fabric> {
    let (_, text) = SHIPPED.iter().find(|(n, _)| *n == name)?;
    toml::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_fabrics_are_sound_and_complete() {
        for name in shipped_fabrics() {
            let fabric = shipped_fabric(name).unwrap_or_else(|| panic!("{name} cannot be read"));
            fabric.check().unwrap_or_else(|f| panic!("{name}: {f:?}"));
            assert!(
                !fabric.source.is_empty() && !fabric.description.is_empty(),
                "{name} has no source"
            );
            assert!(fabric.bend_element().is_some(), "{name} does not bend");
        }
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../materials/fabrics");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), SHIPPED.len());
        let measured = shipped_fabrics()
            .filter_map(shipped_fabric)
            .filter(|f| !f.stretch_law().is_constant());
        assert_eq!(measured.count(), 10);
    }

    #[test]
    fn denim_bends_like_denim() {
        // KES gives 14 to 22 µN·m for denims; the table's quarter lies there.
        let m = shipped_fabric("11oz-black-denim").unwrap().bending_moduli();
        assert!(
            (m.weft - 16.05e-6).abs() < 1e-8 && (m.warp - 24.25e-6).abs() < 1e-8,
            "{m:?}"
        );
    }
}
