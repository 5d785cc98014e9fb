//! Promises of the engine: the same bits for any number of threads, and stability over time steps and fabrics.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use muslin::linalg::Vec3;
use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;

fn state_after(text: &str, changes: &[&str], threads: usize, steps: usize) -> Vec<Vec3> {
    let changes: Vec<Override> = changes
        .iter()
        .map(|c| Override::parse(c).unwrap())
        .collect();
    let mut s = Simulation::new(&SceneSource::from_text("test", text), &changes, threads).unwrap();
    for _ in 0..steps {
        s.advance().unwrap();
    }
    s.world
        .state
        .x
        .iter()
        .chain(&s.world.state.v)
        .copied()
        .collect()
}

const TWO_SHEETS: &str = r#"
[cloth.a]
grid = { size = [1, 1], cells = [45, 45] }
fabric = "ivory-rib-knit"
[cloth.b]
disc = { radius = 0.3, edge = 0.03 }
translate = [0, 0, 1]
fabric = "garment-leather"
[cloth.c]
sphere = { radius = 0.1, subdivisions = 2 }
translate = [2, 0, 1]
fabric = "springs"
[fabric.springs]
density = 0.1
stretch.springs = { modulus = 100 }
bend = { rigidity = 1e-5, element = "hinge" }
[pin.a]
cloth = "a"
nearest = [[-0.5, -0.5, 0]]
[pin.b]
cloth = "b"
sphere = { center = [0, 0, 1], radius = 0.1 }
path = { x = "0.1*sin(3*t)", z = "0.05*t" }
[wind]
velocity = [1, 0.5, 0]
"#;

#[test]
fn same_bits_for_any_number_of_threads() {
    for solver in ["cholesky", "cg"] {
        let changes = [format!("solver.implicit.linear_solver={solver}")];
        let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        let one = state_after(TWO_SHEETS, &changes, 1, 6);
        for threads in [2, 8] {
            assert_eq!(
                one,
                state_after(TWO_SHEETS, &changes, threads, 6),
                "{threads} threads, {solver}"
            );
        }
    }
}

#[test]
fn factorisation_and_conjugate_gradients_agree() {
    let a = state_after(
        TWO_SHEETS,
        &["solver.implicit.linear_solver=cholesky"],
        2,
        6,
    );
    let b = state_after(TWO_SHEETS, &["solver.implicit.linear_solver=cg"], 2, 6);
    let difference = a
        .iter()
        .zip(&b)
        .map(|(a, b)| (*a - *b).length())
        .fold(0.0, f64::max);
    assert!(difference < 1e-4, "{difference}");
}

const HANGING: &str = r#"
[cloth.sheet]
grid = { size = [0.6, 0.6], cells = [10, 10] }
fabric = "x"
[pin.corners]
cloth = "sheet"
nearest = [[-0.3, -0.3, 0], [-0.3, 0.3, 0]]
[wind]
density = 12.0  # thick air: the swing ends soon, the fabric is what is tested
"#;

/// Every measured fabric hangs, swings and comes to rest at every step length.
#[test]
fn measured_fabrics_come_to_rest_at_any_step() {
    use rayon::prelude::*;
    let cases: Vec<(&str, u32)> = muslin::material::shipped_fabrics()
        .filter(|f| {
            muslin::material::shipped_fabric(f).is_some_and(|f| !f.stretch_law().is_constant())
        })
        .flat_map(|f| [2, 5, 10, 16].map(|ms| (f, ms)))
        .collect();
    let results: Vec<String> = cases
        .into_par_iter()
        .map(|(fabric, ms)| {
            let changes = [
                format!("cloth.sheet.fabric={fabric}"),
                format!("solver.time_step={}", f64::from(ms) / 1000.0),
                format!("output.frame_rate={}", 1000.0 / f64::from(ms)),
            ];
            let changes: Vec<Override> = changes.iter().map(|c| Override::parse(c).unwrap()).collect();
            let mut s = Simulation::new(&SceneSource::from_text("hanging", HANGING), &changes, 1).unwrap();
            let (mut fastest, mut unconverged, mut steps) = (0.0f64, 0, 0);
            while s.world.time < 3.0 {
                unconverged += usize::from(!s.advance().unwrap().converged);
                steps += 1;
                fastest = s.world.state.v.iter().map(|v| v.length()).fold(fastest, f64::max);
            }
            let speed = s.world.state.v.iter().map(|v| v.length()).fold(0.0, f64::max);
            let fine = fastest < 10.0 && speed < 0.15 && unconverged == 0;
            let verdict = if fine { "" } else { " BAD" };
            format!("{fabric:20} {ms:3} ms: largest speed {fastest:.2}, at the end {speed:.4} m/s, {unconverged} of {steps} unconverged{verdict}")
        })
        .collect();
    let table = results.join("\n");
    println!("{table}");
    assert!(!table.contains("BAD"), "{table}");
}
