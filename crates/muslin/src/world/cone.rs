//! The friction cone at a contact: the pair's coefficients, and the lines of both surfaces as they lie in space now.

use super::{Body, World};
use crate::contact::Party;
use crate::material::{Cone, Line};
use muslin_linalg::{Mat2, Vec2, Vec3};

impl World {
    /// The cone where two parties touch. `vertices` and `weights` are those of a contact: positive weights belong to the
    /// first party, negative ones to the second. `x` are positions (m), those of the state first; obstacles are taken
    /// where they stand at the world's time. The normal is a unit vector.
    pub fn cone(
        &self,
        parties: [Party; 2],
        vertices: [u32; 4],
        weights: [f64; 4],
        normal: Vec3,
        x: &[Vec3],
    ) -> Cone {
        let pair = self.friction.between(parties[0], parties[1]);
        let Some(anisotropy) = &pair.anisotropy else {
            return Cone::isotropic(normal, pair.isotropic);
        };
        let line = |side: usize, sign: f64| match (anisotropy.lines[side]?, parties[side]) {
            (Line::Material(d), Party::Cloth(i)) => {
                let mine = weights.map(|w| w * sign > 0.0);
                cloth_line(&self.bodies[i], d, vertices, mine, x)
            }
            (Line::Own(d), Party::Obstacle(i)) => {
                Some(self.obstacles[i].shape.direction(d, self.time))
            }
            _ => None,
        };
        pair.cone(normal, [line(0, 1.0), line(1, -1.0)])
    }
}

/// The line in space of a material direction: the mean over the faces that have all the chosen vertices as corners,
/// weighted by their area at rest. One vertex has all faces round it, an edge its two, a triangle itself.
fn cloth_line(
    body: &Body,
    direction: Vec2,
    vertices: [u32; 4],
    mine: [bool; 4],
    x: &[Vec3],
) -> Option<Vec3> {
    let first = body.vertices.start as u32;
    let own = |k: &usize| mine[*k] && body.vertices.contains(&(vertices[*k] as usize));
    let start = (0..4).find(own)?;
    let mut sum = Vec3::ZERO;
    for f in body.topology.faces_of((vertices[start] - first) as usize) {
        let face = &body.topology.faces[*f as usize];
        let has_all = (0..4)
            .filter(own)
            .all(|k| face.contains(&(vertices[k] - first)));
        if !has_all {
            continue;
        }
        let m = &body.material[*f as usize];
        let rest = Mat2::from_cols(m[1] - m[0], m[2] - m[0]);
        let weight = rest.determinant().abs();
        if weight == 0.0 {
            continue;
        }
        let along = rest.inverse() * direction;
        let [a, b, c] = face.map(|v| x[(v + first) as usize]);
        let line = ((b - a) * along.x + (c - a) * along.y).normalize_or_zero() * weight;
        // Lines have no sign: seams may join pieces whose warps run against each other.
        sum += if line.dot(sum) < 0.0 { -line } else { line };
    }
    (sum != Vec3::ZERO).then_some(sum)
}
