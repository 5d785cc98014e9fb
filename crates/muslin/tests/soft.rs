//! Soft bodies: what theory says of bars, blocks on slopes and balls on the floor, and what they may not do: cross.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use muslin::contact::Party;
use muslin::linalg::Vec3;
use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;
use std::fmt::Write as _;

fn simulation(text: &str, changes: &[&str], threads: usize) -> Simulation {
    let changes: Vec<Override> = changes
        .iter()
        .map(|c| Override::parse(c).unwrap())
        .collect();
    Simulation::new(&SceneSource::from_text("test", text), &changes, threads).unwrap()
}

/// The bar of the notes: 0.2 x 0.02 x 0.02 m, 1e5 Pa, held at one end. Long steps damp everything but the rest state.
const BAR: &str = r#"
gravity = [0, 0, 0]
[output]
frame_rate = 0.2
[solver]
time_step = 1.0
[solver.implicit]
scheme = "newton"
tolerance = 1e-9
[contact]
between = "nothing"
[soft.bar]
box = { size = [0.2, 0.02, 0.02], cells = [10, 1, 1] }
density = 1000
young = 1e5
poisson = 0.3
damping = 0
[pin.wall]
soft = "bar"
box = { min = [-0.11, -1, -1], max = [-0.0999, 1, 1] }
[force.load]
soft = "bar"
box = { min = [0.0999, -1, -1], max = [0.11, 1, 1] }
force = [1e-3, 0, 0]
"#;

/// Mean displacement of the free end, and how much wider the middle has become, m.
fn loaded_bar(across: usize, force: &str) -> (Vec3, f64) {
    let cells = format!("soft.bar.box.cells=[{}, {across}, {across}]", 10 * across);
    loaded(&mut simulation(BAR, &[&cells, force], 1))
}

/// The same of any bar.
fn loaded(s: &mut Simulation) -> (Vec3, f64) {
    for _ in 0..4 {
        s.advance().unwrap();
    }
    let body = &s.world.bodies[0];
    let now = &s.world.state.x;
    let end = |i: &usize| body.initial[*i].x > 0.0999;
    let free: Vec<usize> = (0..body.initial.len()).filter(end).collect();
    let moved: Vec3 = free.iter().map(|i| now[*i] - body.initial[*i]).sum();
    let side = |sign: f64| {
        let near =
            |i: &usize| body.initial[*i].x.abs() < 0.011 && body.initial[*i].y * sign > 0.0099;
        let own: Vec<usize> = (0..body.initial.len()).filter(near).collect();
        own.iter().map(|i| now[*i].y).sum::<f64>() / own.len() as f64
    };
    (moved / free.len() as f64, side(1.0) - side(-1.0) - 0.02)
}

#[test]
fn a_bar_stretches_and_thins_as_hooke_and_poisson_say() {
    // Force over stiffness: F L / (E A) = 5e-6 m; a hair more, because the wall holds the end's width too.
    let (moved, wider) = loaded_bar(2, "force.load.force=[1e-3, 0, 0]");
    println!("stretch {moved} wider {wider}");
    assert!((moved.x / 5e-6 - 1.0).abs() < 0.01, "{moved}");
    // Poisson ratio times strain times width.
    assert!(
        (wider / (-0.3 * 2.5e-5 * 0.02) - 1.0).abs() < 0.01,
        "{wider}"
    );
}

/// TetGen's files of the bar cut into cubes, each along the same diagonal.
fn write_bar(folder: &std::path::Path, across: usize) {
    let (n, edge) = (10 * across, 0.02 / across as f64);
    let id = |[i, j, k]: [usize; 3]| (i * (across + 1) + j) * (across + 1) + k;
    let mut nodes = format!("{} 3 0 0\n", (n + 1) * (across + 1) * (across + 1));
    let mut elements = format!("{} 4 0\n", 6 * n * across * across);
    let walks = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for i in 0..=n {
        for j in 0..=across {
            for k in 0..=across {
                let [x, y, z] = [i, j, k].map(|c| c as f64 * edge);
                let number = id([i, j, k]);
                writeln!(nodes, "{number} {} {} {}", x - 0.1, y - 0.01, z - 0.01).unwrap();
                if i == n || j == across || k == across {
                    continue;
                }
                for walk in walks {
                    let mut place = [i, j, k];
                    write!(elements, "{number} {}", id(place)).unwrap();
                    for axis in walk {
                        place[axis] += 1;
                        write!(elements, " {}", id(place)).unwrap();
                    }
                    elements.push('\n');
                }
            }
        }
    }
    std::fs::write(folder.join("bar.node"), nodes).unwrap();
    std::fs::write(folder.join("bar.ele"), elements).unwrap();
}

