//! The fail-safe: whatever a solver proposes, no two triangles of cloth cross and no cloth crosses an obstacle at the
//! end of a step.
//!
//! Given where a step begins, where nothing crosses, and where it is proposed to end, it changes the end in stages, each
//! only as far as the one before it failed: impulses with friction ([`row`]), inelastic projection ([`project`]), rigid
//! impact zones ([`zones`]), and at last stopping short ([`back_off()`]). Only obstacles or pins that close on cloth can
//! leave nothing to find; then cloth stays safe from cloth, and the meetings that cannot be helped are counted.

mod back_off;
pub mod project;
pub mod rigid;
pub mod row;
mod solids;
mod surfaces;
mod tangle;
mod zones;

pub use back_off::{BackOff, back_off};
pub use surfaces::{Look, Surfaces, gather};
pub use tangle::{Tangle, TangleWatch};
pub use zones::Zones;

use crate::contact::{Candidate, Kind, Party};
use crate::scene::Between;
use crate::step::{StepError, StepReport};
use crate::world::World;
use muslin_geometry::InputError;
use muslin_linalg::Vec3;
use project::{Bonds, project};
use row::Row;
use std::collections::BTreeMap;

/// Rounds of impulses, and sweeps over all meetings in each.
const IMPULSE_ROUNDS: usize = 10;
const SWEEPS: usize = 4;
/// Rounds of projection.
const PROJECTIONS: usize = 6;

/// What the fail-safe did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Vertices whose end it changed.
    pub touched: usize,
    /// Searches for meetings.
    pub searches: usize,
    /// The last stage that was needed.
    pub stage: Stage,
    /// Meetings with obstacles that nothing could prevent.
    pub trapped: usize,
    /// Pairs that crossed at the start of the step and were left out.
    pub left_out: usize,
}

/// How far the fail-safe had to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing met.
    #[default]
    Clean,
    /// Impulses were enough.
    Impulses,
    /// Inelastic projection.
    Projection,
    /// Rigid impact zones.
    Zones,
    /// Some vertices stopped short of where they were to go.
    BackOff,
}

impl Stage {
    /// In a word, for reports; later stages come later in the alphabet.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "",
            Self::Impulses => "1 impulses",
            Self::Projection => "2 projection",
            Self::Zones => "3 zones",
            Self::BackOff => "4 back-off",
        }
    }
}

/// The fail-safe and its memory.
#[derive(Default)]
pub struct FailSafe {
    surfaces: Option<(u64, Surfaces)>,
    start: Vec<Vec3>,
    end: Vec<Vec3>,
    v: Vec<Vec3>,
    wanted: Vec<Vec3>,
    proposed: Vec<Vec3>,
    inverse_mass: Vec<Vec3>,
    found: Vec<Candidate>,
    changed: Vec<bool>,
    rows: Rows,
}

/// All meetings since the start of the step, each once.
#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    place: BTreeMap<(Kind, [u32; 4], Party), usize>,
}

impl Rows {
    fn clear(&mut self) {
        self.rows.clear();
        self.place.clear();
    }

    fn add(&mut self, world: &World, x: &[Vec3], found: &[Candidate], dt: f64) {
        for c in found {
            let key = (c.kind, c.vertices, c.parties[1]);
            let thickness = world.distance_kept(c.parties);
            let cone = world.cone(c.parties, c.vertices, c.weights, c.normal, x);
            let friction = 0.5 * (cone.friction[0] + cone.friction[1]);
            let known = self.place.get(&key).copied();
            let row = Row::new(c, thickness, friction, dt, known.is_some());
            match known {
                Some(i) => self.rows[i] = row,
                None => {
                    self.place.insert(key, self.rows.len());
                    self.rows.push(row);
                }
            }
        }
    }
}

