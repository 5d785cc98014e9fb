//! Repulsions: what is nearer than its thickness is stopped from approaching, pushed apart gently, and rubs (Bridson et al.
//! 2002, with the impulse limit put right); what would come so near within a step is stopped when it does.
//!
//! They act at every step of the internal dynamics. Applied once to the motion of a whole collision step, they would tear
//! vertices back by as far as they have come, and stiff cloth would answer with more energy than the impact had.

use crate::contact::{Candidate, Features, NO_VERTEX, Party, Remembered, Touch};
use crate::failsafe::row::Row;
use crate::material::Cone;
use crate::step::islands::{find, join};
use crate::world::{Body, World};
use muslin_friction::{State, solve_one};
use muslin_linalg::{Mat3, Vec3};

/// Part of an overlap that may be made up for in a step.
const RECOVERY: f64 = 0.1;
/// Sweeps over all pairs of a step of the dynamics, which begins with the impulses of the last one, and of a collision step:
/// the way back from where limits have pulled cloth takes many.
const QUICK_SWEEPS: usize = 2;
const SWEEPS: usize = 200;
/// Turns of contacts and limits of stretch.
const TURNS: usize = 100;
/// Change of velocity that counts as none, in a step of the dynamics and in a collision step, m/s.
const NOTHING: f64 = 1e-9;
const SETTLED: f64 = 1e-4;
/// Pairs found late that are left to the fail-safe: so many, and one in so many.
const FEW: usize = 4;
const MANY: usize = 1000;
/// Impulses of the last step are too large if they are so many times what is best: twice is usual, for steps of the
/// dynamics begin and end with half a push.
const EXCESS: f64 = 5.0;
/// Speed below which a contact is said to stick, m/s.
const STILL: f64 = 1e-6;

/// One pair.
struct Near {
    row: Row,
    features: Features,
    parties: [Party; 2],
    position: Vec3,
    /// Change of the normal velocity per impulse, 1/kg.
    compliance: f64,
    /// Distance beyond the thickness at the start of the step, and by now, m.
    slack_at_start: f64,
    slack: f64,
    /// Speed at which an overlap is made up for, m/s.
    parting: f64,
    /// Force that held it at the start, and last, N.
    force_at_start: Vec3,
    force: Vec3,
    /// Impulse of the present step of the dynamics, and of all since the start, N s.
    held: Vec3,
    impulse: Vec3,
}

/// A collision step as those who search it see it.
#[derive(Clone, Copy)]
pub struct Way<'a> {
    /// Positions of everything at its start and end, m: of the state, then of obstacles.
    pub x: [&'a [Vec3]; 2],
    /// Of the state, per axis, 1/kg.
    pub inverse_mass: &'a [Vec3],
    /// Its length, and that of the whole step, s.
    pub dt: f64,
    pub step: f64,
}

/// Pairs of a collision step.
#[derive(Default)]
pub struct Repulsions {
    pairs: Vec<Near>,
    /// Which vertices hang together by contact.
    leader: Vec<u32>,
    /// What impulses of the last step do, by island.
    effects: Vec<Effect>,
}

/// Sums over the pairs of an island, J.
#[derive(Clone, Copy, Default)]
struct Effect {
    /// Impulses times the velocities that they should still change.
    wanted: f64,
    /// Impulses times the velocities that they do change.
    done: f64,
}

impl Repulsions {
    /// Forgets the pairs of the last collision step.
    pub fn clear(&mut self) {
        self.pairs.clear();
    }

    /// Takes over what was found near at the start, in place of the pairs of the last collision step.
    pub fn gather(&mut self, world: &World, found: &[Candidate], way: &Way) {
        self.clear();
        self.add(world, found, way);
    }

