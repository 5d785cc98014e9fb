//! What exists now: bodies, their shared state, what holds and pushes them, and the clock.

mod build;
mod cone;
mod describe;
pub(crate) mod forces;
mod friction;
mod friction_names;
mod obstacles;
mod select;
mod soft;
mod steer;

pub use describe::describe;
pub use friction::FrictionTable;
pub use obstacles::WorldObstacle;
pub(crate) use obstacles::sequence_files;
pub(crate) use select::bounds;
pub use steer::{Lead, SteerError, Steering};

use crate::contact::{Features, Kind, Party, Remembered, Touch};
use crate::failsafe::Tangle;
use crate::force::Forces;
use crate::force::drag::Wind;
use crate::force::grip::Hand;
use crate::material::{Fabric, Solid};
use crate::motion::{Motion, TimeVector};
use crate::scene::ContactSpec;
use muslin_geometry::mesh::Topology;
use muslin_linalg::{Vec2, Vec3};
use std::ops::Range;
use std::sync::Arc;

/// Positions and velocities of all bodies together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Positions, m.
    pub x: Vec<Vec3>,
    /// Velocities, m/s.
    pub v: Vec<Vec3>,
    /// How finely collisions were looked for last; the next step of the method `impulse` begins with it.
    pub collisions: CollisionSteps,
    /// What the next step of the method `admm` begins with.
    pub carried: Carried,
}

/// What the method `admm` carries from one step to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carried {
    /// What elements pulled with at the end of the last step, N m (N for springs and pins), in its own order; empty if
    /// there was none.
    pub stresses: Vec<Vec3>,
    /// By which factor the weights of each element are more than the least.
    pub factors: Vec<f64>,
}

/// Length of the collision steps of the method `impulse`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollisionSteps {
    /// How often the time step was halved.
    pub halvings: u32,
    /// Good collision steps of that length, one after the other.
    pub good: u32,
}

/// What a body is made of.
#[derive(Clone, Debug)]
pub enum Substance {
    /// Cloth.
    Fabric(Box<Fabric>),
    /// A soft body.
    Solid(Solid),
}

/// A named piece of cloth or a soft body: a range of the state with a rest shape and a material.
#[derive(Clone, Debug)]
pub struct Body {
    /// Name in the scene.
    pub name: String,
    /// Its vertices in the state.
    pub vertices: Range<usize>,
    /// Those of them on its surface, which come first: all of cloth. Only they can touch anything.
    pub surface: Range<usize>,
    /// Connectivity of the surface; indices count from the start of `vertices`.
    pub topology: Topology,
    /// Vertex quadruples of a soft body, each of positive volume at rest, counted from the start of `vertices`; none in
    /// cloth.
    pub tetrahedra: Vec<[u32; 4]>,
    /// Rest positions of each face's corners in warp and weft coordinates, m.
    pub material: Vec<[Vec2; 3]>,
    /// Positions in which its bends, or its tetrahedra, are at ease, m, before it was placed; none for cloth that wants to
    /// be flat.
    pub rest_positions: Option<Vec<Vec3>>,
    /// Number of each vertex in the file it came from; empty if the same.
    pub origin: Vec<u32>,
    /// What it is made of.
    pub substance: Substance,
    /// Name of the fabric or solid.
    pub substance_name: String,
    /// What was mended when its mesh was read, in words.
    pub repairs: Vec<String>,
    /// Positions at the start of the run, for displacements.
    pub initial: Vec<Vec3>,
    /// Thickness, m.
    pub thickness: f64,
    /// Distance that it keeps from itself, m: the thickness, or less where the mesh is too fine for it.
    pub distance_kept: f64,
}

impl Body {
    /// Its fabric, if it is cloth.
    pub fn fabric(&self) -> Option<&Fabric> {
        match &self.substance {
            Substance::Fabric(fabric) => Some(fabric),
            Substance::Solid(_) => None,
        }
    }

    /// Its solid, if it is a soft body.
    pub fn solid(&self) -> Option<&Solid> {
        match &self.substance {
            Substance::Fabric(_) => None,
            Substance::Solid(solid) => Some(solid),
        }
    }

