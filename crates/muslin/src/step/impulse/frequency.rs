//! How stiff a world is: the highest frequencies of its kinds of elements, and the steps of central differences that
//! follow from them.

use crate::force::StepContext;
use crate::world::World;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// So long a step that dashpots do not count, s.
pub const NO_DASHPOT: f64 = 1e12;
/// Part of the largest stable step that is taken: cloth may become stiffer within a step, and the frequencies are
/// found to a few per cent.
const SAFETY: f64 = 0.8;
/// Kinds of elements whose highest frequency is so many times lower than the highest of all are evaluated less often.
const SLOW: f64 = 4.0;
/// How often, at most: steps of the stiff elements for one of the others.
const MOST_RATIO: usize = 8;
/// Products with the stiffness to find a frequency, and to see whether it is low.
const PRODUCTS: usize = 8;
const GLANCE: usize = 3;

/// Steps of the internal dynamics.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Largest step, s.
    pub step: f64,
    /// Steps after which the slow elements are evaluated again.
    pub ratio: usize,
    /// Which kinds of elements are evaluated at every step.
    pub fast: Vec<bool>,
    /// The others.
    pub slow: Vec<bool>,
}

/// Working memory.
#[derive(Default)]
pub struct Frequencies {
    previous: Vec<Vec3>,
    basis: Vec<Vec3>,
    scaled: Vec<Vec3>,
    image: Vec<Vec3>,
    partial: Vec<f64>,
}

impl Frequencies {
    /// The steps that the elements allow at the positions of the state.
    pub fn pace(&mut self, world: &mut World) -> Pace {
        let context = StepContext {
            time: world.time,
            dt: NO_DASHPOT,
        };
        let (x, v) = (&world.state.x, &world.state.v);
        world.forces.begin_step(x, v, &context);
        let groups = world.forces.groups();
        let one = |g: usize| (0..groups).map(|k| k == g).collect::<Vec<bool>>();
        let mut squares: Vec<f64> = (0..groups)
            .map(|g| self.highest_square(world, &one(g), GLANCE))
            .collect();
        let highest = squares.iter().fold(0.0, |m: f64, s| m.max(*s));
        for (g, square) in squares.iter_mut().enumerate() {
            if *square * 2.0 * SLOW * SLOW > highest {
                *square = self.highest_square(world, &one(g), PRODUCTS);
            }
        }
        let highest = squares.iter().fold(0.0, |m: f64, s| m.max(*s));
        let mut slow: Vec<bool> = squares
            .iter()
            .map(|s| *s * SLOW * SLOW <= highest)
            .collect();
        let sum = |slow: &[bool], which: bool| -> f64 {
            let chosen = squares.iter().zip(slow).filter(|(_, s)| **s == which);
            chosen.map(|(s, _)| *s).sum()
        };
        // Half of what the slow elements allow by themselves: they meet the others' motion out of step.
        let spread = 0.5 * (sum(&slow, false) / sum(&slow, true)).sqrt();
        let mut ratio = spread.min(MOST_RATIO as f64) as usize;
        if ratio < 2 {
            ratio = 1;
            slow.fill(false);
        }
        let square = sum(&slow, false);
        Pace {
            step: if square > 0.0 {
                SAFETY * 2.0 / square.sqrt()
            } else {
                f64::INFINITY
            },
            ratio,
            fast: slow.iter().map(|s| !s).collect(),
            slow,
        }
    }

    /// Largest eigenvalue of `M⁻¹ K`, 1/s², of the kinds of elements that are chosen, by Lanczos's method.
    fn highest_square(&mut self, world: &World, chosen: &[bool], products: usize) -> f64 {
        let n = world.state.x.len();
        for v in [
            &mut self.previous,
            &mut self.basis,
            &mut self.scaled,
            &mut self.image,
        ] {
            v.clear();
            v.resize(n, Vec3::ZERO);
        }
        for (i, b) in self.basis.iter_mut().enumerate() {
            *b = Vec3::new(noise(3 * i), noise(3 * i + 1), noise(3 * i + 2));
        }
        let root: Vec<f64> = world.mass.iter().map(|m| 1.0 / m.sqrt()).collect();
        let (mut diagonal, mut beside) = (Vec::new(), vec![0.0]);
        let length = dot(&self.basis, &self.basis, &mut self.partial).sqrt();
        self.basis.iter_mut().for_each(|b| *b /= length);
        for _ in 0..products {
            let scaled = self.scaled.iter_mut().zip(self.basis.iter().zip(&root));
            scaled.for_each(|(s, (b, r))| *s = *b * *r);
            let x = &world.state.x;
            world
                .forces
                .product_of(chosen, x, &self.scaled, &mut self.image);
            let last = beside.last().copied().unwrap_or_default();
            for i in 0..n {
                self.image[i] = self.image[i] * root[i] - self.previous[i] * last;
            }
            let along = dot(&self.basis, &self.image, &mut self.partial);
            for i in 0..n {
                self.image[i] -= self.basis[i] * along;
            }
            let length = dot(&self.image, &self.image, &mut self.partial).sqrt();
            diagonal.push(along);
            // Nothing new to find; also where no element is.
            if !length.is_finite() || length <= 1e-9 * along.abs() || length == 0.0 {
                break;
            }
            beside.push(length);
            std::mem::swap(&mut self.previous, &mut self.basis);
            for i in 0..n {
                self.basis[i] = self.image[i] / length;
            }
        }
        largest_of_tridiagonal(&diagonal, &beside[1..])
    }
}

