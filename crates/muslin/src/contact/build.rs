//! From candidates to contacts: thickness, gap, motion of obstacles, frame and coefficient of each.

use super::redundant::Redundancy;
use super::{Detector, Kind, NO_VERTEX, Party, Touch};
use crate::world::World;
use muslin_friction::{Contact, NO_NODE, State};
use muslin_linalg::Vec3;

/// How contacts are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactParams {
    /// Length of the step, s.
    pub dt: f64,
    /// Fraction of a missing distance that is made up for in a step.
    pub recovery: f64,
    /// Speed at which it is made up for at most, m/s.
    pub recovery_speed: f64,
}

/// What is remembered of a contact so that the next step starts from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remembered {
    /// Which features met: vertices as the detector numbers them.
    pub features: Features,
    /// Impulse on the first party, N s.
    pub impulse: Vec3,
}

/// Two features, told apart from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Features {
    /// What meets what.
    pub kind: Kind,
    /// Vertices as the detector numbers them.
    pub vertices: [u32; 4],
    /// Whom the second feature belongs to; solids have no vertices.
    pub party: Party,
}

impl Features {
    /// Numbers that say it all, for files.
    pub const NUMBERS: usize = 6;

    /// In numbers: kind, vertices, party (obstacles negative).
    pub fn to_numbers(&self) -> [i32; Self::NUMBERS] {
        let [a, b, c, d] = self.vertices.map(|v| v as i32);
        let party = match self.party {
            Party::Cloth(i) => i as i32,
            Party::Obstacle(i) => -1 - i as i32,
        };
        [self.kind as i32, a, b, c, d, party]
    }

    /// From numbers, if they make sense.
    pub fn from_numbers(numbers: &[i32]) -> Option<Self> {
        let &[kind, a, b, c, d, party] = numbers else {
            return None;
        };
        Some(Self {
            kind: *[Kind::VertexFace, Kind::EdgeEdge, Kind::VertexSolid]
                .get(usize::try_from(kind).ok()?)?,
            vertices: [a, b, c, d].map(|v| v as u32),
            party: if party < 0 {
                Party::Obstacle((-1 - party) as usize)
            } else {
                Party::Cloth(party as usize)
            },
        })
    }
}

/// All contacts of a step.
#[derive(Default)]
pub struct ContactSet {
    /// As the solver sees them, but for the velocities of nodes.
    pub contacts: Vec<Contact>,
    /// Impulses in the frames of the contacts, N s.
    pub impulses: Vec<Vec3>,
    features: Vec<Features>,
    parties: Vec<[Party; 2]>,
    positions: Vec<Vec3>,
    redundancy: Redundancy,
}