impl FailSafe {
    /// Changes `end`, the proposed positions of the state `dt` (s) after the world's time, so that nothing crosses (m).
    pub fn mend(
        &mut self,
        world: &World,
        end: &mut [Vec3],
        dt: f64,
    ) -> Result<Mended, InputError> {
        let mut done = Mended::default();
        if world.contact.between == Between::Nothing {
            return Ok(done);
        }
        self.prepare(world, end, dt)?;
        done.left_out = world.tangle.count();
        if self.meets(world, dt, None, &mut done)? {
            self.wanted.clear();
            self.wanted.extend_from_slice(&self.v);
            self.proposed.clear();
            self.proposed.extend_from_slice(end);
            let stages = [
                (Stage::Impulses, Self::impulses as StageFn),
                (Stage::Projection, Self::projections),
                (Stage::Zones, Self::zones),
                (Stage::BackOff, Self::stop_short),
            ];
            for (stage, attempt) in stages {
                done.stage = stage;
                if attempt(self, world, dt, &mut done)? {
                    break;
                }
            }
            let n = world.state.x.len();
            done.touched = (0..n).filter(|i| self.end[*i] != end[*i]).count();
            end.copy_from_slice(&self.end[..n]);
        }
        Ok(done)
    }

    /// Mends the end of a step: positions `x` (m) and velocities `v` (m/s) of the state, and says so in the report.
    /// Vertices that are put elsewhere get the velocity that takes them there.
    pub fn guard(
        &mut self,
        world: &World,
        x: &mut [Vec3],
        v: &mut [Vec3],
        dt: f64,
        report: &mut StepReport,
    ) -> Result<Mended, StepError> {
        let done = self.mend(world, x, dt).map_err(|e| StepError::Contact {
            reason: e.to_string(),
            time: world.time + dt,
        })?;
        if done.touched > 0 {
            for i in 0..x.len() {
                if x[i] != self.proposed[i] {
                    v[i] = (x[i] - world.state.x[i]) / dt;
                }
            }
        }
        report.failsafe |= done.stage > Stage::Clean;
        if done.stage > Stage::Clean && done.stage.name() > &report.failsafe_stage[..] {
            report.failsafe_stage = done.stage.name().into();
        }
        report.failsafe_vertices = report.failsafe_vertices.max(done.touched);
        report.trapped += done.trapped;
        Ok(done)
    }

    /// Whether anything meets on the way to `end`, the proposed positions of the state `dt` (s) after the world's time.
    pub fn meets_on_the_way(
        &mut self,
        world: &World,
        end: &[Vec3],
        dt: f64,
    ) -> Result<bool, StepError> {
        if world.contact.between == Between::Nothing {
            return Ok(false);
        }
        let met = self
            .prepare(world, end, dt)
            .and_then(|()| self.meets(world, dt, None, &mut Mended::default()));
        met.map_err(|e| StepError::Contact {
            reason: e.to_string(),
            time: world.time + dt,
        })
    }

    fn prepare(&mut self, world: &World, end: &[Vec3], dt: f64) -> Result<(), InputError> {
        gather(world, &world.state.x, world.time, &mut self.start);
        gather(world, end, world.time + dt, &mut self.end);
        if self.surfaces.as_ref().map(|s| s.0) != Some(world.topology_revision) {
            let surfaces = Surfaces::new(world, &self.start)?;
            self.surfaces = Some((world.topology_revision, surfaces));
        }
        self.v.clear();
        let ways = self.start.iter().zip(&self.end);
        self.v.extend(ways.map(|(a, b)| (*b - *a) / dt));
        held_inverse_mass(world, &mut self.inverse_mass);
        self.inverse_mass.resize(self.start.len(), Vec3::ZERO);
        self.changed.clear();
        self.changed.resize(self.start.len(), false);
        self.rows.clear();
        Ok(())
    }

    /// Looks what meets on the way to `end`, at vertices that have changed or (`None`) everywhere.
    fn meets(
        &mut self,
        world: &World,
        dt: f64,
        changed: Option<&[bool]>,
        done: &mut Mended,
    ) -> Result<bool, InputError> {
        done.searches += 1;
        if let Some((_, surfaces)) = &mut self.surfaces {
            let look = Look {
                between_cloth: world.contact.between == Between::All,
                changed,
                tangle: &world.tangle,
            };
            let ways = (&self.start[..], &self.end[..]);
            surfaces.meetings(ways.0, ways.1, &look, &mut self.found)?;
            solids::entering(world, ways, dt, changed, &mut self.found);
        }
        Ok(!self.found.is_empty())
    }

