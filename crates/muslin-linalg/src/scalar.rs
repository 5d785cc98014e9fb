//! Sparse Cholesky of a scalar matrix that acts alike on x, y and z: factored once, solved very often for three
//! right-hand sides at a time.
//!
//! A solve reads the factor once for all three, and in one stream. That is why the factor is kept in plain columns
//! rather than in the library's blocks: those pay for factorising, which here is rare.

use crate::{CholeskyError, Vec3};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, LltRegularization};
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholeskyRaw, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Par, Side};

/// Lower triangle of a symmetric scalar matrix by columns, rows ascending, the diagonal first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LowerColumns {
    /// Where each column starts; one more entry than columns.
    pub start: Vec<u32>,
    /// Row of each entry.
    pub rows: Vec<u32>,
    /// Value of each entry.
    pub values: Vec<f64>,
}

impl LowerColumns {
    /// Adds up entries (row, column, value) of the lower triangle of an `n` x `n` matrix; entries that occur several
    /// times are summed in the order in which they come.
    pub fn from_entries(n: usize, entries: &mut [(u32, u32, f64)]) -> Self {
        // Stable, so that the order of a sum is that of the list.
        entries.sort_by_key(|(row, column, _)| (*column, *row));
        let mut matrix = Self {
            start: vec![0; n + 1],
            rows: Vec::with_capacity(entries.len() / 2),
            values: Vec::with_capacity(entries.len() / 2),
        };
        let mut last = None;
        for &(row, column, value) in entries.iter() {
            if last == Some((row, column))
                && let Some(sum) = matrix.values.last_mut()
            {
                *sum += value;
                continue;
            }
            last = Some((row, column));
            matrix.rows.push(row);
            matrix.values.push(value);
            matrix.start[column as usize + 1] += 1;
        }
        for k in 0..n {
            matrix.start[k + 1] += matrix.start[k];
        }
        matrix
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entries of a column: rows and values.
    pub fn column(&self, column: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.start[column] as usize..self.start[column + 1] as usize;
        let rows = self.rows[range.clone()].iter();
        rows.zip(&self.values[range])
            .map(|(r, v)| (*r as usize, *v))
    }

    /// The product with a vector, both triangles.
    pub fn multiply(&self, x: &[Vec3], out: &mut Vec<Vec3>) {
        out.clear();
        out.resize(x.len(), Vec3::ZERO);
        for column in 0..self.len() {
            for (row, value) in self.column(column) {
                out[row] += x[column] * value;
                if row != column {
                    out[column] += x[row] * value;
                }
            }
        }
    }
}

/// A factor of a scalar matrix.
#[derive(Clone, Debug, Default)]
pub struct ScalarCholesky {
    /// Vertex at each place of the elimination order.
    order: Vec<u32>,
    start: Vec<u32>,
    /// Rows and values below the diagonal, side by side.
    below: Vec<(u32, f64)>,
    inverse_diagonal: Vec<f64>,
}

impl ScalarCholesky {
    /// Orders, analyses and factorises a positive definite matrix.
    pub fn new(matrix: &LowerColumns) -> Result<Self, CholeskyError> {
        let n = matrix.len();
        if n == 0 {
            return Ok(Self::default());
        }
        let symbolic_error = |e: faer::sparse::FaerError| CholeskyError::Symbolic(format!("{e:?}"));
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &matrix.start, None, &matrix.rows);
        let symbolic = factorize_symbolic_cholesky(
            pattern,
            Side::Lower,
            SymmetricOrdering::Amd,
            CholeskySymbolicParams {
                supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SIMPLICIAL,
                ..Default::default()
            },
        )
        .map_err(symbolic_error)?;
        let mut values = vec![0.0; symbolic.len_val()];
        let mut scratch = MemBuffer::new(
            symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default()),
        );
        symbolic
            .factorize_numeric_llt(
                &mut values,
                SparseColMatRef::new(pattern, &matrix.values),
                Side::Lower,
                LltRegularization::default(),
                Par::Seq,
                MemStack::new(&mut scratch),
                Default::default(),
            )
            .map_err(
                |LltError::NonPositivePivot { index }| CholeskyError::NotPositiveDefinite {
                    row: index,
                },
            )?;
        let SymbolicCholeskyRaw::Simplicial(factor) = symbolic.raw() else {
            return Err(CholeskyError::Symbolic("columns were asked for".into()));
        };
        let order = symbolic
            .perm()
            .map_or_else(|| (0..n as u32).collect(), |perm| perm.arrays().0.to_vec());
        let (columns, rows) = (factor.col_ptr(), factor.row_idx());
        let mut solver = Self {
            order,
            start: vec![0],
            below: Vec::with_capacity(values.len() - n),
            inverse_diagonal: Vec::with_capacity(n),
        };
        for column in 0..n {
            let range = columns[column] as usize..columns[column + 1] as usize;
            for k in range {
                if rows[k] as usize == column {
                    solver.inverse_diagonal.push(values[k].recip());
                } else {
                    solver.below.push((rows[k], values[k]));
                }
            }
            solver.start.push(solver.below.len() as u32);
        }
        Ok(solver)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Numbers below the diagonal of the factor.
    pub fn factor_len(&self) -> usize {
        self.below.len()
    }