impl ContactSet {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.contacts.clear();
        self.impulses.clear();
        self.features.clear();
        self.parties.clear();
        self.positions.clear();
    }

    /// Keeps only the first contacts.
    pub fn truncate(&mut self, contacts: usize) {
        self.contacts.truncate(contacts);
        self.impulses.truncate(contacts);
        self.features.truncate(contacts);
        self.parties.truncate(contacts);
        self.positions.truncate(contacts);
    }

    /// Adds the contacts of what `detector` found with a prediction. Candidates that are merely near but not near enough
    /// for their thickness are left out.
    pub fn add(&mut self, world: &World, detector: &Detector, params: &ContactParams) {
        // Crossings where no neighbour comes nearer say it all; only without any such do the others count.
        let closest = detector.found().iter().any(|c| c.closest);
        let (x0, x1) = (detector.start(), detector.end());
        let nodes = world.state.x.len();
        let first = self.contacts.len();
        for c in detector.found() {
            if closest && !c.closest {
                continue;
            }
            let distance = c.gap.dot(c.normal);
            let thickness = c.share * world.distance_kept(c.parties);
            if c.time == f64::INFINITY && distance > NEAR * thickness {
                continue;
            }
            let mut contact = Contact {
                nodes: [NO_NODE; 4],
                weights: [0.0; 4],
                frame: muslin_linalg::Mat3::IDENTITY,
                friction: [0.0; 2],
                offset: Vec3::ZERO,
            };
            // What the obstacle does is given; what cloth does is sought.
            let mut given = -c.surface_velocity;
            let mut position = Vec3::ZERO;
            let mut used = 0;
            for (v, w) in c.vertices.iter().zip(c.weights) {
                if *v == NO_VERTEX || w == 0.0 {
                    continue;
                }
                let v = *v as usize;
                if w < 0.0 {
                    position -= x0[v] * w;
                }
                if v < nodes {
                    contact.nodes[used] = v as u32;
                    contact.weights[used] = w;
                    used += 1;
                } else {
                    given += (x1[v] - x0[v]) * (w / params.dt);
                }
            }
            if used == 0 {
                continue;
            }
            if c.kind == Kind::VertexSolid {
                position = x0[c.vertices[0] as usize] - c.gap;
            }
            let missing = thickness - distance;
            let approach = if missing > 0.0 {
                -(params.recovery * missing / params.dt).min(params.recovery_speed)
            } else {
                -missing / params.dt
            };
            let cone = world.cone(c.parties, c.vertices, c.weights, c.normal, x0);
            contact.frame = cone.frame;
            contact.friction = cone.friction;
            contact.offset = cone.frame * given + Vec3::X * approach;
            let features = c.features();
            let impulse = world.remembered(&features);
            self.impulses.push(cone.frame * impulse);
            self.contacts.push(contact);
            self.features.push(features);
            self.parties.push(c.parties);
            self.positions.push(position);
        }
        self.drop_redundant(first, nodes);
    }

    /// Of the contacts from `first` on, leaves out those that say what another says. Earlier ones are not asked: what
    /// was found since crosses although they were obeyed.
    fn drop_redundant(&mut self, first: usize, vertices: usize) {
        let contacts = &self.contacts[first..];
        let impulses = &mut self.impulses[first..];
        self.redundancy
            .judge(vertices, contacts, &self.parties[first..], impulses);
        let mut to = first;
        for i in 0..self.redundancy.keep.len() {
            if self.redundancy.keep[i] {
                self.shift(first + i, to);
                to += 1;
            }
        }
        self.truncate(to);
    }

    /// Whether edges of cloth carried an impulse in the last step that are no contacts yet.
    pub fn lacks_carried(&self, world: &World) -> bool {
        let mut known = self.features.clone();
        known.sort_unstable();
        let edges = |f: &Features| f.kind == Kind::EdgeEdge && matches!(f.party, Party::Cloth(_));
        let mut carried = world.impulses.iter().map(|r| &r.features);
        carried.any(|f| edges(f) && known.binary_search(f).is_err())
    }

    /// Of the contacts from `first` on, leaves out those between features that met before it.
    pub fn drop_known(&mut self, first: usize) {
        let mut known = self.features[..first].to_vec();
        known.sort_unstable();
        let mut to = first;
        for i in first..self.contacts.len() {
            if known.binary_search(&self.features[i]).is_err() {
                self.shift(i, to);
                to += 1;
            }
        }
        self.truncate(to);
    }

    fn shift(&mut self, from: usize, to: usize) {
        self.contacts[to] = self.contacts[from];
        self.impulses[to] = self.impulses[from];
        self.features[to] = self.features[from];
        self.parties[to] = self.parties[from];
        self.positions[to] = self.positions[from];
    }

    /// Where a contact is, m.
    pub fn position(&self, contact: usize) -> Vec3 {
        self.positions[contact]
    }

    /// Leaves the contacts that carry something, or move at all, with the world: to be recorded, and to start from.
    pub fn leave(&self, states: &[State], world: &mut World) {
        world.touches.clear();
        world.impulses.clear();
        for (i, contact) in self.contacts.iter().enumerate() {
            let impulse = contact.frame.transpose() * self.impulses[i];
            world.touches.push(Touch {
                parties: self.parties[i],
                position: self.positions[i],
                normal: contact.frame.row(0),
                impulse,
                state: states[i],
            });
            if impulse != Vec3::ZERO {
                world.impulses.push(Remembered {
                    features: self.features[i],
                    impulse,
                });
            }
        }
        world.impulses.sort_by_key(|r| r.features);
    }
}

/// Distance up to which near features become contacts, in thicknesses.
pub const NEAR: f64 = 1.5;
