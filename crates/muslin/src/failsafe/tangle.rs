//! What crosses already at the start of a step: it is left out of contact until it has parted.
//!
//! This is so after a start that crosses, if the scene asks for it, and after cloth was trapped between obstacles that
//! closed on it. Features that do not cross cannot begin to, except next to others that do; so what crosses now is all
//! there is to leave out, and nothing need be remembered.

use super::surfaces::{Layer, Surfaces};
use crate::contact::{Candidate, Kind, NO_VERTEX, Party};
use crate::world::World;
use muslin_geometry::InputError;
use muslin_geometry::bvh::FacePairs;
use muslin_geometry::intersect::{faces_intersect, triangles_intersect};
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Pairs of faces that cross, and vertices inside solids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tangle {
    /// Faces of cloth, then of obstacles, by their vertices among all; each pair ascending, pairs ascending.
    pairs: Vec<[[u32; 3]; 2]>,
    /// Vertices of these faces, and for each the faces of the tangle that it has, ascending.
    around: Vec<(u32, [u32; 3])>,
    /// Vertices inside obstacles that have an inside: vertex and obstacle, ascending.
    inside: Vec<(u32, usize)>,
    /// Cloth vertices of faces that cross an obstacle, or inside of it, ascending.
    entangled: Vec<(u32, usize)>,
}

/// Keeps the tangle of a world up to date; looks only while there may be one.
#[derive(Default)]
pub struct TangleWatch {
    surfaces: Option<(u64, Surfaces)>,
    known_free: bool,
    x: Vec<Vec3>,
}

impl TangleWatch {
    /// Brings [`World::tangle`] to the world's state and time. Once nothing crosses, nothing can begin to; `trapped` says
    /// that something did all the same.
    pub fn update(&mut self, world: &mut World, trapped: bool) -> Result<(), InputError> {
        if self.known_free && !trapped {
            return Ok(());
        }
        world.surface_positions(&world.state.x, world.time, &mut self.x);
        if self.surfaces.as_ref().map(|s| s.0) != Some(world.topology_revision) {
            let surfaces = Surfaces::new(world, &self.x)?;
            self.surfaces = Some((world.topology_revision, surfaces));
        }
        if let Some((_, surfaces)) = &mut self.surfaces {
            world.tangle = Tangle::find(world, surfaces, &self.x)?;
            self.known_free = world.tangle.is_empty();
        }
        Ok(())
    }
}

