//! From a name or path to a checked scene, with `--set` changes on the way.

use super::{SceneError, SceneFile, shipped_scene, shipped_scenes, validate};
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// A change to one value of a scene: dotted path and new value.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// Dotted path, such as `solver.time_step`; list items by number or by their `name`.
    pub path: String,
    /// The value in TOML; a bare word counts as text.
    pub value: toml::Value,
}

impl Override {
    /// Where the user gave it.
    fn origin(&self) -> String {
        match self.path.as_str() {
            "solver.method" => "--method or --set solver.method".into(),
            "output.frames" => "--frames or --set output.frames".into(),
            path => format!("--set {path}"),
        }
    }

    /// Reads `path=value`.
    pub fn parse(text: &str) -> Result<Self, SceneError> {
        let Some((path, value)) = text.split_once('=') else {
            return Err(SceneError::new(
                format!("`--set {text}` has no `=`"),
                "write it as path=value, for instance --set solver.time_step=1e-3",
            ));
        };
        let parsed = format!("v = {value}")
            .parse::<toml::Table>()
            .ok()
            .and_then(|mut t| t.remove("v"));
        Ok(Self {
            path: path.trim().to_string(),
            value: parsed.unwrap_or_else(|| toml::Value::String(value.to_string())),
        })
    }
}

/// The text of a scene and where it came from, kept so that errors can point into it.
#[derive(Clone, Debug)]
pub struct SceneSource {
    /// Name of the scene: its file's name without ending.
    pub name: String,
    /// Its file, or `<name>.toml` for one that came with Muslin.
    pub file: PathBuf,
    /// Folder against which files named in the scene are resolved.
    pub folder: PathBuf,
    text: String,
}

impl SceneSource {
    /// Finds a scene by path, or by the name of one that comes with Muslin.
    pub fn find(name_or_path: &str) -> Result<Self, SceneError> {
        let path = Path::new(name_or_path);
        if path.is_dir() {
            return Err(SceneError::new(
                format!("{name_or_path} is a folder, not a scene"),
                "give a scene file; the scene of a recorded run is in its folder as scene.toml",
            ));
        }
        if path.is_file() {
            let text = std::fs::read_to_string(path).map_err(|e| {
                let mut error = SceneError::new(
                    format!("the scene cannot be read: {e}"),
                    "check that it is a text file you may read",
                );
                error.file = Some(path.to_path_buf());
                error
            })?;
            let name = path
                .file_stem()
                .map_or_else(|| "scene".into(), |s| s.to_string_lossy().into_owned());
            let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
            return Ok(Self {
                name,
                file: path.to_path_buf(),
                folder,
                text,
            });
        }
        if let Some(scene) = shipped_scene(name_or_path) {
            return Ok(Self {
                name: scene.name.to_string(),
                file: PathBuf::from(format!("{}.toml", scene.name)),
                folder: PathBuf::new(),
                text: scene.text.to_string(),
            });
        }
        let mut remedy =
            String::from("give the path of a scene file, or a name from `muslin scenes`");
        if let Some(near) = nearest_name(name_or_path, shipped_scenes().map(|s| s.name)) {
            remedy = format!("did you mean `{near}`? `muslin scenes` lists the shipped ones");
        }
        Err(SceneError::new(
            format!("there is no scene file and no shipped scene `{name_or_path}`"),
            remedy,
        ))
    }

    /// A scene from its parts, as [`Self::text`] and the public fields give them.
    pub fn new(name: String, file: PathBuf, folder: PathBuf, text: String) -> Self {
        Self {
            name,
            file,
            folder,
            text,
        }
    }

    /// A scene given as a table. Its errors name keys; there is no file to point into.
    pub fn from_table(name: &str, table: &toml::Table) -> Result<Self, SceneError> {
        let text = toml::to_string(table).map_err(|e| {
            SceneError::new(
                format!("the scene cannot be written as TOML: {e}"),
                "use tables, lists, numbers, texts and truth values only",
            )
        })?;
        Ok(Self::new(name.into(), PathBuf::new(), PathBuf::new(), text))
    }

    /// The text of the scene.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A scene given as text.
    pub fn from_text(name: &str, text: &str) -> Self {
        Self {
            name: name.into(),
            file: PathBuf::from(format!("{name}.toml")),
            folder: PathBuf::new(),
            text: text.into(),
        }
    }

    /// Reads and checks the scene.
    pub fn load(&self, overrides: &[Override]) -> Result<SceneFile, SceneError> {
        self.read(overrides)
            .map_err(|e| self.locate(e, &self.by_number(overrides)))
    }

