//! Every shape against its own triangles, every motion against finite differences.

use super::*;
use crate::motion::Motion;
use crate::motion::{Formula, TimeVector};
use muslin_geometry::distance::point_triangle;
use muslin_linalg::Quat;

/// Numbers that look random and are the same everywhere.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as f64 / (1u64 << 30) as f64 - 1.0
    }
}

fn shapes() -> Vec<(&'static str, Box<dyn Obstacle>, f64)> {
    // The last number bounds how far the inscribed triangles are from the surface.
    vec![
        ("box", Box::new(Block::new(Vec3::new(0.5, 0.8, 0.3))), 0.0),
        ("ball", Box::new(Ball::new(0.4)), 4e-3),
        ("capsule", Box::new(Capsule::new(0.2, 0.5)), 2e-3),
        ("cylinder", Box::new(Cylinder::new(0.3, 0.7)), 1e-3),
        ("cone", Box::new(Cone::new(0.4, 0.6)), 2e-3),
        ("torus", Box::new(Torus::new(0.4, 0.15)), 3e-3),
        (
            "plane",
            Box::new(Plane::new(Vec3::ZERO, Vec3::new(0.1, -0.2, 1.0), 9.0)),
            0.0,
        ),
    ]
}

fn brute_force(obstacle: &dyn Obstacle, time: f64, p: Vec3) -> f64 {
    let mut x = Vec::new();
    obstacle.positions(time, &mut x);
    let each = obstacle.faces().iter().map(|f| {
        let [a, b, c] = f.map(|v| x[v as usize]);
        point_triangle(p, a, b, c).distance()
    });
    each.fold(f64::INFINITY, f64::min)
}

#[test]
fn distances_agree_with_the_triangles_and_grow_along_the_normal() {
    for (name, shape, error) in shapes() {
        let mut random = noise(7);
        let (mut inside, mut outside) = (0, 0);
        for _ in 0..400 {
            let p = Vec3::new(random(), random(), random()) * 0.7;
            let found = shape.closest(p, 0.0, f64::INFINITY).unwrap();
            let d = found.signed_distance;
            if d < 0.0 {
                inside += 1;
            } else {
                outside += 1;
            }
            let brute = brute_force(&*shape, 0.0, p);
            assert!(
                (d.abs() - brute).abs() <= error + 1e-12,
                "{name} {p}: {d} {brute}"
            );
            assert!((p - found.position).length() - d.abs() < 1e-12, "{name}");
            assert!(
                (p - found.position - found.normal * d).length() < 1e-12,
                "{name}"
            );
            assert!((found.normal.length() - 1.0).abs() < 1e-12);
            let h = 1e-6;
            let at = |q: Vec3| {
                shape
                    .closest(q, 0.0, f64::INFINITY)
                    .unwrap()
                    .signed_distance
            };
            let gradient = Vec3::from_array(
                [Vec3::X, Vec3::Y, Vec3::Z].map(|e| (at(p + e * h) - at(p - e * h)) / (2.0 * h)),
            );
            // Kinks of the distance lie inside; a difference across one is not a gradient.
            if gradient.length() > 0.999_99 {
                assert!(
                    (gradient - found.normal).length() < 1e-4,
                    "{name} {p} {gradient} {found:?}"
                );
            }
        }
        assert!(
            inside > 5 && outside > 5,
            "{name}: {inside} inside, {outside} outside"
        );
        // Its triangles are closed and face outward, and there is an answer on the axis and at the centre.
        for p in [
            Vec3::ZERO,
            Vec3::Z * 0.1,
            Vec3::Z * 5.0,
            Vec3::new(0.4, 0.0, 0.0),
        ] {
            let found = shape.closest(p, 0.0, f64::INFINITY).unwrap();
            assert!(
                found.normal.is_normalized() && found.position.is_finite(),
                "{name} {p}"
            );
        }
        assert_eq!(shape.closest(Vec3::Z * 5.0, 0.0, 0.1), None, "{name}");
        if name != "plane" {
            let mut x = Vec::new();
            shape.positions(0.0, &mut x);
            let raw = muslin_geometry::mesh::SurfaceMesh {
                positions: x.clone(),
                faces: shape.faces().to_vec(),
                ..Default::default()
            };
            let (clean, repairs) = muslin_geometry::mesh::clean(raw).unwrap();
            assert!(repairs.is_empty(), "{name}: {repairs:?}");
            let closed = muslin_geometry::mesh::Topology::build(x.len(), &clean.faces).unwrap();
            assert!(closed.edges.iter().all(|e| !e.is_border()), "{name}");
            let volume: f64 = shape
                .faces()
                .iter()
                .map(|f| {
                    let [a, b, c] = f.map(|v| x[v as usize]);
                    a.dot(b.cross(c)) / 6.0
                })
                .sum();
            assert!(volume > 0.0, "{name}");
        }
    }
}

