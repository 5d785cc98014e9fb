//! Our factorisation against a bare call of the library on the same matrix. Prints a Markdown table.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Conj, MatMut, Par, Side};
use muslin_linalg::{BlockMatrix, BlockPattern, Cholesky, Mat3, Vec3, outer};
use std::time::Instant;

/// A sheet of n x n squares, coupled as triangles and hinges couple it.
fn sheet(n: u32) -> (BlockPattern, BlockMatrix) {
    let id = |i: u32, j: u32| i * (n + 1) + j;
    let pattern = BlockPattern::from_groups(((n + 1) * (n + 1)) as usize, |group| {
        for i in 0..n {
            for j in 0..n {
                group(&[id(i, j), id(i + 1, j), id(i, j + 1), id(i + 1, j + 1)]);
                if i > 0 {
                    group(&[id(i, j), id(i, j + 1), id(i - 1, j), id(i + 1, j + 1)]);
                }
                if j > 0 {
                    group(&[id(i, j), id(i + 1, j), id(i, j - 1), id(i + 1, j + 1)]);
                }
            }
        }
    })
    .unwrap();
    let mut matrix = BlockMatrix::zeros(&pattern);
    for row in 0..pattern.rows() {
        let mut diagonal = Mat3::IDENTITY;
        for slot in pattern.row(row) {
            let column = pattern.columns()[slot] as usize;
            if column != row {
                let d =
                    Vec3::new((row + column) as f64, (row * column % 7) as f64, 1.0).normalize();
                let k = outer(d, d) * 20.0;
                matrix.values[slot] = -k;
                diagonal += k;
            }
        }
        let slot = pattern.slot(row, row as u32).unwrap();
        matrix.values[slot] = diagonal;
    }
    (pattern, matrix)
}

fn best(repetitions: usize, mut work: impl FnMut()) -> f64 {
    (0..repetitions)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64() * 1e3
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    println!(
        "| triangles | order and analyse, ms | library's own, ms | factorise, one thread, ms | two | library's own, one | 1e9 products a second | solve, one thread, ms | two | single precision, one | two | library's own, one | 1e6 numbers | library's own |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for n in [50u32, 100, 200] {
        let (pattern, matrix) = sheet(n);
        let mut ours = Cholesky::analyse(&pattern).unwrap();
        let analyse = best(3, || ours = Cholesky::analyse(&pattern).unwrap());
        let mut times = Vec::new();
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let mut b = vec![Vec3::ONE; pattern.rows()];
                times.push([
                    best(5, || ours.factorise(&matrix).unwrap()),
                    best(5, || ours.solve(&mut b)),
                    best(5, || ours.solve_roughly(&mut b)),
                ]);
            });
        }

        let size = 3 * pattern.rows();
        let mut triplets = Vec::new();
        for row in 0..pattern.rows() {
            for slot in pattern.row(row) {
                let column = pattern.columns()[slot] as usize;
                for k in 0..3 {
                    for l in 0..3 {
                        let (r, c) = (3 * row + k, 3 * column + l);
                        if r >= c {
                            triplets.push(Triplet::new(
                                r as u32,
                                c as u32,
                                matrix.values[slot].col(l)[k],
                            ));
                        }
                    }
                }
            }
        }
        let lower = SparseColMat::<u32, f64>::try_new_from_triplets(size, size, &triplets).unwrap();
        let analyse_bare = || {
            factorize_symbolic_cholesky(
                lower.symbolic(),
                Side::Lower,
                SymmetricOrdering::Amd,
                CholeskySymbolicParams::default(),
            )
            .unwrap()
        };
        let mut symbolic = analyse_bare();
        let order = best(3, || symbolic = analyse_bare());
        let mut values = vec![0.0; symbolic.len_val()];
        let mut scratch = MemBuffer::new(
            symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default()),
        );
        let bare = best(5, || {
            symbolic
                .factorize_numeric_llt(
                    &mut values,
                    lower.as_ref(),
                    Side::Lower,
                    Default::default(),
                    Par::Seq,
                    MemStack::new(&mut scratch),
                    Default::default(),
                )
                .unwrap();
        });
        let mut b = vec![1.0; size];
        let mut scratch = MemBuffer::new(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        let bare_solve = best(5, || {
            LltRef::new(&symbolic, &values).solve_in_place_with_conj(
                Conj::No,
                MatMut::from_column_major_slice_mut(&mut b, size, 1),
                Par::Seq,
                MemStack::new(&mut scratch),
            );
        });
        let [one, two] = [times[0], times[1]];
        println!(
            "| {} | {analyse:.0} | {order:.0} | {:.1} | {:.1} | {bare:.1} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} | {bare_solve:.2} | {:.1} | {:.1} |",
            2 * n * n,
            one[0],
            two[0],
            ours.flops() / one[0] / 1e6,
            one[1],
            two[1],
            one[2],
            two[2],
            1e-6 * ours.factor_len() as f64,
            1e-6 * values.len() as f64,
        );
    }
}
