//! Implicit Euler with contact: velocities `v` at the end of the step and impulses `r` of contacts with
//! `M (v - v₀) + dt ∇E(x₀ + dt v) = dt f + Jᵀ r` and Coulomb's law between r and the relative velocities.
//!
//! Forces are linearised once about the start of the step, or again and again by Newton's method with line search on the
//! incremental potential `½|v - v₀|²_M + E(x₀ + dt v) - dt f·v - r·Jv`. Each linearisation is solved together with
//! contact and friction, exactly. Held coordinates get their prescribed velocity before the first iteration and no
//! correction afterwards.

use super::contacts::ContactPhase;
use super::linear::LinearSystem;
use super::{Phases, SolvedProblem, StepError, StepReport, Stepper, finite};
use crate::failsafe::FailSafe;
use crate::force::StepContext;
use crate::scene::{ImplicitSettings, Scheme};
use crate::world::World;
use muslin_linalg::{BlockMatrix, BlockPattern, Mat3, Vec3};
use rayon::prelude::*;

/// The stepper and its working memory.
pub struct Implicit {
    settings: ImplicitSettings,
    system: LinearSystem,
    contacts: ContactPhase,
    guard: FailSafe,
    matrix: BlockMatrix,
    matrix_revision: Option<u64>,
    /// Stiffness with the rows of held coordinates, for the forces that hold them.
    unheld: BlockMatrix,
    /// Per vertex and axis: whether it is free, not held.
    free: Vec<[bool; 3]>,
    external: Vec<Vec3>,
    x: Vec<Vec3>,
    v: Vec<Vec3>,
    gradient: Vec<Vec3>,
    imbalance: Vec<Vec3>,
    correction: Vec<Vec3>,
    /// Momentum that contacts give to each vertex, kg m/s.
    push: Vec<Vec3>,
    trial_x: Vec<Vec3>,
    trial_v: Vec<Vec3>,
}

/// Most halvings in a line search.
const HALVINGS: usize = 12;

impl Implicit {
    /// A stepper with the scene's settings.
    pub fn new(settings: ImplicitSettings) -> Self {
        Self {
            settings,
            system: LinearSystem::default(),
            contacts: ContactPhase::default(),
            guard: FailSafe::default(),
            matrix: BlockMatrix { values: Vec::new() },
            matrix_revision: None,
            unheld: BlockMatrix { values: Vec::new() },
            free: Vec::new(),
            external: Vec::new(),
            x: Vec::new(),
            v: Vec::new(),
            gradient: Vec::new(),
            imbalance: Vec::new(),
            correction: Vec::new(),
            push: Vec::new(),
            trial_x: Vec::new(),
            trial_v: Vec::new(),
        }
    }

    /// Sets which coordinates are held and gives them their velocity; everything else starts from rest, so that the
    /// first linearisation is about the positions at the start of the step. A body that nothing holds starts with the
    /// velocity of its centre of mass instead: forces do not see the difference, but the stiff system need not carry
    /// a translation, whose rounding errors would be a drift of momentum.
    fn predict(&mut self, world: &World, dt: f64) -> Result<(), StepError> {
        let n = world.state.x.len();
        let end = world.time + dt;
        self.free.clear();
        self.free.resize(n, [true; 3]);
        self.v.clear();
        self.v.resize(n, Vec3::ZERO);
        for pin in &world.pins {
            for (i, &vertex) in pin.vertices.iter().enumerate() {
                let vertex = vertex as usize;
                let velocity = (pin.target(i, end) - world.state.x[vertex]) / dt;
                if !velocity.is_finite() {
                    return Err(StepError::PinUndefined {
                        pin: pin.name.clone(),
                        time: end,
                    });
                }
                for k in (0..3).filter(|k| pin.axes[*k]) {
                    self.free[vertex][k] = false;
                    self.v[vertex][k] = velocity[k];
                }
            }
        }
        world.external_forces(end, &mut self.external);
        for body in &world.bodies {
            let vertices = body.vertices.clone();
            if world
                .pins
                .iter()
                .any(|p| p.vertices.iter().any(|v| vertices.contains(&(*v as usize))))
            {
                continue;
            }
            let (mut mass, mut momentum) = (0.0, Vec3::ZERO);
            for i in vertices.clone() {
                mass += world.mass[i];
                momentum += world.state.v[i] * world.mass[i] + self.external[i] * dt;
            }
            self.v[vertices].fill(momentum / mass);
        }
        self.x.clear();
        self.x
            .extend(world.state.x.iter().zip(&self.v).map(|(x, v)| *x + *v * dt));
        self.push.clear();
        self.push.resize(n, Vec3::ZERO);
        Ok(())
    }

