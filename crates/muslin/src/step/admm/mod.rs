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
mod following;
mod global;
mod limit;
mod local;
mod pieces;
mod prepare;
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
use crate::world::{Carried, World};
use attachment::Rail;
use contacts::{Contacts, Softness};
use global::{Global, PER_TASK};
use local::Local;
use muslin_friction::Anderson;
use muslin_linalg::Vec3;
use pieces::Pieces;
use rayon::prelude::*;
use split::SplitGroup;

/// Momentum of vertices that nothing touches, as a share of what lets their slowest motions, those of pieces as a whole, arrive
/// soonest. With all of it elements, which are behind by an iteration, are driven to swing.
const MOMENTUM: f64 = 0.5;

/// By how much of its last change a vertex of a mass (kg) goes on in the next iteration. Its contact weight (kg) holds it back
/// where it was though nothing touches it; what is lost so is made up for here.
fn momentum(mass: f64, contact: f64) -> f64 {
    let slowest = (mass / (mass + contact)).sqrt();
    MOMENTUM * (1.0 - slowest) / (1.0 + slowest)
}

/// The stepper and its working memory.
pub struct Admm {
    settings: AdmmSettings,
    /// What elements were made for: revision of the world, length of the step (s) and least weight of cloth.
    made_for: Option<(u64, f64, f64)>,
    /// By which factors weights were raised in the matrix; none if there is no matrix.
    factored: Option<Vec<f64>>,
    /// What the next step begins with.
    kept: Carried,
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
    /// What resists each vertex in the implicit step, by mass and elastic stiffness, kg.
    resisting: Vec<f64>,
    external: Vec<Vec3>,
    /// The part of the right-hand side that does not change in a step, by place in the matrix, kg m.
    constant: Vec<Vec3>,
    x: Vec<Vec3>,
    /// Positions before the last iteration, m.
    older: Vec<Vec3>,
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
            factored: None,
            kept: Carried::default(),
            locals: Vec::new(),
            rails: SplitGroup::new(0, Vec::new()),
            global: Global::default(),
            pieces: Pieces::default(),
            contacts: Contacts::default(),
            guard: FailSafe::default(),
            anderson: Anderson::default(),
            inverse: Vec::new(),
            held: Vec::new(),
            resisting: Vec::new(),
            external: Vec::new(),
            constant: Vec::new(),
            x: Vec::new(),
            older: Vec::new(),
            v: Vec::new(),
            p: Vec::new(),
            l: Vec::new(),
            wanted: [Vec::new(), Vec::new()],
            gradient: Vec::new(),
            push: Vec::new(),
        }
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
        self.constant.resize(self.global.vertices.len(), Vec3::ZERO);
        let damping = &self.global.damping;
        if !damping.is_empty() {
            damping.multiply(&world.state.x, &mut self.gradient);
            for (c, v) in self.constant.iter_mut().zip(&self.global.vertices) {
                *c = self.gradient[*v as usize];
            }
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
        self.carry_stresses();
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

    /// The positions that fit elements and contact best, with momentum or without; brings the multiplier of contact up to
    /// date.
    fn propagate(&mut self, world: &World, dt: f64, with_momentum: bool) {
        let Self {
            locals,
            rails,
            global,
            constant,
            contacts,
            x,
            older,
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
                let mut anchor = x0[v] + p[v] * dt - l[v];
                if with_momentum && !contacts.touched[v] {
                    anchor += (x[v] - older[v]) * momentum(world.mass[v], contact[v]);
                }
                *row = anchor * contact[v];
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
        older.clone_from(x);
        global.solve(
            |first, _, rows| {
                for (k, row) in rows.iter_mut().enumerate() {
                    *row = constant[first + k] + now[first + k];
                }
            },
            x,
        );
        self.turn_pieces(&world.mass, dt);
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
        self.older.clone_from(&self.x);
        phases.done("begin");
        let settings = self.settings.clone();
        let known = settings.trace || settings.tolerance > 0.0;
        let mut started = false;
        // Errors are looked at when residuals are this small, m/s.
        let mut small = settings.tolerance;
        for iteration in 0..settings.iterations {
            if iteration > 0 && iteration % settings.refresh == 0 {
                self.contacts.look(world, &self.x, dt, &softness)?;
                self.contacts.arrange(&self.inverse, false);
                phases.done("detection");
            }
            let accelerated = match settings.acceleration {
                Acceleration::Never => false,
                Acceleration::Free => self.contacts.is_empty(),
                Acceleration::Always => true,
            };
            self.local(world, dt, softness.compliance);
            phases.done("local");
            self.propagate(world, dt, !accelerated);
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
            if known && looked && report.primal.max(report.dual) < small {
                if self.done(world, dt, softness.compliance) {
                    break;
                }
                small *= 0.5;
            }
            let spent = begun.elapsed().as_secs_f64() * 1e3;
            if settings.milliseconds > 0.0 && spent >= settings.milliseconds {
                break;
            }
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
        [report.residual, report.velocity_error] = self.errors(world, dt, compliance);
        report.converged = report.residual <= self.settings.tolerance;
        world.reactions.clear();
        if world.wants_reactions {
            let held = self.held.iter().zip(&self.push);
            let reactions =
                held.map(|(held, missing)| if *held { *missing / dt } else { Vec3::ZERO });
            world.reactions.extend(reactions);
        }
    }

    /// Largest error of momentum and of the law of friction with positions and velocities as they are, m/s: what it would
    /// take to mend it where it is, with all that resists there, and with the mass alone. Leaves what each vertex lacks of
    /// momentum (kg m/s) in `push`.
    fn errors(&mut self, world: &World, dt: f64, compliance: f64) -> [f64; 2] {
        let n = self.x.len();
        self.push.clear();
        self.push.resize(n, Vec3::ZERO);
        self.contacts.add_impulses(&mut self.push);
        self.gradient.clear();
        self.gradient.resize(n, Vec3::ZERO);
        world.forces.gradient(&self.x, &mut self.gradient);
        let mut momentum = [0.0; 2];
        for i in 0..n {
            let missing = (self.v[i] - world.state.v[i]) * world.mass[i] - self.push[i]
                + (self.gradient[i] - self.external[i]) * dt;
            self.push[i] = missing;
            if !self.held[i] {
                let sizes = [self.resisting[i], world.mass[i]].map(|m| missing.length() / m);
                momentum = [0, 1].map(|k| sizes[k].max(momentum[k]));
            }
        }
        let friction = [&self.resisting, &world.mass]
            .map(|mass| self.contacts.error(&self.v, mass, compliance));
        [0, 1].map(|k| momentum[k].max(friction[k]))
    }

    /// Whether the step could end here: its errors are within the tolerance.
    fn done(&mut self, world: &World, dt: f64, compliance: f64) -> bool {
        self.v.clear();
        let moved = self.x.iter().zip(&world.state.x);
        self.v.extend(moved.map(|(x, x0)| (*x - *x0) / dt));
        self.errors(world, dt, compliance)[0] <= self.settings.tolerance
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
        if self.begin(world, &context)? {
            report.factorisations = 1;
            phases.done("factorise");
        }
        self.predict(world, dt)?;
        let (x, v) = (&world.state.x, &world.state.v);
        world.forces.begin_step(x, v, &context);
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
        self.keep();
        world.state.carried.clone_from(&self.kept);
        std::mem::swap(&mut world.state.x, &mut self.x);
        std::mem::swap(&mut world.state.v, &mut self.v);
        report.seconds = phases.finish();
        Ok(report)
    }
}
