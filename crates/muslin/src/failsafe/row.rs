//! One condition on velocities: two features may approach each other only so fast.

use crate::contact::{Candidate, Features, NO_VERTEX};
use crate::material::Cone;
use crate::world::World;
use muslin_linalg::Vec3;
use std::collections::BTreeMap;

/// `normal · (Σ wᵢ vᵢ - surface) ≥ least`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Vertices, those of obstacles after those of the state; [`NO_VERTEX`] where there is none.
    pub vertices: [u32; 4],
    /// Signed weights.
    pub weights: [f64; 4],
    /// Unit vector from the side with negative weights to the one with positive weights.
    pub normal: Vec3,
    /// Velocity of a solid's surface, m/s; zero for the others, whose vertices have one.
    pub surface: Vec3,
    /// Least normal component of the relative velocity, m/s.
    pub least: f64,
    /// Friction; its first axis is the normal.
    pub cone: Cone,
}

/// Gap that is always asked for at the end of a step, m: four times the separation of the detector.
pub const LEAST_GAP: f64 = 4e-6;

impl Row {
    /// The condition that two features found to meet stay apart. The first time they may come half as near as they are,
    /// or to a quarter of their thickness (m); `again`, no nearer.
    pub fn new(c: &Candidate, thickness: f64, cone: Cone, dt: f64, again: bool) -> Self {
        let gap = c.gap.dot(c.normal);
        let kept = if again {
            gap
        } else {
            (0.5 * gap).min(0.25 * thickness)
        };
        Self {
            vertices: c.vertices,
            weights: c.weights,
            normal: c.normal,
            surface: c.surface_velocity,
            least: (kept.max(LEAST_GAP) - gap) / dt,
            cone,
        }
    }

    /// The vertices that take part, with their weights.
    pub fn parts(&self) -> impl Iterator<Item = (usize, f64)> + use<> {
        let (vertices, weights) = (self.vertices, self.weights);
        (0..4)
            .filter(move |k| vertices[*k] != NO_VERTEX && weights[*k] != 0.0)
            .map(move |k| (vertices[k] as usize, weights[k]))
    }

    /// Relative velocity, m/s.
    pub fn velocity(&self, v: &[Vec3]) -> Vec3 {
        self.parts().map(|(i, w)| v[i] * w).sum::<Vec3>() - self.surface
    }

    /// Change of the relative velocity along a unit vector per impulse, 1/kg. Inverse masses are given per axis, zero
    /// where a vertex is held.
    pub fn compliance(&self, along: Vec3, inverse_mass: &[Vec3]) -> f64 {
        let square = along * along;
        self.parts()
            .map(|(i, w)| w * w * inverse_mass[i].dot(square))
            .sum()
    }

    /// Applies an impulse (N s) along a unit vector.
    pub fn push(&self, impulse: f64, along: Vec3, inverse_mass: &[Vec3], v: &mut [Vec3]) {
        for (i, w) in self.parts() {
            v[i] += inverse_mass[i] * along * (w * impulse);
        }
    }

    /// Parts the features if they approach too fast, with friction; says whether it did anything.
    pub fn resolve(&self, inverse_mass: &[Vec3], v: &mut [Vec3]) -> bool {
        let u = self.velocity(v);
        let missing = self.least - u.dot(self.normal);
        let compliance = self.compliance(self.normal, inverse_mass);
        if missing <= 0.0 || compliance <= 0.0 {
            return false;
        }
        self.push(missing / compliance, self.normal, inverse_mass, v);
        let resistance = self.resistance(u);
        if let Some(against) = resistance.try_normalize() {
            let compliance = self.compliance(against, inverse_mass);
            if compliance > 0.0 {
                let change = (resistance.length() * missing).min(-u.dot(against));
                self.push(change / compliance, against, inverse_mass, v);
            }
        }
        true
    }

    /// Friction per normal impulse against sliding with a relative velocity (m/s): of all that the cone allows, that which
    /// takes most energy away.
    fn resistance(&self, velocity: Vec3) -> Vec3 {
        let [a, b] = self.cone.friction;
        let local = self.cone.frame * velocity;
        let (y, z) = (a * local.y, b * local.z);
        let scale = y.hypot(z);
        if scale > 0.0 {
            self.cone.frame.transpose() * (Vec3::new(0.0, a * y, b * z) / -scale)
        } else {
            Vec3::ZERO
        }
    }
}

/// All meetings since the start of the step, each once.
#[derive(Default)]
pub(super) struct Rows {
    pub rows: Vec<Row>,
    place: BTreeMap<Features, usize>,
}

impl Rows {
    pub fn clear(&mut self) {
        self.rows.clear();
        self.place.clear();
    }

    /// Adds what was found; a pair that is there already gets its new condition and may not come nearer.
    pub fn add(&mut self, world: &World, x: &[Vec3], found: &[Candidate], dt: f64) {
        for c in found {
            let key = c.features();
            let thickness = world.distance_kept(c.parties);
            let cone = world.cone(c.parties, c.vertices, c.weights, c.normal, x);
            let known = self.place.get(&key).copied();
            let row = Row::new(c, thickness, cone, dt, known.is_some());
            if let Some(i) = known {
                self.rows[i] = row;
            } else {
                self.place.insert(key, self.rows.len());
                self.rows.push(row);
            }
        }
    }
}