    /// Overrides with list items named by number, as errors name them.
    fn by_number(&self, overrides: &[Override]) -> Vec<Override> {
        let table: toml::Table = self.text.parse().unwrap_or_default();
        let number = |o: &Override| {
            let mut parts: Vec<String> = o.path.split('.').map(str::to_owned).collect();
            if let [first, second, ..] = &mut parts[..]
                && let Some(toml::Value::Array(items)) = table.get(first.as_str())
                && let Some(i) = index_of(items, second)
            {
                *second = i.to_string();
            }
            Override {
                path: parts.join("."),
                value: o.value.clone(),
            }
        };
        overrides.iter().map(number).collect()
    }

    fn read(&self, overrides: &[Override]) -> Result<SceneFile, SceneError> {
        let mut table = parse(&self.text)?;
        for change in overrides {
            apply(&mut table, change)?;
        }
        let scene: SceneFile = deserialize(table)?;
        validate::validate(&scene)?;
        Ok(scene)
    }

    /// Adds file and line to an error that names a key.
    pub fn locate(&self, mut error: SceneError, overrides: &[Override]) -> SceneError {
        if error.file.is_some() {
            return error;
        }
        let lies_in =
            |o: &&Override| error.key == o.path || error.key.starts_with(&format!("{}.", o.path));
        if let Some(change) = overrides.iter().find(lies_in) {
            error.remedy = format!("{} (the value came from {})", error.remedy, change.origin());
            return error;
        }
        if self.file.as_os_str().is_empty() {
            return error;
        }
        error.file = Some(self.file.clone());
        if error.line.is_none()
            && let Ok(document) = DeTable::parse(&self.text)
            && let Some(span) = span_of(document.get_ref(), &error.key)
        {
            error.mark(&self.text, span);
        }
        error
    }
}

/// The candidate most like a misspelt name, if any is near.
pub(crate) fn nearest_name<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .map(|c| {
            (
                strsim::damerau_levenshtein(&name.to_lowercase(), &c.to_lowercase()),
                c,
            )
        })
        .filter(|(distance, c)| *distance <= 1 + c.len() / 4)
        .min()
        .map(|(_, c)| c)
}

/// Byte range of a key's value, or of the nearest table round it.
fn span_of(table: &DeTable, key: &str) -> Option<std::ops::Range<usize>> {
    let mut parts = key.split('.').filter(|p| !p.is_empty());
    let first = parts.next()?;
    let (name, mut value) = table.iter().find(|(k, _)| k.get_ref() == first)?;
    let mut span = if matches!(value.get_ref(), DeValue::Table(_)) {
        name.span()
    } else {
        value.span()
    };
    for part in parts {
        let next = match value.get_ref() {
            DeValue::Table(t) => t
                .iter()
                .find(|(k, _)| k.get_ref() == part)
                .map(|(k, v)| (Some(k.span()), v)),
            DeValue::Array(a) => part
                .parse::<usize>()
                .ok()
                .and_then(|i| a.get(i))
                .map(|v| (None, v)),
            _ => None,
        };
        let Some((name, inner)) = next else { break };
        value = inner;
        span = match (value.get_ref(), name) {
            (DeValue::Table(_), Some(name)) => name,
            _ => value.span(),
        };
    }
    Some(span)
}

/// Refuses NaN and infinity anywhere, so that nothing after this has to think of them.
fn finite(value: &toml::Value, path: &str) -> Result<(), SceneError> {
    let inner = |key: &str| {
        if path.is_empty() {
            key.to_string()
        } else {
            format!("{path}.{key}")
        }
    };
    match value {
        toml::Value::Float(f) if !f.is_finite() => Err(SceneError::at(
            path,
            format!("{f} is not a usable number"),
            "give a finite number",
        )),
        toml::Value::Array(a) => a
            .iter()
            .enumerate()
            .try_for_each(|(i, v)| finite(v, &inner(&i.to_string()))),
        toml::Value::Table(t) => t.iter().try_for_each(|(k, v)| finite(v, &inner(k))),
        _ => Ok(()),
    }
}

/// Turns a message of the deserialiser into one for people.
fn explain(path: &str, message: &str) -> SceneError {
    let message = message.lines().next().unwrap_or(message).trim();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let unknown = quoted.first().copied().unwrap_or(rest);
        let known = &quoted[1.min(quoted.len())..];
        let key = if path.is_empty() || path.ends_with(unknown) {
            if path.is_empty() {
                unknown.to_string()
            } else {
                path.to_string()
            }
        } else {
            format!("{path}.{unknown}")
        };
        let remedy = nearest_name(unknown, known.iter().copied()).map_or_else(
            || format!("known here: {}", known.join(", ")),
            |near| format!("did you mean `{near}`? known here: {}", known.join(", ")),
        );
        return SceneError::at(
            key,
            format!("`{unknown}` is not a key Muslin knows here"),
            remedy,
        );
    }
    if message.starts_with("unknown variant") {
        let unknown = quoted.first().copied().unwrap_or("");
        return SceneError::at(
            path,
            format!("`{unknown}` is not one of the choices"),
            format!(
                "choose one of: {}",
                quoted[1.min(quoted.len())..].join(", ")
            ),
        );
    }
    if message.starts_with("missing field") {
        let missing = quoted.first().copied().unwrap_or("");
        return SceneError::at(
            path,
            format!("the key `{missing}` is missing"),
            format!("add `{missing} = …`"),
        );
    }
    if path == "friction" {
        return SceneError::at(
            path,
            "`friction` outside all sections is a list of pairs",
            "put a number into [contact], [cloth.NAME] or [obstacle.NAME]; write a pair as [[friction]] with `between` \
             and `coefficient`",
        );
    }
    // The deserialiser speaks of Rust's types; users know numbers.
    let plain = message
        .replace("expected f64", "expected a number")
        .replace("expected usize", "expected a whole number, 0 or more")
        .replace("expected u32", "expected a whole number, 0 or more");
    SceneError::at(path, plain, "give a value of the kind that is expected")
}

