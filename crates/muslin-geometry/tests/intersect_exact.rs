//! The intersection judge against exact arithmetic that shares nothing with it: linear programming over the integers.
//!
//! A point common to two triangles is a feasible point of a small linear program in barycentric weights; whether it lies
//! beyond a shared corner or side is a matter of maximising a linear function over all of them. The simplex method with
//! integer pivoting (all divisions exact) and Bland's rule decides both without a single rounding.

mod support;

use muslin_geometry::intersect::{
    MeshJudge, SceneMesh, faces_intersect, intersections_between, scene_intersections,
    self_intersections, triangles_intersect,
};
use muslin_linalg::Vec3;
use num_bigint::BigInt;
use std::ops::{Div, Mul, Sub};
use support::{Random, crumpled, sheet};

trait Int:
    Clone + PartialOrd + From<i64> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
}
impl Int for i128 {}
impl Int for BigInt {}

type Points<T> = [[T; 3]; 3];

/// Maximises `objective . weights` over all `weights >= 0` (three for each triangle, each three summing to one) for which
/// both give the same point. Returns numerator and positive denominator, or `None` if there is no such point.
fn maximise<T: Int>(s: &Points<T>, t: &Points<T>, objective: &[T; 6]) -> Option<(T, T)> {
    let (zero, one) = (T::from(0), T::from(1));
    // Five equations, six weights, five artificial variables, right-hand side.
    let mut rows: Vec<Vec<T>> = vec![];
    for axis in 0..3 {
        let mut row: Vec<T> = (0..3).map(|k| s[k][axis].clone()).collect();
        row.extend((0..3).map(|k| zero.clone() - t[k][axis].clone()));
        row.resize(12, zero.clone());
        rows.push(row);
    }
    for side in 0..2 {
        let mut row = vec![zero.clone(); 12];
        for entry in &mut row[3 * side..3 * side + 3] {
            *entry = one.clone();
        }
        row[11] = one.clone();
        rows.push(row);
    }
    for (i, row) in rows.iter_mut().enumerate() {
        row[6 + i] = one.clone();
    }
    let mut basis: Vec<usize> = (6..11).collect();
    let mut scale = one.clone();

    // First the sum of the artificial variables is driven to zero: reduced costs are minus the column sums.
    let mut cost: Vec<T> = (0..12)
        .map(|c| {
            let sum = rows
                .iter()
                .fold(zero.clone(), |sum, row| sum - row[c].clone());
            if (6..11).contains(&c) {
                zero.clone()
            } else {
                sum
            }
        })
        .collect();
    pivot_to_optimum(&mut rows, &mut cost, &mut basis, &mut scale, 6);
    if cost[11] != zero {
        return None;
    }
    // Artificial variables that are still basic (at zero) leave, or their row says nothing.
    let mut r = 0;
    while r < rows.len() {
        if basis[r] >= 6 {
            if let Some(c) = (0..6).find(|&c| rows[r][c] != zero) {
                pivot(&mut rows, &mut cost, &mut basis, &mut scale, r, c);
            } else {
                rows.remove(r);
                basis.remove(r);
                continue;
            }
        }
        r += 1;
    }
    // Then the objective, with costs c_B B^-1 A - c, all over the common denominator `scale`.
    let mut cost: Vec<T> = (0..12)
        .map(|c| {
            let mut value = match objective.get(c) {
                Some(o) => zero.clone() - o.clone() * scale.clone(),
                None => zero.clone(),
            };
            for (row, &b) in rows.iter().zip(&basis) {
                value = value - (zero.clone() - objective[b].clone() * row[c].clone());
            }
            value
        })
        .collect();
    pivot_to_optimum(&mut rows, &mut cost, &mut basis, &mut scale, 6);
    Some((cost[11].clone(), scale))
}

/// Simplex steps while a cost among the first `columns` is negative; Bland's rule, so it cannot cycle.
fn pivot_to_optimum<T: Int>(
    rows: &mut [Vec<T>],
    cost: &mut [T],
    basis: &mut [usize],
    scale: &mut T,
    columns: usize,
) {
    let zero = T::from(0);
    while let Some(c) = (0..columns).find(|&c| cost[c] < zero) {
        let mut best: Option<usize> = None;
        for r in 0..rows.len() {
            if rows[r][c] > zero {
                let better = best.is_none_or(|b: usize| {
                    let mine = rows[r][11].clone() * rows[b][c].clone();
                    let theirs = rows[b][11].clone() * rows[r][c].clone();
                    mine < theirs || (mine == theirs && basis[r] < basis[b])
                });
                if better {
                    best = Some(r);
                }
            }
        }
        let r = best.expect("weights are bounded");
        pivot(rows, cost, basis, scale, r, c);
    }
}

