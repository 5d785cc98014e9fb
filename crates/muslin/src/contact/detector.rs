//! Finds everything that is near at the start of a step or may cross during it, in an order that depends on the world
//! alone: not on threads, not on the age of the hierarchies.

use super::candidate::{Candidate, Kind, NO_VERTEX};
use super::examine::Search;
use super::neighbours::{Neighbours, Surface};
use super::prune::prune_places;
use super::{NEAR, Party, prune};
use crate::obstacle::Nature;
use crate::world::World;
use muslin_geometry::InputError;
use muslin_geometry::bvh::{Bvh, CandidatePairs};
use muslin_geometry::ccd::CcdParams;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// What counts as near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DetectParams {
    /// Features nearer than this at the start are candidates, m.
    pub margin: f64,
    /// Prediction of crossings.
    pub ccd: CcdParams,
    /// Largest angle between the normals of two candidates of the same vertices that say the same, rad; negative to
    /// keep them all.
    pub prune_angle: f64,
    /// Whether near features count only where their neighbours are no nearer.
    pub closest_only: bool,
    /// Whether crossings on the way to predicted positions count, not only what is near.
    pub crossings: bool,
    /// Whether cloth meets itself and other cloth, not only obstacles.
    pub between_cloth: bool,
    /// What counts where vertices do not keep surfaces apart.
    pub second: SecondLine,
}

/// What counts besides the places where surfaces are closest to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondLine {
    /// Nothing.
    Nothing,
    /// The skins of solids, where they meet the insides of faces and edges of cloth.
    Skins,
    /// These, and edges that cross over flat cloth.
    SkinsAndFolds,
    /// These, and edges a little farther apart that carried an impulse in the last step: they keep the distance that they
    /// have.
    SkinsFoldsAndCarried,
}

/// Part of the thickness that is kept where vertices should have kept all of it: a spike meets the inside of a face, a
/// long edge cuts the corner over a ball. Pairs farther than this leave everything to the vertices, whose contacts are
/// enough where cloth is fine and smooth.
pub const SECOND_LINE: f64 = 0.5;

impl Default for DetectParams {
    fn default() -> Self {
        Self {
            margin: 1e-3,
            ccd: CcdParams::default(),
            prune_angle: 10f64.to_radians(),
            closest_only: true,
            crossings: true,
            between_cloth: true,
            second: SecondLine::Nothing,
        }
    }
}

/// A hierarchy pays to be rebuilt from here on; see [`Bvh::degradation`].
const MAX_DEGRADATION: f64 = 1.7;

/// One object of triangles: a piece of cloth, a mesh obstacle or the skin of a solid.
pub(super) struct Object {
    pub party: Party,
    /// Whether it is the skin of a solid, whose distance says more.
    skin: bool,
    /// Its first vertex in the detector's numbering.
    pub first: u32,
    pub faces: Vec<[u32; 3]>,
    pub edges: Vec<[u32; 2]>,
    neighbours: Neighbours,
    bvh: Bvh,
}

impl Object {
    pub fn surface<'a>(&'a self, x: [&'a [Vec3]; 2], time: f64) -> Surface<'a> {
        let first = self.first as usize;
        Surface {
            faces: &self.faces,
            neighbours: &self.neighbours,
            x: x.map(|x| &x[first..first + self.bvh.vertices()]),
            time,
        }
    }
}

/// Keeps a hierarchy for every object and the memory of the last search.
#[derive(Default)]
pub struct Detector {
    objects: Vec<Object>,
    revision: Option<u64>,
    start: Vec<Vec3>,
    end: Vec<Vec3>,
    pairs: CandidatePairs,
    found: Vec<Candidate>,
    keep: Vec<bool>,
}

impl Detector {
    /// Positions at the start of the step, as [`World::surface_positions`] gives them, m.
    pub fn start(&self) -> &[Vec3] {
        &self.start
    }

    /// What was found last.
    pub fn found(&self) -> &[Candidate] {
        &self.found
    }

    /// Positions at the end of the step as last predicted, in the same order, m.
    pub fn end(&self) -> &[Vec3] {
        &self.end
    }

