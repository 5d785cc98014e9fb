//! One symmetric positive definite system a step: factorised or iterated, whichever is estimated to be faster.
//!
//! The estimate uses only the matrix, never a clock, so the same scene takes the same way on every machine.

use crate::scene::LinearSolver;
use muslin_linalg::{BlockMatrix, BlockPattern, Cholesky, CholeskyError, ConjugateGradients, Vec3};

/// A reusable solver for systems on one pattern.
#[derive(Default)]
pub struct LinearSystem {
    revision: Option<u64>,
    cholesky: Option<Cholesky>,
    gradients: ConjugateGradients,
    last: &'static str,
}

/// What one solve took.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinearReport {
    /// Which solver was used.
    pub solver: &'static str,
    /// Iterations; 0 for a factorisation.
    pub iterations: usize,
    /// Whether conjugate gradients reached their tolerance; always for a factorisation.
    pub converged: bool,
    /// Seconds spent on the factorisation, numeric and, if it was needed, symbolic.
    pub factorise: f64,
}

// Measured with the `cholesky` and `step` benches: multiply-adds a second of the factorisation and of its triangular
// solves on one core, and of block products on two. Only their ratios matter.
const FACTOR_RATE: f64 = 12e9;
const SOLVE_RATE: f64 = 1.6e9;
const PRODUCT_RATE: f64 = 2.5e9;
/// Iterations over digits and the root of the stiffness ratio: 60, 96 and 336 were counted where this gives 75, 111 and
/// 320 (denim, 20,000 triangles, steps of 0.5, 1 and 5 ms).
const ITERATIONS: f64 = 0.18;

impl LinearSystem {
    /// Solves `A x = b`; `x` holds the start on entry. `mass` are the diagonal's inertial parts; `tolerance` has the
    /// unit of `x`. `revision` tells when the pattern changed.
    #[allow(clippy::too_many_arguments)]
    pub fn solve(
        &mut self,
        choice: LinearSolver,
        revision: u64,
        pattern: &BlockPattern,
        matrix: &BlockMatrix,
        mass: &[f64],
        b: &[Vec3],
        x: &mut [Vec3],
        tolerance: f64,
    ) -> Result<LinearReport, CholeskyError> {
        if self.revision != Some(revision) {
            self.cholesky = None;
            self.revision = Some(revision);
        }
        let started = std::time::Instant::now();
        let iterate = match choice {
            LinearSolver::Cg => true,
            LinearSolver::Cholesky => false,
            LinearSolver::Auto => {
                let analysed = match &mut self.cholesky {
                    Some(c) => c,
                    None => self.cholesky.insert(Cholesky::analyse(pattern)?),
                };
                iterating_is_faster(analysed, pattern, matrix, mass, tolerance)
            }
        };
        if iterate {
            self.last = "cg";
            let limit = 10 * (100 + b.len());
            let report = self
                .gradients
                .solve(pattern, matrix, b, x, tolerance, limit.min(20_000));
            return Ok(LinearReport {
                solver: "cg",
                iterations: report.iterations,
                converged: report.converged,
                factorise: 0.0,
            });
        }
        let cholesky = match &mut self.cholesky {
            Some(c) => c,
            None => self.cholesky.insert(Cholesky::analyse(pattern)?),
        };
        cholesky.factorise(matrix)?;
        let factorise = started.elapsed().as_secs_f64();
        x.copy_from_slice(b);
        cholesky.solve(x);
        self.last = "cholesky";
        Ok(LinearReport {
            solver: "cholesky",
            iterations: 0,
            converged: true,
            factorise,
        })
    }

    /// Solves another right-hand side with the matrix of the last factorisation, if there was one.
    pub fn factor(&mut self) -> Option<&mut Cholesky> {
        if self.last == "cholesky" {
            self.cholesky.as_mut()
        } else {
            None
        }
    }
}

/// Compares estimated costs.
fn iterating_is_faster(
    analysed: &Cholesky,
    pattern: &BlockPattern,
    matrix: &BlockMatrix,
    mass: &[f64],
    tolerance: f64,
) -> bool {
    let mut stiffest: f64 = 1.0;
    for (row, m) in mass.iter().enumerate() {
        let d = matrix.diagonal(pattern, row);
        stiffest = stiffest.max((d.x_axis.x + d.y_axis.y + d.z_axis.z) / (3.0 * m));
    }
    // The error of conjugate gradients falls by about exp(-2/√condition) an iteration; the condition of the
    // preconditioned matrix is of the order of the largest stiffness-to-mass ratio.
    let digits = (1.0 / tolerance).ln().max(1.0);
    let iterations = ITERATIONS * digits * stiffest.sqrt();
    let product = 9.0 * pattern.blocks() as f64 + 30.0 * pattern.rows() as f64;
    let iterate = iterations * product / PRODUCT_RATE;
    let direct = analysed.flops() / FACTOR_RATE + 2.0 * analysed.factor_len() as f64 / SOLVE_RATE;
    iterate < direct
}
