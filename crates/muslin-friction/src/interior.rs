//! Interior point method: for stiff systems with many redundant contacts, where the set of active ones is hard to guess.
//!
//! In coordinates `y = (r_N, r_T / mu)` and `w = (u_N + mu |u_T|, mu u_T)` both lie in the same round cone of opening 1 and
//! are orthogonal. For a given `mu |u_T|` in the first place (De Saxcé's shift) that is a convex problem; the shift follows
//! the velocities as the iteration goes. Each iteration factors the matrix plus one symmetric block a contact, scaled after
//! Nesterov and Todd, and takes a predictor and a corrector step.

use crate::kept::Kept;
use crate::newton::{Coupling, Krylov, System};
use crate::prepared::{Given, Node, Prepared};
use crate::problem::{Contact, FrictionProblem};
use crate::residual::{Residual, imbalance, impulses, measure};
use muslin_linalg::{Mat3, Vec3, outer};

/// Fraction of the way to the border of the cones that is taken.
const TO_THE_BORDER: f64 = 0.99;
/// Steps shorter than this are tried again.
const SHORT: f64 = 0.25;
/// Coefficients are not taken below this: the tangents are scaled by them.
const LEAST_FRICTION: f64 = 1e-6;
/// Accuracy of the shift's part in a step.
const COUPLING_TOLERANCE: f64 = 1e-2;
/// Contacts up to which the shift is always linearised along.
const FEW: usize = 1000;
/// Error of momentum (m/s, by mass) that a step may leave, in tolerances, and as a share of what was there before.
const BALANCED: f64 = 3.0;
const ROUGHLY: f64 = 0.03;
/// Further solves with the same factors.
const REFINEMENTS: usize = 4;
/// Iterations without progress after which there is no hope.
const PATIENCE: usize = 8;

/// One contact in the coordinates of the method.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Local velocity to scaled velocity; transposed, scaled impulse to local impulse.
    scale: Vec3,
    compliance: f64,
    /// Scaled velocity and impulse, both inside the cone.
    w: Vec3,
    y: Vec3,
    /// Nesterov and Todd's scaling, its inverse, and the symmetric block that velocities see.
    forward: Mat3,
    backward: Mat3,
    block: Mat3,
    /// Scaled velocity and impulse seen from the scaling's middle: the same vector.
    middle: Vec3,
    /// Changes.
    dw: Vec3,
    dy: Vec3,
    /// Of the linearised law: what the velocity lacks, what is asked, and the square of the scaling.
    missing: Vec3,
    given: Vec3,
    square: Mat3,
    extra: Vec3,
    /// How the shift follows tangential velocity; zero where it is left to lag.
    turn: Vec3,
    inert: bool,
}

/// Working memory.
#[derive(Default)]
pub(crate) struct Interior {
    system: System,
    krylov: Krylov,
    couplings: Vec<Coupling>,
    points: Vec<Point>,
    blocks: Vec<Mat3>,
    step: Vec<Vec3>,
    force: Vec<Vec3>,
    local: Vec<Vec3>,
    right: Vec<Vec3>,
    trial: Vec<Vec3>,
    best: Kept,
}

/// How a run ended.
pub(crate) struct InteriorEnd {
    pub(crate) residual: Residual,
    pub(crate) iterations: usize,
    pub(crate) converged: bool,
}

