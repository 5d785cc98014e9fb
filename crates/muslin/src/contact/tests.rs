//! The detector against brute force, for any number of threads and any age of its hierarchies.

use super::*;
use crate::scene::SceneSource;
use crate::simulation::Simulation;
use crate::world::World;
use muslin_geometry::ccd;
use muslin_geometry::distance::{edge_edge, point_triangle};
use muslin_linalg::Vec3;

const SCENE: &str = r#"
[cloth.a]
grid = { size = [1, 1], cells = [12, 12] }
fabric = "gray-interlock"
[cloth.b]
disc = { radius = 0.4, edge = 0.08 }
translate = [0, 0, 0.3]
fabric = "gray-interlock"
[obstacle.ball]
sphere = { radius = 0.2 }
translate = [0, 0, -0.25]
[obstacle.wall]
mesh = "WALL"
translate = [0, 0, -0.1]
keyframes = [{ time = 0 }, { time = 0.1, translate = [0, 0, 0.3] }]
"#;

fn world(threads: usize) -> World {
    let wall =
        std::env::temp_dir().join(format!("muslin-wall-{}-{threads}.obj", std::process::id()));
    let text = "v -1 -1 0.01\nv 1 -1 0\nv 1 1 0.02\nv -1 1 0\nf 1 2 3\nf 1 3 4\n";
    std::fs::write(&wall, text).unwrap();
    let scene = SCENE.replace("WALL", &wall.to_string_lossy());
    let s = Simulation::new(&SceneSource::from_text("t", &scene), &[], threads).unwrap();
    std::fs::remove_file(wall).unwrap();
    s.world
}

/// Crumples everything; the same for the same seed.
fn crumple(world: &World, seed: f64) -> Vec<Vec3> {
    let wave = |p: &Vec3, k: f64| (9.0 * p.x + 7.0 * p.y + 5.0 * p.z + k + seed).sin();
    let crumple = |p: &Vec3| *p * 0.4 + Vec3::new(wave(p, 0.0), wave(p, 2.0), wave(p, 4.0)) * 0.12;
    let initial = world.bodies.iter().flat_map(|b| &b.initial);
    initial.map(crumple).collect()
}

