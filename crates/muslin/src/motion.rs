//! Prescribed motion over time: keyframes with smooth interpolation, or formulas of `t`.

use exmex::{Express, FlatEx};
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
}

/// A formula of `t`, such as `0.1 * sin(2 * PI * t)`.
#[derive(Clone, Debug)]
pub struct Formula(Box<FlatEx<f64>>);

impl Formula {
    /// Reads a formula; the message says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expression: FlatEx<f64> = exmex::parse(&plain(text)).map_err(|e| e.to_string())?;
        match expression.var_names().iter().find(|v| *v != "t") {
            Some(unknown) => Err(format!(
                "`{unknown}` is not known; the only variable is `t`, the time in s"
            )),
            None => Ok(Self(Box::new(expression))),
        }
    }

    /// Value at time `t`; NaN where the formula has none.
    pub fn at(&self, t: f64) -> f64 {
        let arguments = [t];
        self.0
            .eval(&arguments[..self.0.var_names().len()])
            .unwrap_or(f64::NAN)
    }
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

/// Cubic through the keys with the slope of their neighbours, at rest at both ends. The velocity is continuous.
pub fn interpolate(keys: &[(f64, Vec3)], t: f64) -> Vec3 {
    let Some(last) = keys.len().checked_sub(1) else {
        return Vec3::ZERO;
    };
    let next = keys.partition_point(|k| k.0 <= t);
    if next == 0 {
        return keys[0].1;
    }
    if next > last {
        return keys[last].1;
    }
    let slope = |i: usize| {
        if i == 0 || i == last {
            return Vec3::ZERO;
        }
        (keys[i + 1].1 - keys[i - 1].1) / (keys[i + 1].0 - keys[i - 1].0)
    };
    let ((t0, p0), (t1, p1)) = (keys[next - 1], keys[next]);
    let (width, s) = (t1 - t0, (t - t0) / (t1 - t0));
    let (m0, m1) = (slope(next - 1) * width, slope(next) * width);
    let (s2, s3) = (s * s, s * s * s);
    p0 * (2.0 * s3 - 3.0 * s2 + 1.0)
        + m0 * (s3 - 2.0 * s2 + s)
        + p1 * (3.0 * s2 - 2.0 * s3)
        + m1 * (s3 - s2)
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
}
