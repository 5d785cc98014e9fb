//! Obstacles driven from outside: the caller says where one has to be and when, and it goes there evenly.

use super::Placement;
use muslin_linalg::{Quat, Vec3};
use serde::{Deserialize, Serialize};

/// The even way from one placement to another; at rest before and after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// Time (s) and place at which it begins.
    pub from: (f64, Placement),
    /// Time (s) and place at which it ends; not earlier.
    pub to: (f64, Placement),
}

impl Drive {
    /// Stays at a place from a time (s) on.
    pub fn rest(time: f64, at: Placement) -> Self {
        Self {
            from: (time, at),
            to: (time, at),
        }
    }

    /// How much of the way is done at a time (s).
    fn done(&self, time: f64) -> f64 {
        let length = self.to.0 - self.from.0;
        if time >= self.to.0 || length <= 0.0 {
            return 1.0;
        }
        ((time - self.from.0) / length).max(0.0)
    }

    /// The turn from the first rotation to the last: axis times angle, the shorter way round.
    fn turn(&self) -> Vec3 {
        let q = self.to.1.rotation * self.from.1.rotation.conjugate();
        let q = if q.w < 0.0 { -q } else { q };
        q.to_scaled_axis()
    }

    /// Where it is at a time (s).
    pub fn at(&self, time: f64) -> Placement {
        let s = self.done(time);
        let (a, b) = (&self.from.1, &self.to.1);
        if s >= 1.0 {
            return *b;
        }
        if s <= 0.0 {
            return *a;
        }
        Placement {
            scale: a.scale + (b.scale - a.scale) * s,
            rotation: Quat::from_scaled_axis(self.turn() * s) * a.rotation,
            translation: a.translation.lerp(b.translation, s),
        }
    }

    /// Velocity (m/s) of the material point that is at `image` at a time (s).
    pub fn velocity(&self, time: f64, image: Vec3) -> Vec3 {
        let length = self.to.0 - self.from.0;
        if !(self.from.0..self.to.0).contains(&time) || length <= 0.0 {
            return Vec3::ZERO;
        }
        let (a, b, now) = (&self.from.1, &self.to.1, self.at(time));
        let arm = image - now.translation;
        let growth = (b.scale - a.scale) / now.scale;
        (b.translation - a.translation + self.turn().cross(arm) + arm * growth) / length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> Drive {
        let place = |scale: f64, turn: Vec3, translation: Vec3| Placement {
            scale,
            rotation: Quat::from_scaled_axis(turn),
            translation,
        };
        Drive {
            from: (1.0, place(1.0, Vec3::new(0.3, -0.2, 0.9), Vec3::X)),
            to: (3.0, place(1.5, Vec3::new(1.4, 0.7, -0.5), Vec3::Y)),
        }
    }

    #[test]
    fn both_ends_are_met_to_the_bit_and_it_rests_outside() {
        let d = drive();
        for (time, place) in [d.from, d.to, (0.0, d.from.1), (9.0, d.to.1)] {
            assert_eq!(d.at(time), place);
        }
        assert_eq!(d.velocity(0.5, Vec3::Z), Vec3::ZERO);
        assert_eq!(d.velocity(3.0, Vec3::Z), Vec3::ZERO);
        let still = Drive::rest(2.0, d.to.1);
        assert_eq!(still.at(0.0), d.to.1);
        assert_eq!(still.velocity(2.0, Vec3::Z), Vec3::ZERO);
    }

    #[test]
    fn velocity_is_the_derivative_of_the_way() {
        let (d, h) = (drive(), 1e-5);
        for point in [Vec3::ZERO, Vec3::new(0.4, -0.7, 0.2)] {
            for t in [1.1, 2.0, 2.9] {
                let way = |t: f64| d.at(t).apply(point);
                let expected = (way(t + h) - way(t - h)) / (2.0 * h);
                assert!((d.velocity(t, way(t)) - expected).length() < 1e-8);
            }
        }
    }
}