/// All pairs of the two moments, found the slow way: kind and vertices.
fn brute_force(world: &World, x1: &[Vec3], dt: f64, p: &DetectParams) -> Vec<(Kind, [u32; 4])> {
    let mut extended = [Vec::new(), Vec::new()];
    world.surface_positions(&world.state.x, world.time, &mut extended[0]);
    world.surface_positions(x1, world.time + dt, &mut extended[1]);
    let wall = &world.obstacle("wall").unwrap().shape;
    // The wall comes last.
    let first = extended[0].len() as u32 - 4;
    let (mut faces, mut edges, mut vertices) = (Vec::new(), Vec::new(), Vec::new());
    for (i, b) in world.bodies.iter().enumerate() {
        let s = b.vertices.start as u32;
        faces.extend(b.topology.faces.iter().map(|f| (i, f.map(|v| v + s))));
        edges.extend(
            b.topology
                .edges
                .iter()
                .map(|e| (i, e.vertices.map(|v| v + s))),
        );
        vertices.extend(b.vertices.clone().map(|v| (i, v as u32)));
    }
    faces.extend(wall.faces().iter().map(|f| (9, f.map(|v| v + first))));
    edges.extend(
        [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]].map(|e: [u32; 2]| (9, e.map(|v| v + first))),
    );
    vertices.extend((first..first + 4).map(|v| (9, v)));
    let mut found = Vec::new();
    let mut look = |kind: Kind, ids: [u32; 4]| {
        let [a, b] = [0, 1].map(|k| ids.map(|v| extended[k][v as usize]));
        let (distance, hit) = if kind == Kind::EdgeEdge {
            (
                edge_edge(a[0], a[1], a[2], a[3]).distance(),
                ccd::edge_edge(a, b, &p.ccd),
            )
        } else {
            (
                point_triangle(a[0], a[1], a[2], a[3]).distance(),
                ccd::vertex_face(a, b, &p.ccd),
            )
        };
        if distance <= p.margin || hit.is_some() {
            found.push((kind, ids));
        }
    };
    for (owner, v) in &vertices {
        for (other, f) in &faces {
            if (*owner, *other) != (9, 9) && !f.contains(v) {
                look(Kind::VertexFace, [*v, f[0], f[1], f[2]]);
            }
        }
    }
    for (i, (owner, e)) in edges.iter().enumerate() {
        for (other, f) in &edges[i + 1..] {
            if (*owner, *other) != (9, 9) && !e.iter().any(|v| f.contains(v)) {
                look(Kind::EdgeEdge, [e[0], e[1], f[0], f[1]]);
            }
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn equals_brute_force_for_any_threads_and_any_tree() {
    let params = DetectParams {
        margin: 0.01,
        prune_angle: -1.0,
        closest_only: false,
        ..DetectParams::default()
    };
    let dt = 0.05;
    let mut first: Option<Vec<Candidate>> = None;
    for threads in [1, 2, 8] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut world = world(threads);
            let mut detector = Detector::default();
            if threads != 1 {
                // Another history: hierarchies of another age.
                for seed in [3.0, 5.0] {
                    world.state.x = crumple(&world, seed);
                    detector.detect(&world, None, dt, &params).unwrap();
                }
            }
            world.state.x = crumple(&world, 0.0);
            let end = crumple(&world, 0.05);
            let all = detector
                .detect(&world, Some(&end), dt, &params)
                .unwrap()
                .to_vec();
            let expected = brute_force(&world, &end, dt, &params);
            let solid = all.iter().filter(|c| c.kind == Kind::VertexSolid).count();
            assert!(
                solid > 0 && expected.len() > 200,
                "{solid} {}",
                expected.len()
            );
            let mut kept: Vec<(Kind, [u32; 4])> =
                all.iter().map(|c| (c.kind, c.vertices)).collect();
            kept.retain(|c| c.0 != Kind::VertexSolid);
            kept.sort_unstable();
            assert_eq!(kept, expected);
            // In steady state nothing more is allocated for the result, and pruning leaves less.
            let pruned = DetectParams {
                prune_angle: 10f64.to_radians(),
                ..params
            };
            let fewer = detector.detect(&world, Some(&end), dt, &pruned).unwrap();
            assert!(!fewer.is_empty() && fewer.len() < all.len());
            let x = detector.start().to_vec();
            for c in &all {
                assert!((c.normal.length() - 1.0).abs() < 1e-12, "{c:?}");
                if c.kind != Kind::VertexSolid {
                    let sum: Vec3 = (0..4)
                        .map(|k| x[c.vertices[k] as usize] * c.weights[k])
                        .sum();
                    assert!((sum - c.gap).length() < 1e-12);
                    assert!(c.weights.iter().sum::<f64>().abs() < 1e-12);
                }
                if c.time == f64::INFINITY {
                    assert!(c.gap.length() <= params.margin + 1e-12 || c.gap.dot(c.normal) < 0.0);
                }
            }
            match &first {
                None => first = Some(all),
                Some(first) => assert_eq!(&all, first, "{threads} threads"),
            }
        });
    }
}

