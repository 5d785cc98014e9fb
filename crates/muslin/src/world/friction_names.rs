//! Who is meant by the names of `[[friction]]`: objects, or the fabrics, fibres and materials they are made of.

use super::Body;
use crate::contact::Party;
use crate::material::{ANY, shipped_fabric, shipped_fabrics, shipped_solids, shipped_surfaces};
use crate::scene::{FrictionPair, FrictionValue, SceneError, SceneFile, nearest_name};
use std::path::Path;

/// One object and the names it goes by.
pub(super) struct Surface<'a> {
    pub party: Party,
    pub name: &'a str,
    /// Section of the scene.
    family: &'static str,
    /// Fabric of cloth, material of a soft body or an obstacle.
    made_of: Option<&'a str>,
    fibre: Option<&'a str>,
    pub value: Option<&'a FrictionValue>,
}

impl Surface<'_> {
    pub fn is_cloth(&self) -> bool {
        matches!(self.party, Party::Cloth(_))
    }

    pub fn key(&self) -> String {
        format!("{}.{}", self.family, self.name)
    }

    fn is_of(&self, surface: &str) -> bool {
        self.made_of == Some(surface) || self.fibre == Some(surface)
    }
}

/// What a fabric goes by: a file by its name without folder and ending, which stays when the run is recorded elsewhere.
fn label(fabric: &str) -> &str {
    let path = Path::new(fabric);
    let is_file = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    if is_file {
        path.file_stem().and_then(|s| s.to_str()).unwrap_or(fabric)
    } else {
        fabric
    }
}

/// All cloth, then all obstacles, in the order of the world.
pub(super) fn surfaces<'a>(scene: &'a SceneFile, bodies: &'a [Body]) -> Vec<Surface<'a>> {
    let cloth = bodies.iter().enumerate().map(|(i, body)| Surface {
        party: Party::Cloth(i),
        name: &body.name,
        family: body.family(),
        made_of: Some(label(&body.substance_name)),
        fibre: body.fabric().and_then(|f| f.fibre.as_deref()),
        value: match scene.soft.get(&body.name) {
            Some(soft) => soft.friction.as_ref(),
            None => scene
                .cloth
                .get(&body.name)
                .and_then(|c| c.friction.as_ref()),
        },
    });
    let obstacles = scene.obstacle.iter().enumerate();
    let obstacles = obstacles.map(|(i, (name, spec))| Surface {
        party: Party::Obstacle(i),
        name,
        family: "obstacle",
        made_of: spec.material.as_deref(),
        fibre: None,
        value: spec.friction.as_ref(),
    });
    cloth.chain(obstacles).collect()
}

/// What a name in `between` means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    Object(Party),
    /// A fabric, fibre or material.
    Surface(String),
}

impl Name {
    /// How exactly it names an object; none if it does not.
    fn fit(&self, surface: &Surface) -> Option<u32> {
        match self {
            Self::Object(party) => (*party == surface.party).then_some(OBJECT),
            Self::Surface(s) if surface.made_of == Some(s) => Some(MADE_OF),
            Self::Surface(s) if surface.fibre == Some(s) => Some(FIBRE),
            Self::Surface(s) => (s == ANY).then_some(0),
        }
    }
}

// An object and anything is more exact than two fabrics, a fabric and anything more than two fibres.
const OBJECT: u32 = 4;
const MADE_OF: u32 = 2;
const FIBRE: u32 = 1;

/// An entry of `[[friction]]` with its names understood.
pub(super) struct Entry<'a> {
    pub index: usize,
    pub names: [Name; 2],
    pub pair: &'a FrictionPair,
}

/// How exactly two names name two surfaces, and whether in the other order.
pub(super) fn fit(names: [&Name; 2], pair: [&Surface; 2]) -> Option<(u32, bool)> {
    let both = |a: &Name, b: &Name| Some(a.fit(pair[0])? + b.fit(pair[1])?);
    match (both(names[0], names[1]), both(names[1], names[0])) {
        (Some(straight), Some(crossed)) if crossed > straight => Some((crossed, true)),
        (Some(straight), _) => Some((straight, false)),
        (None, crossed) => crossed.map(|score| (score, true)),
    }
}