/// Puts an override into the table, making tables on the way.
fn apply(table: &mut toml::Table, change: &Override) -> Result<(), SceneError> {
    let bad = |why: &str| {
        SceneError::new(
            format!("`--set {}` does not fit the scene: {why}", change.path),
            "use a dotted path such as solver.time_step, cloth.NAME.fabric or measure.0.expect.value",
        )
    };
    let parts: Vec<&str> = change.path.split('.').collect();
    if parts.iter().any(|p| p.is_empty()) {
        return Err(bad("the path has an empty part"));
    }
    let Some((last, way)) = parts.split_last() else {
        return Err(bad("the path is empty"));
    };
    let mut place: &mut toml::Value = match way.first() {
        None => {
            table.insert((*last).to_string(), change.value.clone());
            return Ok(());
        }
        Some(first) => table
            .entry((*first).to_string())
            .or_insert_with(|| toml::Value::Table(toml::Table::new())),
    };
    for part in &way[1..] {
        place = match place {
            toml::Value::Table(t) => t
                .entry((*part).to_string())
                .or_insert_with(|| toml::Value::Table(toml::Table::new())),
            toml::Value::Array(items) => {
                item(items, part).ok_or_else(|| bad("there is no such list item"))?
            }
            _ => return Err(bad(&format!("`{part}` lies inside a plain value"))),
        };
    }
    match place {
        toml::Value::Table(t) => {
            t.insert((*last).to_string(), change.value.clone());
        }
        toml::Value::Array(items) => {
            *item(items, last).ok_or_else(|| bad("there is no such list item"))? =
                change.value.clone();
        }
        _ => return Err(bad("it leads inside a plain value")),
    }
    Ok(())
}

/// A list item by number, or by its `name`.
fn item<'a>(items: &'a mut [toml::Value], part: &str) -> Option<&'a mut toml::Value> {
    let index = index_of(items, part)?;
    items.get_mut(index)
}

fn index_of(items: &[toml::Value], part: &str) -> Option<usize> {
    let named = |v: &toml::Value| v.get("name").and_then(toml::Value::as_str) == Some(part);
    part.parse::<usize>()
        .ok()
        .or_else(|| items.iter().position(named))
}

/// Reads a fabric file.
pub(crate) fn read_fabric(path: &Path) -> Result<crate::material::Fabric, SceneError> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        let mut error = SceneError::new(
            format!("the fabric file cannot be read: {e}"),
            "check the name and the folder",
        );
        error.file = Some(path.to_path_buf());
        error
    })?;
    let source = SceneSource {
        name: String::new(),
        file: path.to_path_buf(),
        folder: PathBuf::new(),
        text,
    };
    let fabric: Result<crate::material::Fabric, SceneError> =
        parse(&source.text).and_then(deserialize);
    let checked = fabric.and_then(|fabric| match fabric.check() {
        Ok(()) => Ok(fabric),
        Err(f) => Err(SceneError::at(f.key, f.problem, f.remedy)),
    });
    checked.map_err(|e| source.locate(e, &[]))
}

/// Reads TOML; a mistake is marked.
fn parse(text: &str) -> Result<toml::Table, SceneError> {
    text.parse().map_err(|e: toml::de::Error| {
        let mut error = SceneError::new(
            format!("this is not TOML: {}", e.message()),
            "mend the marked place; strings need quotes, tables [brackets]",
        );
        if let Some(span) = e.span() {
            error.mark(text, span);
        }
        error
    })
}

/// Turns a table into a value; a mistake names its key.
fn deserialize<T: serde::de::DeserializeOwned>(table: toml::Table) -> Result<T, SceneError> {
    let value = toml::Value::Table(table);
    finite(&value, "")?;
    serde_path_to_error::deserialize(value).map_err(|e| {
        let path = e.path().to_string();
        let path = if path == "." {
            String::new()
        } else {
            path.replace(['[', ']'], ".").replace("..", ".")
        };
        explain(path.trim_matches('.'), e.inner().message())
    })
}