impl Interior {
    /// Iterates until both errors are below `tolerance` or nothing improves; the best point is returned.
    pub(crate) fn run(
        &mut self,
        given: &Given,
        tolerance: f64,
        max_iterations: usize,
        v: &mut [Vec3],
        r: &mut [Vec3],
    ) -> InteriorEnd {
        let Given {
            problem,
            nodes,
            contacts,
        } = *given;
        let mut end = InteriorEnd {
            residual: Residual::default(),
            iterations: 0,
            converged: false,
        };
        impulses(problem, r, &mut self.force);
        end.residual = measure(given, v, r, &self.force);
        let mut best = end.residual.merit();
        self.best.keep(v, r);
        if self.system.analyse(problem, true).is_err() {
            return end;
        }
        self.start(problem, contacts, v, r);
        self.step.resize(v.len(), Vec3::ZERO);
        self.right.resize(v.len(), Vec3::ZERO);
        // The way begins inside the cones, where errors are larger than at a good start.
        let mut least = f64::INFINITY;
        let mut dynamics = end.residual.dynamics;
        let mut stale = 0;
        while end.iterations < max_iterations && stale < PATIENCE {
            end.iterations += 1;
            self.follow(problem, contacts, v, r.len() <= FEW || stale > 1);
            let enough = (BALANCED * tolerance).max(ROUGHLY * dynamics);
            if !self.advance(problem, nodes, enough, v) {
                break;
            }
            for (r, p) in r.iter_mut().zip(&self.points) {
                *r = p.scale * p.y;
            }
            impulses(problem, r, &mut self.force);
            let residual = measure(given, v, r, &self.force);
            let merit = residual.merit();
            dynamics = residual.dynamics;
            stale = if merit < 0.9 * least { 0 } else { stale + 1 };
            least = least.min(merit);
            if merit < best {
                best = merit;
                end.residual = residual;
                self.best.keep(v, r);
            }
            if merit < tolerance {
                end.converged = true;
                break;
            }
        }
        self.best.restore(v, r);
        end
    }

    /// Puts velocities and impulses well inside the cones.
    fn start(&mut self, problem: &FrictionProblem, contacts: &[Prepared], v: &[Vec3], r: &[Vec3]) {
        let speeds = problem.contacts.iter().map(|c| c.velocity(v).length());
        let typical = speeds.fold(1e-3, f64::max);
        self.points.clear();
        for ((contact, prepared), r) in problem.contacts.iter().zip(contacts).zip(r) {
            let mu = prepared.cone.mu.max(LEAST_FRICTION);
            let scale = Vec3::new(1.0, mu, mu) * prepared.cone.stretch;
            let w = shifted(contact, scale, v);
            let y = *r / scale;
            let mass = prepared.measure;
            let inside =
                |x: Vec3, distance: f64| Vec3::new(x.x.max(x.y.hypot(x.z) + distance), x.y, x.z);
            self.points.push(Point {
                scale,
                compliance: prepared.compliance,
                w: inside(w, 0.1 * typical),
                y: inside(y, 0.1 * typical * mass),
                forward: Mat3::IDENTITY,
                backward: Mat3::IDENTITY,
                block: Mat3::ZERO,
                middle: Vec3::ZERO,
                dw: Vec3::ZERO,
                dy: Vec3::ZERO,
                missing: Vec3::ZERO,
                given: Vec3::ZERO,
                square: Mat3::ZERO,
                extra: Vec3::ZERO,
                turn: Vec3::ZERO,
                inert: prepared.inert,
            });
            if prepared.inert
                && let Some(p) = self.points.last_mut()
            {
                p.y = Vec3::ZERO;
            }
        }
    }

    /// Decides whether the shift is linearised along. That makes the system unsymmetric, which costs further solves, but
    /// without it the iteration may stall short of the answer.
    fn follow(
        &mut self,
        problem: &FrictionProblem,
        contacts: &[Prepared],
        v: &[Vec3],
        along: bool,
    ) {
        let both = problem.contacts.iter().zip(contacts);
        for (p, (contact, prepared)) in self.points.iter_mut().zip(both) {
            p.turn = Vec3::ZERO;
            if along && !p.inert {
                let u = p.scale * contact.velocity(v);
                // Softened where the velocity is not yet told from zero.
                let blur = p.w.dot(p.y).abs() / prepared.measure;
                p.turn = Vec3::new(0.0, u.y, u.z) / (u.y * u.y + u.z * u.z + blur).sqrt();
            }
        }
    }

