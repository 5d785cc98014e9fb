//! What the viewer shows: a run, recorded or going on.

use muslin::picture::{View, lowest};
use muslin::record::Frame;
use muslin::scene::SceneFile;
use serde::Serialize;
use std::sync::Arc;

/// What does not change while a run goes on.
#[derive(Clone, Debug, Serialize)]
pub struct Described {
    /// Name shown above it.
    pub name: String,
    /// The scene's description.
    pub description: String,
    /// Frames a second.
    pub frame_rate: f64,
    /// Length of a step, s.
    pub time_step: f64,
    /// Whether it can be paused, dragged and changed.
    pub live: bool,
    /// Position and target of the scene's camera, m, and its opening, degrees.
    pub camera: Option<([f64; 3], [f64; 3], f64)>,
    /// Obstacles that are planes: drawn as ground, and not framed.
    pub planes: Vec<String>,
    /// Gravity, m/s².
    pub gravity: [f64; 3],
    /// Velocity of the wind, m/s.
    pub wind: [f64; 3],
    /// Friction that a live run has been set to; none as the scene says.
    pub friction: Option<f64>,
}

impl Described {
    /// What a scene says.
    pub fn of_scene(name: &str, scene: &SceneFile, live: bool) -> Self {
        let steps = muslin::simulation::steps_per_frame(scene) as f64;
        let planes = scene.obstacle.iter().filter(|(_, o)| o.plane.is_some());
        Self {
            name: name.to_string(),
            description: scene.description.clone(),
            frame_rate: scene.output.frame_rate,
            time_step: 1.0 / (scene.output.frame_rate * steps),
            live,
            camera: scene.camera.as_ref().map(|c| (c.from, c.to, c.degrees)),
            planes: planes.map(|(name, _)| name.clone()).collect(),
            gravity: scene.gravity,
            wind: scene.wind.as_ref().map_or([0.0; 3], |w| w.velocity),
            friction: None,
        }
    }
}

/// How far a run has got.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct State {
    /// Changes when the run began anew: nothing that was read before holds.
    pub generation: u64,
    /// First frame there is.
    pub first: usize,
    /// Number after the last frame.
    pub end: usize,
    /// Number after the last step report.
    pub steps: usize,
    /// Whether no more frames are to be expected.
    pub complete: bool,
    /// Whether a live run stands still.
    pub paused: bool,
    /// Something that the one who looks should know.
    pub message: Option<String>,
}

/// Where a run happens: a ball round all of its motion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Extent {
    /// Its middle, m.
    pub centre: [f64; 3],
    /// Its radius, m.
    pub radius: f64,
    /// Height of the lowest point, m.
    pub lowest: f64,
}

/// Frames that show the extent of the motion well enough.
const SAMPLED: usize = 5;

/// A frame or report that cannot be had; the text is for the one who looks.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// A run.
pub trait Source: Send + Sync {
    /// What it is.
    fn describe(&self) -> Described;
    /// Length of a step, s.
    fn time_step(&self) -> f64;
    /// Changes when the run begins anew.
    fn generation(&self) -> u64;
    /// How far it has got.
    fn state(&self) -> State;
    /// A frame.
    fn frame(&self, number: usize) -> Result<Arc<Frame>, SourceError>;
    /// Where it happens, as far as it has got; none if no frame can be read.
    fn extent(&self) -> Option<Extent> {
        let State { first, end, .. } = self.state();
        let last = end.checked_sub(first + 1)?;
        let mut numbers: Vec<usize> = (0..SAMPLED)
            .map(|i| first + last * i / (SAMPLED - 1))
            .collect();
        numbers.dedup();
        // Damaged ones are told about when they are to be shown.
        let frames: Vec<Arc<Frame>> = numbers
            .into_iter()
            .filter_map(|n| self.frame(n).ok())
            .collect();
        let frames: Vec<&Frame> = frames.iter().map(AsRef::as_ref).collect();
        if frames.is_empty() {
            return None;
        }
        let planes = self.describe().planes;
        let view = View::framing(&frames, &planes);
        Some(Extent {
            centre: view.to.to_array(),
            radius: view.radius,
            lowest: lowest(&frames, &planes),
        })
    }
    /// Step reports from a place on, as lines of JSON, and the place after them. Lines that are not whole are left out.
    fn steps(&self, from: usize) -> (Vec<String>, usize);
    /// Carries out a message of the page; live runs know some.
    fn command(&self, _message: &str) -> Result<(), SourceError> {
        Err(SourceError(
            "this is a recording; it cannot be changed".into(),
        ))
    }
}
