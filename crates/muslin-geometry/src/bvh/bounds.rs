//! Boxes in single precision, rounded outward, and four of them side by side.

use glam::Vec4;
use muslin_linalg::Vec3;

/// Axis-aligned box with `f32` corners that surely contains the `f64` points it was made from. 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    min: Vec4,
    max: Vec4,
}

/// Coordinates beyond this are treated as "this far or farther": still conservative, and no infinity minus infinity.
const FAR: f64 = 1e38;

impl Bounds {
    /// The box that contains nothing and overlaps nothing.
    pub const EMPTY: Self = Self {
        min: Vec4::new(f32::INFINITY, f32::INFINITY, f32::INFINITY, 0.0),
        max: Vec4::new(f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY, 0.0),
    };

    /// The box that contains everything and overlaps everything but the empty one.
    pub const EVERYTHING: Self = Self {
        min: Self::EMPTY.max,
        max: Self::EMPTY.min,
    };

    /// The smallest convenient box around the cube of half width `radius` (m) centred at `point`.
    #[inline]
    pub fn around(point: Vec3, radius: f64) -> Self {
        Self::swept(point, point, radius)
    }

    /// The same around the motion from `start` to `end`. What is not a number could be anywhere: the box is then
    /// [`Bounds::EVERYTHING`].
    #[inline]
    pub fn swept(start: Vec3, end: Vec3, radius: f64) -> Self {
        if (start + end + radius).is_nan() {
            return Self::EVERYTHING;
        }
        Self::swept_numbers(start, end, radius)
    }

    /// The same for callers that look for NaN themselves: the branch costs the refit loop its vector instructions.
    #[inline]
    pub(super) fn swept_numbers(start: Vec3, end: Vec3, radius: f64) -> Self {
        let (lowest, highest) = (start.min(end), start.max(end));
        let lo = (lowest - radius)
            .min(Vec3::splat(FAR))
            .as_vec3()
            .extend(0.0);
        let hi = (highest + radius)
            .max(Vec3::splat(-FAR))
            .as_vec3()
            .extend(0.0);
        // Conversion rounds to nearest, an error of half a unit in the last place. One full unit more, without a branch;
        // the smallest normal number does the same for subnormal coordinates.
        let tiny = glam::Vec3::splat(f32::MIN_POSITIVE).extend(0.0);
        Self {
            min: lo - (lo.abs() * f32::EPSILON + tiny),
            max: hi + (hi.abs() * f32::EPSILON + tiny),
        }
    }

    /// The smallest box around both.
    #[inline]
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// Whether the closed boxes have a point in common.
    #[inline]
    pub fn overlaps(&self, other: &Self) -> bool {
        (self.min.cmple(other.max) & other.min.cmple(self.max)).all()
    }

    /// Lower corner, in metres.
    pub fn min(&self) -> [f32; 3] {
        self.min.truncate().to_array()
    }

    /// Upper corner, in metres.
    pub fn max(&self) -> [f32; 3] {
        self.max.truncate().to_array()
    }

    /// Twice the centre, clamped to finite numbers; only used to order elements in space.
    pub(super) fn doubled_center(&self) -> [f32; 3] {
        let limit = Vec4::splat(FAR as f32);
        (self.min.clamp(-limit, limit) + self.max.clamp(-limit, limit))
            .truncate()
            .to_array()
    }
}

/// Four boxes by component: the children of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds4 {
    min: [Vec4; 3],
    max: [Vec4; 3],
}

impl Bounds4 {
    pub(super) const EMPTY: Self = Self {
        min: [Vec4::INFINITY; 3],
        max: [Vec4::NEG_INFINITY; 3],
    };

    #[inline]
    pub(super) fn new(b: &[Bounds; 4]) -> Self {
        let lanes = |get: fn(&Bounds) -> Vec4, axis: usize| {
            Vec4::new(
                get(&b[0])[axis],
                get(&b[1])[axis],
                get(&b[2])[axis],
                get(&b[3])[axis],
            )
        };
        Self {
            min: [
                lanes(|b| b.min, 0),
                lanes(|b| b.min, 1),
                lanes(|b| b.min, 2),
            ],
            max: [
                lanes(|b| b.max, 0),
                lanes(|b| b.max, 1),
                lanes(|b| b.max, 2),
            ],
        }
    }

    /// One bit per lane that overlaps the box.
    #[inline]
    pub(super) fn overlaps(&self, query: &Splat) -> u32 {
        let x = self.min[0].cmple(query.max[0]) & query.min[0].cmple(self.max[0]);
        let y = self.min[1].cmple(query.max[1]) & query.min[1].cmple(self.max[1]);
        let z = self.min[2].cmple(query.max[2]) & query.min[2].cmple(self.max[2]);
        (x & y & z).bitmask()
    }

    #[inline]
    pub(super) fn lane(&self, lane: usize) -> Bounds {
        let [a, b, c] = self.min;
        let [d, e, f] = self.max;
        Bounds {
            min: Vec4::new(a[lane], b[lane], c[lane], 0.0),
            max: Vec4::new(d[lane], e[lane], f[lane], 0.0),
        }
    }

