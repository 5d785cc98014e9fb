//! Friction in a scene file: the `friction` key of cloth and obstacles, and the `[[friction]]` pairs.
//!
//! Which of them holds for two surfaces that touch, first found first taken:
//! 1. a `[[friction]]` that names both objects;
//! 2. a `[[friction]]` that names a fabric, a fibre or a material; the one that names more exactly;
//! 3. `friction` of the obstacle; of two cloths the smaller one; of a cloth on itself its own; of the cloth if the
//!    obstacle has none;
//! 4. `contact.friction` of the scene;
//! 5. the table that comes with Muslin;
//! 6. the default: cloth on cloth 0.4, cloth on obstacle 0.3; authored, not measured.

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A friction coefficient: a number, the same in all directions, or a table that depends on direction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FrictionValue {
    /// The same in all directions; 0 is a slippery surface.
    Coefficient(f64),
    /// Depends on direction.
    Directional(DirectionalFriction),
}

/// Friction that depends on direction: a line on the surface with one coefficient along it and one across.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionalFriction {
    /// Coefficient along the line.
    pub along: f64,
    /// Coefficient across the line.
    pub across: f64,
    /// Coefficient where the lines of two surfaces are at right angles; between them it is blended. The default is the
    /// mean of the other two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isotropic: Option<f64>,
    /// The line: for cloth `"warp"` (the default), `"weft"` or `[warp, weft]`; for an obstacle `[x, y, z]` before it is
    /// placed, so that it moves with the obstacle. Only its part along the surface counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<DirectionSpec>,
}

/// A line on a surface.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DirectionSpec {
    /// By name.
    Named(NamedDirection),
    /// By components: two in warp and weft coordinates, three in an obstacle's own.
    Components(Vec<f64>),
}

/// A line on a surface by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NamedDirection {
    /// Along the warp of cloth.
    Warp,
    /// Along the weft of cloth.
    Weft,
    /// No line: this surface is the same in all directions.
    None,
}

/// Friction between two surfaces: `coefficient`, or `along` and `across`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrictionPair {
    /// Two names: of cloths, obstacles, fabrics, fibres or materials of obstacles. Twice the same for cloth on itself. A
    /// name that is used for several things is told apart as `cloth.NAME`, `obstacle.NAME` or `surface.NAME`.
    pub between: [String; 2],
    /// Coefficient, the same in all directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coefficient: Option<f64>,
    /// Coefficient along the lines of both surfaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub along: Option<f64>,
    /// Coefficient across the lines of both surfaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<f64>,
    /// Coefficient where the lines are at right angles; the default is the mean of `along` and `across`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isotropic: Option<f64>,
    /// The lines on the two surfaces, in the order of `between`; `"none"` for a surface without one. The default is warp
    /// for cloth and none for obstacles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directions: Option<[DirectionSpec; 2]>,
}

// By hand, because a derived choice between number and table only says that nothing matched.
impl<'de> Deserialize<'de> for FrictionValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = FrictionValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a table such as { along = 0.2, across = 0.6 }")
            }

            fn visit_f64<E: de::Error>(self, v: f64) -> Result<FrictionValue, E> {
                Ok(FrictionValue::Coefficient(v))
            }

            fn visit_i64<E: de::Error>(self, v: i64) -> Result<FrictionValue, E> {
                Ok(FrictionValue::Coefficient(v as f64))
            }

            fn visit_u64<E: de::Error>(self, v: u64) -> Result<FrictionValue, E> {
                Ok(FrictionValue::Coefficient(v as f64))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<FrictionValue, A::Error> {
                DirectionalFriction::deserialize(MapAccessDeserializer::new(map))
                    .map(FrictionValue::Directional)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for DirectionSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = DirectionSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"warp\", \"weft\", [warp, weft] or [x, y, z]")
            }

            fn visit_str<E: de::Error>(self, v: &str) -> Result<DirectionSpec, E> {
                let name: de::value::StrDeserializer<E> =
                    de::IntoDeserializer::into_deserializer(v);
                NamedDirection::deserialize(name).map(DirectionSpec::Named)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<DirectionSpec, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(DirectionSpec::Components)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
