//! `summary.json`: what a run came to, computed from its step reports.

use super::arrays::RecordError;
use crate::scene::{ExpectAt, SceneFile};
use crate::step::StepReport;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

/// A quantity over a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Last value.
    pub end: f64,
    /// Mean over the steps.
    pub mean: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

/// An expectation and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// Name of the measure.
    pub name: String,
    /// Expected value.
    pub expected: f64,
    /// Measured value; none if the run did not get that far.
    pub measured: Option<f64>,
    /// Largest deviation allowed.
    pub tolerance: f64,
    /// Whether the measured value is within it.
    pub met: bool,
}

/// When and where something happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// Time at the end of the step, s.
    pub time: f64,
    /// Place, m.
    pub position: [f64; 3],
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of Muslin.
    pub version: String,
    /// Name of the scene.
    pub scene: String,
    /// Whether all frames asked for are there.
    pub complete: bool,
    /// Frames written, with the initial one.
    pub frames: usize,
    /// Steps done.
    pub steps: usize,
    /// Simulated time, s.
    pub time: f64,
    /// Threads used.
    pub threads: usize,
    /// Wall-clock time of the run, s, interruptions not counted.
    pub wall_seconds: f64,
    /// Steps that missed their tolerance.
    pub unconverged_steps: usize,
    /// Steps in which the fail-safe acted.
    #[serde(default)]
    pub failsafe_steps: usize,
    /// Steps in which obstacles or pins closed on cloth.
    #[serde(default)]
    pub trapped_steps: usize,
    /// Steps in which contacts contradicted each other or what is held, and gave way.
    #[serde(default)]
    pub yielding_steps: usize,
    /// Where that was first: time (s) and place (m).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_yielding: Option<Incident>,
    /// Frames in which triangles cross, the initial one aside; none if nobody looked.
    pub intersecting_frames: Option<usize>,
    /// Means and maxima of the step reports.
    pub statistics: BTreeMap<String, Series>,
    /// Seconds spent in each phase.
    pub seconds: BTreeMap<String, f64>,
    /// Which linear solver was used in how many steps.
    pub linear_solver: BTreeMap<String, usize>,
    /// What the scene asked to be measured.
    pub measures: BTreeMap<String, Series>,
    /// What it expected.
    pub expectations: Vec<Expectation>,
}

#[derive(Default)]
struct Gather(BTreeMap<String, (Series, usize)>);

impl Gather {
    fn add(&mut self, name: &str, value: f64) {
        let fresh = Series {
            end: value,
            mean: 0.0,
            min: value,
            max: value,
        };
        let (s, n) = self.0.entry(name.to_string()).or_insert((fresh, 0));
        *n += 1;
        s.end = value;
        s.mean += (value - s.mean) / *n as f64;
        s.min = s.min.min(value);
        s.max = s.max.max(value);
    }

    fn finish(self) -> BTreeMap<String, Series> {
        self.0.into_iter().map(|(k, (s, _))| (k, s)).collect()
    }
}

impl Summary {
    /// Reads all step reports of a run and sums them up. Frame, thread and time counts are left to the caller.
    pub fn gather(scene_name: &str, scene: &SceneFile, steps: &Path) -> Result<Self, RecordError> {
        let file = std::fs::File::open(steps).map_err(RecordError::io(steps))?;
        let (mut statistics, mut measures) = (Gather::default(), Gather::default());
        let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
        let mut linear_solver = BTreeMap::new();
        let (mut count, mut unconverged, mut time) = (0, 0, 0.0);
        let mut intersecting = None;
        let (mut failsafe_steps, mut trapped_steps, mut yielding_steps) = (0, 0, 0);
        let mut first_yielding = None;
        let mut expected = Gather::default();
        for line in std::io::BufReader::new(file).lines() {
            let line = line.map_err(RecordError::io(steps))?;
            let r: StepReport =
                serde_json::from_str(&line).map_err(|e| RecordError::damaged(steps, e))?;
            count += 1;
            time = r.time;
            unconverged += usize::from(!r.converged);
            failsafe_steps += usize::from(r.failsafe);
            trapped_steps += usize::from(r.trapped > 0);
            yielding_steps += usize::from(r.yielding > 0);
            first_yielding = first_yielding.or_else(|| {
                r.yielding_at.map(|position| Incident {
                    time: r.time,
                    position,
                })
            });
            if let Some(n) = r.intersections {
                *intersecting.get_or_insert(0) += usize::from(n > 0);
            }
            for (name, value) in [
                ("vertices", r.vertices as f64),
                ("contacts", r.contacts as f64),
                ("sticking", r.sticking as f64),
                ("sliding", r.sliding as f64),
                ("iterations", r.iterations as f64),
                ("linear_iterations", r.linear_iterations as f64),
                ("residual", r.residual),
                ("failsafe_vertices", r.failsafe_vertices as f64),
            ] {
                statistics.add(name, value);
            }
            statistics.add("seconds", r.seconds.get("total").copied().unwrap_or(0.0));
            for (phase, s) in &r.seconds {
                *seconds.entry(phase.clone()).or_default() += s;
            }
            *linear_solver.entry(r.linear_solver).or_default() += 1;
            for (name, value) in &r.measures {
                measures.add(name, *value);
            }
            for m in &scene.measure {
                let counts = m.expect.as_ref().is_some_and(|e| e.counts_at(r.time));
                if let Some(value) = r.measures.get(&m.name).filter(|_| counts) {
                    expected.add(&m.name, *value);
                }
            }
        }
        let (measures, expected) = (measures.finish(), expected.finish());
        let expectations = scene
            .measure
            .iter()
            .filter_map(|m| m.expect.as_ref().map(|e| (m, e)))
            .map(|(m, e)| {
                let measured = expected.get(&m.name).map(|s| match e.at {
                    ExpectAt::End => s.end,
                    ExpectAt::Max => s.max,
                    ExpectAt::Min => s.min,
                    ExpectAt::Mean => s.mean,
                    ExpectAt::Range => s.max - s.min,
                });
                let tolerance = e
                    .tolerance
                    .unwrap_or_else(|| e.relative.unwrap_or(0.0) * e.value.abs());
                let met = measured.is_some_and(|v| (v - e.value).abs() <= tolerance);
                Expectation {
                    name: m.name.clone(),
                    expected: e.value,
                    measured,
                    tolerance,
                    met,
                }
            })
            .collect();
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_string(),
            scene: scene_name.to_string(),
            complete: false,
            frames: 0,
            steps: count,
            time,
            threads: 0,
            wall_seconds: 0.0,
            unconverged_steps: unconverged,
            failsafe_steps,
            trapped_steps,
            yielding_steps,
            first_yielding,
            intersecting_frames: intersecting,
            statistics: statistics.finish(),
            seconds,
            linear_solver,
            measures,
            expectations,
        })
    }
}
