//! What the choice between sweeps and factorisations is made from: the matrix, and how the error has fallen so far.
//! Never a clock, so that a run gives the same bits on every machine.

use crate::problem::FrictionProblem;
use crate::residual::Residual;
use muslin_linalg::Vec3;

/// Sweeps before a rate is believed.
const FIRST_LOOK: usize = 20;

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
        let error = residual.contact.max(residual.dynamics);
        let least = self.seen.last().map_or(error, |(_, e)| e.min(error));
        self.seen.push((sweep, least));
        if sweep < FIRST_LOOK {
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

/// Mean over free nodes of diagonal over row sum.
///
/// A translation does not strain anything, so what is left of a row when it is summed is mass. Rows coupled to held nodes
/// are stiff even so and count as soft, which errs to the side of sweeps.
pub(crate) fn stiffness_ratio(problem: &FrictionProblem) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for n in 0..problem.pattern.rows() {
        if problem.free.get(n).is_some_and(|f| *f != [true; 3]) {
            continue;
        }
        let mut row = Vec3::ZERO;
        for slot in problem.pattern.row(n) {
            let block = &problem.matrix.values[slot];
            row += Vec3::new(block.x_axis.x, block.y_axis.y, block.z_axis.z);
        }
        let block = problem.matrix.diagonal(problem.pattern, n);
        let diagonal = block.x_axis.x + block.y_axis.y + block.z_axis.z;
        // A vanishing row sum is rounding of a huge ratio.
        sum += diagonal / row.element_sum().max(1e-12 * diagonal);
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { 1.0 }
}
