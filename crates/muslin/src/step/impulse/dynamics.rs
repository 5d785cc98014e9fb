//! Internal dynamics: central differences in steps that the stiffest element allows; damping and drag implicitly, once a
//! collision step.

use crate::force::StepContext;
use crate::step::StepError;
use crate::world::World;
use muslin_linalg::{BlockMatrix, ConjugateGradients, Mat3, Vec3};
use rayon::prelude::*;

/// So long a step that dashpots do not count, s.
const NO_DASHPOT: f64 = 1e12;
/// So short a step that nothing but dashpots counts, s.
const ONLY_DASHPOT: f64 = 1e-9;
/// Part of the largest stable step that is taken.
const SAFETY: f64 = 0.7;
/// Growth of the largest speed in a collision step that is taken for an instability, and the speed that counts as none,
/// m/s.
const WILD: f64 = 30.0;
const CALM: f64 = 1.0;
/// How often the dynamics are tried again in half as long steps.
const RETRIES: usize = 4;
/// Most steps of the dynamics in a collision step: stiffer cloth is for the implicit method.
const MOST_STEPS: f64 = 20_000.0;

/// Working memory of the dynamics.
#[derive(Default)]
pub struct Dynamics {
    matrix: Option<(u64, BlockMatrix)>,
    solver: ConjugateGradients,
    gradient: Vec<Vec3>,
    external: Vec<Vec3>,
    right: Vec<Vec3>,
}

impl Dynamics {
    /// Largest stable step at the positions of the state, s: by a bound of the highest frequency.
    pub fn stable_step(&mut self, world: &mut World) -> f64 {
        let n = world.state.x.len();
        let context = StepContext {
            time: world.time,
            dt: NO_DASHPOT,
        };
        let (x, v) = (&world.state.x, &world.state.v);
        world.forces.begin_step(x, v, &context);
        let matrix = fresh(&mut self.matrix, world);
        self.gradient.clear();
        self.gradient.resize(n, Vec3::ZERO);
        world
            .forces
            .linearise(x, &mut self.gradient, &mut matrix.values, 1.0);
        let pattern = world.forces.pattern();
        let bound = (0..n)
            .into_par_iter()
            .with_min_len(512)
            .map(|row| {
                let blocks = pattern.row(row);
                let columns = pattern.columns_of(row);
                let sum: f64 = blocks
                    .zip(columns)
                    .map(|(slot, column)| {
                        let mass = (world.mass[row] * world.mass[*column as usize]).sqrt();
                        spectral_bound(&matrix.values[slot]) / mass
                    })
                    .sum();
                sum
            })
            .reduce(|| 0.0, f64::max);
        if bound > 0.0 {
            SAFETY * 2.0 / bound.sqrt()
        } else {
            f64::INFINITY
        }
    }

    /// Like [`Self::advance_once`], but again in shorter steps if the motion runs wild: cloth that is stretched within the
    /// step may become stiffer than it was at its beginning.
    pub fn advance(
        &mut self,
        world: &mut World,
        dt: f64,
        stable: f64,
        x: &mut Vec<Vec3>,
        v: &mut Vec<Vec3>,
    ) -> Result<usize, StepError> {
        let fastest = |v: &[Vec3]| v.iter().map(|v| v.length_squared()).fold(0.0, f64::max);
        let before = fastest(&world.state.v).sqrt();
        let (mut taken, mut step) = (0, stable);
        for _ in 0..=RETRIES {
            taken += self.advance_once(world, dt, step, x, v)?;
            let finite = v.iter().chain(x.iter()).all(|p| p.is_finite());
            if finite && fastest(v).sqrt() <= WILD * (before + CALM) {
                break;
            }
            step = 0.5 * step.min(dt);
        }
        Ok(taken)
    }

    /// Positions (m) and velocities (m/s) after `dt` (s) without contact, from the state of the world at its time, in
    /// steps of at most `stable` (s). Says how many steps it took.
    fn advance_once(
        &mut self,
        world: &mut World,
        dt: f64,
        stable: f64,
        x: &mut Vec<Vec3>,
        v: &mut Vec<Vec3>,
    ) -> Result<usize, StepError> {
        let wanted = (dt / stable).ceil().max(1.0);
        if wanted > MOST_STEPS {
            return Err(StepError::TooStiff {
                step: stable,
                time: world.time,
            });
        }
        let steps = wanted as usize;
        let h = dt / wanted;
        x.clone_from(&world.state.x);
        v.clone_from(&world.state.v);
        let context = StepContext {
            time: world.time + dt,
            dt: NO_DASHPOT,
        };
        world.forces.begin_step(x, v, &context);
        self.force(world, x, world.time);
        for k in 0..steps {
            let (begin, end) = (
                world.time + h * k as f64,
                world.time + dt * ((k + 1) as f64 / wanted),
            );
            self.kick(world, v, 0.5 * h);
            for (x, v) in x.iter_mut().zip(v.iter()) {
                *x += *v * h;
            }
            lead(world, x, v, begin, end)?;
            self.force(world, x, end);
            self.kick(world, v, 0.5 * h);
            lead(world, x, v, begin, end)?;
        }
        Ok(steps)
    }

    /// Force on every vertex, N, into `right`.
    fn force(&mut self, world: &World, x: &[Vec3], time: f64) {
        self.gradient.clear();
        self.gradient.resize(x.len(), Vec3::ZERO);
        world.forces.gradient(x, &mut self.gradient);
        world.external_forces(time, &mut self.external);
    }

