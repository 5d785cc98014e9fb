//! Motions of pieces as a whole.
//!
//! Positions only come to agree with elements bit by bit. For a stiff piece that turns as a whole, this takes a number of
//! iterations that grows with its stiffness over its inertia: a playing card would need tens of thousands, and would fall
//! over in slow motion. Turning a piece together with the deformations and multipliers of all its elements costs no
//! elastic energy. So after each global step the best such turn is found, with three unknowns a piece.

use super::Admm;
use super::global::Global;
use super::local::{Local, Turns};
use crate::world::World;
use muslin_linalg::{Mat3, Vec3};

/// A turn about an axis of so small a share of the inertia is left out: the vertices lie on a line.
const FLAT: f64 = 1e-9;

/// Pieces that are turned as a whole.
#[derive(Default)]
pub struct Pieces {
    /// Whether a part of the matrix is one of them.
    turned: Vec<bool>,
    torque: Vec<Vec3>,
    turn: Vec<Mat3>,
}

/// How a set of vertices lies about its centre.
struct Spread {
    centre: Vec3,
    weight: f64,
    /// Second moments about the centre, kg m².
    moments: Mat3,
}

impl Spread {
    fn new(vertices: &[u32], x: &[Vec3], weight: impl Fn(usize) -> f64) -> Self {
        let (mut all, mut centre) = (0.0, Vec3::ZERO);
        for v in vertices {
            let (v, w) = (*v as usize, weight(*v as usize));
            all += w;
            centre += x[v] * w;
        }
        centre /= all;
        let mut moments = Mat3::ZERO;
        for v in vertices {
            let r = x[*v as usize] - centre;
            let w = weight(*v as usize);
            moments += Mat3::from_cols(r * (w * r.x), r * (w * r.y), r * (w * r.z));
        }
        Self {
            centre,
            weight: all,
            moments,
        }
    }

    /// The turn (rad, or rad/s) of an angular momentum (kg m² per that unit); none if the vertices lie on a line.
    fn turn_of(&self, momentum: Vec3) -> Option<Vec3> {
        let m = &self.moments;
        let trace = m.x_axis.x + m.y_axis.y + m.z_axis.z;
        let inertia = Mat3::from_diagonal(Vec3::splat(trace)) - *m;
        let sound = inertia.determinant() > FLAT * trace * trace * trace;
        sound.then(|| inertia.inverse() * momentum)
    }

    /// Inertia about an average axis, kg m².
    fn mean_inertia(&self) -> f64 {
        let m = &self.moments;
        (m.x_axis.x + m.y_axis.y + m.z_axis.z) * 2.0 / 3.0
    }
}

impl Pieces {
    /// Chooses the pieces: those that nothing holds, and whose elements would hold back a turn beyond the budget of
    /// iterations.
    pub fn choose(
        world: &World,
        global: &Global,
        locals: &[Box<dyn Local>],
        budget: usize,
        dt: f64,
    ) -> Self {
        let n = global.parts();
        let mut held_back = vec![0.0; n];
        for local in locals {
            local.add_resistance(&world.state.x, &global.part, &mut held_back);
        }
        let turned = (0..n).map(|k| {
            let spread = Spread::new(global.vertices_of(k), &world.state.x, |v| world.mass[v]);
            let inertia = spread.mean_inertia() * budget as f64 / 3.0;
            !global.anchored[k] && held_back[k] * dt * dt > inertia
        });
        Self {
            turned: turned.collect(),
            torque: vec![Vec3::ZERO; n],
            turn: Vec::new(),
        }
    }

    /// The change of velocity (m/s) of each place of the matrix if its piece gains `momentum` (kg m/s) as a whole; zero
    /// for pieces that are held somewhere. Soft pieces gain no rotation: they bend instead.
    pub fn gains(&self, global: &Global, x: &[Vec3], momentum: &[Vec3], mass: &[f64]) -> Vec<Vec3> {
        let mut gains = Vec::with_capacity(global.vertices.len());
        for k in 0..global.parts() {
            let vertices = global.vertices_of(k);
            if global.anchored[k] {
                gains.resize(gains.len() + vertices.len(), Vec3::ZERO);
                continue;
            }
            let spread = Spread::new(vertices, x, |v| mass[v]);
            let sum: Vec3 = vertices.iter().map(|v| momentum[*v as usize]).sum();
            let mut spin = Vec3::ZERO;
            if self.turned[k] {
                let each = vertices.iter().map(|v| *v as usize);
                let turning = each
                    .map(|v| (x[v] - spread.centre).cross(momentum[v]))
                    .sum();
                spin = spread.turn_of(turning).unwrap_or_default();
            }
            let mean = sum / spread.weight;
            let each = vertices.iter().map(|v| x[*v as usize] - spread.centre);
            gains.extend(each.map(|r| mean + spin.cross(r)));
        }
        gains
    }

    /// What the elements are to turn by; nothing if no piece turns.
    pub fn turns<'a>(&'a self, global: &'a Global) -> Turns<'a> {
        Turns {
            part: &global.part,
            turn: &self.turn,
        }
    }
}

impl Admm {
    /// Turns pieces as a whole to where inertia and contact want them; elements are left to follow.
    pub(super) fn turn_pieces(&mut self, mass: &[f64], dt: f64) {
        let Self {
            pieces,
            locals,
            global,
            x,
            ..
        } = self;
        if !pieces.turned.contains(&true) {
            return;
        }
        pieces.torque.fill(Vec3::ZERO);
        for local in locals.iter() {
            local.add_torque(x, &global.part, &pieces.turned, &mut pieces.torque);
        }
        pieces.turn.clear();
        pieces.turn.resize(global.parts(), Mat3::IDENTITY);
        for k in (0..global.parts()).filter(|k| pieces.turned[*k]) {
            let vertices = global.vertices_of(k);
            let spread = Spread::new(vertices, x, |v| mass[v] + global.contact[v]);
            let torque = pieces.torque[k] * (dt * dt);
            let Some(turn) = spread.turn_of(torque).filter(|t| t.is_finite()) else {
                continue;
            };
            let angle = turn.length();
            if angle == 0.0 {
                continue;
            }
            let turn = Mat3::from_axis_angle(turn / angle, angle.min(1.0));
            pieces.turn[k] = turn;
            for v in vertices {
                let x = &mut x[*v as usize];
                *x = spread.centre + turn * (*x - spread.centre);
            }
        }
    }
}