fn turning() -> Motion {
    let keys = |values: [[f64; 3]; 3]| {
        let times = [0.0, 1.0, 2.5];
        times
            .into_iter()
            .zip(values.map(Vec3::from_array))
            .collect()
    };
    Motion::Keyframes {
        translation: keys([[0.0; 3], [0.3, 0.2, -0.1], [-0.2, 0.4, 0.3]]),
        rotation: keys([[0.0; 3], [1.0, 2.0, -0.5], [-2.0, 0.3, 4.0]]),
        scale: keys([[1.0; 3], [1.5; 3], [0.8; 3]]),
    }
}

fn placement() -> Placement {
    Placement {
        scale: 1.3,
        rotation: Quat::from_scaled_axis(Vec3::new(0.3, -1.0, 0.4)),
        translation: Vec3::new(0.2, -0.3, 0.5),
    }
}

fn bumpy(bend: f64) -> Vec<Vec3> {
    let grid = muslin_geometry::mesh::grid(
        [1.0, 1.0],
        [6, 6],
        muslin_geometry::mesh::Diagonals::Alternate,
    );
    let lift = |p: &Vec3| *p + Vec3::Z * bend * (3.0 * p.x).sin() * (2.0 * p.y + bend).cos();
    grid.unwrap().positions.iter().map(lift).collect()
}

fn moving() -> Vec<Placed> {
    let grid = muslin_geometry::mesh::grid(
        [1.0, 1.0],
        [6, 6],
        muslin_geometry::mesh::Diagonals::Alternate,
    )
    .unwrap();
    let frames = [0.0, 0.2, -0.1, 0.3, 0.3].map(bumpy).to_vec();
    let sequence = Sequence::new(frames, &grid.faces, 2.0, 0.1).unwrap();
    let mesh = MeshObstacle::new(&bumpy(0.2), &grid.faces).unwrap();
    let path = ["0.2*sin(3*t)", "t*t", "0.1*exp(-t)"].map(|f| Formula::parse(f).unwrap());
    let pivot = Vec3::new(0.1, 0.2, 0.3);
    let placed = |o: Box<dyn Obstacle>, m: Motion| Placed::new(o, placement(), m, pivot);
    vec![
        placed(Box::new(sequence), turning()),
        placed(Box::new(mesh), turning()),
        placed(Box::new(Torus::new(0.4, 0.1)), turning()),
        placed(
            Box::new(Ball::new(0.4)),
            Motion::Path(TimeVector::Formula(path)),
        ),
    ]
}

#[test]
fn velocities_match_finite_differences() {
    for (i, obstacle) in moving().iter().enumerate() {
        assert!(obstacle.moves());
        let at = |t: f64| {
            let mut x = Vec::new();
            obstacle.positions(t, &mut x);
            x
        };
        for t in [0.15, 0.55, 0.9, 1.4, 1.9, 3.0] {
            let mut v = Vec::new();
            obstacle.velocities(t, &mut v);
            let difference = |h: f64, k: usize| {
                let [a, b, c, d] = [1.0, -1.0, 2.0, -2.0].map(|s| at(t + s * h)[k]);
                (8.0 * (a - b) - (c - d)) / (12.0 * h)
            };
            for k in (0..v.len()).step_by(7) {
                // Extrapolated once more: the difference itself is good to 1e-11.
                let expected = (16.0 * difference(5e-4, k) - difference(1e-3, k)) / 15.0;
                assert!(
                    (v[k] - expected).length() < 1e-9,
                    "{i} at {t}: {} {expected}",
                    v[k]
                );
            }
            // At vertices of meshes the closest point is the vertex itself, and so is its velocity.
            if obstacle.nature() == Nature::Mesh {
                let x = at(t);
                for k in (0..v.len()).step_by(7) {
                    let found = obstacle.closest(x[k], t, 1.0).unwrap();
                    assert!((found.velocity - v[k]).length() < 1e-9, "{i} at {t}");
                }
            }
        }
    }
}

