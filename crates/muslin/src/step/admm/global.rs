//! The global step: one constant scalar matrix, factored once, solved for x, y and z together.
//!
//! Vertices that no element joins do not meet in the matrix, contact being on its diagonal. So it falls into parts, one
//! a piece of cloth as a rule; parts are solved side by side, and equal ones share a factor.

use crate::step::islands::{find, join};
use muslin_linalg::{CholeskyError, LowerColumns, ScalarCholesky, Vec3};
use rayon::prelude::*;
use std::sync::Arc;

/// Vertices of a task; fixed, so that sums never depend on the number of threads.
pub const PER_TASK: usize = 1024;

/// What the matrix is made of.
pub struct Recipe<'a> {
    /// What elements, by their weights, resist a displacement with (row, column, N/m), lower triangle.
    pub entries: &'a mut Vec<(u32, u32, f64)>,
    /// What they resist a velocity with (N s/m), lower triangle.
    pub damping: &'a mut Vec<(u32, u32, f64)>,
    /// Mass of each vertex, kg.
    pub mass: &'a [f64],
    /// Vertices whose motion is given.
    pub held: &'a [bool],
    /// Length of the steps, s.
    pub dt: f64,
    /// Contact weight in masses.
    pub contact_weight: f64,
}

/// The matrix in its factors.
#[derive(Default)]
pub struct Global {
    /// Free vertices, part after part.
    pub vertices: Vec<u32>,
    /// Where each part ends in `vertices`.
    ends: Vec<usize>,
    factors: Vec<Arc<ScalarCholesky>>,
    /// Part of each vertex; the largest number for held ones.
    pub part: Vec<u32>,
    /// Entries of the matrix between free vertices (places in `vertices`) and held ones, kg.
    coupling: Vec<(u32, u32, f64)>,
    /// Elements together with damping, as they are in the matrix, kg.
    form: LowerColumns,
    /// The damping in it, kg; empty without any.
    pub damping: LowerColumns,
    /// Weight of contact at each vertex times the squared time step, kg.
    pub contact: Vec<f64>,
    /// Diagonal of the matrix without contact, kg.
    pub diagonal: Vec<f64>,
    /// Whether held vertices pull at a part.
    pub anchored: Vec<bool>,
    packed: Vec<Vec3>,
    work: Vec<Vec<Vec3>>,
}

impl Global {
    /// Builds and factorises.
    pub fn new(recipe: &mut Recipe) -> Result<Self, CholeskyError> {
        let n = recipe.mass.len();
        let dt = recipe.dt;
        for (entries, scale) in [(&mut *recipe.entries, dt * dt), (&mut *recipe.damping, dt)] {
            for (_, _, value) in entries.iter_mut() {
                *value *= scale;
            }
        }
        recipe.entries.extend_from_slice(recipe.damping);
        let form = LowerColumns::from_entries(n, recipe.entries);
        let damping = if recipe.damping.is_empty() {
            LowerColumns::default()
        } else {
            LowerColumns::from_entries(n, recipe.damping)
        };
        let mut diagonal = recipe.mass.to_vec();
        for column in 0..n {
            if let Some((row, value)) = form.column(column).next()
                && row == column
            {
                diagonal[column] += value;
            }
        }
        let contact: Vec<f64> = diagonal
            .iter()
            .zip(recipe.mass)
            .map(|(d, m)| (recipe.contact_weight * m).min(*d))
            .collect();
        let mut global = Self {
            form,
            damping,
            contact,
            diagonal,
            ..Self::default()
        };
        global.find_parts(recipe.held);
        global.factorise(recipe)?;
        global.anchored = vec![false; global.ends.len()];
        for &(place, _, _) in &global.coupling {
            let vertex = global.vertices[place as usize];
            global.anchored[global.part[vertex as usize] as usize] = true;
        }
        Ok(global)
    }

    /// Finds which free vertices belong together.
    fn find_parts(&mut self, held: &[bool]) {
        let n = held.len();
        let mut leader: Vec<u32> = (0..n as u32).collect();
        for column in 0..n {
            for (row, _) in self.form.column(column) {
                if !held[row] && !held[column] {
                    join(&mut leader, [row as u32, column as u32].into_iter());
                }
            }
        }
        let mut keyed: Vec<(u32, u32)> = (0..n as u32)
            .filter(|v| !held[*v as usize])
            .map(|v| (find(&mut leader, v), v))
            .collect();
        keyed.sort_unstable();
        self.vertices = keyed.iter().map(|(_, v)| *v).collect();
        self.ends = keyed
            .chunk_by(|a, b| a.0 == b.0)
            .scan(0, |end, part| {
                *end += part.len();
                Some(*end)
            })
            .collect();
        self.part = vec![u32::MAX; n];
        let mut begin = 0;
        for (k, end) in self.ends.iter().enumerate() {
            for v in &self.vertices[begin..*end] {
                self.part[*v as usize] = k as u32;
            }
            begin = *end;
        }
    }

