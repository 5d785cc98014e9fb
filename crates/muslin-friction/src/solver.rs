//! The solver proper: checks the problem, picks a method, switches when one stalls, and reports what was reached.

use crate::FrictionError;
use crate::admm::{Admm, FIRST_WEIGHT, FURTHER_WEIGHTS, Goal};
use crate::dual::Dual;
use crate::gauss_seidel::GaussSeidel;
use crate::impossible::impossible;
use crate::kept::Kept;
use crate::newton::{Newton, NewtonEnd};
use crate::outlook::{Outlook, stiffness_ratio};
use crate::prepared::Ready;
use crate::problem::{Contact, FrictionProblem};
use crate::report::{Method, SolveParams, SolveReport};
use crate::residual::{Residual, impulses, measure};
use crate::validate::validate;
use muslin_linalg::Vec3;

/// Sweeps that give Newton a fair start.
const START_SWEEPS: usize = 20;
/// Sweeps that splitting takes the time of.
const WORTHWHILE_SWEEPS: f64 = 200.0;
/// Sweeps when all else has failed, at least and at most, and visits of nodes they may make in between.
const LAST_SWEEPS: usize = 400;
const MOST_SWEEPS: usize = 20_000;
const LAST_VISITS: usize = 8_000_000;
/// Contacts up to which splitting is tried then.
const MANY_CONTACTS: usize = 5000;
/// Contacts up to which Newton comes before splitting, and up to which condensing the system to them is worth a try.
const SOME_CONTACTS: usize = 600;
/// Nodes up to which methods that factor the matrix with its contacts are worth a try from anywhere, and how often it
/// may be factored beyond that.
const MANY_NODES: usize = 5000;
const FEW_FACTORISATIONS: usize = 20;
/// Errors over the tolerance from which full Newton steps are likely to arrive.
const NEAR: f64 = 100.0;
/// Inertia over diagonal above which sweeps are tried first.
const SOFT: f64 = 2e-5;
/// Steps in which friction is raised, one try after the other.
const STAGES: [usize; 2] = [5, 20];
/// Full Newton steps that are tried.
const FULL_STEPS: usize = 5;
/// Pairs of contacts that sweeps on a condensed system may visit in all: about what condensing it took.
const CONDENSED_VISITS: usize = 60_000_000;
/// Without inertia given, errors of sheets stiffer than this are not believed.
const BLIND_RATIO: f64 = 1e4;

/// Solves frictional contact problems; keeps its memory from one to the next, nothing else.
#[derive(Default)]
pub struct Solver {
    ready: Ready,
    compliance: Vec<f64>,
    eased: Vec<Contact>,
    gauss_seidel: GaussSeidel,
    newton: Newton,
    admm: Admm,
    dual: Dual,
    start: Kept,
    reached: Kept,
    polished: Kept,
    force: Vec<Vec3>,
}

/// The unknowns of a solve.
struct Unknowns<'a> {
    v: &'a mut [Vec3],
    r: &'a mut [Vec3],
}

impl Solver {
    /// Solves a problem. `v` and `r` hold a start on entry and the answer on return; `r` is in local frames.
    ///
    /// Not reaching the tolerance is no error: see the report.
    pub fn solve(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        v: &mut [Vec3],
        r: &mut [Vec3],
    ) -> Result<SolveReport, FrictionError> {
        validate(problem, params.tolerance, v, r)?;
        self.compliance.clear();
        self.make_ready(problem, params.method == Method::Auto);
        let mut report = SolveReport::default();
        let mut x = Unknowns { v, r };
        for (r, contact) in x.r.iter_mut().zip(&self.ready.contacts) {
            if contact.inert {
                *r = Vec3::ZERO;
            }
        }
        self.attempt(problem, params, &mut x, &mut report);
        if !report.converged {
            let against = impossible(&self.ready.given(problem), x.v, params.tolerance);
            if !against.is_empty() {
                self.yield_to(problem, &against, params.method == Method::Auto, &mut x);
                report.yielding = against;
                self.attempt(problem, params, &mut x, &mut report);
            }
        }
        if !report.converged && report.yielding.is_empty() && params.method == Method::Auto {
            self.rare_ways(problem, params, &mut x, &mut report);
        }
        if !report.converged && params.method == Method::Auto {
            self.last_resort(problem, params, &mut x, &mut report);
        }
        self.report_immovable(problem, params.tolerance, x.v, &mut report);
        report.method = report.way();
        Ok(report)
    }