    /// Kelvin-Voigt damping time of its substance, s.
    pub fn damping(&self) -> f64 {
        match &self.substance {
            Substance::Fabric(fabric) => fabric.damping,
            Substance::Solid(solid) => solid.damping,
        }
    }

    /// Stiffness with which its skin resists being pressed, N/m.
    pub fn compression_stiffness(&self) -> f64 {
        match &self.substance {
            Substance::Fabric(fabric) => fabric.membrane_modulus(),
            Substance::Solid(solid) => solid.young * self.thickness,
        }
    }

    /// The section of the scene it comes from.
    pub fn family(&self) -> &'static str {
        if self.solid().is_some() {
            "soft"
        } else {
            "cloth"
        }
    }

    /// What it is, in words for messages.
    pub fn kind(&self) -> &'static str {
        if self.solid().is_some() {
            "soft body"
        } else {
            "cloth"
        }
    }
}

/// Vertices whose motion is prescribed.
#[derive(Clone, Debug)]
pub struct Held {
    /// Name in the scene.
    pub name: String,
    /// Vertices in the state, ascending.
    pub vertices: Vec<u32>,
    /// Which coordinates are held.
    pub axes: [bool; 3],
    /// Motion since the start.
    pub motion: Motion,
    /// Point about which the motion turns and scales.
    pub pivot: Vec3,
    /// Positions at the start.
    pub start: Vec<Vec3>,
    /// Time at which they are let go, s.
    pub until: f64,
    /// Where they are led from outside, instead of by `motion`.
    pub lead: Option<Lead>,
}

/// A force on vertices.
#[derive(Clone, Debug)]
pub struct Push {
    /// Vertices in the state and each one's share of the force.
    pub shares: Vec<(u32, f64)>,
    /// Total force over time, N.
    pub force: TimeVector,
    /// Times between which it acts, s.
    pub during: Range<f64>,
}

/// What exists now.
pub struct World {
    /// Pieces of cloth and soft bodies, in the order of their names.
    pub bodies: Vec<Body>,
    /// Positions and velocities.
    pub state: State,
    /// Mass of each vertex, kg.
    pub mass: Vec<f64>,
    /// What cloth meets, in the order of their names.
    pub obstacles: Vec<WorldObstacle>,
    /// Friction between any two of them.
    pub friction: FrictionTable,
    /// Prescribed motion.
    pub pins: Vec<Held>,
    /// Forces on vertices.
    pub pushes: Vec<Push>,
    /// A hand that drags the cloth, while somebody watches; set by [`Self::grab`].
    hand: Option<Hand>,
    /// Acceleration of gravity, m/s².
    pub gravity: Vec3,
    /// Moving air.
    pub wind: Option<Arc<Wind>>,
    /// Time, s.
    pub time: f64,
    /// Forces that depend on positions.
    pub forces: Forces,
    /// Grows whenever vertices, faces or the set of held vertices change: solvers that cache by them look here.
    pub revision: u64,
    /// Grows whenever vertices or faces change: recorders look here.
    pub topology_revision: u64,
    /// Force that holds each vertex on its prescribed path, N; zero for free ones. Filled if `wants_reactions`.
    pub reactions: Vec<Vec3>,
    /// Whether steppers should fill `reactions`.
    pub wants_reactions: bool,
    /// Contacts of the last step.
    pub touches: Vec<Touch>,
    /// Impulses of the last step, by the features that met; the next step starts from them.
    pub impulses: Vec<Remembered>,
    /// What meets what.
    pub contact: ContactSpec,
    /// What crosses already and is left out of contact until it has parted.
    pub tangle: Tangle,
    /// What was changed from outside between steps.
    steered: steer::Steered,
}

impl World {
    /// A body by name.
    pub fn body(&self, name: &str) -> Option<&Body> {
        self.bodies.iter().find(|b| b.name == name)
    }

    /// An obstacle by name.
    pub fn obstacle(&self, name: &str) -> Option<&WorldObstacle> {
        self.obstacles.iter().find(|o| o.name == name)
    }

