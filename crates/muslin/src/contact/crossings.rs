//! Which objects of a world cross each other now, by the exact judge of triangles.
//!
//! Cloth is judged against itself, other cloth and the triangles of obstacles. Solids are more than their triangles:
//! cloth vertices inside them count as well, and for planes, whose triangles end where the plane does not, they alone do.
//! Obstacles may cross each other as they like.

use crate::world::World;
use muslin_geometry::InputError;
use muslin_geometry::intersect::MeshJudge;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Somebody in a crossing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// A piece of cloth or a soft body, by its place in [`World::bodies`].
    Cloth(usize),
    /// An obstacle, by its place in [`World::obstacles`].
    Obstacle(usize),
}

/// Two objects that cross, or one that crosses itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// A piece of cloth.
    pub a: Party,
    /// What it crosses; itself perhaps.
    pub b: Party,
    /// Pairs of triangles that have a point in common.
    pub pairs: usize,
    /// Cloth vertices inside a solid obstacle.
    pub inside: usize,
    /// A place where it happens, m.
    pub at: Vec3,
}

impl Crossing {
    /// One number for both ways to cross.
    pub fn count(&self) -> usize {
        self.pairs.max(self.inside)
    }

    /// Who crosses whom, in words.
    pub fn parties(&self, world: &World) -> String {
        let name = |p: Party| match p {
            Party::Cloth(i) => format!("{} `{}`", world.bodies[i].kind(), world.bodies[i].name),
            Party::Obstacle(i) => format!("obstacle `{}`", world.obstacles[i].name),
        };
        if self.a == self.b {
            format!("{} crosses itself", name(self.a))
        } else {
            format!("{} crosses {}", name(self.a), name(self.b))
        }
    }
}

/// Judges a world again and again while it moves; keeps its hierarchies.
#[derive(Default)]
pub struct CrossingJudge {
    cloth: Vec<MeshJudge>,
    obstacles: Vec<Option<MeshJudge>>,
    revision: Option<u64>,
    scratch: Vec<Vec3>,
}

impl CrossingJudge {
    /// All crossings of the world as it is, in the order of bodies, then obstacles.
    pub fn judge(&mut self, world: &World) -> Result<Vec<Crossing>, InputError> {
        self.follow(world)?;
        let mut found = Vec::new();
        for i in 0..self.cloth.len() {
            let (before, after) = self.cloth.split_at_mut(i + 1);
            let mine = &mut before[i];
            let own = mine.self_intersections();
            if let Some(pair) = own.first() {
                let at = meeting_point(corners(world, i, pair[0]), corners(world, i, pair[1]));
                found.push(crossing(i, Party::Cloth(i), own.len(), 0, at));
            }
            for (k, other) in after.iter().enumerate() {
                let j = i + 1 + k;
                let pairs = mine.intersections_with(other);
                if let Some(pair) = pairs.first() {
                    let at = meeting_point(corners(world, i, pair[0]), corners(world, j, pair[1]));
                    found.push(crossing(i, Party::Cloth(j), pairs.len(), 0, at));
                }
            }
            for (k, obstacle) in world.obstacles.iter().enumerate() {
                let inside = if obstacle.shape.has_inside() {
                    vertices_inside(world, i, k)
                } else {
                    Vec::new()
                };
                let mut at = inside.first().map(|v| world.state.x[*v]);
                let mut pairs = Vec::new();
                if let Some(judge) = &self.obstacles[k] {
                    pairs = mine.intersections_with(judge);
                    if let Some(pair) = pairs.first() {
                        self.scratch.clear();
                        obstacle.shape.positions(world.time, &mut self.scratch);
                        let theirs = obstacle.shape.faces()[pair[1] as usize];
                        let theirs = theirs.map(|v| self.scratch[v as usize]);
                        at = Some(meeting_point(corners(world, i, pair[0]), theirs));
                    }
                }
                if let Some(at) = at {
                    found.push(crossing(
                        i,
                        Party::Obstacle(k),
                        pairs.len(),
                        inside.len(),
                        at,
                    ));
                }
            }
        }
        Ok(found)
    }

    /// Brings the hierarchies to where everything is now.
    fn follow(&mut self, world: &World) -> Result<(), InputError> {
        if self.revision != Some(world.topology_revision) {
            self.revision = None;
            self.cloth.clear();
            for body in &world.bodies {
                let x = &world.state.x[body.vertices.clone()];
                self.cloth.push(MeshJudge::new(x, &body.topology.faces)?);
            }
            self.obstacles.clear();
            for obstacle in &world.obstacles {
                let judge = if obstacle.kind == "plane" {
                    None
                } else {
                    self.scratch.clear();
                    obstacle.shape.positions(world.time, &mut self.scratch);
                    Some(MeshJudge::new(&self.scratch, obstacle.shape.faces())?)
                };
                self.obstacles.push(judge);
            }
            self.revision = Some(world.topology_revision);
            return Ok(());
        }
        for (judge, body) in self.cloth.iter_mut().zip(&world.bodies) {
            judge.update(&world.state.x[body.vertices.clone()])?;
        }
        for (judge, obstacle) in self.obstacles.iter_mut().zip(&world.obstacles) {
            if let Some(judge) = judge
                && obstacle.shape.moves()
            {
                self.scratch.clear();
                obstacle.shape.positions(world.time, &mut self.scratch);
                judge.update(&self.scratch)?;
            }
        }
        Ok(())
    }
}

fn crossing(cloth: usize, b: Party, pairs: usize, inside: usize, at: Vec3) -> Crossing {
    Crossing {
        a: Party::Cloth(cloth),
        b,
        pairs,
        inside,
        at,
    }
}

fn corners(world: &World, body: usize, face: u32) -> [Vec3; 3] {
    let body = &world.bodies[body];
    body.topology.faces[face as usize].map(|v| world.state.x[body.vertices.start + v as usize])
}

/// Vertices of a piece of cloth that are inside a solid, ascending. Touching is not inside.
fn vertices_inside(world: &World, body: usize, obstacle: usize) -> Vec<usize> {
    let shape = &world.obstacles[obstacle].shape;
    world.bodies[body]
        .surface
        .clone()
        .into_par_iter()
        .with_min_len(256)
        .filter(|v| {
            let found = shape.closest(world.state.x[*v], world.time, 0.0);
            found.is_some_and(|p| p.signed_distance < 0.0)
        })
        .collect()
}

/// A point near which two triangles meet: where a side of one pierces the other, or between them if they only touch.
fn meeting_point(a: [Vec3; 3], b: [Vec3; 3]) -> Vec3 {
    let mut points = Vec::new();
    for (from, onto) in [(a, b), (b, a)] {
        let normal = (onto[1] - onto[0]).cross(onto[2] - onto[0]);
        for k in 0..3 {
            let (p, q) = (from[k], from[(k + 1) % 3]);
            let (above, below) = ((p - onto[0]).dot(normal), (q - onto[0]).dot(normal));
            if above * below >= 0.0 {
                continue;
            }
            let at = p.lerp(q, above / (above - below));
            let within = (0..3).all(|i| {
                let side = onto[(i + 1) % 3] - onto[i];
                side.cross(at - onto[i]).dot(normal) >= 0.0
            });
            if within {
                points.push(at);
            }
        }
    }
    if points.is_empty() {
        points.extend(a.iter().chain(&b).copied());
    }
    points.iter().sum::<Vec3>() / points.len() as f64
}
