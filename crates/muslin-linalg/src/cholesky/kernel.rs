//! Substitution with the panel of one supernode, for N right-hand sides side by side: columns are read four at a time.
//! Inlined into callers that were compiled for the vector instructions of the machine.
#![allow(clippy::inline_always)]

use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// The numbers that are computed with: of the factor and of the unknowns.
pub(crate) trait Real:
    Copy
    + Default
    + Send
    + Sync
    + Add<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + SubAssign
{
    fn inverse(self) -> Self;
}

impl Real for f64 {
    fn inverse(self) -> Self {
        self.recip()
    }
}

impl Real for f32 {
    fn inverse(self) -> Self {
        self.recip()
    }
}

/// Solves with the triangle of a panel and takes what it means for the rows below.
#[inline(always)]
pub(super) fn forward<const N: usize, S: Real>(
    panel: &[S],
    w: usize,
    h: usize,
    x: &mut [[S; N]],
    passed: &mut [[S; N]],
) {
    let mut first = 0;
    while first < w {
        let count = if w - first >= 4 { 4 } else { 1 };
        for j in first..first + count {
            let column = &panel[j * h..j * h + h];
            let inverse = column[j].inverse();
            x[j] = x[j].map(|v| v * inverse);
            let a = x[j].map(|v| -v);
            axpy(
                [&column[j + 1..first + count]],
                [a],
                &mut x[j + 1..first + count],
            );
        }
        let done = first + count;
        let (known, rest) = x.split_at_mut(done);
        if count == 4 {
            let columns: [&[S]; 4] = std::array::from_fn(|k| &panel[(first + k) * h..][..h]);
            let a = std::array::from_fn(|k| known[first + k].map(|v| -v));
            axpy(columns.map(|c| &c[done..w]), a, rest);
            axpy(columns.map(|c| &c[w..]), a, passed);
        } else {
            let column = &panel[first * h..][..h];
            let a = [known[first].map(|v| -v)];
            axpy([&column[done..w]], a, rest);
            axpy([&column[w..]], a, passed);
        }
        first = done;
    }
}

/// Takes the solution at the rows below and solves with the transposed triangle of a panel.
#[inline(always)]
pub(super) fn backward<const N: usize, S: Real>(
    panel: &[S],
    w: usize,
    h: usize,
    x: &mut [[S; N]],
    passed: &[[S; N]],
) {
    let mut last = w;
    while last > 0 {
        let count = if last >= 4 { 4 } else { 1 };
        let first = last - count;
        let (open, known) = x.split_at_mut(last);
        if count == 4 {
            let columns: [&[S]; 4] = std::array::from_fn(|k| &panel[(first + k) * h..][..h]);
            let inside = dot(columns.map(|c| &c[last..w]), known);
            let outside = dot(columns.map(|c| &c[w..]), passed);
            for k in 0..4 {
                subtract(&mut open[first + k], &inside[k], &outside[k]);
            }
        } else {
            let column = &panel[first * h..][..h];
            let inside = dot([&column[last..w]], known);
            let outside = dot([&column[w..]], passed);
            subtract(&mut open[first], &inside[0], &outside[0]);
        }
        for j in (first..last).rev() {
            let column = &panel[j * h..j * h + h];
            let (left, right) = open.split_at_mut(j + 1);
            let inside = dot([&column[j + 1..last]], &right[..last - j - 1]);
            let inverse = column[j].inverse();
            for k in 0..N {
                left[j][k] = (left[j][k] - inside[0][k]) * inverse;
            }
        }
        last = first;
    }
}

fn subtract<const N: usize, S: Real>(x: &mut [S; N], a: &[S; N], b: &[S; N]) {
    for k in 0..N {
        x[k] -= a[k] + b[k];
    }
}

/// Adds C columns, each times its factors, to `y`.
#[inline(always)]
fn axpy<const C: usize, const N: usize, S: Real>(
    columns: [&[S]; C],
    a: [[S; N]; C],
    y: &mut [[S; N]],
) {
    let n = y.len();
    let columns = columns.map(|c| &c[..n]);
    for i in 0..n {
        for k in 0..N {
            let mut sum = S::default();
            for c in 0..C {
                sum += columns[c][i] * a[c][k];
            }
            y[i][k] += sum;
        }
    }
}

/// Products of C columns with `y`. Sums run in eight lanes, so that they can be formed by vector instructions.
#[inline(always)]
fn dot<const C: usize, const N: usize, S: Real>(columns: [&[S]; C], y: &[[S; N]]) -> [[S; N]; C] {
    const LANES: usize = 8;
    let n = y.len();
    let columns = columns.map(|c| &c[..n]);
    let whole = n / LANES * LANES;
    let mut lanes = [[[S::default(); LANES]; N]; C];
    let mut i = 0;
    while i < whole {
        for c in 0..C {
            let values = &columns[c][i..i + LANES];
            let y = &y[i..i + LANES];
            for k in 0..N {
                for l in 0..LANES {
                    lanes[c][k][l] += values[l] * y[l][k];
                }
            }
        }
        i += LANES;
    }
    let mut sums =
        lanes.map(|c| c.map(|l| ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))));
    for i in whole..n {
        for c in 0..C {
            for k in 0..N {
                sums[c][k] += columns[c][i] * y[i][k];
            }
        }
    }
    sums
}
