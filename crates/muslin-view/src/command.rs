//! What the page of a live run can ask for.

use muslin::scene::{Override, SceneError};
use serde::Deserialize;

/// What the page can ask for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields, tag = "command")]
pub enum Command {
    Pause,
    Play,
    /// One frame, then stand still.
    Step,
    Restart,
    /// Takes a vertex of a cloth; `to` is where the hand is, m.
    Grab {
        cloth: String,
        vertex: usize,
        to: [f64; 3],
    },
    /// Moves the hand, m.
    Move {
        to: [f64; 3],
    },
    Release,
    Set(Changes),
}

/// Changes of the scene while it runs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    /// Coefficient between any two objects.
    pub friction: Option<f64>,
    /// m/s².
    pub gravity: Option<[f64; 3]>,
    /// m/s.
    pub wind: Option<[f64; 3]>,
    /// s.
    pub time_step: Option<f64>,
}

impl Changes {
    /// Adds newer changes; they come before older ones.
    pub fn merge(&mut self, newer: &Self) {
        self.friction = newer.friction.or(self.friction);
        self.gravity = newer.gravity.or(self.gravity);
        self.wind = newer.wind.or(self.wind);
        self.time_step = newer.time_step.or(self.time_step);
    }

    /// The same as changes from the command line, for a scene with these objects (`cloth.NAME`, `obstacle.NAME`).
    pub fn overrides(&self, objects: &[String]) -> Result<Vec<Override>, SceneError> {
        let mut texts = Vec::new();
        if let Some(mu) = self.friction {
            // Pairs come before objects, so they have to go; then every object says the same.
            texts.push("friction=[]".to_string());
            texts.extend(objects.iter().map(|o| format!("{o}.friction={mu:?}")));
        }
        if let Some(g) = self.gravity {
            texts.push(format!("gravity={g:?}"));
        }
        if let Some(w) = self.wind {
            texts.push(format!("wind.velocity={w:?}"));
            // A wind by formulas comes before a steady one: it has to become steady.
            let [x, y, z] = w.map(|c| format!("{c:?}"));
            texts.push(format!(
                r#"wind.path={{ x = "{x}", y = "{y}", z = "{z}" }}"#
            ));
        }
        if let Some(dt) = self.time_step {
            texts.push(format!("solver.time_step={dt:?}"));
        }
        texts.iter().map(|t| Override::parse(t)).collect()
    }
}
