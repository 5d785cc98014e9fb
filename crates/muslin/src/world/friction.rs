//! Which friction holds between any two objects of the world: what the scene types, the table that comes with Muslin, or
//! the default, in the order that `scene/friction_schema.rs` documents.

use super::Body;
use super::friction_names::{Entry, Name, Surface, fit, surfaces, typed_entries};
use crate::contact::Party;
use crate::material::{
    Anisotropy, DEFAULT_CLOTH, DEFAULT_OBSTACLE, Line, Origin, PairFriction, shipped_pairs,
};
use crate::scene::{
    DirectionSpec, DirectionalFriction, FrictionValue, NamedDirection, SceneError, SceneFile,
    check_direction,
};
use muslin_linalg::{Vec2, Vec3};

/// Friction between any two objects that can touch.
#[derive(Clone, Debug, PartialEq)]
pub struct FrictionTable {
    bodies: usize,
    obstacles: usize,
    /// A row for each cloth: against every cloth, then against every obstacle.
    cloth: Vec<PairFriction>,
    /// A row for each obstacle: against every cloth.
    obstacle: Vec<PairFriction>,
    /// For obstacles against each other, which never touch.
    nobody: PairFriction,
}

impl Default for FrictionTable {
    fn default() -> Self {
        Self {
            bodies: 0,
            obstacles: 0,
            cloth: Vec::new(),
            obstacle: Vec::new(),
            nobody: default_of(DEFAULT_OBSTACLE),
        }
    }
}

impl FrictionTable {
    /// Friction where `a` touches `b`; the lines of an anisotropic one are in this order.
    #[inline]
    pub fn between(&self, a: Party, b: Party) -> &PairFriction {
        let row = self.bodies + self.obstacles;
        match (a, b) {
            (Party::Cloth(a), Party::Cloth(b)) => &self.cloth[a * row + b],
            (Party::Cloth(a), Party::Obstacle(b)) => &self.cloth[a * row + self.bodies + b],
            (Party::Obstacle(a), Party::Cloth(b)) => &self.obstacle[a * self.bodies + b],
            (Party::Obstacle(_), Party::Obstacle(_)) => &self.nobody,
        }
    }

    /// Looks up what the scene says about every pair.
    pub(super) fn build(scene: &SceneFile, bodies: &[Body]) -> Result<Self, SceneError> {
        let surfaces = surfaces(scene, bodies);
        let typed = typed_entries(scene, &surfaces)?;
        let (n, m) = (bodies.len(), scene.obstacle.len());
        let mut cloth = Vec::with_capacity(n * (n + m));
        for i in 0..n {
            for j in 0..n + m {
                if j < i {
                    // Found already, seen from the other side.
                    let mirrored: &PairFriction = &cloth[j * (n + m) + i];
                    cloth.push(mirrored.swapped());
                } else {
                    let pair = [&surfaces[i], &surfaces[j]];
                    cloth.push(resolve(&typed, pair, scene.contact.friction)?);
                }
            }
        }
        let seen_from_obstacle = |k: usize| cloth[(k % n) * (n + m) + n + k / n].swapped();
        Ok(Self {
            bodies: n,
            obstacles: m,
            obstacle: (0..n * m).map(seen_from_obstacle).collect(),
            cloth,
            ..Self::default()
        })
    }
}

/// Friction of one pair, by the order of precedence.
fn resolve(
    entries: &[Entry],
    pair: [&Surface; 2],
    of_scene: Option<f64>,
) -> Result<PairFriction, SceneError> {
    if let Some(found) = from_entries(entries, pair)? {
        return Ok(found);
    }
    if let Some(found) = from_objects(pair) {
        return Ok(found);
    }
    if let Some(isotropic) = of_scene {
        return Ok(PairFriction {
            isotropic,
            anisotropy: None,
            origin: Origin::Typed("contact.friction".into()),
        });
    }
    let usual = if pair[1].is_cloth() {
        DEFAULT_CLOTH
    } else {
        DEFAULT_OBSTACLE
    };
    Ok(from_shipped(pair).unwrap_or_else(|| default_of(usual)))
}

fn default_of(coefficient: f64) -> PairFriction {
    PairFriction {
        isotropic: coefficient,
        anisotropy: None,
        origin: Origin::Default,
    }
}

fn from_entries(
    entries: &[Entry],
    pair: [&Surface; 2],
) -> Result<Option<PairFriction>, SceneError> {
    let mut best: Option<(u32, PairFriction, usize)> = None;
    for entry in entries {
        let Some((score, crossed)) = fit([&entry.names[0], &entry.names[1]], pair) else {
            continue;
        };
        let value = entry_value(entry, pair, crossed)?;
        match &best {
            Some((other, _, _)) if *other > score => {}
            Some((other, said, first)) if *other == score => {
                // Two entries that name equally exactly have to agree, or chance would decide.
                if said.isotropic != value.isotropic || said.anisotropy != value.anisotropy {
                    return Err(SceneError::at(
                        format!("friction.{}.between", entry.index),
                        format!(
                            "[[friction]] numbers {first} and {} both hold for {} and {}, and differ",
                            entry.index,
                            pair[0].key(),
                            pair[1].key()
                        ),
                        format!(
                            "add one with between = [\"{}\", \"{}\"]",
                            pair[0].name, pair[1].name
                        ),
                    ));
                }
            }
            _ => best = Some((score, value, entry.index)),
        }
    }
    Ok(best.map(|(_, value, _)| value))
}

