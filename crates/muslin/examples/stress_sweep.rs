//! Runs the scenes of `bridson2002` and `stress` with both methods and perturbed starts, and judges every step.
//!
//! `cargo xtask stress [SCENE…] [impulse|implicit] [seeds=0..10] [frames=N] [threads=N] [log=FILE] [keep=FOLDER] [set=PATH=VALUE…]`: all
//! frames of all scenes with both methods from ten starts by default, which takes hours. Runs do not know of each other and go
//! side by side, each on one thread. A line is printed as each ends, and kept in the log; what stands there is not run again.
//! Fails if anything crosses. Where it first did in a run is told; `keep` saves the run as it was at the frame before, for
//! `muslin::record::load` or Python's `load`.
#![allow(clippy::print_stdout)]

use muslin::linalg::Vec3;
use muslin::record::save;
use muslin::scene::{Override, SceneSource, shipped_scenes};
use muslin::simulation::Simulation;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Largest shift of a vertex at the start, m.
const SHIFT: f64 = 1e-5;
const METHODS: [&str; 2] = ["impulse", "implicit"];
const HEADER: &str = "scene             method    seed  steps  fail-safe  trapped  missed  crossing  longest       s";

type Failure = Box<dyn Error + Send + Sync>;

/// What to run, and how.
struct Sweep {
    scenes: Vec<String>,
    methods: Vec<&'static str>,
    seeds: Range<u64>,
    frames: usize,
    threads: usize,
    log: Option<String>,
    keep: Option<PathBuf>,
    changes: Vec<Override>,
}

impl Sweep {
    fn from_arguments(arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut sweep = Self {
            scenes: Vec::new(),
            methods: Vec::new(),
            seeds: 0..10,
            frames: usize::MAX,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            log: None,
            keep: None,
            changes: Vec::new(),
        };
        let all = || shipped_scenes().filter(|s| ["bridson2002", "stress"].contains(&s.group));
        for argument in arguments {
            match argument.split_once('=') {
                Some(("seeds", range)) => {
                    let (from, to) = range.split_once("..").ok_or("seeds=FROM..TO")?;
                    sweep.seeds = from.parse()?..to.parse()?;
                }
                Some(("frames", n)) => sweep.frames = n.parse()?,
                Some(("threads", n)) => sweep.threads = n.parse()?,
                Some(("log", file)) => sweep.log = Some(file.into()),
                Some(("keep", folder)) => sweep.keep = Some(folder.into()),
                Some(("set", change)) => sweep.changes.push(Override::parse(change)?),
                _ => {
                    if let Some(method) = METHODS.into_iter().find(|m| **m == argument) {
                        sweep.methods.push(method);
                    } else if all().any(|s| s.name == argument) {
                        sweep.scenes.push(argument);
                    } else {
                        return Err(format!("no such scene or setting: {argument}").into());
                    }
                }
            }
        }
        if sweep.scenes.is_empty() {
            sweep.scenes = all().map(|s| s.name.to_string()).collect();
        }
        if sweep.methods.is_empty() {
            sweep.methods = METHODS.to_vec();
        }
        Ok(sweep)
    }

    /// Runs what the log does not have yet; says how many runs have steps in which something crosses.
    fn run(&self) -> Result<usize, Failure> {
        let past = match &self.log {
            Some(file) => std::fs::read_to_string(file).unwrap_or_default(),
            None => String::new(),
        };
        let known = |job: &Job| past.lines().any(|line| job.is_told_by(line));
        let mut jobs = Vec::new();
        // All scenes once, then all of them from the next start: what is wrong shows early.
        for seed in self.seeds.clone() {
            for scene in &self.scenes {
                let of = |method: &&'static str| Job {
                    scene,
                    method,
                    seed,
                };
                jobs.extend(self.methods.iter().map(of).filter(|j| !known(j)));
            }
        }
        let mut log = match &self.log {
            Some(file) => Some(OpenOptions::new().create(true).append(true).open(file)?),
            None => None,
        };
        println!("{HEADER}");
        let tell = Mutex::new(|line: &str| -> Result<(), Failure> {
            println!("{line}");
            if let Some(log) = &mut log {
                writeln!(log, "{line}")?;
            }
            Ok(())
        });
        let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || -> Result<(), Failure> {
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let begun = Instant::now();
                let outcome = job.run(self)?;
                if outcome.crossing > 0 {
                    failed.fetch_add(1, Ordering::Relaxed);
                }
                let line = job.line(&outcome, begun.elapsed().as_secs_f64());
                let mut tell = tell.lock().map_err(|_| "a run has failed")?;
                (*tell)(&line)?;
                if let Some(first) = outcome.first {
                    (*tell)(&format!("  {first}"))?;
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads.max(1))
                .map(|_| scope.spawn(work))
                .collect();
            let ended = workers.into_iter().map(|w| match w.join() {
                Ok(result) => result,
                Err(_) => Err("a run has panicked".into()),
            });
            ended.collect::<Result<(), Failure>>()
        })?;
        Ok(failed.into_inner())
    }
}

