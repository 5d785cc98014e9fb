//! What a scene asks to be measured, evaluated after every step.

use super::field::{principal_stretch, solid_stretch};
use crate::contact::{Party, Touch};
use crate::scene::{Measure, MeasureKind, SceneFile};
use crate::simulation::steps_per_frame;
use crate::world::{Body, World};
use muslin_friction::State;
use muslin_linalg::Vec3;
use std::collections::BTreeMap;

/// All measures of a scene, with the vertices they refer to.
#[derive(Clone)]
pub struct MeasureSet {
    measures: Vec<Prepared>,
}

#[derive(Clone)]
struct Prepared {
    spec: Measure,
    direction: Vec3,
    /// Vertices nearest to the given points, in the state.
    points: Vec<usize>,
    rest_distance: f64,
    /// The cloth or obstacle whose contacts are meant; all if none is named.
    party: Option<Party>,
    /// Length of a step, s.
    dt: f64,
}

impl MeasureSet {
    /// Looks up what the measures refer to.
    pub fn new(scene: &SceneFile, world: &World) -> Self {
        let dt = 1.0 / (scene.output.frame_rate * steps_per_frame(scene) as f64);
        let party = |name: &String| {
            let cloth = world.bodies.iter().position(|b| b.name == *name);
            let obstacle = || world.obstacles.iter().position(|o| o.name == *name);
            cloth
                .map(Party::Cloth)
                .or_else(|| obstacle().map(Party::Obstacle))
        };
        let prepare = |spec: &Measure| {
            let chosen = |b: &&Body| spec.of.as_ref().is_none_or(|n| *n == b.name);
            let nearest = |p: Vec3| {
                let all = world
                    .bodies
                    .iter()
                    .filter(chosen)
                    .flat_map(|b| b.vertices.clone());
                all.min_by(|a, b| {
                    world.state.x[*a]
                        .distance_squared(p)
                        .total_cmp(&world.state.x[*b].distance_squared(p))
                })
                .unwrap_or(0)
            };
            let points: Vec<usize> = spec
                .points
                .iter()
                .flatten()
                .map(|p| nearest(Vec3::from_array(*p)))
                .collect();
            let rest_distance = if points.len() == 2 {
                world.state.x[points[0]].distance(world.state.x[points[1]])
            } else {
                1.0
            };
            Prepared {
                spec: spec.clone(),
                direction: Vec3::from_array(spec.direction.unwrap_or([0.0; 3])).normalize_or_zero(),
                points,
                rest_distance,
                party: spec.of.as_ref().and_then(party),
                dt,
            }
        };
        Self {
            measures: scene.measure.iter().map(prepare).collect(),
        }
    }

    /// Values now, by name.
    pub fn evaluate(&self, world: &World) -> BTreeMap<String, f64> {
        self.measures
            .iter()
            .map(|m| (m.spec.name.clone(), m.value(world)))
            .collect()
    }
}

