//! Acceleration of the iterations: the next one starts where the last ones point to.

use super::Admm;
use super::local::Local;
use crate::world::Carried;
use muslin_linalg::Vec3;

impl Admm {
    /// Takes the next iteration from a point that the last ones point to, rather than from where the last one ended.
    pub(super) fn accelerate(&mut self, dt: f64, started: bool) {
        let mut anderson = std::mem::take(&mut self.anderson);
        if started {
            self.save(dt, &mut anderson.g);
            anderson.mix();
            self.restore(dt, &anderson.x);
        } else {
            anderson.reset(self.unknowns());
            self.save(dt, &mut anderson.x);
        }
        self.anderson = anderson;
    }

    /// Writes all that an iteration starts from: positions and multipliers, in units of the root of their weight.
    fn save(&self, dt: f64, out: &mut [Vec3]) {
        let n = self.x.len();
        let (x, rest) = out.split_at_mut(n);
        let (l, rest) = rest.split_at_mut(n);
        for i in 0..n {
            x[i] = self.x[i] * (self.global.diagonal[i].sqrt() / dt);
            l[i] = self.l[i] * (self.global.contact[i].sqrt() / dt);
        }
        self.save_multipliers(rest);
    }

    /// Goes on from another point.
    fn restore(&mut self, dt: f64, from: &[Vec3]) {
        let n = self.x.len();
        let (x, rest) = from.split_at(n);
        let (l, rest) = rest.split_at(n);
        for i in 0..n {
            if !self.held[i] {
                self.x[i] = x[i] * (dt / self.global.diagonal[i].sqrt());
                self.l[i] = l[i] * (dt / self.global.contact[i].sqrt());
            }
        }
        self.restore_multipliers(rest);
    }

    /// Numbers that an iteration starts from, in threes.
    fn unknowns(&self) -> usize {
        2 * self.x.len() + self.multipliers()
    }

    /// Number of multipliers of elements.
    fn multipliers(&self) -> usize {
        let each = self.locals.iter().map(|l| l.multipliers());
        each.sum::<usize>() + self.rails.multipliers()
    }

    /// Number of elements with weights of their own.
    fn weighed(&self) -> usize {
        let each = self.locals.iter().map(|l| l.weighed());
        each.sum::<usize>() + self.rails.weighed()
    }

    fn save_multipliers(&self, mut out: &mut [Vec3]) {
        for local in &self.locals {
            let (own, after) = out.split_at_mut(local.multipliers());
            local.save(own);
            out = after;
        }
        self.rails.save(out);
    }

    fn restore_multipliers(&mut self, mut from: &[Vec3]) {
        for local in &mut self.locals {
            let (own, after) = from.split_at(local.multipliers());
            local.restore(own);
            from = after;
        }
        self.rails.restore(from);
    }

    /// Keeps what elements pull with for the next step, and their weights. Positions at the end of a step are those that
    /// contact wants, and stiff elements would read large forces from what is left between the two.
    pub(super) fn keep(&mut self) {
        let mut kept = std::mem::take(&mut self.kept);
        kept.stresses.resize(self.multipliers(), Vec3::ZERO);
        kept.factors.resize(self.weighed(), 1.0);
        let (mut stresses, mut factors) = (&mut kept.stresses[..], &mut kept.factors[..]);
        for local in &self.locals {
            let (own, after) = stresses.split_at_mut(local.multipliers());
            let (factor, others) = factors.split_at_mut(local.weighed());
            local.leave(factor, own);
            (stresses, factors) = (after, others);
        }
        self.rails.leave(factors, stresses);
        self.kept = kept;
    }

    /// Begins with the weights and with what elements pulled with at the end of the last step, unless there are other
    /// elements now.
    pub(super) fn resume(&mut self, carried: &Carried) {
        let Carried { stresses, factors } = carried;
        if stresses.len() != self.multipliers() || factors.len() != self.weighed() {
            return;
        }
        let (mut stresses, mut factors) = (&stresses[..], &factors[..]);
        for local in &mut self.locals {
            let (own, after) = stresses.split_at(local.multipliers());
            let (factor, others) = factors.split_at(local.weighed());
            local.resume(factor, own);
            (stresses, factors) = (after, others);
        }
        self.rails.resume(factors, stresses);
    }

    /// Makes the gradient at the start of the step that of what elements pulled with at the end of the last one.
    pub(super) fn carry_stresses(&mut self) {
        for local in &mut self.locals {
            local.pull_beyond();
        }
        self.rails.pull_beyond();
        let Self {
            locals,
            rails,
            global,
            gradient,
            p,
            ..
        } = self;
        p.clear();
        p.resize(global.vertices.len(), Vec3::ZERO);
        for local in locals.iter() {
            local.gather(&global.vertices, p, 1.0);
        }
        rails.gather(&global.vertices, p, 1.0);
        for (v, beyond) in global.vertices.iter().zip(p.iter()) {
            gradient[*v as usize] -= *beyond;
        }
        p.resize(gradient.len(), Vec3::ZERO);
    }
}
