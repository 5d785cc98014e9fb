//! How a quantity is spread over the cloth of a frame.

use super::chart::{Curve, Panel};
use super::label;
use crate::Failure;
use crate::args::{PlotOptions, Quantity};
use crate::render::Recorded;
use muslin::record::{Frame, FrameBody, principal_stretches};
use std::path::Path;

/// Strain of every edge of a body: length over rest length, less one.
fn edge_strains(body: &FrameBody) -> Vec<f64> {
    let mut edges: Vec<([i32; 2], f64)> = Vec::new();
    for (face, rest) in body.faces.iter().zip(body.material.iter()) {
        for k in 0..3 {
            let next = (k + 1) % 3;
            let (a, b) = (face[k], face[next]);
            let [p, q] = [rest[k], rest[next]];
            let length = f64::from(p[0] - q[0]).hypot(f64::from(p[1] - q[1]));
            let now = body.positions[a as usize].distance(body.positions[b as usize]);
            edges.push(([a.min(b), a.max(b)], now / length - 1.0));
        }
    }
    // Two faces share an edge inside; it counts once.
    edges.sort_by_key(|e| e.0);
    edges.dedup_by_key(|e| e.0);
    edges.into_iter().map(|e| e.1).collect()
}

fn values(frame: &Frame, quantity: Quantity) -> Vec<f64> {
    let of = |b: &FrameBody| -> Vec<f64> {
        match quantity {
            Quantity::EdgeStrain => edge_strains(b),
            Quantity::Stretch => principal_stretches(b).iter().map(|s| s[1] - 1.0).collect(),
            Quantity::Compression => principal_stretches(b).iter().map(|s| 1.0 - s[0]).collect(),
            Quantity::Speed => {
                let length = |v: &[f32; 3]| v.iter().map(|c| f64::from(*c).powi(2)).sum::<f64>();
                b.velocities.iter().map(|v| length(v).sqrt()).collect()
            }
        }
    };
    frame.bodies.iter().flat_map(of).collect()
}

fn read(dir: &Path, number: Option<usize>) -> Result<Frame, Failure> {
    let run = Recorded::open(dir)?;
    match number {
        None => run.last_whole(),
        Some(number) => Ok(run.reader.read(run.checked(number)?)?),
    }
}

/// A histogram of one quantity, with a staircase for every run.
pub fn panel(options: &PlotOptions, quantity: Quantity) -> Result<Panel, Failure> {
    if !(2..=1000).contains(&options.bins) {
        return Err(Failure::Input("--bins must be from 2 to 1000".into()));
    }
    let mut runs = Vec::new();
    for dir in &options.dirs {
        let frame = read(dir, options.frame)?;
        let found: Vec<f64> = values(&frame, quantity)
            .into_iter()
            .filter(|v| v.is_finite())
            .collect();
        runs.push((format!("{} frame {}", label(dir), frame.number), found));
    }
    let all = || runs.iter().flat_map(|r| &r.1).copied();
    let (low, high) = (
        all().fold(f64::INFINITY, f64::min),
        all().fold(f64::NEG_INFINITY, f64::max),
    );
    if low > high {
        return Err(Failure::Input("there is no cloth to measure".into()));
    }
    let width = ((high - low) / options.bins as f64).max(1e-12);
    let curves = runs.into_iter().map(|(label, values)| {
        let mut counts = vec![0.0; options.bins];
        for v in &values {
            let bin = (((v - low) / width) as usize).min(options.bins - 1);
            counts[bin] += 100.0 / values.len() as f64;
        }
        let edge = |i: usize| low + i as f64 * width;
        let stairs = counts
            .iter()
            .enumerate()
            .flat_map(|(i, c)| [(edge(i), *c), (edge(i + 1), *c)]);
        Curve {
            label,
            points: stairs.collect(),
        }
    });
    let (title, x_label) = match quantity {
        Quantity::EdgeStrain => ("Edge strain", "strain"),
        Quantity::Stretch => ("Largest principal stretch of faces", "stretch - 1"),
        Quantity::Compression => ("Compression of faces", "1 - smallest principal stretch"),
        Quantity::Speed => ("Speed of vertices", "m/s"),
    };
    Ok(Panel {
        title: title.into(),
        x_label: x_label.into(),
        y_label: "% of all".into(),
        logarithmic: false,
        bars: true,
        curves: curves.collect(),
    })
}