/// Largest eigenvalue of a symmetric tridiagonal matrix, by bisection.
fn largest_of_tridiagonal(diagonal: &[f64], beside: &[f64]) -> f64 {
    let n = diagonal.len();
    let at = |i: usize| beside.get(i).copied().unwrap_or_default();
    let row = |i: usize| {
        let left = if i > 0 { at(i - 1) } else { 0.0 };
        let right = if i + 1 < n { at(i) } else { 0.0 };
        (diagonal[i], left.abs() + right.abs())
    };
    let mut low = diagonal.iter().fold(0.0, |m: f64, d| m.max(*d));
    let mut high = (0..n).map(row).map(|(d, r)| d + r).fold(low, f64::max);
    for _ in 0..40 {
        let middle = low.midpoint(high);
        // All eigenvalues are below the middle if all pivots of `middle - T` are positive.
        let mut pivot = 1.0;
        let above = (0..n).any(|i| {
            let left = if i > 0 { at(i - 1) } else { 0.0 };
            pivot = middle - diagonal[i] - left * left / pivot;
            pivot <= 0.0
        });
        if above {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// A number between -1 and 1 that depends on what it is asked for and nothing else.
fn noise(index: usize) -> f64 {
    let z = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Sum of products, in chunks that do not depend on the threads.
pub fn dot(a: &[Vec3], b: &[Vec3], partial: &mut Vec<f64>) -> f64 {
    const CHUNK: usize = 4096;
    let chunks = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK));
    chunks
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum())
        .collect_into_vec(partial);
    partial.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::SceneSource;
    use crate::simulation::Simulation;

    /// A regular grid of springs has a known highest frequency: a wave that turns from row to row.
    #[test]
    fn the_highest_frequency_of_a_grid_is_found() {
        let text = r#"
[fabric.net]
density = 0.15
stretch = { springs = { modulus = 30 } }
bend = { rigidity = 1e-7 }
[cloth.sheet]
grid = { size = [1, 1], cells = [40, 40] }
fabric = "net"
"#;
        let mut s = Simulation::new(&SceneSource::from_text("test", text), &[], 1).unwrap();
        let mut frequencies = Frequencies::default();
        let pace = frequencies.pace(&mut s.world);
        assert!(pace.ratio > 1 && pace.fast.iter().filter(|f| **f).count() == 1);
        let [quick, exact] =
            [PRODUCTS, 80].map(|n| frequencies.highest_square(&s.world, &pace.fast, n));
        assert!(quick <= exact && quick > 0.85 * exact, "{quick} of {exact}");
        assert_eq!(pace.step, SAFETY * 2.0 / quick.sqrt());
        // Springs of 30 N/m along the rows and half of that across: the larger eigenvalue of [150 30; 30 30] N/m; the
        // border, lighter, may be somewhat higher.
        let bulk = (90.0 + 4500f64.sqrt()) / (0.15 / 1600.0);
        assert!(
            exact > 0.98 * bulk && exact < 1.4 * bulk,
            "{exact}, not {bulk}"
        );
    }

    #[test]
    fn the_largest_eigenvalue_of_a_tridiagonal_matrix() {
        let found = largest_of_tridiagonal(&[2.0, 2.0, 2.0], &[-1.0, -1.0]);
        assert!((found - (2.0 + 2f64.sqrt())).abs() < 1e-9, "{found}");
        assert_eq!(largest_of_tridiagonal(&[0.0], &[]), 0.0);
    }
}
