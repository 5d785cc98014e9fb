//! Elements that are split off from the positions.
//!
//! A *split* element has a deformation `z` of its own. It takes the one that costs least, its energy plus `w/2` times the
//! squared distance to what the positions say, and pulls the positions there; a multiplier collects what is left between
//! the two.

use super::local::{Corners, Local, PER_TASK, Turns, corners_of, lower, owner, sum_torques};
use crate::force::StepContext;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// An element that is split off from the positions: `R` vectors `z = D x`, linear in its `N` vertices.
pub trait Split<const N: usize, const R: usize>: Send + Sync {
    /// Vertices in the state.
    fn vertices(&self) -> [u32; N];

    /// `D`: one row a vector of the deformation.
    fn rows(&self) -> [[f64; N]; R];

    /// Least weight of each vector's distance. With `D` in 1/m this is in N m, without unit in N/m.
    fn weights(&self) -> [f64; R];

    /// Stiffness at rest without damping, in the unit of weights; what is not elastic has none.
    fn stiffness(&self) -> [f64; R] {
        [0.0; R]
    }

    /// Called once a step with positions (m) and velocities (m/s) at its start.
    fn begin_step(&mut self, _x: &[Vec3; N], _v: &[Vec3; N], _step: &StepContext) {}

    /// Pressure in the unit of weights if the deformation `z` has this stress; negative or zero if there is none. What is
    /// pressed would rather turn or fold: without weights that outweigh its pressure there is no nearest deformation.
    fn pressure(&self, _z: &[Vec3; R], _stress: &[Vec3; R]) -> f64 {
        0.0
    }

    /// Derivative of the energy by the deformation at `z`: what the multiplier holds once all is solved.
    fn stress(&self, z: &[Vec3; R]) -> [Vec3; R];

    /// The deformation `z` that minimises the energy plus `Σ w/2 |z - y|²` with the weights `w`.
    fn nearest(&mut self, y: &[Vec3; R], weights: &[f64; R]) -> [Vec3; R];
}

/// Pressure over weight from which on weights are raised. Where contact holds the positions, a turn of the deformation by
/// a small angle comes back in the next iteration times `-s / (1 - s)` with this share `s`: beyond a half it grows, and the
/// deformation goes round for ever.
const TOO_MUCH: f64 = 0.25;
/// Weight over pressure, at least, of what was raised. In powers of two, so that few changes do: the matrix is made anew for
/// each.
const OVER_PRESSURE: f64 = 4.0;
/// Weights are lowered when they are so many times what they would be made.
const FAR_MORE: f64 = 8.0;
/// Most that weights are raised by.
const MOST: f64 = 1e6;

/// One split element with its unknowns.
struct Unknowns<S, const N: usize, const R: usize> {
    element: S,
    rows: [[f64; N]; R],
    weights: [f64; R],
    /// Weights over the least ones.
    factor: f64,
    /// Deformation.
    z: [Vec3; R],
    /// Scaled multiplier.
    l: [Vec3; R],
}

impl<S: Split<N, R>, const N: usize, const R: usize> Unknowns<S, N, R> {
    fn deformation(&self, x: &[Vec3; N]) -> [Vec3; R] {
        std::array::from_fn(|r| (0..N).map(|a| x[a] * self.rows[r][a]).sum())
    }

    /// What the multiplier holds.
    fn stress(&self) -> [Vec3; R] {
        std::array::from_fn(|r| self.l[r] * self.weights[r])
    }

    /// Makes weights so many times the least ones, and the multiplier what holds a stress.
    fn hold(&mut self, factor: f64, stress: &[Vec3; R]) {
        self.factor = factor;
        self.weights = self.element.weights().map(|w| w * factor);
        self.l = std::array::from_fn(|r| stress[r] / self.weights[r]);
    }

    /// Pressure of the multiplier over the least weight.
    fn pressed(&self) -> f64 {
        let least = self.element.weights().into_iter();
        let least = least.fold(f64::INFINITY, f64::min);
        self.element.pressure(&self.z, &self.stress()) / least
    }

    /// Makes weights outweigh what the multiplier presses with. It tells more than the positions: those that contact wants
    /// would make stiff cloth look pressed everywhere.
    fn bear(&mut self) {
        let pressed = self.pressed();
        let wanted = (OVER_PRESSURE * pressed).clamp(1.0, MOST);
        let wanted = wanted.log2().ceil().exp2();
        if pressed > TOO_MUCH * self.factor || wanted * FAR_MORE <= self.factor {
            let stress = self.stress();
            self.hold(wanted, &stress);
        }
    }

    /// Adds `Σ w |D x|²` as a form of the positions.
    fn add_form(&self, weights: &[f64; R], entries: &mut Vec<(u32, u32, f64)>) {
        let rows = &self.rows;
        let form = std::array::from_fn(|a| {
            std::array::from_fn(|b| (0..R).map(|r| weights[r] * rows[r][a] * rows[r][b]).sum())
        });
        lower(self.element.vertices(), &form, entries);
    }

