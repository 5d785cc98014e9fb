//! Internal dynamics: central differences in steps that the stiffest elements allow. Soft elements, and what acts from
//! outside, are evaluated less often (Tuckerman et al. 1992). Damping and drag follow once a collision step ([`super::calm`]).

use super::frequency::{NO_DASHPOT, Pace};
use super::repulsion::Repulsions;
use crate::force::StepContext;
use crate::step::StepError;
use crate::world::World;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Growth of the largest speed in a collision step that is taken for an instability, and the speed that counts as none,
/// m/s.
const WILD: f64 = 30.0;
const CALM: f64 = 1.0;
/// How often the dynamics are tried again in half as long steps.
const RETRIES: usize = 4;
/// Most steps of the dynamics in a collision step: stiffer cloth is for the implicit method.
const MOST_STEPS: f64 = 20_000.0;

/// A collision step: its length in ticks, of which each is so long, s.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    /// A power of two.
    pub count: usize,
    /// Length of one, s.
    pub each: f64,
}

impl Ticks {
    /// Length of the step, s.
    pub fn dt(self) -> f64 {
        self.count as f64 * self.each
    }
}

/// Positions (m) and velocities (m/s) part of the way through a collision step.
#[derive(Default)]
struct Station {
    ticks: usize,
    x: Vec<Vec3>,
    v: Vec<Vec3>,
}

/// Working memory of the dynamics.
#[derive(Default)]
pub struct Dynamics {
    fast: Vec<Vec3>,
    slow: Vec<Vec3>,
    external: Vec<Vec3>,
    /// Where halves, quarters, … of the last collision step ended; the first `used` count.
    stations: Vec<Station>,
    used: usize,
}

impl Dynamics {
    /// Forgets the way of the last collision step: the state has changed.
    pub fn moved_on(&mut self) {
        self.used = 0;
    }

    /// Positions (m) and velocities (m/s) after a collision step with the contacts known, from the state of the world at
    /// its time. Says how many steps it took; none if the end lies on the way of the collision step that was tried last.
    /// Tries again in shorter steps if the motion runs wild: cloth that is stretched within the step may become stiffer
    /// than it was at its beginning.
    pub fn advance(
        &mut self,
        world: &mut World,
        ticks: Ticks,
        pace: &Pace,
        inverse_mass: &[Vec3],
        contacts: &mut Repulsions,
        (x, v): (&mut Vec<Vec3>, &mut Vec<Vec3>),
    ) -> Result<usize, StepError> {
        // Stations were reached without contacts.
        let known = self.stations[..self.used]
            .iter()
            .find(|s| s.ticks == ticks.count && contacts.is_empty());
        if let Some(known) = known {
            x.clone_from(&known.x);
            v.clone_from(&known.v);
            return Ok(0);
        }
        let fastest = |v: &[Vec3]| v.iter().map(|v| v.length_squared()).fold(0.0, f64::max);
        let before = fastest(&world.state.v).sqrt();
        let (mut taken, mut step) = (0, pace.step);
        for _ in 0..=RETRIES {
            taken +=
                self.advance_once(world, ticks, (step, pace), inverse_mass, contacts, (x, v))?;
            let finite = v.iter().chain(x.iter()).all(|p| p.is_finite());
            if finite && fastest(v).sqrt() <= WILD * (before + CALM) {
                break;
            }
            step = 0.5 * step.min(ticks.each);
        }
        Ok(taken)
    }

