//! Everything made of triangles, and which of its features meet while it moves.
//!
//! All cloth is one surface and all obstacles another. Solids take part with their skins as well: a spike would pass
//! between vertices that are kept out of it.

use super::tangle::Tangle;
use crate::contact::{Candidate, Kind, Pair, Party};
use crate::world::World;
use muslin_geometry::InputError;
use muslin_geometry::bvh::{Bvh, CandidatePairs};
use muslin_geometry::ccd::CcdParams;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// A hierarchy pays to be rebuilt from here on; see [`Bvh::degradation`].
const MAX_DEGRADATION: f64 = 1.7;
/// Pairs a task.
const CHUNK: usize = 256;

/// Triangles with their hierarchy.
pub(super) struct Layer {
    /// Its first vertex among all.
    pub first: u32,
    /// Faces, numbered from its first vertex.
    pub faces: Vec<[u32; 3]>,
    edges: Vec<[u32; 2]>,
    pub bvh: Bvh,
}

impl Layer {
    fn new(first: usize, x: &[Vec3], faces: Vec<[u32; 3]>) -> Result<Self, InputError> {
        let mut edges: Vec<[u32; 2]> = faces
            .iter()
            .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
            .map(|[a, b]| [a.min(b), a.max(b)])
            .collect();
        edges.par_sort_unstable();
        edges.dedup();
        Ok(Self {
            first: first as u32,
            bvh: Bvh::new(x, &faces, &edges)?,
            faces,
            edges,
        })
    }

    /// Its part of the positions of all.
    pub fn own<'a>(&self, x: &'a [Vec3]) -> &'a [Vec3] {
        let first = self.first as usize;
        &x[first..first + self.bvh.vertices()]
    }

    fn follow(&mut self, x0: &[Vec3], x1: &[Vec3], margin: f64) -> Result<(), InputError> {
        let (start, end) = (self.own(x0), self.own(x1));
        self.bvh.refit_swept(start, end, margin)?;
        if self.bvh.degradation() > MAX_DEGRADATION {
            self.bvh.rebuild();
        }
        Ok(())
    }
}

/// What a search looks at.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// Whether cloth meets cloth.
    pub between_cloth: bool,
    /// Only pairs with a vertex that is marked here; all if absent.
    pub changed: Option<&'a [bool]>,
    /// What is left out because it crosses already.
    pub tangle: &'a Tangle,
}

/// All triangles of a world.
pub struct Surfaces {
    pub(super) cloth: Layer,
    pub(super) obstacles: Layer,
    /// Whose each vertex is.
    party: Vec<Party>,
    pairs: CandidatePairs,
}

/// Whether an obstacle takes part with its triangles. A plane has no end, its triangles have.
pub(super) fn has_skin(world: &World, obstacle: usize) -> bool {
    world.obstacles[obstacle].kind != "plane"
}

/// Positions of cloth, then of the skins of obstacles at a time (s), m.
pub fn gather(world: &World, cloth: &[Vec3], time: f64, out: &mut Vec<Vec3>) {
    out.clear();
    out.extend_from_slice(cloth);
    for (i, obstacle) in world.obstacles.iter().enumerate() {
        if has_skin(world, i) {
            obstacle.shape.positions(time, out);
        }
    }
}

impl Surfaces {
    /// The triangles of a world; `x` are positions as from [`gather`].
    pub fn new(world: &World, x: &[Vec3]) -> Result<Self, InputError> {
        let mut party = Vec::with_capacity(x.len());
        let (mut faces, mut skins) = (Vec::new(), Vec::new());
        for (i, body) in world.bodies.iter().enumerate() {
            let first = body.vertices.start as u32;
            faces.extend(body.topology.faces.iter().map(|f| f.map(|v| v + first)));
            party.resize(body.vertices.end, Party::Cloth(i));
        }
        let cloth = party.len();
        let mut own = Vec::new();
        for (i, obstacle) in world.obstacles.iter().enumerate() {
            if !has_skin(world, i) {
                continue;
            }
            let first = (party.len() - cloth) as u32;
            skins.extend(obstacle.shape.faces().iter().map(|f| f.map(|v| v + first)));
            own.clear();
            obstacle.shape.positions(world.time, &mut own);
            party.resize(party.len() + own.len(), Party::Obstacle(i));
        }
        Self::of_triangles(x, cloth, faces, skins, party)
    }