    /// Candidates of the step that begins at `world.time`. With `predicted`, positions of the state `dt` (s) later,
    /// crossings on the way there are found too; obstacles are taken along.
    pub fn detect(
        &mut self,
        world: &World,
        predicted: Option<&[Vec3]>,
        dt: f64,
        params: &DetectParams,
    ) -> Result<&[Candidate], InputError> {
        world.surface_positions(&world.state.x, world.time, &mut self.start);
        if let Some(x) = predicted {
            world.surface_positions(x, world.time + dt, &mut self.end);
        }
        let end = predicted.map(|_| &self.end[..]);
        if end.is_some_and(|end| end.len() != self.start.len()) {
            return Err(InputError::LengthMismatch {
                what: "predicted positions",
                expected: self.start.len(),
                found: self.end.len(),
            });
        }
        params.ccd.validate()?;
        if self.revision != Some(world.topology_revision) {
            self.revision = None;
            self.objects = objects(world, &self.start)?;
            self.revision = Some(world.topology_revision);
        }
        let margin = params.margin.max(params.ccd.broad_phase_margin());
        let skins = params.second != SecondLine::Nothing;
        for object in self.objects.iter_mut().filter(|o| skins || !o.skin) {
            let range = object.first as usize..object.first as usize + object.bvh.vertices();
            let swept = end.filter(|_| params.crossings);
            let last = swept.map_or(&self.start[range.clone()], |end| &end[range.clone()]);
            object.bvh.refit_swept(&self.start[range], last, margin)?;
            if object.bvh.degradation() > MAX_DEGRADATION {
                object.bvh.rebuild();
            }
        }
        self.found.clear();
        let found = &mut self.found;
        let is_cloth = |o: &Object| matches!(o.party, Party::Cloth(_));
        for (i, a) in self.objects.iter().enumerate().filter(|(_, o)| is_cloth(o)) {
            for b in &self.objects[i..] {
                if (is_cloth(b) && !params.between_cloth) || (b.skin && !skins) {
                    continue;
                }
                if std::ptr::eq(a, b) {
                    a.bvh.self_pairs(&mut self.pairs);
                } else {
                    a.bvh.pairs_with(&b.bvh, &mut self.pairs);
                }
                let search = Search {
                    a,
                    b,
                    pairs: &self.pairs,
                    start: &self.start,
                    end,
                    second: second_line(world, [a.party, b.party], params),
                    carried: &world.impulses,
                    params,
                };
                if b.skin {
                    search.skin(found);
                } else {
                    search.surfaces(found);
                }
            }
        }
        solids(world, predicted, dt, params, found);
        if !world.tangle.is_empty() {
            self.found.retain(|c| !world.tangle.leaves_out_candidate(c));
        }
        // Every pair occurs once, so that this order is the only one.
        self.found
            .par_sort_unstable_by_key(|c| (c.parties, c.kind, c.vertices));
        if params.prune_angle >= 0.0 {
            prune(&mut self.found, params.prune_angle);
            let (x, angle) = (&self.start, params.prune_angle);
            let near = 0.25 * params.margin;
            prune_places(&mut self.found, x, angle, near, &mut self.keep);
        }
        Ok(&self.found)
    }
}

/// Distance within which pairs of the second line are near, m.
fn second_line(world: &World, parties: [Party; 2], params: &DetectParams) -> f64 {
    if params.margin > 0.0 {
        NEAR * SECOND_LINE * world.distance_kept(parties)
    } else {
        0.0
    }
}

fn objects(world: &World, x: &[Vec3]) -> Result<Vec<Object>, InputError> {
    let mut objects = Vec::new();
    for (i, body) in world.bodies.iter().enumerate() {
        let edges: Vec<[u32; 2]> = body.topology.edges.iter().map(|e| e.vertices).collect();
        objects.push(Object {
            party: Party::Cloth(i),
            skin: false,
            first: body.vertices.start as u32,
            bvh: Bvh::new(&x[body.vertices.clone()], &body.topology.faces, &edges)?,
            neighbours: Neighbours::new(body.vertices.len(), &body.topology.faces),
            faces: body.topology.faces.clone(),
            edges,
        });
    }
    let mut first = world.state.x.len();
    for (i, obstacle) in world.skins() {
        let mut own = Vec::new();
        obstacle.shape.positions(world.time, &mut own);
        let faces = obstacle.shape.faces().to_vec();
        let mut edges: Vec<[u32; 2]> = faces
            .iter()
            .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
            .map(|[a, b]| [a.min(b), a.max(b)])
            .collect();
        edges.sort_unstable();
        edges.dedup();
        objects.push(Object {
            party: Party::Obstacle(i),
            skin: obstacle.shape.nature() == Nature::Solid,
            first: first as u32,
            bvh: Bvh::new(&own, &faces, &edges)?,
            neighbours: Neighbours::new(own.len(), &faces),
            faces,
            edges,
        });
        first += own.len();
    }
    Ok(objects)
}

/// Cloth vertices against solids.
fn solids(
    world: &World,
    predicted: Option<&[Vec3]>,
    dt: f64,
    params: &DetectParams,
    found: &mut Vec<Candidate>,
) {
    for (k, obstacle) in world.obstacles.iter().enumerate() {
        if obstacle.shape.nature() == Nature::Mesh {
            continue;
        }
        let shape = &obstacle.shape;
        for (i, body) in world.bodies.iter().enumerate() {
            found.par_extend(body.surface.clone().into_par_iter().filter_map(|v| {
                let x0 = world.state.x[v];
                let near = shape.closest(x0, world.time, params.margin);
                let time = predicted.filter(|_| params.crossings).and_then(|x1| {
                    let (from, to) = ((x0, world.time), (x1[v], world.time + dt));
                    shape.first_contact(from, to, params.ccd.separation)
                });
                let (point, at) = match (near, time, predicted) {
                    (Some(point), ..) => (point, world.time),
                    (None, Some(t), Some(x1)) => {
                        let at = world.time + t * dt;
                        (shape.closest(x0.lerp(x1[v], t), at, f64::INFINITY)?, at)
                    }
                    _ => return None,
                };
                // Over the whole step, so that cloth that sticks goes where the surface goes.
                let start = shape.carried(point.position, at, world.time);
                let end = shape.carried(point.position, at, world.time + dt);
                Some(Candidate {
                    kind: Kind::VertexSolid,
                    parties: [Party::Cloth(i), Party::Obstacle(k)],
                    vertices: [v as u32, NO_VERTEX, NO_VERTEX, NO_VERTEX],
                    weights: [1.0, 0.0, 0.0, 0.0],
                    gap: x0 - start,
                    normal: point.normal,
                    surface_velocity: (end - start) / dt,
                    near: near.is_some(),
                    closest: true,
                    inner: true,
                    share: 1.0,
                    time: time.unwrap_or(f64::INFINITY),
                })
            }));
        }
    }
}
