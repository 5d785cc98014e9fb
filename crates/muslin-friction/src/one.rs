//! One contact, solved exactly: the states are tried in order, and sliding is a bracketed root in one variable.
//!
//! Nothing here can fail. If take-off is refused the root function is negative at zero, if stick is refused it is
//! positive at infinity, and it is continuous in between.

use crate::State;
use crate::cone::{Cone, length};
use muslin_linalg::{Mat3, Vec3};

/// Evaluations of the root function; bisection in the exponent alone needs fewer.
const MAX_EVALUATIONS: usize = 400;

/// Answer of [`solve_one`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneContact {
    /// What the contact does.
    pub state: State,
    /// Relative velocity, local.
    pub u: Vec3,
    /// Impulse, local.
    pub r: Vec3,
}

/// Solves `r = W u + d` under Coulomb's law with the given coefficients along the two tangents.
///
/// `w` must be symmetric positive definite. Where several answers exist (large friction, strong coupling of normal and
/// tangent) take-off is preferred to stick and stick to slide.
pub fn solve_one(w: &Mat3, d: Vec3, friction: [f64; 2]) -> OneContact {
    let cone = Cone::new(friction);
    Block::new(*w, &cone).solve(d, &cone)
}

/// How a contact resists, with what every solution needs of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Impulse by velocity, kg.
    pub(crate) matrix: Mat3,
    /// Normal entry in stretched coordinates.
    normal: f64,
    /// First eigenvector of the tangential part, eigenvalues (the larger first), and coupling to the normal.
    q: [f64; 2],
    l: [f64; 2],
    w: [f64; 2],
}

impl Block {
    pub(crate) fn new(matrix: Mat3, cone: &Cone) -> Self {
        let block = cone.stretched_block(&matrix);
        let (p, o, s) = (block.y_axis.y, block.z_axis.y, block.z_axis.z);
        // One Jacobi rotation makes (c, n) the eigenvector of the larger eigenvalue.
        let (mut c, mut n) = (1.0, 0.0);
        if o != 0.0 {
            let tau = (s - p) / (2.0 * o);
            let t = tau.signum() / (tau.abs() + tau.hypot(1.0));
            c = 1.0 / t.hypot(1.0);
            n = -t * c;
        }
        let mut l1 = p + if o == 0.0 { 0.0 } else { o * n / c };
        if l1 < 0.5 * (p + s) {
            (c, n) = (-n, c);
            l1 = p + s - l1;
        }
        // The smaller one by the determinant: a difference would lose it.
        let l2 = ((p * s - o * o) / l1).max(l1 * f64::EPSILON);
        let [y, z] = [block.x_axis.y, block.x_axis.z];
        Self {
            matrix,
            normal: block.x_axis.x,
            q: [c, n],
            l: [l1, l2],
            w: [c * y + n * z, c * z - n * y],
        }
    }

    /// Solves `r = W u + d` in a cone.
    pub(crate) fn solve(&self, d: Vec3, cone: &Cone) -> OneContact {
        self.solve_again(d, cone, &mut 0.0)
    }

    /// The same; `alpha` is what it was left at by a similar problem, or zero. A sliding contact is then solved sooner.
    pub(crate) fn solve_again(&self, d: Vec3, cone: &Cone, alpha: &mut f64) -> OneContact {
        if cone.stretch == Vec3::ONE {
            return self.solve_round(d, cone.mu, alpha);
        }
        let round = self.solve_round(d / cone.stretch, cone.mu, alpha);
        OneContact {
            state: round.state,
            u: round.u / cone.stretch,
            r: round.r * cone.stretch,
        }
    }