    /// Adds what was found to meet on the way.
    pub fn add(&mut self, world: &World, found: &[Candidate], way: &Way) {
        let Way {
            x: [x0, x1],
            inverse_mass,
            dt,
            step,
        } = *way;
        let n = world.state.x.len();
        for c in found {
            let slack = c.gap.dot(c.normal) - c.share * world.distance_kept(c.parties);
            let cone = world.cone(c.parties, c.vertices, c.weights, c.normal, x0);
            let soft = c.parties.iter().filter_map(|p| match p {
                Party::Cloth(i) => world.bodies.get(*i).map(Body::compression_stiffness),
                Party::Obstacle(_) => None,
            });
            let stiffness = soft.fold(f64::INFINITY, f64::min);
            let features = c.features();
            let mut row = Row {
                vertices: c.vertices,
                weights: c.weights,
                normal: c.normal,
                surface: c.surface_velocity,
                least: 0.0,
                cone,
            };
            let first: Vec3 = row
                .parts()
                .filter(|(_, w)| *w > 0.0)
                .map(|(i, w)| x0[i] * w)
                .sum();
            // What obstacles do is given.
            for (k, v) in c.vertices.into_iter().enumerate() {
                if v != NO_VERTEX && v as usize >= n {
                    let v = v as usize;
                    row.surface -= (x1[v] - x0[v]) * (c.weights[k] / dt);
                    row.vertices[k] = NO_VERTEX;
                }
            }
            let force = allowed(&row.cone, world.remembered(&features) / step);
            let compliance = row.compliance(row.normal, inverse_mass);
            let overlap = (-slack).max(0.0);
            self.pairs.push(Near {
                row,
                features,
                parties: c.parties,
                position: first - c.gap,
                compliance,
                slack_at_start: slack,
                slack,
                parting: (RECOVERY * overlap / dt).min(dt * stiffness * overlap * compliance),
                force_at_start: force,
                force,
                held: Vec3::ZERO,
                impulse: Vec3::ZERO,
            });
        }
    }