#[test]
fn repetitions_are_pruned_and_different_normals_stay() {
    let candidate = |vertices: [u32; 4], weights: [f64; 4], normal: Vec3, time: f64| Candidate {
        kind: Kind::VertexFace,
        parties: [Party::Cloth(0), Party::Cloth(1)],
        vertices,
        weights,
        gap: normal * 1e-3,
        normal: normal.normalize(),
        surface_velocity: Vec3::ZERO,
        near: true,
        closest: true,
        inner: false,
        share: 1.0,
        time,
    };
    let inf = f64::INFINITY;
    // A vertex above the edge 1-2 of two faces, and the same from an edge's end.
    let mut all = vec![
        candidate([0, 1, 2, 3], [1.0, -0.4, -0.6, 0.0], Vec3::Z, inf),
        candidate(
            [0, 2, 1, 4],
            [1.0, -0.6, -0.4, 0.0],
            Vec3::new(0.05, 0.0, 1.0),
            0.5,
        ),
        candidate([2, 1, 0, 7], [0.6, 0.4, -1.0, 0.0], -Vec3::Z, inf),
        candidate([0, 1, 2, 5], [1.0, -0.4, -0.6, 0.0], Vec3::X, inf),
        candidate([0, 1, 2, 3], [1.0, -0.4, -0.5, -0.1], Vec3::Z, inf),
    ];
    prune(&mut all, 10f64.to_radians());
    let kept: Vec<[u32; 4]> = all.iter().map(|c| c.vertices).collect();
    assert_eq!(kept, [[0, 2, 1, 4], [0, 1, 2, 5], [0, 1, 2, 3]]);
}

/// However little cloth leans over the edge of a box, it is the edge that it lies on.
#[test]
fn cloth_touches_the_edge_of_a_box_at_any_slope() {
    for degrees in [2.0_f64, 6.0, 20.0, 45.0, 80.0] {
        let slope = degrees.to_radians();
        let up = Vec3::new(slope.sin(), 0.0, slope.cos());
        // The middle of the cloth is half a millimetre above the edge at x = 0.1, z = 0.
        let middle = Vec3::new(0.1, 0.0, 0.0) + up * 5e-4;
        let scene = format!(
            "[cloth.a]\ngrid = {{ size = [0.3, 0.05], cells = [3, 3] }}\nfabric = \"gray-interlock\"\n\
             rotate = {{ axis = [0, 1, 0], degrees = {degrees} }}\ntranslate = [{}, 0, {}]\n\
             [obstacle.box]\nbox = {{ size = [0.2, 0.2, 0.2] }}\ntranslate = [0, 0, -0.1]",
            middle.x, middle.z
        );
        let s = Simulation::new(&SceneSource::from_text("t", &scene), &[], 1).unwrap();
        let mut detector = Detector::default();
        let params = DetectParams::default();
        let found = detector.detect(&s.world, None, 0.01, &params).unwrap();
        let along: Vec<_> = found.iter().filter(|c| c.kind == Kind::EdgeEdge).collect();
        assert!(along.len() >= 4, "{degrees} degrees: {found:?}");
        for c in along {
            assert!(c.normal.dot(up) > 1.0 - 1e-9, "{degrees} degrees: {c:?}");
        }
    }
}

/// A spike below the inside of a face is met where it is, nearer than vertices would keep it; a ball below fine cloth leaves
/// everything to the vertices.
#[test]
fn cloth_meets_a_spike_between_its_vertices() {
    let cloth = "[cloth.a]\ngrid = { size = [0.1, 0.1], cells = [2, 2] }\nfabric = \"gray-interlock\"\nthickness = 1e-3\n\
        translate = [0.01, 0.02, 0.0601]";
    let spike =
        "[obstacle.spike]\ncone = { radius = 0.004, height = 0.06 }\ntranslate = [0, 0, 0.03]";
    let found = |obstacle: &str, params: &DetectParams| {
        let source = SceneSource::from_text("t", &format!("{cloth}\n{obstacle}"));
        let s = Simulation::new(&source, &[], 1).unwrap();
        let mut detector = Detector::default();
        detector
            .detect(&s.world, None, 0.01, params)
            .unwrap()
            .to_vec()
    };
    let alone = DetectParams::default();
    assert_eq!(found(spike, &alone), []);
    let params = DetectParams {
        second: SecondLine::Skins,
        ..alone
    };
    let all = found(spike, &params);
    let [tip] = &all[..] else {
        panic!("{all:?}");
    };
    assert_eq!(tip.kind, Kind::VertexFace);
    assert_eq!(tip.parties, [Party::Obstacle(0), Party::Cloth(0)]);
    assert!((tip.gap.length() - 1e-4).abs() < 1e-9 && tip.normal.z < -0.999);
    assert_eq!(tip.share, SECOND_LINE);
    let ball = "[obstacle.ball]\nsphere = { radius = 0.5 }\ntranslate = [0, 0, -0.4408]";
    assert!(
        found(ball, &params)
            .iter()
            .all(|c| c.kind == Kind::VertexSolid)
    );
}

