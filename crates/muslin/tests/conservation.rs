//! What no force may change: free fall, momentum, angular momentum.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use muslin::linalg::Vec3;
use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;

fn simulation(text: &str, changes: &[&str]) -> Simulation {
    let changes: Vec<Override> = changes
        .iter()
        .map(|c| Override::parse(c).unwrap())
        .collect();
    Simulation::new(&SceneSource::from_text("test", text), &changes, 2).unwrap()
}

fn momentum(s: &Simulation) -> Vec3 {
    s.world
        .state
        .v
        .iter()
        .zip(&s.world.mass)
        .map(|(v, m)| *v * *m)
        .sum()
}

fn angular_momentum(s: &Simulation) -> Vec3 {
    let state = &s.world.state;
    state
        .x
        .iter()
        .zip(&state.v)
        .zip(&s.world.mass)
        .map(|((x, v), m)| x.cross(*v) * *m)
        .sum()
}

const FREE: &str = r#"
gravity = [0, 0, -9.81]
[solver]
time_step = 0.005
[cloth.sheet]
grid = { size = [0.5, 0.5], cells = [10, 10] }
translate = [0.1, -0.2, 2.0]
fabric = "gray-interlock"
velocity = [0.3, 0.1, 1.0]
"#;

#[test]
fn free_fall_is_the_steppers_exact_solution() {
    for fabric in ["gray-interlock", "paper"] {
        for scheme in ["newton", "linearised"] {
            let mut s = simulation(
                FREE,
                &[
                    &format!("cloth.sheet.fabric={fabric}"),
                    &format!("solver.implicit.scheme={scheme}"),
                ],
            );
            let start = s.world.state.clone();
            let steps = 200;
            for _ in 0..steps {
                s.advance().unwrap();
            }
            let (n, dt, g) = (f64::from(steps), s.dt(), Vec3::new(0.0, 0.0, -9.81));
            for i in 0..start.x.len() {
                let v = start.v[i] + g * (n * dt);
                let x = start.x[i] + start.v[i] * (n * dt) + g * (dt * dt * n * (n + 1.0) / 2.0);
                let (ex, ev) = (
                    (s.world.state.x[i] - x).length(),
                    (s.world.state.v[i] - v).length(),
                );
                assert!(
                    ex < 1e-12 && ev < 1e-12,
                    "{fabric} {scheme}: {ex:e} m, {ev:e} m/s after 1 s"
                );
            }
        }
    }
}

/// A sheet that is thrown, spins and wobbles, with nothing to hold on to.
const WOBBLING: &str = r#"
gravity = [0, 0, 0]
[solver]
time_step = 0.005
[solver.implicit]
scheme = "newton"
tolerance = 1e-10
max_iterations = 50
[cloth.sheet]
grid = { size = [0.5, 0.4], cells = [12, 10] }
fabric = "11oz-black-denim"
velocity = [0.7, -0.4, 0.2]
angular_velocity = [3.0, 2.0, 4.0]
[cloth.card]
grid = { size = [0.2, 0.1], edge = 0.02, diagonals = "unstructured" }
translate = [2, 0, 0]
fabric = "paper"
velocity = [0.0, 0.4, 0.2]
angular_velocity = [1.0, 5.0, 0.0]
"#;

#[test]
fn linear_momentum_does_not_drift() {
    let mut s = simulation(WOBBLING, &["solver.implicit.scheme=linearised"]);
    let before = momentum(&s);
    let mut drift: f64 = 0.0;
    for _ in 0..400 {
        s.advance().unwrap();
        drift = drift.max((momentum(&s) - before).length() / before.length());
    }
    println!("relative drift of linear momentum in 400 steps: {drift:.1e}");
    assert!(drift < 1e-10, "{drift:e}");
}

#[test]
fn angular_momentum_is_kept_to_the_order_of_the_scheme() {
    // Implicit Euler turns a spin of ω into a loss of about ω² dt/2 a second: halving dt must halve the loss.
    let spinning = WOBBLING
        .replace("[3.0, 2.0, 4.0]", "[0.0, 0.0, 4.0]")
        .replace("[0.7, -0.4, 0.2]", "[0, 0, 0]");
    let spinning = spinning.split("[cloth.card]").next().unwrap();
    let loss = |dt: f64| {
        let mut s = simulation(
            spinning,
            &[&format!("solver.time_step={dt}"), "output.frame_rate=50"],
        );
        let before = angular_momentum(&s);
        while s.world.time < 0.5 - 1e-9 {
            s.advance().unwrap();
        }
        1.0 - angular_momentum(&s).length() / before.length()
    };
    let losses = [0.02, 0.01, 0.005, 0.0025].map(loss);
    println!("loss of angular momentum in 0.5 s at 4 rad/s, dt 20, 10, 5, 2.5 ms: {losses:.4?}");
    for pair in losses.windows(2) {
        let ratio = pair[0] / pair[1];
        assert!((1.6..2.4).contains(&ratio), "not first order: {losses:?}");
    }
    assert!(losses[3] < 0.03, "{losses:?}");
}
