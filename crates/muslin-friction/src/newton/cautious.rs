//! Cautious steps: Newton on a convex energy that penalises the contacts, with a line search, so they cannot run away.
//!
//! Between rounds of them impulses take up what the penalty had to give. Where many contacts of stiff bodies say nearly
//! the same, full steps choose among them in circles and splitting creeps; a few of these rounds bring either to the end.

use super::branch::{Branch, bounded};
use super::{Newton, NewtonEnd};
use crate::prepared::{Given, Prepared};
use crate::problem::FrictionProblem;
use crate::residual::{contact_errors, impulses, measure};
use muslin_linalg::Vec3;

/// Penalty of the first round over a contact's own resistance. From near an answer 3 to 30 take equally long; a strong one
/// makes the energy so kinked that steps become tiny.
const FIRST_PENALTY: f64 = 3.0;
/// Growth of a contact's penalty after a round that did not halve its error, and decay after one that left none. Where
/// contacts that stick contradict each other a little, for their normals differ, no velocity obeys all: their impulses
/// have to grow until one of them gives way, and a round moves them by penalty times a tiny velocity only. Were all
/// contacts pressed harder, most of which are right, the energy would be too kinked for steps to arrive; and a decay as
/// quick as the growth makes contacts take turns.
const GROWTH: f64 = 8.0;
const DECAY: f64 = 0.5;
/// Steps of a round at most. One that has not arrived by then circles, and new multipliers end that.
const ROUND: usize = 12;
/// Rounds that may fail to halve the error.
const PATIENCE: usize = 16;
/// An error this many times the least one tells that a round went astray.
const ASTRAY: f64 = 10.0;

/// How hard a contact is pressed.
#[derive(Clone, Copy)]
pub(super) struct Pressed {
    /// Over the contact's own resistance.
    penalty: f64,
    /// After the last round, m/s.
    error: f64,
}

impl Newton {
    /// Rounds of cautious steps until both errors are below `tolerance`, `max_factorisations` are done, or rounds lead
    /// nowhere. The best point is what is returned.
    pub(crate) fn finish(
        &mut self,
        given: &Given,
        tolerance: f64,
        max_factorisations: usize,
        v: &mut [Vec3],
        r: &mut [Vec3],
    ) -> NewtonEnd {
        let mut end = self.begin(given, v, r);
        self.press(r.len(), FIRST_PENALTY);
        let (mut halved_to, mut stale) = (f64::INFINITY, 0);
        while !end.failed && stale < PATIENCE && end.factorisations < max_factorisations {
            let steps = ROUND.min(max_factorisations - end.factorisations);
            self.settle(given, tolerance, steps, v, r, &mut end);
            impulses(given.problem, r, &mut self.force);
            let residual = measure(given, v, r, &self.force);
            if residual.merit() < end.residual.merit() {
                end.residual = residual;
                self.best.keep(v, r);
            }
            if residual.merit() < tolerance {
                end.converged = true;
                break;
            }
            if residual.merit() < 0.5 * halved_to {
                (halved_to, stale) = (residual.merit(), 0);
            } else {
                stale += 1;
            }
            if residual.merit() > ASTRAY * end.residual.merit() {
                self.best.restore(v, r);
                self.press(r.len(), FIRST_PENALTY);
            } else {
                self.press_where_wrong(given, tolerance, v, r);
            }
        }
        self.best.restore(v, r);
        end
    }

    /// The same penalty for all contacts.
    pub(super) fn press(&mut self, contacts: usize, penalty: f64) {
        self.pressed.clear();
        self.pressed.resize(
            contacts,
            Pressed {
                penalty,
                error: f64::INFINITY,
            },
        );
    }

    /// More penalty where a round did not help, less where nothing is wrong.
    fn press_where_wrong(&mut self, given: &Given, tolerance: f64, v: &[Vec3], r: &[Vec3]) {
        for (c, pressed) in self.pressed.iter_mut().enumerate() {
            let [_, error] = contact_errors(given.problem, given.contacts, v, r, c);
            if error < 0.5 * tolerance {
                pressed.penalty = (DECAY * pressed.penalty).max(FIRST_PENALTY);
            } else if error > 0.5 * pressed.error {
                pressed.penalty *= GROWTH;
            }
            pressed.error = error;
        }
    }

