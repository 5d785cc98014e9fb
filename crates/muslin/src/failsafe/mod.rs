//! The fail-safe: whatever a solver proposes, no two triangles of cloth cross and no cloth crosses an obstacle at the
//! end of a step.
//!
//! Given where a step begins, where nothing crosses, and where it is proposed to end, it changes the end in stages, each
//! only as far as the one before it failed: impulses with friction ([`row`]), inelastic projection ([`project`]), rigid
//! impact zones ([`zones`]), and at last stopping short ([`back_off()`]). Only obstacles or pins that close on cloth can
//! leave nothing to find; then cloth stays safe from cloth, and the meetings that cannot be helped are counted.

mod back_off;
mod outcome;
pub mod project;
pub mod rigid;
pub mod row;
mod solids;
mod surfaces;
mod tangle;
mod zones;

pub use back_off::{BackOff, back_off};
pub use outcome::{Mended, Stage};
pub use surfaces::{Look, Surfaces};
pub use tangle::{Tangle, TangleWatch};
pub use zones::Zones;

use crate::contact::Candidate;
use crate::scene::Between;
use crate::step::{StepError, StepReport};
use crate::world::World;
use muslin_geometry::InputError;
use muslin_linalg::Vec3;
use project::{Bonds, project};
use row::Rows;

/// Rounds of impulses, and sweeps over all meetings in the first; later rounds take more.
const IMPULSE_ROUNDS: usize = 10;
const SWEEPS: usize = 4;
/// Rounds of projection.
const PROJECTIONS: usize = 8;
/// Meetings, over those that a projection began with, by which it has gone astray.
const ASTRAY: usize = 4;
/// Most halvings of a step.
const MOST_PARTS: u32 = 3;

/// A stretch of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// Its beginning, s.
    pub time: f64,
    /// Its length, s.
    pub dt: f64,
    /// How often it was halved.
    parts: u32,
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

impl FailSafe {
    /// Changes `end`, the proposed positions of the state `dt` (s) after the world's time, so that nothing crosses (m).
    pub fn mend(&mut self, world: &World, end: &mut [Vec3], dt: f64) -> Result<Mended, InputError> {
        let mut done = Mended::default();
        if world.contact.between == Between::Nothing {
            return Ok(done);
        }
        done.left_out = world.tangle.count();
        let proposed = end.to_vec();
        let span = Span {
            time: world.time,
            dt,
            parts: 0,
        };
        self.mend_span(world, &world.state.x, end, span, &mut done)?;
        done.touched = end.iter().zip(&proposed).filter(|(a, b)| a != b).count();
        self.proposed = proposed;
        Ok(done)
    }

    /// Mends one stretch of time. Where no rigid motion fits what obstacles ask for, it is cut in half: the shorter the
    /// way, the less can meet on it. Only the shortest stretches stop short.
    fn mend_span(
        &mut self,
        world: &World,
        start: &[Vec3],
        end: &mut [Vec3],
        span: Span,
        done: &mut Mended,
    ) -> Result<(), InputError> {
        let stages = [
            (Stage::Impulses, Self::impulses as StageFn),
            (Stage::Projection, Self::projections),
            (Stage::Zones, Self::zones),
        ];
        let solved = self.try_stages(world, (start, end), span, &stages, done)?;
        if !solved && span.parts < MOST_PARTS {
            let half = Span {
                dt: 0.5 * span.dt,
                parts: span.parts + 1,
                ..span
            };
            let ways = start.iter().zip(end.iter());
            let mut middle: Vec<Vec3> = ways.map(|(a, b)| a.midpoint(*b)).collect();
            self.mend_span(world, start, &mut middle, half, done)?;
            let second = Span {
                time: span.time + half.dt,
                ..half
            };
            return self.mend_span(world, &middle, end, second, done);
        }
        if !solved {
            done.stage = Stage::BackOff;
            self.stop_short(world, span, done)?;
        }
        end.copy_from_slice(&self.end[..end.len()]);
        Ok(())
    }

    /// Tries one stage after the other until nothing meets on the way from a start to a proposed end; where it ends is
    /// then in `end`. Says whether one was enough.
    fn try_stages(
        &mut self,
        world: &World,
        (start, end): (&[Vec3], &[Vec3]),
        span: Span,
        stages: &[(Stage, StageFn)],
        done: &mut Mended,
    ) -> Result<bool, InputError> {
        self.prepare(world, start, end, span)?;
        if !self.meets(world, span, None, done)? {
            return Ok(true);
        }
        self.wanted.clear();
        self.wanted.extend_from_slice(&self.v);
        self.proposed.clear();
        self.proposed.extend_from_slice(end);
        for (stage, attempt) in stages {
            done.stage = done.stage.max(*stage);
            if attempt(self, world, span, done)? {
                return Ok(true);
            }
        }
        Ok(false)
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
        let done = self
            .mend(world, x, dt)
            .map_err(|e| search_failed(&e, world.time + dt))?;
        self.take_over(world, x, v, dt, &done, report);
        Ok(done)
    }

    /// Like [`Self::guard`], but by impulses alone: none, and `x` and `v` as they were, if those are not enough.
    pub fn guard_lightly(
        &mut self,
        world: &World,
        x: &mut [Vec3],
        v: &mut [Vec3],
        dt: f64,
        report: &mut StepReport,
    ) -> Result<Option<Mended>, StepError> {
        let mut done = Mended::default();
        if world.contact.between == Between::Nothing {
            return Ok(Some(done));
        }
        done.left_out = world.tangle.count();
        let span = Span {
            time: world.time,
            dt,
            parts: 0,
        };
        let stages = [(Stage::Impulses, Self::impulses as StageFn)];
        let solved = self
            .try_stages(world, (&world.state.x, x), span, &stages, &mut done)
            .map_err(|e| search_failed(&e, world.time + dt))?;
        if !solved {
            return Ok(None);
        }
        if done.stage > Stage::Clean {
            done.touched = (0..x.len()).filter(|i| x[*i] != self.end[*i]).count();
            x.copy_from_slice(&self.end[..x.len()]);
        }
        self.take_over(world, x, v, dt, &done, report);
        Ok(Some(done))
    }