    /// So many more that meet are left to the fail-safe.
    pub fn few(&self) -> usize {
        FEW + self.pairs.len() / MANY
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The collision step begins anew, with steps of the dynamics of `h` (s).
    pub fn begin(&mut self, h: f64) {
        for pair in &mut self.pairs {
            pair.slack = pair.slack_at_start;
            pair.held = pair.force_at_start * h;
            pair.impulse = Vec3::ZERO;
        }
    }

    /// Puts the velocities `v` (m/s) right for a step of the dynamics of `h` (s).
    pub fn hold(&mut self, inverse_mass: &[Vec3], v: &mut [Vec3], h: f64) {
        self.start_from_last(inverse_mass, v, h);
        self.sweep((QUICK_SWEEPS, NOTHING), inverse_mass, v, h);
        for pair in &mut self.pairs {
            pair.impulse += pair.held;
        }
    }

    /// Applies the impulses of the last step. Where they are far too large they are scaled to what is best: folds that are
    /// jammed let impulses grow against each other, and they would throw the cloth about as soon as contacts change. What
    /// hangs together by contact is scaled alike, or what was in balance would not be any more.
    fn start_from_last(&mut self, inverse_mass: &[Vec3], v: &mut [Vec3], h: f64) {
        let Self {
            pairs,
            leader,
            effects,
            ..
        } = self;
        leader.clear();
        leader.extend(0..v.len() as u32);
        effects.clear();
        effects.resize(v.len(), Effect::default());
        for pair in pairs.iter().filter(|p| p.held != Vec3::ZERO) {
            join(leader, pair.row.parts().map(|(i, _)| i as u32));
        }
        for pair in pairs.iter().filter(|p| p.held != Vec3::ZERO) {
            let effect = &mut effects[pair.island(leader)];
            let u = pair.row.velocity(v);
            // One gap that has opened a little says nothing about all the others.
            let parting = pair.least(h).max(0.0);
            effect.wanted -= pair.held.dot(u - pair.row.normal * parting);
            effect.done -= pair.held.dot(u);
        }
        for pair in pairs.iter().filter(|p| p.held != Vec3::ZERO) {
            pair.push(pair.held, inverse_mass, v);
        }
        for pair in pairs.iter().filter(|p| p.held != Vec3::ZERO) {
            effects[pair.island(leader)].done += pair.held.dot(pair.row.velocity(v));
        }
        for pair in pairs.iter_mut().filter(|p| p.held != Vec3::ZERO) {
            let Effect { wanted, done } = effects[pair.island(leader)];
            if wanted * EXCESS < done {
                let best = (wanted / done).max(0.0);
                pair.push(pair.held * (best - 1.0), inverse_mass, v);
                pair.held *= best;
            }
        }
    }

    /// Sweeps to and fro, at most so many, until one changes no velocity by more than `settled` (m/s).
    fn sweep(
        &mut self,
        (most_sweeps, settled): (usize, f64),
        inverse_mass: &[Vec3],
        v: &mut [Vec3],
        h: f64,
    ) {
        for sweep in 0..most_sweeps {
            let mut most: f64 = 0.0;
            if sweep % 2 == 0 {
                for pair in &mut self.pairs {
                    most = most.max(pair.relax(inverse_mass, v, h));
                }
            } else {
                for pair in self.pairs.iter_mut().rev() {
                    most = most.max(pair.relax(inverse_mass, v, h));
                }
            }
            if most < settled {
                break;
            }
        }
    }

    /// The velocities `v` have moved everything for `h` (s).
    pub fn moved(&mut self, v: &[Vec3], h: f64) {
        for pair in &mut self.pairs {
            pair.force = pair.held / h;
            pair.slack += h * pair.row.velocity(v).dot(pair.row.normal);
        }
    }

    /// Puts the mean velocities of a collision step of `dt` (s) right after the limits have changed them. Limits pull cloth that is
    /// stretched over something right through it, so the two take turns: `limit` gets the velocities and the number of its
    /// turn, and says whether it was content before. Contacts have the last word.
    pub fn correct_mean(
        &mut self,
        inverse_mass: &[Vec3],
        v: &mut [Vec3],
        dt: f64,
        mut limit: impl FnMut(&mut [Vec3], usize) -> bool,
    ) {
        for pair in &mut self.pairs {
            pair.slack = pair.slack_at_start;
            pair.held = Vec3::ZERO;
        }
        for turn in 0..TURNS {
            self.sweep((1 + turn % 2, SETTLED), inverse_mass, v, dt);
            if limit(v, turn) {
                break;
            }
        }
        self.sweep((SWEEPS, SETTLED), inverse_mass, v, dt);
        for pair in &mut self.pairs {
            pair.slack += dt * pair.row.velocity(v).dot(pair.row.normal);
        }
    }

    /// The same for the velocities at its end; the dynamics have put them right before.
    pub fn correct_end(&mut self, inverse_mass: &[Vec3], v: &mut [Vec3], dt: f64) {
        for pair in &mut self.pairs {
            pair.held = Vec3::ZERO;
        }
        self.sweep((SWEEPS, SETTLED), inverse_mass, v, dt);
        for pair in &mut self.pairs {
            pair.impulse += pair.held;
        }
    }

    /// Leaves what happened with the world, to be recorded, and what holds the pairs, as impulses of a whole step (s), to
    /// start from; says how many pairs touch, stick and slide.
    pub fn leave(&self, world: &mut World, step: f64, v: &[Vec3]) -> [usize; 3] {
        world.impulses.clear();
        for pair in self.pairs.iter().filter(|p| p.force != Vec3::ZERO) {
            world.impulses.push(Remembered {
                features: pair.features,
                impulse: pair.force * step,
            });
        }
        world.impulses.sort_by_key(|r| r.features);
        // What is near and was found to meet as well is there twice.
        world.impulses.dedup_by(|again, first| {
            let same = again.features == first.features;
            if same {
                first.impulse += again.impulse;
            }
            same
        });
        let mut counts = [0; 3];
        for pair in &self.pairs {
            let acts = pair.impulse != Vec3::ZERO;
            // Most pairs are only watched.
            if !acts && pair.slack_at_start > 0.0 {
                continue;
            }
            let u = pair.row.velocity(v);
            let normal = pair.row.normal;
            let sliding = (u - normal * u.dot(normal)).length() > STILL;
            let state = match (acts, sliding) {
                (false, _) => State::Separate,
                (true, false) => State::Stick,
                (true, true) => State::Slide,
            };
            counts[0] += 1;
            counts[1] += usize::from(state == State::Stick);
            counts[2] += usize::from(state == State::Slide);
            world.touches.push(Touch {
                parties: pair.parties,
                position: pair.position,
                normal,
                impulse: pair.impulse,
                state,
            });
        }
        counts
    }
}

/// What the law leaves of a force (N): no pull, and no more friction than it allows.
fn allowed(cone: &Cone, force: Vec3) -> Vec3 {
    let local = cone.frame * force;
    let pressure = local.x.max(0.0);
    let most = cone.friction.map(|f| f * pressure);
    let part = |rub: f64, most: f64| if most > 0.0 { rub / most } else { 0.0 };
    let parts = [part(local.y, most[0]), part(local.z, most[1])];
    let over = parts[0].hypot(parts[1]).max(1.0);
    let left = Vec3::new(
        pressure,
        parts[0] * most[0] / over,
        parts[1] * most[1] / over,
    );
    cone.frame.transpose() * left
}

impl Near {
    /// Applies an impulse, N s.
    fn push(&self, impulse: Vec3, inverse_mass: &[Vec3], v: &mut [Vec3]) {
        for (i, w) in self.row.parts() {
            v[i] += inverse_mass[i] * impulse * w;
        }
    }

    /// The least normal velocity that it allows in a step of `h` (s), m/s.
    fn least(&self, h: f64) -> f64 {
        if self.slack > 0.0 {
            -self.slack / h
        } else {
            self.parting
        }
    }

    /// The vertex that stands for all that hang together with it.
    fn island(&self, leader: &mut [u32]) -> usize {
        let first = self.row.parts().next().map_or(0, |(i, _)| i as u32);
        find(leader, first) as usize
    }

