//! Checks of friction that need no names: coefficients and directions.

use super::{DirectionSpec, FrictionPair, FrictionValue, NamedDirection, SceneError, SceneFile};
use crate::material::ANY;

pub(super) fn friction(scene: &SceneFile) -> Result<(), SceneError> {
    if let Some(c) = scene.contact.friction {
        coefficient("contact.friction", c)?;
    }
    for (name, cloth) in &scene.cloth {
        if let Some(value) = &cloth.friction {
            self::value(&format!("cloth.{name}.friction"), value, true)?;
        }
    }
    for (name, soft) in &scene.soft {
        if let Some(value) = &soft.friction {
            self::value(&format!("soft.{name}.friction"), value, true)?;
        }
    }
    for (name, obstacle) in &scene.obstacle {
        if let Some(value) = &obstacle.friction {
            self::value(&format!("obstacle.{name}.friction"), value, false)?;
        }
        let key = || format!("obstacle.{name}.material");
        match obstacle.material.as_deref().map(str::trim) {
            Some("") => {
                return Err(SceneError::at(
                    key(),
                    "the material has no name",
                    "name it, such as \"steel\", or leave the key out",
                ));
            }
            Some(ANY) => {
                return Err(SceneError::at(
                    key(),
                    format!("`{ANY}` stands for all surfaces in [[friction]]"),
                    "choose another name, such as \"steel\", or leave the key out",
                ));
            }
            _ => {}
        }
    }
    for (i, entry) in scene.friction.iter().enumerate() {
        pair(&format!("friction.{i}"), entry)?;
    }
    Ok(())
}

fn coefficient(key: &str, value: f64) -> Result<(), SceneError> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(SceneError::at(
        key,
        format!("{value} is not a friction coefficient"),
        "use 0 (slippery) or more; cloth usually lies between 0.1 and 1",
    ))
}

fn value(key: &str, value: &FrictionValue, cloth: bool) -> Result<(), SceneError> {
    let table = match value {
        FrictionValue::Coefficient(c) => return coefficient(key, *c),
        FrictionValue::Directional(table) => table,
    };
    coefficient(&format!("{key}.along"), table.along)?;
    coefficient(&format!("{key}.across"), table.across)?;
    if let Some(c) = table.isotropic {
        coefficient(&format!("{key}.isotropic"), c)?;
    }
    match &table.direction {
        Some(d) => {
            let key = format!("{key}.direction");
            if *d == DirectionSpec::Named(NamedDirection::None) {
                return Err(SceneError::at(
                    key,
                    "friction that depends on direction needs a direction",
                    "name one, or give a single number as `friction`",
                ));
            }
            direction(&key, d, cloth)
        }
        None if cloth => Ok(()),
        None => Err(SceneError::at(
            key,
            "it is not clear which direction of the obstacle is meant",
            "add `direction = [x, y, z]`, in the obstacle's own axes",
        )),
    }
}

fn pair(key: &str, pair: &FrictionPair) -> Result<(), SceneError> {
    let given = [
        ("coefficient", pair.coefficient),
        ("along", pair.along),
        ("across", pair.across),
        ("isotropic", pair.isotropic),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            coefficient(&format!("{key}.{name}"), value)?;
        }
    }
    for (k, d) in pair.directions.iter().flatten().enumerate() {
        let key = format!("{key}.directions.{k}");
        direction(&key, d, true).or_else(|_| direction(&key, d, false))?;
    }
    match (pair.coefficient, pair.along, pair.across) {
        (Some(_), None, None) if pair.isotropic.is_none() && pair.directions.is_none() => Ok(()),
        (None, Some(_), Some(_)) => Ok(()),
        _ => Err(SceneError::at(
            key,
            "it is not clear what the friction of this pair is",
            "give `coefficient`, or `along` and `across` (with `isotropic` and `directions` if wanted)",
        )),
    }
}

/// Whether a direction can be one of cloth, or of an obstacle.
pub(crate) fn direction(
    key: &str,
    direction: &DirectionSpec,
    cloth: bool,
) -> Result<(), SceneError> {
    let fits = match direction {
        DirectionSpec::Named(NamedDirection::None) => true,
        DirectionSpec::Named(_) => cloth,
        DirectionSpec::Components(c) => c.len() == if cloth { 2 } else { 3 },
    };
    if !fits {
        return Err(if cloth {
            SceneError::at(
                key,
                "this is not a direction of cloth",
                "use \"warp\", \"weft\", or two components [warp, weft]",
            )
        } else {
            SceneError::at(
                key,
                "this is not a direction of an obstacle",
                "use three components [x, y, z], in the obstacle's own axes",
            )
        });
    }
    match direction {
        DirectionSpec::Components(c) if c.iter().all(|c| *c == 0.0) => Err(SceneError::at(
            key,
            "a direction of length zero",
            "give one that is longer than zero",
        )),
        _ => Ok(()),
    }
}
