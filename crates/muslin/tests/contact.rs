//! What contact may not change, and what it must survive: momentum, threads, situations without an answer.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use muslin::linalg::Vec3;
use muslin::scene::SceneSource;
use muslin::simulation::Simulation;

fn simulation(text: &str, threads: usize) -> Simulation {
    Simulation::new(&SceneSource::from_text("test", text), &[], threads).unwrap()
}

/// A sheet and a band are thrown against another sheet: contact of cloth with cloth, and nothing else acts.
const COLLIDING: &str = r#"
gravity = [0, 0, 0]
[output]
frame_rate = 100
[solver]
time_step = 0.001
[solver.implicit]
tolerance = 1e-9
[contact]
friction = 0.5
[cloth.below]
grid = { size = [0.3, 0.3], cells = [10, 10] }
fabric = "gray-interlock"
thickness = 2e-3
[cloth.above]
grid = { size = [0.25, 0.2], cells = [9, 7] }
translate = [0.05, 0.03, 0.02]
rotate = { axis = [0, 1, 0], degrees = 8 }
fabric = "gray-interlock"
thickness = 2e-3
velocity = [0.4, 0.1, -1.5]
[cloth.band]
tube = { radius = 0.04, length = 0.1, cells = [16, 6] }
translate = [0, 0, 0.1]
fabric = "gray-interlock"
thickness = 2e-3
velocity = [0, 0, -2]
"#;

#[test]
fn contact_of_cloth_with_cloth_conserves_momentum() {
    conserves_momentum(simulation(COLLIDING, 2), 60);
}

/// One sheet folded over its middle, its upper half thrown against the lower one.
#[test]
fn contact_of_cloth_with_itself_conserves_momentum() {
    let text = r#"
gravity = [0, 0, 0]
[solver]
time_step = 0.001
[solver.implicit]
tolerance = 1e-9
[contact]
friction = 0.5
[cloth.folded]
grid = { size = [0.3, 0.1], cells = [30, 10] }
fabric = "gray-interlock"
thickness = 2e-3
"#;
    let mut s = simulation(text, 2);
    let radius = 0.005;
    let bend = std::f64::consts::PI * radius;
    let start = s.world.bodies[0].initial.clone();
    for (i, from) in start.into_iter().enumerate() {
        let along = from.x.clamp(0.0, bend);
        let (sin, cos) = (along / radius).sin_cos();
        let x = if from.x > bend {
            bend - from.x
        } else {
            from.x.min(0.0)
        };
        let folded = Vec3::new(x + radius * sin, from.y, radius * (1.0 - cos));
        // A twist, so that no vertex meets one of its like.
        s.world.state.x[i] = folded + Vec3::Y * (0.3 * folded.z);
        if from.x > bend {
            s.world.state.v[i] = Vec3::new(0.3, 0.1, -1.0);
        }
    }
    conserves_momentum(s, 40);
}

/// Impulses of cloth on cloth cancel. Along the normal they have no lever, for the points at which a contact acts face each
/// other; had a contact been moved to vertices, it would turn the cloth. Friction has the distance kept as its lever.
fn conserves_momentum(mut s: Simulation, steps: usize) {
    let momentum = |s: &Simulation| -> Vec3 {
        let both = s.world.state.v.iter().zip(&s.world.mass);
        both.map(|(v, m)| *v * *m).sum()
    };
    let before = momentum(&s);
    let (mut drift, mut contacts, mut lever): (f64, usize, f64) = (0.0, 0, 0.0);
    for _ in 0..steps {
        let x = s.world.state.x.clone();
        let report = s.advance().unwrap();
        assert!(report.converged, "{report:?}");
        drift = drift.max((momentum(&s) - before).length() / before.length());
        let Some(solved) = s.solved_problem() else {
            continue;
        };
        contacts = contacts.max(report.contacts);
        for (c, r) in solved.problem.contacts.iter().zip(solved.r) {
            let impulse = c.frame.transpose() * *r;
            let (mut force, mut torque) = (Vec3::ZERO, Vec3::ZERO);
            let pressed = c.frame.row(0) * r.x;
            for (n, w) in c.arms() {
                force += impulse * w;
                torque += x[n].cross(pressed * w);
            }
            let size = r.length();
            assert!(force.length() <= 1e-14 * size, "{force} of {size}");
            if size > 0.0 {
                lever = lever.max(torque.length() / size);
            }
        }
    }
    println!(
        "relative drift of momentum {drift:.1e}, longest lever {lever:.1e} m, up to {contacts} contacts"
    );
    assert!(contacts > 30, "{contacts} contacts");
    assert!(lever < 1e-12, "{lever} m");
    assert!(drift < 1e-8, "{drift:e}");
}

