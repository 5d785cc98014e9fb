//! What local steps see of the cloth: elements that are split off from the positions, and elements that follow them.
//!
//! A *split* element has a deformation `z` of its own. It takes the one that costs least, its energy plus `w/2` times the
//! squared distance to what the positions say, and pulls the positions there; a multiplier collects what is left between
//! the two. A *following* element is a constant quadratic form of the positions about a place that it names anew in
//! every iteration; that place is all there is to compute, and it needs no multiplier.

use crate::force::StepContext;
use muslin_linalg::{Mat3, Vec3};
use rayon::prelude::*;

/// An element that is split off from the positions: `R` vectors `z = D x`, linear in its `N` vertices.
pub trait Split<const N: usize, const R: usize>: Send + Sync {
    /// Vertices in the state.
    fn vertices(&self) -> [u32; N];

    /// `D`: one row a vector of the deformation.
    fn rows(&self) -> [[f64; N]; R];

    /// Weight of each vector's distance. With `D` in 1/m this is in N m, without unit in N/m.
    fn weights(&self) -> [f64; R];

    /// Called once a step with positions (m) and velocities (m/s) at its start.
    fn begin_step(&mut self, _x: &[Vec3; N], _v: &[Vec3; N], _step: &StepContext) {}

    /// Stiffness at the start of the step over that at rest, on which the weights are based.
    fn stiffening(&self) -> f64 {
        1.0
    }

    /// Derivative of the energy by the deformation at `z`: what the multiplier holds once all is solved.
    fn stress(&self, z: &[Vec3; R]) -> [Vec3; R];

    /// The deformation `z` that minimises the energy plus `Σ w/2 |z - y|²`.
    fn nearest(&mut self, y: &[Vec3; R]) -> [Vec3; R];
}

/// An element that is a constant quadratic form about a place that depends on the positions.
pub trait Following<const N: usize>: Send + Sync {
    /// Whether its place turns with the piece, so that it holds back no rotation once all is solved.
    const TURNS: bool = false;

    /// Vertices in the state.
    fn vertices(&self) -> [u32; N];

    /// The form: force per displacement, N/m, symmetric and semi-definite; the same for x, y and z and in every step.
    fn stiffness(&self) -> [[f64; N]; N];

    /// Called once a step with positions (m) and velocities (m/s) at its start.
    fn begin_step(&mut self, x: &[Vec3; N], v: &[Vec3; N], step: &StepContext);

    /// The form times the place about which it holds, N: with positions `x` its force is this less `stiffness · x`.
    fn pull(&self, x: &[Vec3; N]) -> [Vec3; N];
}

/// Elements of one kind, as the stepper sees them.
pub trait Local: Send + Sync {
    /// Adds the stiffness (row, column, N/m) of all elements, lower triangle.
    fn add_entries(&self, entries: &mut Vec<(u32, u32, f64)>);
    /// Starts a step at positions `x` (m) and velocities `v` (m/s).
    fn begin_step(&mut self, x: &[Vec3], v: &[Vec3], step: &StepContext);
    /// Stiffness at the start of the step over that at rest, root mean square.
    fn stiffening(&self) -> f64 {
        1.0
    }
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
    /// Takes multipliers over from `from`.
    fn restore(&mut self, from: &[Vec3]);
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
    fn of(&self, vertices: &[u32]) -> Option<&Mat3> {
        if self.turn.is_empty() {
            return None;
        }
        owner(self.part, vertices).and_then(|part| self.turn.get(part))
    }
}

/// The part of the matrix that an element belongs to; none if all its vertices are held.
fn owner(part: &[u32], vertices: &[u32]) -> Option<usize> {
    let mut parts = vertices.iter().map(|v| part[*v as usize]);
    parts.find(|p| *p != u32::MAX).map(|p| p as usize)
}

