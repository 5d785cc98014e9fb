//! Seconds per frame by phase: 150 x 150 vertices in `curtain_and_ball`, both methods, one thread and two. Prints a Markdown
//! table. `cargo bench -p muslin --bench curtain -- impulse 40` runs one method for 40 frames; the last ten count.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;
use std::collections::BTreeMap;

/// Frames that are measured.
const MEASURED: usize = 10;

fn measure(method: &str, threads: usize, frames: usize) {
    let changes = [
        format!("solver.method={method}"),
        "cloth.curtain.grid.cells=[149,149]".into(),
    ];
    let changes: Vec<Override> = changes
        .iter()
        .map(|c| Override::parse(c).unwrap())
        .collect();
    let source = SceneSource::find("curtain_and_ball").unwrap();
    let mut s = Simulation::new(&source, &changes, threads).unwrap();
    let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
    let (mut acted, mut steps) = (0, 0);
    while s.frame() < frames {
        let report = s.advance().unwrap();
        if s.frame() + MEASURED >= frames {
            steps += 1;
            acted += usize::from(report.failsafe);
            for (phase, t) in report.seconds {
                *seconds.entry(phase).or_default() += t / MEASURED as f64;
            }
        }
    }
    let phases: Vec<String> = seconds
        .iter()
        .filter(|(name, _)| *name != "total")
        .map(|(name, t)| format!("{name} {t:.3}"))
        .collect();
    let total = seconds.get("total").copied().unwrap_or_default();
    println!(
        "| {method} | {threads} | {total:.3} | {} | {acted} of {steps} |",
        phases.join(", ")
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let frames: usize = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(40);
    println!(
        "| method | threads | s a frame | phases, s a frame | steps in which the fail-safe acted |"
    );
    println!("|---|---|---|---|---|");
    for method in ["impulse", "implicit"] {
        let other = arguments
            .iter()
            .any(|a| a.parse::<usize>().is_err() && a != method);
        if other {
            continue;
        }
        for threads in [1, 2] {
            measure(method, threads, frames);
        }
    }
}
