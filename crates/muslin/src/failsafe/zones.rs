//! Impact zones: vertices that keep meeting are joined, and every zone moves as a rigid body.

use super::rigid::{Member, RigidMotion};
use crate::contact::{Candidate, Kind, NO_VERTEX};
use muslin_linalg::Vec3;
use std::collections::BTreeMap;

/// Rounds of joining; each makes zones grow.
pub const ROUNDS: usize = 100;
/// Angle by which a zone may turn in a step, rad: the straight way to the end passes through no other order of vertices
/// below π.
const MOST_ANGLE: f64 = 2.5;
/// Held vertices whose velocities differ from a rigid motion by more than this belong to no rigid motion, m/s.
const MISFIT: f64 = 1e-9;

/// Which vertices move together.
pub struct Zones {
    parent: Vec<u32>,
    members: BTreeMap<u32, Zone>,
}

#[derive(Default)]
struct Zone {
    vertices: Vec<u32>,
    /// Vertices that touch solids: the vertex, the obstacle's number in the order of parties, and the velocity there.
    solids: Vec<(u32, Vec3)>,
    changed: bool,
    /// No rigid motion fits what holds it.
    broken: bool,
}

impl Zones {
    /// No zones yet among `vertices` vertices.
    pub fn new(vertices: usize) -> Self {
        Self {
            parent: (0..vertices as u32).collect(),
            members: BTreeMap::new(),
        }
    }

    fn root(&mut self, mut v: u32) -> u32 {
        while self.parent[v as usize] != v {
            let above = self.parent[self.parent[v as usize] as usize];
            self.parent[v as usize] = above;
            v = above;
        }
        v
    }

    /// Whether the features of a meeting move together already, so that they cannot really meet.
    pub fn holds(&mut self, c: &Candidate) -> bool {
        let root = self.root(c.vertices[0]);
        let Some(zone) = self.members.get(&root) else {
            return false;
        };
        if zone.broken {
            return false;
        }
        if c.kind == Kind::VertexSolid {
            return zone.solids.iter().any(|s| s.0 == c.vertices[0]);
        }
        (1..4).all(|k| self.root(c.vertices[k]) == root)
    }

    /// Joins the vertices of a meeting; says whether anything new was joined.
    pub fn join(&mut self, c: &Candidate) -> bool {
        let root = self.root(c.vertices[0]);
        let own = self.members.entry(root).or_default();
        if own.vertices.is_empty() {
            own.vertices.push(root);
        }
        if c.kind == Kind::VertexSolid {
            let new = own.solids.iter().all(|s| s.0 != c.vertices[0]);
            if new {
                own.solids.push((c.vertices[0], c.surface_velocity));
                own.changed = true;
            }
            return new;
        }
        let mut new = false;
        for k in 1..4 {
            if c.vertices[k] == NO_VERTEX {
                continue;
            }
            let (a, b) = (self.root(root), self.root(c.vertices[k]));
            if a == b {
                continue;
            }
            new = true;
            // The smaller number leads, so that the result does not depend on the order of joining.
            let (lead, other) = (a.min(b), a.max(b));
            let joined = self.members.remove(&other).unwrap_or_else(|| Zone {
                vertices: vec![other],
                ..Zone::default()
            });
            self.parent[other as usize] = lead;
            let zone = self.members.entry(lead).or_default();
            if zone.vertices.is_empty() {
                zone.vertices.push(lead);
            }
            zone.vertices.extend(joined.vertices);
            zone.solids.extend(joined.solids);
            zone.changed = true;
            zone.broken = false;
        }
        new
    }

    /// Gives every zone that changed its rigid motion: sets the velocities `v` (m/s) of its vertices from those they
    /// `wanted`, and marks them. Inverse masses are per axis, 1/kg; vertices held on any axis count as held.
    pub fn move_rigidly(
        &mut self,
        x: &[Vec3],
        wanted: &[Vec3],
        inverse_mass: &[Vec3],
        dt: f64,
        v: &mut [Vec3],
        marked: &mut [bool],
    ) {
        for zone in self.members.values_mut().filter(|z| z.changed) {
            zone.changed = false;
            zone.vertices.sort_unstable();
            let mut members: Vec<Member> = zone
                .vertices
                .iter()
                .map(|i| {
                    let inverse = inverse_mass[*i as usize].min_element();
                    Member {
                        x: x[*i as usize],
                        v: wanted[*i as usize],
                        mass: 1.0 / inverse,
                    }
                })
                .collect();
            members.extend(zone.solids.iter().map(|(i, velocity)| Member {
                x: x[*i as usize],
                v: *velocity,
                mass: f64::INFINITY,
            }));
            let motion = RigidMotion::fit(&members);
            zone.broken = !(motion.misfit <= MISFIT && motion.omega.length() * dt <= MOST_ANGLE);
            if zone.broken {
                continue;
            }
            for i in zone.vertices.iter().map(|i| *i as usize) {
                marked[i] = true;
                if inverse_mass[i] != Vec3::ZERO {
                    v[i] = (motion.carry(x[i], dt) - x[i]) / dt;
                }
            }
        }
    }
}
