//! Limits of stretch: impulses along edges that conserve momentum keep lengths within a band (Provot 1995, Bridson et
//! al. 2002).
//!
//! The strain limit compares with lengths at rest, the rate limit with lengths at the start of the step. Both change
//! velocities, never positions, and before collisions are looked for.

use crate::world::World;
use muslin_linalg::Vec3;

/// Edges with their lengths at rest.
#[derive(Clone, Debug, Default)]
pub struct EdgeLimits {
    edges: Vec<([u32; 2], f64)>,
    revision: Option<u64>,
    sums: Vec<Vec3>,
    counts: Vec<u32>,
    /// Vertices that have moved since their edges were last looked at: before this sweep, and in it.
    moved: [Vec<bool>; 2],
}

/// What a limiter reached.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limited {
    /// Largest fraction by which a length is outside of its reference, after the limiter.
    pub strain: f64,
    /// Sweeps over all edges.
    pub sweeps: usize,
}

/// What lengths are compared with, and how far they may be from it.
#[derive(Clone, Copy)]
struct Rule {
    limit: f64,
    /// Length wanted, from the length at the start of the step and the length at rest.
    reference: fn(f64, f64) -> f64,
    /// Sweeps in which all edges are corrected at once, before they take turns: no edge comes first.
    at_once: usize,
}

const STRAIN: Rule = Rule {
    limit: 0.0,
    reference: |_, rest| rest,
    at_once: 2,
};
const RATE: Rule = Rule {
    limit: 0.0,
    reference: |now, _| now,
    at_once: 0,
};

impl Rule {
    fn at(self, limit: f64) -> Self {
        Self { limit, ..self }
    }
}

/// Sweeps after which the limiter gives up: pins may ask for more than the limit.
const MOST_SWEEPS: usize = 300;
/// Sweeps after which corrections go too far on purpose, and by what factor: within the band that does no harm, and cloth that
/// is stretched as a whole gets there much sooner (a tablecloth that a ball drags over table legs: 190 sweeps; exact ones leave
/// 12 % after 300). The first ones are exact, so that what is stretched in one place only does not bounce.
const EXACT_SWEEPS: usize = 20;
const BOLD: f64 = 1.9;
/// Excess over the limit that is let pass, as a fraction of it.
const SLACK: f64 = 0.015;

impl EdgeLimits {
    /// Takes over the edges of a world if they have changed.
    pub fn follow(&mut self, world: &World) {
        if self.revision == Some(world.topology_revision) {
            return;
        }
        self.revision = Some(world.topology_revision);
        self.edges.clear();
        // Soft bodies are kept in shape by their tetrahedra.
        for body in world.bodies.iter().filter(|b| b.fabric().is_some()) {
            let first = body.vertices.start as u32;
            for edge in &body.topology.edges {
                let face = edge.faces[0] as usize;
                let corners = body.topology.faces[face];
                let place = |v: u32| {
                    let corner = corners.iter().position(|c| *c == v).unwrap_or(0);
                    body.material[face][corner]
                };
                let [a, b] = edge.vertices;
                let length = place(a).distance(place(b));
                self.edges.push(([a + first, b + first], length));
            }
        }
    }

    /// Keeps lengths within `limit` (a fraction) of those at rest at the end of a step of `dt` (s) that begins at `x`
    /// (m), by changing the velocities `v` (m/s). Inverse masses are per axis, 1/kg; vertices held on any axis stay.
    pub fn limit_strain(
        &mut self,
        x: &[Vec3],
        v: &mut [Vec3],
        inverse_mass: &[Vec3],
        dt: f64,
        limit: f64,
    ) -> Limited {
        self.limit(x, v, inverse_mass, dt, &STRAIN.at(limit))
    }

    /// Keeps lengths from changing by more than `limit` (a fraction) in a step; see [`Self::limit_strain`].
    pub fn limit_rate(
        &mut self,
        x: &[Vec3],
        v: &mut [Vec3],
        inverse_mass: &[Vec3],
        dt: f64,
        limit: f64,
    ) -> Limited {
        self.limit(x, v, inverse_mass, dt, &RATE.at(limit))
    }

    /// One sweep of [`Self::limit_strain`], for those who have other laws to obey and take turns. What it changes is added to
    /// `changes` too, m/s. Says whether all was within the limit before.
    pub fn take_turn(
        &mut self,
        (x, v): (&[Vec3], &mut [Vec3]),
        changes: &mut [Vec3],
        inverse_mass: &[Vec3],
        dt: f64,
        (limit, turn): (f64, usize),
    ) -> bool {
        // Others have moved what they liked.
        for moved in &mut self.moved {
            moved.clear();
            moved.resize(x.len(), true);
        }
        let rule = (&STRAIN.at(limit), boldness(turn));
        let forth = turn.is_multiple_of(2);
        let ways = (x, v, Some(changes));
        self.sweep(ways, inverse_mass, dt, rule, forth) <= limit * (1.0 + SLACK)
    }

