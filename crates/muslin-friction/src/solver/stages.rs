//! One method each: runs it and notes in the report what it took and reached.

use super::{Solver, Unknowns};
use crate::admm::{Goal, Passes};
use crate::newton::NewtonEnd;
use crate::outlook::Outlook;
use crate::problem::FrictionProblem;
use crate::report::{FACTORISATION, ITERATION, SolveParams, SolveReport};
use crate::residual::Residual;

/// Full Newton steps that are tried.
const FULL_STEPS: usize = 5;
/// Pairs of contacts that sweeps on a condensed system may visit in all: about what condensing it took.
const CONDENSED_VISITS: usize = 60_000_000;

/// Iterations of a first pass that are made even when no work is left: a point that no stage has been at would be worse than
/// a late one.
const LEAST_ITERATIONS: usize = 60;

/// Work that is left, in sweeps.
pub(super) fn left(params: &SolveParams, report: &SolveReport) -> usize {
    params.max_work.saturating_sub(report.work())
}

impl Solver {
    pub(super) fn sweep(
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

    /// Sweeps as long as they promise to arrive within a number of them.
    pub(super) fn sweep_within(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        budget: f64,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let mut outlook = Outlook::new(params.tolerance, budget);
        let stalled = |sweep: usize, residual: &Residual| outlook.hopeless(sweep, residual);
        let most = params.max_sweeps.min(left(params, report));
        let tolerance = params.tolerance;
        self.sweep(problem, tolerance, most, x, report, stalled);
    }

    /// Newton's full steps while they help.
    pub(super) fn full_steps(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        self.newton_with(problem, params, FULL_STEPS, false, x, report);
    }

    pub(super) fn newton_with(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        max_factorisations: usize,
        settling: bool,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let max_factorisations = max_factorisations.min(left(params, report) / FACTORISATION);
        if max_factorisations == 0 {
            return;
        }
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
    pub(super) fn finish(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let given = &self.ready.given(problem);
        let most = (params.max_factorisations).min(left(params, report) / FACTORISATION);
        if most == 0 {
            return;
        }
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
        if end.converged && end.residual.strict() <= report.strict().max(tolerance) {
            report.sweeps += 1;
            report.record(&end.residual, true);
        } else {
            self.polished.restore(x.v, x.r);
        }
    }

    pub(super) fn alternate(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        passes: Passes,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let least = match passes {
            Passes::First => LEAST_ITERATIONS,
            Passes::Further => 0,
        };
        let most = (left(params, report) / ITERATION).max(least);
        if most == 0 {
            return;
        }
        let goal = Goal {
            tolerance: params.tolerance,
            max_iterations: params.max_admm_iterations.min(most),
            passes,
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

    /// Sweeps on the system condensed to its contacts.
    pub(super) fn condensed(
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
}
