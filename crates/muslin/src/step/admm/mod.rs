//! Projective dynamics with friction by alternating directions, after Zhu et al. (2024): a fixed budget a step.
//!
//! Implicit Euler minimises inertia plus energy under the laws of contact. Here deformations `z` of elements and virtual
//! velocities `p` of contact become unknowns of their own, tied to the positions by `D x = z` and `x = x₀ + h p`. An
//! iteration finds the best `z` of every element alone ([`split`]), the best `p` of all contacts with every vertex on its
//! own ([`contacts`]), and the positions that fit both best, with a matrix that never changes ([`global`]). Multipliers
//! collect what is left, so that the iterations end at the implicit step itself.

mod accelerate;
mod attachment;
mod bending;
mod build;
mod contacts;
mod global;
mod limit;
mod pieces;
mod row;
mod split;
mod spring;
#[cfg(test)]
mod testing;
mod tetrahedron;
mod triangle;

use super::{Phases, StepError, StepReport, Stepper, finite};
use crate::failsafe::FailSafe;
use crate::force::StepContext;
use crate::scene::{Acceleration, AdmmSettings};
use crate::world::World;
use crate::world::forces::clamped;
use attachment::Rail;
use contacts::{Contacts, Softness};
use global::{Global, PER_TASK, Recipe};
use muslin_friction::Anderson;
use muslin_linalg::Vec3;
use pieces::Pieces;
use rayon::prelude::*;
use split::{Local, SplitGroup};

/// Stiffening of cloth beyond which weights do not follow.
const MOST_STIFFENING: f64 = 1024.0;

/// The stepper and its working memory.
pub struct Admm {
    settings: AdmmSettings,
    /// What matrix and elements were made for: revision of the world, length of the step (s) and stiffening.
    made_for: Option<(u64, f64, f64)>,
    /// How much stiffer cloth is than at rest, roughly.
    stiffening: f64,
    locals: Vec<Box<dyn Local>>,
    rails: SplitGroup<Rail, 1, 1>,
    global: Global,
    pieces: Pieces,
    contacts: Contacts,
    guard: FailSafe,
    anderson: Anderson,
    /// Inverse contact weight of each vertex, 1/kg; zero where the motion is given.
    inverse: Vec<f64>,
    held: Vec<bool>,
    external: Vec<Vec3>,
    /// The part of the right-hand side that does not change in a step, by place in the matrix, kg m.
    constant: Vec<Vec3>,
    x: Vec<Vec3>,
    v: Vec<Vec3>,
    /// Virtual velocities, m/s.
    p: Vec<Vec3>,
    /// Scaled multiplier of contact, m.
    l: Vec<Vec3>,
    /// Where the local steps and contact want the vertices, kg m, by vertex; of the last two iterations.
    wanted: [Vec<Vec3>; 2],
    gradient: Vec<Vec3>,
    push: Vec<Vec3>,
}

impl Admm {
    /// A stepper with the scene's settings.
    pub fn new(settings: AdmmSettings) -> Self {
        Self {
            settings,
            made_for: None,
            stiffening: 1.0,
            locals: Vec::new(),
            rails: SplitGroup::new(0, Vec::new()),
            global: Global::default(),
            pieces: Pieces::default(),
            contacts: Contacts::default(),
            guard: FailSafe::default(),
            anderson: Anderson::default(),
            inverse: Vec::new(),
            held: Vec::new(),
            external: Vec::new(),
            constant: Vec::new(),
            x: Vec::new(),
            v: Vec::new(),
            p: Vec::new(),
            l: Vec::new(),
            wanted: [Vec::new(), Vec::new()],
            gradient: Vec::new(),
            push: Vec::new(),
        }
    }