fn pivot<T: Int>(
    rows: &mut [Vec<T>],
    cost: &mut [T],
    basis: &mut [usize],
    scale: &mut T,
    r: usize,
    c: usize,
) {
    let zero = T::from(0);
    if rows[r][c] < zero {
        // Only with a zero right-hand side: the row may change sign.
        for entry in &mut rows[r] {
            *entry = zero.clone() - entry.clone();
        }
    }
    let pivot_row = rows[r].clone();
    let p = pivot_row[c].clone();
    let reduce = |row: &mut [T]| {
        let factor = row[c].clone();
        for (entry, of_pivot) in row.iter_mut().zip(&pivot_row) {
            *entry =
                (entry.clone() * p.clone() - factor.clone() * of_pivot.clone()) / scale.clone();
        }
    };
    for (i, row) in rows.iter_mut().enumerate() {
        if i != r {
            reduce(row);
        }
    }
    reduce(cost);
    *scale = p;
    basis[r] = c;
}

fn exact_meet<T: Int>(s: &Points<T>, t: &Points<T>) -> bool {
    let objective = std::array::from_fn(|_| T::from(0));
    maximise(s, t, &objective).is_some()
}

/// Whether the common points, seen through the linear map `f` of space, go beyond `limit` (m).
fn beyond<T: Int>(s: &Points<T>, t: &Points<T>, f: impl Fn(&[T; 3]) -> T, limit: &T) -> bool {
    let zero = T::from(0);
    let objective = std::array::from_fn(|k| if k < 3 { f(&s[k]) } else { zero.clone() });
    let (numerator, denominator) = maximise(s, t, &objective).expect("they share a vertex");
    numerator > limit.clone() * denominator
}

fn sub<T: Int>(a: &[T; 3], b: &[T; 3]) -> [T; 3] {
    std::array::from_fn(|k| a[k].clone() - b[k].clone())
}

fn add<T: Int>(a: T, b: T) -> T {
    a - (T::from(0) - b)
}

/// Shared vertices are the first `shared` of each triangle.
fn exact_meet_beyond<T: Int>(s: &Points<T>, t: &Points<T>, shared: usize) -> bool {
    let zero = T::from(0);
    let negative = |x: T| T::from(0) - x;
    match shared {
        0 => exact_meet(s, t),
        1 => (0..3).any(|axis| {
            let along = |p: &[T; 3]| p[axis].clone() - s[0][axis].clone();
            beyond(s, t, along, &zero) || beyond(s, t, |p| negative(along(p)), &zero)
        }),
        2 => {
            let side = sub(&s[1], &s[0]);
            let dot = |a: &[T; 3], b: &[T; 3]| {
                let [x, y, z] = std::array::from_fn(|k| a[k].clone() * b[k].clone());
                add(add(x, y), z)
            };
            let along = |p: &[T; 3]| dot(&sub(p, &s[0]), &side);
            let length = dot(&side, &side);
            let off_line = (0..3).any(|axis| {
                let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
                let cross = |p: &[T; 3]| {
                    let d = sub(p, &s[0]);
                    d[i].clone() * side[j].clone() - d[j].clone() * side[i].clone()
                };
                beyond(s, t, cross, &zero) || beyond(s, t, |p| negative(cross(p)), &zero)
            });
            if length == zero {
                return exact_meet_beyond(s, t, 1);
            }
            off_line || beyond(s, t, along, &length) || beyond(s, t, |p| negative(along(p)), &zero)
        }
        _ => false,
    }
}

/// Random integer triangles with all the coincidences one could wish for.
fn grid_pair(random: &mut Random) -> [[i64; 3]; 6] {
    let size = [1, 2, 3, 6, 20, 60][random.below(6) as usize];
    let mut p: [[i64; 3]; 6] = std::array::from_fn(|_| {
        std::array::from_fn(|_| random.below(2 * size + 1) as i64 - size as i64)
    });
    match random.below(8) {
        // Coplanar.
        0 => p.iter_mut().for_each(|p| p[2] = 0),
        1 => p.iter_mut().for_each(|p| p[2] = p[0] - 2 * p[1]),
        // One on a line, or both.
        2 => p[2] = std::array::from_fn(|k| 2 * p[1][k] - p[0][k]),
        3 => p.iter_mut().for_each(|p| (p[1], p[2]) = (2 * p[0], -p[0])),
        // A corner of one on a side of the other.
        4 => p[3] = std::array::from_fn(|k| 2 * p[0][k] - p[1][k]),
        5 => p[4] = p[3],
        _ => {}
    }
    p
}

