//! The contact step: virtual velocities that obey non-penetration and Coulomb's law, by Gauss-Seidel over contacts.
//!
//! In this step every vertex moves on its own, as a mass that is its contact weight. So the response of a contact is a
//! number, its law has an answer in closed form, and a sweep is cheap. Contacts of one colour share no vertex and are
//! answered together.

use super::row::Row;
use crate::contact::{ContactSet, Detector, NEAR, SecondLine};
use crate::step::contacts::{Sought, detect};
use crate::step::islands::{find, join};
use crate::step::{StepError, StepReport};
use crate::world::World;
use muslin_friction::State;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Colours told apart by a bit set; contacts beyond are answered one after the other.
const COLOURS: usize = 64;
/// Contacts of a colour from which on threads pay.
const PARALLEL_FROM: usize = 4096;
/// Contacts a task.
const PER_TASK: usize = 1024;

/// Times the usual number of sweeps that there may be where heavy lies on light.
const MORE: usize = 5;
/// Change of velocity by a sweep at which they have settled, m/s.
const SETTLED: f64 = 1e-3;

/// How contacts give way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softness {
    /// Normal velocity per impulse that a contact yields, 1/kg.
    pub compliance: f64,
    /// Fraction of a missing distance that is made up for in a step.
    pub recovery: f64,
}

/// Contacts of the step under way.
#[derive(Default)]
pub struct Contacts {
    detector: Detector,
    set: ContactSet,
    rows: Vec<Row>,
    /// Contact of the set behind each row.
    origin: Vec<u32>,
    /// Where each colour ends in `rows`.
    ends: Vec<usize>,
    /// Whether a contact acts on a vertex.
    pub touched: Vec<bool>,
    taken: Vec<u64>,
    answers: Vec<Vec3>,
    states: Vec<State>,
    /// Sweeps of this step.
    pub sweeps: usize,
}

impl Contacts {
    /// Forgets the last step and finds what is near at the start of this one. Edges in folds count as well if some of them
    /// carried an impulse in the last step: they are micrometres apart then, and others would cross after every look.
    pub fn find(&mut self, world: &World, dt: f64, softness: &Softness) -> Result<(), StepError> {
        self.set.clear();
        self.rows.clear();
        self.origin.clear();
        self.sweeps = 0;
        let start = &world.state.x;
        self.detect(world, start, dt, (NEAR, SecondLine::Skins), softness)?;
        if self.set.lacks_carried(world) {
            let folds = SecondLine::SkinsFoldsAndCarried;
            self.detect(world, start, dt, (NEAR, folds), softness)?;
        }
        Ok(())
    }

    /// Adds what the motion to `end` (m) crosses.
    pub fn look(
        &mut self,
        world: &World,
        end: &[Vec3],
        dt: f64,
        softness: &Softness,
    ) -> Result<(), StepError> {
        self.detect(world, end, dt, (0.0, SecondLine::Skins), softness)
    }

    fn detect(
        &mut self,
        world: &World,
        end: &[Vec3],
        dt: f64,
        (near, second): (f64, SecondLine),
        softness: &Softness,
    ) -> Result<(), StepError> {
        let known = self.set.contacts.len();
        let (detector, set) = (&mut self.detector, &mut self.set);
        let sought = Sought {
            near,
            second,
            recovery: softness.recovery,
        };
        detect(world, detector, set, end, dt, &sought)?;
        self.set.drop_known(known);
        Ok(())
    }

    /// Whether nothing touches.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Lays out the contacts found by colour, keeping the impulses of those that had one. `inverse` is the inverse of
    /// each vertex's contact weight, 1/kg. The first time in a step impulses are those of the step before.
    pub fn arrange(&mut self, inverse: &[f64], first: bool) {
        let contacts = &self.set.contacts;
        let mut impulses = if first {
            self.set.impulses.clone()
        } else {
            vec![Vec3::ZERO; contacts.len()]
        };
        for (row, origin) in self.rows.iter().zip(&self.origin) {
            if let Some(slot) = impulses.get_mut(*origin as usize) {
                *slot = row.r;
            }
        }
        self.taken.clear();
        self.taken.resize(inverse.len(), 0);
        self.touched.clear();
        self.touched.resize(inverse.len(), false);
        let mut colour_of = Vec::with_capacity(contacts.len());
        for contact in contacts {
            let used = contact.arms().fold(0, |set, (n, _)| set | self.taken[n]);
            // The last colour takes all that do not fit; it is never answered in parallel.
            let colour = (used.trailing_ones() as usize).min(COLOURS - 1);
            for (n, _) in contact.arms() {
                self.taken[n] |= 1 << colour;
                self.touched[n] = true;
            }
            colour_of.push(colour as u8);
        }
        self.origin.clear();
        self.origin.extend(0..contacts.len() as u32);
        self.origin.sort_by_key(|c| colour_of[*c as usize]);
        self.rows.clear();
        for c in &self.origin {
            let c = *c as usize;
            self.rows.push(Row::new(&contacts[c], impulses[c], inverse));
        }
        let colours = self
            .origin
            .chunk_by(|a, b| colour_of[*a as usize] == colour_of[*b as usize]);
        self.ends.clear();
        let mut end = 0;
        for colour in colours {
            end += colour.len();
            self.ends.push(end);
        }
    }

