//! The method of Bridson, Fedkiw and Anderson (2002): internal dynamics propose a motion, limits of stretch, repulsions
//! with friction and the fail-safe put it right.
//!
//! Collisions are looked for in steps of their own. They begin as long as the stepper's; a step in which something meets
//! in spite of the repulsions is tried again at half the length, down to where impulses may resolve it; if they do not
//! suffice, further down to the shortest, where the fail-safe does all it can. After three good steps the length doubles.

mod calm;
mod dynamics;
mod frequency;
mod repulsion;

use super::{Phases, StepError, StepReport, Stepper, finite};
use crate::contact::{DetectParams, Detector};
use crate::failsafe::{FailSafe, Mended, Stage, held_inverse_mass};
use crate::limit::EdgeLimits;
use crate::scene::{Between, ImpulseSettings};
use crate::world::{Body, World};
use calm::Calm;
use dynamics::{Dynamics, Ticks};
use frequency::{Frequencies, Pace};
use muslin_linalg::Vec3;
use repulsion::Repulsions;

/// Good steps after which a collision step is doubled.
const GOOD: usize = 3;
/// Halvings below the length at which impulses may resolve what meets.
const LAST_HALVINGS: u32 = 2;
/// Most halvings of a collision step.
const MOST_HALVINGS: u32 = 10;

/// The stepper and its working memory.
pub struct Impulse {
    settings: ImpulseSettings,
    frequencies: Frequencies,
    dynamics: Dynamics,
    calm: Calm,
    limits: EdgeLimits,
    detector: Detector,
    repulsions: Repulsions,
    guard: FailSafe,
    inverse_mass: Vec<Vec3>,
    x: Vec<Vec3>,
    v: Vec<Vec3>,
    /// Mean velocities over the collision step: of the state, then of mesh obstacles.
    mean: Vec<Vec3>,
    /// Mean velocities that the dynamics proposed, after the limits, and after repulsions.
    proposed: Vec<Vec3>,
    limited: Vec<Vec3>,
    repelled: Vec<Vec3>,
}

impl Impulse {
    /// A stepper with the scene's settings.
    pub fn new(settings: ImpulseSettings) -> Self {
        Self {
            settings,
            frequencies: Frequencies::default(),
            dynamics: Dynamics::default(),
            calm: Calm::default(),
            limits: EdgeLimits::default(),
            detector: Detector::default(),
            repulsions: Repulsions::default(),
            guard: FailSafe::default(),
            inverse_mass: Vec::new(),
            x: Vec::new(),
            v: Vec::new(),
            mean: Vec::new(),
            proposed: Vec::new(),
            limited: Vec::new(),
            repelled: Vec::new(),
        }
    }

    /// One collision step. At the shortest length, one tick, what meets is resolved at any price; up to `light` ticks, by
    /// impulses. The answer is how far the fail-safe had to go; none if that did not do, and the state is left alone.
    fn collision_step(
        &mut self,
        world: &mut World,
        (ticks, light): (Ticks, usize),
        pace: &Pace,
        report: &mut StepReport,
        phases: &mut Phases,
    ) -> Result<Option<Stage>, StepError> {
        let dt = ticks.dt();
        let proposal = (&mut self.x, &mut self.v);
        report.linear_iterations +=
            self.dynamics
                .advance(world, ticks, pace, &self.inverse_mass, proposal)?;
        self.proposed.clear();
        let ways = self.x.iter().zip(&world.state.x);
        self.proposed.extend(ways.map(|(b, a)| (*b - *a) / dt));
        phases.done("dynamics");
        self.limit(world, dt);
        phases.done("limits");
        self.repel(world, dt)?;
        phases.done("repulsion");
        let n = world.state.x.len();
        for i in 0..n {
            if self.mean[i] != self.proposed[i] {
                self.x[i] = world.state.x[i] + self.mean[i] * dt;
            }
        }
        finite(world, &self.x, &self.v, world.time + dt)?;
        self.repelled.clone_from(&self.mean);
        let (guard, x, mean) = (&mut self.guard, &mut self.x, &mut self.mean[..n]);
        let mended = if ticks.count == 1 {
            Some(guard.guard(world, x, mean, dt, report)?)
        } else if ticks.count <= light {
            guard.guard_lightly(world, x, mean, dt, report)?
        } else {
            let meets = guard.meets_on_the_way(world, x, dt)?;
            (!meets).then(Mended::default)
        };
        let Some(mended) = mended else {
            phases.done("fail-safe");
            return Ok(None);
        };
        phases.done("fail-safe");
        self.end_velocities(world, dt, report);
        self.finish(world, pace, dt);
        report.sweeps += mended.searches;
        phases.done("velocities");
        Ok(Some(mended.stage))
    }

    /// Limits strain and its rate.
    fn limit(&mut self, world: &World, dt: f64) {
        self.limits.follow(world);
        self.limited.clone_from(&self.proposed);
        let (x, v, inverse) = (&world.state.x, &mut self.limited, &self.inverse_mass);
        if self.settings.rate_limit > 0.0 {
            let limit = self.settings.rate_limit;
            self.limits.limit_rate(x, v, inverse, dt, limit);
        }
        // Last, so that it holds.
        if self.settings.strain_limit > 0.0 {
            let limit = self.settings.strain_limit;
            self.limits.limit_strain(x, v, inverse, dt, limit);
        }
    }

