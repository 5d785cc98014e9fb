//! A whole step with contact: a sheet of 6,084 vertices on a sphere, by friction, threads and phase. Prints a Markdown
//! table; times are means of the steps with 2,300 to 2,700 contacts.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;

const SCENE: &str = r#"
[solver]
time_step = 0.005
[cloth.sheet]
grid = { size = [1, 1], cells = [77, 77] }
translate = [0, 0, 0.8006]
fabric = "gray-interlock"
thickness = 1e-3
[obstacle.ball]
sphere = { radius = 0.8 }
"#;

fn main() {
    println!(
        "| friction | threads | contacts | ms a step | friction | detection | sweeps | factorisations | missed |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for friction in [0.3, 0.6] {
        for threads in [1, 2] {
            let set = Override::parse(&format!("contact.friction={friction}")).unwrap();
            let source = SceneSource::from_text("bench", SCENE);
            let mut s = Simulation::new(&source, &[set], threads).unwrap();
            let mut reports = Vec::new();
            loop {
                let report = s.advance().unwrap();
                if report.contacts > 2700 || s.world.time > 1.0 {
                    break;
                }
                if report.contacts >= 2300 {
                    reports.push(report);
                }
            }
            let count = reports.len().max(1) as f64;
            let mean = |value: &dyn Fn(&muslin::step::StepReport) -> f64| {
                reports.iter().map(value).sum::<f64>() / count
            };
            let phase = |name: &str| 1e3 * mean(&|r| r.seconds.get(name).copied().unwrap_or(0.0));
            println!(
                "| {friction} | {threads} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} | {} |",
                mean(&|r| r.contacts as f64),
                phase("total"),
                phase("friction"),
                phase("detection"),
                mean(&|r| r.sweeps as f64),
                mean(&|r| r.factorisations as f64),
                reports.iter().filter(|r| !r.converged).count()
            );
        }
    }
}