    /// One predictor and corrector step. False if the matrix could not be factored.
    fn advance(
        &mut self,
        problem: &FrictionProblem,
        nodes: &[Node],
        enough: f64,
        v: &mut [Vec3],
    ) -> bool {
        self.blocks.clear();
        let (mut gap, mut count) = (0.0, 0.0);
        for p in &mut self.points {
            if p.inert {
                self.blocks.push(Mat3::ZERO);
                continue;
            }
            p.centre();
            gap += p.w.dot(p.y);
            count += 1.0;
            let s = Mat3::from_diagonal(p.scale);
            self.blocks.push(s * p.block * s);
        }
        self.couplings.clear();
        self.couplings.extend(self.points.iter().map(|p| Coupling {
            pull: if p.turn == Vec3::ZERO {
                Vec3::ZERO
            } else {
                p.scale * p.block.x_axis
            },
            row: p.scale * p.turn,
        }));
        if self.system.factorise(problem, &self.blocks).is_err() {
            return false;
        }
        let gap: f64 = gap / f64::max(count, 1.0);
        // Straight for the answer first; how far that gets tells how much to keep away from the border.
        self.solve(problem, nodes, v, f64::INFINITY, |p| -p.middle);
        let reach = self.reach();
        let aim = (1.0 - reach).powi(3) * gap;
        self.solve(problem, nodes, v, enough, |p| {
            let second = product(p.backward * p.dw, p.forward * p.dy);
            let wanted = Vec3::X * aim - product(p.middle, p.middle) - second;
            quotient(p.middle, wanted)
        });
        let mut reach = self.reach();
        if reach < SHORT {
            // The second-order term has led astray; without it, and farther from the border, steps are safe.
            let aim = aim.max(0.3 * gap);
            self.solve(problem, nodes, v, enough, |p| {
                quotient(p.middle, Vec3::X * aim - product(p.middle, p.middle))
            });
            reach = self.reach();
        }
        let reach = (TO_THE_BORDER * reach).min(1.0);
        for (v, step) in v.iter_mut().zip(&self.step) {
            *v += reach * *step;
        }
        for p in self.points.iter_mut().filter(|p| !p.inert) {
            p.w += reach * p.dw;
            p.y += reach * p.dy;
        }
        true
    }

    /// Solves the linearised problem with `forward dy + backward dw = aim`, given by contact.
    fn solve(
        &mut self,
        problem: &FrictionProblem,
        nodes: &[Node],
        v: &[Vec3],
        enough: f64,
        aim: impl Fn(&Point) -> Vec3,
    ) {
        // (forward² + compliance) dy + change = given, where dw = missing + change + compliance dy
        for (contact, p) in problem.contacts.iter().zip(&mut self.points) {
            if p.inert {
                continue;
            }
            let aimed = p.forward * aim(p);
            let target = shifted(contact, p.scale, v) + Vec3::X * (p.compliance * p.y.x);
            p.missing = target - p.w;
            p.given = aimed - p.missing;
            p.dy = Vec3::ZERO;
        }
        self.step.fill(Vec3::ZERO);
        for _ in 0..=REFINEMENTS {
            if self.correct(problem, nodes, enough == f64::INFINITY, v) < enough {
                break;
            }
        }
        for (contact, p) in problem.contacts.iter().zip(&mut self.points) {
            let change = p.change(contact, &self.step);
            p.dw = p.missing + change + Vec3::X * (p.compliance * p.dy.x);
        }
    }

    /// Solves for what is still missing from both equations, and says how much was missing from the balance of momentum
    /// (m/s). Near the answer blocks are so large that one solve leaves errors above what is sought.
    fn correct(
        &mut self,
        problem: &FrictionProblem,
        nodes: &[Node],
        roughly: bool,
        v: &[Vec3],
    ) -> f64 {
        self.local.clear();
        for (contact, p) in problem.contacts.iter().zip(&mut self.points) {
            if p.inert {
                self.local.push(Vec3::ZERO);
                continue;
            }
            let change = p.change(contact, &self.step);
            let left = p.given - p.square * p.dy - change;
            p.extra = p.block * left;
            self.local.push(p.scale * (p.y + p.dy + p.extra));
        }
        impulses(problem, &self.local, &mut self.force);
        self.trial.clear();
        self.trial
            .extend(v.iter().zip(&self.step).map(|(v, s)| *v + *s));
        let mut lacking: f64 = 0.0;
        for n in 0..v.len() {
            self.right[n] = -imbalance(problem, nodes, &self.trial, &self.force, n);
            lacking = lacking.max(self.right[n].length() / nodes[n].inertia);
            let held = Vec3::ONE - nodes[n].free;
            if held != Vec3::ZERO {
                let block = problem.matrix.diagonal(problem.pattern, n);
                self.right[n] -= held * (block * self.trial[n] + problem.b[n]);
            }
        }
        if roughly {
            self.system.solve(&mut self.right);
        } else {
            self.krylov.solve(
                problem,
                &mut self.system,
                &self.couplings,
                COUPLING_TOLERANCE,
                &mut self.right,
            );
        }
        for (step, more) in self.step.iter_mut().zip(&self.right) {
            *step += *more;
        }
        for (contact, p) in problem.contacts.iter().zip(&mut self.points) {
            if p.inert {
                continue;
            }
            let change = p.change(contact, &self.right);
            p.dy += p.extra - p.block * change;
        }
        lacking
    }