    fn factorise(&mut self, recipe: &Recipe) -> Result<(), CholeskyError> {
        let n = recipe.mass.len();
        let mut place = vec![u32::MAX; n];
        for (i, v) in self.vertices.iter().enumerate() {
            place[*v as usize] = i as u32;
        }
        let mut matrices: Vec<LowerColumns> = Vec::new();
        let mut which = Vec::new();
        let mut begin = 0;
        for &end in &self.ends {
            let mut entries = Vec::new();
            for &v in &self.vertices[begin..end] {
                let own = place[v as usize] - begin as u32;
                let v = v as usize;
                entries.push((own, own, recipe.mass[v] + self.contact[v]));
                for (row, value) in self.form.column(v) {
                    if place[row] == u32::MAX {
                        self.coupling.push((place[v], row as u32, value));
                    } else {
                        let other = place[row] - begin as u32;
                        entries.push((own.max(other), own.min(other), value));
                    }
                }
            }
            let matrix = LowerColumns::from_entries(end - begin, &mut entries);
            let known = matrices.iter().position(|m| *m == matrix);
            which.push(known.unwrap_or(matrices.len()));
            if known.is_none() {
                matrices.push(matrix);
            }
            begin = end;
        }
        for column in (0..n).filter(|c| place[*c] == u32::MAX) {
            for (row, value) in self.form.column(column) {
                if place[row] != u32::MAX {
                    let entry = (place[row], column as u32, value);
                    self.coupling.push(entry);
                }
            }
        }
        let made: Result<Vec<_>, _> = matrices.par_iter().map(ScalarCholesky::new).collect();
        let made: Vec<Arc<ScalarCholesky>> = made?.into_iter().map(Arc::new).collect();
        self.factors = which.into_iter().map(|k| made[k].clone()).collect();
        self.work = vec![Vec::new(); self.factors.len()];
        Ok(())
    }

    /// What held vertices at `x` (m) add to the right-hand side of the free ones (kg m), into `out` by place.
    pub fn pull_of_held(&self, x: &[Vec3], out: &mut [Vec3]) {
        for &(place, vertex, value) in &self.coupling {
            out[place as usize] -= x[vertex as usize] * value;
        }
    }

    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.ends.len()
    }

    /// Vertices of a part.
    pub fn vertices_of(&self, part: usize) -> &[u32] {
        let begin = if part == 0 { 0 } else { self.ends[part - 1] };
        &self.vertices[begin..self.ends[part]]
    }

    /// Solves for the positions `x` (m) of free vertices. `fill` writes the right-hand side (kg m) of a run of places,
    /// of which it gets the first and the vertices.
    pub fn solve(&mut self, fill: impl Fn(usize, &[u32], &mut [Vec3]) + Sync, x: &mut [Vec3]) {
        let Self {
            vertices,
            ends,
            factors,
            packed,
            work,
            ..
        } = self;
        packed.resize(vertices.len(), Vec3::ZERO);
        packed
            .par_chunks_mut(PER_TASK)
            .zip(vertices.par_chunks(PER_TASK))
            .enumerate()
            .for_each(|(k, (rows, vertices))| fill(k * PER_TASK, vertices, rows));
        let mut parts = Vec::with_capacity(factors.len());
        let (mut rest, mut begin) = (&mut packed[..], 0);
        for ((end, factor), work) in ends.iter().zip(factors.iter()).zip(work) {
            let (part, after) = rest.split_at_mut(*end - begin);
            parts.push((part, factor, work));
            (rest, begin) = (after, *end);
        }
        parts
            .into_par_iter()
            .for_each(|(part, factor, work)| factor.solve(part, work));
        for (v, y) in vertices.iter().zip(packed.iter()) {
            x[*v as usize] = *y;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_share_factors_and_held_vertices_pull() {
        // Two equal chains of three and one whose first vertex is held.
        let mut entries = Vec::new();
        for first in [0, 3, 6] {
            for i in first..first + 2 {
                entries.extend([(i, i, 10.0), (i + 1, i + 1, 10.0), (i + 1, i, -10.0)]);
            }
        }
        let mass = [0.1; 9];
        let mut held = [false; 9];
        held[6] = true;
        let mut global = Global::new(&mut Recipe {
            entries: &mut entries,
            damping: &mut Vec::new(),
            mass: &mass,
            held: &held,
            dt: 0.1,
            contact_weight: 0.0,
        })
        .unwrap();
        assert_eq!(global.ends, [3, 6, 8]);
        assert!(Arc::ptr_eq(&global.factors[0], &global.factors[1]));
        // A place that all share is an answer of masses pulled there; contact weights pull there too.
        let place = Vec3::new(1.0, 2.0, 3.0);
        let mut x = vec![place; 9];
        let mut from_held = vec![Vec3::ZERO; 8];
        global.pull_of_held(&x, &mut from_held);
        let contact = global.contact.clone();
        global.solve(
            |first, vertices, rows| {
                for (k, v) in vertices.iter().enumerate() {
                    rows[k] = place * (0.1 + contact[*v as usize]) + from_held[first + k];
                }
            },
            &mut x,
        );
        assert!(x.iter().all(|x| x.distance(place) < 1e-12));
    }
}
