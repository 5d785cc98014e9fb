//! Anderson acceleration of a fixed-point map x → G(x), type II with a short window.
//!
//! Sums run over fixed chunks in index order, so the mixing weights have the same bits for any number of threads.

use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Differences remembered.
const WINDOW: usize = 5;
/// The history is dropped when the step grows by this factor.
const DIVERGENCE: f64 = 3.0;
/// Ridge of the normal equations, relative to their trace.
const RIDGE: f64 = 1e-14;
/// Entries of one task.
const PER_TASK: usize = 1024;

/// Working memory; entries are three scalars each. The caller evaluates the map at `x`, writes the value to `g` and asks
/// for the next `x`.
#[derive(Default)]
pub struct Anderson {
    /// The point the map is to be evaluated at.
    pub x: Vec<Vec3>,
    /// The map's value there.
    pub g: Vec<Vec3>,
    f: Vec<Vec3>,
    f_last: Vec<Vec3>,
    g_last: Vec<Vec3>,
    df: Vec<Vec<Vec3>>,
    dg: Vec<Vec<Vec3>>,
    gram: [[f64; WINDOW]; WINDOW],
    held: usize,
    next: usize,
    started: bool,
    size_last: f64,
    partial: Vec<f64>,
}

impl Anderson {
    /// Forgets the history and makes room for `len` entries.
    pub fn reset(&mut self, len: usize) {
        for v in [
            &mut self.x,
            &mut self.g,
            &mut self.f,
            &mut self.f_last,
            &mut self.g_last,
        ] {
            v.resize(len, Vec3::ZERO);
        }
        self.df.resize(WINDOW, Vec::new());
        self.dg.resize(WINDOW, Vec::new());
        for v in self.df.iter_mut().chain(&mut self.dg) {
            v.resize(len, Vec3::ZERO);
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.held = 0;
        self.next = 0;
        self.started = false;
    }

    /// Turns `x` and `g = G(x)` into the next `x`.
    pub fn mix(&mut self) {
        for ((f, g), x) in self.f.iter_mut().zip(&self.g).zip(&self.x) {
            *f = *g - *x;
        }
        let size = dot(&self.f, &self.f, &mut self.partial).sqrt();
        if !size.is_finite() || (self.started && size > DIVERGENCE * self.size_last) {
            self.forget();
        }
        self.size_last = size;
        if self.started {
            self.remember();
        }
        self.started = true;
        self.f_last.copy_from_slice(&self.f);
        self.g_last.copy_from_slice(&self.g);
        self.x.copy_from_slice(&self.g);
        if self.held > 0 {
            let gamma = self.weights();
            for (dg, gamma) in self.dg.iter().zip(gamma).take(self.held) {
                for (x, dg) in self.x.iter_mut().zip(dg) {
                    *x -= gamma * *dg;
                }
            }
        }
    }

    fn remember(&mut self) {
        let k = self.next;
        self.next = (self.next + 1) % WINDOW;
        self.held = (self.held + 1).min(WINDOW);
        for i in 0..self.f.len() {
            self.df[k][i] = self.f[i] - self.f_last[i];
            self.dg[k][i] = self.g[i] - self.g_last[i];
        }
        for j in 0..self.held {
            let product = dot(&self.df[k], &self.df[j], &mut self.partial);
            self.gram[k][j] = product;
            self.gram[j][k] = product;
        }
    }

    /// Least squares of f by the remembered differences.
    fn weights(&mut self) -> [f64; WINDOW] {
        let n = self.held;
        let mut a = self.gram;
        let mut y = [0.0; WINDOW];
        let trace: f64 = (0..n).map(|i| a[i][i]).sum();
        for i in 0..n {
            y[i] = dot(&self.df[i], &self.f, &mut self.partial);
            a[i][i] += RIDGE * trace + f64::MIN_POSITIVE;
        }
        // Cholesky; a column that depends on the others is left out.
        let mut used = [true; WINDOW];
        for i in 0..n {
            let mut pivot = a[i][i];
            for k in 0..i {
                pivot -= a[i][k] * a[i][k];
            }
            if pivot <= RIDGE * trace {
                used[i] = false;
                for k in 0..n {
                    a[i][k] = 0.0;
                    if k > i {
                        a[k][i] = 0.0;
                    }
                }
                continue;
            }
            a[i][i] = pivot.sqrt();
            for j in i + 1..n {
                let mut sum = a[j][i];
                for k in 0..i {
                    sum -= a[j][k] * a[i][k];
                }
                a[j][i] = sum / a[i][i];
            }
        }
        for i in 0..n {
            for k in 0..i {
                y[i] -= a[i][k] * y[k];
            }
            y[i] = if used[i] { y[i] / a[i][i] } else { 0.0 };
        }
        for i in (0..n).rev() {
            for k in i + 1..n {
                y[i] -= a[k][i] * y[k];
            }
            y[i] = if used[i] { y[i] / a[i][i] } else { 0.0 };
        }
        y
    }
}

/// Sum of products in an order that does not depend on the thread count.
pub fn dot(a: &[Vec3], b: &[Vec3], partial: &mut Vec<f64>) -> f64 {
    let chunk = |a: &[Vec3], b: &[Vec3]| -> f64 { a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum() };
    partial.clear();
    if a.len() <= 16 * PER_TASK {
        partial.extend(
            a.chunks(PER_TASK)
                .zip(b.chunks(PER_TASK))
                .map(|(a, b)| chunk(a, b)),
        );
    } else {
        partial.resize(a.len().div_ceil(PER_TASK), 0.0);
        partial
            .par_iter_mut()
            .zip(a.par_chunks(PER_TASK).zip(b.par_chunks(PER_TASK)))
            .for_each(|(sum, (a, b))| *sum = chunk(a, b));
    }
    partial.iter().sum()
}
