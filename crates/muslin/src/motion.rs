//! Prescribed motion over time: keyframes with smooth interpolation, or formulas of `t`.

use exmex::{Differentiate, Express, FlatEx};
use muslin_linalg::{Quat, Vec3};

/// A vector that may change with time.
#[derive(Clone, Debug)]
pub enum TimeVector {
    /// Always the same.
    Constant(Vec3),
    /// Smooth through the given values; held before the first and after the last.
    Keys(Vec<(f64, Vec3)>),
    /// A formula of `t` for each component.
    Formula([Formula; 3]),
}

impl TimeVector {
    /// Value at time `t`, s.
    pub fn at(&self, t: f64) -> Vec3 {
        match self {
            Self::Constant(v) => *v,
            Self::Keys(keys) => interpolate(keys, t),
            Self::Formula(f) => Vec3::new(f[0].at(t), f[1].at(t), f[2].at(t)),
        }
    }

    /// Derivative at time `t`, per second.
    pub fn rate(&self, t: f64) -> Vec3 {
        match self {
            Self::Constant(_) => Vec3::ZERO,
            Self::Keys(keys) => interpolate_rate(keys, t),
            Self::Formula(f) => Vec3::new(f[0].rate(t), f[1].rate(t), f[2].rate(t)),
        }
    }
}

/// A formula of `t`, such as `0.1 * sin(2 * PI * t)`.
#[derive(Clone, Debug)]
pub struct Formula {
    value: Box<FlatEx<f64>>,
    /// None where the formula uses something that has no derivative in closed form.
    rate: Option<Box<FlatEx<f64>>>,
}

/// Step of the finite difference that stands in for a missing derivative, s.
const DIFFERENCE: f64 = 1e-4;

impl Formula {
    /// Reads a formula; the message says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expression: FlatEx<f64> = exmex::parse(&plain(text)).map_err(|e| e.to_string())?;
        match expression.var_names().iter().find(|v| *v != "t") {
            Some(unknown) => Err(format!(
                "`{unknown}` is not known; the only variable is `t`, the time in s"
            )),
            None => Ok(Self {
                rate: (!expression.var_names().is_empty())
                    .then(|| expression.clone().partial(0).ok())
                    .flatten()
                    .map(Box::new),
                value: Box::new(expression),
            }),
        }
    }

    /// Value at time `t`; NaN where the formula has none.
    pub fn at(&self, t: f64) -> f64 {
        evaluate(&self.value, t)
    }

    /// Derivative at time `t`, per second; NaN where there is none.
    pub fn rate(&self, t: f64) -> f64 {
        if self.value.var_names().is_empty() {
            return 0.0;
        }
        if let Some(rate) = &self.rate {
            let exact = evaluate(rate, t);
            if exact.is_finite() {
                return exact;
            }
        }
        let (h, near) = (DIFFERENCE, |k: f64| self.at(t + k * DIFFERENCE));
        let central = (8.0 * (near(1.0) - near(-1.0)) - (near(2.0) - near(-2.0))) / (12.0 * h);
        if central.is_finite() {
            return central;
        }
        // A formula may begin at t, such as sqrt(t) at 0.
        (4.0 * near(1.0) - 3.0 * near(0.0) - near(2.0)) / (2.0 * h)
    }
}

fn evaluate(expression: &FlatEx<f64>, t: f64) -> f64 {
    let arguments = [t];
    expression
        .eval(&arguments[..expression.var_names().len()])
        .unwrap_or(f64::NAN)
}

/// The parser knows neither powers of ten nor `pi` in small letters; people write both.
fn plain(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut i = 0;
    while i < chars.len() {
        let start = i;
        if chars[i].is_ascii_digit() || chars[i] == '.' {
            while i < chars.len() && (chars[i].is_ascii_digit() || chars[i] == '.') {
                i += 1;
            }
            let sign = usize::from(chars.get(i + 1).is_some_and(|c| matches!(c, '+' | '-')));
            let power = chars.get(i).is_some_and(|c| matches!(c, 'e' | 'E'))
                && chars.get(i + 1 + sign).is_some_and(char::is_ascii_digit);
            if power {
                i += 1 + sign;
                while i < chars.len() && chars[i].is_ascii_digit() {
                    i += 1;
                }
            }
            let number: String = chars[start..i].iter().collect();
            out.push_str(&number.parse::<f64>().map_or(number, |v| v.to_string()));
        } else if chars[i].is_alphabetic() || chars[i] == '_' {
            while i < chars.len() && (chars[i].is_alphanumeric() || chars[i] == '_') {
                i += 1;
            }
            let word: String = chars[start..i].iter().collect();
            out.push_str(if word == "pi" { "PI" } else { &word });
        } else {
            out.push(chars[i]);
            i += 1;
        }
    }
    out
}