    /// Makes elements and matrix anew if the cloth, its pins, the length of the step or the stiffness of stretched cloth
    /// have changed.
    fn follow(&mut self, world: &World, dt: f64) -> Result<bool, StepError> {
        let made_for = Some((world.revision, dt, self.stiffening));
        if self.made_for == made_for {
            return Ok(false);
        }
        self.made_for = None;
        self.held = clamped(world);
        self.locals = build::locals(world, &self.settings, &self.held, self.stiffening, dt);
        let mut entries = Vec::new();
        for local in &self.locals {
            local.add_entries(&mut entries);
        }
        // A rail is as stiff as what it holds.
        let mut weights: Vec<f64> = world.mass.iter().map(|m| m / (dt * dt)).collect();
        for (row, _, value) in entries.iter().filter(|(row, column, _)| row == column) {
            weights[*row as usize] += value;
        }
        self.rails = build::rails(world, &weights);
        self.rails.add_entries(&mut entries);
        self.global = Global::new(&mut Recipe {
            entries: &mut entries,
            mass: &world.mass,
            held: &self.held,
            dt,
            rayleigh: self.settings.rayleigh,
            contact_weight: self.settings.contact_weight(),
        })
        .map_err(|e| StepError::Linear {
            reason: e.to_string(),
            time: world.time + dt,
        })?;
        for rail in self.rails.iter_mut() {
            let part = self.global.part[rail.vertex as usize];
            if let Some(anchored) = self.global.anchored.get_mut(part as usize) {
                *anchored = true;
            }
        }
        self.pieces = Pieces::choose(world, &self.global, &self.locals, self.settings.iterations);
        let weights = self.global.contact.iter().zip(&self.held);
        self.inverse = weights
            .map(|(w, held)| if *held { 0.0 } else { 1.0 / w })
            .collect();
        self.made_for = made_for;
        Ok(true)
    }

    /// Makes what is missing, and starts the step of all elements; returns whether the matrix was factored.
    fn begin(&mut self, world: &World, context: &StepContext) -> Result<bool, StepError> {
        let made = self.follow(world, context.dt)?;
        let (x, v) = (&world.state.x, &world.state.v);
        for local in &mut self.locals {
            local.begin_step(x, v, context);
        }
        Ok(made)
    }

    /// How much stiffer cloth is than at rest: weights that are too small for what is stretched far never let iterations
    /// converge. In powers of four, so that the matrix is seldom made anew.
    fn stiffening(&self) -> f64 {
        let each = self.locals.iter().map(|g| g.stiffening());
        let most = each.fold(1.0, f64::max).min(MOST_STIFFENING);
        4f64.powf(most.log(4.0).floor())
    }

    /// Where everything would be if only inertia, given forces and pins acted; and what of the right-hand side follows.
    fn predict(&mut self, world: &World, dt: f64) -> Result<(), StepError> {
        let end = world.time + dt;
        let n = world.state.x.len();
        world.external_forces(end, &mut self.external);
        self.x.clear();
        for i in 0..n {
            let v = world.state.v[i] + self.external[i] * (dt / world.mass[i]);
            self.x.push(world.state.x[i] + v * dt);
        }
        self.constant.clear();
        if self.settings.rayleigh > 0.0 {
            let scale = dt * self.settings.rayleigh;
            self.global
                .stiffness
                .multiply(&world.state.x, &mut self.gradient);
            let still = self.global.vertices.iter();
            self.constant
                .extend(still.map(|v| self.gradient[*v as usize] * scale));
        } else {
            self.constant.resize(self.global.vertices.len(), Vec3::ZERO);
        }
        for (c, v) in self.constant.iter_mut().zip(&self.global.vertices) {
            *c += self.x[*v as usize] * world.mass[*v as usize];
        }
        self.lead_pins(world, end)?;
        self.global.pull_of_held(&self.x, &mut self.constant);
        Ok(())
    }

    /// Puts held vertices to their places at a time (s).
    fn lead_pins(&mut self, world: &World, end: f64) -> Result<(), StepError> {
        let mut rails = self.rails.iter_mut();
        for pin in &world.pins {
            let whole = pin.axes.iter().all(|a| *a);
            for (i, vertex) in pin.vertices.iter().enumerate() {
                let place = pin.target(i, end);
                if !place.is_finite() {
                    return Err(StepError::PinUndefined {
                        pin: pin.name.clone(),
                        time: end,
                    });
                }
                if whole {
                    self.x[*vertex as usize] = place;
                } else if let Some(rail) = rails.next() {
                    rail.place = place;
                }
            }
        }
        Ok(())
    }