/// What an entry says about a pair; `crossed` if its names are in the other order.
fn entry_value(
    entry: &Entry,
    pair: [&Surface; 2],
    crossed: bool,
) -> Result<PairFriction, SceneError> {
    let spec = entry.pair;
    let origin = Origin::Pair(entry.index, spec.between.clone());
    let (Some(along), Some(across)) = (spec.along, spec.across) else {
        return Ok(PairFriction {
            isotropic: spec.coefficient.unwrap_or(DEFAULT_OBSTACLE),
            anisotropy: None,
            origin,
        });
    };
    let mut lines = [None; 2];
    for side in 0..2 {
        let place = if crossed { 1 - side } else { side };
        let cloth = pair[side].is_cloth();
        lines[side] = match &spec.directions {
            Some(given) => {
                let key = format!("friction.{}.directions.{place}", entry.index);
                check_direction(&key, &given[place], cloth)?;
                line(&given[place])
            }
            None => cloth.then_some(Line::Material(Vec2::X)),
        };
    }
    if lines == [None; 2] {
        return Err(SceneError::at(
            format!("friction.{}.directions", entry.index),
            "friction along and across is given, but neither surface has a direction",
            "give one of them a direction, or use `coefficient`",
        ));
    }
    Ok(PairFriction {
        isotropic: spec.isotropic.unwrap_or(f64::midpoint(along, across)),
        anisotropy: Some(Anisotropy {
            along,
            across,
            lines,
        }),
        origin,
    })
}

fn line(direction: &DirectionSpec) -> Option<Line> {
    match direction {
        DirectionSpec::Named(NamedDirection::Warp) => Some(Line::Material(Vec2::X)),
        DirectionSpec::Named(NamedDirection::Weft) => Some(Line::Material(Vec2::Y)),
        DirectionSpec::Named(NamedDirection::None) => None,
        DirectionSpec::Components(c) => match c[..] {
            [u, v] => Some(Line::Material(Vec2::new(u, v))),
            [x, y, z] => Some(Line::Own(Vec3::new(x, y, z))),
            _ => None,
        },
    }
}

fn line_of(surface: &Surface) -> Option<Line> {
    match surface.value {
        Some(FrictionValue::Directional(DirectionalFriction { direction, .. })) => direction
            .as_ref()
            .map_or(Some(Line::Material(Vec2::X)), line),
        _ => None,
    }
}

fn isotropic(value: &FrictionValue) -> f64 {
    match value {
        FrictionValue::Coefficient(c) => *c,
        FrictionValue::Directional(d) => d.isotropic.unwrap_or(f64::midpoint(d.along, d.across)),
    }
}

/// The `friction` of the objects themselves.
fn from_objects(pair: [&Surface; 2]) -> Option<PairFriction> {
    let [a, b] = pair;
    let obstacle = !b.is_cloth();
    let side = match (a.value, b.value) {
        (None, None) => return None,
        (Some(_), None) => 0,
        (None, Some(_)) => 1,
        // An obstacle's own holds; of two cloths the smoother one decides.
        (Some(x), Some(y)) => usize::from(obstacle || isotropic(y) < isotropic(x)),
    };
    let (surface, value) = (pair[side], pair[side].value?);
    let anisotropy = match value {
        FrictionValue::Coefficient(_) => None,
        FrictionValue::Directional(d) => {
            let mut lines = [None; 2];
            lines[side] = line_of(surface);
            if !obstacle {
                lines[1 - side] = line_of(pair[1 - side]);
            }
            Some(Anisotropy {
                along: d.along,
                across: d.across,
                lines,
            })
        }
    };
    Some(PairFriction {
        isotropic: isotropic(value),
        anisotropy,
        origin: Origin::Typed(format!("{}.friction", surface.key())),
    })
}

/// The most exact pair of the table that comes with Muslin; of several the smallest coefficient.
fn from_shipped(pair: [&Surface; 2]) -> Option<PairFriction> {
    let scored = shipped_pairs().iter().filter_map(|p| {
        let [a, b] = p.between.each_ref().map(|n| Name::Surface(n.clone()));
        fit([&a, &b], pair).map(|(score, _)| (score, p))
    });
    let (_, best) = scored.reduce(|best, other| {
        let smaller = other.1.coefficient < best.1.coefficient;
        if other.0 > best.0 || (other.0 == best.0 && smaller) {
            other
        } else {
            best
        }
    })?;
    Some(PairFriction {
        isotropic: best.coefficient,
        anisotropy: None,
        origin: Origin::Shipped(best.between.clone(), best.described()),
    })
}