    /// What pulls at a deformation, as it pulls at the vertices.
    fn spread(&self, pull: &[Vec3; R]) -> [Vec3; N] {
        std::array::from_fn(|a| (0..R).map(|r| pull[r] * self.rows[r][a]).sum())
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
                factor: 1.0,
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
            e.add_form(&e.weights, entries);
        }
    }

    fn add_stiffness(&self, entries: &mut Vec<(u32, u32, f64)>) {
        for e in &self.elements {
            e.add_form(&e.element.stiffness(), entries);
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
                e.hold(1.0, &stress);
            });
    }

    fn weighed(&self) -> usize {
        self.elements.len()
    }

    fn resume(&mut self, factors: &[f64], stresses: &[Vec3]) {
        let stresses = stresses.as_chunks::<R>().0;
        for ((e, factor), stress) in self.elements.iter_mut().zip(factors).zip(stresses) {
            e.hold(*factor, stress);
        }
    }

    fn weigh(&mut self) {
        self.elements
            .par_iter_mut()
            .with_min_len(PER_TASK)
            .for_each(Unknowns::bear);
    }

    fn leave(&self, factors: &mut [f64], stresses: &mut [Vec3]) {
        let stresses = stresses.as_chunks_mut::<R>().0;
        for ((e, factor), stress) in self.elements.iter().zip(factors).zip(stresses) {
            *factor = e.factor;
            *stress = e.stress();
        }
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

    fn pull_beyond(&mut self) {
        self.elements
            .par_iter()
            .zip(&mut self.pull)
            .with_min_len(PER_TASK)
            .for_each(|(e, pull)| {
                let (own, held) = (e.element.stress(&e.z), e.stress());
                *pull = e.spread(&std::array::from_fn(|r| own[r] - held[r]));
            });
    }

    fn project(&mut self, x: &[Vec3]) {
        self.elements
            .par_iter_mut()
            .zip(&mut self.pull)
            .with_min_len(PER_TASK)
            .for_each(|(e, pull)| {
                let dx = e.deformation(&corners_of(x, e.element.vertices()));
                let wanted = std::array::from_fn(|r| dx[r] + e.l[r]);
                e.z = e.element.nearest(&wanted, &e.weights);
                let wanted: [Vec3; R] = std::array::from_fn(|r| (e.z[r] - e.l[r]) * e.weights[r]);
                *pull = e.spread(&wanted);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::spring::Spring;
    use crate::step::admm::spring::SplitSpring;

    /// A spring of 1 m and 30 N/m with a weight of 3 N/m, pressed to a length.
    fn pressed(length: f64) -> SplitGroup<SplitSpring, 2, 1> {
        let spring = SplitSpring::new(Spring::new([0, 1], 1.0, 30.0, 0.0), |_| 0.1, 0.01);
        let mut group = SplitGroup::new(2, vec![spring]);
        let step = StepContext {
            time: 0.0,
            dt: 0.01,
        };
        group.begin_step(&[Vec3::ZERO, Vec3::X * length], &[Vec3::ZERO; 2], &step);
        group
    }

    fn left(group: &SplitGroup<SplitSpring, 2, 1>) -> (f64, Vec3) {
        let (mut factors, mut stresses) = ([0.0], [Vec3::ZERO]);
        group.leave(&mut factors, &mut stresses);
        (factors[0], stresses[0])
    }

    #[test]
    fn weights_outweigh_pressure_and_leave_stresses_as_they_are() {
        // Stretched, and pressed by a fifth of the weight: 30 (1 / 0.98 - 1) = 0.61 N/m.
        for length in [1.2, 0.98] {
            let mut group = pressed(length);
            group.weigh();
            assert_eq!(left(&group).0, 1.0);
        }
        // 30 (1 / 0.6 - 1) = 20 N/m: four times that over 3 N/m, as a power of two.
        let mut group = pressed(0.6);
        let before = left(&group).1;
        group.weigh();
        let (factor, stress) = left(&group);
        assert_eq!(factor, 32.0);
        assert!(stress.distance(before) < 1e-12, "{stress} {before}");
        // The nearest deformation is the one at the start, where all is in balance.
        let x = [Vec3::ZERO, Vec3::X * 0.6];
        group.project(&x);
        assert!(group.apart(&x) < 1e-24);
    }

    #[test]
    fn weights_stay_until_they_are_far_more_than_needed() {
        for (factor, length, expected) in [(16.0, 0.95, 16.0), (32.0, 0.95, 4.0), (4.0, 1.2, 4.0)] {
            let mut group = pressed(length);
            let stress = left(&group).1;
            group.resume(&[factor], &[stress]);
            group.weigh();
            assert_eq!(left(&group).0, expected, "{factor} at {length}");
        }
    }
}