    /// Where iterations start: what the forces at the start of the step and the impulses of the step before would do.
    fn start(&mut self, world: &World, dt: f64) {
        self.gradient.clear();
        self.gradient.resize(world.state.x.len(), Vec3::ZERO);
        world.forces.gradient(&world.state.x, &mut self.gradient);
        let given = self.external.iter().zip(&self.gradient);
        self.wanted[1].clear();
        self.wanted[1].extend(given.map(|(f, g)| (*f - *g) * dt));
        self.contacts
            .temper(&self.wanted[1], &world.mass, &self.global.part);
        self.guess(world, dt);
    }

    /// Positions and multipliers for the impulses as they are and the forces at the start of the step. The matrix with its
    /// contact weights would hold back a piece of cloth that falls or slides as a whole, so that motion is taken out
    /// first. Multipliers of contact are those that keep the impulses in place.
    fn guess(&mut self, world: &World, dt: f64) {
        let n = world.state.x.len();
        self.push.clear();
        self.push.resize(n, Vec3::ZERO);
        self.contacts.add_impulses(&mut self.push);
        for i in 0..n {
            self.l[i] = self.push[i] * (-dt * self.inverse[i]);
            // Momentum gained, kg m/s.
            self.push[i] += (self.external[i] - self.gradient[i]) * dt;
        }
        let Self {
            global,
            pieces,
            x,
            push,
            p,
            ..
        } = self;
        let gains = pieces.gains(global, &world.state.x, push, &world.mass);
        global.solve(
            |first, vertices, rows| {
                for (k, (row, v)) in rows.iter_mut().zip(vertices).enumerate() {
                    let v = *v as usize;
                    *row = (push[v] - gains[first + k] * world.mass[v]) * dt;
                }
            },
            p,
        );
        for (k, v) in global.vertices.iter().enumerate() {
            let v = *v as usize;
            x[v] = world.state.x[v] + (world.state.v[v] + gains[k]) * dt + p[v];
        }
    }

    fn softness(&self, dt: f64) -> Softness {
        let s = &self.settings;
        if s.stabilisation {
            Softness {
                compliance: s.contact_compliance,
                recovery: (s.contact_compliance * s.contact_stiffness * dt * dt).min(1.0),
            }
        } else {
            Softness {
                compliance: 0.0,
                recovery: 1.0,
            }
        }
    }

    /// Local steps of all elements and, beside them, the contact step.
    fn local(&mut self, world: &World, dt: f64, compliance: f64) {
        let Self {
            locals,
            rails,
            contacts,
            x,
            p,
            l,
            inverse,
            settings,
            ..
        } = self;
        let x = &x[..];
        rayon::join(
            || {
                p.par_chunks_mut(PER_TASK).enumerate().for_each(|(k, p)| {
                    for (i, p) in p.iter_mut().enumerate() {
                        let i = k * PER_TASK + i;
                        *p = (x[i] - world.state.x[i] + l[i]) / dt;
                    }
                });
                contacts.push(inverse, p);
                contacts.sweep(settings.sweeps, compliance, inverse, p);
            },
            || {
                for local in locals.iter_mut() {
                    local.project(x);
                }
                rails.project(x);
            },
        );
    }

