//! `muslin run`: simulate, show progress, record, and say whether expectations were met.

use crate::Failure;
use crate::args::RunOptions;
use crate::check::overrides;
use crate::view::{open, wait};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use muslin::record::{Existing, RunFolder, Summary};
use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;
use muslin_view::RecordedRun;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Simulates a scene.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    let mut changes = overrides(&options.scene)?;
    if let Some(frames) = options.frames {
        changes.push(Override::parse(&format!("output.frames={frames}"))?);
    }
    let source = SceneSource::find(&options.scene.scene)?;
    let mut simulation = Simulation::new(&source, &changes, options.threads)?;
    let folder = options
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("out").join(&simulation.name));
    let mut recording = if options.resume {
        RunFolder::resume(&folder, &mut simulation)?
    } else {
        if RunFolder::existing(&folder) == Existing::Unfinished && !options.overwrite {
            return Err(Failure::Input(format!(
                "{} holds an unfinished run; add --resume to go on with it, or --overwrite to start anew",
                folder.display()
            )));
        }
        match simulation.prepare_start() {
            Err(error) => return Err(source.locate(error, &changes).into()),
            Ok(Some(note)) if !options.quiet => eprintln!("{note}"),
            Ok(_) => {}
        }
        if RunFolder::existing(&folder) == Existing::Finished && !options.quiet {
            eprintln!("replacing the finished run in {}", folder.display());
        }
        RunFolder::create(&folder, &simulation)?
    };
    // Whoever looks reads the folder: the run never waits for them.
    let viewer = if options.view {
        let source = RecordedRun::open(&folder)?;
        Some(open(vec![Arc::new(source)], options.port, options.no_open)?)
    } else {
        None
    };
    let bar = progress_bar(&simulation, options.quiet);
    let interrupted = watch_for_interrupt("finishing the step")?;
    let mut unconverged = 0;
    while simulation.frame() < simulation.scene.output.frames {
        let report = match simulation.advance() {
            Ok(report) => report,
            Err(error) => {
                bar.abandon();
                recording.summarise(&simulation)?;
                return Err(Failure::Other(format!(
                    "{error}\nThe {} frames before it are in {}.",
                    recording.frames(),
                    folder.display()
                )));
            }
        };
        recording.step(&simulation, &report)?;
        unconverged += usize::from(!report.converged);
        bar.set_position(simulation.frame() as u64);
        let missed = if unconverged > 0 {
            format!(", {unconverged} steps unconverged")
        } else {
            String::new()
        };
        bar.set_message(format!(
            "{} contacts, residual {:.0e} m/s{missed}",
            report.contacts, report.residual
        ));
        if interrupted.load(Ordering::Relaxed) {
            recording.checkpoint(&simulation)?;
            recording.summarise(&simulation)?;
            bar.abandon();
            return Err(Failure::Other(format!(
                "interrupted after {} frames; go on with\n  {}",
                recording.frames(),
                resume_command(options, &folder)
            )));
        }
    }
    bar.finish_and_clear();
    let summary = recording.summarise(&simulation)?;
    if !options.quiet {
        report(&summary, &folder);
    }
    if viewer.is_some() {
        wait(&interrupted);
    }
    if summary.expectations.iter().all(|e| e.met) {
        return Ok(());
    }
    if options.quiet {
        report_expectations(&summary);
    }
    Err(Failure::Expectation)
}

fn progress_bar(simulation: &Simulation, quiet: bool) -> ProgressBar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(simulation.scene.output.frames as u64), target);
    let template = "{prefix} [{bar:30}] frame {pos}/{len}  {per_sec}  {eta} left  {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_prefix(simulation.name.clone());
    bar.set_position(simulation.frame() as u64);
    bar.reset_eta();
    bar
}

/// A flag that Ctrl-C sets; a second Ctrl-C ends the program at once.
pub fn watch_for_interrupt(says: &'static str) -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    let handler = move || {
        if raised.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\n{says}; press Ctrl-C again to stop at once");
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::Other(format!("Ctrl-C cannot be watched: {e}")))?;
    Ok(flag)
}

fn resume_command(options: &RunOptions, folder: &Path) -> String {
    let mut words = vec![format!(
        "muslin run {} --out {}",
        options.scene.scene,
        folder.display()
    )];
    words.extend(
        options
            .scene
            .set
            .iter()
            .map(|change| format!("--set '{change}'")),
    );
    words.extend(
        options
            .scene
            .method
            .iter()
            .map(|method| format!("--method {method}")),
    );
    words.extend(
        options
            .frames
            .iter()
            .map(|frames| format!("--frames {frames}")),
    );
    words.push("--resume".into());
    words.join(" ")
}

fn report(summary: &Summary, folder: &Path) {
    println!(
        "{}: {} frames, {} steps, {:.2} s simulated in {:.1} s",
        summary.scene, summary.frames, summary.steps, summary.time, summary.wall_seconds
    );
    if summary.unconverged_steps > 0 {
        println!(
            "  {} steps missed their tolerance (see steps.jsonl)",
            summary.unconverged_steps
        );
    }
    if summary.failsafe_steps > 0 {
        println!("  the fail-safe acted in {} steps", summary.failsafe_steps);
    }
    if summary.trapped_steps > 0 {
        println!(
            "  obstacles or pins closed on cloth in {} steps (see steps.jsonl)",
            summary.trapped_steps
        );
    }
    if summary.yielding_steps > 0 {
        let place = summary.first_yielding.map_or(String::new(), |first| {
            let [x, y, z] = first.position;
            format!(
                ", first at {:.3} s near ({x:.4}, {y:.4}, {z:.4})",
                first.time
            )
        });
        println!(
            "  contacts contradicted each other or what is held, and gave way, in {} steps{place}",
            summary.yielding_steps
        );
    }
    if let Some(n) = summary.intersecting_frames.filter(|n| *n > 0) {
        println!("  triangles cross in {n} frames (see steps.jsonl)");
    }
    for (name, m) in &summary.measures {
        println!(
            "  {name}: {:.6} at the end (from {:.6} to {:.6})",
            m.end, m.min, m.max
        );
    }
    report_expectations(summary);
    println!("recorded in {}; look at it with", folder.display());
    println!("  muslin view {}", folder.display());
}

fn report_expectations(summary: &Summary) {
    for e in &summary.expectations {
        let verdict = if e.met { "met    " } else { "NOT MET" };
        let measured = e
            .measured
            .map_or("nothing".to_string(), |m| format!("{m:.6}"));
        println!(
            "  {verdict} {}: expected {} ± {}, measured {measured}",
            e.name, e.expected, e.tolerance
        );
    }
}