    /// Fraction of the changes up to which everything stays in its cone, at most 1.
    fn reach(&self) -> f64 {
        let points = self.points.iter().filter(|p| !p.inert);
        points.fold(1.0, |reach, p| {
            reach.min(to_border(p.w, p.dw)).min(to_border(p.y, p.dy))
        })
    }
}

impl Point {
    /// Change of the scaled and shifted velocity with a change of node velocities.
    fn change(&self, contact: &Contact, step: &[Vec3]) -> Vec3 {
        let change = self.scale * (contact.velocity(step) - contact.offset);
        change + Vec3::X * self.turn.dot(change)
    }

    /// The scaling in which velocity and impulse are the same.
    fn centre(&mut self) {
        let (dw, dy) = (determinant(self.w), determinant(self.y));
        let (w, y) = (self.w / dw.sqrt(), self.y / dy.sqrt());
        let gamma = (f64::midpoint(1.0, w.dot(y))).sqrt();
        let q = (w + flip(y)) / (2.0 * gamma);
        let eta = (dw / dy).sqrt().sqrt();
        self.forward = hyperbolic(q) * eta;
        self.backward = hyperbolic(flip(q)) * (1.0 / eta);
        self.middle = self.forward * self.y;
        let inverse_square = outer(flip(q), flip(q)) * 2.0 - Mat3::from_diagonal(flip(Vec3::ONE));
        self.block = inverse_square * (1.0 / (eta * eta));
        self.square = (outer(q, q) * 2.0 - Mat3::from_diagonal(flip(Vec3::ONE))) * (eta * eta);
        if self.compliance > 0.0 {
            self.square.x_axis.x += self.compliance;
            self.block = self.square.inverse();
        }
    }
}

/// Scaled velocity with De Saxcé's shift.
fn shifted(contact: &Contact, scale: Vec3, v: &[Vec3]) -> Vec3 {
    let w = scale * contact.velocity(v);
    w + Vec3::X * w.y.hypot(w.z)
}

fn flip(x: Vec3) -> Vec3 {
    Vec3::new(x.x, -x.y, -x.z)
}

fn determinant(x: Vec3) -> f64 {
    let t = x.y.hypot(x.z);
    ((x.x - t) * (x.x + t)).max(f64::MIN_POSITIVE)
}

/// The symmetric matrix that maps the axis of the cone to `q`, which has determinant 1.
fn hyperbolic(q: Vec3) -> Mat3 {
    let k = 1.0 / (1.0 + q.x);
    Mat3::from_cols(
        q,
        Vec3::new(q.y, 1.0 + k * q.y * q.y, k * q.y * q.z),
        Vec3::new(q.z, k * q.y * q.z, 1.0 + k * q.z * q.z),
    )
}

/// Jordan's product of the cone.
fn product(a: Vec3, b: Vec3) -> Vec3 {
    Vec3::new(a.dot(b), a.x * b.y + b.x * a.y, a.x * b.z + b.x * a.z)
}

/// What times `a` gives `b`.
fn quotient(a: Vec3, b: Vec3) -> Vec3 {
    let first = (a.x * b.x - a.y * b.y - a.z * b.z) / determinant(a);
    Vec3::new(first, (b.y - first * a.y) / a.x, (b.z - first * a.z) / a.x)
}

/// How often `d` can be added to `x` before it leaves the cone.
fn to_border(x: Vec3, d: Vec3) -> f64 {
    let a = d.x * d.x - d.y * d.y - d.z * d.z;
    let b = x.x * d.x - x.y * d.y - x.z * d.z;
    let c = determinant(x);
    let below = b * b - a * c;
    let divisor = if below > 0.0 { below.sqrt() - b } else { 0.0 };
    if divisor > 0.0 {
        c / divisor
    } else {
        f64::INFINITY
    }
}