    /// Gives vertices that were put elsewhere the velocity that takes them there, and tells the report.
    fn take_over(
        &self,
        world: &World,
        x: &[Vec3],
        v: &mut [Vec3],
        dt: f64,
        done: &Mended,
        report: &mut StepReport,
    ) {
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
    }

    /// What meets on the way to `end`, the proposed positions of the state `dt` (s) after the world's time; and start and
    /// end of the way of everything, in the order in which vertices are numbered here.
    pub fn meetings(
        &mut self,
        world: &World,
        end: &[Vec3],
        dt: f64,
    ) -> Result<(&[Candidate], [&[Vec3]; 2]), StepError> {
        self.found.clear();
        if world.contact.between != Between::Nothing {
            let span = Span {
                time: world.time,
                dt,
                parts: 0,
            };
            self.prepare(world, &world.state.x, end, span)
                .and_then(|()| self.meets(world, span, None, &mut Mended::default()))
                .map_err(|e| search_failed(&e, world.time + dt))?;
        }
        Ok((&self.found, [&self.start, &self.end]))
    }

    fn prepare(
        &mut self,
        world: &World,
        start: &[Vec3],
        end: &[Vec3],
        Span { time, dt, .. }: Span,
    ) -> Result<(), InputError> {
        world.surface_positions(start, time, &mut self.start);
        world.surface_positions(end, time + dt, &mut self.end);
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
        span: Span,
        changed: Option<&[bool]>,
        done: &mut Mended,
    ) -> Result<bool, InputError> {
        done.searches += 1;
        if let Some((_, surfaces)) = &mut self.surfaces {
            let look = Look {
                changed,
                ..Look::everywhere(world)
            };
            let ways = (&self.start[..], &self.end[..]);
            surfaces.meetings(ways.0, ways.1, &look, &mut self.found)?;
            solids::entering(world, ways, span, changed, &mut self.found);
        }
        Ok(!self.found.is_empty())
    }

    /// Marks the vertices of all meetings and takes over the velocities of marked vertices; then looks again there.
    fn follow(&mut self, world: &World, span: Span, done: &mut Mended) -> Result<bool, InputError> {
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
                self.start[i] + self.v[i] * span.dt
            };
            if self.end[i] != end {
                self.end[i] = end;
                self.changed[i] = true;
            }
        }
        let changed = std::mem::take(&mut self.changed);
        let met = self.meets(world, span, Some(&changed), done);
        self.changed = changed;
        self.changed.fill(false);
        met
    }

    fn impulses(
        &mut self,
        world: &World,
        span: Span,
        done: &mut Mended,
    ) -> Result<bool, InputError> {
        for round in 0..IMPULSE_ROUNDS {
            self.rows.add(world, &self.start, &self.found, span.dt);
            for _ in 0..SWEEPS * (round + 1) {
                let mut pushed = false;
                for row in &self.rows.rows {
                    pushed |= row.resolve(&self.inverse_mass, &mut self.v);
                }
                if !pushed {
                    break;
                }
            }
            if !self.follow(world, span, done)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn projections(
        &mut self,
        world: &World,
        span: Span,
        done: &mut Mended,
    ) -> Result<bool, InputError> {
        let sane = ASTRAY * self.rows.rows.len() + self.start.len();
        for _ in 0..PROJECTIONS {
            if self.found.len() > sane {
                // Cloth jammed between obstacles: the least change of velocities is a wild one. The next stage begins
                // from what was wanted.
                self.v.copy_from_slice(&self.wanted);
                return Ok(!self.follow(world, span, done)?);
            }
            self.rows.add(world, &self.start, &self.found, span.dt);
            self.v.copy_from_slice(&self.wanted);
            project(
                &self.rows.rows,
                &self.inverse_mass,
                &mut self.v,
                Bonds::Push,
            );
            if !self.follow(world, span, done)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn zones(&mut self, world: &World, span: Span, done: &mut Mended) -> Result<bool, InputError> {
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
                span.dt,
                &mut self.v,
                &mut self.changed,
            );
            if !self.follow(world, span, done)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn stop_short(
        &mut self,
        world: &World,
        span: Span,
        done: &mut Mended,
    ) -> Result<(), InputError> {
        let n = world.state.x.len();
        let mut end = std::mem::take(&mut self.end);
        let start = std::mem::take(&mut self.start);
        let Some((_, surfaces)) = &mut self.surfaces else {
            return Ok(());
        };
        let searches = &mut done.searches;
        let result = back_off(&start, &mut end, n, |end, changed, found| {
            *searches += 1;
            let look = Look {
                changed,
                ..Look::everywhere(world)
            };
            surfaces.meetings(&start, end, &look, found)?;
            solids::entering(world, (&start, end), span, changed, found);
            Ok(())
        });
        (self.start, self.end) = (start, end);
        done.trapped += result?.trapped;
        Ok(())
    }
}

fn search_failed(error: &InputError, time: f64) -> StepError {
    StepError::Contact {
        reason: error.to_string(),
        time,
    }
}

type StageFn = fn(&mut FailSafe, &World, Span, &mut Mended) -> Result<bool, InputError>;

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