    fn kick(&self, world: &World, v: &mut [Vec3], h: f64) {
        for (i, v) in v.iter_mut().enumerate() {
            *v += (self.external[i] - self.gradient[i]) * (h / world.mass[i]);
        }
    }

    /// Forces that kept held vertices on their paths over the last `dt` (s), as means: what is missing from their balance
    /// of momentum. `before` are the velocities at its beginning, m/s.
    pub fn reactions(&mut self, world: &mut World, before: &[Vec3], dt: f64) {
        let context = StepContext {
            time: world.time + dt,
            dt: NO_DASHPOT,
        };
        world
            .forces
            .begin_step(&world.state.x, &world.state.v, &context);
        self.force(world, &world.state.x, world.time + dt);
        world.reactions.clear();
        world.reactions.resize(before.len(), Vec3::ZERO);
        for pin in &world.pins {
            for v in pin.vertices.iter().map(|v| *v as usize) {
                let gained = (world.state.v[v] - before[v]) * (world.mass[v] / dt);
                let missing = gained + self.gradient[v] - self.external[v];
                for k in (0..3).filter(|k| pin.axes[*k]) {
                    world.reactions[v][k] = missing[k];
                }
            }
        }
    }

    /// Damps velocities `v` (m/s) at positions `x` (m) over `dt` (s): solves `(M + dt D) v' = M v`; after contact
    /// `(M + dt D + dt² K) v' = M v`, which also calms the vibrations that a sudden stop excites in stiff cloth. Drag
    /// towards moving air is in the forces already; what resists the cloth's own motion is in `D`. Inverse masses are
    /// per axis, 1/kg, zero where a vertex is held: there velocities stay.
    pub fn damp(
        &mut self,
        world: &mut World,
        x: &[Vec3],
        v: &mut [Vec3],
        (dt, after_contact): (f64, bool),
        inverse_mass: &[Vec3],
    ) {
        let dashpots = world.wind.is_some() || world.bodies.iter().any(|b| b.damping() > 0.0);
        if !dashpots && !after_contact {
            return;
        }
        let context = StepContext {
            time: world.time + dt,
            dt: if after_contact { dt } else { ONLY_DASHPOT },
        };
        world.forces.begin_step(x, v, &context);
        let matrix = fresh(&mut self.matrix, world);
        self.gradient.clear();
        self.gradient.resize(x.len(), Vec3::ZERO);
        let scale = dt * context.dt;
        world
            .forces
            .linearise(x, &mut self.gradient, &mut matrix.values, scale);
        // Held vertices move as they are told; the rest feels them through the right-hand side. The unknown is the
        // change of velocity, zero where held.
        let pattern = world.forces.pattern();
        self.right.clear();
        self.right.resize(v.len(), Vec3::ZERO);
        matrix.multiply(pattern, v, &mut self.right);
        for row in 0..pattern.rows() {
            let free = inverse_mass[row].map(|m| f64::from(u8::from(m > 0.0)));
            self.right[row] *= -free;
            for slot in pattern.row(row) {
                let column = pattern.columns()[slot] as usize;
                let there = inverse_mass[column].map(|m| f64::from(u8::from(m > 0.0)));
                let block = &mut matrix.values[slot];
                if free != Vec3::ONE || there != Vec3::ONE {
                    *block = Mat3::from_cols(
                        block.x_axis * free * there.x,
                        block.y_axis * free * there.y,
                        block.z_axis * free * there.z,
                    );
                }
                if row == column {
                    *block += Mat3::from_diagonal(Vec3::splat(world.mass[row]));
                }
            }
        }
        let mut change = vec![Vec3::ZERO; v.len()];
        self.solver
            .solve(pattern, matrix, &self.right, &mut change, 1e-5, 100);
        for (v, change) in v.iter_mut().zip(change) {
            *v += change;
        }
    }
}

/// A matrix of zeros with the pattern of the world.
fn fresh<'a>(kept: &'a mut Option<(u64, BlockMatrix)>, world: &World) -> &'a mut BlockMatrix {
    if kept.as_ref().map(|k| k.0) != Some(world.revision) {
        *kept = None;
    }
    let (_, matrix) =
        kept.get_or_insert_with(|| (world.revision, BlockMatrix::zeros(world.forces.pattern())));
    matrix.values.fill(Mat3::ZERO);
    matrix
}

/// At least the largest stretch a matrix can do.
fn spectral_bound(m: &Mat3) -> f64 {
    let rows = [0, 1, 2].map(|k| m.row(k).abs().element_sum());
    let columns = [m.x_axis, m.y_axis, m.z_axis].map(|c| c.abs().element_sum());
    let most = |a: [f64; 3]| a[0].max(a[1]).max(a[2]);
    (most(rows) * most(columns)).sqrt()
}

/// Puts held coordinates where they have to be at the end of a step, with the velocity that takes them there.
fn lead(
    world: &World,
    x: &mut [Vec3],
    v: &mut [Vec3],
    begin: f64,
    end: f64,
) -> Result<(), StepError> {
    for pin in &world.pins {
        for (i, vertex) in pin.vertices.iter().enumerate() {
            let vertex = *vertex as usize;
            let (from, to) = (pin.target(i, begin), pin.target(i, end));
            if !to.is_finite() {
                return Err(StepError::PinUndefined {
                    pin: pin.name.clone(),
                    time: end,
                });
            }
            for k in (0..3).filter(|k| pin.axes[*k]) {
                x[vertex][k] = to[k];
                v[vertex][k] = (to[k] - from[k]) / (end - begin);
            }
        }
    }
    Ok(())
}
