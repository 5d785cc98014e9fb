//! The loop everybody calls: command line, tests and bindings advance a world through here.

mod change;

use crate::contact::{Crossing, CrossingJudge, Party};
use crate::failsafe::TangleWatch;
use crate::record::MeasureSet;
use crate::scene::{Method, Override, SceneError, SceneFile, SceneSource, StartPolicy};
use crate::start::untangle;
use crate::step::{Admm, Implicit, Impulse, SolvedProblem, StepError, StepReport, Stepper};
use crate::world::{World, sequence_files};
use std::path::Path;

/// A world with its stepper, its clock and its threads.
pub struct Simulation {
    /// Name of the scene.
    pub name: String,
    /// The scene as resolved.
    pub scene: SceneFile,
    /// What exists now.
    pub world: World,
    source: SceneSource,
    overrides: Vec<Override>,
    stepper: Box<dyn Stepper>,
    measures: MeasureSet,
    judge: CrossingJudge,
    tangles: TangleWatch,
    steps: usize,
    steps_per_frame: usize,
    dt: f64,
    pool: rayon::ThreadPool,
}

/// Equal steps that a frame is cut into.
pub fn steps_per_frame(scene: &SceneFile) -> usize {
    let wanted = 1.0 / (scene.output.frame_rate * scene.solver.time_step);
    // 1/60 s over 1/240 s must give 4 steps, not 5, whatever the last digit says.
    ((wanted - 1e-9 * wanted).ceil() as usize).max(1)
}

/// Crossings that are listed one by one.
const MOST_TOLD: usize = 6;
const MOST_THREADS: usize = 1024;

/// The stepper that a scene asks for.
fn stepper(scene: &SceneFile) -> Box<dyn Stepper> {
    match scene.solver.method {
        Method::Implicit => Box::new(Implicit::new(scene.solver.implicit.clone())),
        Method::Impulse => Box::new(Impulse::new(scene.solver.impulse.clone())),
        Method::Admm => Box::new(Admm::new(scene.solver.admm.clone())),
    }
}

/// Threads of a simulation's own; 0 means as many as there are cores.
fn thread_pool(threads: usize) -> Result<rayon::ThreadPool, SceneError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|e| {
        SceneError::new(
            format!("threads could not be started: {e}"),
            "ask for fewer with --threads",
        )
    })
}