/// One run.
struct Job<'a> {
    scene: &'a str,
    method: &'static str,
    seed: u64,
}

#[derive(Default)]
struct Outcome {
    steps: usize,
    acted: usize,
    trapped: usize,
    missed: usize,
    crossing: usize,
    longest: f64,
    /// Where something first crossed.
    first: Option<String>,
}

impl Job<'_> {
    /// Whether a line of the log is about this run.
    fn is_told_by(&self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        words.next() == Some(self.scene)
            && words.next() == Some(self.method)
            && words.next() == Some(&self.seed.to_string())
    }

    fn line(&self, o: &Outcome, seconds: f64) -> String {
        format!(
            "{:<16}  {:<8}  {:>4}  {:>5}  {:>9}  {:>7}  {:>6}  {:>8}  {:>7.2}  {seconds:>6.0}",
            self.scene,
            self.method,
            self.seed,
            o.steps,
            o.acted,
            o.trapped,
            o.missed,
            o.crossing,
            o.longest
        )
    }

    fn run(&self, sweep: &Sweep) -> Result<Outcome, Failure> {
        let mut changes = sweep.changes.clone();
        changes.push(Override::parse(&format!("solver.method={}", self.method))?);
        let mut s = Simulation::new(&SceneSource::find(self.scene)?, &changes, 1)?;
        if self.seed > 0 {
            for (i, x) in s.world.state.x.iter_mut().enumerate() {
                let k = 3 * i as u64;
                let shift = [k, k + 1, k + 2].map(|k| noise(self.seed, k));
                *x += Vec3::from_array(shift) * SHIFT;
            }
        }
        if let Some(error) = s.crossing_start() {
            return Err(error.to_string().into());
        }
        let mut outcome = Outcome::default();
        while s.frame() < sweep.frames.min(s.scene.output.frames) {
            if let Some(folder) = &sweep.keep
                && s.at_frame()
                && outcome.first.is_none()
            {
                self.keep(&s, folder)?;
            }
            let begun = Instant::now();
            let report = s.advance()?;
            outcome.longest = outcome.longest.max(begun.elapsed().as_secs_f64());
            outcome.steps += 1;
            outcome.acted += usize::from(report.failsafe);
            outcome.trapped += usize::from(report.trapped > 0);
            outcome.missed += usize::from(!report.converged);
            let crossings = s.crossings();
            outcome.crossing += usize::from(!crossings.is_empty());
            if let (None, Some(first)) = (&outcome.first, crossings.first()) {
                outcome.first = Some(format!(
                    "step {}: {} near {:.4}, {} places trapped",
                    outcome.steps,
                    first.parties(&s.world),
                    first.at,
                    report.trapped
                ));
            }
        }
        Ok(outcome)
    }

    fn keep(&self, s: &Simulation, folder: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(folder)?;
        let name = format!("{}-{}-{}.npz", self.scene, self.method, self.seed);
        Ok(save(s, &folder.join(name))?)
    }
}

/// A number in [-1, 1) that depends on what it is asked for and nothing else (splitmix64).
fn noise(seed: u64, index: u64) -> f64 {
    let mut z = (seed << 40) ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn main() -> Result<(), Failure> {
    let failed = Sweep::from_arguments(std::env::args().skip(1))?.run()?;
    if failed > 0 {
        return Err(format!("{failed} runs have steps in which something crosses").into());
    }
    Ok(())
}