    /// Imbalance of momentum at the current iterate without contacts (kg m/s), with held coordinates left out; returns
    /// the largest with contacts in m/s. The gradient must be up to date.
    fn balance(&mut self, world: &World, dt: f64) -> f64 {
        let mut largest: f64 = 0.0;
        self.imbalance.clear();
        for i in 0..self.v.len() {
            let r = (self.v[i] - world.state.v[i]) * world.mass[i]
                + (self.gradient[i] - self.external[i]) * dt;
            let r = r * mask(self.free[i]);
            let left = r - self.push[i] * mask(self.free[i]);
            largest = largest.max(left.abs().max_element() / world.mass[i]);
            self.imbalance.push(r);
        }
        // `max` passes over NaN; a broken state must not look converged.
        if self.imbalance.iter().all(|r| r.is_finite()) {
            largest
        } else {
            f64::INFINITY
        }
    }

    /// Matrix and gradient at the current iterate.
    fn assemble(&mut self, world: &World, dt: f64) {
        self.gradient.clear();
        self.gradient.resize(self.x.len(), Vec3::ZERO);
        if self.matrix_revision != Some(world.revision) {
            self.matrix = BlockMatrix::zeros(world.forces.pattern());
            self.matrix_revision = Some(world.revision);
        }
        self.matrix
            .values
            .par_iter_mut()
            .with_min_len(4096)
            .for_each(|b| *b = Mat3::ZERO);
        world.forces.linearise(
            &self.x,
            &mut self.gradient,
            &mut self.matrix.values,
            dt * dt,
        );
        constrain(
            world.forces.pattern(),
            &mut self.matrix,
            &world.mass,
            &self.free,
        );
    }

    fn gradient(&mut self, world: &World) {
        self.gradient.clear();
        self.gradient.resize(self.x.len(), Vec3::ZERO);
        world.forces.gradient(&self.x, &mut self.gradient);
    }

    /// Incremental potential at velocities `v` and positions `x`, J.
    fn potential(&self, world: &mut World, x: &[Vec3], v: &[Vec3], dt: f64) -> f64 {
        let mut kinetic = 0.0;
        for i in 0..v.len() {
            kinetic += 0.5 * world.mass[i] * (v[i] - world.state.v[i]).length_squared()
                - (self.external[i] * dt + self.push[i]).dot(v[i]);
        }
        kinetic + world.forces.energy(x)
    }

    /// Moves along the correction, halved until the potential falls. Returns the fraction of it that was taken.
    fn line_search(&mut self, world: &mut World, dt: f64) -> f64 {
        let slope: f64 = (0..self.v.len())
            .map(|i| (self.imbalance[i] - self.push[i]).dot(self.correction[i]))
            .sum();
        let (x, v) = (std::mem::take(&mut self.x), std::mem::take(&mut self.v));
        let start = self.potential(world, &x, &v, dt);
        let (mut trial_x, mut trial_v) = (
            std::mem::take(&mut self.trial_x),
            std::mem::take(&mut self.trial_v),
        );
        trial_x.resize(x.len(), Vec3::ZERO);
        trial_v.resize(x.len(), Vec3::ZERO);
        let mut length = 1.0;
        let mut fell = false;
        for _ in 0..HALVINGS {
            for i in 0..v.len() {
                trial_v[i] = v[i] + self.correction[i] * length;
                trial_x[i] = world.state.x[i] + trial_v[i] * dt;
            }
            let value = self.potential(world, &trial_x, &trial_v, dt);
            // Near the minimum the fall drowns in the rounding of the potential itself.
            let rounding = 1e-13 * start.abs().max(value.abs());
            if value <= start + 1e-4 * length * slope + rounding {
                fell = true;
                break;
            }
            length *= 0.5;
        }
        // Without a fall there is nothing to gain by moving.
        let [kept, spare] = if fell {
            [(trial_x, trial_v), (x, v)]
        } else {
            [(x, v), (trial_x, trial_v)]
        };
        (self.x, self.v) = kept;
        (self.trial_x, self.trial_v) = spare;
        if fell { length } else { 0.0 }
    }
}

/// 1 on free axes, 0 on held ones.
fn mask(free: [bool; 3]) -> Vec3 {
    Vec3::from_array(free.map(|f| f64::from(u8::from(f))))
}

/// Adds the masses and cuts held coordinates out of the system: their rows and columns become diagonal.
fn constrain(pattern: &BlockPattern, matrix: &mut BlockMatrix, mass: &[f64], free: &[[bool; 3]]) {
    for row in 0..pattern.rows() {
        let here = mask(free[row]);
        for slot in pattern.row(row) {
            let column = pattern.columns()[slot] as usize;
            let there = mask(free[column]);
            let block = &mut matrix.values[slot];
            if here != Vec3::ONE || there != Vec3::ONE {
                let keep = |axis: Vec3, k: usize| axis * here * there[k];
                *block = Mat3::from_cols(
                    keep(block.x_axis, 0),
                    keep(block.y_axis, 1),
                    keep(block.z_axis, 2),
                );
            }
            if row == column {
                *block += Mat3::from_diagonal(Vec3::splat(mass[row]));
            }
        }
    }
}