fn absolute(folder: &Path, file: &str) -> String {
    let path = folder.join(file);
    std::path::absolute(&path)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

impl Simulation {
    /// Builds the world of a scene. `threads` 0 means as many as there are cores.
    pub fn new(
        source: &SceneSource,
        overrides: &[Override],
        threads: usize,
    ) -> Result<Self, SceneError> {
        let mut scene = source.load(overrides)?;
        if threads > MOST_THREADS {
            return Err(SceneError::new(
                format!("{threads} threads are more than any machine has use for"),
                format!("ask for at most {MOST_THREADS}, or leave it out for all cores"),
            ));
        }
        let pool = thread_pool(threads)?;
        let world = pool
            .install(|| World::build(&scene, &source.folder))
            .map_err(|e| source.locate(e, overrides))?;
        // The recorded scene stands in another folder; files it names must still be found from there.
        for cloth in scene.cloth.values_mut() {
            if let Some(mesh) = &mut cloth.mesh {
                *mesh = absolute(&source.folder, mesh);
            }
            if cloth.fabric.to_lowercase().ends_with(".toml")
                && !scene.fabric.contains_key(&cloth.fabric)
            {
                cloth.fabric = absolute(&source.folder, &cloth.fabric);
            }
        }
        for soft in scene.soft.values_mut() {
            let filled = soft.fill.as_mut().map(|f| &mut f.mesh);
            for mesh in soft.mesh.iter_mut().chain(filled) {
                *mesh = absolute(&source.folder, mesh);
            }
        }
        for (name, spec) in &mut scene.obstacle {
            if let Some(mesh) = &mut spec.mesh {
                *mesh = absolute(&source.folder, mesh);
            }
            if let Some(sequence) = &mut spec.sequence {
                // A pattern is resolved now: files that appear later do not change the recorded scene.
                let key = format!("obstacle.{name}.sequence");
                let files = sequence_files(&key, sequence, &source.folder)?;
                sequence.pattern = None;
                sequence.files = Some(
                    files
                        .iter()
                        .map(|f| absolute(Path::new(""), &f.to_string_lossy()))
                        .collect(),
                );
            }
        }
        let measures = MeasureSet::new(&scene, &world);
        let steps_per_frame = steps_per_frame(&scene);
        Ok(Self {
            name: source.name.clone(),
            dt: 1.0 / (scene.output.frame_rate * steps_per_frame as f64),
            stepper: stepper(&scene),
            scene,
            world,
            source: source.clone(),
            overrides: overrides.to_vec(),
            measures,
            judge: CrossingJudge::default(),
            tangles: TangleWatch::default(),
            steps: 0,
            steps_per_frame,
            pool,
        })
    }

    /// All crossings of triangles in the world as it is; none are found in a world that is not finite.
    pub fn crossings(&mut self) -> Vec<Crossing> {
        let Self {
            pool, judge, world, ..
        } = self;
        pool.install(|| judge.judge(world)).unwrap_or_default()
    }

    /// Makes the start fit to run as the scene asks: refuses what crosses, parts it, or lets it be. Says what was done.
    pub fn prepare_start(&mut self) -> Result<Option<String>, SceneError> {
        let Some(error) = self.crossing_start() else {
            return Ok(None);
        };
        match self.scene.start {
            StartPolicy::Refuse => Err(SceneError {
                remedy: format!(
                    "{}, or let Muslin part them: start = \"untangle\" at the top of the file",
                    error.remedy
                ),
                ..error
            }),
            StartPolicy::IgnorePairs => {
                let count: usize = self.crossings().iter().map(Crossing::count).sum();
                Ok(Some(format!(
                    "{count} pairs cross at the start; they are left out of contact until they have parted"
                )))
            }
            StartPolicy::Untangle => {
                let Self { pool, world, .. } = self;
                let report = pool.install(|| untangle(world));
                match self.crossing_start() {
                    None => Ok(Some(report.to_string())),
                    Some(left) => Err(SceneError {
                        remedy: format!(
                            "untangling gave up after {} rounds; move them apart with `translate`, `rotate` or \
                             `scale`, or run with start = \"ignore-pairs\"",
                            report.rounds
                        ),
                        ..left
                    }),
                }
            }
        }
    }

    /// A mistake that says what crosses at the start, if anything does: steppers keep things apart, they do not part
    /// them.
    pub fn crossing_start(&mut self) -> Option<SceneError> {
        let crossings = self.crossings();
        let first = crossings.first()?;
        let key = match first.b {
            Party::Obstacle(i) => format!("obstacle.{}", self.world.obstacles[i].name),
            Party::Cloth(i) => {
                let body = &self.world.bodies[i];
                format!("{}.{}", body.family(), body.name)
            }
        };
        let each = crossings.iter().take(MOST_TOLD).map(|c| {
            let how_many = if c.pairs > 0 {
                format!("{} pairs of triangles", c.pairs)
            } else {
                format!("{} vertices inside", c.inside)
            };
            let who = c.parties(&self.world);
            format!("{who}: {how_many}, for instance at {:.4}", c.at)
        });
        let mut list: Vec<String> = each.collect();
        if crossings.len() > MOST_TOLD {
            list.push(format!("and {} more", crossings.len() - MOST_TOLD));
        }
        Some(SceneError::at(
            key,
            format!(
                "things cross each other at the start:\n        {}",
                list.join("\n        ")
            ),
            if crossings.iter().all(|c| c.a == c.b) {
                "give a shape that does not cross itself"
            } else {
                "move them apart with `translate`, `rotate` or `scale`"
            },
        ))
    }

    /// One time step. Steps that complete a frame are judged for crossings, the others are not: their reports say
    /// nothing of intersections. If it cannot be done, the state stays that of the step before.
    pub fn advance(&mut self) -> Result<StepReport, StepError> {
        // A method may take many small steps in one, and fail in the middle.
        let World {
            state,
            impulses,
            touches,
            ..
        } = &self.world;
        let before = (state.clone(), impulses.clone(), touches.clone(), self.steps);
        let done = self.try_advance();
        if done.is_err() {
            let world = &mut self.world;
            (world.state, world.impulses, world.touches, _) = before;
            self.set_steps(before.3);
        }
        done
    }

    fn try_advance(&mut self) -> Result<StepReport, StepError> {
        let Self {
            pool,
            stepper,
            world,
            measures,
            tangles,
            dt,
            ..
        } = self;
        // Before the first step of a run, resumed or not, nobody has looked; after that only what was trapped matters.
        let follow = |world: &mut World, tangles: &mut TangleWatch, trapped| {
            tangles
                .update(world, trapped)
                .map_err(|e| StepError::Contact {
                    reason: e.to_string(),
                    time: world.time,
                })
        };
        pool.install(|| follow(world, tangles, false))?;
        let mut report = pool.install(|| stepper.step(world, *dt))?;
        self.steps += 1;
        // From the count, not by adding up: no drift over a million steps.
        world.time = self.steps as f64 * *dt;
        pool.install(|| follow(world, tangles, report.trapped > 0))?;
        report.step = self.steps;
        report.time = world.time;
        report.measures = measures.evaluate(world);
        if self.at_frame() {
            let begun = std::time::Instant::now();
            let Self {
                pool, judge, world, ..
            } = self;
            report.intersections = pool
                .install(|| judge.judge(world))
                .ok()
                .map(|found| found.iter().map(Crossing::count).sum());
            let seconds = begun.elapsed().as_secs_f64();
            report.seconds.insert("judge".into(), seconds);
            *report.seconds.entry("total".into()).or_default() += seconds;
        }
        Ok(report)
    }

    /// Steps done since the start.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Frames complete; 0 is the initial state.
    pub fn frame(&self) -> usize {
        self.steps / self.steps_per_frame
    }

    /// Whether the last step completed a frame.
    pub fn at_frame(&self) -> bool {
        self.steps.is_multiple_of(self.steps_per_frame)
    }

    /// The contact problem of the last step with its answer, if anything touched.
    pub fn solved_problem(&self) -> Option<SolvedProblem<'_>> {
        self.stepper.solved_problem(&self.world)
    }

    /// Length of a step, s.
    pub fn dt(&self) -> f64 {
        self.dt
    }

    /// Steps a frame.
    pub fn steps_per_frame(&self) -> usize {
        self.steps_per_frame
    }

    /// Threads in use.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Takes over the state of another simulation of the same bodies, at the frame it has completed last. Says whether
    /// that was possible: the numbers of vertices must agree.
    pub fn continue_from(&mut self, other: &Self) -> bool {
        let (new, old) = (&mut self.world, &other.world);
        let same = new.bodies.iter().map(|b| &b.vertices);
        if !same.eq(old.bodies.iter().map(|b| &b.vertices)) {
            return false;
        }
        new.state = old.state.clone();
        if self.scene.solver.method != other.scene.solver.method {
            // Other methods do not bring them up to date.
            new.state.carried = crate::world::Carried::default();
        }
        new.touches.clone_from(&old.touches);
        new.impulses.clone_from(&old.impulses);
        self.set_steps(other.frame() * self.steps_per_frame);
        true
    }

    /// Puts the clock to a step, for resuming; the state must be set to that step's.
    pub(crate) fn set_steps(&mut self, steps: usize) {
        self.steps = steps;
        self.world.time = steps as f64 * self.dt;
    }
}
