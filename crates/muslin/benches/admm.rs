//! Milliseconds a frame by phase of the method with a fixed budget, beside the published ones. Prints a Markdown table.
//! `cargo bench -p muslin --bench admm -- multilayered 30` runs one scene for so many frames.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use muslin::scene::SceneSource;
use muslin::simulation::Simulation;
use std::collections::BTreeMap;

/// Scenes with the published milliseconds a frame (24 cores of an i9-13900K).
const SCENES: [(&str, f64); 4] = [
    ("ball_on_layers", 33.01),
    ("multilayered", 76.08),
    ("drape_on_sphere", 557.70),
    ("house_of_cards_fine", 23.77),
];

/// What the columns of the table are made of.
const PHASES: [&[&str]; 4] = [
    &["detection"],
    &["local", "begin", "acceleration"],
    &["global"],
    &["fail-safe"],
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let chosen = words.iter().find(|w| SCENES.iter().any(|s| s.0 == **w));
    let frames = words.iter().find_map(|w| w.parse().ok()).unwrap_or(60usize);
    println!("Mean of {frames} frames, two threads, ms a frame:\n");
    println!(
        "| scene | vertices | iterations | most contacts | detection | local and contact | global | fail-safe | total | published |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, published) in SCENES {
        if chosen.is_some_and(|c| c != name) {
            continue;
        }
        let mut s = Simulation::new(&SceneSource::find(name).unwrap(), &[], 2).unwrap();
        let mut spent: BTreeMap<String, f64> = BTreeMap::new();
        let (mut contacts, mut iterations) = (0, 0);
        for _ in 0..frames * s.steps_per_frame() {
            let report = s.advance().unwrap();
            contacts = contacts.max(report.contacts);
            iterations += report.iterations;
            for (phase, seconds) in &report.seconds {
                // Made once, and not part of a step.
                if phase != "factorise" && phase != "judge" {
                    *spent.entry(phase.clone()).or_default() += seconds;
                }
            }
        }
        let ms = |phase: &str| 1e3 * spent.get(phase).copied().unwrap_or(0.0) / frames as f64;
        let phases = PHASES.map(|parts| parts.iter().map(|p| ms(p)).sum::<f64>());
        let all: f64 = spent.keys().filter(|k| *k != "total").map(|k| ms(k)).sum();
        println!(
            "| `{name}` | {} | {:.0} | {contacts} | {:.1} | {:.1} | {:.1} | {:.1} | {all:.1} | {published} |",
            s.world.state.x.len(),
            iterations as f64 / frames as f64,
            phases[0],
            phases[1],
            phases[2],
            phases[3],
        );
    }
}