#[test]
fn contact_gives_the_same_bits_for_any_number_of_threads() {
    let after = |threads: usize| {
        let mut s = simulation(COLLIDING, threads);
        for _ in 0..40 {
            s.advance().unwrap();
        }
        let state = &s.world.state;
        let impulses: Vec<Vec3> = s.world.impulses.iter().map(|r| r.impulse).collect();
        (state.x.clone(), state.v.clone(), impulses)
    };
    let one = after(1);
    assert!(!one.2.is_empty());
    for threads in [2, 8] {
        assert!(after(threads) == one, "{threads} threads");
    }
}

/// One sheet is crushed between boxes that close beyond it; another slides down a slope ten metres away.
const CRUSHED: &str = r#"
[solver]
time_step = 0.005
[contact]
friction = 0.4
[cloth.crushed]
grid = { size = [0.2, 0.2], cells = [4, 4] }
fabric = "gray-interlock"
thickness = 1e-3
[obstacle.lower]
box = { size = [0.3, 0.3, 0.1] }
translate = [0, 0, -0.051]
[obstacle.upper]
box = { size = [0.3, 0.3, 0.1] }
translate = [0, 0, 0.06]
path = { z = "-0.2*t" }
[cloth.sliding]
grid = { size = [0.2, 0.2], cells = [4, 4] }
translate = [10.00025, 0, 4.3301e-4]
rotate = { axis = [0, 1, 0], degrees = 30 }
fabric = "gray-interlock"
thickness = 1e-3
[obstacle.ramp]
box = { size = [4, 1, 0.1] }
translate = [9.975, 0, -0.0433013]
rotate = { axis = [0, 1, 0], degrees = 30 }
"#;

#[test]
fn what_cannot_be_obeyed_is_reported_and_the_rest_stays_accurate() {
    let mut s = simulation(CRUSHED, 2);
    let mut yielding_at = None;
    let steps = 20;
    for _ in 0..steps {
        let report = s.advance().unwrap();
        if report.yielding > 0 && yielding_at.is_none() {
            yielding_at = Some((report.time, report.yielding_at.unwrap()));
        }
    }
    let (time, place) = yielding_at.expect("crushed cloth was not reported");
    println!("first contact that yields at t = {time:.3} s, {place:?}");
    assert!(place[0].abs() < 0.3, "{place:?} is not where the boxes are");
    let (sin, cos) = 30f64.to_radians().sin_cos();
    let (dt, n) = (s.dt(), f64::from(steps));
    let way = 0.5 * 9.81 * (sin - 0.4 * cos) * dt * dt * n * (n + 1.0);
    let down = Vec3::new(cos, 0.0, -sin);
    let body = s.world.bodies.iter().find(|b| b.name == "sliding").unwrap();
    for (x, start) in s.world.state.x[body.vertices.clone()]
        .iter()
        .zip(&body.initial)
    {
        let moved = (*x - *start).dot(down);
        assert!(
            (moved / way - 1.0).abs() < 1e-3,
            "{moved} m instead of {way}"
        );
    }
}
