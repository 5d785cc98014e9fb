//! Nothing crosses at the end of any step, whatever the method; and what the impulse method promises beyond that.
#![allow(clippy::unwrap_used)]

use muslin::linalg::Vec3;
use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;

fn shipped(name: &str, changes: &[&str]) -> Simulation {
    let changes: Vec<Override> = changes
        .iter()
        .map(|c| Override::parse(c).unwrap())
        .collect();
    Simulation::new(&SceneSource::find(name).unwrap(), &changes, 2).unwrap()
}

fn from_text(text: &str, changes: &[&str]) -> Simulation {
    let changes: Vec<Override> = changes
        .iter()
        .map(|c| Override::parse(c).unwrap())
        .collect();
    Simulation::new(&SceneSource::from_text("test", text), &changes, 2).unwrap()
}

/// Steps on and judges every one; says in how many the fail-safe acted.
fn judged(simulation: &mut Simulation, steps: usize) -> usize {
    assert_eq!(simulation.crossing_start(), None);
    let mut acted = 0;
    for step in 0..steps {
        let report = simulation.advance().unwrap();
        acted += usize::from(report.failsafe);
        assert_eq!(report.trapped, 0, "step {step}");
        let crossings = simulation.crossings();
        assert!(crossings.is_empty(), "step {step}: {crossings:?}");
    }
    acted
}

/// Scenes of the paper and of stress, coarse, from a moment when something happens.
#[test]
fn every_step_of_coarse_scenes_is_free_of_crossings() {
    let cases: [(&str, &[&str], usize); 5] = [
        (
            "curtain_and_ball",
            &["cloth.curtain.grid.cells=[20,20]"],
            30,
        ),
        ("tablecloth_legs", &["cloth.cloth.grid.cells=[20,20]"], 30),
        ("twist", &["cloth.sleeve.tube.cells=[16,16]"], 60),
        ("fast_impact", &["cloth.sheet.grid.cells=[16,16]"], 20),
        ("needles", &["cloth.sheet.grid.cells=[12,12]"], 50),
    ];
    for (name, changes, steps) in cases {
        for method in ["impulse", "implicit"] {
            let method = format!("solver.method={method}");
            let mut all = changes.to_vec();
            all.push(&method);
            all.push("solver.implicit.tolerance=1e-3");
            all.push("solver.implicit.max_sweeps=50");
            judged(&mut shipped(name, &all), steps);
        }
    }
}

/// Cloth on spikes thinner than its cells is held by contact, not by the fail-safe: once it has landed, which takes a quarter
/// of a second. On its fall a few that meet are left to impulses.
#[test]
fn spikes_between_vertices_are_contacts() {
    for method in ["solver.method=impulse", "solver.method=implicit"] {
        let mut s = shipped(
            "needles",
            &[
                "cloth.sheet.grid.cells=[12,12]",
                method,
                "solver.implicit.tolerance=1e-4",
            ],
        );
        judged(&mut s, 60);
        let acted = judged(&mut s, 120);
        assert!(acted <= 6, "{method}: {acted} of 120 steps");
    }
}

const SLOPE: &str = r#"
[output]
frames = 30
[solver]
method = "impulse"
[fabric.felt]
density = 0.2
stretch = { springs = { modulus = 50 } }
[cloth.sheet]
grid = { size = [0.1, 0.1], cells = [4, 4] }
rotate = { axis = [0, 1, 0], degrees = 0 }
fabric = "felt"
thickness = 1e-3
[obstacle.ramp]
plane = { point = [0, 0, -0.5e-3] }
rotate = { axis = [0, 1, 0], degrees = 0 }
friction = 0.5
"#;

#[test]
fn the_impulse_method_slips_within_a_degree_of_the_angle_of_friction() {
    let threshold = 0.5f64.atan().to_degrees();
    for (degrees, slips) in [(threshold - 1.0, false), (threshold + 1.0, true)] {
        let tilt = |what: &str| format!("{what}.rotate.degrees={degrees}");
        let changes = [tilt("cloth.sheet"), tilt("obstacle.ramp")];
        let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        let mut s = from_text(SLOPE, &changes);
        let start = s.world.state.x[12];
        for _ in 0..120 {
            s.advance().unwrap();
        }
        let way = s.world.state.x[12].distance(start);
        let free =
            0.5 * 9.81 * s.world.time.powi(2) * (1f64.to_radians() / threshold.to_radians().cos());
        assert_eq!(
            way > 0.5 * free,
            slips,
            "{degrees} degrees: {way} m of {free} m"
        );
    }
}

