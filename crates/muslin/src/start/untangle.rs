//! Parts what crosses at the start: out of solids along their distance, cloth from cloth by shortening the lines along
//! which they cross. Lengths of edges are kept within a band meanwhile, so that whole sheets are drawn, not threads.

use super::contour::{Piercing, pierces, shortening};
use crate::contact::Party;
use crate::failsafe::{Surfaces, Tangle, held_inverse_mass};
use crate::limit::EdgeLimits;
use crate::world::World;
use muslin_geometry::mesh::NONE;
use muslin_linalg::Vec3;

/// What untangling came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Untangled {
    /// Crossing pairs and vertices inside solids at the beginning.
    pub before: usize,
    /// And at the end.
    pub after: usize,
    /// Rounds it took.
    pub rounds: usize,
    /// How far the farthest vertex was moved, m.
    pub moved: f64,
}

impl std::fmt::Display for Untangled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "untangled {} crossings in {} rounds, moving vertices by up to {:.4} m",
            self.before, self.rounds, self.moved
        )
    }
}

/// Rounds after which untangling gives up.
const MOST_ROUNDS: usize = 600;
/// Rounds without progress after which it gives up.
const PATIENCE: usize = 200;
/// Part of the mean edge by which cloth is drawn from cloth in a round.
const STRIDE: f64 = 0.2;
/// Edges to go when the sizes of the pieces on both sides of a cut are compared, and the ratio that is clear enough.
const REACH: usize = 8;
const CLEARLY_LESS: f64 = 0.8;
/// Band of edge lengths.
const BAND: f64 = 0.08;

/// Moves cloth of the world until nothing crosses, or gives up; held vertices stay.
pub fn untangle(world: &mut World) -> Untangled {
    let start = world.state.x.clone();
    let mut done = Untangled::default();
    let mut inverse_mass = Vec::new();
    held_inverse_mass(world, &mut inverse_mass);
    let mut limits = EdgeLimits::default();
    limits.follow(world);
    let mut x = Vec::new();
    world.surface_positions(&world.state.x, world.time, &mut x);
    let Ok(mut surfaces) = Surfaces::new(world, &x) else {
        return done;
    };
    let (mut best, mut since) = (usize::MAX, 0);
    for round in 0..=MOST_ROUNDS {
        world.surface_positions(&world.state.x, world.time, &mut x);
        let Ok(tangle) = Tangle::find(world, &mut surfaces, &x) else {
            break;
        };
        done.after = tangle.count();
        done.rounds = round;
        if round == 0 {
            done.before = done.after;
        }
        since = if done.after < best { 0 } else { since + 1 };
        best = best.min(done.after);
        if done.after == 0 || since > PATIENCE || round == MOST_ROUNDS {
            break;
        }
        let mut way = vec![Vec3::ZERO; world.state.x.len()];
        draw_apart(world, &surfaces, &tangle, &mut way);
        limits.limit_strain(&world.state.x, &mut way, &inverse_mass, 1.0, BAND);
        push_out(world, &surfaces, &tangle, &mut way);
        for (i, way) in way.iter().enumerate() {
            let free = inverse_mass[i].map(|m| f64::from(u8::from(m > 0.0)));
            world.state.x[i] += *way * free;
        }
    }
    let ways = world.state.x.iter().zip(&start);
    done.moved = ways.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    done
}

/// Adds the way out of obstacles to every vertex that is inside, or that belongs to a face that crosses one.
fn push_out(world: &World, surfaces: &Surfaces, tangle: &Tangle, way: &mut [Vec3]) {
    let nodes = world.state.x.len();
    let mut near: Vec<(u32, usize)> = Vec::new();
    for pair in tangle.pairs() {
        for (face, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            if let Party::Obstacle(k) = surfaces.party(other[0])
                && (face[0] as usize) < nodes
            {
                near.extend(face.map(|v| (v, k)));
            }
        }
    }
    for (k, obstacle) in world.obstacles.iter().enumerate() {
        if obstacle.shape.has_inside() {
            let surface = world.bodies.iter().flat_map(|b| b.surface.clone());
            near.extend(surface.filter_map(|v| {
                let found = obstacle.shape.closest(world.state.x[v], world.time, 0.0)?;
                (found.signed_distance < 0.0).then_some((v as u32, k))
            }));
        }
    }
    near.sort_unstable();
    near.dedup();
    for (v, k) in near {
        let v = v as usize;
        let Some(body) = world.bodies.iter().find(|b| b.vertices.contains(&v)) else {
            continue;
        };
        let shape = &world.obstacles[k].shape;
        let at = world.state.x[v] + way[v];
        if let Some(found) = shape.closest(at, world.time, f64::INFINITY) {
            // Faces round a curved solid sag between their vertices: each round puts them a little farther off.
            let wanted = 0.5 * body.thickness;
            let missing = (wanted - found.signed_distance).max(0.25 * wanted);
            way[v] += found.normal * missing;
        }
    }
}

