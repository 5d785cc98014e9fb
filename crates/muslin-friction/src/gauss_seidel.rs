//! Gauss-Seidel over contacts and free nodes: each contact is solved exactly with its nodes' neighbours held.
//!
//! Coloured for threads and wrapped in Anderson acceleration. The accelerated point is never returned: an answer is what
//! a sweep made, so every contact obeys its law with its stored impulse.

use crate::anderson::Anderson;
use crate::colour::Colouring;
use crate::lumped::scale;
use crate::prepared::{Given, Prepared};
use crate::residual::{Residual, impulses, measure};
use crate::rows::Rows;
use muslin_linalg::Vec3;

/// Blocks of one task.
const PER_TASK: usize = 128;
/// Sweeps between looks at the error: a look takes nearly as long as a sweep, so far from the goal they are rarer.
const SWEEPS_PER_CHECK: usize = 5;
const SWEEPS_FAR_OFF: usize = 20;
/// Error over the tolerance that is far from the goal.
const FAR: f64 = 10.0;

/// What a relaxed contact gives: impulse and velocities of its nodes, in the order of its arms.
#[derive(Clone, Copy, Default)]
struct Relaxed {
    r: Vec3,
    v: [Vec3; 4],
    /// By how much the impulse changed, in the world's axes.
    change: Vec3,
    /// See [`crate::one::Block::solve_again`].
    alpha: f64,
}

/// Working memory.
#[derive(Default)]
pub(crate) struct GaussSeidel {
    colouring: Colouring,
    rows: Rows,
    /// Whether order and rows are those of the problem at hand.
    ready: bool,
    anderson: Anderson,
    pub(crate) force: Vec<Vec3>,
    relaxed_contacts: Vec<Relaxed>,
    relaxed_nodes: Vec<Vec3>,
    alphas: Vec<f64>,
}

/// How a run of sweeps ended.
pub(crate) struct Sweeps {
    pub(crate) residual: Residual,
    pub(crate) count: usize,
    pub(crate) converged: bool,
}

impl GaussSeidel {
    /// Another problem comes next.
    pub(crate) fn forget(&mut self) {
        self.ready = false;
    }

    /// Accelerated sweeps until both errors are below `tolerance`, `max_sweeps` are done or `stalled` says so; it sees
    /// the sweep count and the errors at every check.
    pub(crate) fn run(
        &mut self,
        given: &Given,
        tolerance: f64,
        max_sweeps: usize,
        v: &mut [Vec3],
        r: &mut [Vec3],
        mut stalled: impl FnMut(usize, &Residual) -> bool,
    ) -> Sweeps {
        let Given {
            problem, contacts, ..
        } = *given;
        let n = v.len();
        self.anderson.reset(n + r.len());
        pack(contacts, v, r, &mut self.anderson.x);
        let mut residual = Residual::default();
        let mut check = 1;
        for sweep in 1..=max_sweeps {
            if sweep > 1 {
                let (x, force) = (&self.anderson.x, &mut self.force);
                let unpack = || {
                    for (c, r) in r.iter_mut().enumerate() {
                        *r = contacts[c].rho * x[n + c];
                    }
                    impulses(problem, r, force);
                };
                rayon::join(unpack, || v.copy_from_slice(&x[..n]));
            } else {
                impulses(problem, r, &mut self.force);
            }
            self.sweep(given, v, r);
            if sweep == check || sweep == max_sweeps {
                impulses(problem, r, &mut self.force);
                residual = measure(given, v, r, &self.force);
                let converged = residual.merit() < tolerance;
                if converged || stalled(sweep, &residual) {
                    return Sweeps {
                        residual,
                        count: sweep,
                        converged,
                    };
                }
                check += if residual.merit() > FAR * tolerance {
                    SWEEPS_FAR_OFF
                } else {
                    SWEEPS_PER_CHECK
                };
            }
            pack(contacts, v, r, &mut self.anderson.g);
            self.anderson.mix();
        }
        Sweeps {
            residual,
            count: max_sweeps,
            converged: false,
        }
    }