#[test]
fn the_impulse_method_slides_and_presses_as_it_should() {
    let tilted = |degrees: f64| {
        let tilt = |what: &str| format!("{what}.rotate.degrees={degrees}");
        let changes = [tilt("cloth.sheet"), tilt("obstacle.ramp")];
        from_text(SLOPE, &changes.each_ref().map(String::as_str))
    };
    let slope = 45f64.to_radians();
    let mut s = tilted(45.0);
    let start = s.world.state.x[12];
    for _ in 0..60 {
        s.advance().unwrap();
    }
    let way = s.world.state.x[12].distance(start);
    let expected = 0.5 * 9.81 * s.world.time.powi(2) * (slope.sin() - 0.5 * slope.cos());
    assert!(
        (way / expected - 1.0).abs() < 0.05,
        "{way} m instead of {expected} m"
    );
    let mut s = tilted(0.0);
    let (mut force, steps) = (Vec3::ZERO, 60);
    for _ in 0..steps {
        s.advance().unwrap();
        force += s.contact_force("sheet").unwrap() / f64::from(steps);
    }
    let weight = 9.81 * s.world.mass.iter().sum::<f64>();
    assert!((force.z / weight - 1.0).abs() < 0.02, "{force} of {weight}");
}

/// Stiff cloth, coarse and in long steps: contact must not feed it energy.
/// Down a slope along the grain, which holds little, and across it, which holds.
#[test]
fn the_impulse_method_rubs_as_the_grain_lies() {
    let way = |grain: &str| {
        let friction = format!("{{ along = 0.1, across = 0.9, direction = {grain} }}");
        let text = format!(
            r#"
[solver]
method = "impulse"
[cloth.sheet]
grid = {{ size = [0.2, 0.2], cells = [6, 6] }}
rotate = {{ axis = [0, 1, 0], degrees = 30 }}
translate = [0.00025, 0, 4.3301e-4]
fabric = "gray-interlock"
thickness = 1e-3
[obstacle.ramp]
plane = {{ point = [0, 0, 0], normal = [0.5, 0, 0.8660254037844386] }}
friction = {friction}
"#
        );
        let mut s = Simulation::new(&SceneSource::from_text("grain", &text), &[], 2).unwrap();
        while s.world.time < 0.5 - 1e-9 {
            s.advance().unwrap();
        }
        let (sin, cos) = 30f64.to_radians().sin_cos();
        let moved = s.world.state.x.iter().zip(&s.world.bodies[0].initial);
        let down = moved.map(|(x, start)| (*x - *start).dot(Vec3::new(cos, 0.0, -sin)));
        (
            down.sum::<f64>() / s.world.state.x.len() as f64,
            s.world.time,
        )
    };
    let (slid, time) = way("[0.8660254037844386, 0, -0.5]");
    let (sin, cos) = 30f64.to_radians().sin_cos();
    let expected = 0.5 * 9.81 * (sin - 0.1 * cos) * time * time;
    let (held, _) = way("[0, 1, 0]");
    println!("along the grain {slid} m ({expected} by hand), across it {held} m");
    assert!((slid / expected - 1.0).abs() < 0.02);
    assert!(held.abs() < 1e-3);
}

#[test]
fn stiff_cloth_stays_calm_with_impulses() {
    let text = r#"
[output]
frames = 60
frame_rate = 50
[solver]
method = "impulse"
time_step = 0.01
[cloth.sheet]
grid = { size = [0.5, 0.5], cells = [8, 8] }
translate = [0, 0, 0.31]
fabric = "wool-woven"
[obstacle.ball]
sphere = { radius = 0.15 }
translate = [0, 0, 0.15]
[obstacle.floor]
plane = {}
[[measure]]
name = "speed"
kind = "largest_speed"
[[measure]]
name = "stretch"
kind = "largest_stretch"
"#;
    let mut s = from_text(text, &[]);
    for _ in 0..120 {
        s.advance().unwrap();
        let measured = s.measure();
        // It falls from 0.31 m, and corners whip round.
        assert!(
            measured["speed"] < 5.0 && measured["stretch"] < 0.1,
            "{measured:?}"
        );
    }
    assert!(s.measure()["speed"] < 1.0);
}

