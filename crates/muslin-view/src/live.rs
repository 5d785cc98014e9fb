//! A simulation that goes on while somebody watches, can be dragged about and changed.

use crate::command::{Changes, Command};
use crate::source::{Described, Source, SourceError, State};
use muslin::force::grip::Hand;
use muslin::linalg::Vec3;
use muslin::record::Frame;
use muslin::scene::{Override, SceneError, SceneSource};
use muslin::simulation::Simulation;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Frames that can be scrubbed back to take up to so many bytes together.
const MOST_BYTES: usize = 512 << 20;
/// Step reports kept.
const MOST_STEPS: usize = 20_000;
/// Messages that may wait; a page that sends faster loses the rest.
const MOST_WAITING: usize = 256;
/// The hand holds the weight of all cloth at this distance, m.
const HAND_SAG: f64 = 0.02;

/// A live simulation on a thread of its own.
pub struct LiveRun {
    shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
}

struct Shared {
    board: Mutex<Board>,
    /// Rung when a message arrives.
    bell: Condvar,
}

/// What the simulation and those who look have in common.
struct Board {
    described: Described,
    generation: u64,
    frames: VecDeque<Arc<Frame>>,
    /// Frames that fit.
    room: usize,
    first_step: usize,
    steps: VecDeque<String>,
    paused: bool,
    message: Option<String>,
    waiting: VecDeque<Command>,
    ended: bool,
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveRun {
    /// Builds the scene and starts to simulate it.
    pub fn start(
        source: SceneSource,
        overrides: Vec<Override>,
        threads: usize,
    ) -> Result<Self, SceneError> {
        let mut simulation = Simulation::new(&source, &overrides, threads)?;
        let note = simulation
            .prepare_start()
            .map_err(|error| source.locate(error, &overrides))?;
        let described = Described::of_scene(&simulation.name, &simulation.scene, true);
        let vertices = simulation.world.state.x.len();
        let shared = Arc::new(Shared {
            board: Mutex::new(Board {
                described,
                generation: 1,
                frames: VecDeque::from([Arc::new(Frame::of_world(0, &simulation.world))]),
                // Positions, velocities, faces and material coordinates of a vertex.
                room: (MOST_BYTES / (120 * vertices.max(1))).clamp(30, 3600),
                first_step: 0,
                steps: VecDeque::new(),
                paused: false,
                message: note,
                waiting: VecDeque::new(),
                ended: false,
            }),
            bell: Condvar::new(),
        });
        let mut worker = Worker {
            shared: shared.clone(),
            source,
            overrides,
            changes: Changes::default(),
            threads,
            simulation,
            single: false,
            begun: Instant::now(),
            begun_at: 0.0,
        };
        Ok(Self {
            shared,
            worker: Some(std::thread::spawn(move || worker.run())),
        })
    }
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        self.shared.board().ended = true;
        self.shared.bell.notify_all();
        if let Some(worker) = self.worker.take() {
            // One that panicked has ended, which is what is wanted.
            let _ = worker.join();
        }
    }
}

impl Source for LiveRun {
    fn describe(&self) -> Described {
        self.shared.board().described.clone()
    }

    fn time_step(&self) -> f64 {
        self.shared.board().described.time_step
    }

    fn generation(&self) -> u64 {
        self.shared.board().generation
    }

    fn state(&self) -> State {
        let board = self.shared.board();
        let first = board.frames.front().map_or(0, |f| f.number);
        State {
            generation: board.generation,
            first,
            end: first + board.frames.len(),
            steps: board.first_step + board.steps.len(),
            complete: false,
            paused: board.paused,
            message: board.message.clone(),
        }
    }

    fn frame(&self, number: usize) -> Result<Arc<Frame>, SourceError> {
        let board = self.shared.board();
        let first = board.frames.front().map_or(0, |f| f.number);
        let found = number
            .checked_sub(first)
            .and_then(|i| board.frames.get(i).cloned());
        found
            .ok_or_else(|| SourceError(format!("frame {number} is not there any more, or not yet")))
    }

    fn steps(&self, from: usize) -> (Vec<String>, usize) {
        let board = self.shared.board();
        let skip = from.saturating_sub(board.first_step);
        let lines = board.steps.iter().skip(skip).cloned().collect();
        (lines, board.first_step + board.steps.len())
    }

    fn command(&self, message: &str) -> Result<(), SourceError> {
        let command: Command = serde_json::from_str(message)
            .map_err(|e| SourceError(format!("this message is not understood: {e}")))?;
        let finite = |p: &[f64; 3]| p.iter().all(|c| c.is_finite() && c.abs() < 1e6);
        if let Command::Grab { to, .. } | Command::Move { to } = &command
            && !finite(to)
        {
            return Err(SourceError("the hand is nowhere".into()));
        }
        let mut board = self.shared.board();
        if board.waiting.len() < MOST_WAITING {
            board.waiting.push_back(command);
        }
        drop(board);
        self.shared.bell.notify_all();
        Ok(())
    }
}

struct Worker {
    shared: Arc<Shared>,
    source: SceneSource,
    overrides: Vec<Override>,
    changes: Changes,
    threads: usize,
    simulation: Simulation,
    /// Whether to stand still after the next frame.
    single: bool,
    /// Wall clock and simulated time (s) since which it has run without a pause.
    begun: Instant,
    begun_at: f64,
}

