//! Sparse Cholesky of a block matrix: fill-reducing order and symbolic analysis once a pattern, numbers every step.
//!
//! The order is found on the vertex graph and expanded to 3n: cheaper than on scalars, and the three rows of a
//! vertex stay together. The library runs sequentially: on these sizes two threads made it slower, and one
//! thread gives the same bits everywhere.

use crate::{BlockMatrix, BlockPattern, Vec3};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::perm::PermRef;
use faer::sparse::linalg::amd;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};

/// Why a factorisation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CholeskyError {
    /// A pivot was not positive: the matrix is indefinite or not finite.
    #[error("the matrix is not positive definite at row {row}")]
    NotPositiveDefinite {
        /// Vertex at which the elimination failed.
        row: usize,
    },
    /// The library could not analyse the pattern (out of memory, index overflow).
    #[error("the sparsity pattern could not be analysed: {0}")]
    Symbolic(String),
}

/// A factorisation bound to one pattern; refilled with numbers as often as wanted.
pub struct Cholesky {
    symbolic: SymbolicCholesky<u32>,
    column_start: Vec<u32>,
    row_index: Vec<u32>,
    matrix_values: Vec<f64>,
    factor_values: Vec<f64>,
    scratch: MemBuffer,
    flops: f64,
}

impl Cholesky {
    /// Orders and analyses a pattern.
    pub fn analyse(pattern: &BlockPattern) -> Result<Self, CholeskyError> {
        let symbolic_error = |e: faer::sparse::FaerError| CholeskyError::Symbolic(format!("{e:?}"));
        let (order, inverse, flops) = minimum_degree(pattern).map_err(symbolic_error)?;
        let (column_start, row_index) = scalar_lower_pattern(pattern);
        let n = 3 * pattern.rows();
        let lower = SymbolicSparseColMatRef::new_checked(n, n, &column_start, None, &row_index);
        let symbolic = factorize_symbolic_cholesky(
            lower,
            Side::Lower,
            SymmetricOrdering::Custom(PermRef::new_checked(&order, &inverse, n)),
            CholeskySymbolicParams::default(),
        )
        .map_err(symbolic_error)?;
        let scratch = symbolic
            .factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default())
            .or(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        Ok(Self {
            matrix_values: vec![0.0; row_index.len()],
            factor_values: vec![0.0; symbolic.len_val()],
            scratch: MemBuffer::new(scratch),
            symbolic,
            column_start,
            row_index,
            flops,
        })
    }

    /// Numeric factorisation of `matrix`, which must lie on the analysed pattern.
    pub fn factorise(
        &mut self,
        pattern: &BlockPattern,
        matrix: &BlockMatrix,
    ) -> Result<(), CholeskyError> {
        self.fill(pattern, matrix);
        let n = 3 * pattern.rows();
        let lower = SparseColMatRef::new(
            SymbolicSparseColMatRef::new_checked(n, n, &self.column_start, None, &self.row_index),
            &self.matrix_values,
        );
        self.symbolic
            .factorize_numeric_llt(
                &mut self.factor_values,
                lower,
                Side::Lower,
                LltRegularization::default(),
                Par::Seq,
                MemStack::new(&mut self.scratch),
                Default::default(),
            )
            .map(|_| ())
            .map_err(|e| {
                let faer::linalg::cholesky::llt::factor::LltError::NonPositivePivot { index } = e;
                CholeskyError::NotPositiveDefinite { row: index / 3 }
            })
    }

    /// Solves `A x = b` in place with the last factorisation.
    pub fn solve(&mut self, right_hand_side: &mut [Vec3]) {
        let flat: &mut [f64] = bytemuck::cast_slice_mut(right_hand_side);
        let n = flat.len();
        LltRef::new(&self.symbolic, &self.factor_values).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(flat, n, 1),
            Par::Seq,
            MemStack::new(&mut self.scratch),
        );
    }

    /// Solves for several right-hand sides in place, one after the other in memory: faster than one at a time.
    pub fn solve_many(&mut self, right_hand_sides: &mut [Vec3], count: usize) {
        let flat: &mut [f64] = bytemuck::cast_slice_mut(right_hand_sides);
        if count == 0 {
            return;
        }
        let n = flat.len() / count;
        let mut scratch =
            MemBuffer::new(self.symbolic.solve_in_place_scratch::<f64>(count, Par::Seq));
        LltRef::new(&self.symbolic, &self.factor_values).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(flat, n, count),
            Par::Seq,
            MemStack::new(&mut scratch),
        );
    }

    /// Multiply-adds of one numeric factorisation, estimated by the ordering.
    pub fn flops(&self) -> f64 {
        self.flops
    }

    /// Numbers stored in the factor.
    pub fn factor_len(&self) -> usize {
        self.factor_values.len()
    }

    /// A row's blocks from the diagonal on are, by symmetry, the lower part of three columns.
    fn fill(&mut self, pattern: &BlockPattern, matrix: &BlockMatrix) {
        let mut at = 0;
        for row in 0..pattern.rows() {
            let slots = pattern.row(row);
            let diagonal = pattern
                .columns_of(row)
                .partition_point(|c| (*c as usize) < row);
            let upper = &matrix.values[slots.start + diagonal..slots.end];
            for k in 0..3 {
                for (i, block) in upper.iter().enumerate() {
                    let entries = block.row(k).to_array();
                    let from = if i == 0 { k } else { 0 };
                    self.matrix_values[at..at + 3 - from].copy_from_slice(&entries[from..]);
                    at += 3 - from;
                }
            }
        }
    }
}