    fn limit(
        &mut self,
        x: &[Vec3],
        v: &mut [Vec3],
        inverse_mass: &[Vec3],
        dt: f64,
        rule: &Rule,
    ) -> Limited {
        let mut done = Limited {
            strain: self.largest(x, v, dt, rule),
            sweeps: 0,
        };
        let enough = rule.limit * (1.0 + SLACK);
        while done.strain > enough && done.sweeps < rule.at_once {
            self.sweep_at_once(x, v, inverse_mass, dt, rule);
            done.strain = self.largest(x, v, dt, rule);
            done.sweeps += 1;
        }
        if done.strain <= enough {
            return done;
        }
        for moved in &mut self.moved {
            moved.clear();
            moved.resize(x.len(), true);
        }
        // Edges whose ends have stayed since they were looked at are as they were: what a sweep sees is all there is.
        let mut seen = done.strain;
        while seen > enough && done.sweeps < MOST_SWEEPS {
            let rule = (rule, boldness(done.sweeps));
            let forth = done.sweeps.is_multiple_of(2);
            seen = self.sweep((x, v, None), inverse_mass, dt, rule, forth);
            done.sweeps += 1;
        }
        done.strain = self.largest(x, v, dt, rule);
        done
    }

    /// Largest deviation from the rule's reference length.
    fn largest(&self, x: &[Vec3], v: &[Vec3], dt: f64, rule: &Rule) -> f64 {
        let deviation = |([a, b], rest): &([u32; 2], f64)| {
            let (now, next) = ends(x, v, *a, *b, dt);
            let wanted = (rule.reference)(now.length(), *rest);
            (next.length() / wanted - 1.0).abs()
        };
        self.edges.iter().map(deviation).fold(0.0, f64::max)
    }

    /// One edge after the other, forth or back, where something has moved; corrections are multiplied by a factor. Says how
    /// far the worst was from its reference before it was corrected.
    fn sweep(
        &mut self,
        (x, v, mut changes): (&[Vec3], &mut [Vec3], Option<&mut [Vec3]>),
        inverse_mass: &[Vec3],
        dt: f64,
        (rule, factor): (&Rule, f64),
        forth: bool,
    ) -> f64 {
        let [before, now_moved] = &mut self.moved;
        std::mem::swap(before, now_moved);
        now_moved.fill(false);
        let last = self.edges.len();
        let mut worst: f64 = 0.0;
        for i in 0..last {
            let ([a, b], rest) = self.edges[if forth { i } else { last - 1 - i }];
            let ends_of = [a as usize, b as usize];
            // Also what has moved in this sweep: the sooner it is seen, the fewer sweeps.
            if !ends_of.iter().any(|v| before[*v] || now_moved[*v]) {
                continue;
            }
            let (now, next) = ends(x, v, a, b, dt);
            let wanted = (rule.reference)(now.length(), rest);
            let Some(change) = correction(next, wanted, rule.limit, dt) else {
                continue;
            };
            worst = worst.max((next.length() / wanted - 1.0).abs());
            let change = change * factor;
            let [ia, ib] = ends_of.map(|i| inverse_mass[i].min_element());
            if ia + ib > 0.0 {
                // A held end does not move; the other does.
                for (end, share) in ends_of.into_iter().zip([ia, -ib]) {
                    let change = change * (share / (ia + ib));
                    v[end] += change;
                    if let Some(changes) = &mut changes {
                        changes[end] += change;
                    }
                    now_moved[end] |= share != 0.0;
                }
            }
        }
        worst
    }

    /// All edges at once; each vertex takes the mean of what its edges ask for, by their number at the busier end, so
    /// that momentum is conserved.
    fn sweep_at_once(
        &mut self,
        x: &[Vec3],
        v: &mut [Vec3],
        inverse_mass: &[Vec3],
        dt: f64,
        rule: &Rule,
    ) {
        self.counts.clear();
        self.counts.resize(x.len(), 0);
        self.sums.clear();
        self.sums.resize(x.len(), Vec3::ZERO);
        for ([a, b], _) in &self.edges {
            self.counts[*a as usize] += 1;
            self.counts[*b as usize] += 1;
        }
        for ([a, b], rest) in &self.edges {
            let (now, next) = ends(x, v, *a, *b, dt);
            let wanted = (rule.reference)(now.length(), *rest);
            if let Some(change) = correction(next, wanted, rule.limit, dt) {
                let [ia, ib] = [a, b].map(|i| inverse_mass[*i as usize].min_element());
                let share = self.counts[*a as usize].max(self.counts[*b as usize]);
                if ia + ib > 0.0 {
                    let change = change / ((ia + ib) * f64::from(share));
                    self.sums[*a as usize] += change * ia;
                    self.sums[*b as usize] -= change * ib;
                }
            }
        }
        for (v, sum) in v.iter_mut().zip(&self.sums) {
            *v += *sum;
        }
    }
}

/// Factor of the corrections of a sweep.
fn boldness(sweep: usize) -> f64 {
    if sweep < EXACT_SWEEPS { 1.0 } else { BOLD }
}

/// From the first to the second vertex, now and at the end of the step.
fn ends(x: &[Vec3], v: &[Vec3], a: u32, b: u32, dt: f64) -> (Vec3, Vec3) {
    let (a, b) = (a as usize, b as usize);
    let now = x[b] - x[a];
    (now, now + (v[b] - v[a]) * dt)
}

/// Velocity by which the first vertex has to approach the second, m/s.
fn correction(next: Vec3, wanted: f64, limit: f64, dt: f64) -> Option<Vec3> {
    let length = next.length();
    let within = length.clamp(wanted * (1.0 - limit), wanted * (1.0 + limit));
    (length != within && length > 0.0).then(|| next * ((length - within) / (length * dt)))
}