/// One piece of the cubic through keys: ends, their slopes times the width, where in it, and the width.
struct Piece {
    ends: [Vec3; 2],
    slopes: [Vec3; 2],
    at: f64,
    width: f64,
}

/// The piece that holds `t`, or the value that holds before the first and after the last key.
fn piece(keys: &[(f64, Vec3)], t: f64) -> Result<Piece, Vec3> {
    let Some(last) = keys.len().checked_sub(1) else {
        return Err(Vec3::ZERO);
    };
    let next = keys.partition_point(|k| k.0 <= t);
    if next == 0 {
        return Err(keys[0].1);
    }
    if next > last {
        return Err(keys[last].1);
    }
    let slope = |i: usize| {
        if i == 0 || i == last {
            return Vec3::ZERO;
        }
        (keys[i + 1].1 - keys[i - 1].1) / (keys[i + 1].0 - keys[i - 1].0)
    };
    let ((t0, p0), (t1, p1)) = (keys[next - 1], keys[next]);
    let width = t1 - t0;
    Ok(Piece {
        ends: [p0, p1],
        slopes: [slope(next - 1) * width, slope(next) * width],
        at: (t - t0) / width,
        width,
    })
}

/// Hermite's cubics at `s` in 0..1: weights of the two ends, then of the two slopes.
pub(crate) fn hermite(s: f64) -> [f64; 4] {
    let (s2, s3) = (s * s, s * s * s);
    [
        2.0 * s3 - 3.0 * s2 + 1.0,
        3.0 * s2 - 2.0 * s3,
        s3 - 2.0 * s2 + s,
        s3 - s2,
    ]
}

/// Their derivatives with respect to `s`.
pub(crate) fn hermite_rate(s: f64) -> [f64; 4] {
    let s2 = s * s;
    [
        6.0 * (s2 - s),
        6.0 * (s - s2),
        3.0 * s2 - 4.0 * s + 1.0,
        3.0 * s2 - 2.0 * s,
    ]
}

/// Cubic through the keys with the slope of their neighbours, at rest at both ends. The velocity is continuous.
pub fn interpolate(keys: &[(f64, Vec3)], t: f64) -> Vec3 {
    match piece(keys, t) {
        Err(held) => held,
        Ok(p) => {
            let [h0, h1, g0, g1] = hermite(p.at);
            p.ends[0] * h0 + p.slopes[0] * g0 + p.ends[1] * h1 + p.slopes[1] * g1
        }
    }
}

/// Derivative of [`interpolate`], per second.
pub fn interpolate_rate(keys: &[(f64, Vec3)], t: f64) -> Vec3 {
    piece(keys, t).map_or(Vec3::ZERO, |p| {
        let [h0, h1, g0, g1] = hermite_rate(p.at);
        (p.ends[0] * h0 + p.slopes[0] * g0 + p.ends[1] * h1 + p.slopes[1] * g1) / p.width
    })
}

/// Angular velocity of the rotation `exp(v)` while its rotation vector `v` changes at `rate`: the left Jacobian of SO(3)
/// applied to `rate`. The two differ unless the axis stays the same.
pub fn angular_velocity(v: Vec3, rate: Vec3) -> Vec3 {
    let angle2 = v.length_squared();
    let (first, second) = if angle2 < 1e-4 {
        // Series of (1 - cos θ)/θ² and (θ - sin θ)/θ³, exact to the last digit here.
        (
            0.5 - angle2 / 24.0 + angle2 * angle2 / 720.0,
            1.0 / 6.0 - angle2 / 120.0 + angle2 * angle2 / 5040.0,
        )
    } else {
        let angle = angle2.sqrt();
        // 1 - cos θ as twice the square of a sine: no cancellation.
        let half = (angle / 2.0).sin();
        (
            2.0 * half * half / angle2,
            (angle - angle.sin()) / (angle2 * angle),
        )
    };
    let across = v.cross(rate);
    rate + across * first + v.cross(across) * second
}

