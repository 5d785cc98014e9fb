//! Elements as the stepper sees them, whatever their kind: local steps at given positions, and what they pull with.

use crate::force::StepContext;
use muslin_linalg::{Mat3, Vec3};
use rayon::prelude::*;

/// Elements of one kind, as the stepper sees them.
pub trait Local: Send + Sync {
    /// Adds what elements, by their weights, resist displacements with (row, column, N/m), lower triangle.
    fn add_entries(&self, entries: &mut Vec<(u32, u32, f64)>);
    /// Adds the elastic stiffness of all elements (row, column, N/m), lower triangle.
    fn add_stiffness(&self, entries: &mut Vec<(u32, u32, f64)>);
    /// Starts a step at positions `x` (m) and velocities `v` (m/s).
    fn begin_step(&mut self, x: &[Vec3], v: &[Vec3], step: &StepContext);
    /// Number of elements with weights of their own.
    fn weighed(&self) -> usize;
    /// Takes weights and multipliers from the step before: by which factor each element's weights are more than the least,
    /// and what it pulled with.
    fn resume(&mut self, factors: &[f64], stresses: &[Vec3]);
    /// Raises the weights of what is pressed as hard as they are, and lowers those that are far more than needed.
    fn weigh(&mut self);
    /// Writes those factors, and what elements pull with.
    fn leave(&self, factors: &mut [f64], stresses: &mut [Vec3]);
    /// The local step at positions `x` (m).
    fn project(&mut self, x: &[Vec3]);
    /// Brings multipliers up to date with new positions `x` (m), after pieces were turned as a whole.
    fn settle(&mut self, x: &[Vec3], turns: &Turns);
    /// Adds to each part of the matrix the energy (N m) that lags behind when it turns by a radian and elements do not
    /// follow; `part` of each vertex.
    fn add_resistance(&self, x: &[Vec3], part: &[u32], out: &mut [f64]);
    /// Adds to each part for which it is `wanted` the torque (N m) with which elements hold back their vertices at `x`.
    fn add_torque(&self, x: &[Vec3], part: &[u32], wanted: &[bool], out: &mut [Vec3]);
    /// Number of multipliers.
    fn multipliers(&self) -> usize;
    /// Writes the multipliers to `out`, each times the root of its weight.
    fn save(&self, out: &mut [Vec3]);
    /// Takes multipliers over from what [`Self::save`] wrote.
    fn restore(&mut self, from: &[Vec3]);
    /// Makes the pull of the elements what their multipliers pull more than they themselves do where the step begins.
    fn pull_beyond(&mut self);
    /// Adds `scale` times the pull on each of `vertices` to its row.
    fn gather(&self, vertices: &[u32], rows: &mut [Vec3], scale: f64);
    /// Sum of `w |D x - z|²`, J: how far positions and deformations are apart.
    fn apart(&self, x: &[Vec3]) -> f64;
    /// Whether there are no elements.
    fn is_empty(&self) -> bool;
}

/// By what pieces were turned as a whole.
pub struct Turns<'a> {
    /// Part of each vertex; the largest number for held ones.
    pub part: &'a [u32],
    /// Rotation of each part; none if nothing was turned.
    pub turn: &'a [Mat3],
}

impl Turns<'_> {
    /// The turn of an element; none if it was not turned.
    pub fn of(&self, vertices: &[u32]) -> Option<&Mat3> {
        if self.turn.is_empty() {
            return None;
        }
        owner(self.part, vertices).and_then(|part| self.turn.get(part))
    }
}

/// The part of the matrix that an element belongs to; none if all its vertices are held.
pub fn owner(part: &[u32], vertices: &[u32]) -> Option<usize> {
    let mut parts = vertices.iter().map(|v| part[*v as usize]);
    parts.find(|p| *p != u32::MAX).map(|p| p as usize)
}

/// Sums torques of elements by part, chunk after chunk.
pub fn sum_torques<E: Sync, const N: usize>(
    elements: &[E],
    vertices: impl Fn(&E) -> [u32; N] + Sync,
    torque: impl Fn(usize, &E) -> Vec3 + Sync,
    (part, wanted): (&[u32], &[bool]),
    out: &mut [Vec3],
) {
    let runs: Vec<Vec<(usize, Vec3)>> = elements
        .par_chunks(PER_TASK)
        .enumerate()
        .map(|(k, chunk)| {
            let mut runs: Vec<(usize, Vec3)> = Vec::new();
            for (i, e) in chunk.iter().enumerate() {
                let Some(part) = owner(part, &vertices(e)).filter(|p| wanted[*p]) else {
                    continue;
                };
                let own = torque(k * PER_TASK + i, e);
                match runs.last_mut() {
                    Some((last, sum)) if *last == part => *sum += own,
                    _ => runs.push((part, own)),
                }
            }
            runs
        })
        .collect();
    for (part, sum) in runs.into_iter().flatten() {
        out[part] += sum;
    }
}

/// Elements a task; fixed, so that sums never depend on the number of threads.
pub const PER_TASK: usize = 512;

/// For every vertex the places in a list of elements' corners that are this vertex.
#[derive(Default)]
pub struct Corners {
    start: Vec<u32>,
    places: Vec<u32>,
}

impl Corners {
    /// `corners`: the vertex of each corner of each element in turn.
    pub fn new(vertices: usize, corners: impl Iterator<Item = u32> + Clone) -> Self {
        let mut start = vec![0u32; vertices + 1];
        for v in corners.clone() {
            start[v as usize + 1] += 1;
        }
        for k in 0..vertices {
            start[k + 1] += start[k];
        }
        let mut next = start.clone();
        let mut places = vec![0; start[vertices] as usize];
        for (i, v) in corners.enumerate() {
            let at = &mut next[v as usize];
            places[*at as usize] = i as u32;
            *at += 1;
        }
        Self { start, places }
    }

    /// Adds `scale` times the pull on each of `vertices` to its row.
    pub fn gather<const N: usize>(
        &self,
        pull: &[[Vec3; N]],
        vertices: &[u32],
        rows: &mut [Vec3],
        scale: f64,
    ) {
        let pull = pull.as_flattened();
        for (v, row) in vertices.iter().zip(rows) {
            let v = *v as usize;
            let range = self.start[v] as usize..self.start[v + 1] as usize;
            let sum: Vec3 = self.places[range].iter().map(|i| pull[*i as usize]).sum();
            *row += sum * scale;
        }
    }
}

/// Positions of an element's corners.
pub fn corners_of<const N: usize>(x: &[Vec3], vertices: [u32; N]) -> [Vec3; N] {
    vertices.map(|v| x[v as usize])
}

/// Adds a form of an element's corners to the lower triangle of a matrix.
pub fn lower<const N: usize>(
    vertices: [u32; N],
    stiffness: &[[f64; N]; N],
    entries: &mut Vec<(u32, u32, f64)>,
) {
    for a in 0..N {
        for b in 0..N {
            // A vertex may fill several places of a patch; each pair of places counts once.
            if vertices[a] >= vertices[b] && stiffness[a][b] != 0.0 {
                entries.push((vertices[a], vertices[b], stiffness[a][b]));
            }
        }
    }
}
