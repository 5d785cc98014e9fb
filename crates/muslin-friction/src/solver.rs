//! The solver proper: checks the problem, picks a method, switches when one stalls, and reports what was reached.

use crate::FrictionError;
use crate::gauss_seidel::GaussSeidel;
use crate::newton::Newton;
use crate::prepared::{Node, Prepared, prepare};
use crate::problem::FrictionProblem;
use crate::validate::validate;
use muslin_linalg::Vec3;

/// How to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Chosen from the problem, and changed when it stalls.
    #[default]
    Auto,
    /// Coloured Gauss-Seidel with Anderson acceleration: soft cloth, any number of contacts.
    GaussSeidel,
    /// Splitting with a matrix factored once.
    Admm,
    /// Semismooth Newton: stiff systems.
    Newton,
}

/// What is asked of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveParams {
    /// Both errors must fall below this, m/s.
    pub tolerance: f64,
    /// How.
    pub method: Method,
    /// Budget of Gauss-Seidel sweeps.
    pub max_sweeps: usize,
}

impl Default for SolveParams {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            method: Method::Auto,
            max_sweeps: 1000,
        }
    }
}

/// What a solve reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolveReport {
    /// Whether both errors are below the tolerance.
    pub converged: bool,
    /// Largest error of the contact law, m/s.
    pub contact_error: f64,
    /// Largest error of momentum over inertia, m/s.
    pub dynamics_error: f64,
    /// Contact of the former.
    pub worst_contact: Option<usize>,
    /// Gauss-Seidel sweeps.
    pub sweeps: usize,
    /// Splitting iterations.
    pub admm_iterations: usize,
    /// Newton iterations.
    pub newton_iterations: usize,
    /// Numeric factorisations.
    pub factorisations: usize,
    /// The way taken.
    pub method: &'static str,
    /// Contacts that cannot all be obeyed, ascending: they were made to yield, or nothing can move them.
    pub yielding: Vec<u32>,
}

/// Solves frictional contact problems; keeps its memory from one to the next, nothing else.
#[derive(Default)]
pub struct Solver {
    nodes: Vec<Node>,
    contacts: Vec<Prepared>,
    gauss_seidel: GaussSeidel,
    newton: Newton,
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
        prepare(problem, &[], &mut self.nodes, &mut self.contacts);
        self.gauss_seidel.colouring.build(problem);
        let mut report = SolveReport {
            method: "gauss-seidel",
            ..SolveReport::default()
        };
        if params.method == Method::Newton {
            report.method = "newton";
            let warm: usize = std::env::var("WARM").map_or(20, |s| s.parse().unwrap());
            self.gauss_seidel.run(
                problem,
                &self.nodes,
                &self.contacts,
                params.tolerance,
                warm,
                v,
                r,
                |_, _| false,
            );
            let end = self.newton.run(
                problem,
                &self.nodes,
                &self.contacts,
                params.tolerance,
                100,
                v,
                r,
            );
            report.newton_iterations = end.iterations;
            report.factorisations = end.factorisations;
            report.converged = end.converged;
            report.contact_error = end.residual.contact;
            report.dynamics_error = end.residual.dynamics;
            report.worst_contact = end.residual.worst_contact;
            return Ok(report);
        }
        let end = self.gauss_seidel.run(
            problem,
            &self.nodes,
            &self.contacts,
            params.tolerance,
            params.max_sweeps,
            v,
            r,
            |_, _| false,
        );
        report.sweeps = end.count;
        report.converged = end.converged;
        report.contact_error = end.residual.contact;
        report.dynamics_error = end.residual.dynamics;
        report.worst_contact = end.residual.worst_contact;
        Ok(report)
    }
}
