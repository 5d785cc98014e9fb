//! A clamped plate under its own weight against the elastica, on several meshes: bending must not depend on the mesh.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use muslin::geometry::mesh::{self, Diagonals, SurfaceMesh};
use muslin::linalg::Vec3;
use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;
use std::fmt::Write;

const LENGTH: f64 = 0.2;
const WIDTH: f64 = 0.05;
const DENSITY: f64 = 0.2;
const RIGIDITY: f64 = 3.1392e-3;

/// Tip of the elastica `B θ'' = -q (L - s) cos θ`, θ(0) = 0, θ'(L) = 0: shooting with bisection, Runge-Kutta.
fn elastica() -> (f64, f64) {
    let load = DENSITY * 9.81 / RIGIDITY;
    let shoot = |curvature: f64| {
        let n = 4000;
        let h = LENGTH / f64::from(n);
        let slope = |s: f64, y: [f64; 4]| {
            [
                y[1],
                -load * (LENGTH - s) * y[0].cos(),
                y[0].cos(),
                y[0].sin(),
            ]
        };
        let mut y = [0.0, curvature, 0.0, 0.0];
        for i in 0..n {
            let s = f64::from(i) * h;
            let add = |k: [f64; 4], f: f64| std::array::from_fn(|j| y[j] + f * h * k[j]);
            let k1 = slope(s, y);
            let k2 = slope(s + h / 2.0, add(k1, 0.5));
            let k3 = slope(s + h / 2.0, add(k2, 0.5));
            let k4 = slope(s + h, add(k3, 1.0));
            y = std::array::from_fn(|j| {
                y[j] + h / 6.0 * (k1[j] + 2.0 * k2[j] + 2.0 * k3[j] + k4[j])
            });
        }
        y
    };
    let (mut low, mut high) = (0.0, load * LENGTH * LENGTH);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if shoot(middle)[1] > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    let end = shoot(low);
    (end[2], -end[3])
}

/// The strip from 0 to LENGTH with a clamp of two rows of squares to its left, welded at x = 0.
fn strip(kind: &str, edge: f64) -> SurfaceMesh {
    let cells = |length: f64| (length / edge).round() as usize;
    let shifted = |mut m: SurfaceMesh, x: f64| {
        m.positions.iter_mut().for_each(|p| p.x += x);
        m
    };
    let square = |length: f64, d: Diagonals| {
        mesh::grid([length, WIDTH], [cells(length), cells(WIDTH)], d).unwrap()
    };
    let free = match kind {
        "forward" => square(LENGTH, Diagonals::Forward),
        "backward" => square(LENGTH, Diagonals::Backward),
        "alternate" => square(LENGTH, Diagonals::Alternate),
        "crossed" => square(LENGTH, Diagonals::Crossed),
        _ => mesh::unstructured_grid([LENGTH, WIDTH], edge).unwrap(),
    };
    let mut out = shifted(free, LENGTH / 2.0);
    let clamp = shifted(square(2.0 * edge, Diagonals::Forward), -edge);
    let index: Vec<u32> = clamp
        .positions
        .iter()
        .map(|p| {
            out.positions
                .iter()
                .position(|q| q.distance(*p) < 1e-9)
                .unwrap_or_else(|| {
                    out.positions.push(*p);
                    out.positions.len() - 1
                }) as u32
        })
        .collect();
    out.faces
        .extend(clamp.faces.iter().map(|f| f.map(|v| index[v as usize])));
    out.material = None;
    out
}

fn write_obj(mesh: &SurfaceMesh, path: &std::path::Path) {
    let mut text = String::new();
    for p in &mesh.positions {
        writeln!(text, "v {} {} {}\nvt {} {}", p.x, p.y, p.z, p.x, p.y).unwrap();
    }
    for f in &mesh.faces {
        let [a, b, c] = f.map(|v| v + 1);
        writeln!(text, "f {a}/{a} {b}/{b} {c}/{c}").unwrap();
    }
    std::fs::write(path, text).unwrap();
}

/// Position of the tip's middle at rest.
fn tip(kind: &str, edge: f64, element: &str) -> Vec3 {
    let folder = std::env::temp_dir().join(format!("muslin-cantilever-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{kind}-{edge}-{element}.obj"));
    write_obj(&strip(kind, edge), &file);
    let text = format!(
        r#"
[solver]
time_step = 0.05
implicit = {{ scheme = "newton", tolerance = 1e-4 }}
[output]
frame_rate = 20
[fabric.plate]
density = {DENSITY}
damping = 0.1
stretch.isotropic = {{ modulus = 2e5 }}
bend = {{ rigidity = {RIGIDITY}, element = "{element}" }}
[cloth.strip]
mesh = "{}"
fabric = "plate"
[pin.clamp]
cloth = "strip"
box = {{ min = [-1, -1, -1], max = [1e-9, 1, 1] }}
"#,
        file.display()
    );
    let mut s = Simulation::new(
        &SceneSource::from_text("cantilever", &text),
        &[] as &[Override],
        1,
    )
    .unwrap();
    while s.world.time < 2.5 {
        s.advance().unwrap();
    }
    let speed = s
        .world
        .state
        .v
        .iter()
        .map(|v| v.length())
        .fold(0.0, f64::max);
    assert!(
        speed < 1e-3,
        "{kind} {edge} {element} still moves at {speed} m/s"
    );
    let end: Vec<usize> = (0..s.world.state.x.len())
        .filter(|i| (s.world.bodies[0].initial[*i].x - LENGTH).abs() < 1e-9)
        .collect();
    std::fs::remove_file(&file).unwrap();
    end.iter().map(|i| s.world.state.x[*i]).sum::<Vec3>() / end.len() as f64
}

#[test]
fn a_clamped_strip_bends_like_the_elastica() {
    use rayon::prelude::*;
    let (x, z) = elastica();
    let mut cases = Vec::new();
    for element in ["curvature", "hinge"] {
        for kind in [
            "forward",
            "backward",
            "alternate",
            "crossed",
            "unstructured",
        ] {
            for edge in [0.01, 0.005] {
                cases.push((element, kind, edge));
            }
        }
    }
    let results: Vec<_> = cases
        .into_par_iter()
        .map(|(e, k, h)| (e, k, h, tip(k, h, e).z / z - 1.0))
        .collect();
    println!("elastica: tip at x = {x:.6}, z = {z:.6} m; deviation of the tip's deflection:");
    println!("| element | mesh | 20 cells | 40 cells |\n|---|---|---|---|");
    for pair in results.chunks(2) {
        let percent = |r: &(&str, &str, f64, f64)| format!("{:+.2} %", 100.0 * r.3);
        println!(
            "| {} | {} | {} | {} |",
            pair[0].0,
            pair[0].1,
            percent(&pair[0]),
            percent(&pair[1])
        );
    }
    for (element, kind, edge, error) in &results {
        if *element == "curvature" {
            assert!(
                error.abs() < 0.03,
                "{kind} mesh with edges of {edge} m deviates by {:.2} %",
                100.0 * error
            );
        }
    }
}