impl Worker {
    fn run(&mut self) {
        loop {
            let (commands, paused) = {
                let mut board = self.shared.board();
                while board.paused && board.waiting.is_empty() && !board.ended && !self.single {
                    board = self
                        .shared
                        .bell
                        .wait(board)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                if board.ended {
                    return;
                }
                (std::mem::take(&mut board.waiting), board.paused)
            };
            for command in commands {
                self.obey(command);
            }
            if self.shared.board().paused && !self.single {
                continue;
            }
            if paused {
                self.begun = Instant::now();
                self.begun_at = self.simulation.world.time;
            }
            self.frame();
            if std::mem::take(&mut self.single) {
                self.shared.board().paused = true;
            }
            self.wait_for_the_clock();
        }
    }

    /// Simulates the steps of one frame and shows it.
    fn frame(&mut self) {
        let mut lines = Vec::new();
        loop {
            match self.simulation.advance() {
                Ok(report) => lines.extend(serde_json::to_string(&report)),
                Err(error) => {
                    let mut board = self.shared.board();
                    board.message = Some(format!("{error}; restart to begin anew"));
                    board.paused = true;
                    return;
                }
            }
            if self.simulation.at_frame() || self.shared.board().ended {
                break;
            }
        }
        let frame = Frame::of_world(self.simulation.frame(), &self.simulation.world);
        let mut board = self.shared.board();
        board.frames.push_back(Arc::new(frame));
        if board.frames.len() > board.room {
            board.frames.pop_front();
        }
        board.steps.extend(lines);
        while board.steps.len() > MOST_STEPS {
            board.steps.pop_front();
            board.first_step += 1;
        }
    }

    /// A simulation that is faster than life waits, so that it is seen at its own speed.
    fn wait_for_the_clock(&self) {
        let ahead = self.simulation.world.time - self.begun_at - self.begun.elapsed().as_secs_f64();
        if ahead > 0.0 {
            let board = self.shared.board();
            let wait = Duration::from_secs_f64(ahead.min(0.5));
            // Whatever wakes it, the loop looks at all there is to do.
            drop(self.shared.bell.wait_timeout(board, wait));
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Pause => self.shared.board().paused = true,
            Command::Play => {
                let mut board = self.shared.board();
                board.paused = false;
                board.message = None;
            }
            Command::Step => self.single = true,
            Command::Restart => self.restart(),
            Command::Grab { cloth, vertex, to } => self.grab(&cloth, vertex, to),
            Command::Move { to } => {
                if let Some(hand) = self.simulation.world.hand() {
                    hand.move_to(Vec3::from_array(to));
                }
            }
            Command::Release => {
                if let Err(e) = self.simulation.world.grab(None) {
                    self.tell(e.to_string());
                }
            }
            Command::Set(changes) => self.change(&changes),
        }
    }

    fn tell(&self, message: String) {
        self.shared.board().message = Some(message);
    }

    fn grab(&mut self, cloth: &str, vertex: usize, to: [f64; 3]) {
        let world = &mut self.simulation.world;
        let Some(body) = world.body(cloth) else {
            return;
        };
        if vertex >= body.vertices.len() {
            return;
        }
        let vertex = body.vertices.start + vertex;
        let weight = world.mass.iter().sum::<f64>() * world.gravity.length().max(9.81);
        let hand = Hand::new(vertex as u32, Vec3::from_array(to), weight / HAND_SAG);
        if let Err(e) = world.grab(Some(hand)) {
            self.tell(e.to_string());
        }
    }

    /// The scene with all changes so far.
    fn build(&self, changes: &Changes) -> Result<Simulation, SceneError> {
        let scene = &self.simulation.scene;
        let cloths = scene.cloth.keys().map(|n| format!("cloth.{n}"));
        let soft = scene.soft.keys().map(|n| format!("soft.{n}"));
        let obstacles = scene.obstacle.keys().map(|n| format!("obstacle.{n}"));
        let objects: Vec<String> = cloths.chain(soft).chain(obstacles).collect();
        let mut all = self.overrides.clone();
        all.extend(changes.overrides(&objects)?);
        Simulation::new(&self.source, &all, self.threads)
    }

    fn change(&mut self, newer: &Changes) {
        let mut changes = self.changes.clone();
        changes.merge(newer);
        match self.build(&changes) {
            Ok(mut simulation) => {
                if !simulation.continue_from(&self.simulation) {
                    self.tell("the change does not fit the state; restart to see it".into());
                }
                let hand = self.simulation.world.hand().cloned();
                if hand.is_some()
                    && let Err(e) = simulation.world.grab(hand)
                {
                    self.tell(e.to_string());
                }
                self.simulation = simulation;
                self.changes = changes;
                self.describe();
                self.shared.board().message = None;
            }
            Err(e) => self.tell(e.to_string()),
        }
    }

    fn describe(&self) {
        let mut described =
            Described::of_scene(&self.simulation.name, &self.simulation.scene, true);
        described.friction = self.changes.friction;
        self.shared.board().described = described;
    }

    fn restart(&mut self) {
        let begun = self.build(&self.changes).and_then(|mut simulation| {
            let note = simulation.prepare_start()?;
            Ok((simulation, note))
        });
        match begun {
            Ok((simulation, note)) => {
                self.simulation = simulation;
                self.begun = Instant::now();
                self.begun_at = 0.0;
                let first = Arc::new(Frame::of_world(0, &self.simulation.world));
                let mut board = self.shared.board();
                board.generation += 1;
                board.frames = VecDeque::from([first]);
                board.steps.clear();
                board.first_step = 0;
                board.message = note;
            }
            Err(e) => self.tell(e.to_string()),
        }
    }
}
