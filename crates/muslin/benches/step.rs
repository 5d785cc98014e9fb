//! Seconds per step by phase, over mesh sizes; assembly on one thread and two; memory. Prints Markdown tables.
//! `cargo bench -p muslin --bench step -- 20` runs one size (thousands of triangles).
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use muslin::force::StepContext;
use muslin::linalg::{BlockMatrix, Mat3, Vec3};
use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;
use std::time::Instant;

const SCENE: &str = r#"
[solver]
time_step = 0.005
[cloth.sheet]
grid = { size = [1, 1], cells = [50, 50] }
fabric = "11oz-black-denim"
[pin.corners]
cloth = "sheet"
nearest = [[-0.5, -0.5, 0], [-0.5, 0.5, 0]]
"#;

fn simulation(cells: usize, changes: &[&str], threads: usize) -> Simulation {
    let mut all: Vec<Override> = changes
        .iter()
        .map(|c| Override::parse(c).unwrap())
        .collect();
    all.push(Override::parse(&format!("cloth.sheet.grid.cells=[{cells}, {cells}]")).unwrap());
    Simulation::new(&SceneSource::from_text("bench", SCENE), &all, threads).unwrap()
}

/// Best of several repetitions, s: the least disturbed one on a noisy machine.
fn best(repetitions: usize, mut work: impl FnMut()) -> f64 {
    (0..repetitions)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// One assembly of gradient and matrix, s.
fn assembly(cells: usize, threads: usize, fabric: &str) -> f64 {
    let mut s = simulation(
        cells,
        &[
            "solver.implicit.scheme=linearised",
            &format!("cloth.sheet.fabric={fabric}"),
        ],
        threads,
    );
    for _ in 0..3 {
        s.advance().unwrap();
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    let n = s.world.state.x.len();
    let mut matrix = BlockMatrix::zeros(s.world.forces.pattern());
    let mut gradient = vec![Vec3::ZERO; n];
    pool.install(|| {
        let context = StepContext {
            time: 0.0,
            dt: 0.005,
        };
        let (x, v) = (s.world.state.x.clone(), s.world.state.v.clone());
        best(15, || {
            s.world.forces.begin_step(&x, &v, &context);
            matrix.values.fill(Mat3::ZERO);
            gradient.fill(Vec3::ZERO);
            s.world
                .forces
                .linearise(&x, &mut gradient, &mut matrix.values, 2.5e-5);
        })
    })
}

fn main() {
    let chosen: Option<usize> = std::env::args().skip(1).find_map(|a| a.parse().ok());
    let sizes: Vec<usize> = [5, 20, 80, 320]
        .into_iter()
        .filter(|k| chosen.is_none_or(|c| c == *k))
        .collect();

    println!("Assembly of stretch and bending with Hessians, ms (best of 15):\n");
    println!(
        "| triangles | hinge, 1 thread | 2 threads | ratio | curvature, 1 thread | 2 threads |"
    );
    println!("|---|---|---|---|---|---|");
    for &k in sizes.iter().filter(|k| **k <= 80) {
        let cells = (f64::from(k as u32) * 500.0).sqrt().round() as usize;
        let [one, two] = [1, 2].map(|t| 1e3 * assembly(cells, t, "11oz-black-denim"));
        let [plate_one, plate_two] = [1, 2].map(|t| 1e3 * assembly(cells, t, "garment-leather"));
        println!(
            "| {} | {one:.1} | {two:.1} | {:.2} | {plate_one:.1} | {plate_two:.1} |",
            2 * cells * cells,
            one / two
        );
    }

    println!(
        "\nA linearised step of 5 ms, two threads, denim; ms a step (mean of the steps after the first):\n"
    );
    println!(
        "| triangles | solver | total | assembly | factorise | solve | iterations | bytes a vertex |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for &k in &sizes {
        let cells = (f64::from(k as u32) * 500.0).sqrt().round() as usize;
        for solver in ["cholesky", "cg", "auto"] {
            if k == 320 && solver == "cholesky" {
                continue;
            }
            let set = [
                "solver.implicit.scheme=linearised".to_string(),
                format!("solver.implicit.linear_solver={solver}"),
            ];
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            let mut s = simulation(cells, &set, 2);
            s.advance().unwrap();
            let steps = if k >= 80 { 3 } else { 10 };
            let reports: Vec<_> = (0..steps).map(|_| s.advance().unwrap()).collect();
            let mean = |phase: &str| {
                let sum: f64 = reports
                    .iter()
                    .map(|r| r.seconds.get(phase).copied().unwrap_or(0.0))
                    .sum();
                1e3 * sum / f64::from(steps)
            };
            let iterations: usize = reports.iter().map(|r| r.linear_iterations).sum();
            let n = s.world.state.x.len();
            // Matrix, and the stepper's eight vectors and mask.
            let bytes = s.world.bytes() + s.world.forces.pattern().blocks() * 72 + n * (24 * 8 + 3);
            println!(
                "| {} | {solver}{} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} | {} |",
                2 * cells * cells,
                if solver == "auto" {
                    format!(" ({})", reports[0].linear_solver)
                } else {
                    String::new()
                },
                mean("total"),
                mean("assembly"),
                mean("factorise"),
                mean("solve"),
                iterations as f64 / f64::from(steps),
                bytes / n
            );
        }
    }
}
