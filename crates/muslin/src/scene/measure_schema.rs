//! What is measured and expected: the `[[measure]]` tables of a scene file.

use super::schema::Triple;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something measured at every step.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Name in the results.
    pub name: String,
    /// What is measured.
    pub kind: MeasureKind,
    /// The cloth or soft body, or a pin (for `reaction`), or any of them or an obstacle (for contacts); the default is
    /// everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Direction for measures that need one; it is normalised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Triple>,
    /// Two points of the initial scene for `distance` and `elongation`: the vertices nearest to them are taken. One
    /// point for `position`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<Triple>>,
    /// What is expected of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeasureKind {
    /// Mean displacement since the start along `direction`, weighted by mass, m.
    Displacement,
    /// Root of the mean squared speed, weighted by mass, m/s.
    Speed,
    /// Largest speed of a vertex, m/s.
    LargestSpeed,
    /// Centre of mass along `direction`, m.
    CenterOfMass,
    /// Lowest point against gravity, m.
    Height,
    /// Highest point against gravity, m.
    Highest,
    /// Largest principal stretch, minus 1.
    LargestStretch,
    /// Largest principal compression: 1 minus the smallest stretch.
    LargestCompression,
    /// Distance between the vertices nearest to two `points`, m.
    Distance,
    /// That distance over its initial value.
    Elongation,
    /// Position along `direction` of the vertex nearest to a point, m.
    Position,
    /// Volume of soft bodies, and that enclosed by closed cloth, m³.
    Volume,
    /// Linear momentum along `direction`, kg m/s.
    Momentum,
    /// Angular momentum about the origin along `direction`, kg m²/s.
    AngularMomentum,
    /// Kinetic energy, J.
    KineticEnergy,
    /// Force that a pin exerts on its vertices along `direction`, N.
    Reaction,
    /// Contacts of the step, also those that came apart in it; of a cloth or obstacle, or all.
    Contacts,
    /// Contacts that stick; of a cloth or obstacle, or all.
    Sticking,
    /// Contacts that slide; of a cloth or obstacle, or all.
    Sliding,
    /// Force of all contacts on the cloth or obstacle `of` along `direction`, mean over the step, N.
    ContactForce,
    /// Depth of the deepest vertex of cloth or of a soft body's surface inside a solid obstacle, m; 0 if none is inside.
    Penetration,
}

/// A value that a run has to reach; `muslin run` says whether it did.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Expected value, in the measure's unit.
    pub value: f64,
    /// Largest deviation, in the measure's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Largest deviation as a fraction of the expected value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<f64>,
    /// Which value of the run counts.
    #[serde(default)]
    pub at: ExpectAt,
    /// Time from which on values count, s.
    #[serde(default)]
    pub from: f64,
    /// Time up to which values count, s; by default the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
}

impl Expect {
    /// Whether values at a time (s) count.
    pub fn counts_at(&self, time: f64) -> bool {
        time >= self.from && self.until.is_none_or(|until| time <= until)
    }
}

/// Which value of a run counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExpectAt {
    /// The last.
    #[default]
    End,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The mean over time.
    Mean,
    /// The largest less the smallest.
    Range,
}
