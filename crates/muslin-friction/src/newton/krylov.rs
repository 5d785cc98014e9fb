//! The one part of Newton's matrix that is not symmetric: friction of sliding contacts follows their normal impulse.
//!
//! It has one column a sliding contact, so it is dealt with in the space of their normal impulses, by minimal residuals
//! on top of the symmetric factorisation. Four to seven steps are usual, fourteen were seen with several contacts a node.

use super::system::System;
use crate::problem::FrictionProblem;
use muslin_linalg::Vec3;

/// Steps before the result is taken as it is; the outer iteration sees what is missing.
const MAX_STEPS: usize = 60;

/// The impulse by which a contact answers one component of its velocity, beyond what is factored; in local components.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Coupling {
    /// Minus the impulse.
    pub(crate) pull: Vec3,
    /// The component.
    pub(crate) row: Vec3,
}

/// Working memory.
#[derive(Default)]
pub(crate) struct Krylov {
    sliding: Vec<u32>,
    basis: Vec<Vec<f64>>,
    hessenberg: Vec<[f64; MAX_STEPS + 1]>,
    start: Vec<Vec3>,
    work: Vec<Vec3>,
}

impl Krylov {
    /// Solves `(P + Jᵀ c R J_N) x = b` in place of b, P being the factored part.
    pub(crate) fn solve(
        &mut self,
        problem: &FrictionProblem,
        system: &mut System,
        couplings: &[Coupling],
        tolerance: f64,
        x: &mut [Vec3],
    ) {
        self.sliding.clear();
        let slides = |c: &Coupling| c.pull != Vec3::ZERO;
        self.sliding
            .extend((0..couplings.len() as u32).filter(|c| slides(&couplings[*c as usize])));
        if self.sliding.is_empty() {
            system.solve(x);
            return;
        }
        let m = self.sliding.len();
        self.start.clear();
        self.start.extend_from_slice(x);
        self.work.resize(x.len(), Vec3::ZERO);
        system.solve(x);
        // Unknowns: normal impulses R (J x)_N of the sliding contacts.
        let mut rhs = vec![0.0; m];
        normals(problem, couplings, &self.sliding, x, &mut rhs);
        let size = norm(&rhs);
        let mut y = vec![0.0; m];
        if size > 0.0 {
            self.minimise(problem, system, couplings, &rhs, size, tolerance, &mut y);
        }
        x.copy_from_slice(&self.start);
        pull(problem, couplings, &self.sliding, &y, -1.0, x);
        system.solve(x);
    }

    #[allow(clippy::too_many_arguments)] // the operator in parts
    fn minimise(
        &mut self,
        problem: &FrictionProblem,
        system: &mut System,
        couplings: &[Coupling],
        rhs: &[f64],
        size: f64,
        tolerance: f64,
        y: &mut [f64],
    ) {
        let m = rhs.len();
        self.basis.clear();
        self.basis.push(rhs.iter().map(|b| b / size).collect());
        self.hessenberg.clear();
        let mut rotations: Vec<[f64; 2]> = Vec::new();
        let mut g = vec![size];
        for k in 0..MAX_STEPS.min(m) {
            self.work.fill(Vec3::ZERO);
            pull(
                problem,
                couplings,
                &self.sliding,
                &self.basis[k],
                1.0,
                &mut self.work,
            );
            system.solve(&mut self.work);
            let mut w = vec![0.0; m];
            normals(problem, couplings, &self.sliding, &self.work, &mut w);
            for (w, b) in w.iter_mut().zip(&self.basis[k]) {
                *w += b;
            }
            let mut column = [0.0; MAX_STEPS + 1];
            // Twice is enough to keep the basis orthogonal.
            for _ in 0..2 {
                for j in 0..=k {
                    let h = dot(&w, &self.basis[j]);
                    column[j] += h;
                    for (w, b) in w.iter_mut().zip(&self.basis[j]) {
                        *w -= h * b;
                    }
                }
            }
            let next = norm(&w);
            column[k + 1] = next;
            for (j, [c, s]) in rotations.iter().enumerate() {
                let (a, b) = (column[j], column[j + 1]);
                column[j] = c * a + s * b;
                column[j + 1] = c * b - s * a;
            }
            let length = column[k].hypot(column[k + 1]);
            if length == 0.0 {
                break;
            }
            let (c, s) = (column[k] / length, column[k + 1] / length);
            column[k] = length;
            rotations.push([c, s]);
            g.push(-s * g[k]);
            g[k] *= c;
            self.hessenberg.push(column);
            if g[k + 1].abs() <= tolerance * size || next <= 1e-14 * length {
                break;
            }
            self.basis.push(w.iter().map(|w| w / next).collect());
        }
        let steps = self.hessenberg.len();
        let mut weights = g;
        weights.truncate(steps);
        for i in (0..steps).rev() {
            for j in i + 1..steps {
                weights[i] -= self.hessenberg[j][i] * weights[j];
            }
            weights[i] /= self.hessenberg[i][i];
        }
        for (weight, basis) in weights.iter().zip(&self.basis) {
            for (y, b) in y.iter_mut().zip(basis) {
                *y += weight * b;
            }
        }
    }
}

/// `R (J x)_N` of the sliding contacts.
fn normals(
    problem: &FrictionProblem,
    couplings: &[Coupling],
    sliding: &[u32],
    x: &[Vec3],
    out: &mut [f64],
) {
    for (out, &c) in out.iter_mut().zip(sliding) {
        let contact = &problem.contacts[c as usize];
        let change = contact.velocity(x) - contact.offset;
        *out = couplings[c as usize].row.dot(change);
    }
}

/// Adds the friction that belongs to normal impulses, on free coordinates.
fn pull(
    problem: &FrictionProblem,
    couplings: &[Coupling],
    sliding: &[u32],
    normal: &[f64],
    sign: f64,
    out: &mut [Vec3],
) {
    for (s, &c) in normal.iter().zip(sliding) {
        let contact = &problem.contacts[c as usize];
        let world = contact.frame.transpose() * couplings[c as usize].pull * (sign * s);
        for (n, w) in contact.arms() {
            let free = problem
                .free
                .get(n)
                .map_or(Vec3::ONE, |f| Vec3::from(f.map(|f| f64::from(u8::from(f)))));
            out[n] += free * (w * world);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