    #[inline]
    pub(super) fn union(&self) -> Bounds {
        let [a, b, c] = self.min.map(Vec4::min_element);
        let [d, e, f] = self.max.map(Vec4::max_element);
        Bounds {
            min: Vec4::new(a, b, c, 0.0),
            max: Vec4::new(d, e, f, 0.0),
        }
    }

    /// Sum of the half surface areas of the lanes, in square metres; empty lanes count nothing.
    pub(super) fn half_area(&self) -> f64 {
        let size = |axis: usize| (self.max[axis] - self.min[axis]).max(Vec4::ZERO);
        let (x, y, z) = (size(0), size(1), size(2));
        let area = x * y + y * z + z * x;
        f64::from(area.x) + f64::from(area.y) + f64::from(area.z) + f64::from(area.w)
    }

    /// Squared distance from a point to each lane, in `f64` so that it stays a lower bound; infinite for empty lanes.
    #[inline]
    pub(super) fn squared_distances(&self, point: Vec3) -> [f64; 4] {
        let mut squared = [0.0; 4];
        for axis in 0..3 {
            let p = point[axis];
            let (lo, hi) = (self.min[axis].to_array(), self.max[axis].to_array());
            for lane in 0..4 {
                let below = f64::from(lo[lane]) - p;
                let above = p - f64::from(hi[lane]);
                let outside = below.max(above).max(0.0);
                squared[lane] += outside * outside;
            }
        }
        squared
    }
}

/// One box repeated over four lanes, ready to be compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Splat {
    min: [Vec4; 3],
    max: [Vec4; 3],
}

impl Splat {
    #[inline]
    pub(super) fn new(b: &Bounds) -> Self {
        // A box without end would meet empty lanes at infinity.
        let min = b.min.max(Vec4::splat(f32::MIN));
        let max = b.max.min(Vec4::splat(f32::MAX));
        Self {
            min: [Vec4::splat(min.x), Vec4::splat(min.y), Vec4::splat(min.z)],
            max: [Vec4::splat(max.x), Vec4::splat(max.y), Vec4::splat(max.z)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn coordinate() -> impl Strategy<Value = f64> {
        prop_oneof![
            -2.0..2.0f64,
            (-320.0..300.0f64).prop_map(|e| 10f64.powf(e)),
            (-320.0..300.0f64).prop_map(|e| -(10f64.powf(e))),
            Just(0.0),
            Just(-0.0),
            Just(f64::from(f32::MAX)),
            Just(f64::from(f32::MIN_POSITIVE)),
        ]
    }

    proptest! {
        #[test]
        fn contains_its_points(x in coordinate(), y in coordinate(), z in coordinate(), r in 0.0..1.0f64) {
            let p = Vec3::new(x, y, z);
            let b = Bounds::around(p, r);
            for axis in 0..3 {
                prop_assert!(f64::from(b.min()[axis]) <= p[axis] - r);
                prop_assert!(f64::from(b.max()[axis]) >= p[axis] + r);
            }
        }
    }

    #[test]
    fn four_lanes_agree_with_one() {
        let b = [0.0, 1.0, 2.5, 9.0].map(|z| Bounds::around(Vec3::new(0.0, 0.0, z), 0.5));
        let four = Bounds4::new(&b);
        let q = Bounds::around(Vec3::new(0.2, 0.0, 1.7), 0.5);
        let expected = (0..4)
            .map(|k| u32::from(b[k].overlaps(&q)) << k)
            .sum::<u32>();
        assert_eq!(four.overlaps(&Splat::new(&q)), expected);
        assert_eq!(four.lane(2), b[2]);
        assert_eq!(
            four.union(),
            b.iter().fold(Bounds::EMPTY, |a, &c| a.union(c))
        );
        assert!(!Bounds::EMPTY.overlaps(&b[0]));
        assert!(Bounds::around(Vec3::new(0.0, f64::NAN, 0.0), 1.0).overlaps(&b[3]));
        assert!(Bounds::around(Vec3::ZERO, f64::NAN).overlaps(&b[3]));
        assert!(Bounds::swept(Vec3::NEG_INFINITY, Vec3::INFINITY, 0.0).overlaps(&b[3]));
        assert_eq!(Bounds4::EMPTY.overlaps(&Splat::new(&q)), 0);
        assert_eq!(Bounds4::EMPTY.overlaps(&Splat::new(&Bounds::EVERYTHING)), 0);
        let beyond = Bounds::around(Vec3::splat(1e50), 1.0);
        assert_eq!(Bounds4::EMPTY.overlaps(&Splat::new(&beyond)), 0);
        let all = Bounds4::new(&[beyond; 4]);
        assert_eq!(all.overlaps(&Splat::new(&beyond)), 0b1111);
        assert_eq!(all.overlaps(&Splat::new(&Bounds::EVERYTHING)), 0b1111);
        let d = four.squared_distances(Vec3::new(0.0, 0.0, 4.0));
        assert!((d[3] - 4.5 * 4.5).abs() < 1e-5 && (d[2] - 1.0).abs() < 1e-5);
    }
}
