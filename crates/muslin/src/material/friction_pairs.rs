//! The table of friction that comes with Muslin, each number with its source.

use serde::Deserialize;
use std::sync::LazyLock;

/// Friction of two surfaces as the table has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShippedPair {
    /// Two fabrics, fibres or materials; [`ANY`] fits all.
    pub between: [String; 2],
    /// The number that is used.
    pub coefficient: f64,
    /// Coefficient while sliding, where the source gives both.
    #[serde(default)]
    pub kinetic: Option<f64>,
    /// How good the number is.
    pub grade: Grade,
    /// Where it comes from.
    pub source: String,
    /// What a reader has to know.
    #[serde(default)]
    pub note: String,
}

/// How good a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// A measurement.
    Measured,
    /// A limit; the value is not known better.
    Bound,
    /// Chosen so that a simulator agreed with something.
    Fitted,
    /// Somebody's choice.
    Authored,
}

/// Stands in the table for every surface.
pub const ANY: &str = "any";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    pair: Vec<ShippedPair>,
}

static TABLE: LazyLock<Vec<ShippedPair>> = LazyLock::new(|| {
    // A test reads it; a table that cannot be read would be an empty one.
    toml::from_str::<Table>(include_str!("../../../../materials/friction.toml"))
        .map(|t| t.pair)
        .unwrap_or_default()
});

/// The table that comes with Muslin.
pub fn shipped_pairs() -> &'static [ShippedPair] {
    &TABLE
}

/// Every surface that the table names.
pub fn shipped_surfaces() -> impl Iterator<Item = &'static str> {
    let names = shipped_pairs().iter().flat_map(|p| &p.between);
    names.map(String::as_str).filter(|n| *n != ANY)
}

impl ShippedPair {
    /// Grade, source and note in a line.
    pub fn described(&self) -> String {
        let grade = match self.grade {
            Grade::Measured => "measured",
            Grade::Bound => "only a bound",
            Grade::Fitted => "fitted to a simulator",
            Grade::Authored => "authored, not measured",
        };
        let note = if self.note.is_empty() {
            String::new()
        } else {
            format!("; {}", self.note)
        };
        format!("{grade}, {}{note}", self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{shipped_fabric, shipped_fabrics};

    #[test]
    fn the_table_is_sound() {
        let pairs = shipped_pairs();
        assert!(pairs.len() >= 15);
        let mut seen = std::collections::BTreeSet::new();
        for pair in pairs {
            let mut names = pair.between.clone();
            names.sort();
            assert!(seen.insert(names), "{:?} twice", pair.between);
            assert!(pair.between.iter().any(|n| n != ANY));
            assert!((0.0..2.0).contains(&pair.coefficient) && !pair.source.is_empty());
            assert!(pair.kinetic.is_none_or(|k| k <= pair.coefficient));
        }
    }

    #[test]
    fn fibres_of_shipped_fabrics_are_those_of_their_descriptions() {
        let mut with_fibre = 0;
        for name in shipped_fabrics() {
            let fabric = shipped_fabric(name).unwrap();
            let words = fabric.description.to_lowercase();
            let shares = words.split("% ").collect::<Vec<_>>();
            if let Some(fibre) = &fabric.fibre {
                with_fibre += 1;
                assert!(words.contains(fibre.as_str()), "{name}: {fibre}");
                if shares.len() > 1 {
                    let share: f64 = shares[0]
                        .trim()
                        .rsplit(' ')
                        .next()
                        .unwrap()
                        .parse()
                        .unwrap();
                    assert!(
                        share >= 85.0 && shares[1].starts_with(fibre.as_str()),
                        "{name}"
                    );
                }
            }
        }
        assert_eq!(with_fibre, 11);
    }
}
