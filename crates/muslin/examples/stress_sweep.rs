//! Runs the scenes of `bridson2002` and `stress` with both methods and perturbed starts, and judges every step.
//!
//! `cargo xtask stress [PERTURBATIONS [FRAMES [SCENE…]]]`: 10 perturbations and all frames of all scenes by default, which
//! takes hours. Fails if anything crosses that was not trapped.
#![allow(clippy::print_stdout)]

use muslin::contact::Crossing;
use muslin::linalg::Vec3;
use muslin::scene::{Override, SceneSource, shipped_scenes};
use muslin::simulation::Simulation;
use std::error::Error;
use std::time::Instant;

/// Largest shift of a vertex at the start, m.
const SHIFT: f64 = 1e-5;

/// A number in [-1, 1) that depends on what it is asked for and nothing else (splitmix64).
fn noise(seed: u64, index: u64) -> f64 {
    let mut z = (seed << 40) ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

struct Outcome {
    steps: usize,
    acted: usize,
    trapped: usize,
    crossing: usize,
}

fn run(name: &str, method: &str, seed: u64, frames: usize) -> Result<Outcome, Box<dyn Error>> {
    let change = Override::parse(&format!("solver.method={method}"))?;
    let mut s = Simulation::new(&SceneSource::find(name)?, &[change], 0)?;
    if seed > 0 {
        for (i, x) in s.world.state.x.iter_mut().enumerate() {
            let k = 3 * i as u64;
            *x += Vec3::new(noise(seed, k), noise(seed, k + 1), noise(seed, k + 2)) * SHIFT;
        }
    }
    if let Some(error) = s.crossing_start() {
        return Err(error.to_string().into());
    }
    let mut outcome = Outcome {
        steps: 0,
        acted: 0,
        trapped: 0,
        crossing: 0,
    };
    while s.frame() < frames.min(s.scene.output.frames) {
        let report = s.advance()?;
        outcome.steps += 1;
        outcome.acted += usize::from(report.failsafe);
        outcome.trapped += usize::from(report.trapped > 0);
        let crossings: usize = s.crossings().iter().map(Crossing::count).sum();
        outcome.crossing += usize::from(crossings > 0);
    }
    Ok(outcome)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, or: usize| arguments.get(k).map_or(Ok(or), |a| a.parse());
    let (perturbations, frames) = (number(0, 10)?, number(1, usize::MAX)?);
    let wanted = arguments.get(2..).unwrap_or_default();
    println!("scene                 method    seed  steps  fail-safe  trapped  crossing  s/step");
    let mut failed = 0;
    let scenes = shipped_scenes().filter(|s| ["bridson2002", "stress"].contains(&s.group));
    for scene in scenes.filter(|s| wanted.is_empty() || wanted.iter().any(|w| w == s.name)) {
        for method in ["impulse", "implicit"] {
            for seed in 0..perturbations as u64 {
                let begun = Instant::now();
                let o = run(scene.name, method, seed, frames)?;
                failed += usize::from(o.crossing > 0);
                println!(
                    "{:<20}  {method:<8}  {seed:>4}  {:>5}  {:>9}  {:>7}  {:>8}  {:>6.3}",
                    scene.name,
                    o.steps,
                    o.acted,
                    o.trapped,
                    o.crossing,
                    begun.elapsed().as_secs_f64() / o.steps.max(1) as f64
                );
            }
        }
    }
    if failed > 0 {
        return Err(format!("{failed} runs have steps in which something crosses").into());
    }
    Ok(())
}
