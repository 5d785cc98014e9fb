//! `muslin plot`: curves of one or several runs, and histograms of a frame.

mod chart;
mod histogram;
mod series;

use crate::Failure;
use crate::args::PlotOptions;
use crate::render::size;
use chart::{Curve, Panel};
use muslin::picture::write_png;
use series::Steps;
use std::path::Path;

/// What is plotted of a run when nothing is asked for, measures aside.
const USUAL: [&str; 4] = ["residual", "contacts", "iterations", "seconds.total"];

/// Draws a plot.
pub fn plot(options: &PlotOptions) -> Result<(), Failure> {
    let ending = options
        .out
        .extension()
        .map(std::ffi::OsStr::to_ascii_lowercase);
    let svg = match ending.as_ref().and_then(|e| e.to_str()) {
        Some("svg") => true,
        Some("png") => false,
        _ => {
            return Err(Failure::Input(format!(
                "{}: plots are written as .svg or .png",
                options.out.display()
            )));
        }
    };
    let panels = match &options.histogram {
        Some(quantity) => vec![histogram::panel(options, *quantity)?],
        None if options.step.is_some() => traces(options)?,
        None => curves(options)?,
    };
    let size = match &options.size {
        Some(text) => size(text)?,
        None => [800, 90 + 240 * panels.len().max(1)],
    };
    if size[1] < 120 * panels.len() {
        return Err(Failure::Input(format!(
            "{} panels do not fit into {} pixels; give a larger --size, or fewer --of",
            panels.len(),
            size[1]
        )));
    }
    let failed = |e: String| Failure::Other(format!("{}: {e}", options.out.display()));
    if svg {
        let text = chart::svg(size, &panels).map_err(failed)?;
        std::fs::write(&options.out, text).map_err(|e| failed(e.to_string()))?;
    } else {
        let rgb = chart::rgb(size, &panels).map_err(failed)?;
        write_png(&options.out, size, &rgb)?;
    }
    Ok(())
}

/// Name under which a run appears in the legend.
fn label(dir: &Path) -> String {
    dir.file_name().map_or_else(
        || dir.display().to_string(),
        |n| n.to_string_lossy().into_owned(),
    )
}

/// Primal and dual residual of every run over the iterations of one step.
fn traces(options: &PlotOptions) -> Result<Vec<Panel>, Failure> {
    let step = options.step.unwrap_or_default();
    let mut panels = Vec::new();
    for (k, title) in ["primal residual", "dual residual"].into_iter().enumerate() {
        let mut curves = Vec::new();
        for dir in &options.dirs {
            let points = Steps::read(dir)?.trace(step, k);
            if points.is_empty() {
                return Err(Failure::Input(format!(
                    "{} has no residuals of the iterations of step {step}; run it with --set solver.admm.trace=true",
                    dir.display()
                )));
            }
            curves.push(Curve {
                label: label(dir),
                points,
            });
        }
        panels.push(Panel {
            title: format!("{title} of step {step}"),
            x_label: "iteration".into(),
            y_label: "m/s".into(),
            logarithmic: true,
            bars: false,
            curves,
        });
    }
    Ok(panels)
}

fn curves(options: &PlotOptions) -> Result<Vec<Panel>, Failure> {
    let runs = options
        .dirs
        .iter()
        .map(|dir| Ok((label(dir), Steps::read(dir)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    let names: Vec<String> = if options.of.is_empty() {
        let mut names: Vec<String> = USUAL.map(str::to_owned).to_vec();
        for (_, steps) in &runs {
            for measure in steps.measures() {
                if !names.contains(&measure) {
                    names.push(measure);
                }
            }
        }
        names
    } else {
        options.of.clone()
    };
    let mut panels = Vec::new();
    for name in &names {
        let mut panel = Panel {
            title: name.clone(),
            x_label: if options.steps { "step" } else { "time (s)" }.into(),
            y_label: series::unit(name).to_string(),
            // Residuals run over many powers of ten, whatever was asked for.
            logarithmic: options.log
                || ["residual", "velocity_error", "primal", "dual"].contains(&name.as_str()),
            bars: false,
            curves: Vec::new(),
        };
        for (label, steps) in &runs {
            let points = steps.curve(name, options.steps);
            if !points.is_empty() {
                panel.curves.push(Curve {
                    label: label.clone(),
                    points,
                });
            }
        }
        if panel.curves.is_empty() {
            return Err(Failure::Input(format!(
                "no run has a statistic or measure `{name}`; there are {}",
                runs[0].1.names().join(", ")
            )));
        }
        panels.push(panel);
    }
    Ok(panels)
}
