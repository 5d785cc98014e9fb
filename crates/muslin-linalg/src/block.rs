//! Square sparse matrices of 3x3 blocks in compressed rows: one block row a vertex.
//!
//! Both triangles are stored. That costs memory, but every solver of a contact problem walks whole rows,
//! and a parallel product then writes each result once.

use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Rows handled by one task of a parallel loop; fixed, so that results never depend on the thread count.
const ROWS_PER_TASK: usize = 2048;

/// More blocks than a 32-bit index can name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the matrix would need {0} blocks, more than 2^32")]
pub struct SpanTooLarge(pub usize);

/// Which blocks of a [`BlockMatrix`] exist. Built once a topology, shared by all matrices on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockPattern {
    row_start: Vec<u32>,
    columns: Vec<u32>,
}

impl BlockPattern {
    /// The pattern in which any two vertices that occur in one group are coupled, and every vertex with itself.
    ///
    /// `visit` is called twice and must hand over the same groups both times.
    pub fn from_groups(
        rows: usize,
        visit: impl Fn(&mut dyn FnMut(&[u32])),
    ) -> Result<Self, SpanTooLarge> {
        let mut start = vec![1usize; rows + 1];
        visit(&mut |group| {
            for &v in group {
                start[v as usize] += group.len();
            }
        });
        let mut total = 0;
        for s in &mut start {
            total += std::mem::replace(s, total);
        }
        let mut next = start.clone();
        let mut entries = vec![0u32; start[rows]];
        for row in 0..rows {
            entries[next[row]] = row as u32;
            next[row] += 1;
        }
        visit(&mut |group| {
            for &v in group {
                let at = &mut next[v as usize];
                entries[*at..*at + group.len()].copy_from_slice(group);
                *at += group.len();
            }
        });
        let mut row_start = Vec::with_capacity(rows + 1);
        row_start.push(0);
        let mut kept = 0;
        for row in 0..rows {
            entries[start[row]..start[row + 1]].sort_unstable();
            let first = kept;
            for k in start[row]..start[row + 1] {
                if kept == first || entries[kept - 1] != entries[k] {
                    entries[kept] = entries[k];
                    kept += 1;
                }
            }
            row_start.push(u32::try_from(kept).map_err(|_| SpanTooLarge(kept))?);
        }
        entries.truncate(kept);
        entries.shrink_to_fit();
        Ok(Self {
            row_start,
            columns: entries,
        })
    }

    /// Number of block rows.
    pub fn rows(&self) -> usize {
        self.row_start.len().saturating_sub(1)
    }

    /// Number of stored blocks.
    pub fn blocks(&self) -> usize {
        self.columns.len()
    }

    /// Range of slots that belong to a row.
    #[inline]
    pub fn row(&self, row: usize) -> std::ops::Range<usize> {
        self.row_start[row] as usize..self.row_start[row + 1] as usize
    }

    /// Columns of a row, ascending.
    #[inline]
    pub fn columns_of(&self, row: usize) -> &[u32] {
        &self.columns[self.row(row)]
    }

    /// Column of each slot.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Slot of block (row, column), if it is in the pattern.
    #[inline]
    pub fn slot(&self, row: usize, column: u32) -> Option<usize> {
        self.columns_of(row)
            .binary_search(&column)
            .ok()
            .map(|k| k + self.row_start[row] as usize)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        4 * (self.row_start.capacity() + self.columns.capacity())
    }
}

/// A symmetric matrix of 3x3 blocks on a [`BlockPattern`].
#[derive(Clone, Debug)]
pub struct BlockMatrix {
    /// One block a slot of the pattern.
    pub values: Vec<Mat3>,
}

impl BlockMatrix {
    /// All blocks zero.
    pub fn zeros(pattern: &BlockPattern) -> Self {
        Self {
            values: vec![Mat3::ZERO; pattern.blocks()],
        }
    }

    /// `out = A x`.
    pub fn multiply(&self, pattern: &BlockPattern, x: &[Vec3], out: &mut [Vec3]) {
        let one_row = |row: usize| {
            let mut sum = Vec3::ZERO;
            for slot in pattern.row(row) {
                sum += self.values[slot] * x[pattern.columns[slot] as usize];
            }
            sum
        };
        out.par_chunks_mut(ROWS_PER_TASK)
            .enumerate()
            .for_each(|(task, rows)| {
                for (k, out) in rows.iter_mut().enumerate() {
                    *out = one_row(task * ROWS_PER_TASK + k);
                }
            });
    }

    /// Diagonal block of a row.
    #[inline]
    pub fn diagonal(&self, pattern: &BlockPattern, row: usize) -> Mat3 {
        pattern
            .slot(row, row as u32)
            .map_or(Mat3::ZERO, |slot| self.values[slot])
    }
}

/// Sum of products over all components, added up in an order that does not depend on the thread count.
pub fn dot(a: &[Vec3], b: &[Vec3], partial: &mut Vec<f64>) -> f64 {
    partial.clear();
    partial.resize(a.len().div_ceil(ROWS_PER_TASK), 0.0);
    partial.par_iter_mut().enumerate().for_each(|(task, sum)| {
        let first = task * ROWS_PER_TASK;
        let last = (first + ROWS_PER_TASK).min(a.len());
        *sum = a[first..last]
            .iter()
            .zip(&b[first..last])
            .map(|(a, b)| a.dot(*b))
            .sum();
    });
    partial.iter().sum()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::outer;

    /// A chain of vertices, each coupled to its two neighbours by stiff, slanted springs.
    pub(crate) fn chain(n: usize) -> (BlockPattern, BlockMatrix) {
        let pattern = BlockPattern::from_groups(n, |group| {
            for i in 1..n as u32 {
                group(&[i - 1, i]);
            }
        })
        .unwrap();
        let mut matrix = BlockMatrix::zeros(&pattern);
        for i in 0..n {
            let slot = pattern.slot(i, i as u32).unwrap();
            matrix.values[slot] += Mat3::IDENTITY;
        }
        for i in 1..n {
            let d = Vec3::new(1.0, (i as f64).sin(), (i as f64).cos());
            let k = outer(d, d) * 7.0;
            for (a, b, sign) in [
                (i, i, 1.0),
                (i - 1, i - 1, 1.0),
                (i, i - 1, -1.0),
                (i - 1, i, -1.0),
            ] {
                let slot = pattern.slot(a, b as u32).unwrap();
                matrix.values[slot] += k * sign;
            }
        }
        (pattern, matrix)
    }

    #[test]
    fn pattern_merges_groups_and_keeps_the_diagonal() {
        let pattern = BlockPattern::from_groups(4, |group| {
            group(&[0, 1, 2]);
            group(&[2, 1]);
        })
        .unwrap();
        assert_eq!(pattern.columns_of(1), &[0, 1, 2]);
        assert_eq!(pattern.columns_of(3), &[3]);
        assert_eq!(pattern.slot(3, 0), None);
    }

    #[test]
    fn product_of_a_chain() {
        let (pattern, matrix) = chain(5000);
        let x = vec![Vec3::new(1.0, 2.0, 3.0); 5000];
        let mut out = vec![Vec3::ZERO; 5000];
        matrix.multiply(&pattern, &x, &mut out);
        // Springs do not see a translation; what is left is the identity.
        assert!(out.iter().all(|o| (*o - x[0]).length() < 1e-12));
        assert!((dot(&x, &out, &mut Vec::new()) - 14.0 * 5000.0).abs() < 1e-8);
    }
}
