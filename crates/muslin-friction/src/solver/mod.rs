//! The solver proper: checks the problem, picks a method, switches when one stalls, and reports what was reached.

mod stages;
mod ways;

use crate::FrictionError;
use crate::admm::{Admm, Passes};
use crate::dual::Dual;
use crate::gauss_seidel::GaussSeidel;
use crate::impossible::{jammed, squeezed};
use crate::kept::Kept;
use crate::newton::Newton;
use crate::outlook::stiffness_ratio;
use crate::prepared::Ready;
use crate::problem::{Contact, FrictionProblem};
use crate::report::{Method, SolveParams, SolveReport};
use crate::residual::Residual;
use crate::validate::validate;
use muslin_linalg::Vec3;

/// Sweeps that give Newton a fair start.
const START_SWEEPS: usize = 20;
/// Contacts up to which Newton comes before splitting, condensing the system to them is worth a try, and patience is cheap.
const SOME_CONTACTS: usize = 600;
/// Part of the usual patience that contacts which are likely jammed get.
const HURRY: usize = 10;
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
    /// The last answer on the way to the whole friction.
    answered: Kept,
    polished: Kept,
    force: Vec<Vec3>,
}

/// Less patience with many contacts that may well be jammed: a step of a stack under a press would take minutes.
fn hurried(params: &SolveParams, contacts: usize, jammed: bool) -> SolveParams {
    let part = if jammed && contacts > SOME_CONTACTS {
        HURRY
    } else {
        1
    };
    SolveParams {
        max_factorisations: params.max_factorisations.div_ceil(part),
        max_admm_iterations: params.max_admm_iterations.div_ceil(part),
        ..*params
    }
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
        let auto = params.method == Method::Auto;
        self.make_ready(problem, auto);
        let mut report = SolveReport::default();
        let mut x = Unknowns { v, r };
        for (r, contact) in x.r.iter_mut().zip(&self.ready.contacts) {
            if contact.inert {
                *r = Vec3::ZERO;
            }
        }
        if auto {
            self.quick_ways(problem, params, &mut x, &mut report);
        } else {
            self.attempt(problem, params, &mut x, &mut report);
        }
        if !report.converged {
            let tolerance = params.tolerance;
            let mut against = squeezed(&self.ready.given(problem), x.v, tolerance);
            if against.is_empty() {
                against = jammed(&self.ready.given(problem), x.v, tolerance);
                let in_vain = params.jams && params.coarse() && !against.is_empty();
                if auto && !in_vain {
                    let params = hurried(params, x.r.len(), !against.is_empty());
                    self.patient_ways(problem, &params, &mut x, &mut report);
                }
                if report.converged {
                    against.clear();
                }
            }
            if !against.is_empty() {
                self.yield_to(problem, &against, auto, &mut x);
                report.yielding = against;
                let params = hurried(params, x.r.len(), true);
                self.attempt(problem, &params, &mut x, &mut report);
            }
        }
        if auto && report.yielding.is_empty() && report.admm_iterations > 0 {
            self.stop_drift(problem, params, &mut x, &mut report);
        }
        if !report.converged && report.yielding.is_empty() && auto {
            self.rare_ways(problem, params, &mut x, &mut report);
        }
        if !report.converged && auto {
            self.last_resort(problem, params, &mut x, &mut report);
        }
        self.report_immovable(problem, params.tolerance, x.v, &mut report);
        report.method = report.way();
        Ok(report)
    }

    /// The method asked for, or what suits the problem.
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
                self.alternate(problem, params, Passes::First, x, report);
                if !report.converged {
                    self.alternate(problem, params, Passes::Further, x, report);
                }
            }
            Method::Newton => {
                self.sweep(problem, params.tolerance, START_SWEEPS, x, report, never);
                if !report.converged {
                    let most = params.max_factorisations;
                    self.newton_with(problem, params, most, true, x, report);
                }
            }
            Method::Condensed => self.condensed(problem, params, x, report),
            Method::Auto => self.usual_ways(problem, params, x, report),
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
