//! What is asked of a solve, and what it says about itself.

use crate::residual::Residual;

/// How to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Chosen from the problem, and changed when it stalls.
    #[default]
    Auto,
    /// Coloured Gauss-Seidel with Anderson acceleration: soft cloth, any number of contacts.
    GaussSeidel,
    /// Splitting with a matrix factored once: stiff sheets, stacks, cards.
    Admm,
    /// Semismooth Newton: stiff systems.
    Newton,
    /// Gauss-Seidel on the system condensed to its contacts: stiff bodies with few contacts. Memory grows with their
    /// square.
    Condensed,
}

/// Tolerances from here on, m/s, are for cloth that is thrown about: nobody will see slow motions of it drift.
pub(crate) const COARSE: f64 = 1e-4;

/// What is asked of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveParams {
    /// Both errors must fall below this, m/s.
    pub tolerance: f64,
    /// How.
    pub method: Method,
    /// Budget of Gauss-Seidel sweeps.
    pub max_sweeps: usize,
    /// Budget of Newton's factorisations.
    pub max_factorisations: usize,
    /// Budget of splitting iterations.
    pub max_admm_iterations: usize,
    /// Whether the start is an answer but for a few contacts: with a coarse tolerance sweeps then come before splitting, however
    /// many contacts there are.
    pub nearly_solved: bool,
    /// Whether contacts had to yield in nearly the same problem: with a coarse tolerance those that are likely jammed then
    /// do so at once.
    pub jams: bool,
    /// Budget of work in all, see [`SolveReport::work`]. A pass of splitting is made even if none is left.
    pub max_work: usize,
}

/// Sweeps that take about the time of a splitting iteration, and of a factorisation.
pub(crate) const ITERATION: usize = 4;
pub(crate) const FACTORISATION: usize = 30;

impl SolveParams {
    /// Whether so little is asked for that patience with the last digits would be wasted.
    pub fn coarse(&self) -> bool {
        self.tolerance >= COARSE
    }
}

impl Default for SolveParams {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            method: Method::Auto,
            max_sweeps: 1000,
            max_factorisations: 100,
            max_admm_iterations: 800,
            nearly_solved: false,
            jams: false,
            max_work: usize::MAX,
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
    /// Largest of both errors scaled by the diagonal of the matrix instead of masses, m/s.
    pub local_error: f64,
    /// Contact with the largest error.
    pub worst_contact: Option<usize>,
    /// Gauss-Seidel sweeps.
    pub sweeps: usize,
    /// Sweeps over contacts alone, on the system condensed to them.
    pub dual_sweeps: usize,
    /// Splitting iterations.
    pub admm_iterations: usize,
    /// Newton iterations.
    pub newton_iterations: usize,
    /// Numeric factorisations.
    pub factorisations: usize,
    /// The way taken.
    pub method: String,
    /// Contacts that cannot all be obeyed, ascending: they were made to yield, or nothing can move them.
    pub yielding: Vec<u32>,
}

impl SolveReport {
    /// What had to fall below the tolerance, m/s; see [`Residual::merit`].
    pub fn merit(&self) -> f64 {
        self.reached().merit()
    }

    /// Work done, in sweeps: counted, not timed, so that what it decides is the same on every machine.
    pub fn work(&self) -> usize {
        self.sweeps + ITERATION * self.admm_iterations + FACTORISATION * self.factorisations
    }

    /// See [`Residual::strict`].
    pub(crate) fn strict(&self) -> f64 {
        self.reached().strict()
    }

    fn reached(&self) -> Residual {
        Residual {
            contact: self.contact_error,
            dynamics: self.dynamics_error,
            local: self.local_error,
            worst_contact: self.worst_contact,
            worst_node: None,
        }
    }

    /// The answer is that of an earlier time; the work done since then stays on the account.
    pub(crate) fn go_back_to(&mut self, before: &Self) {
        self.record(&before.reached(), before.converged);
    }

    /// What the last stage reached.
    pub(crate) fn record(&mut self, residual: &Residual, converged: bool) {
        self.converged = converged;
        self.contact_error = residual.contact;
        self.dynamics_error = residual.dynamics;
        self.local_error = residual.local;
        self.worst_contact = residual.worst_contact;
    }

    /// Names of the methods that took part.
    pub(crate) fn way(&self) -> String {
        let parts = [
            (self.sweeps > 1, "gauss-seidel"),
            (self.dual_sweeps > 0, "condensed"),
            (self.newton_iterations > 0, "newton"),
            (self.admm_iterations > 0, "admm"),
        ];
        let used = parts.iter().filter(|(used, _)| *used);
        let names: Vec<&str> = used.map(|(_, name)| *name).collect();
        if names.is_empty() {
            "gauss-seidel".into()
        } else {
            names.join("+")
        }
    }
}
