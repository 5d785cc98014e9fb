//! What the choice between sweeps and factorisations is made from: the matrix, and how the error has fallen so far.
//! Never a clock, so that a run gives the same bits on every machine.

use crate::problem::FrictionProblem;
use crate::report::COARSE;
use crate::residual::Residual;

/// Sweeps before a rate is believed, and with a coarse tolerance, whose few digits are fallen through sooner.
const FIRST_LOOK: usize = 30;
const FIRST_LOOK_COARSE: usize = 20;

/// Predicts from the errors so far whether sweeps will arrive within a budget.
pub(crate) struct Outlook {
    tolerance: f64,
    budget: f64,
    /// Sweep and least error up to it.
    seen: Vec<(usize, f64)>,
}

impl Outlook {
    /// `budget` is in sweeps.
    pub(crate) fn new(tolerance: f64, budget: f64) -> Self {
        Self {
            tolerance,
            budget,
            seen: Vec::new(),
        }
    }

    /// Whether more sweeps than the budget are still to come, at the rate of the second half of those done.
    pub(crate) fn hopeless(&mut self, sweep: usize, residual: &Residual) -> bool {
        let error = residual.merit();
        let least = self.seen.last().map_or(error, |(_, e)| e.min(error));
        self.seen.push((sweep, least));
        let first_look = if self.tolerance >= COARSE {
            FIRST_LOOK_COARSE
        } else {
            FIRST_LOOK
        };
        if sweep < first_look {
            return false;
        }
        let Some((from, then)) = self.seen.iter().rev().find(|(s, _)| 2 * s <= sweep) else {
            return false;
        };
        let decades = (then / least).ln();
        let needed = (least / self.tolerance).ln().max(0.0);
        // As a product, so that no progress at all needs no special case.
        needed * (sweep - from) as f64 > self.budget * decades
    }
}

/// Diagonal over row sum, on average over nodes without a held one next to them.
///
/// A translation does not strain anything, so what is left of a row when it is summed is mass. Next to held nodes entries
/// are missing from the sum.
pub(crate) fn stiffness_ratio(problem: &FrictionProblem) -> f64 {
    let (mut diagonal, mut mass) = (0.0, 0.0);
    let held = |n: usize| problem.free.get(n).is_some_and(|f| *f != [true; 3]);
    for n in 0..problem.pattern.rows() {
        let columns = problem.pattern.columns_of(n);
        if columns.iter().any(|m| held(*m as usize)) {
            continue;
        }
        for (slot, &m) in problem.pattern.row(n).zip(columns) {
            let block = &problem.matrix.values[slot];
            let trace = block.x_axis.x + block.y_axis.y + block.z_axis.z;
            mass += trace;
            if m as usize == n {
                diagonal += trace;
            }
        }
    }
    // A vanishing sum is rounding of a huge ratio.
    if diagonal > 0.0 {
        diagonal / mass.max(1e-12 * diagonal)
    } else {
        1.0
    }
}
