//! Runs to look at: simulated, growing, damaged, with a mesh that changes, large.

use crate::devtools::Outcome;
use muslin::record::{ArrayWriter, RunFolder};
use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;
use std::path::{Path, PathBuf};

pub const SCENE: &str = r#"
description = "A sheet and a soft box on a ramp"
[output]
frames = 30
[solver]
time_step = 0.0083333333
[contact]
friction = 0.2
[cloth.sheet]
grid = { size = [0.4, 0.4], cells = [12, 12] }
rotate = { axis = [0, 1, 0], degrees = 30 }
translate = [0, 0, 0.001]
fabric = "gray-interlock"
[soft.box]
box = { size = [0.12, 0.12, 0.06], cells = [2, 2, 1] }
rotate = { axis = [0, 1, 0], degrees = 30 }
translate = [0, 0.4, 0.036]
density = 1000
young = 1e6
poisson = 0.3
thickness = 1e-3
[obstacle.ramp]
plane = { point = [0, 0, 0], size = 2 }
rotate = { axis = [0, 1, 0], degrees = 30 }
[obstacle.post]
box = { size = [0.08, 0.08, 0.3] }
translate = [0.1, -0.45, 0.1]
[[measure]]
name = "largest stretch"
kind = "largest_stretch"
"#;

/// A scene without anything but cloth, for frames that are written by hand.
const BARE: &str = r#"
description = "A sheet"
[output]
frames = 4
[cloth.sheet]
grid = { size = [1, 1], cells = [2, 2] }
fabric = "gray-interlock"
"#;

/// Whatever an error says.
pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

pub fn simulation(changes: &[&str]) -> Outcome<Simulation> {
    let changes: Result<Vec<Override>, _> = changes.iter().map(|c| Override::parse(c)).collect();
    let source = SceneSource::from_text("ramp", SCENE);
    Simulation::new(&source, &changes.map_err(text)?, 0).map_err(text)
}

/// A run of the scene with changes.
pub fn record(folder: &Path, changes: &[&str]) -> Outcome<PathBuf> {
    let mut simulation = simulation(changes)?;
    let mut recording = RunFolder::create(folder, &simulation).map_err(text)?;
    go_on(&mut simulation, &mut recording)?;
    Ok(folder.to_path_buf())
}

/// Simulates and records up to the end.
pub fn go_on(simulation: &mut Simulation, recording: &mut RunFolder) -> Outcome<()> {
    while simulation.frame() < simulation.scene.output.frames {
        let report = simulation.advance().map_err(text)?;
        recording.step(simulation, &report).map_err(text)?;
    }
    recording.summarise(simulation).map_err(text)?;
    Ok(())
}

type Written = Result<(), Box<dyn std::error::Error>>;

fn begin(run: &Path) -> Written {
    std::fs::create_dir_all(run.join("frames"))?;
    std::fs::write(run.join("scene.toml"), BARE)?;
    std::fs::write(run.join("steps.jsonl"), "")?;
    Ok(())
}

/// Writes a frame of a sheet. `faces` are written into the frame that holds them, with a place in the material for every vertex.
fn write_frame(
    run: &Path,
    (number, holder): (i32, i32),
    x: &[f64],
    faces: &[i32],
    flat: impl Fn(&i32) -> [f32; 2],
) -> Written {
    let mut file = ArrayWriter::create(&run.join(format!("frames/{number:06}.npz")))?;
    file.array("time", &[1], &[f64::from(number) / 60.0])?;
    file.array("faces_frame", &[1], &[holder])?;
    file.array("sheet/x", &[x.len() / 3, 3], x)?;
    file.array("sheet/v", &[x.len() / 3, 3], &vec![0f32; x.len()])?;
    if number == holder {
        let material: Vec<f32> = faces.iter().flat_map(flat).collect();
        let rows = faces.len() / 3;
        file.array("sheet/faces", &[rows, 3], faces)?;
        file.array("sheet/material", &[rows, 3, 2], &material)?;
    }
    file.finish()?;
    Ok(())
}

/// A recording in which a square becomes two, as a remesher would write it.
pub fn write_changing(run: &Path) -> Written {
    begin(run)?;
    for n in 0..4i32 {
        let (holder, squares) = if n < 2 { (0, 1) } else { (2, 2) };
        let corner = |i: i32| {
            let (x, y) = (f64::from(i % 2), f64::from(i / 2));
            [0.3 * x, 0.3 * y, 0.2 + 0.05 * f64::from(n)]
        };
        let x: Vec<f64> = (0..2 + 2 * squares).flat_map(corner).collect();
        let faces: Vec<i32> = (0..squares)
            .flat_map(|s| [0, 1, 3, 0, 3, 2].map(|v| v + 2 * s))
            .collect();
        let flat = |v: &i32| [0.3 * (*v % 2) as f32, 0.3 * (*v / 2) as f32];
        write_frame(run, (n, holder), &x, &faces, flat)?;
    }
    Ok(())
}

/// A waving sheet of `side` by `side` vertices.
pub fn write_large(run: &Path, side: usize, frames: i32) -> Written {
    begin(run)?;
    let at = |i: usize| (i % side, i / side);
    let id = |x: usize, y: usize| (y * side + x) as i32;
    let cells = (0..(side - 1) * (side - 1)).map(|c| (c % (side - 1), c / (side - 1)));
    let corners = |(x, y): (usize, usize)| {
        let [a, b, c, d] = [id(x, y), id(x + 1, y), id(x + 1, y + 1), id(x, y + 1)];
        [a, b, c, a, c, d]
    };
    let faces: Vec<i32> = cells.flat_map(corners).collect();
    let flat = |v: &i32| {
        let (x, y) = at(*v as usize);
        [x as f32 / side as f32, y as f32 / side as f32]
    };
    for n in 0..frames {
        let wave = |i: usize| {
            let (x, y) = at(i);
            let z = 0.05 * (22.0 * x as f64 / side as f64 + 0.2 * f64::from(n)).sin();
            [x as f64 / side as f64, y as f64 / side as f64, z + 0.5]
        };
        let x: Vec<f64> = (0..side * side).flat_map(wave).collect();
        write_frame(run, (n, 0), &x, &faces, flat)?;
    }
    Ok(())
}