/// Edges that cross over flat cloth are left to the vertices around until they are nearer than half of what is kept.
#[test]
fn edges_in_flat_cloth_count_where_vertices_do_not_keep_them_apart() {
    let edges = |apart: f64, second: SecondLine| {
        let sheet = |name: &str, turned: f64, z: f64| {
            format!(
                "[cloth.{name}]\ngrid = {{ size = [0.1, 0.1], cells = [2, 2] }}\nfabric = \"gray-interlock\"\n\
                 thickness = 1e-3\nrotate = {{ axis = [0, 0, 1], degrees = {turned} }}\ntranslate = [0, 0, {z}]\n"
            )
        };
        let text = sheet("a", 0.0, 0.0) + &sheet("b", 20.0, apart);
        let s = Simulation::new(&SceneSource::from_text("t", &text), &[], 1).unwrap();
        let params = DetectParams {
            second,
            ..DetectParams::default()
        };
        let mut detector = Detector::default();
        let found = detector.detect(&s.world, None, 0.01, &params).unwrap();
        let inside = found.iter().filter(|c| c.kind == Kind::EdgeEdge);
        inside.filter(|c| c.share == SECOND_LINE).count()
    };
    assert_eq!(edges(2e-4, SecondLine::Skins), 0);
    assert!(edges(2e-4, SecondLine::SkinsAndFolds) > 0);
    assert_eq!(edges(9e-4, SecondLine::SkinsAndFolds), 0);
}

/// Those that are a little farther count if they carried an impulse in the last step, and keep the distance that they have.
#[test]
fn edges_that_carried_an_impulse_keep_their_distance() {
    let sheet = |name: &str, turned: f64, z: f64| {
        format!(
            "[cloth.{name}]\ngrid = {{ size = [0.1, 0.1], cells = [2, 2] }}\nfabric = \"gray-interlock\"\n\
             thickness = 1e-3\nrotate = {{ axis = [0, 0, 1], degrees = {turned} }}\ntranslate = [0, 0, {z}]\n"
        )
    };
    let text = sheet("a", 0.0, 0.0) + &sheet("b", 20.0, 9e-4);
    let mut s = Simulation::new(&SceneSource::from_text("t", &text), &[], 1).unwrap();
    let params = |closest_only: bool| DetectParams {
        second: SecondLine::SkinsFoldsAndCarried,
        closest_only,
        ..DetectParams::default()
    };
    let mut detector = Detector::default();
    let all = detector.detect(&s.world, None, 0.01, &params(false));
    let inside = |c: &&Candidate| c.kind == Kind::EdgeEdge && c.inner && !c.closest;
    let carried: Vec<Remembered> = all.unwrap().iter().filter(inside).map(remembered).collect();
    assert!(!carried.is_empty());
    s.world.impulses.clone_from(&carried);
    s.world.impulses.sort_by_key(|r| r.features);
    let found = detector
        .detect(&s.world, None, 0.01, &params(true))
        .unwrap();
    for r in &carried {
        let again = found.iter().find(|c| c.features() == r.features);
        assert!(again.is_some_and(|c| (c.share - 0.9).abs() < 1e-9));
    }
}

fn remembered(c: &Candidate) -> Remembered {
    Remembered {
        features: c.features(),
        impulse: c.normal,
    }
}