pub(super) fn typed_entries<'a>(
    scene: &'a SceneFile,
    surfaces: &[Surface],
) -> Result<Vec<Entry<'a>>, SceneError> {
    let mut entries: Vec<Entry> = Vec::new();
    for (index, pair) in scene.friction.iter().enumerate() {
        let key = format!("friction.{index}");
        let mut names = Vec::new();
        for (k, text) in pair.between.iter().enumerate() {
            names.push(understand(
                &format!("{key}.between.{k}"),
                text,
                scene,
                surfaces,
            )?);
        }
        let names = [names[0].clone(), names[1].clone()];
        if names.iter().all(|n| is_of_obstacles(n, scene, surfaces)) {
            return Err(SceneError::at(
                format!("{key}.between"),
                "obstacles do not touch each other",
                "name a cloth, a fabric or a fibre as one of the two",
            ));
        }
        let same =
            |e: &&Entry| e.names == names || (e.names[0] == names[1] && e.names[1] == names[0]);
        if let Some(other) = entries.iter().find(same) {
            return Err(SceneError::at(
                format!("{key}.between"),
                format!(
                    "the pair `{}` and `{}` stands twice, first as [[friction]] number {}",
                    pair.between[0], pair.between[1], other.index
                ),
                "keep one of them",
            ));
        }
        entries.push(Entry { index, names, pair });
    }
    Ok(entries)
}

/// Whether only obstacles can go by a name.
fn is_of_obstacles(name: &Name, scene: &SceneFile, surfaces: &[Surface]) -> bool {
    match name {
        Name::Object(party) => matches!(party, Party::Obstacle(_)),
        Name::Surface(s) => {
            let cloth = surfaces.iter().any(|c| c.is_cloth() && c.is_of(s));
            let fibre = |n| shipped_fabric(n).is_some_and(|f| f.fibre.as_deref() == Some(s));
            let could_be = s == ANY
                || scene.fabric.contains_key(s)
                || shipped_fabrics().any(|n| n == s || fibre(n))
                || shipped_solids().any(|n| n == s);
            !cloth && !could_be
        }
    }
}

/// Finds what a name means, or says what it might.
fn understand(
    key: &str,
    text: &str,
    scene: &SceneFile,
    surfaces: &[Surface],
) -> Result<Name, SceneError> {
    let objects: Vec<&Surface> = surfaces.iter().filter(|s| s.name == text).collect();
    let made: Vec<&Surface> = surfaces.iter().filter(|s| s.is_of(text)).collect();
    match (&objects[..], &made[..]) {
        ([one], others) if others.iter().all(|o| o.party == one.party) => {
            return Ok(Name::Object(one.party));
        }
        ([], [_, ..]) => return Ok(Name::Surface(text.to_owned())),
        ([], []) => {}
        _ => {
            let mut ways: Vec<String> = objects.iter().map(|o| format!("`{}`", o.key())).collect();
            if !made.is_empty() {
                ways.push(format!("`surface.{text}`"));
            }
            return Err(SceneError::at(
                key,
                format!("`{text}` is the name of several things"),
                format!("write {}", ways.join(" or ")),
            ));
        }
    }
    if let Some(object) = surfaces.iter().find(|s| s.key() == text) {
        return Ok(Name::Object(object.party));
    }
    let surface = text.strip_prefix("surface.").unwrap_or(text);
    let fibres: Vec<String> = shipped_fabrics()
        .filter_map(|n| shipped_fabric(n)?.fibre)
        .collect();
    let mut known: Vec<&str> = surfaces.iter().map(|s| s.name).collect();
    known.extend(surfaces.iter().filter_map(|s| s.made_of));
    known.extend(surfaces.iter().filter_map(|s| s.fibre));
    known.extend(scene.fabric.keys().map(String::as_str));
    let in_scene = known.len();
    for name in shipped_fabrics()
        .chain(shipped_solids())
        .chain(shipped_surfaces())
    {
        known.push(name);
    }
    known.extend(fibres.iter().map(String::as_str));
    let objects = surfaces.len();
    // A pair may wait for a fabric that is not used now; an object cannot.
    if known[objects..].contains(&surface) {
        return Ok(Name::Surface(surface.to_owned()));
    }
    let remedy = nearest_name(text, known.iter().copied()).map_or_else(
        || {
            let mut names = known[..in_scene].to_vec();
            names.sort_unstable();
            names.dedup();
            format!("known in this scene: {}", names.join(", "))
        },
        |near| format!("did you mean `{near}`?"),
    );
    Err(SceneError::at(
        key,
        format!("there is no cloth, soft body, obstacle, fabric, fibre or material `{text}`"),
        remedy,
    ))
}