fn to_float(p: &[i64; 3], unit: f64) -> Vec3 {
    Vec3::new(p[0] as f64, p[1] as f64, p[2] as f64) * unit
}

fn wide<T: Int>(p: &[[i64; 3]]) -> Points<T> {
    std::array::from_fn(|k| p[k].map(T::from))
}

#[test]
fn unrelated_triangles() {
    let mut random = Random(1);
    let mut met = 0;
    for n in 0..120_000 {
        let p = grid_pair(&mut random);
        // Powers of two: the floats are exactly the integers, in any unit.
        let unit = [1.0, 0.125, 2f64.powi(-200), 2f64.powi(200)][n % 4];
        let s = [0, 1, 2].map(|k| to_float(&p[k], unit));
        let t = [3, 4, 5].map(|k| to_float(&p[k], unit));
        let expected = exact_meet::<i128>(&wide(&p[..3]), &wide(&p[3..]));
        met += usize::from(expected);
        assert_eq!(triangles_intersect(s, t), Ok(expected), "{p:?}");
        assert_eq!(
            triangles_intersect(t, [s[2], s[0], s[1]]),
            Ok(expected),
            "{p:?}"
        );
    }
    assert!((20_000..100_000).contains(&met), "{met} of 120000 meet");
}

#[test]
fn triangles_with_shared_vertices() {
    let mut random = Random(2);
    let mut met = [0; 3];
    for n in 0..40_000 {
        let shared = 1 + n % 2;
        let mut p = grid_pair(&mut random);
        for k in 0..shared {
            p[3 + k] = p[k];
        }
        let expected = exact_meet_beyond::<i128>(&wide(&p[..3]), &wide(&p[3..]), shared);
        met[shared] += usize::from(expected);
        let x: Vec<Vec3> = p.iter().map(|p| to_float(p, 1.0)).collect();
        let turn = |f: [u32; 3], k: u64| {
            [
                f[k as usize % 3],
                f[(k as usize + 1) % 3],
                f[(k as usize + 2) % 3],
            ]
        };
        let f = turn([0, 1, 2], random.below(3));
        let g = if shared == 1 { [0, 4, 5] } else { [0, 1, 5] };
        let g = turn(g, random.below(3));
        assert_eq!(faces_intersect(&x, f, g), Ok(expected), "{p:?} {f:?} {g:?}");
        assert_eq!(faces_intersect(&x, g, f), Ok(expected), "{p:?} {f:?} {g:?}");
    }
    assert!(met[1] > 2000 && met[2] > 500, "{met:?}");
}

/// Doubles with all their bits, nearly coplanar and nearly touching: where rounded predicates guess.
#[test]
fn full_precision_near_misses() {
    let mut random = Random(3);
    let unit = 2f64.powi(60);
    let big = |v: Vec3| {
        v.to_array().map(|c| {
            let scaled = c * unit;
            assert!(scaled == scaled.trunc(), "not on the grid");
            BigInt::from(scaled as i128)
        })
    };
    let snap = |v: Vec3| (v * 2f64.powi(56)).round() * 2f64.powi(-56);
    let mut met = 0;
    for _ in 0..4000 {
        let mut s = [0; 3].map(|_| random.vector(1.0));
        let mut t = [0; 3].map(|_| random.vector(1.0));
        // Bring a corner of t to a point of s (inside, on a side, at a corner), off by a rounding or a little more.
        let (mut u, mut v) = (random.unit(), random.unit());
        match random.below(4) {
            0 => u = 0.0,
            1 => v = 0.0,
            2 => (u, v) = (0.0, 0.0),
            _ => {}
        }
        if u + v > 1.0 {
            (u, v) = (1.0 - u, 1.0 - v);
        }
        t[0] = s[0] + (s[1] - s[0]) * u + (s[2] - s[0]) * v;
        let noise = [0.0, 1e-16, 1e-14][random.below(3) as usize];
        t[0] += random.vector(noise);
        if random.below(2) == 0 {
            // Everything in nearly one plane.
            let (a, b) = (random.unit(), random.within(-1.0, 1.0));
            t[1] = s[0] + (s[1] - s[0]) * a + (s[2] - s[0]) * b;
        }
        s = s.map(snap);
        t = t.map(snap);
        let (si, ti) = (s.map(big), t.map(big));
        let expected = exact_meet::<BigInt>(&si, &ti);
        met += usize::from(expected);
        assert_eq!(triangles_intersect(s, t), Ok(expected), "{s:?} {t:?}");
    }
    assert!((500..3800).contains(&met), "{met} of 4000 meet");
}

