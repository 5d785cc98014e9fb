//! Things that cloth meets and that cloth does not move: analytic solids, meshes, sequences of meshes, at rest or led.
//!
//! Each kind implements [`Obstacle`] in its own frame; [`Placed`] puts any of them somewhere and moves it.

mod drive;
mod lathe;
mod mesh;
mod placed;
mod revolved;
mod sequence;
mod solids;

pub use drive::Drive;
pub use mesh::MeshObstacle;
pub use placed::{Placed, Placement, Standing};
pub use revolved::{Cone, Cylinder};
pub use sequence::{Sequence, SequenceError};
pub use solids::{Ball, Block, Capsule, Plane, Torus};

use muslin_linalg::Vec3;

/// The closest point of an obstacle, and what happens there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObstaclePoint {
    /// The closest point of the surface, m.
    pub position: Vec3,
    /// Unit vector out of the surface: the direction in which the signed distance grows.
    pub normal: Vec3,
    /// Distance, m; negative inside, or behind an open mesh.
    pub signed_distance: f64,
    /// Velocity of the surface's material there, m/s.
    pub velocity: Vec3,
}

/// How an obstacle takes part in contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Matter all the way through, with an exact signed distance: vertices are kept out of it.
    Solid,
    /// A skin of triangles, possibly thin and open: nothing crosses it, from either side.
    Mesh,
}

/// A surface that may move in a prescribed way.
pub trait Obstacle: Send + Sync {
    /// Closest point of the surface at a time (s), or none if the surface is farther than `within` (m). Solids always
    /// answer for points inside them.
    fn closest(&self, point: Vec3, time: f64, within: f64) -> Option<ObstaclePoint>;

    /// Triangles of a surface to draw and to collide with; the same at all times, front sides outward. For solids with
    /// curved surfaces they are inscribed.
    fn faces(&self) -> &[[u32; 3]];

    /// Appends the vertices of these triangles at a time, m.
    fn positions(&self, time: f64, out: &mut Vec<Vec3>);

    /// Appends their velocities, m/s.
    fn velocities(&self, time: f64, out: &mut Vec<Vec3>);

    /// Where the material point that is at `point` at one time is at another (s). Only what moves as a whole needs to
    /// say it; the triangles of meshes tell their own way.
    fn carried(&self, point: Vec3, from: f64, to: f64) -> Vec3 {
        let _ = (from, to);
        point
    }

    /// Where a direction of its own frame points in the scene at a time (s). Its own frame is the one before it is
    /// placed; what deforms in that frame does not turn it.
    fn direction(&self, own: Vec3, _time: f64) -> Vec3 {
        own
    }

    /// How it takes part in contact.
    fn nature(&self) -> Nature;

    /// Whether its signed distance tells inside from outside exactly, so that cloth found inside is wrong. A box has an
    /// inside although cloth meets its triangles.
    fn has_inside(&self) -> bool {
        self.nature() == Nature::Solid
    }

    /// Whether it ever moves.
    fn moves(&self) -> bool;

    /// Fraction of the way at which a point that moves straight from one place and time to another may first come
    /// within `separation` (m) of the solid; never later than it happens, none if it does not. The way is straight
    /// in the obstacle's own frame; [`Placed`] widens the separation by what a turning obstacle bends it.
    fn first_contact(&self, from: (Vec3, f64), to: (Vec3, f64), separation: f64) -> Option<f64> {
        let (way, length) = (to.0 - from.0, from.0.distance(to.0));
        let mut at = 0.0;
        // Never jumps over anything: no point of the way is nearer than the distance just measured.
        for _ in 0..MOST_STEPS {
            let time = from.1 + (to.1 - from.1) * at;
            let gap = self
                .closest(from.0 + way * at, time, f64::INFINITY)?
                .signed_distance
                - separation;
            if gap <= STOP * separation {
                return Some(at);
            }
            at += gap / length;
            if at > 1.0 {
                return None;
            }
        }
        Some(at)
    }
}

/// Steps after which a grazing path is called a contact.
const MOST_STEPS: usize = 256;
/// Nearness, relative to the separation, at which a path is called a contact.
const STOP: f64 = 0.01;

#[cfg(test)]
mod tests;
