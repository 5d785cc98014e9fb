//! Block matrices from rows, columns and values, as other programs keep sparse matrices.

use crate::{BlockMatrix, BlockPattern, Mat3, SpanTooLarge};

/// Entries that do not make a symmetric matrix.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TripletError {
    /// Rows, columns and values differ in number.
    #[error(
        "there are {rows} rows, {columns} columns and {values} values; one of each makes an entry"
    )]
    Lengths {
        /// Row indices.
        rows: usize,
        /// Column indices.
        columns: usize,
        /// Values.
        values: usize,
    },
    /// An entry outside the matrix.
    #[error("entry {entry} is at ({row}, {column}), outside of a matrix of {size} by {size}")]
    Outside {
        /// Number of the entry.
        entry: usize,
        /// Its row.
        row: i64,
        /// Its column.
        column: i64,
        /// Rows of the matrix.
        size: usize,
    },
    /// NaN or infinity.
    #[error("entry {entry}, at ({row}, {column}), is not a finite number")]
    NotFinite {
        /// Number of the entry.
        entry: usize,
        /// Its row.
        row: i64,
        /// Its column.
        column: i64,
    },
    /// The two triangles differ.
    #[error(
        "the matrix is not symmetric: ({row}, {column}) holds {here:e}, ({column}, {row}) {mirrored:e}; give both triangles"
    )]
    NotSymmetric {
        /// A row.
        row: usize,
        /// A column.
        column: usize,
        /// What is there.
        here: f64,
        /// What is at the mirrored place.
        mirrored: f64,
    },
    /// Too large for its indices.
    #[error(transparent)]
    Span(#[from] SpanTooLarge),
}

/// Difference of mirrored entries, relative to the larger, that passes for rounding.
const ROUNDING: f64 = 1e-9;

/// A symmetric matrix of `3 nodes` rows from its entries in any order; entries of the same place are added. Mirrored
/// entries that differ by rounding are replaced by their mean.
pub fn symmetric_from_triplets(
    nodes: usize,
    rows: &[i64],
    columns: &[i64],
    values: &[f64],
) -> Result<(BlockPattern, BlockMatrix), TripletError> {
    if rows.len() != values.len() || columns.len() != values.len() {
        return Err(TripletError::Lengths {
            rows: rows.len(),
            columns: columns.len(),
            values: values.len(),
        });
    }
    let size = 3 * nodes;
    for (entry, value) in values.iter().enumerate() {
        let (row, column) = (rows[entry], columns[entry]);
        let inside = |i: i64| usize::try_from(i).is_ok_and(|i| i < size);
        if !inside(row) || !inside(column) {
            return Err(TripletError::Outside {
                entry,
                row,
                column,
                size,
            });
        }
        if !value.is_finite() {
            return Err(TripletError::NotFinite { entry, row, column });
        }
    }
    let node = |i: i64| (i / 3) as u32;
    let pattern = BlockPattern::from_groups(nodes, |group| {
        for (i, j) in rows.iter().zip(columns) {
            if node(*i) != node(*j) {
                group(&[node(*i), node(*j)]);
            }
        }
    })?;
    let mut matrix = BlockMatrix::zeros(&pattern);
    for ((i, j), value) in rows.iter().zip(columns).zip(values) {
        // The pattern was made of these entries.
        if let Some(slot) = pattern.slot(node(*i) as usize, node(*j)) {
            matrix.values[slot].col_mut((j % 3) as usize)[(i % 3) as usize] += value;
        }
    }
    symmetrise(&pattern, &mut matrix)?;
    Ok((pattern, matrix))
}

fn symmetrise(pattern: &BlockPattern, matrix: &mut BlockMatrix) -> Result<(), TripletError> {
    for row in 0..pattern.rows() {
        for slot in pattern.row(row) {
            let column = pattern.columns()[slot] as usize;
            let Some(other) = pattern.slot(column, row as u32).filter(|_| column >= row) else {
                continue;
            };
            let (here, there) = (matrix.values[slot], matrix.values[other].transpose());
            for (c, r) in (0..9).map(|k| (k / 3, k % 3)) {
                let (a, b) = (here.col(c)[r], there.col(c)[r]);
                if (a - b).abs() > ROUNDING * a.abs().max(b.abs()) {
                    return Err(TripletError::NotSymmetric {
                        row: 3 * row + r,
                        column: 3 * column + c,
                        here: a,
                        mirrored: b,
                    });
                }
            }
            let mean: Mat3 = (here + there) * 0.5;
            matrix.values[slot] = mean;
            matrix.values[other] = mean.transpose();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_add_up_and_both_triangles_are_needed() {
        let (i, j) = ([0, 0, 1, 4, 0], [0, 4, 1, 0, 0]);
        let (pattern, matrix) =
            symmetric_from_triplets(2, &i, &j, &[1.0, 2.0, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!(matrix.diagonal(&pattern, 0).col(0)[0], 6.0);
        let slot = pattern.slot(0, 1).unwrap();
        assert_eq!(matrix.values[slot].col(1)[0], 2.0);
        let upper = symmetric_from_triplets(2, &i[..3], &j[..3], &[1.0, 2.0, 3.0]);
        assert!(matches!(upper, Err(TripletError::NotSymmetric { .. })));
    }

    #[test]
    fn bad_entries_are_refused() {
        let bad = |i: i64, j: i64, v: f64| symmetric_from_triplets(2, &[i], &[j], &[v]).is_err();
        assert!(bad(-1, 0, 1.0) && bad(0, 6, 1.0) && bad(0, 0, f64::NAN));
        assert!(symmetric_from_triplets(2, &[0, 1], &[0], &[1.0]).is_err());
        assert!(symmetric_from_triplets(0, &[], &[], &[]).is_ok());
    }
}
