//! Conjugate gradients with the inverse of each vertex's own 3x3 block as preconditioner.
//!
//! Faster than a factorisation on large, soft or small-step systems; deterministic for any thread count.

use crate::block::dot;
use crate::{BlockMatrix, BlockPattern, Mat3, Vec3};
use rayon::prelude::*;

/// What a solve reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcgReport {
    /// Products with the matrix.
    pub iterations: usize,
    /// Largest component of the preconditioned residual, in units of the unknown.
    pub residual: f64,
    /// Whether `residual` is below the tolerance asked for.
    pub converged: bool,
}

/// Working memory, kept between solves.
#[derive(Default)]
pub struct ConjugateGradients {
    inverse_diagonal: Vec<Mat3>,
    residual: Vec<Vec3>,
    preconditioned: Vec<Vec3>,
    direction: Vec<Vec3>,
    image: Vec<Vec3>,
    partial: Vec<f64>,
}

impl ConjugateGradients {
    /// Solves `A x = b`, starting at the `x` given; stops when the largest component of `D⁻¹(b - A x)` is below
    /// `tolerance`, which has the unit of `x`.
    pub fn solve(
        &mut self,
        pattern: &BlockPattern,
        matrix: &BlockMatrix,
        b: &[Vec3],
        x: &mut [Vec3],
        tolerance: f64,
        max_iterations: usize,
    ) -> PcgReport {
        let n = b.len();
        for v in [
            &mut self.residual,
            &mut self.preconditioned,
            &mut self.direction,
            &mut self.image,
        ] {
            v.resize(n, Vec3::ZERO);
        }
        self.inverse_diagonal.resize(n, Mat3::ZERO);
        self.inverse_diagonal
            .par_iter_mut()
            .with_min_len(1024)
            .enumerate()
            .for_each(|(row, inverse)| *inverse = matrix.diagonal(pattern, row).inverse());
        matrix.multiply(pattern, x, &mut self.image);
        for i in 0..n {
            self.residual[i] = b[i] - self.image[i];
        }
        let mut largest = self.precondition();
        self.direction.copy_from_slice(&self.preconditioned);
        let mut rz = dot(&self.residual, &self.preconditioned, &mut self.partial);
        let mut iterations = 0;
        while largest > tolerance && iterations < max_iterations && rz > 0.0 {
            matrix.multiply(pattern, &self.direction, &mut self.image);
            let curvature = dot(&self.direction, &self.image, &mut self.partial);
            if curvature <= 0.0 || !curvature.is_finite() {
                break;
            }
            let alpha = rz / curvature;
            for i in 0..n {
                x[i] += alpha * self.direction[i];
                self.residual[i] -= alpha * self.image[i];
            }
            largest = self.precondition();
            let rz_next = dot(&self.residual, &self.preconditioned, &mut self.partial);
            let beta = rz_next / rz;
            rz = rz_next;
            for i in 0..n {
                self.direction[i] = self.preconditioned[i] + beta * self.direction[i];
            }
            iterations += 1;
        }
        PcgReport {
            iterations,
            residual: largest,
            converged: largest <= tolerance,
        }
    }

    /// Applies the preconditioner to the residual; returns the largest component of the result.
    fn precondition(&mut self) -> f64 {
        let mut largest: f64 = 0.0;
        for i in 0..self.residual.len() {
            self.preconditioned[i] = self.inverse_diagonal[i] * self.residual[i];
            largest = largest.max(self.preconditioned[i].abs().max_element());
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::chain;

    #[test]
    fn agrees_with_the_known_solution() {
        let (pattern, matrix) = chain(500);
        let x: Vec<Vec3> = (0..500)
            .map(|i| Vec3::new(1.0, f64::from(i) * 0.01, -2.0))
            .collect();
        let mut b = vec![Vec3::ZERO; 500];
        matrix.multiply(&pattern, &x, &mut b);
        let mut solution = vec![Vec3::ZERO; 500];
        let report =
            ConjugateGradients::default().solve(&pattern, &matrix, &b, &mut solution, 1e-12, 2000);
        assert!(report.converged);
        let error = x
            .iter()
            .zip(&solution)
            .map(|(a, b)| (*a - *b).length())
            .fold(0.0, f64::max);
        assert!(error < 1e-9, "{error}");
    }
}
