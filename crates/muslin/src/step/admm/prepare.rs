//! What iterations need and hardly ever changes: elements with their weights, and the matrix.

use super::Admm;
use super::build;
use super::global::{Global, Recipe};
use super::local::Local;
use super::pieces::Pieces;
use crate::force::StepContext;
use crate::step::StepError;
use crate::world::World;
use crate::world::forces::clamped;

/// Least weight of the elements of cloth that touches something, as a share of their stiffness, with this many iterations or
/// fewer: few iterations leave contact and stresses apart, and more weight keeps cloth calmer then.
const IN_A_HURRY: (f64, usize) = (0.5, 25);

impl Admm {
    /// Makes elements anew if the cloth, its pins, the length of the step or the least weight of cloth have changed.
    fn follow(&mut self, world: &World, dt: f64) {
        let made_for = Some((world.revision, dt, self.hurry(world)));
        if self.made_for == made_for {
            return;
        }
        self.held = clamped(world);
        self.locals = build::locals(world, &self.settings, &self.held, self.hurry(world), dt);
        let weights = self.entries(world, dt).1;
        self.rails = build::rails(world, &weights);
        self.resisting.clone_from(&world.mass);
        let mut stiffness = Vec::new();
        for local in &self.locals {
            local.add_stiffness(&mut stiffness);
        }
        for (row, _, value) in stiffness.iter().filter(|(row, column, _)| row == column) {
            self.resisting[*row as usize] += value * dt * dt;
        }
        self.factored = None;
        self.made_for = made_for;
    }

    /// Stiffness of all elements (row, column, N/m), and what holds each vertex with its inertia, N/m.
    fn entries(&self, world: &World, dt: f64) -> (Vec<(u32, u32, f64)>, Vec<f64>) {
        let mut entries = Vec::new();
        for local in &self.locals {
            local.add_entries(&mut entries);
        }
        let mut weights: Vec<f64> = world.mass.iter().map(|m| m / (dt * dt)).collect();
        for (row, _, value) in entries.iter().filter(|(row, column, _)| row == column) {
            weights[*row as usize] += value;
        }
        (entries, weights)
    }

    /// Makes the matrix anew if there are other elements or weights; returns whether that was so.
    fn factorise(&mut self, world: &World, dt: f64) -> Result<bool, StepError> {
        if self.factored.as_ref() == Some(&self.kept.factors) {
            return Ok(false);
        }
        self.factored = None;
        let (mut entries, _) = self.entries(world, dt);
        self.rails.add_entries(&mut entries);
        let mut damping = Vec::new();
        if self.settings.rayleigh > 0.0 {
            for local in &self.locals {
                local.add_stiffness(&mut damping);
            }
            for (_, _, value) in &mut damping {
                *value *= self.settings.rayleigh;
            }
        }
        self.global = Global::new(&mut Recipe {
            entries: &mut entries,
            damping: &mut damping,
            mass: &world.mass,
            held: &self.held,
            dt,
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
        self.pieces = Pieces::choose(
            world,
            &self.global,
            &self.locals,
            self.settings.iterations,
            dt,
        );
        let weights = self.global.contact.iter().zip(&self.held);
        self.inverse = weights
            .map(|(w, held)| if *held { 0.0 } else { 1.0 / w })
            .collect();
        self.factored = Some(self.kept.factors.clone());
        Ok(true)
    }

    /// Least weight of the elements of cloth as a share of their stiffness.
    fn hurry(&self, world: &World) -> f64 {
        let (most, few) = IN_A_HURRY;
        let budget = few as f64 / self.settings.iterations as f64;
        if world.touches.is_empty() {
            0.0
        } else {
            most * budget.powi(2).min(1.0)
        }
    }

    /// Makes what is missing, and starts the step of all elements; returns whether the matrix was factored.
    pub(super) fn begin(
        &mut self,
        world: &World,
        context: &StepContext,
    ) -> Result<bool, StepError> {
        self.follow(world, context.dt);
        let (x, v) = (&world.state.x, &world.state.v);
        for local in &mut self.locals {
            local.begin_step(x, v, context);
        }
        self.rails.begin_step(x, v, context);
        // The same for the same state, whatever was before: resumed runs go on as if nothing had been.
        self.resume(&world.state.carried);
        if self.settings.elastic_weight.is_none() {
            for local in &mut self.locals {
                local.weigh();
            }
        }
        self.keep();
        self.factorise(world, context.dt)
    }
}