    /// The positions that fit elements and contact best; brings the multiplier of contact up to date.
    fn propagate(&mut self, world: &World, dt: f64) {
        let Self {
            locals,
            rails,
            global,
            constant,
            x,
            p,
            l,
            wanted,
            ..
        } = self;
        wanted.swap(0, 1);
        let (contact, x0) = (&global.contact, &world.state.x);
        let pulled = |vertices: &[u32], rows: &mut [Vec3]| {
            for (v, row) in vertices.iter().zip(rows.iter_mut()) {
                let v = *v as usize;
                *row = (x0[v] + p[v] * dt - l[v]) * contact[v];
            }
            for local in locals.iter() {
                local.gather(vertices, rows, dt * dt);
            }
            rails.gather(vertices, rows, dt * dt);
        };
        let now = &mut wanted[0];
        now.resize(global.vertices.len(), Vec3::ZERO);
        now.par_chunks_mut(PER_TASK)
            .zip(global.vertices.par_chunks(PER_TASK))
            .for_each(|(rows, vertices)| pulled(vertices, rows));
        let now = &wanted[0];
        global.solve(
            |first, _, rows| {
                for (k, row) in rows.iter_mut().enumerate() {
                    *row = constant[first + k] + now[first + k];
                }
            },
            x,
        );
        self.turn_pieces(&world.mass);
        for i in 0..self.x.len() {
            self.l[i] += self.x[i] - world.state.x[i] - self.p[i] * dt;
        }
        let turns = self.pieces.turns(&self.global);
        for local in &mut self.locals {
            local.settle(&self.x, &turns);
        }
        self.rails.settle(&self.x, &turns);
    }

    /// Primal and dual residual, m/s.
    fn residuals(&self, world: &World, dt: f64) -> [f64; 2] {
        let mass: f64 = world.mass.iter().sum();
        let mut apart: f64 = self.locals.iter().map(|g| g.apart(&self.x)).sum();
        apart = (apart + self.rails.apart(&self.x)) * dt * dt;
        for i in 0..self.x.len() {
            let gap = self.x[i] - world.state.x[i] - self.p[i] * dt;
            if self.contacts.touched.get(i) == Some(&true) {
                apart += self.global.contact[i] * gap.length_squared();
            }
        }
        let mut change = 0.0;
        for (k, v) in self.global.vertices.iter().enumerate() {
            let moved = self.wanted[0][k] - self.wanted[1].get(k).copied().unwrap_or_default();
            change += moved.length_squared() / self.global.diagonal[*v as usize];
        }
        [apart, change].map(|sum| (sum / mass).sqrt() / dt)
    }

    fn iterate(
        &mut self,
        world: &World,
        dt: f64,
        report: &mut StepReport,
        phases: &mut Phases,
    ) -> Result<(), StepError> {
        let begun = std::time::Instant::now();
        let softness = self.softness(dt);
        self.contacts.find(world, dt, &softness)?;
        self.contacts.arrange(&self.inverse, true);
        phases.done("detection");
        self.start(world, dt);
        phases.done("begin");
        let settings = self.settings.clone();
        let known = settings.trace || settings.tolerance > 0.0;
        let mut started = false;
        for iteration in 0..settings.iterations {
            if iteration > 0 && iteration % settings.refresh == 0 {
                self.contacts.look(world, &self.x, dt, &softness)?;
                self.contacts.arrange(&self.inverse, false);
                phases.done("detection");
            }
            self.local(world, dt, softness.compliance);
            phases.done("local");
            self.propagate(world, dt);
            phases.done("global");
            report.iterations += 1;
            let last = iteration + 1 == settings.iterations;
            if known || last {
                [report.primal, report.dual] = self.residuals(world, dt);
                if settings.trace {
                    report.trace.push([report.primal, report.dual]);
                }
                phases.done("residual");
            }
            // Before contacts were looked for on the way, small residuals mean nothing.
            let looked = iteration >= settings.refresh;
            let small = report.primal.max(report.dual) < settings.tolerance;
            let spent = begun.elapsed().as_secs_f64() * 1e3;
            if (known && looked && small)
                || (settings.milliseconds > 0.0 && spent >= settings.milliseconds)
            {
                break;
            }
            let accelerated = match settings.acceleration {
                Acceleration::Never => false,
                Acceleration::Free => self.contacts.is_empty(),
                Acceleration::Always => true,
            };
            if accelerated && !last {
                self.accelerate(dt, started);
                started = true;
                phases.done("acceleration");
            }
        }
        Ok(())
    }

