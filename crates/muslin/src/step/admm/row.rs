//! One contact of the contact step: its law has an answer in closed form.

use muslin_friction::{Contact, NO_NODE, State, law_error};
use muslin_linalg::{Mat3, Vec3};

/// One contact as the sweeps see it.
#[derive(Clone, Copy)]
pub struct Row {
    /// Missing ones repeat the first with a weight of zero, so that sweeps need not ask.
    nodes: [u32; 4],
    weights: [f64; 4],
    frame: Mat3,
    offset: Vec3,
    friction: [f64; 2],
    /// Velocity per impulse, 1/kg; zero if nothing can move.
    response: f64,
    /// Whether one side is far lighter than the other: sweeps then need many turns.
    pub uneven: bool,
    /// Impulse in the frame, N s.
    pub r: Vec3,
}

/// Ratio of contact weights from which on a contact is uneven.
const UNEVEN: f64 = 16.0;

impl Row {
    /// A contact that has the impulse `r` (N s, in its frame) so far. `inverse` is the inverse of each vertex's contact
    /// weight, 1/kg.
    pub fn new(contact: &Contact, r: Vec3, inverse: &[f64]) -> Self {
        let mut sides = [0.0; 2];
        for (n, w) in contact.arms() {
            sides[usize::from(w < 0.0)] += w * w * inverse[n];
        }
        let [heavy, light] = [sides[0].min(sides[1]), sides[0].max(sides[1])];
        Self {
            nodes: contact
                .nodes
                .map(|n| if n == NO_NODE { contact.nodes[0] } else { n }),
            weights: contact.weights,
            frame: contact.frame,
            offset: contact.offset,
            friction: contact.friction,
            response: heavy + light,
            uneven: heavy > 0.0 && light > UNEVEN * heavy,
            r,
        }
    }

    /// Vertices and their weights.
    #[inline]
    pub fn arms(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let arms = self.nodes.iter().zip(&self.weights);
        arms.filter(|(_, w)| **w != 0.0)
            .map(|(n, w)| (*n as usize, *w))
    }

    /// Impulse in scene axes, N s.
    #[inline]
    pub fn impulse(&self) -> Vec3 {
        self.frame.transpose() * self.r
    }

    #[inline]
    fn velocity(&self, p: &[Vec3]) -> Vec3 {
        let [a, b, c, d] = self.nodes.map(|n| p[n as usize]);
        let [wa, wb, wc, wd] = self.weights;
        self.frame * (a * wa + b * wb + c * wc + d * wd) + self.offset
    }

    /// Adds what the impulse `r` (N s, in the frame) does to the virtual velocities `p` (m/s).
    #[inline]
    pub fn push(&self, r: Vec3, inverse: &[f64], p: &mut [Vec3]) {
        let world = self.frame.transpose() * r;
        for k in 0..4 {
            let n = self.nodes[k] as usize;
            p[n] += world * (self.weights[k] * inverse[n]);
        }
    }

    /// Takes an impulse (N s, in the frame) in place of the one so far; returns by how much an uneven contact moves, m/s.
    #[inline]
    pub fn take(&mut self, r: Vec3, inverse: &[f64], p: &mut [Vec3]) -> f64 {
        // Many contacts in a pile carry nothing, before and after.
        if r == self.r {
            return 0.0;
        }
        let change = r - self.r;
        self.push(change, inverse, p);
        self.r = r;
        if self.uneven {
            self.response * change.length()
        } else {
            0.0
        }
    }

    /// The impulse that obeys the law while all other contacts keep theirs, and what the contact does then.
    #[inline]
    pub fn answer(&self, p: &[Vec3], compliance: f64) -> (Vec3, State) {
        if self.response <= 0.0 {
            return (Vec3::ZERO, State::Separate);
        }
        let free = self.velocity(p) - self.r * self.response;
        if free.x >= 0.0 {
            return (Vec3::ZERO, State::Separate);
        }
        let normal = -free.x / (self.response + compliance);
        let ease = 1.0 / self.response;
        let wanted = [-free.y * ease, -free.z * ease];
        let (t, state) = within(wanted, self.friction.map(|mu| mu * normal));
        (Vec3::new(normal, t[0], t[1]), state)
    }