    /// One sweep over all blocks; `force` must be what the impulses give.
    fn sweep(&mut self, given: &Given, v: &mut [Vec3], r: &mut [Vec3]) {
        let Given { problem, nodes, .. } = *given;
        if !self.ready {
            self.colouring.build(problem);
            self.rows.copy(problem, &self.colouring);
            self.alphas.clear();
            self.alphas.resize(problem.contacts.len(), 0.0);
            self.ready = true;
        }
        let rows = &self.rows;
        let largest = (0..self.colouring.len())
            .map(|k| self.colouring.ranges(k))
            .fold([0, 0], |m, [a, b]| [m[0].max(a.len()), m[1].max(b.len())]);
        self.relaxed_contacts.resize(largest[0], Relaxed::default());
        self.relaxed_nodes.resize(largest[1], Vec3::ZERO);
        for colour in 0..self.colouring.len() {
            let [range, free_range] = self.colouring.ranges(colour);
            let list = &self.colouring.contacts[range];
            let free = &self.colouring.nodes[free_range];
            let done = &mut self.relaxed_contacts[..list.len()];
            let moved = &mut self.relaxed_nodes[..free.len()];
            let (from, impulse, force) = (&*v, &*r, &self.force[..]);
            let alphas = &self.alphas;
            let contact = |done: &mut [Relaxed], list: &[u32]| {
                for (done, &c) in done.iter_mut().zip(list) {
                    done.alpha = alphas[c as usize];
                    relax(given, rows, from, impulse, force, c as usize, done);
                }
            };
            let node = |moved: &mut [Vec3], free: &[u32]| {
                for (moved, &n) in moved.iter_mut().zip(free) {
                    let n = n as usize;
                    *moved = -(nodes[n].inverse * rows.others(problem.b, from, n));
                }
            };
            in_halves((done, list), (moved, free), &contact, &node);
            for (moved, &n) in moved.iter().zip(free) {
                v[n as usize] = *moved;
            }
            for (done, &c) in done.iter().zip(list) {
                let c = c as usize;
                r[c] = done.r;
                self.alphas[c] = done.alpha;
                for (k, (n, w)) in problem.contacts[c].arms().enumerate() {
                    v[n] = done.v[k];
                    self.force[n] += w * done.change;
                }
            }
        }
    }
}

/// Where to write, and what to work on.
type Work<'a, T> = (&'a mut [T], &'a [u32]);

/// Works on both lists in parallel; every task has its share of either.
fn in_halves(
    contacts: Work<Relaxed>,
    nodes: Work<Vec3>,
    contact: &(impl Fn(&mut [Relaxed], &[u32]) + Sync),
    node: &(impl Fn(&mut [Vec3], &[u32]) + Sync),
) {
    if contacts.1.len() + nodes.1.len() <= PER_TASK {
        contact(contacts.0, contacts.1);
        node(nodes.0, nodes.1);
        return;
    }
    let (first, second) = halves(contacts);
    let (third, fourth) = halves(nodes);
    rayon::join(
        || in_halves(first, third, contact, node),
        || in_halves(second, fourth, contact, node),
    );
}

fn halves<T>((to, list): Work<T>) -> (Work<T>, Work<T>) {
    let middle = list.len() / 2;
    let (a, b) = to.split_at_mut(middle);
    ((a, &list[..middle]), (b, &list[middle..]))
}

/// Solves one contact with everything around it held.
fn relax(
    given: &Given,
    rows: &Rows,
    v: &[Vec3],
    r: &[Vec3],
    force: &[Vec3],
    c: usize,
    relaxed: &mut Relaxed,
) {
    let Given { problem, nodes, .. } = *given;
    let contact = &problem.contacts[c];
    let prepared = &given.contacts[c];
    let own = contact.frame.transpose() * r[c];
    let mut q = Vec3::ZERO;
    for (k, (n, w)) in contact.arms().enumerate() {
        let node = &nodes[n];
        let others = rows.others(problem.b, v, n);
        let y = node.response * (force[n] - w * own) - node.inverse * others;
        relaxed.v[k] = y;
        q += w * y;
    }
    if prepared.inert {
        relaxed.r = Vec3::ZERO;
        relaxed.change = -own;
        return;
    }
    let q = contact.frame * q + contact.offset;
    let block = &prepared.block;
    let answer = block.solve_again(-(block.matrix * q), &prepared.cone, &mut relaxed.alpha);
    relaxed.r = answer.r;
    let world = contact.frame.transpose() * answer.r;
    relaxed.change = world - own;
    for (k, (n, w)) in contact.arms().enumerate() {
        relaxed.v[k] += w * (nodes[n].response * world);
    }
}

/// Velocities, and impulses in the velocities they cause.
pub(crate) fn pack(contacts: &[Prepared], v: &[Vec3], r: &[Vec3], out: &mut [Vec3]) {
    let (to_v, to_r) = out.split_at_mut(v.len());
    rayon::join(|| scale(contacts, r, to_r), || to_v.copy_from_slice(v));
}