impl Stepper for Implicit {
    fn solved_problem<'a>(&'a self, world: &'a World) -> Option<SolvedProblem<'a>> {
        (!self.contacts.is_empty()).then(|| {
            self.contacts.solved(
                world,
                (&self.matrix, &self.imbalance, &self.free),
                &self.correction,
            )
        })
    }

    fn step(&mut self, world: &mut World, dt: f64) -> Result<StepReport, StepError> {
        let mut phases = Phases::start();
        let time = world.time + dt;
        world.release_pins(time).map_err(|e| StepError::Linear {
            reason: e.to_string(),
            time,
        })?;
        world
            .forces
            .begin_step(&world.state.x, &world.state.v, &StepContext { time, dt });
        self.predict(world, dt)?;
        phases.done("prepare");
        self.coast(world, dt);
        self.contacts
            .find(world, &self.settings, &self.trial_x, dt)?;
        phases.done("detection");

        let mut report = StepReport {
            vertices: world.state.x.len(),
            ..StepReport::default()
        };
        for round in 0..=world.contact.rounds {
            report.rounds = round;
            match self.settings.scheme {
                Scheme::Newton => self.newton(world, dt, &mut report, &mut phases)?,
                Scheme::Linearised => self.linearised(world, dt, &mut report, &mut phases)?,
            }
            report.unresolved = self.contacts.look(world, &self.trial_x, dt)?;
            phases.done("detection");
            if report.unresolved == 0 {
                break;
            }
        }
        if self.settings.scheme == Scheme::Linearised {
            for i in 0..self.v.len() {
                self.v[i] += self.correction[i];
                self.x[i] = world.state.x[i] + self.v[i] * dt;
            }
        }
        self.contacts.leave(world, &mut report);
        if world.wants_reactions {
            self.reactions(world, dt);
        }
        finite(world, &self.x, &self.v, time)?;
        phases.done("finish");
        self.guard
            .guard(world, &mut self.x, &mut self.v, dt, &mut report)?;
        phases.done("fail-safe");
        std::mem::swap(&mut world.state.x, &mut self.x);
        std::mem::swap(&mut world.state.v, &mut self.v);
        report.seconds = phases.finish();
        Ok(report)
    }
}

impl Implicit {
    /// Where everything would be at the end of the step if only given forces and pins acted: into `trial_x`.
    fn coast(&mut self, world: &World, dt: f64) {
        self.trial_x.clear();
        for i in 0..self.v.len() {
            let free = mask(self.free[i]);
            let coasting = world.state.v[i] + self.external[i] * (dt / world.mass[i]);
            let v = coasting * free + self.v[i] * (Vec3::ONE - free);
            self.trial_x.push(world.state.x[i] + v * dt);
        }
    }

    /// One linearisation about the start of the step; `v` stays there until the step is over, so that a further round
    /// solves the same system with more contacts. The end of the motion goes to `trial_x`.
    fn linearised(
        &mut self,
        world: &mut World,
        dt: f64,
        report: &mut StepReport,
        phases: &mut Phases,
    ) -> Result<(), StepError> {
        if report.rounds == 0 {
            self.assemble(world, dt);
            self.balance(world, dt);
            phases.done("assembly");
            self.start_correction(world);
        }
        self.correct(world, report, phases)?;
        for i in 0..self.v.len() {
            self.trial_x[i] = world.state.x[i] + (self.v[i] + self.correction[i]) * dt;
        }
        Ok(())
    }

    /// Newton's method from the current iterate; the end of the motion goes to `trial_x`.
    fn newton(
        &mut self,
        world: &mut World,
        dt: f64,
        report: &mut StepReport,
        phases: &mut Phases,
    ) -> Result<(), StepError> {
        for iteration in 0..self.settings.max_iterations {
            self.assemble(world, dt);
            self.balance(world, dt);
            phases.done("assembly");
            if iteration == 0 && report.rounds == 0 {
                self.start_correction(world);
            } else {
                self.correction.fill(Vec3::ZERO);
            }
            self.correct(world, report, phases)?;
            let contact_error = report.residual;
            let solved = report.converged;
            let taken = self.line_search(world, dt);
            phases.done("line search");
            self.gradient(world);
            let imbalance = self.balance(world, dt);
            phases.done("assembly");
            // The law of friction holds at the end of the full correction.
            report.residual = if self.contacts.is_empty() {
                imbalance
            } else {
                contact_error.max(imbalance)
            };
            report.converged = imbalance <= self.settings.tolerance
                && (self.contacts.is_empty() || (solved && taken == 1.0));
            if report.converged || taken == 0.0 {
                break;
            }
        }
        self.trial_x.clear();
        self.trial_x.extend_from_slice(&self.x);
        Ok(())
    }