#[test]
fn the_answer_is_the_same_for_any_number_of_threads() {
    let state = |threads: usize| {
        let source = SceneSource::find("twist").unwrap();
        let changes = ["solver.method=impulse", "cloth.sleeve.tube.cells=[16,16]"]
            .map(|c| Override::parse(c).unwrap());
        let mut s = Simulation::new(&source, &changes, threads).unwrap();
        for _ in 0..20 {
            s.advance().unwrap();
        }
        s.world.state
    };
    assert_eq!(state(1), state(2));
}

/// Two sheets pinned into each other's way: pins that close on cloth are told, and cloth stays free of cloth.
#[test]
fn jaws_that_close_are_told_and_let_go_again() {
    let text = r#"
[output]
frames = 60
[solver]
time_step = 0.016666666666666666
[cloth.sheet]
grid = { size = [0.1, 0.1], cells = [6, 6] }
fabric = "wool-woven"
translate = [0, 0, 0.02]
[obstacle.below]
box = { size = [0.3, 0.3, 0.01] }
[obstacle.above]
box = { size = [0.3, 0.3, 0.01] }
translate = [0, 0, 0.04]
keyframes = [{ time = 0 }, { time = 0.4, translate = [0, 0, -0.04] }, { time = 0.8 }]
"#;
    for method in ["solver.method=implicit", "solver.method=impulse"] {
        let mut s = from_text(text, &[method, "solver.implicit.max_sweeps=100"]);
        let mut trapped = 0;
        for _ in 0..60 {
            trapped += s.advance().unwrap().trapped;
            for c in s.crossings() {
                assert_ne!(c.a, c.b, "cloth crosses itself");
            }
        }
        assert!(trapped > 0, "{method}");
        assert_eq!(s.crossings(), [], "{method}: open jaws, but still crossing");
    }
}

/// A sheet hung by two corners and shaken: no edge is longer than the limit once the limiter has been there.
#[test]
fn strain_stays_within_the_limit() {
    use muslin::failsafe::held_inverse_mass;
    use muslin::limit::EdgeLimits;
    let mut s = from_text(
        r#"
[fabric.soft]
density = 0.15
stretch = { springs = { modulus = 5 } }
[cloth.sheet]
grid = { size = [0.4, 0.4], cells = [16, 16] }
fabric = "soft"
[pin.corners]
cloth = "sheet"
nearest = [[-0.2, 0.2, 0], [0.2, 0.2, 0]]
"#,
        &["solver.method=impulse"],
    );
    let mut inverse = Vec::new();
    held_inverse_mass(&s.world, &mut inverse);
    let mut limits = EdgeLimits::default();
    limits.follow(&s.world);
    // A wild proposal: everything falls and trembles.
    let (x, dt) = (s.world.state.x.clone(), 0.01);
    let tremble = |i: usize| {
        let k = |p: usize| ((i * p) % 17) as f64 / 17.0 - 0.5;
        Vec3::new(k(7), k(11), k(13) - 1.0)
    };
    let mut v: Vec<Vec3> = (0..x.len())
        .map(|i| {
            if inverse[i] == Vec3::ZERO {
                Vec3::ZERO
            } else {
                tremble(i)
            }
        })
        .collect();
    let momentum =
        |v: &[Vec3], mass: &[f64]| v.iter().zip(mass).map(|(v, m)| *v * *m).sum::<Vec3>();
    let free: Vec<Vec3> = s.world.mass.iter().map(|m| Vec3::splat(1.0 / m)).collect();
    let mut unheld = v.clone();
    let done = limits.limit_strain(&x, &mut unheld, &free, dt, 0.1);
    assert!(done.sweeps > 0 && done.strain <= 0.102, "{done:?}");
    let lost = momentum(&v, &s.world.mass).distance(momentum(&unheld, &s.world.mass));
    assert!(lost < 1e-13, "{lost}");
    let done = limits.limit_strain(&x, &mut v, &inverse, dt, 0.1);
    assert!(done.strain <= 0.102, "{done:?}");
    let done = limits.limit_rate(&x, &mut v, &inverse, dt, 0.05);
    assert!(done.strain <= 0.051, "{done:?}");
    for _ in 0..40 {
        s.advance().unwrap();
    }
    let body = &s.world.bodies[0];
    let longest = body.topology.edges.iter().map(|e| {
        let [a, b] = e.vertices.map(|v| s.world.state.x[v as usize]);
        let [p, q] = e.vertices.map(|v| x[v as usize]);
        a.distance(b) / p.distance(q) - 1.0
    });
    let longest = longest.fold(0.0, f64::max);
    assert!(longest <= 0.102, "{longest}");
}