    /// Positions and velocities at the end of the step: vertices in contact move as contact says.
    fn conclude(&mut self, world: &mut World, dt: f64, report: &mut StepReport) {
        let softness = self.softness(dt);
        let n = self.x.len();
        for i in 0..n {
            self.p[i] = (self.x[i] - world.state.x[i] + self.l[i]) / dt;
        }
        self.contacts.push(&self.inverse, &mut self.p);
        self.contacts.sweep(
            self.settings.sweeps,
            softness.compliance,
            &self.inverse,
            &mut self.p,
        );
        for rail in self.rails.iter_mut() {
            let x = &mut self.x[rail.vertex as usize];
            *x = rail.held * rail.place + (Vec3::ONE - rail.held) * *x;
        }
        self.v.clear();
        for i in 0..n {
            if self.contacts.touched[i] && !self.held[i] {
                self.v.push(self.p[i]);
                self.x[i] = world.state.x[i] + self.p[i] * dt;
            } else {
                self.v.push((self.x[i] - world.state.x[i]) / dt);
            }
        }
        self.judge(world, dt, softness.compliance, report);
        self.contacts
            .leave(world, &self.v, softness.compliance, report);
    }

    /// How far the end of the step is from the implicit step it stands for; forces on held vertices, if wanted.
    fn judge(&mut self, world: &mut World, dt: f64, compliance: f64, report: &mut StepReport) {
        let n = self.x.len();
        self.push.clear();
        self.push.resize(n, Vec3::ZERO);
        self.contacts.add_impulses(&mut self.push);
        self.gradient.clear();
        self.gradient.resize(n, Vec3::ZERO);
        world.forces.gradient(&self.x, &mut self.gradient);
        let (mut local, mut by_mass): (f64, f64) = (0.0, 0.0);
        world.reactions.clear();
        for i in 0..n {
            let missing = (self.v[i] - world.state.v[i]) * world.mass[i] - self.push[i]
                + (self.gradient[i] - self.external[i]) * dt;
            if world.wants_reactions {
                let reaction = if self.held[i] {
                    missing / dt
                } else {
                    Vec3::ZERO
                };
                world.reactions.push(reaction);
            }
            if !self.held[i] {
                local = local.max(missing.length() / self.global.diagonal[i]);
                by_mass = by_mass.max(missing.length() / world.mass[i]);
            }
        }
        let error = |mass: &[f64]| self.contacts.error(&self.v, mass, compliance);
        report.residual = local.max(error(&self.global.diagonal));
        report.velocity_error = by_mass.max(error(&world.mass));
        report.converged = report.residual <= self.settings.tolerance;
    }
}

impl Stepper for Admm {
    fn step(&mut self, world: &mut World, dt: f64) -> Result<StepReport, StepError> {
        let mut phases = Phases::start();
        let time = world.time + dt;
        world.release_pins(time).map_err(|e| StepError::Linear {
            reason: e.to_string(),
            time,
        })?;
        let mut report = StepReport {
            vertices: world.state.x.len(),
            linear_solver: "cholesky".into(),
            friction_solver: "admm".into(),
            ..StepReport::default()
        };
        let context = StepContext { time, dt };
        let mut made = self.begin(world, &context)?;
        // The same for the same state, whatever was before: resumed runs go on as if nothing had been.
        let stiffening = self.stiffening();
        if stiffening != self.stiffening {
            self.stiffening = stiffening;
            made |= self.begin(world, &context)?;
        }
        if made {
            report.factorisations = 1;
            phases.done("factorise");
        }
        self.predict(world, dt)?;
        let (x, v) = (&world.state.x, &world.state.v);
        world.forces.begin_step(x, v, &context);
        self.rails.begin_step(x, v, &context);
        let n = x.len();
        self.l.clear();
        self.l.resize(n, Vec3::ZERO);
        self.p.resize(n, Vec3::ZERO);
        phases.done("begin");
        self.iterate(world, dt, &mut report, &mut phases)?;
        self.conclude(world, dt, &mut report);
        report.sweeps = self.contacts.sweeps;
        finite(world, &self.x, &self.v, time)?;
        phases.done("finish");
        if self.settings.failsafe {
            self.guard
                .guard(world, &mut self.x, &mut self.v, dt, &mut report)?;
            phases.done("fail-safe");
        }
        std::mem::swap(&mut world.state.x, &mut self.x);
        std::mem::swap(&mut world.state.v, &mut self.v);
        report.seconds = phases.finish();
        Ok(report)
    }
}