    /// Sweeps to the end of their budget, then splitting; if all is in vain the best point so far is the answer.
    fn last_resort(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let mut before = report.clone();
        self.reached.keep(x.v, x.r);
        let sweeps = (LAST_VISITS / x.v.len().max(1)).clamp(LAST_SWEEPS, MOST_SWEEPS);
        self.sweep(problem, params.tolerance, sweeps, x, report, |_, _| false);
        if !report.converged && report.admm_iterations == 0 && x.r.len() <= MANY_CONTACTS {
            self.alternate(problem, params, &FIRST_WEIGHT, x, report);
        }
        let error = |r: &SolveReport| r.contact_error.max(r.dynamics_error);
        // Among contacts that cannot be obeyed errors tell nothing; sweeps are right about all the others.
        let tells = report.yielding.is_empty();
        if !report.converged && tells && error(&before) < error(report) {
            self.reached.restore(x.v, x.r);
            before.sweeps = report.sweeps;
            before.admm_iterations = report.admm_iterations;
            before.factorisations = report.factorisations;
            *report = before;
        }
    }

    /// Gives contacts a compliance and lets go of impulses that were growing.
    fn yield_to(
        &mut self,
        problem: &FrictionProblem,
        against: &[u32],
        blind: bool,
        x: &mut Unknowns,
    ) {
        self.compliance.clear();
        self.compliance.resize(x.r.len(), 0.0);
        for &c in against {
            // As soft as the mass behind it: the violation is answered by its own momentum.
            self.compliance[c as usize] = 1.0 / self.ready.contacts[c as usize].measure;
        }
        x.r.fill(Vec3::ZERO);
        x.v.fill(Vec3::ZERO);
        self.make_ready(problem, blind);
    }

    /// What all solvers compute once; without masses given they are estimated if nobody chose the method.
    fn make_ready(&mut self, problem: &FrictionProblem, blind: bool) {
        self.ready.prepare(problem, &self.compliance);
        self.gauss_seidel.forget();
        self.admm.forget();
        if blind {
            self.believe_masses(problem);
        }
    }

    /// Without inertia given, the errors of a very stiff sheet would pass anything. Its mean mass is then estimated and
    /// put in place of the diagonal.
    fn believe_masses(&mut self, problem: &FrictionProblem) {
        if !problem.inertia.is_empty() {
            return;
        }
        let ratio = stiffness_ratio(problem);
        if ratio >= BLIND_RATIO {
            for node in &mut self.ready.nodes {
                node.inertia = node.diagonal / ratio;
            }
            for contact in self.ready.contacts.iter_mut().filter(|c| !c.inert) {
                contact.measure = contact.rho / ratio;
            }
        }
    }

    /// The method asked for, or sweeps and then Newton.
    fn attempt(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let never = |_: usize, _: &Residual| false;
        match params.method {
            Method::GaussSeidel => {
                self.sweep(
                    problem,
                    params.tolerance,
                    params.max_sweeps,
                    x,
                    report,
                    never,
                );
            }
            Method::Admm => {
                self.alternate(problem, params, &FIRST_WEIGHT, x, report);
                if !report.converged {
                    self.alternate(problem, params, &FURTHER_WEIGHTS, x, report);
                }
            }
            Method::Newton => {
                self.sweep(problem, params.tolerance, START_SWEEPS, x, report, never);
                if !report.converged {
                    self.newton(problem, params, x, report);
                }
            }
            Method::Condensed => self.condensed(problem, params, x, report),
            Method::Auto => self.usual_ways(problem, params, x, report),
        }
    }

    /// Where contacts are few friction is raised bit by bit, then they are condensed; else cautious steps from anywhere.
    fn rare_ways(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        if x.r.len() <= SOME_CONTACTS {
            self.reached.keep(x.v, x.r);
            let before = report.clone();
            for stages in STAGES {
                if !report.converged {
                    self.raise_friction(problem, params, stages, x, report);
                }
            }
            if !report.converged {
                self.condensed(problem, params, x, report);
            }
            if !report.converged && before.merit() < report.merit() {
                self.reached.restore(x.v, x.r);
                *report = before;
            }
        } else if x.v.len() <= MANY_NODES {
            self.finish(problem, params, x, report);
        }
    }