    /// Solves in place; `work` is scratch memory.
    pub fn solve(&self, right_hand_side: &mut [Vec3], work: &mut Vec<Vec3>) {
        work.clear();
        work.extend(self.order.iter().map(|v| right_hand_side[*v as usize]));
        for column in 0..self.order.len() {
            let y = work[column] * self.inverse_diagonal[column];
            work[column] = y;
            for &(row, value) in self.entries(column) {
                work[row as usize] -= y * value;
            }
        }
        for column in (0..self.order.len()).rev() {
            let mut y = work[column];
            for &(row, value) in self.entries(column) {
                y -= work[row as usize] * value;
            }
            work[column] = y * self.inverse_diagonal[column];
        }
        for (v, y) in self.order.iter().zip(work.iter()) {
            right_hand_side[*v as usize] = *y;
        }
    }

    fn entries(&self, column: usize) -> &[(u32, f64)] {
        &self.below[self.start[column] as usize..self.start[column + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of springs with some mass, its entries in no order and in pieces.
    fn grid(side: u32) -> LowerColumns {
        let n = side * side;
        let mut entries = Vec::new();
        for i in (0..n).rev() {
            entries.push((i, i, 0.1));
            let right = (i % side + 1 < side).then_some(i + 1);
            let up = (i + side < n).then_some(i + side);
            for j in right.into_iter().chain(up) {
                entries.extend([(i, i, 1.0), (j, j, 1.0), (j, i, -1.0)]);
            }
        }
        LowerColumns::from_entries(n as usize, &mut entries)
    }

    #[test]
    fn solves_to_rounding_for_three_right_hand_sides() {
        let matrix = grid(30);
        let solver = ScalarCholesky::new(&matrix).unwrap();
        let x: Vec<Vec3> = (0..900)
            .map(|i| Vec3::new(f64::from(i % 7), 1.0, -f64::from(i % 11)))
            .collect();
        let (mut b, mut work) = (Vec::new(), Vec::new());
        matrix.multiply(&x, &mut b);
        solver.solve(&mut b, &mut work);
        let apart = x.iter().zip(&b).map(|(x, b)| (*x - *b).length());
        assert!(apart.fold(0.0, f64::max) < 1e-10);
        assert!(solver.factor_len() > 900 && solver.len() == 900);
    }

    #[test]
    fn an_indefinite_matrix_is_refused_and_an_empty_one_is_not() {
        let mut matrix = grid(4);
        matrix.values[0] = -1.0;
        assert!(matches!(
            ScalarCholesky::new(&matrix),
            Err(CholeskyError::NotPositiveDefinite { .. })
        ));
        let empty = LowerColumns::from_entries(0, &mut []);
        assert!(ScalarCholesky::new(&empty).unwrap().is_empty() && empty.is_empty());
    }
}