/// Approximate-minimum-degree order of the vertices, expanded to scalars, and the factor's multiply-adds.
fn minimum_degree(
    pattern: &BlockPattern,
) -> Result<(Vec<u32>, Vec<u32>, f64), faer::sparse::FaerError> {
    let n = pattern.rows();
    let start: Vec<u32> = (0..=n).map(|r| if r == n { pattern.blocks() } else { pattern.row(r).start } as u32).collect();
    let graph = SymbolicSparseColMatRef::new_checked(n, n, &start, None, pattern.columns());
    let (mut order, mut inverse) = (vec![0u32; n], vec![0u32; n]);
    let mut scratch = MemBuffer::new(amd::order_maybe_unsorted_scratch::<u32>(
        n,
        pattern.blocks(),
    ));
    let count = amd::order_maybe_unsorted(
        &mut order,
        &mut inverse,
        graph,
        amd::Control::default(),
        MemStack::new(&mut scratch),
    )?;
    let expand = |p: &[u32]| {
        p.iter()
            .flat_map(|v| [3 * v, 3 * v + 1, 3 * v + 2])
            .collect::<Vec<u32>>()
    };
    // A vertex stands for three scalars, so each counted product is 27 of them.
    Ok((
        expand(&order),
        expand(&inverse),
        27.0 * count.n_mult_subs_ldl + 9.0 * count.n_div,
    ))
}

/// Compressed columns of the scalar matrix's lower triangle.
fn scalar_lower_pattern(pattern: &BlockPattern) -> (Vec<u32>, Vec<u32>) {
    let mut start = vec![0u32];
    let mut rows = Vec::new();
    for row in 0..pattern.rows() {
        for k in 0..3 {
            for &column in pattern
                .columns_of(row)
                .iter()
                .filter(|c| **c as usize >= row)
            {
                let from = if column as usize == row { k } else { 0 };
                rows.extend((from..3).map(|l| 3 * column + l));
            }
            start.push(rows.len() as u32);
        }
    }
    (start, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::chain;

    #[test]
    fn solves_to_rounding_and_reuses_its_analysis() {
        let (pattern, mut matrix) = chain(300);
        let mut solver = Cholesky::analyse(&pattern).unwrap();
        for scale in [1.0, 5.0] {
            for value in &mut matrix.values {
                *value *= scale;
            }
            let x: Vec<Vec3> = (0..300)
                .map(|i| Vec3::new(1.0, f64::from(i), -2.0))
                .collect();
            let mut b = vec![Vec3::ZERO; 300];
            matrix.multiply(&pattern, &x, &mut b);
            solver.factorise(&pattern, &matrix).unwrap();
            solver.solve(&mut b);
            let error = x
                .iter()
                .zip(&b)
                .map(|(a, b)| (*a - *b).length())
                .fold(0.0, f64::max);
            assert!(error < 1e-9, "{error}");
            let mut twice = vec![Vec3::ZERO; 600];
            matrix.multiply(&pattern, &x, &mut twice[..300]);
            matrix.multiply(&pattern, &x, &mut twice[300..]);
            solver.solve_many(&mut twice, 2);
            let apart = |y: &[Vec3]| {
                let each = y.iter().zip(&x).map(|(y, x)| (*y - *x).length());
                each.fold(0.0, f64::max)
            };
            assert!(apart(&twice[..300]) < 1e-9 && apart(&twice[300..]) < 1e-9);
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let (pattern, mut matrix) = chain(10);
        let slot = pattern.slot(4, 4).unwrap();
        matrix.values[slot] = crate::Mat3::from_diagonal(Vec3::new(-1.0, 1.0, 1.0));
        let mut solver = Cholesky::analyse(&pattern).unwrap();
        assert!(matches!(
            solver.factorise(&pattern, &matrix),
            Err(CholeskyError::NotPositiveDefinite { .. })
        ));
    }
}