    /// Marks the vertices of all meetings and takes over the velocities of marked vertices; then looks again there.
    fn follow(&mut self, world: &World, dt: f64, done: &mut Mended) -> Result<bool, InputError> {
        let n = world.state.x.len();
        for v in self.found.iter().flat_map(|c| c.vertices) {
            if let Some(mark) = self.changed.get_mut(v as usize) {
                *mark = true;
            }
        }
        for i in 0..n {
            // Rounding must not move what nothing has pushed.
            let end = if self.v[i] == self.wanted[i] {
                self.proposed[i]
            } else {
                self.start[i] + self.v[i] * dt
            };
            if self.end[i] != end {
                self.end[i] = end;
                self.changed[i] = true;
            }
        }
        let changed = std::mem::take(&mut self.changed);
        let met = self.meets(world, dt, Some(&changed), done);
        self.changed = changed;
        self.changed.fill(false);
        met
    }

    fn impulses(&mut self, world: &World, dt: f64, done: &mut Mended) -> Result<bool, InputError> {
        for _ in 0..IMPULSE_ROUNDS {
            self.rows.add(world, &self.start, &self.found, dt);
            for _ in 0..SWEEPS {
                let mut pushed = false;
                for row in &self.rows.rows {
                    pushed |= row.resolve(&self.inverse_mass, &mut self.v);
                }
                if !pushed {
                    break;
                }
            }
            if !self.follow(world, dt, done)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn projections(
        &mut self,
        world: &World,
        dt: f64,
        done: &mut Mended,
    ) -> Result<bool, InputError> {
        for _ in 0..PROJECTIONS {
            self.rows.add(world, &self.start, &self.found, dt);
            self.v.copy_from_slice(&self.wanted);
            project(&self.rows.rows, &self.inverse_mass, &mut self.v, Bonds::Push);
            if !self.follow(world, dt, done)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn zones(&mut self, world: &World, dt: f64, done: &mut Mended) -> Result<bool, InputError> {
        let mut zones = Zones::new(self.start.len());
        for _ in 0..zones::ROUNDS {
            let mut joined = false;
            let mut open = false;
            for c in &self.found {
                if !zones.holds(c) {
                    open = true;
                    joined |= zones.join(c);
                }
            }
            if !open {
                return Ok(true);
            }
            if !joined {
                return Ok(false);
            }
            zones.move_rigidly(
                &self.start,
                &self.wanted,
                &self.inverse_mass,
                dt,
                &mut self.v,
                &mut self.changed,
            );
            if !self.follow(world, dt, done)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn stop_short(&mut self, world: &World, dt: f64, done: &mut Mended) -> Result<bool, InputError> {
        let n = world.state.x.len();
        let mut end = std::mem::take(&mut self.end);
        let start = std::mem::take(&mut self.start);
        let Some((_, surfaces)) = &mut self.surfaces else {
            return Ok(true);
        };
        let searches = &mut done.searches;
        let result = back_off(&start, &mut end, n, |end, changed, found| {
            *searches += 1;
            let look = Look {
                between_cloth: world.contact.between == Between::All,
                changed,
                tangle: &world.tangle,
            };
            surfaces.meetings(&start, end, &look, found)?;
            solids::entering(world, (&start, end), dt, changed, found);
            Ok(())
        });
        (self.start, self.end) = (start, end);
        done.trapped = result?.trapped;
        Ok(true)
    }
}

type StageFn = fn(&mut FailSafe, &World, f64, &mut Mended) -> Result<bool, InputError>;

/// Inverse mass of every vertex per axis, 1/kg: zero on the axes on which it is held.
pub fn held_inverse_mass(world: &World, out: &mut Vec<Vec3>) {
    out.clear();
    out.extend(world.mass.iter().map(|m| Vec3::splat(1.0 / m)));
    for pin in &world.pins {
        for v in &pin.vertices {
            for k in (0..3).filter(|k| pin.axes[*k]) {
                out[*v as usize][k] = 0.0;
            }
        }
    }
}

#[cfg(test)]
mod tests;
