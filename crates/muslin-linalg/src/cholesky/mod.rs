//! Sparse Cholesky: fill-reducing order and symbolic analysis once a pattern, numbers every step.
//!
//! Multifrontal on the graph of vertices, whose scalars stay together: nested dissection makes independent halves, so
//! that factorising and solving both use all threads, and the dense work within a front is left to the library. Tasks
//! follow from the pattern alone: the same bits for any number of threads.

mod front;
mod graph;
mod kernel;
mod order;
mod separator;
mod solve;
mod tree;

use crate::{BlockMatrix, BlockPattern, Vec3};
pub(crate) use front::Entry;
use front::Fronts;
use kernel::Real;
use pulp::Arch;
use rayon::prelude::*;
use solve::Solve;
use tree::Tree;

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
    analysis: Analysis,
    panels: Vec<f64>,
    /// The factor in single precision, if it is current.
    rounded: Vec<f32>,
    memory: Vec<f64>,
    active: Vec<bool>,
    exact: Memory<f64>,
    rough: Memory<f32>,
}

/// Right-hand sides that are solved side by side.
const SIDE_BY_SIDE: usize = 8;

impl Cholesky {
    /// Orders and analyses a pattern.
    pub fn analyse(pattern: &BlockPattern) -> Result<Self, CholeskyError> {
        let analysis = Analysis::new(
            pattern.rows(),
            |row| pattern.columns_of(row),
            |row| pattern.row(row).start,
            3,
        )?;
        Ok(Self {
            panels: vec![0.0; analysis.tree.numbers],
            rounded: Vec::new(),
            memory: vec![0.0; analysis.tree.memory],
            active: Vec::new(),
            exact: Memory::default(),
            rough: Memory::default(),
            analysis,
        })
    }

    /// Numeric factorisation of `matrix`, which must lie on the analysed pattern.
    pub fn factorise(&mut self, matrix: &BlockMatrix) -> Result<(), CholeskyError> {
        self.rounded.clear();
        let block = |entry: &Entry| {
            // A slot is of a row of the matrix; the factor is by columns.
            matrix.values[entry.slot as usize]
                .transpose()
                .to_cols_array_2d()
        };
        self.analysis
            .factorise(block, &mut self.panels, &mut self.memory)
    }

    /// Solves `A x = b` in place with the last factorisation.
    pub fn solve(&mut self, right_hand_side: &mut [Vec3]) {
        let (panels, memory) = (&self.panels, &mut self.exact);
        self.analysis
            .solve_one(panels, right_hand_side, &[], memory, |v| v, |v| v);
    }

    /// Solves with the factor rounded to single precision: about half the time, six digits. For solves that correct
    /// what an earlier one left.
    pub fn solve_roughly(&mut self, right_hand_side: &mut [Vec3]) {
        self.round();
        self.analysis.solve_one(
            &self.rounded,
            right_hand_side,
            &[],
            &mut self.rough,
            |v| v as f32,
            f64::from,
        );
    }

    /// Names the vertices that [`Self::solve_part_roughly`] is about.
    pub fn choose_part(&mut self, part: impl Fn(usize) -> bool) {
        let Analysis { tree, order, .. } = &self.analysis;
        self.active.clear();
        for node in &tree.nodes {
            let own = node.columns.clone().any(|c| part(order[c] as usize));
            let below = node.children.iter().any(|c| self.active[*c as usize]);
            self.active.push(own || below);
        }
    }

    /// [`Self::solve_roughly`] where the right-hand side is zero and the solution not wanted but at the chosen part:
    /// what hangs together without it is passed by. The solution elsewhere means nothing.
    pub fn solve_part_roughly(&mut self, right_hand_side: &mut [Vec3]) {
        self.round();
        self.analysis.solve_one(
            &self.rounded,
            right_hand_side,
            &self.active,
            &mut self.rough,
            |v| v as f32,
            f64::from,
        );
    }