    /// Iterations start at the old velocity: where nothing acts, that is the answer.
    fn start_correction(&mut self, world: &World) {
        self.correction.clear();
        for i in 0..self.v.len() {
            let change = world.state.v[i] - self.v[i];
            self.correction.push(change * mask(self.free[i]));
        }
    }

    /// Solves the linearised step for the correction, with contact if anything touches.
    fn correct(
        &mut self,
        world: &World,
        report: &mut StepReport,
        phases: &mut Phases,
    ) -> Result<(), StepError> {
        report.iterations += 1;
        if !self.contacts.is_empty() {
            let system = (&self.matrix, &self.imbalance[..], &self.free[..]);
            let solved = self.contacts.solve(
                world,
                system,
                &self.settings,
                &self.v,
                &mut self.correction,
            )?;
            phases.done("friction");
            report.residual = solved.local_error;
            report.velocity_error = solved.contact_error.max(solved.dynamics_error);
            report.converged = solved.converged;
            report.friction_solver.clone_from(&solved.method);
            report.sweeps += solved.sweeps;
            report.factorisations += solved.factorisations;
            self.contacts.place_yielding(&solved, report);
            self.push.fill(Vec3::ZERO);
            self.contacts.add_impulses(&mut self.push);
            return Ok(());
        }
        self.imbalance.iter_mut().for_each(|r| *r = -*r);
        // The linear system is solved well below the tolerance of a step, and never sloppily.
        let solved = self
            .system
            .solve(
                self.settings.linear_solver,
                world.revision,
                world.forces.pattern(),
                &self.matrix,
                &world.mass,
                &self.imbalance,
                &mut self.correction,
                (1e-3 * self.settings.tolerance).min(1e-8),
            )
            .map_err(|e| StepError::Linear {
                reason: e.to_string(),
                time: world.time,
            })?;
        self.imbalance.iter_mut().for_each(|r| *r = -*r);
        phases.done("solve");
        report.linear_iterations += solved.iterations;
        report.linear_solver = solved.solver.to_string();
        phases.shift("solve", "factorise", solved.factorise);
        report.residual = self.linear_residual(world);
        report.converged = solved.converged;
        Ok(())
    }

    /// Largest residual of the linear system just solved, m/s.
    fn linear_residual(&mut self, world: &World) -> f64 {
        self.trial_v.resize(self.v.len(), Vec3::ZERO);
        self.matrix
            .multiply(world.forces.pattern(), &self.correction, &mut self.trial_v);
        let rows = self.trial_v.iter().zip(&self.imbalance).zip(&world.mass);
        rows.map(|((a, r), m)| (*a + *r).abs().max_element() / m)
            .fold(0.0, f64::max)
    }

    /// Forces that keep held vertices on their paths: what is missing from their balance of momentum.
    fn reactions(&mut self, world: &mut World, dt: f64) {
        match self.settings.scheme {
            Scheme::Newton => self.gradient(world),
            Scheme::Linearised => self.linearised_gradient(world, dt),
        }
        world.reactions.clear();
        for i in 0..self.v.len() {
            let missing = ((self.v[i] - world.state.v[i]) * world.mass[i] - self.push[i]) / dt
                + self.gradient[i]
                - self.external[i];
            world
                .reactions
                .push(missing * (Vec3::ONE - mask(self.free[i])));
        }
    }

    /// Gradient at the end of a linearised step as its system has it. Stiff forces taken at the end itself would not
    /// balance: the step does not know them.
    fn linearised_gradient(&mut self, world: &World, dt: f64) {
        let pattern = world.forces.pattern();
        self.unheld.values.clear();
        self.unheld.values.resize(pattern.blocks(), Mat3::ZERO);
        self.trial_v.clear();
        self.trial_v.extend(self.correction.iter().map(|c| *c * dt));
        self.trial_x.clear();
        self.trial_x
            .extend(self.x.iter().zip(&self.trial_v).map(|(x, m)| *x - *m));
        self.gradient.clear();
        self.gradient.resize(self.x.len(), Vec3::ZERO);
        let (about, gradient) = (&self.trial_x, &mut self.gradient);
        world
            .forces
            .linearise(about, gradient, &mut self.unheld.values, 1.0);
        self.unheld
            .multiply(pattern, &self.trial_v, &mut self.trial_x);
        for (g, further) in self.gradient.iter_mut().zip(&self.trial_x) {
            *g += *further;
        }
    }
}