    /// Sweeps where the system is soft enough for them; full Newton steps where it is not or contacts are few, for what
    /// rests then rests to the last bit; then splitting, which has the contacts nearly right when it stalls, so that
    /// cautious steps can finish.
    fn usual_ways(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        if self.done_already(problem, params.tolerance, x, report) {
            return;
        }
        self.start.keep(x.v, x.r);
        let soft = !problem.contacts.is_empty() && self.softness() > SOFT;
        if soft {
            self.sweep_within(problem, params, WORTHWHILE_SWEEPS, x, report);
        }
        if !report.converged && (!soft || x.r.len() <= SOME_CONTACTS) {
            self.full_steps(problem, params, x, report);
        }
        if report.converged {
            return;
        }
        // What was given is the better start: sweeps have spoilt its slow motions.
        self.start.restore(x.v, x.r);
        self.alternate(problem, params, &FIRST_WEIGHT, x, report);
        let near = |report: &SolveReport| report.merit() < NEAR * params.tolerance;
        if !report.converged && near(report) && x.v.len() <= MANY_NODES {
            self.finish(problem, params, x, report);
        }
        if !report.converged {
            self.alternate(problem, params, &FURTHER_WEIGHTS, x, report);
        }
        if !report.converged && near(report) {
            self.finish(problem, params, x, report);
        }
        let strict = report.contact_error.max(report.dynamics_error);
        if report.converged && strict > params.tolerance && x.r.len() <= SOME_CONTACTS {
            // The contacts are right now, and from there full steps lead to where nothing drifts.
            self.full_steps(problem, params, x, report);
        }
    }

    /// The problem without friction, then with more and more of it, each from the answer of the one before. Bodies that
    /// wedge each other often have several states close to an answer, and this leads past the wrong ones.
    fn raise_friction(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        stages: usize,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let mut eased = std::mem::take(&mut self.eased);
        for stage in 0..=stages {
            let share = stage as f64 / stages as f64;
            eased.clear();
            eased.extend(problem.contacts.iter().map(|contact| Contact {
                friction: contact.friction.map(|f| share * f),
                ..*contact
            }));
            let problem = FrictionProblem {
                contacts: &eased,
                ..*problem
            };
            self.make_ready(&problem, true);
            self.usual_ways(&problem, params, x, report);
        }
        self.eased = eased;
    }

    /// Sweeps as long as they promise to arrive within a number of them.
    fn sweep_within(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        budget: f64,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let mut outlook = Outlook::new(params.tolerance, budget);
        let stalled = |sweep: usize, residual: &Residual| outlook.hopeless(sweep, residual);
        let (tolerance, most) = (params.tolerance, params.max_sweeps);
        self.sweep(problem, tolerance, most, x, report, stalled);
    }

    /// Whether the start is an answer: things at rest stay there.
    fn done_already(
        &mut self,
        problem: &FrictionProblem,
        tolerance: f64,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) -> bool {
        impulses(problem, x.r, &mut self.force);
        let found = measure(&self.ready.given(problem), x.v, x.r, &self.force);
        let converged = found.strict() < tolerance;
        report.record(&found, converged);
        converged
    }

    /// Inertia over diagonal of the whole.
    fn softness(&self) -> f64 {
        let free = self.ready.nodes.iter().filter(|n| n.diagonal.is_finite());
        let (inertia, diagonal) =
            free.fold((0.0, 0.0), |(m, d), n| (m + n.inertia, d + n.diagonal));
        inertia / diagonal
    }

    /// Sweeps on the system condensed to its contacts.
    fn condensed(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let pairs = x.r.len() * x.r.len();
        let max_sweeps = (CONDENSED_VISITS / pairs.max(1)).clamp(300, 20_000);
        let end = self.dual.run(
            &self.ready.given(problem),
            params.tolerance,
            max_sweeps,
            x.v,
            x.r,
        );
        if let Some(end) = end {
            report.factorisations += 1;
            report.dual_sweeps += end.sweeps;
            report.record(&end.residual, end.converged);
        }
    }

    fn sweep(
        &mut self,
        problem: &FrictionProblem,
        tolerance: f64,
        max_sweeps: usize,
        x: &mut Unknowns,
        report: &mut SolveReport,
        stalled: impl FnMut(usize, &Residual) -> bool,
    ) {
        if max_sweeps == 0 {
            return;
        }
        let end = self.gauss_seidel.run(
            &self.ready.given(problem),
            tolerance,
            max_sweeps,
            x.v,
            x.r,
            stalled,
        );
        report.sweeps += end.count;
        report.record(&end.residual, end.converged);
    }

    fn newton(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        self.newton_with(problem, params, params.max_factorisations, true, x, report);
    }

    /// Newton's full steps while they help.
    fn full_steps(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        self.newton_with(problem, params, FULL_STEPS, false, x, report);
    }

    fn newton_with(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        max_factorisations: usize,
        settling: bool,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let end = self.newton.run(
            &self.ready.given(problem),
            params.tolerance,
            max_factorisations,
            settling,
            x.v,
            x.r,
        );
        self.end_newton(problem, params, &end, x, report);
    }

