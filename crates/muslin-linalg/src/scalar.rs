//! Sparse Cholesky of a scalar matrix that acts alike on x, y and z: factored once, solved very often for three
//! right-hand sides at a time.
//!
//! A solve reads the factor once for all three.

use crate::cholesky::{Analysis, Entry};
use crate::{CholeskyError, Vec3};

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
#[derive(Default)]
pub struct ScalarCholesky {
    analysis: Analysis,
    panels: Vec<f64>,
}

impl ScalarCholesky {
    /// Orders, analyses and factorises a positive definite matrix.
    pub fn new(matrix: &LowerColumns) -> Result<Self, CholeskyError> {
        let whole = matrix.whole_rows();
        let range = |row: usize| whole.start[row]..whole.start[row + 1];
        let analysis = Analysis::new(
            matrix.len(),
            |row| &whole.columns[range(row)],
            |row| whole.start[row],
            1,
        )?;
        let mut panels = vec![0.0; analysis.numbers()];
        let value = |entry: &Entry| [[matrix.values[whole.entry[entry.slot as usize]]]];
        analysis.factorise(value, &mut panels, &mut vec![0.0; analysis.memory()])?;
        Ok(Self { analysis, panels })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.analysis.order().len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers stored in the factor.
    pub fn factor_len(&self) -> usize {
        self.panels.len()
    }

    /// Solves in place; `work` is scratch memory.
    pub fn solve(&self, right_hand_side: &mut [Vec3], work: &mut Vec<Vec3>) {
        let order = self.analysis.order();
        work.clear();
        work.extend(order.iter().map(|v| right_hand_side[*v as usize]));
        work.resize(order.len() + self.analysis.rows(), Vec3::ZERO);
        let (x, passed) = work.split_at_mut(order.len());
        let solve = self.analysis.solver::<1, f64>(&self.panels);
        solve.solve::<3>(
            bytemuck::cast_slice_mut(x),
            bytemuck::cast_slice_mut(passed),
        );
        for (v, x) in order.iter().zip(x) {
            right_hand_side[*v as usize] = *x;
        }
    }
}

/// Both triangles by rows, and the stored entry of each place.
struct WholeRows {
    start: Vec<usize>,
    columns: Vec<u32>,
    entry: Vec<usize>,
}

impl LowerColumns {
    fn whole_rows(&self) -> WholeRows {
        let n = self.len();
        let mut start = vec![0; n + 1];
        for column in 0..n {
            for (row, _) in self.column(column) {
                start[row + 1] += 1;
                start[column + 1] += usize::from(row != column);
            }
        }
        for k in 0..n {
            start[k + 1] += start[k];
        }
        let mut next = start.clone();
        let mut columns = vec![0; start[n]];
        let mut entry = vec![0; start[n]];
        // By columns, so that those of each row ascend: what lies before the diagonal comes with earlier columns.
        for column in 0..n {
            let first = self.start[column] as usize;
            for (k, (row, _)) in self.column(column).enumerate() {
                for (row, column) in [(row, column), (column, row)] {
                    let at = &mut next[row];
                    (columns[*at], entry[*at]) = (column as u32, first + k);
                    *at += 1;
                    if row == column {
                        break;
                    }
                }
            }
        }
        WholeRows {
            start,
            columns,
            entry,
        }
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