    /// Finds what is near and applies repulsions and friction: from `limited` to `mean`.
    fn repel(&mut self, world: &World, dt: f64) -> Result<(), StepError> {
        self.mean.clone_from(&self.limited);
        if world.contact.between == Between::Nothing {
            return Ok(());
        }
        let params = DetectParams {
            margin: world.bodies.iter().map(|b| b.thickness).fold(0.0, f64::max),
            crossings: false,
            between_cloth: world.contact.between == Between::All,
            ..DetectParams::default()
        };
        self.detector
            .detect(world, Some(&self.x), dt, &params)
            .map_err(|e| StepError::Contact {
                reason: e.to_string(),
                time: world.time + dt,
            })?;
        let (start, end) = (self.detector.start(), self.detector.end());
        let n = self.mean.len();
        let skins = start[n..].iter().zip(&end[n..]);
        self.mean.extend(skins.map(|(a, b)| (*b - *a) / dt));
        self.inverse_mass.resize(self.mean.len(), Vec3::ZERO);
        let stiffness: Vec<f64> = world
            .bodies
            .iter()
            .map(Body::compression_stiffness)
            .collect();
        self.repulsions
            .gather(world, self.detector.found(), start, &stiffness);
        self.repulsions
            .apply(&self.inverse_mass, &mut self.mean, dt);
        Ok(())
    }

    /// Velocities at the end of the step: what the dynamics and the limits gave, under the same repulsions and friction as
    /// the mean ones. The end has felt the forces of the whole step, the mean only half of them, so these are the
    /// impulses that are recorded. What the fail-safe moved keeps its mean velocity.
    fn end_velocities(&mut self, world: &mut World, dt: f64, report: &mut StepReport) {
        let n = self.v.len();
        for i in 0..n {
            self.v[i] += self.limited[i] - self.proposed[i];
        }
        self.v.extend_from_slice(&self.mean[n..]);
        self.repulsions.apply(&self.inverse_mass, &mut self.v, dt);
        let (found, start) = (self.detector.found(), self.detector.start());
        let [contacts, sticking, sliding] = self.repulsions.leave(world, found, start, &self.v);
        report.contacts = contacts;
        report.sticking = sticking;
        report.sliding = sliding;
        self.v.truncate(n);
        for i in 0..n {
            if self.mean[i] != self.repelled[i] {
                self.v[i] = self.mean[i];
            }
        }
    }

    /// Damps the velocities and takes over the new state.
    fn finish(&mut self, world: &mut World, pace: &Pace, dt: f64) {
        let touched = self.mean[..self.v.len()] != self.limited;
        let (x, inverse) = (&self.x, &self.inverse_mass);
        self.calm
            .damp(world, pace, x, &mut self.v, (dt, touched), inverse);
        std::mem::swap(&mut world.state.x, &mut self.x);
        std::mem::swap(&mut world.state.v, &mut self.v);
        self.dynamics.moved_on();
    }
}

impl Stepper for Impulse {
    fn step(&mut self, world: &mut World, dt: f64) -> Result<StepReport, StepError> {
        let mut phases = Phases::start();
        let begin = world.time;
        world
            .release_pins(begin + dt)
            .map_err(|e| StepError::Linear {
                reason: e.to_string(),
                time: begin + dt,
            })?;
        held_inverse_mass(world, &mut self.inverse_mass);
        self.dynamics.moved_on();
        let pace = self.frequencies.pace(world);
        phases.done("prepare");
        let mut report = StepReport {
            vertices: world.state.x.len(),
            converged: true,
            linear_solver: "cg".into(),
            friction_solver: "impulses".into(),
            ..StepReport::default()
        };
        world.touches.clear();
        world.impulses.clear();
        let before = world.state.v.clone();
        // Rounding must not take the last halving away.
        let times = (dt / self.settings.smallest_step * (1.0 + 1e-9)).log2();
        let halvings = times.clamp(0.0, f64::from(MOST_HALVINGS)) as u32;
        let (ticks, light) = (1usize << (halvings + LAST_HALVINGS), 1 << LAST_HALVINGS);
        let (mut done, mut length, mut good) = (0, ticks, 0);
        while done < ticks {
            // Lengths are powers of two and begin at their own multiples, so that they fill the step.
            while done % length != 0 {
                length /= 2;
            }
            world.time = begin + dt * (done as f64 / ticks as f64);
            let step = Ticks {
                count: length,
                each: dt / ticks as f64,
            };
            let result = self.collision_step(world, (step, light), &pace, &mut report, &mut phases);
            report.iterations += 1;
            match result {
                Ok(None) => {
                    length /= 2;
                    good = 0;
                    continue;
                }
                Ok(Some(stage)) => {
                    let fine = if length < light {
                        Stage::Impulses
                    } else {
                        Stage::Clean
                    };
                    good = if stage <= fine { good + 1 } else { 0 };
                }
                Err(e) => {
                    world.time = begin;
                    return Err(e);
                }
            }
            done += length;
            if good == GOOD && length < ticks {
                length *= 2;
                good = 0;
            }
        }
        world.time = begin;
        if world.wants_reactions {
            self.dynamics.reactions(world, &before, dt);
        }
        report.converged = report.trapped == 0;
        report.seconds = phases.finish();
        Ok(report)
    }
}