    fn round(&mut self) {
        if self.rounded.is_empty() {
            let numbers = self.panels.par_iter().with_min_len(1 << 16);
            numbers
                .map(|v| *v as f32)
                .collect_into_vec(&mut self.rounded);
        }
    }

    /// Solves for several right-hand sides in place, one after the other in memory: faster than one at a time.
    pub fn solve_many(&mut self, right_hand_sides: &mut [Vec3], count: usize) {
        let n = self.analysis.order.len();
        if count == 0 || n == 0 {
            return;
        }
        let mut solution = vec![[0.0; SIDE_BY_SIDE]; 3 * n];
        let mut passed = vec![[0.0; SIDE_BY_SIDE]; 3 * self.analysis.tree.rows.len()];
        let solve = self.analysis.solver::<3, f64>(&self.panels);
        for group in right_hand_sides.chunks_mut(SIDE_BY_SIDE * n) {
            for (k, b) in group.chunks_exact(n).enumerate() {
                for (x, &v) in solution.chunks_exact_mut(3).zip(&self.analysis.order) {
                    for (x, b) in x.iter_mut().zip(b[v as usize].to_array()) {
                        x[k] = b;
                    }
                }
            }
            solve.solve(&mut solution, &mut passed);
            for (k, b) in group.chunks_exact_mut(n).enumerate() {
                for (x, &v) in solution.chunks_exact(3).zip(&self.analysis.order) {
                    b[v as usize] = Vec3::new(x[0][k], x[1][k], x[2][k]);
                }
            }
        }
    }

    /// Multiply-adds of one numeric factorisation.
    pub fn flops(&self) -> f64 {
        self.analysis.tree.products
    }

    /// Numbers stored in the factor.
    pub fn factor_len(&self) -> usize {
        self.panels.len()
    }
}

/// What is known of a factorisation before its numbers.
#[derive(Default)]
pub(crate) struct Analysis {
    tree: Tree,
    /// Vertex at each place of the elimination order.
    order: Vec<u32>,
    entries: Vec<Entry>,
    entry_start: Vec<u32>,
    arch: Arch,
}

