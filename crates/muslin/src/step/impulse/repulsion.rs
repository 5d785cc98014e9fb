//! Repulsions: what is nearer than its thickness at the start of a step is stopped from approaching, pushed apart gently,
//! and rubs (Bridson et al. 2002, with the impulse limit put right).

use crate::contact::{Candidate, Touch};
use crate::failsafe::row::Row;
use crate::world::World;
use muslin_friction::State;
use muslin_linalg::Vec3;

/// Part of an overlap that may be made up for in a step.
const RECOVERY: f64 = 0.1;
/// Sweeps over all near pairs: impulses have to pass through stacks.
const SWEEPS: usize = 8;

/// One near pair.
struct Near {
    row: Row,
    /// What is missing to the thickness, m.
    overlap: f64,
    /// Stiffness of the compressed fibres, N/m.
    stiffness: f64,
    impulse: Vec3,
}

/// Near pairs of a step.
#[derive(Default)]
pub struct Repulsions {
    pairs: Vec<Near>,
}

impl Repulsions {
    /// Takes over near candidates. Inverse masses are per axis, 1/kg; `x` are positions as the detector numbers them
    /// (m), `stiffness` is that of each cloth, N/m.
    pub fn gather(&mut self, world: &World, found: &[Candidate], x: &[Vec3], stiffness: &[f64]) {
        self.pairs.clear();
        for c in found {
            let overlap = world.distance_kept(c.parties) - c.gap.dot(c.normal);
            if overlap < 0.0 {
                continue;
            }
            let cone = world.cone(c.parties, c.vertices, c.weights, c.normal, x);
            let soft = c.parties.iter().filter_map(|p| match p {
                crate::contact::Party::Cloth(i) => Some(stiffness[*i]),
                crate::contact::Party::Obstacle(_) => None,
            });
            let row = Row {
                vertices: c.vertices,
                weights: c.weights,
                normal: c.normal,
                surface: c.surface_velocity,
                least: 0.0,
                friction: 0.5 * (cone.friction[0] + cone.friction[1]),
                features: (c.kind, c.vertices, c.parties[1]),
            };
            self.pairs.push(Near {
                row,
                overlap,
                stiffness: soft.fold(f64::INFINITY, f64::min),
                impulse: Vec3::ZERO,
            });
        }
    }

    /// Applies all impulses to the velocities `v` (m/s, of everything that has vertices) of a step of `dt` (s).
    pub fn apply(&mut self, inverse_mass: &[Vec3], v: &mut [Vec3], dt: f64) {
        for pair in &mut self.pairs {
            pair.impulse = Vec3::ZERO;
        }
        for sweep in 0..SWEEPS {
            let mut pushed = false;
            for pair in &mut self.pairs {
                pushed |= pair.push(inverse_mass, v, dt, sweep == 0);
            }
            if !pushed {
                break;
            }
        }
    }

    /// Leaves what happened with the world, to be recorded; says how many pairs there are, how many stick and slide.
    pub fn leave(
        &self,
        world: &mut World,
        found: &[Candidate],
        x: &[Vec3],
        v: &[Vec3],
    ) -> [usize; 3] {
        let mut counts = [0; 3];
        let near = found
            .iter()
            .filter(|c| world.distance_kept(c.parties) >= c.gap.dot(c.normal));
        let mut touches = Vec::new();
        for (c, pair) in near.zip(&self.pairs) {
            counts[0] += 1;
            let u = pair.row.velocity(v);
            let sliding = (u - c.normal * u.dot(c.normal)).length() > 1e-6;
            let state = match (pair.impulse == Vec3::ZERO, sliding) {
                (true, _) => State::Separate,
                (false, false) => State::Stick,
                (false, true) => State::Slide,
            };
            counts[1] += usize::from(state == State::Stick);
            counts[2] += usize::from(state == State::Slide);
            let first: Vec3 = pair
                .row
                .parts()
                .filter(|(_, w)| *w > 0.0)
                .map(|(i, w)| x[i] * w)
                .sum();
            touches.push(Touch {
                parties: c.parties,
                position: first - c.gap,
                normal: c.normal,
                impulse: pair.impulse,
                state,
            });
        }
        world.touches.append(&mut touches);
        counts
    }
}

impl Near {
    fn push(&mut self, inverse_mass: &[Vec3], v: &mut [Vec3], dt: f64, first: bool) -> bool {
        let row = &self.row;
        let compliance = row.compliance(row.normal, inverse_mass);
        if compliance <= 0.0 {
            return false;
        }
        let u = row.velocity(v);
        let approach = u.dot(row.normal);
        let mut change = (-approach).max(0.0);
        let parting = RECOVERY * self.overlap / dt;
        if first && approach + change < parting {
            let spring = dt * self.stiffness * self.overlap * compliance;
            change += spring.min(parting - approach - change);
        }
        if change <= 0.0 {
            return false;
        }
        let mut impulse = row.normal * (change / compliance);
        row.push(change / compliance, row.normal, inverse_mass, v);
        let sliding = u - row.normal * approach;
        let speed = sliding.length();
        if speed > 0.0 && row.friction > 0.0 {
            let against = -sliding / speed;
            let compliance = row.compliance(against, inverse_mass);
            if compliance > 0.0 {
                let rub = (row.friction * change).min(speed) / compliance;
                row.push(rub, against, inverse_mass, v);
                impulse += against * rub;
            }
        }
        self.impulse += impulse;
        true
    }
}
