//! Anderson acceleration of a fixed-point map x → G(x), type II with a short window.
//!
//! Sums run over fixed chunks in index order, so the mixing weights have the same bits for any number of threads.

use muslin_linalg::{ShortVec3, Vec3};
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
    /// In single precision: reading them is most of the work.
    df: Vec<Vec<ShortVec3>>,
    dg: Vec<Vec<ShortVec3>>,
    gram: [[f64; WINDOW]; WINDOW],
    held: usize,
    next: usize,
    started: bool,
    size_last: f64,
    partial: Vec<Sums>,
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
            v.resize(len, ShortVec3::ZERO);
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.held = 0;
        self.next = 0;
        self.started = false;
    }

    /// Turns `x` and `g = G(x)` into the next `x`; `g` is then to be written anew.
    pub fn mix(&mut self) {
        let k = self.next;
        let sums = self.differences(k);
        let size = sums.square.sqrt();
        if !size.is_finite() || (self.started && size > DIVERGENCE * self.size_last) {
            self.forget();
        }
        self.size_last = size;
        if self.started {
            self.next = (k + 1) % WINDOW;
            self.held = (self.held + 1).min(WINDOW);
            for j in 0..self.held {
                self.gram[k][j] = sums.with_newest[j];
                self.gram[j][k] = sums.with_newest[j];
            }
        }
        self.started = true;
        let gamma = self.weights(sums.with_step);
        let (g, dg, held) = (&self.g, &self.dg, self.held);
        in_tasks(&mut self.x, |first, x| {
            let range = first..first + x.len();
            x.copy_from_slice(&g[range.clone()]);
            for (dg, gamma) in dg.iter().zip(gamma).take(held) {
                for (x, dg) in x.iter_mut().zip(&dg[range.clone()]) {
                    *x -= gamma * dg.as_dvec3();
                }
            }
        });
        std::mem::swap(&mut self.f, &mut self.f_last);
        std::mem::swap(&mut self.g, &mut self.g_last);
    }

    /// The step f = g - x, its change and that of g since last time as differences number k, and their products.
    fn differences(&mut self, k: usize) -> Sums {
        let mut newest = [
            std::mem::take(&mut self.df[k]),
            std::mem::take(&mut self.dg[k]),
        ];
        let [df, dg] = &mut newest;
        self.partial.clear();
        self.partial
            .resize(self.x.len().div_ceil(PER_TASK), Sums::default());
        let this = (&self.x, &self.g, &self.f_last, &self.g_last, &self.df);
        let one = |task: usize, f: &mut [Vec3], df: &mut [ShortVec3], dg: &mut [ShortVec3]| {
            let (x, g, f_last, g_last, older) = this;
            let first = task * PER_TASK;
            let mut sums = Sums::default();
            // Products are summed by component, so that additions need not wait for each other.
            let mut square = Vec3::ZERO;
            for i in 0..f.len() {
                f[i] = g[first + i] - x[first + i];
                df[i] = (f[i] - f_last[first + i]).as_vec3();
                dg[i] = (g[first + i] - g_last[first + i]).as_vec3();
                square += f[i] * f[i];
            }
            sums.square = square.element_sum();
            for (j, older) in older.iter().enumerate() {
                let other = if j == k {
                    &*df
                } else {
                    &older[first..first + f.len()]
                };
                let (mut with_newest, mut with_step) = (Vec3::ZERO, Vec3::ZERO);
                for ((other, df), f) in other.iter().zip(&*df).zip(&*f) {
                    let other = other.as_dvec3();
                    with_newest += other * df.as_dvec3();
                    with_step += other * *f;
                }
                sums.with_newest[j] = with_newest.element_sum();
                sums.with_step[j] = with_step.element_sum();
            }
            sums
        };
        let tasks = (self.f.par_chunks_mut(PER_TASK))
            .zip(df.par_chunks_mut(PER_TASK))
            .zip(dg.par_chunks_mut(PER_TASK))
            .zip(&mut self.partial)
            .enumerate();
        tasks.for_each(|(task, (((f, df), dg), sums))| *sums = one(task, f, df, dg));
        [self.df[k], self.dg[k]] = newest;
        let mut total = Sums::default();
        for part in &self.partial {
            total.square += part.square;
            for j in 0..WINDOW {
                total.with_newest[j] += part.with_newest[j];
                total.with_step[j] += part.with_step[j];
            }
        }
        total
    }

    /// Least squares of f by the remembered differences.
    fn weights(&self, mut y: [f64; WINDOW]) -> [f64; WINDOW] {
        let n = self.held;
        let mut a = self.gram;
        let trace: f64 = (0..n).map(|i| a[i][i]).sum();
        for i in 0..n {
            a[i][i] += RIDGE * trace + f64::MIN_POSITIVE;
        }
        // Cholesky; a column that depends on the others is left out.
        let mut used = [true; WINDOW];
        for i in 0..n {
            let mut pivot = a[i][i];
            for k in 0..i {
                pivot -= a[i][k] * a[i][k];
            }
            if !(pivot > RIDGE * trace && pivot.is_finite()) {
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

/// Products of the differences, by task and in all.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Of the step with itself.
    square: f64,
    /// Of the newest difference and of the step with all differences.
    with_newest: [f64; WINDOW],
    with_step: [f64; WINDOW],
}

/// Runs over pieces of a list, told where each begins.
fn in_tasks(list: &mut [Vec3], work: impl Fn(usize, &mut [Vec3]) + Sync) {
    list.par_chunks_mut(PER_TASK)
        .enumerate()
        .for_each(|(task, piece)| work(task * PER_TASK, piece));
}