#[test]
fn a_bar_bends_as_the_reference_does() {
    // Beam theory: F L³ / (3 E I) = 2e-4 m. Linear tetrahedra are too stiff, less so on finer meshes.
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../reference/tet_corotational.json"
    );
    let data: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let folder = std::env::temp_dir().join(format!("muslin-bar-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for across in [1, 2] {
        write_bar(&folder, across);
        let file = folder.join("bar.node").to_string_lossy().into_owned();
        let shape = format!("mesh = {file:?}");
        let text = BAR.replace(
            "box = { size = [0.2, 0.02, 0.02], cells = [10, 1, 1] }",
            &shape,
        );
        let mut s = simulation(&text, &["force.load.force=[0, 0, -1e-4]"], 1);
        let (moved, _) = loaded(&mut s);
        let known = data["cantilever"][across - 1]["tip_deflection"]
            .as_f64()
            .unwrap();
        println!("{across} across: {} m, reference {known} m", -moved.z);
        assert!((-moved.z / known - 1.0).abs() < 1e-3, "{moved}");
        // Cubes that mirror each other are softer, as they should be, and still stiffer than the beam.
        let (mirrored, _) = loaded_bar(across, "force.load.force=[0, 0, -1e-4]");
        println!(
            "{across} across, mirrored: {} of the beam",
            -mirrored.z / 2e-4
        );
        assert!(-mirrored.z > known && -mirrored.z < 2e-4, "{mirrored}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

const FREE: &str = r#"
gravity = [0, 0, 0]
[output]
frame_rate = 100
[solver]
time_step = 0.01
[soft.ring]
torus = { radius = 0.1, tube = 0.03, edge = 0.03 }
material = "rubber"
velocity = [0.3, 0, 0.1]
angular_velocity = [0, 2, 1]
"#;

#[test]
fn a_free_body_keeps_its_momentum_and_its_shape() {
    let mut s = simulation(FREE, &[], 1);
    let momentum = |s: &Simulation| {
        let (mut p, mut l) = (Vec3::ZERO, Vec3::ZERO);
        for (i, m) in s.world.mass.iter().enumerate() {
            p += s.world.state.v[i] * *m;
            l += s.world.state.x[i].cross(s.world.state.v[i]) * *m;
        }
        (p, l)
    };
    let (p0, l0) = momentum(&s);
    for _ in 0..20 {
        assert!(s.advance().unwrap().converged);
    }
    let (p1, l1) = momentum(&s);
    assert!((p1 - p0).length() < 1e-12 * p0.length(), "{p0} {p1}");
    // Implicit steps damp rotation a little: (ω dt)² a step.
    assert!((l1 - l0).length() < 0.02 * l0.length(), "{l0} {l1}");
}

const BALL: &str = r"
[output]
frame_rate = 60
[solver]
time_step = 0.01
[soft.ball]
ball = { radius = 0.1, edge = 0.05 }
translate = [0, 0, 0.101]
density = 1000
young = 5e4
poisson = 0.45
damping = 0.05
[obstacle.floor]
plane = {}
";

#[test]
fn a_ball_at_rest_on_the_floor_keeps_its_volume() {
    let mut s = simulation(BALL, &[], 1);
    let volume = |s: &Simulation| -> f64 {
        let body = &s.world.bodies[0];
        let at = |v: u32| s.world.state.x[v as usize];
        let each = body.tetrahedra.iter();
        each.map(|t| muslin::geometry::tet::volume(t.map(at))).sum()
    };
    let before = volume(&s);
    for _ in 0..60 {
        s.advance().unwrap();
    }
    let fastest = s
        .world
        .state
        .v
        .iter()
        .map(|v| v.length())
        .fold(0.0, f64::max);
    let body = &s.world.bodies[0];
    let top = |x: &[Vec3]| x.iter().map(|p| p.z).fold(0.0, f64::max);
    let sunk = top(&body.initial) - top(&s.world.state.x);
    let lost = volume(&s) / before - 1.0;
    println!("fastest {fastest} m/s, volume changed by {lost:.5}, top sank by {sunk:.5} m");
    assert!(
        fastest < 1e-3 && sunk > 0.002,
        "it is at rest and its weight shows"
    );
    assert!(lost.abs() < 0.02, "{lost}");
    // Contacts are those of the surface: nothing inside has touched the floor.
    let surface = body.surface.clone();
    assert!(surface.len() < body.vertices.len());
    assert!(!s.world.impulses.is_empty());
    for kept in &s.world.impulses {
        assert!(surface.contains(&(kept.features.vertices[0] as usize)));
    }
}

/// A slope, a coefficient, and whether the box slides.
#[test]
fn a_box_on_a_slope_slides_or_holds_as_coulomb_says() {
    for (degrees, mu) in [(30.0f64, 0.4), (45.0, 0.7), (30.0, 0.7)] {
        let changes = [
            format!("soft.box.rotate.degrees={degrees}"),
            format!("obstacle.ramp.rotate.degrees={degrees}"),
            format!("obstacle.ramp.friction={mu}"),
            "soft.box.box.cells=[2, 2, 1]".into(),
            "measure=[]".into(),
        ];
        let changes: Vec<Override> = changes
            .iter()
            .map(|c| Override::parse(c).unwrap())
            .collect();
        let source = SceneSource::find("analytical_box").unwrap();
        let mut s = Simulation::new(&source, &changes, 1).unwrap();
        let steps = 60;
        for _ in 0..steps {
            let report = s.advance().unwrap();
            assert!(report.converged, "{report:?}");
        }
        let (sin, cos) = degrees.to_radians().sin_cos();
        let down = Vec3::new(cos, 0.0, -sin);
        let body = &s.world.bodies[0];
        let total: f64 = s.world.mass.iter().sum();
        let each = s.world.state.x.iter().zip(&body.initial).zip(&s.world.mass);
        let way = each
            .map(|((x, start), m)| (*x - *start).dot(down) * *m)
            .sum::<f64>()
            / total;
        let t = f64::from(steps) * s.dt();
        let expected = (9.81 * (sin - mu * cos) * t * (t + s.dt()) / 2.0).max(0.0);
        println!("{degrees} degrees, {mu}: {way} m, expected {expected} m");
        if expected > 0.0 {
            assert!(
                (way / expected - 1.0).abs() < 1e-3,
                "{way} against {expected}"
            );
        } else {
            // Shear of the material, and no motion of what touches.
            assert!(way.abs() < 1e-5, "{way}");
            let below = |i: &usize| s.world.state.v[*i].length();
            let fastest = body.surface.clone().map(|i| below(&i)).fold(0.0, f64::max);
            assert!(fastest < 1e-6, "{fastest} m/s");
        }
    }
}

const PILE: &str = r#"
[output]
frame_rate = 50
[solver]
time_step = 0.01
[contact]
friction = 0.4
[soft.below]
box = { size = [0.12, 0.12, 0.06], cells = [3, 3, 2] }
translate = [0, 0, 0.031]
density = 300
young = 3e4
damping = 0.02
[soft.above]
ball = { radius = 0.04, edge = 0.025 }
translate = [0.01, 0.005, 0.11]
velocity = [0, 0, -1]
density = 600
young = 3e4
damping = 0.02
[cloth.cover]
grid = { size = [0.2, 0.2], cells = [10, 10] }
translate = [0, 0, 0.156]
fabric = "gray-interlock"
thickness = 1e-3
[obstacle.floor]
plane = {}
"#;

#[test]
fn soft_bodies_and_cloth_pile_up_without_crossing_in_both_methods() {
    for method in ["implicit", "impulse"] {
        let mut s = simulation(PILE, &[&format!("solver.method={method}")], 2);
        assert!(s.crossing_start().is_none());
        let mut met = [false; 3];
        for _ in 0..30 {
            let report = s.advance().unwrap();
            assert_eq!(report.intersections.unwrap_or(0), 0, "{method}: {report:?}");
            assert!(s.crossings().is_empty(), "{method}");
            for touch in &s.world.touches {
                let name = |p: Party| match p {
                    Party::Cloth(i) => s.world.bodies[i].name.as_str(),
                    Party::Obstacle(_) => "floor",
                };
                let [a, b] = touch.parties.map(name);
                for (k, pair) in [["above", "below"], ["above", "cover"], ["below", "floor"]]
                    .iter()
                    .enumerate()
                {
                    met[k] |= pair.contains(&a) && pair.contains(&b) && a != b;
                }
            }
        }
        assert_eq!(
            met, [true; 3],
            "{method}: soft on soft, cloth on soft, soft on the floor"
        );
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let run = |threads: usize| {
        let mut s = simulation(PILE, &[], threads);
        for _ in 0..6 {
            s.advance().unwrap();
        }
        s.world.state
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

#[test]
fn frames_keep_the_tetrahedra_and_come_back_whole() {
    let folder = std::env::temp_dir().join(format!("muslin-soft-{}", std::process::id()));
    let mut s = simulation(FREE, &["output.frames=2"], 1);
    let mut run = muslin::record::RunFolder::create(&folder, &s).unwrap();
    for _ in 0..2 {
        let report = s.advance().unwrap();
        run.step(&s, &report).unwrap();
    }
    let reader = muslin::record::FrameReader::open(&folder).unwrap();
    let frame = reader.read(2).unwrap();
    let (body, own) = (&frame.bodies[0], &s.world.bodies[0]);
    assert_eq!(body.tetrahedra.len(), own.tetrahedra.len());
    assert_eq!(body.positions, s.world.state.x);
    assert_eq!(body.surface_vertices(), own.surface.len());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn copies_fall_alike_and_apart() {
    let changes = [
        "gravity=[0, 0, -9.81]",
        "soft.bar.copies={ count = [1, 2, 2], spacing = [0, 0.1, 0.2] }",
    ];
    let scene = BAR.split("[pin.wall]").next().unwrap();
    let mut one = simulation(scene, &changes[..1], 1);
    let mut four = simulation(scene, &changes, 1);
    let n = one.world.state.x.len();
    assert_eq!(four.world.state.x.len(), 4 * n);
    let all: f64 = four.world.mass.iter().sum();
    assert!((all - 4.0 * one.world.mass.iter().sum::<f64>()).abs() < 1e-12);
    assert!(four.crossing_start().is_none());
    one.advance().unwrap();
    four.advance().unwrap();
    // Every vertex of a copy is where that of the single one is, and a few spacings further.
    let shifts = [[0.0, 0.0], [0.1, 0.0], [0.0, 0.2], [0.1, 0.2]];
    for x in &one.world.state.x {
        for [y, z] in shifts {
            let wanted = *x + Vec3::new(0.0, y, z);
            let nearest = four.world.state.x.iter().map(|x| x.distance(wanted));
            assert!(nearest.fold(1.0, f64::min) < 1e-6);
        }
    }
}

#[test]
fn copies_that_make_no_sense_are_refused() {
    for (change, key) in [
        (
            "soft.bar.copies={ count = [1, 0, 2], spacing = [1, 1, 1] }",
            "soft.bar.copies.count",
        ),
        (
            "soft.bar.copies={ count = [900, 900, 900], spacing = [1, 1, 1] }",
            "soft.bar.copies.count",
        ),
        (
            "soft.bar.copies={ count = [1, 1, 2], spacing = [1, 1, 1e9] }",
            "soft.bar.copies.spacing",
        ),
    ] {
        let change = Override::parse(change).unwrap();
        let source = SceneSource::from_text("test", BAR);
        let error = Simulation::new(&source, &[change], 1).err().unwrap();
        assert!(error.key.starts_with(key), "{}", error.key);
    }
    let changes = [
        "soft.bar.copies={ count = [1, 1, 2], spacing = [1, 1, 1] }",
        "soft.bar.angular_velocity=[1, 0, 0]",
    ]
    .map(|c| Override::parse(c).unwrap());
    let source = SceneSource::from_text("test", BAR);
    let error = Simulation::new(&source, &changes, 1).err().unwrap();
    assert_eq!(error.key, "soft.bar.angular_velocity");
}