/// Where a rigid thing is: scaled, then turned about a pivot, then moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Displacement, m.
    pub translation: Vec3,
    /// Rotation.
    pub rotation: Quat,
    /// Size relative to the start.
    pub scale: f64,
}

impl Pose {
    /// Unmoved.
    pub const IDENTITY: Self = Self {
        translation: Vec3::ZERO,
        rotation: Quat::IDENTITY,
        scale: 1.0,
    };

    /// Image of a point, with turning and scaling about `pivot`.
    pub fn apply(&self, point: Vec3, pivot: Vec3) -> Vec3 {
        pivot + self.translation + self.rotation * ((point - pivot) * self.scale)
    }
}

/// How a [`Pose`] changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoseRate {
    /// Velocity of the displacement, m/s.
    pub translation: Vec3,
    /// Angular velocity in the directions of the scene, rad/s.
    pub angular: Vec3,
    /// Growth of the scale, 1/s.
    pub scale: f64,
}

impl PoseRate {
    /// At rest.
    pub const ZERO: Self = Self {
        translation: Vec3::ZERO,
        angular: Vec3::ZERO,
        scale: 0.0,
    };

    /// Velocity (m/s) of the material point that the pose now puts at `image`.
    pub fn velocity(&self, pose: &Pose, image: Vec3, pivot: Vec3) -> Vec3 {
        let arm = image - pivot - pose.translation;
        self.translation + self.angular.cross(arm) + arm * (self.scale / pose.scale)
    }
}

/// A rigid motion.
#[derive(Clone, Debug)]
pub enum Motion {
    /// Does not move.
    Fixed,
    /// Keyframes of displacement (m), rotation vector (axis times angle, rad: several turns are possible) and scale.
    Keyframes {
        /// Displacement.
        translation: Vec<(f64, Vec3)>,
        /// Axis times angle.
        rotation: Vec<(f64, Vec3)>,
        /// Scale, in the first component.
        scale: Vec<(f64, Vec3)>,
    },
    /// Displacement by formulas.
    Path(TimeVector),
}

impl Motion {
    /// Pose at time `t`, s.
    pub fn at(&self, t: f64) -> Pose {
        match self {
            Self::Fixed => Pose::IDENTITY,
            Self::Keyframes {
                translation,
                rotation,
                scale,
            } => Pose {
                translation: interpolate(translation, t),
                rotation: Quat::from_scaled_axis(interpolate(rotation, t)),
                scale: if scale.is_empty() {
                    1.0
                } else {
                    interpolate(scale, t).x
                },
            },
            Self::Path(path) => Pose {
                translation: path.at(t),
                ..Pose::IDENTITY
            },
        }
    }