    /// By how much velocities and the impulse miss the law, m/s, with a response of `ease` (1/kg).
    pub fn error(&self, v: &[Vec3], ease: f64, compliance: f64) -> f64 {
        if self.response <= 0.0 {
            return 0.0;
        }
        let u = self.velocity(v) + Vec3::X * (compliance * self.r.x);
        law_error(self.friction, u, self.r, 1.0 / ease)
    }
}

/// Rounds of the search for the nearest point of an ellipse.
const ELLIPSE_ROUNDS: usize = 40;

/// The friction nearest to the one that would stop all sliding, within a circle or ellipse of half axes `most`, and
/// whether it does stop it. The nearest point of the ellipse is the friction of maximum dissipation.
fn within(wanted: [f64; 2], most: [f64; 2]) -> ([f64; 2], State) {
    let [a, b] = most;
    if a == b {
        // Impulses are far from the ends of the range of numbers: no need for a careful root.
        let squared = wanted[0] * wanted[0] + wanted[1] * wanted[1];
        if squared <= a * a {
            return (wanted, State::Stick);
        }
        let cut = a / squared.sqrt();
        return ([wanted[0] * cut, wanted[1] * cut], State::Slide);
    }
    // A cone may be flat, but not without any extent.
    let least = 1e-4 * a.max(b);
    let (a, b) = (a.max(least), b.max(least));
    let outside = |t: f64| {
        let x = a * wanted[0] / (a * a + t);
        let y = b * wanted[1] / (b * b + t);
        x * x + y * y
    };
    if outside(0.0) <= 1.0 {
        return (wanted, State::Stick);
    }
    // The multiplier of the nearest point: bracketed, since the function falls from above one to zero.
    let mut low = 0.0;
    let mut high = a.max(b) * wanted[0].hypot(wanted[1]);
    for _ in 0..ELLIPSE_ROUNDS {
        let middle = 0.5 * (low + high);
        if outside(middle) > 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let t = 0.5 * (low + high);
    let point = [
        a * a * wanted[0] / (a * a + t),
        b * b * wanted[1] / (b * b + t),
    ];
    (point, State::Slide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn friction_is_the_nearest_within_the_ellipse() {
        for most in [[0.5, 0.5], [0.2, 0.9], [1.3, 0.05]] {
            for wanted in [[1.0, 1.0], [-2.0, 0.3], [0.0, -3.0], [0.01, 0.02]] {
                let (t, state) = within(wanted, most);
                let size = (t[0] / most[0]).hypot(t[1] / most[1]);
                if state == State::Stick {
                    assert!(t == wanted && size <= 1.0);
                    continue;
                }
                assert!((size - 1.0).abs() < 1e-9, "{size}");
                let distance = |p: [f64; 2]| (p[0] - wanted[0]).hypot(p[1] - wanted[1]);
                for k in 0..360 {
                    let (s, c) = f64::from(k).to_radians().sin_cos();
                    assert!(distance(t) <= distance([most[0] * c, most[1] * s]) + 1e-9);
                }
            }
        }
    }

    #[test]
    fn an_impulse_stops_or_slows_the_contact() {
        let mut row = Row {
            nodes: [0; 4],
            weights: [1.0, 0.0, 0.0, 0.0],
            frame: Mat3::IDENTITY,
            offset: Vec3::ZERO,
            friction: [0.5; 2],
            response: 2.0,
            uneven: false,
            r: Vec3::ZERO,
        };
        for (v, state) in [
            (Vec3::new(1.0, 5.0, 0.0), State::Separate),
            (Vec3::new(-1.0, 0.3, 0.3), State::Stick),
            (Vec3::new(-1.0, 2.0, 1.0), State::Slide),
        ] {
            let (r, found) = row.answer(&[v], 0.0);
            assert_eq!(found, state);
            let mut p = [v];
            row.push(r, &[2.0], &mut p);
            row.r = r;
            assert!(row.error(&p, 2.0, 0.0) < 1e-12);
            match state {
                State::Separate => assert_eq!(p[0], v),
                State::Stick => assert!(p[0].length() < 1e-15),
                State::Slide => {
                    assert!(p[0].x.abs() < 1e-15);
                    assert!((r.y.hypot(r.z) - 0.5 * r.x).abs() < 1e-12);
                    assert!(p[0].y > 0.0 && p[0].z > 0.0);
                }
            }
            row.r = Vec3::ZERO;
        }
    }
}
