//! The method of Bridson, Fedkiw and Anderson (2002): internal dynamics with repulsions and friction propose a motion,
//! limits of stretch and the fail-safe put it right.
//!
//! Collisions are looked for in steps of their own. They begin as long as the stepper's; a step in which much meets in
//! spite of the repulsions is tried again at half the length, down to where impulses may resolve it; if they do not
//! suffice, further down to the shortest, where the fail-safe does all it can. After three good steps the length doubles.

mod calm;
mod dynamics;
mod frequency;
mod repulsion;

use super::{Phases, StepError, StepReport, Stepper, finite};
use crate::contact::{DetectParams, Detector, SecondLine};
use crate::failsafe::{FailSafe, Mended, Stage, held_inverse_mass};
use crate::limit::EdgeLimits;
use crate::scene::{Between, ImpulseSettings};
use crate::world::{CollisionSteps, World};
use calm::Calm;
use dynamics::{Dynamics, Ticks};
use frequency::{Frequencies, Pace};
use muslin_linalg::Vec3;
use repulsion::{Repulsions, Way};

/// How often a collision step is tried again with what was found to meet.
const TRIES: usize = 2;
/// Distance up to which pairs are watched from the start of a collision step, in thicknesses.
const WATCHED: f64 = 3.0;
/// Good steps after which a collision step is doubled.
const GOOD: u32 = 3;
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
    /// Mean velocities over the collision step.
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

    /// One collision step. What meets in spite of the contacts known is resolved by impulses if it is little or the step
    /// is no longer than `light` ticks; at the shortest length, one tick, at any price. The answer is whether so little met
    /// that a longer step might do; none if this one did not, and the state is left alone.
    fn collision_step(
        &mut self,
        world: &mut World,
        (ticks, light, step): (Ticks, usize, f64),
        pace: &Pace,
        report: &mut StepReport,
        phases: &mut Phases,
    ) -> Result<Option<bool>, StepError> {
        let dt = ticks.dt();
        self.find(world, dt, step)?;
        phases.done("repulsion");
        let mut tries = 0;
        let (clean, few) = loop {
            self.propose(world, ticks, pace, report, phases)?;
            let (found, x) = self.guard.meetings(world, &self.x, dt)?;
            phases.done("fail-safe");
            let few = found.len() <= self.repulsions.few();
            if few || tries == TRIES {
                break (found.is_empty(), few);
            }
            tries += 1;
            let way = Way {
                x,
                inverse_mass: &self.inverse_mass,
                dt,
                step,
            };
            self.repulsions.add(world, found, &way);
        };
        let (guard, x, mean) = (&mut self.guard, &mut self.x, &mut self.mean);
        let mended = if clean {
            Some(Mended::default())
        } else if ticks.count == 1 {
            Some(guard.guard(world, x, mean, dt, report)?)
        } else if few || ticks.count <= light {
            guard.guard_lightly(world, x, mean, dt, report)?
        } else {
            None
        };
        let Some(mended) = mended else {
            phases.done("fail-safe");
            return Ok(None);
        };
        phases.done("fail-safe");
        let touched = self.end_velocities(world, (dt, step), report);
        self.finish(world, pace, dt, touched);
        report.sweeps += mended.searches;
        phases.done("velocities");
        let short = ticks.count < light && mended.stage <= Stage::Impulses;
        Ok(Some(few || short))
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

    /// Finds what is near at the start of a collision step of `dt` (s), part of a step of `step` (s).
    fn find(&mut self, world: &World, dt: f64, step: f64) -> Result<(), StepError> {
        if world.contact.between == Between::Nothing {
            self.repulsions.clear();
            return Ok(());
        }
        let thickest = world.bodies.iter().map(|b| b.thickness).fold(0.0, f64::max);
        let params = DetectParams {
            margin: WATCHED * thickest,
            crossings: false,
            between_cloth: world.contact.between == Between::All,
            second: SecondLine::SkinsAndFolds,
            ..DetectParams::default()
        };
        // Where the cloth will be does not matter; where obstacles will be does.
        self.detector
            .detect(world, Some(&world.state.x), dt, &params)
            .map_err(|e| StepError::Contact {
                reason: e.to_string(),
                time: world.time + dt,
            })?;
        let way = Way {
            x: [self.detector.start(), self.detector.end()],
            inverse_mass: &self.inverse_mass,
            dt,
            step,
        };
        self.repulsions.gather(world, self.detector.found(), &way);
        Ok(())
    }

    /// The motion of a collision step under internal forces, limits and the contacts known: `x`, `v`, and mean
    /// velocities at each stage.
    fn propose(
        &mut self,
        world: &mut World,
        ticks: Ticks,
        pace: &Pace,
        report: &mut StepReport,
        phases: &mut Phases,
    ) -> Result<(), StepError> {
        let dt = ticks.dt();
        let (inverse, proposal) = (&self.inverse_mass, (&mut self.x, &mut self.v));
        report.linear_iterations +=
            self.dynamics
                .advance(world, ticks, pace, inverse, &mut self.repulsions, proposal)?;
        self.proposed.clear();
        let ways = self.x.iter().zip(&world.state.x);
        self.proposed.extend(ways.map(|(b, a)| (*b - *a) / dt));
        phases.done("dynamics");
        self.limit(world, dt);
        phases.done("limits");
        self.mean.clone_from(&self.limited);
        if self.limited != self.proposed {
            let (inverse, mean) = (&self.inverse_mass, &mut self.mean);
            let (limits, limited) = (&mut self.limits, &mut self.limited);
            let (x, limit) = (&world.state.x, self.settings.strain_limit);
            self.repulsions
                .correct_mean(inverse, mean, dt, |mean, turn| {
                    limit <= 0.0 || limits.take_turn((x, mean), limited, inverse, dt, (limit, turn))
                });
        }
        for i in 0..self.x.len() {
            if self.mean[i] != self.proposed[i] {
                self.x[i] = world.state.x[i] + self.mean[i] * dt;
            }
        }
        self.repelled.clone_from(&self.mean);
        phases.done("repulsion");
        finite(world, &self.x, &self.v, world.time + dt)
    }

    /// Velocities at the end of the step: what the dynamics gave, changed like the mean ones by the limits, under the same
    /// contacts. What the fail-safe moved keeps its mean velocity. Says whether anything touched.
    fn end_velocities(
        &mut self,
        world: &mut World,
        (dt, step): (f64, f64),
        report: &mut StepReport,
    ) -> bool {
        let n = self.v.len();
        if self.limited != self.proposed {
            for i in 0..n {
                self.v[i] += self.limited[i] - self.proposed[i];
            }
            let (inverse, v) = (&self.inverse_mass, &mut self.v);
            self.repulsions.correct_end(inverse, v, dt);
        }
        let [contacts, sticking, sliding] = self.repulsions.leave(world, step, &self.v);
        report.contacts = contacts;
        report.sticking = sticking;
        report.sliding = sliding;
        for i in 0..n {
            if self.mean[i] != self.repelled[i] {
                self.v[i] = self.mean[i];
            }
        }
        sticking + sliding > 0 || self.mean != self.repelled
    }

    /// Damps the velocities and takes over the new state.
    fn finish(&mut self, world: &mut World, pace: &Pace, dt: f64, touched: bool) {
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
        let before = world.state.v.clone();
        // Rounding must not take the last halving away.
        let times = (dt / self.settings.smallest_step * (1.0 + 1e-9)).log2();
        let halvings = times.clamp(0.0, f64::from(MOST_HALVINGS)) as u32;
        let shortest = halvings + LAST_HALVINGS;
        let (ticks, light) = (1usize << shortest, 1 << LAST_HALVINGS);
        let mut last = world.state.collisions;
        last.halvings = last.halvings.min(shortest);
        let mut done = 0;
        while done < ticks {
            if last.good >= GOOD && last.halvings > 0 {
                last.halvings -= 1;
                last.good = 0;
            }
            // Lengths are powers of two and begin at their own multiples, so that they fill the step.
            let mut length = ticks >> last.halvings;
            while done % length != 0 {
                length /= 2;
            }
            world.time = begin + dt * (done as f64 / ticks as f64);
            let part = Ticks {
                count: length,
                each: dt / ticks as f64,
            };
            let result =
                self.collision_step(world, (part, light, dt), &pace, &mut report, &mut phases);
            report.iterations += 1;
            match result {
                Ok(None) => {
                    last = CollisionSteps {
                        halvings: (ticks / length).ilog2() + 1,
                        good: 0,
                    };
                    continue;
                }
                Ok(Some(good)) => last.good = if good { last.good + 1 } else { 0 },
                Err(e) => {
                    world.time = begin;
                    return Err(e);
                }
            }
            done += length;
        }
        world.state.collisions = last;
        world.time = begin;
        if world.wants_reactions {
            self.dynamics.reactions(world, &before, dt);
        }
        report.converged = report.trapped == 0;
        report.seconds = phases.finish();
        Ok(report)
    }
}