    /// Derivative of the pose at time `t`.
    pub fn rate(&self, t: f64) -> PoseRate {
        match self {
            Self::Fixed => PoseRate::ZERO,
            Self::Keyframes {
                translation,
                rotation,
                scale,
            } => PoseRate {
                translation: interpolate_rate(translation, t),
                angular: angular_velocity(interpolate(rotation, t), interpolate_rate(rotation, t)),
                scale: interpolate_rate(scale, t).x,
            },
            Self::Path(path) => PoseRate {
                translation: path.rate(t),
                ..PoseRate::ZERO
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_met_and_the_velocity_is_continuous() {
        let keys = [
            (0.0, Vec3::ZERO),
            (1.0, Vec3::X),
            (3.0, Vec3::Y),
            (4.0, Vec3::Z),
        ];
        for (t, p) in keys {
            assert!((interpolate(&keys, t) - p).length() < 1e-12);
        }
        let h = 1e-6;
        for (t, _) in keys {
            let before = (interpolate(&keys, t) - interpolate(&keys, t - h)) / h;
            let after = (interpolate(&keys, t + h) - interpolate(&keys, t)) / h;
            assert!(
                (before - after).length() < 1e-4,
                "jump at {t}: {before} {after}"
            );
        }
        assert_eq!(interpolate(&keys, 9.0), Vec3::Z);
        assert_eq!(interpolate(&[], 9.0), Vec3::ZERO);
    }

    #[test]
    fn formulas() {
        assert!((Formula::parse("0.1 * sin(2 * PI * t)").unwrap().at(0.25) - 0.1).abs() < 1e-12);
        assert!(
            (Formula::parse("1e-1*sin(2*pi*t) + 2.5E2").unwrap().at(0.25) - 250.1).abs() < 1e-12
        );
        assert_eq!(Formula::parse("3").unwrap().at(7.0), 3.0);
        assert!(Formula::parse("x + 1").unwrap_err().contains("`x`"));
        assert!(Formula::parse("sin(").is_err());
    }

    #[test]
    fn turning_twice_round_is_possible() {
        let motion = Motion::Keyframes {
            translation: vec![],
            rotation: vec![
                (0.0, Vec3::ZERO),
                (1.0, Vec3::Z * 4.0 * std::f64::consts::PI),
            ],
            scale: vec![],
        };
        let quarter = motion.at(0.5).apply(Vec3::X, Vec3::ZERO);
        assert!((quarter - Vec3::X).length() < 1e-9);
    }

    /// Five-point difference extrapolated once more: good to about 1e-11 for the motions here.
    fn difference(f: impl Fn(f64) -> Vec3, t: f64) -> Vec3 {
        let central =
            |h: f64| (8.0 * (f(t + h) - f(t - h)) - (f(t + 2.0 * h) - f(t - 2.0 * h))) / (12.0 * h);
        (16.0 * central(1e-3) - central(2e-3)) / 15.0
    }

    #[test]
    fn rates_are_the_derivatives_of_positions() {
        let keys = |values: &[[f64; 3]]| -> Vec<(f64, Vec3)> {
            let times = [0.0, 0.7, 1.9, 3.0];
            times
                .into_iter()
                .zip(values.iter().map(|v| Vec3::from_array(*v)))
                .collect()
        };
        let motion = Motion::Keyframes {
            translation: keys(&[[0.; 3], [0.3, 0.1, -0.2], [0.1, 0.5, 0.4], [0., 0., 1.]]),
            // The axis turns, and the angle passes a full turn.
            rotation: keys(&[[0.; 3], [2., 1., 0.], [-1., 7., 2.], [0.1, -0.3, 0.5]]),
            scale: keys(&[[1.; 3], [1.4; 3], [0.7; 3], [1.2; 3]]),
        };
        let (pivot, point) = (Vec3::new(0.2, -0.1, 0.3), Vec3::new(0.5, 0.6, -0.4));
        let path = |x: &str| ["0", x, "t^3"].map(|f| Formula::parse(f).unwrap());
        let wavy = Motion::Path(TimeVector::Formula(path("0.3*sin(5*t)*exp(-t)+sqrt(t+1)")));
        for motion in [motion, wavy] {
            for t in [0.05, 0.4, 1.0, 1.5, 2.5, 2.95] {
                let image = |t: f64| motion.at(t).apply(point, pivot);
                let expected = difference(image, t);
                let found = motion.rate(t).velocity(&motion.at(t), image(t), pivot);
                let error = (found - expected).length();
                assert!(error < 1e-9, "at {t}: {found} and {expected}");
            }
        }
        // Small and vanishing angles.
        for size in [0.0, 1e-9, 1e-3, 0.0099, 0.0101, 1.0] {
            let (v, rate) = (Vec3::new(0.6, 0.0, 0.8) * size, Vec3::new(0.3, -0.5, 0.2));
            let image = |t: f64| Quat::from_scaled_axis(v + rate * t) * point;
            let found = angular_velocity(v, rate).cross(image(0.0));
            let error = (found - difference(image, 0.0)).length();
            assert!(error < 1e-10, "{size}: {error}");
        }
        // No closed form, and no value before 0: differences have to do.
        let stepped = Formula::parse("abs(t - 1)").unwrap();
        assert!((stepped.rate(0.5) + 1.0).abs() < 1e-9);
        assert!(Formula::parse("t^1.5").unwrap().rate(0.0).abs() < 0.02);
        assert_eq!(Formula::parse("7").unwrap().rate(0.3), 0.0);
    }
}
