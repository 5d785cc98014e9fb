//! Signed distance to surfaces against closed forms and brute force.

mod support;

use muslin_geometry::distance::{SurfaceDistance, point_triangle};
use muslin_linalg::Vec3;
use std::f64::consts::TAU;
use support::{Random, crumpled};

const RING: f64 = 0.5;
const TUBE: f64 = 0.2;

/// A closed surface with convex and saddle-shaped parts, normals outwards.
fn torus(n: u32, m: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let mut x = vec![];
    let mut faces = vec![];
    for i in 0..n {
        let a = TAU * f64::from(i) / f64::from(n);
        for j in 0..m {
            let b = TAU * f64::from(j) / f64::from(m);
            let r = RING + TUBE * b.cos();
            x.push(Vec3::new(r * a.cos(), r * a.sin(), TUBE * b.sin()));
            let at = |i: u32, j: u32| (i % n) * m + j % m;
            let [p, q, r, s] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            faces.push([p, q, r]);
            faces.push([p, r, s]);
        }
    }
    (x, faces)
}

fn torus_distance(p: Vec3) -> f64 {
    let ring = p.truncate().length() - RING;
    (ring * ring + p.z * p.z).sqrt() - TUBE
}

#[test]
fn torus_inside_and_outside() {
    let (x, faces) = torus(60, 40);
    let surface = SurfaceDistance::new(&x, &faces).unwrap();
    let mut random = Random(4);
    let points: Vec<Vec3> = (0..20_000).map(|_| random.vector(0.9)).collect();
    let mut found = vec![];
    surface.closest_all(&points, f64::INFINITY, &mut found);
    for (&p, found) in points.iter().zip(&found) {
        let found = found.unwrap();
        let expected = torus_distance(p);
        // The facets lie inside by up to a few millimetres.
        assert!(
            (found.signed_distance - expected).abs() < 4e-3,
            "{p} {found:?} {expected}"
        );
        assert!((found.normal.length() - 1.0).abs() < 1e-12);
        let back = found.position + found.normal * found.signed_distance;
        assert!(back.abs_diff_eq(p, 1e-12), "{p} {found:?}");
    }
}

#[test]
fn distance_is_the_least_over_all_faces() {
    let mesh = crumpled(20);
    let surface = SurfaceDistance::new(&mesh.x, &mesh.faces).unwrap();
    let mut random = Random(5);
    for k in 0..2000 {
        // Half of the points on vertices, edges and faces, where everything ties.
        let p = if k % 2 == 0 {
            random.vector(0.3)
        } else {
            let face = mesh.faces[random.below(mesh.faces.len() as u64) as usize];
            let [a, b, c] = face.map(|v| mesh.x[v as usize]);
            let (u, v) = (
                random.below(2) as f64,
                random.unit() * random.below(2) as f64,
            );
            a + (b - a) * (u * (1.0 - v)) + (c - a) * v
        };
        let least = mesh
            .faces
            .iter()
            .map(|f| {
                let [a, b, c] = f.map(|v| mesh.x[v as usize]);
                point_triangle(p, a, b, c).distance()
            })
            .fold(f64::INFINITY, f64::min);
        let found = surface.closest(p, 1.0).unwrap();
        assert_eq!(found.signed_distance.abs(), least);
        assert!((found.normal.length() - 1.0).abs() < 1e-12);
    }
}

/// Just above a convex ridge or a concave valley the normal must not jump between the two faces.
#[test]
fn one_normal_near_ridges_and_valleys() {
    for height in [-0.5, 0.5] {
        let x = [
            Vec3::new(0.0, -1.0, height),
            Vec3::new(0.0, 1.0, height),
            Vec3::new(-1.0, 0.0, 0.0),
            Vec3::new(1.0, 0.0, 0.0),
        ];
        let surface = SurfaceDistance::new(&x, &[[0, 1, 2], [1, 0, 3]]).unwrap();
        for (dx, dz) in [(1e-9, 1e-3), (-1e-9, 1e-3), (0.0, 1e-3), (0.0, 0.0)] {
            let found = surface
                .closest(Vec3::new(dx, 0.0, height + dz), 1.0)
                .unwrap();
            assert!(found.signed_distance >= 0.0);
            if height > 0.0 || dz == 0.0 {
                // On the ridge: straight up, from either side. In the valley two faces tie off the surface.
                assert!(found.normal.abs_diff_eq(Vec3::Z, 1e-5), "{found:?}");
            } else {
                assert!(found.normal.z > 0.8, "{found:?}");
            }
        }
    }
}