impl Prepared {
    fn value(&self, world: &World) -> f64 {
        let bodies = || {
            world
                .bodies
                .iter()
                .filter(|b| self.spec.of.as_ref().is_none_or(|n| *n == b.name))
        };
        let vertices = || bodies().flat_map(|b| b.vertices.clone());
        let (x, v, mass) = (&world.state.x, &world.state.v, &world.mass);
        let total_mass = || vertices().map(|i| mass[i]).sum::<f64>();
        let weighted = |f: &dyn Fn(usize) -> f64| vertices().map(|i| mass[i] * f(i)).sum::<f64>();
        let d = self.direction;
        match self.spec.kind {
            MeasureKind::Displacement => {
                let moved: f64 = bodies()
                    .map(|b| {
                        let pairs = b.vertices.clone().zip(&b.initial);
                        pairs
                            .map(|(i, start)| mass[i] * (x[i] - *start).dot(d))
                            .sum::<f64>()
                    })
                    .sum();
                moved / total_mass()
            }
            MeasureKind::Speed => (weighted(&|i| v[i].length_squared()) / total_mass()).sqrt(),
            MeasureKind::LargestSpeed => vertices().map(|i| v[i].length()).fold(0.0, f64::max),
            MeasureKind::CenterOfMass => weighted(&|i| x[i].dot(d)) / total_mass(),
            MeasureKind::Height => vertices()
                .map(|i| x[i].dot(up(world)))
                .fold(f64::INFINITY, f64::min),
            MeasureKind::Highest => vertices()
                .map(|i| x[i].dot(up(world)))
                .fold(f64::NEG_INFINITY, f64::max),
            MeasureKind::LargestStretch => {
                bodies()
                    .map(|b| extreme_stretch(b, x).1)
                    .fold(0.0, f64::max)
                    - 1.0
            }
            MeasureKind::LargestCompression => {
                1.0 - bodies()
                    .map(|b| extreme_stretch(b, x).0)
                    .fold(1.0, f64::min)
            }
            MeasureKind::Distance => x[self.points[0]].distance(x[self.points[1]]),
            MeasureKind::Elongation => {
                x[self.points[0]].distance(x[self.points[1]]) / self.rest_distance
            }
            MeasureKind::Position => x[self.points[0]].dot(d),
            MeasureKind::Volume => bodies().map(|b| volume(b, x)).sum(),
            MeasureKind::Momentum => weighted(&|i| v[i].dot(d)),
            MeasureKind::AngularMomentum => weighted(&|i| x[i].cross(v[i]).dot(d)),
            MeasureKind::KineticEnergy => 0.5 * weighted(&|i| v[i].length_squared()),
            MeasureKind::Reaction => {
                let pins = world
                    .pins
                    .iter()
                    .filter(|p| Some(&p.name) == self.spec.of.as_ref());
                let held = pins.flat_map(|p| &p.vertices);
                held.map(|i| world.reactions.get(*i as usize).map_or(0.0, |r| r.dot(d)))
                    .sum()
            }
            MeasureKind::Contacts => self.touches(world).count() as f64,
            MeasureKind::Sticking => self.touches_in(world, State::Stick),
            MeasureKind::Sliding => self.touches_in(world, State::Slide),
            MeasureKind::ContactForce => {
                let impulse: f64 = self
                    .touches(world)
                    .map(|t| {
                        let sign = |k: usize| f64::from(Some(t.parties[k]) == self.party);
                        (sign(0) - sign(1)) * t.impulse.dot(d)
                    })
                    .sum();
                // No force is 0, not -0.
                impulse / self.dt + 0.0
            }
            MeasureKind::Penetration => {
                let solids = world.obstacles.iter().filter(|o| o.shape.has_inside());
                let depth = |i: usize, shape: &dyn crate::obstacle::Obstacle| {
                    let found = shape.closest(x[i], world.time, 0.0);
                    found.map_or(0.0, |p| -p.signed_distance)
                };
                let surface = || bodies().flat_map(|b| b.surface.clone());
                solids
                    .flat_map(|o| surface().map(move |i| depth(i, &*o.shape)))
                    .fold(0.0, f64::max)
            }
        }
    }

    /// Contacts of the last step in which the named object takes part.
    fn touches<'a>(&'a self, world: &'a World) -> impl Iterator<Item = &'a Touch> {
        let wanted = |t: &&Touch| self.party.is_none_or(|p| t.parties.contains(&p));
        world.touches.iter().filter(wanted)
    }

    fn touches_in(&self, world: &World, state: State) -> f64 {
        self.touches(world).filter(|t| t.state == state).count() as f64
    }
}

/// Against gravity, or z where there is none.
fn up(world: &World) -> Vec3 {
    (-world.gravity).normalize_or(Vec3::Z)
}

/// Smallest and largest principal stretch of a body.
fn extreme_stretch(body: &Body, x: &[Vec3]) -> (f64, f64) {
    let at = |v: u32| x[body.vertices.start + v as usize];
    let wider = |(low, high): (f64, f64), [least, most]: [f64; 2]| (low.min(least), high.max(most));
    let none = (f64::INFINITY, 0.0);
    if let Some(rest) = body
        .rest_positions
        .as_ref()
        .filter(|_| body.solid().is_some())
    {
        let each = body.tetrahedra.iter();
        let each = each.map(|t| solid_stretch(t.map(|v| rest[v as usize]), t.map(at)));
        return each.fold(none, wider);
    }
    let faces = body.topology.faces.iter().zip(&body.material);
    let each = faces.map(|(f, m)| principal_stretch(*m, f.map(at)));
    each.fold(none, wider)
}

fn volume(body: &Body, x: &[Vec3]) -> f64 {
    let at = |v: u32| x[body.vertices.start + v as usize];
    body.topology
        .faces
        .iter()
        .map(|f| at(f[0]).dot(at(f[1]).cross(at(f[2]))) / 6.0)
        .sum()
}
