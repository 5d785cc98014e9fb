//! Sweeps, factorisations and time of every method on the problem families, and of the 80 x 80 sheet by stiffness,
//! friction, tolerance and threads. Prints Markdown tables; arguments pick families by part of their name.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use muslin_friction::families::{self, Family};
use muslin_friction::{Method, SolveParams, SolveReport, Solver};
use muslin_linalg::Vec3;
use std::time::Instant;

/// Best of a few solves from zero with one solver, so that memory and analysis are there.
fn time(family: &Family, method: Method, tolerance: f64, threads: usize) -> (SolveReport, f64) {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(|| {
        let mut solver = Solver::default();
        let params = SolveParams {
            tolerance,
            method,
            max_sweeps: 2000,
            ..SolveParams::default()
        };
        let mut best = f64::INFINITY;
        let mut report = SolveReport::default();
        for _ in 0..3 {
            let mut v = vec![Vec3::ZERO; family.b.len()];
            let mut r = vec![Vec3::ZERO; family.contacts.len()];
            let start = Instant::now();
            report = solver
                .solve(&family.problem(), &params, &mut v, &mut r)
                .unwrap();
            best = best.min(start.elapsed().as_secs_f64());
            if best > 1.0 {
                break;
            }
        }
        (report, 1e3 * best)
    })
}

/// Iterations of whatever kind, time, and a mark if the tolerance was missed.
fn cell(report: &SolveReport, milliseconds: f64) -> String {
    let mut parts = Vec::new();
    for (count, letter) in [
        (report.sweeps, "s"),
        (report.dual_sweeps, "c"),
        (report.factorisations, "f"),
        (report.admm_iterations, "a"),
    ] {
        if count > 0 {
            parts.push(format!("{count}{letter}"));
        }
    }
    let missed = if report.converged { "" } else { " missed" };
    format!("{} / {milliseconds:.1}{missed}", parts.join("+"))
}

fn main() {
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let wanted = |f: &Family| asked.is_empty() || asked.iter().any(|a| f.name.contains(a));
    println!(
        "s sweeps, c condensed sweeps, f factorisations, a splitting iterations / ms; tolerance 1e-8 m/s by mass\n"
    );
    println!("| family | contacts | Gauss-Seidel | Newton | Condensed | ADMM | Auto |");
    println!("|---|---|---|---|---|---|---|");
    for family in [
        families::sheet(30, 20.0, 0.3, 0.6, false),
        families::sheet(30, 200.0, 0.3, 0.6, false),
        families::sheet(30, 600.0, 0.6, 0.6, true),
        families::layers(20, 2, 200.0, 0.6, false),
        families::layers(20, 3, 200.0, 0.6, true),
        families::layers(20, 3, 6000.0, 0.4, true),
        families::many_contacts(20, 200.0, 0.6),
        families::node_on_triangle(20, 6000.0, 0.3),
        families::draped(30, 60.0, 0.3),
        families::draped(30, 6000.0, 0.3),
        families::incline(20, 1e4, 0.5, 0.3),
        families::plate(5, 8, 1e6, 0.2),
        families::leaning_cards(8, 5, 1e6, 0.1),
        families::leaning_cards(20, 14, 1e6, 0.5),
    ] {
        if !wanted(&family) {
            continue;
        }
        let family = family.strict();
        let mut line = format!("| {} | {} | ", family.name, family.contacts.len());
        for method in [
            Method::GaussSeidel,
            Method::Newton,
            Method::Condensed,
            Method::Admm,
            Method::Auto,
        ] {
            if method == Method::Condensed && family.contacts.len() > 250 {
                line.push_str(" | ");
                continue;
            }
            let (report, milliseconds) = time(&family, method, 1e-8, 1);
            line.push_str(&cell(&report, milliseconds));
            line.push_str(" | ");
        }
        println!("{line}");
    }
    println!("\n| family | measure | tolerance | threads | Gauss-Seidel | Newton | Auto |");
    println!("|---|---|---|---|---|---|---|");
    let mut large = Vec::new();
    for ratio in [60.0, 600.0, 6000.0] {
        for mu in [0.3, 0.6] {
            large.push(families::sheet(80, ratio, mu, 0.3956, false));
        }
    }
    large.push(families::draped(80, 600.0, 0.3));
    large.push(families::draped(80, 6000.0, 0.3));
    large.push(families::node_on_triangle(60, 2000.0, 0.4));
    for family in large.into_iter().filter(wanted) {
        let strict = family.clone().strict();
        for (family, measure, tolerance, threads) in [
            (&family, "diagonal", 1e-6, 1),
            (&family, "diagonal", 1e-8, 1),
            (&strict, "mass", 1e-6, 1),
            (&strict, "mass", 1e-8, 1),
            (&strict, "mass", 1e-8, 2),
        ] {
            let mut line = format!(
                "| {} | {measure} | {tolerance:e} | {threads} | ",
                family.name
            );
            for method in [Method::GaussSeidel, Method::Newton, Method::Auto] {
                let (report, milliseconds) = time(family, method, tolerance, threads);
                line.push_str(&cell(&report, milliseconds));
                line.push_str(" | ");
            }
            println!("{line}");
        }
    }
}
