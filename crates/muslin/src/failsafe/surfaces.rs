//! Everything made of triangles, and which of its features meet while it moves.
//!
//! All cloth is one surface and all obstacles another. Solids take part with their skins as well: a spike would pass
//! between vertices that are kept out of it.

use super::tangle::Tangle;
use crate::contact::{Candidate, Kind, Pair, Party};
use crate::scene::Between;
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

impl<'a> Look<'a> {
    /// Everything that the world's settings ask for.
    pub fn everywhere(world: &'a World) -> Self {
        Self {
            between_cloth: world.contact.between == Between::All,
            changed: None,
            tangle: &world.tangle,
        }
    }
}

/// All triangles of a world.
pub struct Surfaces {
    pub(super) cloth: Layer,
    pub(super) obstacles: Layer,
    /// Whose each vertex is.
    party: Vec<Party>,
    /// Pairs of features whose ways are near: of cloth, and of cloth with obstacles.
    pairs: [CandidatePairs; 2],
    /// Ends of the ways for which the pairs hold, and how far they may be from there, m; none if they hold for nothing else.
    searched: Option<Vec<Vec3>>,
    slack: f64,
}

/// How far ends may move before pairs are searched anew, in mean lengths of edges.
const SLACK: f64 = 0.15;

impl Surfaces {
    /// The triangles of a world; `x` are positions as from [`World::surface_positions`].
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
        for (i, obstacle) in world.skins() {
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
        let layer = Layer::new(0, &x[..cloth], cloth_faces)?;
        let lengths = layer.edges.iter();
        let length: f64 = lengths
            .map(|[a, b]| x[*a as usize].distance(x[*b as usize]))
            .sum();
        Ok(Self {
            slack: SLACK * length / layer.edges.len().max(1) as f64,
            cloth: layer,
            obstacles: Layer::new(cloth, &x[cloth..], obstacle_faces)?,
            party,
            pairs: Default::default(),
            searched: None,
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
        self.pair_up(x0, x1, look)?;
        out.par_extend(self.all_that_meet((x0, x1), look));
        // Every pair occurs once, so that this order is the only one.
        out.par_sort_unstable_by_key(|c| (c.parties, c.kind, c.vertices));
        Ok(())
    }

    fn all_that_meet<'a>(
        &'a self,
        ways: (&'a [Vec3], &'a [Vec3]),
        look: &'a Look<'a>,
    ) -> impl ParallelIterator<Item = Candidate> + 'a {
        let [own, others] = &self.pairs;
        self.those_that_meet(&self.cloth, own, ways, look)
            .chain(self.those_that_meet(&self.obstacles, others, ways, look))
    }

    /// Finds the pairs of features whose ways are near. A search among what has changed is one of many from the same start:
    /// its pairs are found with room to spare, and serve until an end leaves that room.
    fn pair_up(&mut self, x0: &[Vec3], x1: &[Vec3], look: &Look) -> Result<(), InputError> {
        let mut margin = CcdParams::default().broad_phase_margin();
        let kept = self.searched.take();
        if look.changed.is_some() {
            let slack = self.slack;
            let holds = |searched: &Vec<Vec3>| {
                let mut ends = searched.iter().zip(x1);
                searched.len() == x1.len()
                    && ends.all(|(a, b)| (*a - *b).abs().max_element() <= slack)
            };
            if let Some(searched) = kept.filter(holds) {
                self.searched = Some(searched);
                return Ok(());
            }
            margin += 2.0 * slack;
        }
        self.cloth.follow(x0, x1, margin)?;
        let [own, others] = &mut self.pairs;
        if look.between_cloth {
            self.cloth.bvh.self_pairs(own);
        } else {
            *own = CandidatePairs::default();
        }
        if !self.obstacles.faces.is_empty() {
            self.obstacles.follow(x0, x1, margin)?;
            self.cloth.bvh.pairs_with(&self.obstacles.bvh, others);
        }
        self.searched = look.changed.map(|_| x1.to_vec());
        Ok(())
    }

    fn those_that_meet<'a>(
        &'a self,
        b: &'a Layer,
        pairs: &'a CandidatePairs,
        ways: (&'a [Vec3], &'a [Vec3]),
        look: &'a Look<'a>,
    ) -> impl ParallelIterator<Item = Candidate> + 'a {
        let a = &self.cloth;
        let corners =
            |layer: &Layer, face: u32| layer.faces[face as usize].map(|v| v + layer.first);
        let vertex_face = pairs.vertex_face.par_iter().with_min_len(CHUNK);
        let vertex_face = vertex_face.filter_map(move |&[v, f]| {
            let [p, q, r] = corners(b, f);
            self.meet(Kind::VertexFace, [v + a.first, p, q, r], ways, look)
        });
        let face_vertex = pairs.face_vertex.par_iter().with_min_len(CHUNK);
        let face_vertex = face_vertex.filter_map(move |&[f, v]| {
            let [p, q, r] = corners(a, f);
            self.meet(Kind::VertexFace, [v + b.first, p, q, r], ways, look)
        });
        let edge_edge = pairs.edge_edge.par_iter().with_min_len(CHUNK);
        let edge_edge = edge_edge.filter_map(move |&[e, f]| {
            let [p, q] = a.edges[e as usize].map(|v| v + a.first);
            let [r, s] = b.edges[f as usize].map(|v| v + b.first);
            self.meet(Kind::EdgeEdge, [p, q, r, s], ways, look)
        });
        vertex_face.chain(face_vertex).chain(edge_edge)
    }

    fn meet(
        &self,
        kind: Kind,
        vertices: [u32; 4],
        (x0, x1): (&[Vec3], &[Vec3]),
        look: &Look,
    ) -> Option<Candidate> {
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