    /// Newton's cautious steps, from near an answer.
    fn finish(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let most = if x.v.len() <= MANY_NODES {
            params.max_factorisations
        } else {
            FEW_FACTORISATIONS.min(params.max_factorisations)
        };
        let given = &self.ready.given(problem);
        let end = self.newton.finish(given, params.tolerance, most, x.v, x.r);
        self.end_newton(problem, params, &end, x, report);
    }

    fn end_newton(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        end: &NewtonEnd,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        report.newton_iterations += end.iterations;
        report.factorisations += end.factorisations;
        report.record(&end.residual, end.converged);
        if end.converged {
            self.polish(problem, params.tolerance, x, report);
        }
    }

    /// One sweep after Newton: sticking contacts then stick to the last bit, and impulses lie in their cones. Taken back
    /// if the sweep's own error shows.
    fn polish(
        &mut self,
        problem: &FrictionProblem,
        tolerance: f64,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        self.polished.keep(x.v, x.r);
        let end = self.gauss_seidel.run(
            &self.ready.given(problem),
            tolerance,
            1,
            x.v,
            x.r,
            |_, _| false,
        );
        let before = report.contact_error.max(report.dynamics_error);
        if end.converged && end.residual.strict() <= before.max(tolerance) {
            report.sweeps += 1;
            report.record(&end.residual, true);
        } else {
            self.polished.restore(x.v, x.r);
        }
    }

    fn alternate(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        weights: &[f64],
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let goal = Goal {
            tolerance: params.tolerance,
            max_iterations: params.max_admm_iterations,
            weights,
            passes: if weights.len() == 1 { 1 } else { usize::MAX },
        };
        let given = &self.ready.given(problem);
        let end = self.admm.run(given, &goal, x.v, x.r);
        report.admm_iterations += end.iterations;
        report.factorisations += end.factorisations;
        report.record(&end.residual, end.converged);
        if end.converged {
            self.polish(problem, params.tolerance, x, report);
        }
    }

    /// Contacts that nothing can move are reported if they are violated.
    fn report_immovable(
        &self,
        problem: &FrictionProblem,
        tolerance: f64,
        v: &[Vec3],
        report: &mut SolveReport,
    ) {
        for (c, contact) in problem.contacts.iter().enumerate() {
            if self.ready.contacts[c].inert && contact.velocity(v).x < -tolerance {
                report.yielding.push(c as u32);
            }
        }
        report.yielding.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{self, Family};
    use crate::residual::residual;

    const TOLERANCE: f64 = 1e-6;

    type Way = fn(&mut Solver, &FrictionProblem, &SolveParams, &mut Unknowns, &mut SolveReport);

    /// A way that is usually taken last, taken first: from twenty sweeps it arrives at the answer that the others find.
    /// Both may be wrong by a hundred tolerances in slow motions.
    fn arrives(family: &Family, way: Way) {
        let problem = family.problem();
        let params = SolveParams {
            tolerance: TOLERANCE,
            ..SolveParams::default()
        };
        let mut solver = Solver::default();
        let (mut v, mut r) = (
            vec![Vec3::ZERO; family.b.len()],
            vec![Vec3::ZERO; family.contacts.len()],
        );
        let (mut expected, mut r_expected) = (v.clone(), r.clone());
        let found = solver.solve(&problem, &params, &mut expected, &mut r_expected);
        assert!(found.is_ok_and(|report| report.converged));
        solver.make_ready(&problem, true);
        let mut x = Unknowns {
            v: &mut v,
            r: &mut r,
        };
        let mut report = SolveReport::default();
        solver.sweep(&problem, TOLERANCE, 20, &mut x, &mut report, |_, _| false);
        way(&mut solver, &problem, &params, &mut x, &mut report);
        assert!(report.converged, "{}: {report:?}", family.name);
        assert!(residual(&problem, &v, &r).merit() < TOLERANCE);
        let apart = v.iter().zip(&expected).map(|(a, b)| a.distance(*b));
        let apart = apart.fold(0.0, f64::max);
        assert!(
            apart < 200.0 * TOLERANCE,
            "{}: {apart:e} m/s apart",
            family.name
        );
    }

    #[test]
    fn cautious_steps_arrive() {
        for family in [
            families::sheet(20, 600.0, 0.3, 0.6, true),
            families::layers(12, 3, 200.0, 0.4, true),
            families::plate(5, 8, 1e6, 0.2),
        ] {
            arrives(&family, Solver::finish);
        }
    }

    #[test]
    fn raised_friction_arrives() {
        for family in [
            families::sheet(12, 600.0, 0.3, 0.6, true),
            families::plate(5, 8, 1e6, 0.2),
        ] {
            arrives(&family, |solver, problem, params, x, report| {
                solver.raise_friction(problem, params, 5, x, report);
            });
        }
    }
}