/// Sums torques of elements by part, chunk after chunk.
fn sum_torques<E: Sync, const N: usize>(
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
const PER_TASK: usize = 512;

/// For every vertex the places in a list of elements' corners that are this vertex.
#[derive(Default)]
struct Corners {
    start: Vec<u32>,
    places: Vec<u32>,
}

impl Corners {
    fn new(vertices: usize, corners: impl Iterator<Item = u32> + Clone) -> Self {
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

    fn gather<const N: usize>(
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

fn corners_of<const N: usize>(x: &[Vec3], vertices: [u32; N]) -> [Vec3; N] {
    vertices.map(|v| x[v as usize])
}

fn lower<const N: usize>(
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

/// One split element with its unknowns.
struct Unknowns<S, const N: usize, const R: usize> {
    element: S,
    rows: [[f64; N]; R],
    weights: [f64; R],
    /// Deformation.
    z: [Vec3; R],
    /// Scaled multiplier.
    l: [Vec3; R],
}

impl<S: Split<N, R>, const N: usize, const R: usize> Unknowns<S, N, R> {
    fn deformation(&self, x: &[Vec3; N]) -> [Vec3; R] {
        std::array::from_fn(|r| (0..N).map(|a| x[a] * self.rows[r][a]).sum())
    }
}

/// Split elements of one kind.
pub struct SplitGroup<S, const N: usize, const R: usize> {
    elements: Vec<Unknowns<S, N, R>>,
    pull: Vec<[Vec3; N]>,
    corners: Corners,
}

impl<S: Split<N, R>, const N: usize, const R: usize> SplitGroup<S, N, R> {
    /// Elements in a state of `vertices` vertices.
    pub fn new(vertices: usize, elements: Vec<S>) -> Self {
        let elements: Vec<Unknowns<S, N, R>> = elements
            .into_iter()
            .map(|element| Unknowns {
                rows: element.rows(),
                weights: element.weights(),
                element,
                z: [Vec3::ZERO; R],
                l: [Vec3::ZERO; R],
            })
            .collect();
        Self {
            corners: Corners::new(vertices, elements.iter().flat_map(|e| e.element.vertices())),
            pull: vec![[Vec3::ZERO; N]; elements.len()],
            elements,
        }
    }

    /// The elements themselves.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.elements.iter_mut().map(|e| &mut e.element)
    }
}

impl<S: Split<N, R>, const N: usize, const R: usize> Local for SplitGroup<S, N, R> {
    fn add_entries(&self, entries: &mut Vec<(u32, u32, f64)>) {
        for e in &self.elements {
            let stiffness = std::array::from_fn(|a| {
                std::array::from_fn(|b| {
                    (0..R)
                        .map(|r| e.weights[r] * e.rows[r][a] * e.rows[r][b])
                        .sum()
                })
            });
            lower(e.element.vertices(), &stiffness, entries);
        }
    }

    fn begin_step(&mut self, x: &[Vec3], v: &[Vec3], step: &StepContext) {
        self.elements
            .par_iter_mut()
            .with_min_len(PER_TASK)
            .for_each(|e| {
                let vertices = e.element.vertices();
                let at = corners_of(x, vertices);
                e.element.begin_step(&at, &corners_of(v, vertices), step);
                e.z = e.deformation(&at);
                // Where the step begins multipliers are known: they are the stresses there.
                let stress = e.element.stress(&e.z);
                e.l = std::array::from_fn(|r| stress[r] / e.weights[r]);
            });
    }

    fn stiffening(&self) -> f64 {
        let squares = self.elements.iter().map(|e| e.element.stiffening().powi(2));
        (squares.sum::<f64>() / self.elements.len() as f64).sqrt()
    }

    fn settle(&mut self, x: &[Vec3], turns: &Turns) {
        self.elements
            .par_iter_mut()
            .with_min_len(PER_TASK)
            .for_each(|e| {
                let vertices = e.element.vertices();
                if let Some(turn) = turns.of(&vertices) {
                    e.z = e.z.map(|z| *turn * z);
                    e.l = e.l.map(|l| *turn * l);
                }
                let dx = e.deformation(&corners_of(x, vertices));
                for r in 0..R {
                    e.l[r] += dx[r] - e.z[r];
                }
            });
    }

    fn add_resistance(&self, x: &[Vec3], part: &[u32], out: &mut [f64]) {
        for e in &self.elements {
            let vertices = e.element.vertices();
            if let Some(part) = owner(part, &vertices) {
                let dx = e.deformation(&corners_of(x, vertices));
                let each = (0..R).map(|r| e.weights[r] * dx[r].length_squared());
                out[part] += each.sum::<f64>() * 2.0 / 3.0;
            }
        }
    }

    fn add_torque(&self, x: &[Vec3], part: &[u32], wanted: &[bool], out: &mut [Vec3]) {
        let torque = |_: usize, e: &Unknowns<S, N, R>| {
            let dx = e.deformation(&corners_of(x, e.element.vertices()));
            let each = (0..R).map(|r| (e.z[r] - e.l[r]).cross(dx[r]) * e.weights[r]);
            each.sum()
        };
        let vertices = |e: &Unknowns<S, N, R>| e.element.vertices();
        sum_torques(&self.elements, vertices, torque, (part, wanted), out);
    }

    fn multipliers(&self) -> usize {
        R * self.elements.len()
    }

    fn save(&self, out: &mut [Vec3]) {
        for (e, out) in self.elements.iter().zip(out.chunks_exact_mut(R)) {
            for r in 0..R {
                out[r] = e.l[r] * e.weights[r].sqrt();
            }
        }
    }

    fn restore(&mut self, from: &[Vec3]) {
        for (e, from) in self.elements.iter_mut().zip(from.chunks_exact(R)) {
            for r in 0..R {
                e.l[r] = from[r] / e.weights[r].sqrt();
            }
        }
    }

    fn project(&mut self, x: &[Vec3]) {
        self.elements
            .par_iter_mut()
            .zip(&mut self.pull)
            .with_min_len(PER_TASK)
            .for_each(|(e, pull)| {
                let dx = e.deformation(&corners_of(x, e.element.vertices()));
                e.z = e.element.nearest(&std::array::from_fn(|r| dx[r] + e.l[r]));
                let wanted: [Vec3; R] = std::array::from_fn(|r| (e.z[r] - e.l[r]) * e.weights[r]);
                for a in 0..N {
                    pull[a] = (0..R).map(|r| wanted[r] * e.rows[r][a]).sum();
                }
            });
    }

    fn gather(&self, vertices: &[u32], rows: &mut [Vec3], scale: f64) {
        self.corners.gather(&self.pull, vertices, rows, scale);
    }

    fn apart(&self, x: &[Vec3]) -> f64 {
        let chunk = |part: &[Unknowns<S, N, R>]| -> f64 {
            let each = part.iter().map(|e| {
                let dx = e.deformation(&corners_of(x, e.element.vertices()));
                (0..R)
                    .map(|r| e.weights[r] * dx[r].distance_squared(e.z[r]))
                    .sum::<f64>()
            });
            each.sum()
        };
        let parts: Vec<f64> = self.elements.par_chunks(PER_TASK).map(chunk).collect();
        parts.iter().sum()
    }

    fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }
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