/// Adds to every vertex the way that parts cloth from cloth: back through the face where an edge comes from a smaller
/// piece beyond it, and otherwise the way that shortens the lines along which they cross.
fn draw_apart(world: &World, surfaces: &Surfaces, tangle: &Tangle, way: &mut [Vec3]) {
    let x = &world.state.x;
    let nodes = x.len() as u32;
    let mut piercings = Vec::new();
    for [f, g] in tangle.pairs() {
        if f[0] >= nodes || g[0] >= nodes {
            continue;
        }
        for (own, other) in [(f, g), (g, f)] {
            for k in 0..3 {
                let edge = [own[k], own[(k + 1) % 3]];
                let shared = other.iter().any(|v| edge.contains(v));
                // The face on the other side of the edge names it the other way round.
                let named_twice = edge[0] > edge[1] && wings(world, surfaces, edge).len() > 1;
                if !shared && !named_twice {
                    piercings.extend(piercing(world, surfaces, edge, *other));
                }
            }
        }
    }
    go_back(world, &mut piercings);
    let mut counts = vec![0.0f64; way.len()];
    let mut sums = vec![Vec3::ZERO; way.len()];
    for p in &piercings {
        let ends = [(p.edge[0], 1.0 - p.along), (p.edge[1], p.along)];
        for (v, w) in ends {
            sums[v as usize] += p.way * w;
            counts[v as usize] += w;
        }
        for (v, w) in p.face.iter().zip(p.weights) {
            sums[*v as usize] -= p.way * w;
            counts[*v as usize] += w;
        }
    }
    for body in &world.bodies {
        let edges = &body.topology.edges;
        let first = body.vertices.start as u32;
        let length = |e: &muslin_geometry::mesh::Edge| {
            let [a, b] = e.vertices.map(|v| (v + first) as usize);
            x[a].distance(x[b])
        };
        let mean = edges.iter().map(length).sum::<f64>() / edges.len().max(1) as f64;
        for v in body.vertices.clone().filter(|v| counts[*v] > 0.0) {
            way[v] += sums[v] / counts[v].max(1.0) * (STRIDE * mean);
        }
    }
}

/// Where pierced edges cut a smaller piece of a mesh off a larger one, the smaller goes back through the face.
fn go_back(world: &World, piercings: &mut [Piercing]) {
    let mut cut: Vec<[u32; 2]> = piercings.iter().map(|p| p.edge).collect();
    for e in &mut cut {
        e.sort_unstable();
    }
    cut.sort_unstable();
    let x = &world.state.x;
    for p in piercings {
        let [a, b] = p.edge.map(|v| within_reach(world, v, &cut));
        let [q, r, s] = p.face.map(|v| x[v as usize]);
        let normal = (r - q).cross(s - q).normalize_or_zero();
        let towards_b = (x[p.edge[1] as usize] - x[p.edge[0] as usize]).dot(normal);
        if a < CLEARLY_LESS * b {
            p.way = normal * towards_b.signum();
        } else if b < CLEARLY_LESS * a {
            p.way = -normal * towards_b.signum();
        }
    }
}

/// Vertices that can be reached from one in a few edges without passing a cut: the way round its end is longer.
fn within_reach(world: &World, from: u32, cut: &[[u32; 2]]) -> f64 {
    let Some(body) = world
        .bodies
        .iter()
        .find(|b| b.vertices.contains(&(from as usize)))
    else {
        return 0.0;
    };
    let first = body.vertices.start as u32;
    let mut seen = vec![from];
    let mut rim = vec![from];
    for _ in 0..REACH {
        let mut next = Vec::new();
        for v in rim {
            for f in body.topology.faces_of((v - first) as usize) {
                for w in body.topology.faces[*f as usize].map(|w| w + first) {
                    let edge = [v.min(w), v.max(w)];
                    if w != v && cut.binary_search(&edge).is_err() {
                        next.push(w);
                    }
                }
            }
        }
        next.sort_unstable();
        next.dedup();
        next.retain(|v| seen.binary_search(v).is_err());
        seen.extend_from_slice(&next);
        seen.sort_unstable();
        rim = next;
    }
    seen.len() as f64
}

/// Third corners of the faces at an edge of cloth.
fn wings(world: &World, surfaces: &Surfaces, edge: [u32; 2]) -> Vec<u32> {
    let Party::Cloth(i) = surfaces.party(edge[0]) else {
        return Vec::new();
    };
    let body = &world.bodies[i];
    let first = body.vertices.start as u32;
    let own = edge.map(|v| v - first);
    let faces = body.topology.faces_of(own[0] as usize).iter();
    faces
        .map(|f| body.topology.faces[*f as usize])
        .filter(|f| f.contains(&own[1]))
        .filter_map(|f| f.into_iter().find(|v| !own.contains(v) && *v != NONE))
        .map(|v| v + first)
        .collect()
}

fn piercing(
    world: &World,
    surfaces: &Surfaces,
    edge: [u32; 2],
    face: [u32; 3],
) -> Option<Piercing> {
    let x = &world.state.x;
    let ends = edge.map(|v| x[v as usize]);
    let corners = face.map(|v| x[v as usize]);
    let (along, weights) = pierces(ends, corners)?;
    let wings: Vec<Vec3> = wings(world, surfaces, edge)
        .iter()
        .map(|v| x[*v as usize])
        .collect();
    Some(Piercing {
        edge,
        along,
        face,
        weights,
        way: shortening(ends, corners, &wings)?,
    })
}