    /// Distance between the middle surfaces of two parties that touch, m.
    pub fn distance_kept(&self, parties: [Party; 2]) -> f64 {
        let half = |p: Party| match p {
            Party::Cloth(i) => self.bodies[i].thickness / 2.0,
            Party::Obstacle(_) => 0.0,
        };
        match parties {
            [Party::Cloth(i), Party::Cloth(j)] if i == j => self.bodies[i].distance_kept,
            [a, b] => half(a) + half(b),
        }
    }

    /// Impulse with which two features met in the last step, N s; zero if they did not. A vertex that has moved on to
    /// another face of the same object takes its impulse along.
    pub fn remembered(&self, features: &Features) -> Vec3 {
        let place = |f: &Features| self.impulses.partition_point(|r| r.features < *f);
        let at = place(features);
        if let Some(found) = self.impulses.get(at)
            && found.features == *features
        {
            return found.impulse;
        }
        if features.kind != Kind::VertexFace {
            return Vec3::ZERO;
        }
        let vertex = features.vertices[0];
        let first = place(&Features {
            vertices: [vertex, 0, 0, 0],
            ..*features
        });
        let same_vertex = |r: &&Remembered| {
            r.features.kind == Kind::VertexFace && r.features.vertices[0] == vertex
        };
        let of_vertex = self.impulses[first..].iter().take_while(same_vertex);
        of_vertex
            .filter(|r| r.features.party == features.party)
            .max_by(|a, b| a.impulse.length().total_cmp(&b.impulse.length()))
            .map_or(Vec3::ZERO, |r| r.impulse)
    }

    /// Lets go of pins whose time is over. Bending next to a clamp depends on it, so forces are made anew.
    pub fn release_pins(&mut self, next_time: f64) -> Result<(), muslin_linalg::SpanTooLarge> {
        let before = self.pins.len();
        self.pins.retain(|p| next_time <= p.until);
        if self.pins.len() != before {
            self.rebuild_forces()?;
        }
        Ok(())
    }

    /// Makes all elements anew, after a change of vertices, faces or pins.
    pub fn rebuild_forces(&mut self) -> Result<(), muslin_linalg::SpanTooLarge> {
        self.forces = forces::build(self)?;
        self.revision += 1;
        Ok(())
    }

    /// Takes a vertex by the hand, or lets go of it.
    pub fn grab(&mut self, hand: Option<Hand>) -> Result<(), muslin_linalg::SpanTooLarge> {
        self.hand = hand.filter(|h| (h.vertex as usize) < self.state.x.len());
        self.rebuild_forces()
    }

    /// The hand that holds a vertex.
    pub fn hand(&self) -> Option<&Hand> {
        self.hand.as_ref()
    }

    /// External force on each vertex at a time, N.
    pub fn external_forces(&self, time: f64, out: &mut Vec<Vec3>) {
        out.clear();
        out.extend(self.mass.iter().map(|m| self.gravity * *m));
        for push in self.pushes.iter().filter(|p| p.during.contains(&time)) {
            let force = push.force.at(time);
            for (v, share) in &push.shares {
                out[*v as usize] += force * *share;
            }
        }
        for (f, pushed) in out.iter_mut().zip(self.pushed()) {
            *f += *pushed;
        }
    }

    /// Bytes held by the world, apart from the solver's.
    pub fn bytes(&self) -> usize {
        let bodies: usize = self
            .bodies
            .iter()
            .map(|b| {
                b.topology.bytes()
                    + b.material.len() * 48
                    + b.initial.len() * 24
                    + b.tetrahedra.len() * 16
            })
            .sum();
        bodies + self.forces.bytes() + self.mass.len() * (24 + 24 + 8)
    }
}

#[cfg(test)]
mod friction_tests;

impl Held {
    /// Where vertex `i` of this pin has to be at a time.
    pub fn target(&self, i: usize, time: f64) -> Vec3 {
        match &self.lead {
            Some(lead) => lead.at(i, time),
            None => self.motion.at(time).apply(self.start[i], self.pivot),
        }
    }
}