#[test]
fn whole_meshes_equal_all_pairs() {
    let mesh = crumpled(16);
    let found = self_intersections(&mesh.x, &mesh.faces).unwrap();
    let mut expected = vec![];
    for i in 0..mesh.faces.len() {
        for j in i + 1..mesh.faces.len() {
            if faces_intersect(&mesh.x, mesh.faces[i], mesh.faces[j]).unwrap() {
                expected.push([i as u32, j as u32]);
            }
        }
    }
    assert!(!expected.is_empty());
    assert_eq!(found, expected);

    // Judged again after a motion and back: the hierarchy is older, the verdict the same.
    let mut judge = MeshJudge::new(&mesh.x, &mesh.faces).unwrap();
    let flat = sheet(16, |u, v| Vec3::new(u, v, 0.0)).x;
    judge.update(&flat).unwrap();
    assert_eq!(judge.self_intersections(), [[0; 2]; 0]);
    judge.update(&mesh.x).unwrap();
    assert_eq!(judge.self_intersections(), expected);
    assert!(judge.update(&flat[1..]).is_err());

    let other = sheet(7, |u, v| Vec3::new(0.1 * u, 0.3, 0.1 * v - 0.05));
    let between = intersections_between(&mesh.x, &mesh.faces, &other.x, &other.faces).unwrap();
    let mut expected = vec![];
    for (i, f) in mesh.faces.iter().enumerate() {
        for (j, g) in other.faces.iter().enumerate() {
            let s = f.map(|v| mesh.x[v as usize]);
            let t = g.map(|v| other.x[v as usize]);
            if triangles_intersect(s, t).unwrap() {
                expected.push([i as u32, j as u32]);
            }
        }
    }
    assert!(!expected.is_empty());
    assert_eq!(between, expected);

    let scene = [
        SceneMesh {
            positions: &mesh.x,
            faces: &mesh.faces,
        },
        SceneMesh {
            positions: &other.x,
            faces: &other.faces,
        },
    ];
    let all = scene_intersections(&scene).unwrap();
    assert_eq!(all.len(), found.len() + between.len());
    assert!(all.is_sorted());
    assert_eq!(self_intersections(&other.x, &other.faces), Ok(vec![]));
}

#[test]
fn limits_of_the_range() {
    let face = [Vec3::ZERO, Vec3::X, Vec3::Y];
    for bad in [f64::NAN, f64::INFINITY, 1e76, -1e200] {
        let mut t = face;
        t[2].z = bad;
        assert!(triangles_intersect(face, t).is_err());
        assert!(self_intersections(&t, &[[0, 1, 2]]).is_err());
        assert!(faces_intersect(&t, [0, 1, 2], [0, 1, 2]).is_err());
    }
    assert!(self_intersections(&face, &[[0, 1, 3]]).is_err());
    // At the edge of the range the signs are still right: a shift by one part in 1e15 decides.
    for scale in [1e-59, 1e75] {
        let s = face.map(|v| v * scale);
        let up = |z: f64| {
            [
                Vec3::new(0.2, 0.2, z),
                Vec3::new(0.3, 0.2, 1.0),
                Vec3::new(0.2, 0.3, 1.0),
            ]
        };
        assert_eq!(triangles_intersect(s, up(0.0).map(|v| v * scale)), Ok(true));
        assert_eq!(
            triangles_intersect(s, up(1e-15).map(|v| v * scale)),
            Ok(false)
        );
        assert_eq!(
            triangles_intersect(s, up(-1e-15).map(|v| v * scale)),
            Ok(true)
        );
    }
    // Below it, coordinates are zero: subnormal heights touch.
    let low = [
        Vec3::new(0.2, 0.2, 1e-310),
        Vec3::new(0.3, 0.2, 1.0),
        Vec3::new(0.2, 0.3, 1.0),
    ];
    assert_eq!(triangles_intersect(face, low), Ok(true));
}
