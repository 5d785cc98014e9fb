//! Vertices that a motion takes into a solid. Skins are inscribed: between a skin and the true surface only vertices
//! can be kept out, and of a plane's half-space they alone are.

use super::Span;
use crate::contact::{Candidate, Kind, NO_VERTEX, Party};
use crate::obstacle::{Nature, Obstacle};
use crate::world::World;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Vertices nearer to a solid than this at the end of a step are taken for inside, m.
const SEPARATION: f64 = 1e-6;

/// Adds the vertices that are inside a solid at `x1` (m), where the stretch of time that began at `x0` ends.
pub(super) fn entering(
    world: &World,
    (x0, x1): (&[Vec3], &[Vec3]),
    Span { time, dt, .. }: Span,
    changed: Option<&[bool]>,
    out: &mut Vec<Candidate>,
) {
    let first = out.len();
    let mut skin = Vec::new();
    for (k, obstacle) in world.obstacles.iter().enumerate() {
        if obstacle.shape.nature() == Nature::Mesh {
            continue;
        }
        let mut reach = (Vec3::NEG_INFINITY, Vec3::INFINITY);
        if obstacle.has_skin() {
            skin.clear();
            obstacle.shape.positions(time + dt, &mut skin);
            reach = surroundings(&skin);
        }
        for (i, body) in world.bodies.iter().enumerate() {
            let vertices = body.surface.clone().into_par_iter().with_min_len(256);
            out.par_extend(vertices.filter_map(|v| {
                let outside = x1[v].cmplt(reach.0).any() || x1[v].cmpgt(reach.1).any();
                let counts = changed.is_none_or(|c| c[v]);
                if outside || !counts || world.tangle.is_inside(v as u32, k) {
                    return None;
                }
                let times = [time, time + dt];
                let mut found = entry(obstacle.shape.as_ref(), [x0[v], x1[v]], times)?;
                found.parties = [Party::Cloth(i), Party::Obstacle(k)];
                found.vertices[0] = v as u32;
                Some(found)
            }));
        }
    }
    out[first..].sort_unstable_by_key(|c| (c.parties, c.vertices));
}

/// A box round a solid whose skin is inscribed: a tenth larger on every side than that of the skin.
fn surroundings(skin: &[Vec3]) -> (Vec3, Vec3) {
    let (min, max) = crate::world::bounds(skin);
    let spare = Vec3::splat(0.1 * (max - min).max_element() + SEPARATION);
    (min - spare, max + spare)
}

/// Where a vertex enters a solid on its way, if it ends inside.
fn entry(shape: &dyn Obstacle, x: [Vec3; 2], times: [f64; 2]) -> Option<Candidate> {
    let end = shape.closest(x[1], times[1], SEPARATION)?;
    let dt = times[1] - times[0];
    let at = shape
        .first_contact((x[0], times[0]), (x[1], times[1]), SEPARATION)
        .unwrap_or(1.0);
    let when = times[0] + at * dt;
    let entered = shape.closest(x[0].lerp(x[1], at), when, f64::INFINITY)?;
    // The place where it enters says on which side it belongs; if that side is kept and it still is inside, the
    // surface is hollow there, and the place where it ends decides.
    let kept = shape.carried(entered.position, when, times[1]);
    let (point, when) = if (x[1] - kept).dot(entered.normal) < SEPARATION {
        (entered, when)
    } else {
        (end, times[1])
    };
    let [start, end] = times.map(|t| shape.carried(point.position, when, t));
    Some(Candidate {
        kind: Kind::VertexSolid,
        parties: [Party::Cloth(0); 2],
        vertices: [NO_VERTEX; 4],
        weights: [1.0, 0.0, 0.0, 0.0],
        gap: x[0] - start,
        normal: point.normal,
        surface_velocity: (end - start) / dt,
        near: at == 0.0,
        closest: true,
        inner: true,
        share: 1.0,
        time: at,
    })
}