impl Tangle {
    /// Whether nothing crosses.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.inside.is_empty()
    }

    /// Crossing pairs of faces and vertices inside solids.
    pub fn count(&self) -> usize {
        self.pairs.len() + self.inside.len()
    }

    /// Pairs of faces that cross, by their vertices.
    pub fn pairs(&self) -> &[[[u32; 3]; 2]] {
        &self.pairs
    }

    /// What crosses at positions `x` (as from [`World::surface_positions`]) of a world at its time.
    pub fn find(world: &World, surfaces: &mut Surfaces, x: &[Vec3]) -> Result<Self, InputError> {
        let mut tangle = Self::of_triangles(surfaces, x)?;
        tangle.inside = inside(world, x);
        tangle.entangled.extend_from_slice(&tangle.inside);
        tangle.entangled.sort_unstable();
        tangle.entangled.dedup();
        Ok(tangle)
    }

    /// Triangles that cross at positions `x` of all vertices, m.
    pub fn of_triangles(surfaces: &mut Surfaces, x: &[Vec3]) -> Result<Self, InputError> {
        let mut pairs = Vec::new();
        let corners = |layer: &Layer, f: u32| layer.faces[f as usize].map(|v| v + layer.first);
        let cloth = surfaces.cloth.own(x);
        surfaces.cloth.bvh.refit(cloth, 0.0)?;
        let mut near = FacePairs::default();
        surfaces.cloth.bvh.self_face_pairs(&mut near);
        pairs.par_extend(near.faces.par_iter().filter_map(|&[f, g]| {
            let pair = [f, g].map(|f| corners(&surfaces.cloth, f));
            let cross = faces_intersect(x, pair[0], pair[1]).unwrap_or(false);
            cross.then_some(pair)
        }));
        if !surfaces.obstacles.faces.is_empty() {
            let theirs = surfaces.obstacles.own(x);
            surfaces.obstacles.bvh.refit(theirs, 0.0)?;
            let theirs = &surfaces.obstacles.bvh;
            surfaces.cloth.bvh.face_pairs_with(theirs, &mut near);
            pairs.par_extend(near.faces.par_iter().filter_map(|&[f, g]| {
                let pair = [corners(&surfaces.cloth, f), corners(&surfaces.obstacles, g)];
                let [a, b] = pair.map(|f| f.map(|v| x[v as usize]));
                triangles_intersect(a, b).unwrap_or(false).then_some(pair)
            }));
        }
        for pair in &mut pairs {
            pair.sort_unstable();
        }
        pairs.sort_unstable();
        let mut entangled = Vec::new();
        for [f, g] in &pairs {
            for (face, other) in [(f, g), (g, f)] {
                if let (Party::Cloth(_), Party::Obstacle(k)) =
                    (surfaces.party(face[0]), surfaces.party(other[0]))
                {
                    entangled.extend(face.map(|v| (v, k)));
                }
            }
        }
        let mut around: Vec<(u32, [u32; 3])> = pairs
            .iter()
            .flatten()
            .flat_map(|f| f.map(|v| (v, *f)))
            .collect();
        around.sort_unstable();
        around.dedup();
        Ok(Self {
            pairs,
            around,
            inside: Vec::new(),
            entangled,
        })
    }

    fn faces_of(&self, vertex: u32) -> impl Iterator<Item = [u32; 3]> {
        let first = self.around.partition_point(|(v, _)| *v < vertex);
        let own = self.around[first..].iter();
        own.take_while(move |(v, _)| *v == vertex).map(|(_, f)| *f)
    }

    fn crosses(&self, f: [u32; 3], g: [u32; 3]) -> bool {
        let pair = if f < g { [f, g] } else { [g, f] };
        self.pairs.binary_search(&pair).is_ok()
    }

    /// Whether two features belong to faces that cross.
    pub fn leaves_out(&self, kind: Kind, [a, b, c, d]: [u32; 4]) -> bool {
        if self.pairs.is_empty() {
            return false;
        }
        match kind {
            Kind::VertexSolid => false,
            Kind::VertexFace => self.faces_of(a).any(|f| self.crosses(f, [b, c, d])),
            Kind::EdgeEdge => self.faces_of(a).filter(|f| f.contains(&b)).any(|f| {
                let mut theirs = self.faces_of(c).filter(|g| g.contains(&d));
                theirs.any(|g| self.crosses(f, g))
            }),
        }
    }

    /// Whether a candidate of a detector is left out: cloth with cloth by the faces that cross, cloth with an obstacle by
    /// the vertices of faces that cross it.
    pub fn leaves_out_candidate(&self, c: &Candidate) -> bool {
        match c.parties {
            [Party::Cloth(_), Party::Cloth(_)] => self.leaves_out(c.kind, c.vertices),
            [Party::Obstacle(k), _] | [_, Party::Obstacle(k)] => c
                .vertices
                .iter()
                .any(|v| *v != NO_VERTEX && self.entangled.binary_search(&(*v, k)).is_ok()),
        }
    }

    /// Whether features of cloth and an obstacle are left out because the cloth is inside: its skin must let it out.
    pub fn encloses(&self, parties: [Party; 2], vertices: [u32; 4]) -> bool {
        let ([Party::Obstacle(k), _] | [_, Party::Obstacle(k)]) = parties else {
            return false;
        };
        !self.inside.is_empty() && vertices.iter().any(|v| self.is_inside(*v, k))
    }

    /// Whether a vertex is inside a solid.
    pub fn is_inside(&self, vertex: u32, obstacle: usize) -> bool {
        self.inside.binary_search(&(vertex, obstacle)).is_ok()
    }
}

fn inside(world: &World, x: &[Vec3]) -> Vec<(u32, usize)> {
    let mut found = Vec::new();
    for (k, obstacle) in world.obstacles.iter().enumerate() {
        if !obstacle.shape.has_inside() {
            continue;
        }
        for body in &world.bodies {
            found.par_extend(body.surface.clone().into_par_iter().filter_map(|v| {
                let point = obstacle.shape.closest(x[v], world.time, 0.0)?;
                (point.signed_distance < 0.0).then_some((v as u32, k))
            }));
        }
    }
    found.sort_unstable();
    found
}
