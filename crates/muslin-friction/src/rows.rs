//! Rows of the matrix in the order in which a sweep visits them: read from memory in one stream, they take half the time.

use crate::colour::Colouring;
use crate::problem::FrictionProblem;
use muslin_linalg::{Mat3, Vec3};

/// Off-diagonal blocks of every row.
#[derive(Default)]
pub(crate) struct Rows {
    /// Where a node's blocks begin and end.
    ranges: Vec<[u32; 2]>,
    blocks: Vec<(Mat3, u32)>,
}

impl Rows {
    /// Copies a problem's rows in the order of a colouring.
    pub(crate) fn copy(&mut self, problem: &FrictionProblem, colouring: &Colouring) {
        const UNSEEN: [u32; 2] = [u32::MAX; 2];
        self.ranges.clear();
        self.ranges.resize(problem.pattern.rows(), UNSEEN);
        self.blocks.clear();
        for colour in 0..colouring.len() {
            let [contacts, nodes] = colouring.ranges(colour);
            for &c in &colouring.contacts[contacts] {
                for (n, _) in problem.contacts[c as usize].arms() {
                    if self.ranges[n] == UNSEEN {
                        self.add(problem, n);
                    }
                }
            }
            for &n in &colouring.nodes[nodes] {
                self.add(problem, n as usize);
            }
        }
    }

    fn add(&mut self, problem: &FrictionProblem, n: usize) {
        let start = self.blocks.len() as u32;
        for slot in problem.pattern.row(n) {
            let column = problem.pattern.columns()[slot];
            if column as usize != n {
                self.blocks.push((problem.matrix.values[slot], column));
            }
        }
        self.ranges[n] = [start, self.blocks.len() as u32];
    }

    /// `b_n + Σ_{j≠n} A_nj v_j`.
    #[inline]
    pub(crate) fn others(&self, b: &[Vec3], v: &[Vec3], n: usize) -> Vec3 {
        let [start, end] = self.ranges[n];
        let mut sum = Vec3::ZERO;
        for (block, m) in &self.blocks[start as usize..end as usize] {
            sum += *block * v[*m as usize];
        }
        sum + b[n]
    }
}