    /// Cloth of the first `cloth` vertices, obstacles of the rest; faces are numbered from the first vertex of each.
    pub fn of_triangles(
        x: &[Vec3],
        cloth: usize,
        cloth_faces: Vec<[u32; 3]>,
        obstacle_faces: Vec<[u32; 3]>,
        party: Vec<Party>,
    ) -> Result<Self, InputError> {
        Ok(Self {
            cloth: Layer::new(0, &x[..cloth], cloth_faces)?,
            obstacles: Layer::new(cloth, &x[cloth..], obstacle_faces)?,
            party,
            pairs: CandidatePairs::default(),
        })
    }

    /// Whose a vertex is.
    pub fn party(&self, vertex: u32) -> Party {
        self.party[vertex as usize]
    }

    /// Features that meet on their straight way from `x0` to `x1` (m), in an order that depends on the world alone.
    pub fn meetings(
        &mut self,
        x0: &[Vec3],
        x1: &[Vec3],
        look: &Look,
        out: &mut Vec<Candidate>,
    ) -> Result<(), InputError> {
        out.clear();
        let margin = CcdParams::default().broad_phase_margin();
        self.cloth.follow(x0, x1, margin)?;
        if look.between_cloth {
            self.cloth.bvh.self_pairs(&mut self.pairs);
            self.examine(&self.cloth, x0, x1, look, out);
        }
        if !self.obstacles.faces.is_empty() {
            self.obstacles.follow(x0, x1, margin)?;
            let (mine, theirs) = (&self.cloth.bvh, &self.obstacles.bvh);
            mine.pairs_with(theirs, &mut self.pairs);
            self.examine(&self.obstacles, x0, x1, look, out);
        }
        // Every pair occurs once, so that this order is the only one.
        out.par_sort_unstable_by_key(|c| (c.parties, c.kind, c.vertices));
        Ok(())
    }

    fn examine(
        &self,
        other: &Layer,
        x0: &[Vec3],
        x1: &[Vec3],
        look: &Look,
        out: &mut Vec<Candidate>,
    ) {
        let (a, b) = (&self.cloth, other);
        let meets = |kind: Kind, vertices: [u32; 4]| {
            let counts = |changed: &[bool]| vertices.iter().any(|v| changed[*v as usize]);
            if !look.changed.is_none_or(counts) || look.tangle.leaves_out(kind, vertices) {
                return None;
            }
            let second = if kind == Kind::EdgeEdge { 2 } else { 1 };
            let parties = [self.party(vertices[0]), self.party(vertices[second])];
            if look.tangle.encloses(parties, vertices) {
                return None;
            }
            meeting(kind, parties, vertices, x0, x1)
        };
        let corners =
            |layer: &Layer, face: u32| layer.faces[face as usize].map(|v| v + layer.first);
        let pairs = &self.pairs;
        let vertex_face = pairs.vertex_face.par_iter().with_min_len(CHUNK);
        out.par_extend(vertex_face.filter_map(|&[v, f]| {
            let [p, q, r] = corners(b, f);
            meets(Kind::VertexFace, [v + a.first, p, q, r])
        }));
        let face_vertex = pairs.face_vertex.par_iter().with_min_len(CHUNK);
        out.par_extend(face_vertex.filter_map(|&[f, v]| {
            let [p, q, r] = corners(a, f);
            meets(Kind::VertexFace, [v + b.first, p, q, r])
        }));
        let edge_edge = pairs.edge_edge.par_iter().with_min_len(CHUNK);
        out.par_extend(edge_edge.filter_map(|&[e, f]| {
            let [p, q] = a.edges[e as usize].map(|v| v + a.first);
            let [r, s] = b.edges[f as usize].map(|v| v + b.first);
            meets(Kind::EdgeEdge, [p, q, r, s])
        }));
    }
}

/// Measures one pair. What starts within the detector's separation would meet at once wherever it goes: it is asked
/// to keep half of its distance instead.
fn meeting(
    kind: Kind,
    parties: [Party; 2],
    vertices: [u32; 4],
    x0: &[Vec3],
    x1: &[Vec3],
) -> Option<Candidate> {
    let params = CcdParams::default();
    let pair = || Pair {
        kind,
        parties,
        vertices,
    };
    let found = pair().examine(x0, Some(x1), 0.0, &params)?;
    let distance = found.gap.length();
    if found.time > 0.0 || distance > params.separation || distance == 0.0 {
        return Some(found);
    }
    let nearer = CcdParams {
        separation: 0.5 * distance,
        gap_cap: 0.25 * distance,
        ..params
    };
    pair().examine(x0, Some(x1), 0.0, &nearer)
}
