//! Statistics and measures of a run, from its `steps.jsonl`.

use crate::Failure;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::BufRead;
use std::path::Path;

/// All step reports of a run.
pub struct Steps(Vec<Value>);

impl Steps {
    /// Reads a run's steps. Lines that are not whole, such as the last one of a run that goes on, are left out.
    pub fn read(dir: &Path) -> Result<Self, Failure> {
        let path = dir.join("steps.jsonl");
        let file = std::fs::File::open(&path).map_err(|e| {
            Failure::Input(format!(
                "{} cannot be read: {e}; plots need the folder of a recorded run",
                path.display()
            ))
        })?;
        let mut lines = Vec::new();
        let mut damaged = Vec::new();
        // Bytes, not text: what is damaged may not even be text.
        for (i, line) in std::io::BufReader::new(file).split(b'\n').enumerate() {
            let line = line.map_err(|e| Failure::Other(format!("{}: {e}", path.display())))?;
            match serde_json::from_slice::<Value>(&line) {
                Ok(value) if value.is_object() => lines.push(value),
                _ => damaged.push(i + 1),
            }
        }
        if !damaged.is_empty() {
            let first: Vec<String> = damaged.iter().take(5).map(ToString::to_string).collect();
            let more = match damaged.len() - first.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            eprintln!(
                "{}: left out what is not whole: line {}{more}",
                path.display(),
                first.join(", ")
            );
        }
        if lines.is_empty() {
            return Err(Failure::Input(format!(
                "{} has no whole step; there is nothing to plot",
                path.display()
            )));
        }
        Ok(Self(lines))
    }

    /// Names of the scene's measures.
    pub fn measures(&self) -> Vec<String> {
        let of = |v: &Value| v["measures"].as_object().cloned().unwrap_or_default();
        self.0
            .first()
            .map(|v| of(v).into_iter().map(|(name, _)| name).collect())
            .unwrap_or_default()
    }

    /// Everything that can be plotted.
    pub fn names(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        for step in &self.0 {
            for (key, value) in step.as_object().into_iter().flatten() {
                if value.is_number() || value.is_boolean() {
                    names.insert(key.clone());
                }
            }
            for phase in step["seconds"].as_object().into_iter().flatten() {
                names.insert(format!("seconds.{}", phase.0));
            }
        }
        names.into_iter().chain(self.measures()).collect()
    }

    /// Values of a statistic or measure against time (s) or step; steps that do not have it are left out.
    pub fn curve(&self, name: &str, over_steps: bool) -> Vec<(f64, f64)> {
        let at = if over_steps { "step" } else { "time" };
        let value = |step: &Value| -> Option<f64> {
            let found = match name.strip_prefix("seconds.") {
                Some(phase) => &step["seconds"][phase],
                None if step["measures"].get(name).is_some() => &step["measures"][name],
                None => &step[name],
            };
            let truth = found.as_bool().map(|b| f64::from(u8::from(b)));
            found.as_f64().or(truth)
        };
        self.0
            .iter()
            .filter_map(|step| Some((step[at].as_f64()?, value(step)?)))
            .collect()
    }

    /// Residuals over the iterations of a step: the first or second of each pair recorded with it.
    pub fn trace(&self, step: usize, which: usize) -> Vec<(f64, f64)> {
        let found = self.0.iter().find(|s| s["step"] == step);
        let pairs = found.and_then(|s| s["trace"].as_array());
        pairs
            .into_iter()
            .flatten()
            .enumerate()
            .filter_map(|(i, pair)| Some((i as f64 + 1.0, pair[which].as_f64()?)))
            .collect()
    }
}

/// Unit of a statistic, where it is known.
pub fn unit(name: &str) -> &'static str {
    match name {
        "residual" | "velocity_error" | "primal" | "dual" => "m/s",
        "time" => "s",
        _ if name.starts_with("seconds.") => "s",
        _ => "",
    }
}