    /// Brings the impulse to what stops approach and sliding as far as the law allows, for a step of `h` (s) and with the
    /// others held; says by how much that changed velocities, m/s.
    fn relax(&mut self, inverse_mass: &[Vec3], v: &mut [Vec3], h: f64) -> f64 {
        if self.compliance <= 0.0 {
            return 0.0;
        }
        let n = self.row.normal;
        let u = self.row.velocity(v);
        let approach = u.dot(n);
        let least = self.least(h);
        let pressed = self.held.dot(n);
        let normal = (pressed + (least - approach) / self.compliance).max(0.0);
        if normal <= 0.0 && self.held == Vec3::ZERO {
            return 0.0;
        }
        // Tangents resist like the normal does, for masses are the same on all axes but those on which a vertex is held;
        // there the next sweep does the rest.
        let rub = self.held - n * pressed - (u - n * approach) / self.compliance;
        let [along, across] = self.row.cone.friction;
        let new = if along == across {
            let most = along * normal;
            let kept = if rub.length_squared() > most * most {
                most / rub.length()
            } else {
                1.0
            };
            n * normal + rub * kept
        } else {
            let frame = self.row.cone.frame;
            let stop = n * (pressed + (least - approach) / self.compliance) + rub;
            let resists = Mat3::from_diagonal(Vec3::splat(1.0 / self.compliance));
            frame.transpose() * solve_one(&resists, frame * stop, self.row.cone.friction).r
        };
        let change = new - self.held;
        self.held = new;
        self.push(change, inverse_mass, v);
        change.length() * self.compliance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::Kind;

    /// A wall that moves along its normal (m/s) against the only vertex.
    fn wall(normal: Vec3, speed: f64) -> Near {
        let vertices = [0, NO_VERTEX, NO_VERTEX, NO_VERTEX];
        Near {
            row: Row {
                vertices,
                weights: [1.0, 0.0, 0.0, 0.0],
                normal,
                surface: normal * speed,
                least: 0.0,
                cone: Cone::isotropic(normal, 0.1),
            },
            features: Features {
                kind: Kind::VertexFace,
                vertices,
                party: Party::Obstacle(0),
            },
            parties: [Party::Cloth(0), Party::Obstacle(0)],
            position: Vec3::ZERO,
            compliance: 1.0,
            slack_at_start: 0.0,
            slack: 0.0,
            parting: 0.0,
            force_at_start: Vec3::ZERO,
            force: Vec3::ZERO,
            held: Vec3::ZERO,
            impulse: Vec3::ZERO,
        }
    }

    #[test]
    fn what_was_jammed_is_not_shot_away_when_contacts_change() {
        let (h, inverse_mass) = (1e-3, [Vec3::ONE]);
        let mut repulsions = Repulsions {
            pairs: vec![wall(Vec3::Z, 1.0), wall(-Vec3::Z, 1.0)],
            ..Repulsions::default()
        };
        let mut v = [Vec3::ZERO];
        for _ in 0..1000 {
            repulsions.hold(&inverse_mass, &mut v, h);
        }
        // Impulses have grown against each other, and one of the walls is not where it was.
        let force = repulsions.pairs[1].held / h;
        let normal = Vec3::new(0.5, 0.0, -1.0).normalize();
        repulsions.pairs[1] = wall(normal, 1.0);
        repulsions.pairs[1].force_at_start = allowed(&repulsions.pairs[1].row.cone, force);
        repulsions.pairs[0].force_at_start = repulsions.pairs[0].held / h;
        repulsions.begin(h);
        repulsions.hold(&inverse_mass, &mut v, h);
        assert!(v[0].length() < 5.0, "{} m/s", v[0].length());
    }

    #[test]
    fn a_stack_that_is_pulled_into_the_ground_stays_above_it() {
        let (n, dt) = (12, 1e-2);
        let inverse_mass = vec![Vec3::ONE; n];
        // Every vertex lies on the one before, the first on the ground.
        let pairs = (0..n).map(|i| {
            let mut pair = wall(Vec3::Z, 0.0);
            pair.row.vertices[0] = i as u32;
            if i > 0 {
                pair.row.vertices[1] = i as u32 - 1;
                pair.row.weights[1] = -1.0;
                pair.compliance = 2.0;
            }
            pair
        });
        let mut repulsions = Repulsions {
            pairs: pairs.collect(),
            ..Repulsions::default()
        };
        let mut v = vec![Vec3::NEG_Z; n];
        repulsions.correct_mean(&inverse_mass, &mut v, dt, |_, _| true);
        for pair in &repulsions.pairs {
            let approach = pair.row.velocity(&v).z;
            assert!(approach > -0.02, "{approach} m/s");
        }
    }
}