    fn advance_once(
        &mut self,
        world: &mut World,
        ticks: Ticks,
        (largest, pace): (f64, &Pace),
        inverse_mass: &[Vec3],
        contacts: &mut Repulsions,
        (x, v): (&mut Vec<Vec3>, &mut Vec<Vec3>),
    ) -> Result<usize, StepError> {
        let wanted = (ticks.each / largest).ceil().max(1.0);
        if wanted * ticks.count as f64 > MOST_STEPS {
            return Err(StepError::TooStiff {
                step: largest,
                time: world.time,
            });
        }
        let rounds = (wanted as usize).div_ceil(pace.ratio);
        let ratio = (wanted as usize).div_ceil(rounds);
        let per_tick = rounds * ratio;
        let steps = per_tick * ticks.count;
        let h = ticks.each / per_tick as f64;
        let outer = h * ratio as f64;
        x.clone_from(&world.state.x);
        v.clone_from(&world.state.v);
        let context = StepContext {
            time: world.time + ticks.dt(),
            dt: NO_DASHPOT,
        };
        world.forces.begin_step(x, v, &context);
        contacts.begin(h);
        self.used = 0;
        self.fast.resize(x.len(), Vec3::ZERO);
        self.slow.resize(x.len(), Vec3::ZERO);
        world.forces.gradient_of(&pace.fast, x, &mut self.fast);
        self.slow_forces(world, &pace.slow, x, world.time);
        self.kick(v, inverse_mass, 0.5 * h, 0.5 * outer);
        for k in 1..=steps {
            let [begin, end] = [k - 1, k].map(|k| world.time + h * k as f64);
            contacts.hold(inverse_mass, v, h);
            contacts.moved(v, h);
            let drift = x.par_iter_mut().zip(&v[..]).with_min_len(4096);
            drift.for_each(|(x, v)| *x += *v * h);
            lead(world, x, v, begin, end)?;
            world.forces.gradient_of(&pace.fast, x, &mut self.fast);
            if k % ratio != 0 {
                self.kick(v, inverse_mass, h, 0.0);
                continue;
            }
            self.slow_forces(world, &pace.slow, x, end);
            let done = k / per_tick;
            let reached = k % per_tick == 0 && done.is_power_of_two() && k < steps;
            let station = reached && contacts.is_empty();
            if station || k == steps {
                self.kick(v, inverse_mass, 0.5 * h, 0.5 * outer);
            } else {
                self.kick(v, inverse_mass, h, outer);
            }
            if station {
                self.keep(done, x, v);
                self.kick(v, inverse_mass, 0.5 * h, 0.5 * outer);
            }
        }
        contacts.hold(inverse_mass, v, h);
        Ok(steps)
    }

    fn keep(&mut self, ticks: usize, x: &[Vec3], v: &[Vec3]) {
        if self.used == self.stations.len() {
            self.stations.push(Station::default());
        }
        let station = &mut self.stations[self.used];
        station.ticks = ticks;
        station.x.clear();
        station.x.extend_from_slice(x);
        station.v.clear();
        station.v.extend_from_slice(v);
        self.used += 1;
    }

    /// Gradient of the slow elements less the forces from outside, N, into `slow`.
    fn slow_forces(&mut self, world: &World, slow: &[bool], x: &[Vec3], time: f64) {
        world.forces.gradient_of(slow, x, &mut self.slow);
        world.external_forces(time, &mut self.external);
        for (slow, external) in self.slow.iter_mut().zip(&self.external) {
            *slow -= *external;
        }
    }

    /// Changes velocities by the forces over so long, s; what is held has no inverse mass.
    fn kick(&self, v: &mut [Vec3], inverse_mass: &[Vec3], fast: f64, slow: f64) {
        let forces = self.fast.par_iter().zip(&self.slow[..]);
        let all = v.par_iter_mut().zip(inverse_mass).zip(forces);
        all.with_min_len(4096).for_each(|((v, m), (f, s))| {
            let mut impulse = *f * fast;
            if slow > 0.0 {
                impulse += *s * slow;
            }
            *v -= impulse * *m;
        });
    }

    /// Forces that kept held vertices on their paths over the last `dt` (s), as means: what is missing from their balance
    /// of momentum. `before` are the velocities at its beginning, m/s.
    pub fn reactions(&mut self, world: &mut World, before: &[Vec3], dt: f64) {
        let context = StepContext {
            time: world.time + dt,
            dt: NO_DASHPOT,
        };
        let every = vec![true; world.forces.groups()];
        let (x, v) = (&world.state.x, &world.state.v);
        world.forces.begin_step(x, v, &context);
        self.slow.resize(before.len(), Vec3::ZERO);
        self.slow_forces(world, &every, x, world.time + dt);
        world.reactions.clear();
        world.reactions.resize(before.len(), Vec3::ZERO);
        for pin in &world.pins {
            for v in pin.vertices.iter().map(|v| *v as usize) {
                let gained = (world.state.v[v] - before[v]) * (world.mass[v] / dt);
                let missing = gained + self.slow[v];
                for k in (0..3).filter(|k| pin.axes[*k]) {
                    world.reactions[v][k] = missing[k];
                }
            }
        }
    }
}

/// Puts held coordinates where they have to be at the end of a step, with the velocity that takes them there.
fn lead(
    world: &World,
    x: &mut [Vec3],
    v: &mut [Vec3],
    begin: f64,
    end: f64,
) -> Result<(), StepError> {
    for pin in &world.pins {
        for (i, vertex) in pin.vertices.iter().enumerate() {
            let vertex = *vertex as usize;
            let (from, to) = (pin.target(i, begin), pin.target(i, end));
            if !to.is_finite() {
                return Err(StepError::PinUndefined {
                    pin: pin.name.clone(),
                    time: end,
                });
            }
            for k in (0..3).filter(|k| pin.axes[*k]) {
                x[vertex][k] = to[k];
                v[vertex][k] = (to[k] - from[k]) / (end - begin);
            }
        }
    }
    Ok(())
}
