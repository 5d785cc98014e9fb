//! Inelastic projection: the smallest change of velocities, by mass, with which no condition is broken (Harmon et al.
//! 2008). It keeps sliding, which a rigid zone does not.

use super::row::Row;
use muslin_linalg::Vec3;

/// What the impulses may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bonds {
    /// Push and pull: every condition holds as an equation.
    Both,
    /// Push only: conditions that would have to pull are let go.
    Push,
}

/// Rounds in which conditions that pull are let go.
const LETTING_GO: usize = 3;
/// Iterations of a solve: the outer rounds look again, so that a rough answer does.
const MOST_ITERATIONS: usize = 80;
/// Relative residual at which the solve stops.
const ENOUGH: f64 = 1e-13;
/// Relative softness of every row, so that rows which contradict each other find a compromise.
const SOFTNESS: f64 = 1e-11;

/// Changes `v` (m/s) so that the rows hold. Inverse masses are per axis, 1/kg, zero where a vertex is held.
pub fn project(rows: &[Row], inverse_mass: &[Vec3], v: &mut [Vec3], bonds: Bonds) {
    let mut active: Vec<usize> = (0..rows.len())
        .filter(|r| rows[*r].compliance(rows[*r].normal, inverse_mass) > 0.0)
        .collect();
    let rounds = if bonds == Bonds::Push { LETTING_GO } else { 1 };
    let mut impulses = Vec::new();
    for _ in 0..rounds {
        impulses = solve(rows, &active, inverse_mass, v);
        let before = active.len();
        if bonds == Bonds::Push {
            let mut pushes = impulses.iter().map(|l| *l >= 0.0);
            active.retain(|_| pushes.next().unwrap_or(false));
        }
        if active.len() == before {
            break;
        }
        impulses.retain(|l| *l >= 0.0);
    }
    for (r, impulse) in active.iter().zip(&impulses) {
        rows[*r].push(*impulse, rows[*r].normal, inverse_mass, v);
    }
}

/// Impulses of the active rows that make them equations: conjugate gradients from zero, so that redundant rows do no
/// harm.
fn solve(rows: &[Row], active: &[usize], inverse_mass: &[Vec3], v: &[Vec3]) -> Vec<f64> {
    let n = active.len();
    let row = |k: usize| &rows[active[k]];
    let mut residual: Vec<f64> = (0..n)
        .map(|k| row(k).least - row(k).velocity(v).dot(row(k).normal))
        .collect();
    let diagonal: Vec<f64> = (0..n)
        .map(|k| row(k).compliance(row(k).normal, inverse_mass))
        .collect();
    let largest = residual.iter().fold(0.0, |a: f64, r| a.max(r.abs()));
    let mut impulses = vec![0.0; n];
    let mut scaled: Vec<f64> = residual.iter().zip(&diagonal).map(|(r, d)| r / d).collect();
    let mut direction = scaled.clone();
    let mut change = vec![Vec3::ZERO; v.len()];
    let mut touched: Vec<usize> = (0..n)
        .flat_map(|k| row(k).parts().map(|(i, _)| i))
        .collect();
    touched.sort_unstable();
    touched.dedup();
    let mut energy: f64 = residual.iter().zip(&scaled).map(|(a, b)| a * b).sum();
    for _ in 0..MOST_ITERATIONS {
        let left = residual.iter().fold(0.0, |a: f64, r| a.max(r.abs()));
        if left <= ENOUGH * largest || energy <= 0.0 {
            break;
        }
        for i in &touched {
            change[*i] = Vec3::ZERO;
        }
        for (k, p) in direction.iter().enumerate() {
            row(k).push(*p, row(k).normal, inverse_mass, &mut change);
        }
        let image: Vec<f64> = (0..n)
            .map(|k| {
                let along = row(k).normal;
                let stiff: f64 = row(k).parts().map(|(i, w)| w * change[i].dot(along)).sum();
                stiff + SOFTNESS * diagonal[k] * direction[k]
            })
            .collect();
        let curvature: f64 = direction.iter().zip(&image).map(|(a, b)| a * b).sum();
        if curvature <= 0.0 {
            break;
        }
        let length = energy / curvature;
        for k in 0..n {
            impulses[k] += length * direction[k];
            residual[k] -= length * image[k];
            scaled[k] = residual[k] / diagonal[k];
        }
        let next: f64 = residual.iter().zip(&scaled).map(|(a, b)| a * b).sum();
        for k in 0..n {
            direction[k] = scaled[k] + next / energy * direction[k];
        }
        energy = next;
    }
    impulses
}