    /// Steps with a line search on the energy of the penalised problem, whose friction bounds are held during a step.
    ///
    /// That energy is convex, so these steps cannot run away. They end when momentum is balanced well enough for new
    /// multipliers to make sense.
    pub(super) fn settle(
        &mut self,
        given: &Given,
        tolerance: f64,
        steps: usize,
        v: &mut [Vec3],
        r: &mut [Vec3],
        end: &mut NewtonEnd,
    ) {
        let Given {
            problem,
            nodes,
            contacts,
        } = *given;
        for _ in 0..steps {
            self.clamp(problem, contacts, v, r);
            self.refactor(problem, end);
            if end.failed {
                break;
            }
            self.imbalances(problem, nodes, v);
            self.slope.clone_from(&self.step);
            self.system.solve(&mut self.step);
            let t = self.search(problem, contacts, v, r);
            for (v, step) in v.iter_mut().zip(&self.step) {
                *v += t * *step;
            }
            end.iterations += 1;
            self.clamp(problem, contacts, v, r);
            impulses(problem, &self.clamped, &mut self.force);
            let e = measure(given, v, &self.clamped, &self.force);
            if e.dynamics < (0.1 * e.contact).max(0.1 * tolerance) {
                break;
            }
        }
        r.copy_from_slice(&self.clamped);
    }

    /// Impulses of the penalised law at the present point.
    fn clamp(&mut self, problem: &FrictionProblem, contacts: &[Prepared], v: &[Vec3], r: &[Vec3]) {
        let pressed = std::mem::take(&mut self.pressed);
        self.branch(problem, v, |c, u| {
            Branch::cautious(&contacts[c], u, r[c], pressed[c].penalty)
        });
        self.pressed = pressed;
        self.clamped.clear();
        self.clamped.extend(self.branches.iter().map(|b| b.r));
    }

    /// Where along the step the energy is least, at most one.
    fn search(
        &mut self,
        problem: &FrictionProblem,
        contacts: &[Prepared],
        v: &[Vec3],
        r: &[Vec3],
    ) -> f64 {
        // Without contacts the derivative is linear along the step.
        impulses(problem, &self.clamped, &mut self.force);
        let mut start = 0.0;
        let mut curvature = 0.0;
        self.image.resize(v.len(), Vec3::ZERO);
        problem
            .matrix
            .multiply(problem.pattern, &self.step, &mut self.image);
        for n in 0..v.len() {
            start -= self.step[n].dot(self.slope[n] - self.force[n]);
            curvature += self.step[n].dot(self.image[n]);
        }
        let derivative = |t: f64| {
            let mut sum = start + t * curvature;
            for (c, contact) in problem.contacts.iter().enumerate() {
                let du = contact.velocity(&self.step) - contact.offset;
                let u = contact.velocity(v) + t * du;
                let bound = contacts[c].cone.mu * self.clamped[c].x;
                let penalty = self.pressed[c].penalty;
                sum -= bounded(&contacts[c], u, r[c], penalty, bound).dot(du);
            }
            sum
        };
        let first = derivative(0.0);
        let last = derivative(1.0);
        if last <= 0.1 * first.abs() {
            return 1.0;
        }
        let (mut low, mut high, mut f_low, mut f_high) = (0.0, 1.0, first, last);
        let mut t = 0.5;
        for _ in 0..30 {
            t = low - f_low * (high - low) / (f_high - f_low);
            if !(t > low && t < high) {
                t = 0.5 * (low + high);
            }
            let f = derivative(t);
            if f.abs() <= 0.1 * first.abs() {
                break;
            }
            // The end that stays is weighed down, or the secant creeps.
            if f < 0.0 {
                (low, f_low) = (t, f);
                f_high *= 0.5;
            } else {
                (high, f_high) = (t, f);
                f_low *= 0.5;
            }
        }
        t
    }
}
