//! Singular values of 3x3 matrices by one-sided Jacobi rotations: exact to rounding for small values too, which the
//! eigenvalues of `AᵀA` are not.

use crate::{Mat3, Vec3, outer};

/// `A = U diag(s) Vᵀ` with proper rotations `U` and `V`: a matrix that mirrors has a negative last value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Svd {
    /// Rotation after stretching.
    pub u: Mat3,
    /// Stretches, descending by size; only the last can be negative.
    pub s: Vec3,
    /// Rotation before stretching, transposed.
    pub v: Mat3,
}

/// Off-diagonal products below this fraction of the diagonal count as zero.
const SMALL: f64 = 1e-15;
/// More sweeps are never needed; a few do.
const MOST_SWEEPS: usize = 20;

/// Singular values and vectors. A matrix with entries that are not finite gives a result that is not.
pub fn svd(matrix: &Mat3) -> Svd {
    let mut a = [matrix.x_axis, matrix.y_axis, matrix.z_axis];
    let mut v = [Vec3::X, Vec3::Y, Vec3::Z];
    for _ in 0..MOST_SWEEPS {
        let turned = [(0, 1), (0, 2), (1, 2)].map(|(p, q)| turn(&mut a, &mut v, p, q));
        if turned == [false; 3] {
            break;
        }
    }
    // Three comparisons sort three.
    for (p, q) in [(0, 1), (1, 2), (0, 1)] {
        if a[p].length_squared() < a[q].length_squared() {
            a.swap(p, q);
            v.swap(p, q);
        }
    }
    if v[0].cross(v[1]).dot(v[2]) < 0.0 {
        v[2] = -v[2];
        a[2] = -a[2];
    }
    let first = a[0].length();
    let u0 = if first > 0.0 { a[0] / first } else { v[0] };
    let rest = a[1] - u0 * u0.dot(a[1]);
    let second = rest.length();
    // Without a second direction any will do that is at right angles.
    let u1 = if second > 0.0 {
        rest / second
    } else {
        (v[1] - u0 * u0.dot(v[1])).normalize_or(u0.any_orthonormal_vector())
    };
    let u2 = u0.cross(u1);
    Svd {
        u: Mat3::from_cols(u0, u1, u2),
        s: Vec3::new(first, second, u2.dot(a[2])),
        v: Mat3::from_cols(v[0], v[1], v[2]),
    }
}

/// Makes two columns orthogonal; says whether they were not.
fn turn(a: &mut [Vec3; 3], v: &mut [Vec3; 3], p: usize, q: usize) -> bool {
    let (pp, qq, pq) = (a[p].length_squared(), a[q].length_squared(), a[p].dot(a[q]));
    if pq.abs() <= SMALL * (pp * qq).sqrt() || pq == 0.0 {
        return false;
    }
    let zeta = (qq - pp) / (2.0 * pq);
    let t = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let s = c * t;
    for m in [a, v] {
        let (x, y) = (m[p], m[q]);
        m[p] = x * c - y * s;
        m[q] = x * s + y * c;
    }
    true
}

/// The rotation nearest to a matrix. For one that mirrors it is the one that leaves the least to mirror: along the
/// direction of the smallest stretch.
pub fn polar_rotation(matrix: &Mat3) -> Mat3 {
    let Svd { u, v, .. } = svd(matrix);
    outer(u.x_axis, v.x_axis) + outer(u.y_axis, v.y_axis) + outer(u.z_axis, v.z_axis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quat;

    fn check(m: Mat3) -> Svd {
        let found = svd(&m);
        let Svd { u, s, v } = found;
        let back = u * Mat3::from_diagonal(s) * v.transpose();
        let size = m
            .to_cols_array()
            .iter()
            .fold(1e-300, |l: f64, e| l.max(e.abs()));
        for (a, b) in back.to_cols_array().iter().zip(m.to_cols_array()) {
            assert!((a - b).abs() < 1e-14 * size, "{back} against {m}");
        }
        for r in [u, v] {
            assert!((r.determinant() - 1.0).abs() < 1e-14);
            let error = r.transpose() * r - Mat3::IDENTITY;
            assert!(error.to_cols_array().iter().all(|e| e.abs() < 1e-14));
        }
        assert!(s.x >= s.y && s.y >= s.z.abs() * (1.0 - 1e-12), "{s}");
        found
    }

    #[test]
    fn all_kinds_of_matrices_are_taken_apart() {
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as f64 / (1u64 << 30) as f64 - 1.0
        };
        for k in 0..300 {
            let mut m = Mat3::from_cols_array(&std::array::from_fn(|_| random()));
            match k % 5 {
                1 => m.z_axis = m.x_axis * 0.3 - m.y_axis,
                2 => m *= 1e-9,
                3 => m.y_axis *= 1e-12,
                4 => m = outer(m.x_axis, m.y_axis),
                _ => {}
            }
            let found = check(m);
            let mirrored = m.determinant() < -1e-12 * found.s.x.powi(3);
            assert!(!mirrored || found.s.z < 0.0, "{m}");
        }
        for m in [Mat3::ZERO, Mat3::IDENTITY, -Mat3::IDENTITY] {
            check(m);
        }
    }

    #[test]
    fn the_polar_rotation_of_a_stretched_turn_is_the_turn() {
        let turn = Mat3::from_quat(Quat::from_scaled_axis(Vec3::new(0.3, -1.2, 2.0)));
        let stretch = Mat3::from_cols(
            Vec3::new(1.3, 0.2, 0.1),
            Vec3::new(0.2, 0.8, -0.1),
            Vec3::new(0.1, -0.1, 1.1),
        );
        let found = polar_rotation(&(turn * stretch));
        assert!(
            (found - turn)
                .to_cols_array()
                .iter()
                .all(|e| e.abs() < 1e-14)
        );
    }
}