    /// Solves in a round cone, all in stretched coordinates.
    fn solve_round(&self, d: Vec3, mu: f64, guess: &mut f64) -> OneContact {
        let Self { q, l, w, .. } = self;
        let a = [q[0] * d.y + q[1] * d.z, q[0] * d.z - q[1] * d.y];
        let back = |normal: f64, y: [f64; 2]| {
            Vec3::new(normal, q[0] * y[0] - q[1] * y[1], q[1] * y[0] + q[0] * y[1])
        };
        let frictionless = d.x - w[0] * a[0] / l[0] - w[1] * a[1] / l[1];
        if frictionless <= 0.0 {
            let schur = self.normal - w[0] * w[0] / l[0] - w[1] * w[1] / l[1];
            let normal = -frictionless / schur.max(self.normal * f64::EPSILON);
            return OneContact {
                state: State::Separate,
                u: back(normal, [0, 1].map(|i| -(a[i] + w[i] * normal) / l[i])),
                r: Vec3::ZERO,
            };
        }
        if mu == 0.0 {
            return OneContact {
                state: State::Slide,
                u: back(0.0, [0, 1].map(|i| -a[i] / l[i])),
                r: Vec3::new(frictionless, 0.0, 0.0),
            };
        }
        if length(d.y, d.z) <= mu * d.x {
            return OneContact {
                state: State::Stick,
                u: Vec3::ZERO,
                r: d,
            };
        }
        let alpha = self.sliding_root(a, d, mu, *guess);
        *guess = alpha;
        let u = back(0.0, [0, 1].map(|i| -a[i] / (l[i] + alpha)));
        let r = -alpha * u;
        OneContact {
            state: State::Slide,
            u,
            r: Vec3::new(length(r.y, r.z) / mu, r.y, r.z),
        }
    }

    /// The multiplier `alpha` of `r_T = -alpha u_T` that puts the impulse on the cone.
    fn sliding_root(&self, a: [f64; 2], d: Vec3, mu: f64, guess: f64) -> f64 {
        let Self { l, w, .. } = self;
        // The root does not depend on the size of d; unit size keeps squares from under- and overflow.
        let unit = d.abs().max_element().recip();
        let d = d * unit;
        let a = a.map(|a| a * unit);
        let mut alpha = guess;
        if alpha <= 0.0 {
            let size = length(a[0], a[1]);
            let mean = (a[0] * a[0] * l[0] + a[1] * a[1] * l[1]) / (size * size);
            // Exact when both eigenvalues agree.
            alpha = mu * (d.x * mean - w[0] * a[0] - w[1] * a[1]) / (size - mu * d.x);
        }
        if !(alpha > 1e-3 * l[1] && alpha < 1e3 * l[0]) {
            alpha = (l[0] * l[1]).sqrt();
        }
        let (mut low, mut high) = (0.0, f64::INFINITY);
        for _ in 0..MAX_EVALUATIONS {
            let mut slope = 0.0;
            let mut square = 0.0;
            let mut coupled = 0.0;
            let mut coupled_slope = 0.0;
            let mut coupled_size = 0.0;
            for i in 0..2 {
                let ease = 1.0 / (l[i] + alpha);
                let e = a[i] * ease;
                let r = alpha * e;
                square += r * r;
                slope += r * l[i] * e * ease;
                coupled += w[i] * e;
                coupled_size += (w[i] * e).abs();
                coupled_slope += w[i] * e * ease;
            }
            // The root function and its slope by the logarithm, both times the tangential impulse: that spares divisions.
            let along = square.sqrt();
            let g = square - mu * (d.x - coupled) * along;
            let log_slope = alpha * (slope - mu * coupled_slope * along);
            let size = along * (along + mu * (d.x.abs() + coupled_size));
            if along > 0.0 && g.abs() <= 4e-16 * size {
                break;
            }
            if g < 0.0 || along == 0.0 {
                low = alpha;
            } else {
                high = alpha;
            }
            if high.is_finite() && high - low <= 2.0 * f64::EPSILON * high {
                break;
            }
            // Newton in the logarithm; for short steps a fraction is as good as the exponential, and quicker.
            let mut next = if g.abs() < 0.3 * log_slope {
                alpha * (2.0 * log_slope - g) / (2.0 * log_slope + g)
            } else {
                alpha * (-g / log_slope).clamp(-3.0, 3.0).exp()
            };
            if !(log_slope > 0.0 && next > low && next < high) {
                next = if low == 0.0 {
                    alpha / 100.0
                } else if high.is_finite() {
                    low.sqrt() * high.sqrt()
                } else {
                    alpha * 100.0
                };
            }
            if !(next > 0.0 && next.is_finite()) {
                break;
            }
            alpha = next;
            // The next step would be of the size of this one's square; of a similar problem it is left to the next one.
            if g.abs() < if guess > 0.0 { 1e-4 } else { 1e-8 } * log_slope {
                break;
            }
        }
        alpha
    }
}