impl Analysis {
    /// Analyses a symmetric pattern of `size` x `size` blocks given by whole rows, whose blocks are numbered from
    /// `first_slot` of a row on.
    pub(crate) fn new<'a>(
        rows: usize,
        row: impl Fn(usize) -> &'a [u32],
        first_slot: impl Fn(usize) -> usize,
        size: usize,
    ) -> Result<Self, CholeskyError> {
        let mut order = order::nested_dissection((0..rows).map(&row))
            .map_err(|e| CholeskyError::Symbolic(format!("{e:?}")))?;
        let tree = Tree::new(&mut order, &row, size);
        let mut place = vec![0u32; rows];
        for (k, &v) in order.iter().enumerate() {
            place[v as usize] = k as u32;
        }
        let (mut entries, mut entry_start) = (Vec::new(), vec![0]);
        for node in &tree.nodes {
            let below = &tree.rows[node.rows.clone()];
            let height = size * node.height();
            for column in node.columns.clone() {
                let v = order[column] as usize;
                for (k, &u) in row(v).iter().enumerate() {
                    let r = place[u as usize] as usize;
                    if r < column {
                        continue;
                    }
                    let in_front = if r < node.columns.end {
                        r - node.columns.start
                    } else {
                        node.width() + below.partition_point(|b| (*b as usize) < r)
                    };
                    let at = (column - node.columns.start) * size * height + in_front * size;
                    entries.push(Entry {
                        slot: (first_slot(v) + k) as u32,
                        at: at as u32,
                    });
                }
            }
            entry_start.push(entries.len() as u32);
        }
        Ok(Self {
            tree,
            order,
            entries,
            entry_start,
            arch: Arch::new(),
        })
    }

    /// Numbers of the factor.
    pub(crate) fn numbers(&self) -> usize {
        self.tree.numbers
    }

    /// Numbers of working memory for factorising.
    pub(crate) fn memory(&self) -> usize {
        self.tree.memory
    }

    /// Rows of all supernodes, each of which passes something on in a solve.
    pub(crate) fn rows(&self) -> usize {
        self.tree.rows.len()
    }

    /// Vertex at each place of the elimination order.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// A factor of B scalars a vertex, ready for solves.
    pub(crate) fn solver<'a, const B: usize, S>(&'a self, panels: &'a [S]) -> Solve<'a, B, S> {
        Solve {
            tree: &self.tree,
            panels,
            active: &[],
            arch: self.arch,
        }
    }

    /// Factorises B x B blocks; `block` gives the columns of one.
    pub(crate) fn factorise<const B: usize>(
        &self,
        block: impl Fn(&Entry) -> [[f64; B]; B] + Sync,
        panels: &mut [f64],
        memory: &mut [f64],
    ) -> Result<(), CholeskyError> {
        let fronts = Fronts {
            tree: &self.tree,
            entries: &self.entries,
            entry_start: &self.entry_start,
            block,
        };
        fronts
            .factorise(panels, memory)
            .map_err(|column| CholeskyError::NotPositiveDefinite {
                row: self.order[column] as usize,
            })
    }

    /// Solves for one right-hand side with a factor of three scalars a vertex.
    fn solve_one<S: Real>(
        &self,
        panels: &[S],
        right_hand_side: &mut [Vec3],
        active: &[bool],
        memory: &mut Memory<S>,
        from: impl Fn(f64) -> S,
        to: impl Fn(S) -> f64,
    ) {
        let Memory { x, passed } = memory;
        x.resize(3 * self.order.len(), [S::default()]);
        passed.resize(3 * self.tree.rows.len(), [S::default()]);
        for (x, &v) in x.chunks_exact_mut(3).zip(&self.order) {
            let b = right_hand_side[v as usize];
            (x[0][0], x[1][0], x[2][0]) = (from(b.x), from(b.y), from(b.z));
        }
        let solve = Solve::<3, S> {
            active,
            ..self.solver(panels)
        };
        solve.solve(x, passed);
        for (x, &v) in x.chunks_exact(3).zip(&self.order) {
            right_hand_side[v as usize] = Vec3::new(to(x[0][0]), to(x[1][0]), to(x[2][0]));
        }
    }
}

/// Working memory of a solve: unknowns, and what supernodes pass on.
#[derive(Default)]
struct Memory<S> {
    x: Vec<[S; 1]>,
    passed: Vec<[S; 1]>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::chain;
    use crate::{Mat3, outer};

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
            solver.factorise(&matrix).unwrap();
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

    /// Springs between pairs of vertices, held by a little mass.
    fn springs(n: u32, pairs: &[[u32; 2]]) -> (BlockPattern, BlockMatrix) {
        let pattern =
            BlockPattern::from_groups(n as usize, |group| pairs.iter().for_each(|p| group(p)))
                .unwrap();
        let mut matrix = BlockMatrix::zeros(&pattern);
        let mut add = |i: u32, j: u32, block: Mat3| {
            matrix.values[pattern.slot(i as usize, j).unwrap()] += block;
        };
        (0..n).for_each(|i| add(i, i, Mat3::from_diagonal(Vec3::new(1.0, 2.0, 3.0))));
        for (k, &[i, j]) in pairs.iter().enumerate() {
            let d = Vec3::new(1.0, (k % 5) as f64 - 2.0, (k % 3) as f64);
            // Not symmetric in itself: a block and its transpose must not be mixed up.
            let twist = Mat3::from_cols(Vec3::ZERO, Vec3::X, Vec3::ZERO) * 0.1;
            let stiff = outer(d, d) + Mat3::IDENTITY;
            add(i, i, stiff + Mat3::IDENTITY * 0.2);
            add(j, j, stiff + Mat3::IDENTITY * 0.2);
            add(i, j, twist - stiff);
            add(j, i, twist.transpose() - stiff);
        }
        (pattern, matrix)
    }

