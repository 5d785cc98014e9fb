//! Elements that follow the positions.
//!
//! A *following* element is a constant quadratic form of the positions about a place that it names anew in every
//! iteration; that place is all there is to compute, and it needs no multiplier.

use super::local::{Corners, Local, PER_TASK, Turns, corners_of, lower, owner, sum_torques};
use crate::force::StepContext;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// An element that is a constant quadratic form about a place that depends on the positions.
pub trait Following<const N: usize>: Send + Sync {
    /// Whether its place turns with the piece, so that it holds back no rotation once all is solved.
    const TURNS: bool = false;
    /// Whether its form is that of something elastic.
    const ELASTIC: bool = false;

    /// Vertices in the state.
    fn vertices(&self) -> [u32; N];

    /// The form: force per displacement, N/m, symmetric and semi-definite; the same for x, y and z and in every step.
    fn stiffness(&self) -> [[f64; N]; N];

    /// Called once a step with positions (m) and velocities (m/s) at its start.
    fn begin_step(&mut self, x: &[Vec3; N], v: &[Vec3; N], step: &StepContext);

    /// The form times the place about which it holds, N: with positions `x` its force is this less `stiffness · x`.
    fn pull(&self, x: &[Vec3; N]) -> [Vec3; N];
}

/// Following elements of one kind.
pub struct FollowingGroup<F, const N: usize> {
    elements: Vec<F>,
    pull: Vec<[Vec3; N]>,
    corners: Corners,
}

impl<F: Following<N>, const N: usize> FollowingGroup<F, N> {
    /// Elements in a state of `vertices` vertices.
    pub fn new(vertices: usize, elements: Vec<F>) -> Self {
        Self {
            corners: Corners::new(vertices, elements.iter().flat_map(Following::vertices)),
            pull: vec![[Vec3::ZERO; N]; elements.len()],
            elements,
        }
    }
}

impl<F: Following<N>, const N: usize> Local for FollowingGroup<F, N> {
    fn add_entries(&self, entries: &mut Vec<(u32, u32, f64)>) {
        for e in &self.elements {
            lower(e.vertices(), &e.stiffness(), entries);
        }
    }

    fn add_stiffness(&self, entries: &mut Vec<(u32, u32, f64)>) {
        if F::ELASTIC {
            self.add_entries(entries);
        }
    }

    fn begin_step(&mut self, x: &[Vec3], v: &[Vec3], step: &StepContext) {
        self.elements
            .par_iter_mut()
            .with_min_len(PER_TASK)
            .for_each(|e| {
                let vertices = e.vertices();
                e.begin_step(&corners_of(x, vertices), &corners_of(v, vertices), step);
            });
    }

    fn settle(&mut self, _x: &[Vec3], _turns: &Turns) {}

    fn add_resistance(&self, x: &[Vec3], part: &[u32], out: &mut [f64]) {
        for e in self.elements.iter().filter(|_| F::TURNS) {
            let vertices = e.vertices();
            if let Some(part) = owner(part, &vertices) {
                let (at, stiffness) = (corners_of(x, vertices), e.stiffness());
                let each = (0..N).flat_map(|a| (0..N).map(move |b| (a, b)));
                let sum: f64 = each.map(|(a, b)| stiffness[a][b] * at[a].dot(at[b])).sum();
                out[part] += sum * 2.0 / 3.0;
            }
        }
    }

    fn add_torque(&self, x: &[Vec3], part: &[u32], wanted: &[bool], out: &mut [Vec3]) {
        if !F::TURNS {
            return;
        }
        let torque = |i: usize, e: &F| {
            let at = corners_of(x, e.vertices());
            (0..N).map(|a| self.pull[i][a].cross(at[a])).sum()
        };
        let vertices = |e: &F| e.vertices();
        sum_torques(&self.elements, vertices, torque, (part, wanted), out);
    }

    fn multipliers(&self) -> usize {
        0
    }

    fn save(&self, _out: &mut [Vec3]) {}

    fn restore(&mut self, _from: &[Vec3]) {}

    fn weighed(&self) -> usize {
        0
    }

    fn resume(&mut self, _factors: &[f64], _stresses: &[Vec3]) {}

    fn weigh(&mut self) {}

    fn leave(&self, _factors: &mut [f64], _stresses: &mut [Vec3]) {}

    fn pull_beyond(&mut self) {
        self.pull.fill([Vec3::ZERO; N]);
    }

    fn project(&mut self, x: &[Vec3]) {
        self.elements
            .par_iter()
            .zip(&mut self.pull)
            .with_min_len(PER_TASK)
            .for_each(|(e, pull)| *pull = e.pull(&corners_of(x, e.vertices())));
    }

    fn gather(&self, vertices: &[u32], rows: &mut [Vec3], scale: f64) {
        self.corners.gather(&self.pull, vertices, rows, scale);
    }

    fn apart(&self, _x: &[Vec3]) -> f64 {
        0.0
    }

    fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }
}