    /// Scales the impulses of the step before so that they, with the momentum that other forces give each vertex
    /// (kg m/s), change velocities least; never up. After an impact they would throw things apart. What hangs together by
    /// contact is scaled alike, or what was in balance would not be any more. `part` numbers what moves together.
    pub fn temper(&mut self, momentum: &[Vec3], mass: &[f64], part: &[u32]) {
        let parts = part.iter().filter(|p| **p != u32::MAX).max();
        let mut leader: Vec<u32> = (0..parts.map_or(0, |p| p + 1)).collect();
        for row in self.rows.iter().filter(|r| r.r != Vec3::ZERO) {
            let parts = row.arms().map(|(n, _)| part[n]);
            join(&mut leader, parts.filter(|p| *p != u32::MAX));
        }
        let mut push = vec![Vec3::ZERO; momentum.len()];
        self.add_impulses(&mut push);
        let mut products = vec![[0.0; 2]; leader.len()];
        for n in (0..push.len()).filter(|n| part[*n] != u32::MAX) {
            let sums = &mut products[find(&mut leader, part[n]) as usize];
            sums[0] -= push[n].dot(momentum[n]) / mass[n];
            sums[1] += push[n].length_squared() / mass[n];
        }
        for row in &mut self.rows {
            let first = row.arms().find(|(n, _)| part[*n] != u32::MAX);
            let Some((n, _)) = first else { continue };
            let [wanted, all] = products[find(&mut leader, part[n]) as usize];
            if all > 0.0 {
                row.r *= (wanted / all).clamp(0.0, 1.0);
            }
        }
    }

    /// Adds what the impulses do to the virtual velocities `p` (m/s).
    pub fn push(&self, inverse: &[f64], p: &mut [Vec3]) {
        for row in &self.rows {
            row.push(row.r, inverse, p);
        }
    }

    /// Sweeps over all contacts: changes impulses and virtual velocities `p` (m/s). Where something heavy lies on something
    /// light a few do not carry it; then there are more, until it has settled.
    pub fn sweep(&mut self, sweeps: usize, compliance: f64, inverse: &[f64], p: &mut [Vec3]) {
        for sweep in 1..=sweeps * MORE {
            let moved = self.sweep_once(compliance, inverse, p);
            self.sweeps += 1;
            if sweep >= sweeps && moved <= SETTLED {
                break;
            }
        }
    }

    /// One sweep; returns by how much it moved uneven contacts at most, m/s.
    fn sweep_once(&mut self, compliance: f64, inverse: &[f64], p: &mut [Vec3]) -> f64 {
        let mut moved: f64 = 0.0;
        let mut begin = 0;
        for &end in &self.ends {
            let rows = &mut self.rows[begin..end];
            if rows.len() < PARALLEL_FROM || self.ends.len() == COLOURS {
                for row in rows {
                    let r = row.answer(p, compliance).0;
                    moved = moved.max(row.take(r, inverse, p));
                }
            } else {
                self.answers.resize(rows.len(), Vec3::ZERO);
                let from = &*p;
                rows.par_chunks(PER_TASK)
                    .zip(self.answers.par_chunks_mut(PER_TASK))
                    .for_each(|(rows, answers)| {
                        for (row, answer) in rows.iter().zip(answers) {
                            *answer = row.answer(from, compliance).0;
                        }
                    });
                for (row, r) in rows.iter_mut().zip(&self.answers) {
                    moved = moved.max(row.take(*r, inverse, p));
                }
            }
            begin = end;
        }
        moved
    }

    /// Adds the impulses of all contacts to the momentum of each vertex, kg m/s.
    pub fn add_impulses(&self, momentum: &mut [Vec3]) {
        for row in &self.rows {
            let push = row.impulse();
            for (n, w) in row.arms() {
                momentum[n] += push * w;
            }
        }
    }

    /// Largest error of the law of friction with velocities `v` (m/s) of vertices of masses `mass` (kg), m/s.
    pub fn error(&self, v: &[Vec3], mass: &[f64], compliance: f64) -> f64 {
        let each = |row: &Row| {
            let ease: f64 = row.arms().map(|(n, w)| w * w / mass[n]).sum();
            row.error(v, ease, compliance)
        };
        self.rows
            .par_iter()
            .with_min_len(PER_TASK)
            .map(each)
            .reduce(|| 0.0, f64::max)
    }

    /// Leaves the contacts with the world and counts them in the report. `v`: velocities, m/s.
    pub fn leave(
        &mut self,
        world: &mut World,
        v: &[Vec3],
        compliance: f64,
        report: &mut StepReport,
    ) {
        self.states.clear();
        self.states.resize(self.rows.len(), State::Separate);
        for (row, origin) in self.rows.iter().zip(&self.origin) {
            let state = row.answer(v, compliance).1;
            self.set.impulses[*origin as usize] = row.r;
            self.states[*origin as usize] = if row.r == Vec3::ZERO {
                State::Separate
            } else {
                state
            };
        }
        let count = |state| self.states.iter().filter(|s| **s == state).count();
        report.contacts = self.rows.len();
        report.sticking = count(State::Stick);
        report.sliding = count(State::Slide);
        self.set.leave(&self.states, world);
    }
}
