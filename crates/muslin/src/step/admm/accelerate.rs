//! Acceleration of the iterations: the next one starts where the last ones point to.

use super::Admm;
use super::split::Local;
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
        let (l, mut rest) = rest.split_at_mut(n);
        for i in 0..n {
            x[i] = self.x[i] * (self.global.diagonal[i].sqrt() / dt);
            l[i] = self.l[i] * (self.global.contact[i].sqrt() / dt);
        }
        for local in &self.locals {
            let (own, after) = rest.split_at_mut(local.multipliers());
            local.save(own);
            rest = after;
        }
        self.rails.save(rest);
    }

    /// Goes on from another point.
    fn restore(&mut self, dt: f64, from: &[Vec3]) {
        let n = self.x.len();
        let (x, rest) = from.split_at(n);
        let (l, mut rest) = rest.split_at(n);
        for i in 0..n {
            if !self.held[i] {
                self.x[i] = x[i] * (dt / self.global.diagonal[i].sqrt());
                self.l[i] = l[i] * (dt / self.global.contact[i].sqrt());
            }
        }
        for local in &mut self.locals {
            let (own, after) = rest.split_at(local.multipliers());
            local.restore(own);
            rest = after;
        }
        self.rails.restore(rest);
    }

    /// Numbers that an iteration starts from, in threes.
    fn unknowns(&self) -> usize {
        let multipliers: usize = self.locals.iter().map(|l| l.multipliers()).sum();
        2 * self.x.len() + multipliers + self.rails.multipliers()
    }
}