#[test]
fn material_points_of_solids_move_at_the_velocity_given() {
    // The point of a turning, growing torus, followed through its own frame.
    let torus = &moving()[2];
    let (t, h) = (0.6, 2e-4);
    for p in [Vec3::new(0.9, 0.1, 0.4), Vec3::new(-0.3, 0.5, 0.9)] {
        let found = torus.closest(p, t, 9.0).unwrap();
        let material = torus.at(t).unapply(found.position);
        let at = |s: f64| torus.at(t + s * h).apply(material);
        let expected = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
        assert!((found.velocity - expected).length() < 1e-9);
    }
}

#[test]
fn placed_distances_agree_with_their_triangles() {
    let mut random = noise(3);
    for obstacle in moving() {
        for _ in 0..60 {
            let p = Vec3::new(random(), random(), random() + 0.5);
            for t in [0.0, 0.7, 2.0] {
                let found = obstacle.closest(p, t, 9.0).unwrap();
                let brute = brute_force(&obstacle, t, p);
                assert!(
                    (found.signed_distance.abs() - brute).abs() < 0.02,
                    "{brute} {found:?}"
                );
                if obstacle.nature() == Nature::Mesh {
                    assert!((found.signed_distance.abs() - brute).abs() < 1e-12);
                }
            }
        }
    }
}

#[test]
fn fast_points_do_not_pass_through() {
    let ball = Placed::new(
        Box::new(Ball::new(0.01)),
        placement(),
        turning(),
        Vec3::ZERO,
    );
    let centre = |t: f64| ball.at(t).apply(Vec3::ZERO);
    // Through the middle at half time, as seen from the ball.
    let (from, to) = (centre(0.0) + Vec3::X, centre(0.01) - Vec3::X);
    let hit = ball.first_contact((from, 0.0), (to, 0.01), 1e-6);
    assert!(hit.is_some_and(|t| (0.4..0.5).contains(&t)), "{hit:?}");
    let beside = Vec3::Y * 0.1;
    assert_eq!(
        ball.first_contact((from + beside, 0.0), (to + beside, 0.01), 1e-6),
        None
    );
    // Resting far away, and resting inside.
    assert_eq!(ball.first_contact((from, 0.0), (from, 0.0), 1e-6), None);
    assert_eq!(
        ball.first_contact((centre(0.0), 0.0), (centre(0.0), 0.0), 1e-6),
        Some(0.0)
    );
}

#[test]
fn edges_give_one_normal() {
    let block = Block::new(Vec3::ONE);
    let mut x = Vec::new();
    block.positions(0.0, &mut x);
    let mesh = MeshObstacle::new(&x, block.faces()).unwrap();
    // Above a convex edge the normal turns smoothly from one side to the other, in both descriptions.
    for i in 0..=20 {
        let angle = std::f64::consts::FRAC_PI_2 * f64::from(i) / 20.0;
        let n = Vec3::new(angle.cos(), 0.0, angle.sin());
        let p = Vec3::new(0.5, 0.1, 0.5) + n * 0.01;
        for o in [&block as &dyn Obstacle, &mesh] {
            let found = o.closest(p, 0.0, 1.0).unwrap();
            assert!((found.normal - n).length() < 1e-9 && found.signed_distance > 0.0);
        }
    }
    // In a concave edge (a box seen from inside) it is that of the nearer wall, never a mixture.
    let found = mesh.closest(Vec3::new(0.49, 0.0, 0.45), 0.0, 1.0).unwrap();
    assert!((found.normal - Vec3::X).length() < 1e-12 && found.signed_distance < 0.0);
}