    fn graphs() -> Vec<(&'static str, u32, Vec<[u32; 2]>)> {
        let grid = |w: u32, h: u32| {
            let right = (0..h).flat_map(move |y| (1..w).map(move |x| [y * w + x - 1, y * w + x]));
            let up = (1..h).flat_map(move |y| (0..w).map(move |x| [(y - 1) * w + x, y * w + x]));
            right.chain(up).collect::<Vec<_>>()
        };
        let scattered = (0..3000u32).map(|k| [k * 7919 % 1000, k * k % 1000]);
        vec![
            ("nothing", 0, vec![]),
            ("one", 1, vec![]),
            ("alone", 400, vec![]),
            ("long", 700, (1..700).map(|i| [i - 1, i]).collect()),
            ("sheet", 2500, grid(50, 50)),
            ("strip and alone", 1500, grid(200, 5)),
            ("hub", 500, (1..500).map(|i| [0, i]).collect()),
            (
                "all with all",
                150,
                (0..150).flat_map(|i| (0..i).map(move |j| [i, j])).collect(),
            ),
            (
                "scattered",
                1000,
                scattered.filter(|[i, j]| i != j).collect(),
            ),
        ]
    }

    #[test]
    fn all_kinds_of_graphs_are_solved_with_the_same_bits_for_any_number_of_threads() {
        for (name, n, pairs) in graphs() {
            let (pattern, matrix) = springs(n, &pairs);
            let x: Vec<Vec3> = (0..n)
                .map(|i| Vec3::new(1.0, f64::from(i % 17), -0.5))
                .collect();
            let mut b = vec![Vec3::ZERO; n as usize];
            matrix.multiply(&pattern, &x, &mut b);
            let apart = |y: &[Vec3]| {
                let each = y.iter().zip(&x).map(|(y, x)| (*y - *x).length());
                each.fold(0.0, f64::max)
            };
            let mut found: Vec<[Vec<Vec3>; 2]> = Vec::new();
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                found.push(pool.build().unwrap().install(|| {
                    let mut solver = Cholesky::analyse(&pattern).unwrap();
                    solver.factorise(&matrix).unwrap();
                    let (mut exact, mut rough) = (b.clone(), b.clone());
                    solver.solve(&mut exact);
                    solver.solve_roughly(&mut rough);
                    // A part: what is elsewhere must neither count nor be asked for.
                    let part = |i: usize| i % 50 < 7;
                    solver.choose_part(part);
                    let mut whole = vec![Vec3::ZERO; b.len()];
                    let chosen = (0..b.len()).filter(|i| part(*i));
                    chosen.clone().for_each(|i| whole[i] = b[i]);
                    let mut some = whole.clone();
                    solver.solve_roughly(&mut whole);
                    solver.solve_part_roughly(&mut some);
                    assert!(chosen.clone().all(|i| some[i] == whole[i]), "{name}");
                    [exact, rough]
                }));
            }
            let [exact, rough] = &found[0];
            assert!(apart(exact) < 1e-9, "{name}: {}", apart(exact));
            assert!(apart(rough) < 1e-2, "{name}: {}", apart(rough));
            assert!(found.iter().all(|f| *f == found[0]), "{name}");
        }
    }

    #[test]
    fn a_sheet_takes_fewer_numbers_than_its_band_and_each_place_once() {
        let (_, n, pairs) = graphs().swap_remove(4);
        let (pattern, _) = springs(n, &pairs);
        let solver = Cholesky::analyse(&pattern).unwrap();
        let mut order = solver.analysis.order.clone();
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..n));
        assert!(
            solver.factor_len() < 9 * 50 * 2500 * 3 / 5,
            "{}",
            solver.factor_len()
        );
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let (pattern, mut matrix) = chain(10);
        let slot = pattern.slot(4, 4).unwrap();
        matrix.values[slot] = crate::Mat3::from_diagonal(Vec3::new(-1.0, 1.0, 1.0));
        let mut solver = Cholesky::analyse(&pattern).unwrap();
        assert!(matches!(
            solver.factorise(&matrix),
            Err(CholeskyError::NotPositiveDefinite { .. })
        ));
    }
}
