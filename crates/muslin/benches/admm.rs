//! The method with a fixed budget: what a frame costs beside the published figures, how cost and memory grow with size,
//! how many iterations other weights would take, and whether cloth at rest under one method is at rest under the other.
//! Prints Markdown tables.
//!
//! `cargo bench -p muslin --bench admm -- costs multilayered 30` runs one scene for so many frames; `growth`, `weights`
//! (of all scenes or of those named; of weights such as `elastic=0.1,0.2 contact=5,20` if they are given) and `agreement` are the other tables. Without a
//! word all are made. `growth side=13` runs 13 x 13 x 13 donuts: 3 million unknowns, for minutes.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;
use std::collections::BTreeMap;
use std::time::Instant;

/// Scenes with the changes that give them the published budget, and the published milliseconds a frame (24 cores of an
/// i9-13900K).
const SCENES: [(&str, &[&str], f64); 5] = [
    ("ball_on_layers", &[], 33.01),
    ("multilayered", &[], 76.08),
    ("drape_on_sphere", &[], 557.70),
    (
        "twisting_rods",
        &[
            "solver.method=admm",
            "solver.time_step=0.033333333333333333",
            "solver.admm.iterations=20",
            "solver.admm.sweeps=3",
            "solver.admm.refresh=2",
            "solver.admm.tolerance=0",
        ],
        26.90,
    ),
    (
        "house_of_cards_fine",
        &["solver.admm.iterations=100", "solver.admm.tolerance=0"],
        23.77,
    ),
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
    let says = |word: &str| words.iter().any(|w| w == word);
    let frames = words.iter().find_map(|w| w.parse().ok()).unwrap_or(60usize);
    let all = !["costs", "growth", "weights", "agreement"]
        .iter()
        .any(|w| says(w));
    if all || says("costs") {
        let chosen = words.iter().find(|w| SCENES.iter().any(|s| s.0 == **w));
        costs(chosen.map(String::as_str), frames);
    }
    if all || says("growth") {
        let side = words.iter().find_map(|w| w.strip_prefix("side="));
        growth(side.map(|n| n.parse().unwrap()));
    }
    if all || says("weights") {
        weights(&words);
    }
    if all || says("agreement") {
        agreement();
    }
}

fn simulation(name: &str, changes: &[&str], threads: usize) -> Simulation {
    let changes: Vec<Override> = changes
        .iter()
        .map(|c| Override::parse(c).unwrap())
        .collect();
    Simulation::new(&SceneSource::find(name).unwrap(), &changes, threads).unwrap()
}

/// A number that the system keeps about this process, by the name of its line in `/proc/self/status`; zero elsewhere.
fn status(name: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with(name));
    let number = line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok());
    number.unwrap_or(0.0)
}

/// Processor time that this process has used, s; on a machine that others use as well it says more than the clock.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|t| t.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn costs(chosen: Option<&str>, frames: usize) {
    println!("Mean of {frames} frames, two threads, ms a frame:\n");
    println!(
        "| scene | vertices | iterations | most contacts | detection | local and contact | global | fail-safe | total | processor | published |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, changes, published) in SCENES {
        if chosen.is_some_and(|c| c != name) {
            continue;
        }
        let mut s = simulation(name, changes, 2);
        let mut spent: BTreeMap<String, f64> = BTreeMap::new();
        let (mut contacts, mut iterations) = (0, 0);
        let mut begun = 0.0;
        for step in 0..frames * s.steps_per_frame() {
            let report = s.advance().unwrap();
            if step == 0 {
                // The matrix is factored in the first step.
                begun = processor_seconds();
            }
            contacts = contacts.max(report.contacts);
            iterations += report.iterations;
            for (phase, seconds) in &report.seconds {
                // Made once, and not part of a step.
                if phase != "factorise" && phase != "judge" && phase != "total" {
                    *spent.entry(phase.clone()).or_default() += seconds;
                }
            }
        }
        let processor = 1e3 * (processor_seconds() - begun) / (frames - 1).max(1) as f64;
        let ms = |phase: &str| 1e3 * spent.get(phase).copied().unwrap_or(0.0) / frames as f64;
        let phases = PHASES.map(|parts| parts.iter().map(|p| ms(p)).sum::<f64>());
        let all: f64 = spent.keys().map(|k| ms(k)).sum();
        println!(
            "| `{name}` | {} | {:.0} | {contacts} | {:.1} | {:.1} | {:.1} | {:.1} | {all:.1} | {processor:.1} | {published} |",
            s.world.state.x.len(),
            iterations as f64 / frames as f64,
            phases[0],
            phases[1],
            phases[2],
            phases[3],
        );
    }
}

/// Of 1, 10 and 100 donuts, or of `side` in each direction.
fn growth(side: Option<usize>) {
    let (counts, frames) = match side {
        Some(n) => (vec![format!("[{n}, {n}, {n}]")], 4),
        None => (
            ["[1, 1, 1]", "[2, 1, 5]", "[5, 4, 5]"]
                .map(String::from)
                .to_vec(),
            12,
        ),
    };
    println!("\n`donuts`, {frames} frames from when the first ones lie on the floor:\n");
    println!(
        "| donuts | vertices | most contacts | memory | bytes a vertex | processor, us a vertex and frame |"
    );
    println!("|---|---|---|---|---|---|");
    for count in counts {
        let count = format!("soft.donut.copies.count={count}");
        let mut s = simulation("donuts", &[&count], 2);
        for _ in 0..6 {
            s.advance().unwrap();
        }
        let begun = processor_seconds();
        let mut contacts = 0;
        for _ in 0..frames {
            contacts = contacts.max(s.advance().unwrap().contacts);
        }
        let vertices = s.world.state.x.len() as f64;
        let each = 1e6 * (processor_seconds() - begun) / f64::from(frames) / vertices;
        let memory = status("VmRSS:") * 1024.0;
        println!(
            "| {} | {vertices} | {contacts} | {:.0} MB | {:.0} | {each:.1} |",
            count.rsplit('=').next().unwrap_or_default(),
            memory / 1e6,
            memory / vertices,
        );
    }
}

/// Scenes of the study of weights, some with fewer vertices: name, changes, and the step that is studied. Something has to
/// change in it, or there is nothing to be found.
const STUDIED: [(&str, &[&str], usize); 15] = [
    ("house_of_cards_coarse", &[], 1),
    ("analytical_cloth", &[], 10),
    ("analytical_box", &[], 10),
    ("masonry_arch", &["contact.friction=0.4"], 3),
    ("ball_on_torus", &[], 60),
    ("ball_on_layers", &[], 3),
    ("multilayered", &[], 5),
    ("drape_on_sphere", &["cloth.sheet.grid.cells=[65, 65]"], 25),
    (
        "curtain_on_figure",
        &["cloth.curtain.grid.cells=[40, 40]"],
        25,
    ),
    ("donuts", &[], 20),
    ("rayleigh_cloth", &[], 10),
    ("anisotropic_roll", &[], 10),
    (
        "twisting_rods",
        &[
            "solver.method=admm",
            "solver.time_step=0.033333333333333333",
        ],
        50,
    ),
    (
        "sphere_drape",
        &["solver.method=admm", "cloth.sheet.grid.cells=[20, 20]"],
        50,
    ),
    (
        "hanging_cloth",
        &[
            "solver.method=admm",
            "solver.time_step=0.0333",
            "output.frame_rate=30",
            "cloth.sheet.grid.cells=[20, 20]",
        ],
        10,
    ),
];
/// Iterations tried: each a fifth more than the one before.
const BUDGETS: [usize; 28] = [
    5, 6, 7, 9, 10, 12, 15, 18, 21, 26, 31, 37, 45, 53, 64, 77, 92, 111, 133, 160, 192, 230, 276,
    331, 397, 477, 572, 687,
];
/// Iterations of what counts as exact.
const EXACT: usize = 3000;
/// Error of the velocities (root mean square by mass) that counts as found, relative to their change in the step.
const FOUND: f64 = 0.05;
/// Larger budgets that have to be within as well.
const KEPT: usize = 2;
/// Elastic and contact weights (masses) tried beside the default ones, unless others are asked for.
const ELASTIC: [f64; 6] = [0.015, 0.03, 0.06, 0.12, 0.25, 0.5];
const CONTACT: [f64; 5] = [5.0, 10.0, 20.0, 40.0, 80.0];

/// Numbers of a word like `elastic=0.1,0.2`, or those of every day.
fn numbers(words: &[String], name: &str, otherwise: &[f64]) -> Vec<f64> {
    let listed = words.iter().find_map(|w| w.strip_prefix(name));
    listed.map_or(otherwise.to_vec(), |l| {
        l.split(',').map(|n| n.parse().unwrap()).collect()
    })
}

/// Weights that take longer than the default ones are told apart no further. `words`: scenes, or none for all of them.
fn weights(words: &[String]) {
    println!(
        "\nIterations until velocities are within {FOUND} of their change in the step, with the contacts that are near at \
         its start:\n"
    );
    println!(
        "| scene | default | best of others | elastic, contact in masses | default over best | others |"
    );
    println!("|---|---|---|---|---|---|");
    let elastic = numbers(words, "elastic=", &ELASTIC);
    let contact = numbers(words, "contact=", &CONTACT);
    let steps = words.iter().find_map(|w| w.strip_prefix("step="));
    let named = STUDIED.iter().any(|s| words.iter().any(|w| w == s.0));
    for (name, changes, step) in STUDIED {
        if named && !words.iter().any(|w| w == name) {
            continue;
        }
        let begun = Instant::now();
        let mut s = simulation(name, changes, 2);
        for _ in 0..steps.map_or(step, |n| n.parse().unwrap()) {
            s.advance().unwrap();
        }
        let exact = stepped(&s, EXACT, None);
        let goal = FOUND * apart(&s, &s.world.state.v, &exact);
        // Errors swing while they shrink: a budget counts if it and the next two are within.
        let takes = |weights, most: usize| {
            let mut within = 0;
            let last = BUDGETS.iter().filter(|n| **n <= most).count() + KEPT;
            for (k, n) in BUDGETS.iter().enumerate().take(last) {
                let error = apart(&s, &stepped(&s, *n, weights), &exact);
                within = if goal > error { within + 1 } else { 0 };
                if within > KEPT {
                    return Some(&BUDGETS[k - KEPT]);
                }
            }
            None
        };
        let most = *BUDGETS.last().unwrap();
        let default = takes(None, most);
        let most = default.copied().unwrap_or(most);
        let pairs = |e: &f64| contact.iter().map(|c| (*e, *c)).collect::<Vec<_>>();
        let others = elastic.iter().flat_map(pairs);
        let others: Vec<_> = others.map(|w| (takes(Some(w), most), w)).collect();
        let best = others
            .iter()
            .filter_map(|(n, w)| n.map(|n| (*n, *w)))
            .min_by_key(|b| b.0);
        let told = |n: Option<&usize>| n.map_or("-".to_string(), ToString::to_string);
        let all: Vec<String> = others.iter().map(|(n, _)| told(*n)).collect();
        print!("| `{name}` | {} |", told(default));
        match best {
            Some((n, (e, c))) => print!(" {n} | {e}, {c} | {:.2} |", most as f64 / n as f64),
            None => print!(" more | | below 1 |"),
        }
        println!(
            " {} | ({:.0} s, change {:.1e} m/s)",
            all.join(" "),
            begun.elapsed().as_secs_f64(),
            goal / FOUND
        );
    }
}

/// Velocities (m/s) after a step with a budget and weights (elastic, contact) other than the scene's. What the motion would
/// cross is not looked for on the way: every budget would find something else, and come to an answer of its own.
fn stepped(
    s: &Simulation,
    iterations: usize,
    weights: Option<(f64, f64)>,
) -> Vec<muslin::linalg::Vec3> {
    let mut changes = vec![
        format!("solver.admm.iterations={iterations}"),
        "solver.admm.tolerance=0".to_string(),
        "solver.admm.failsafe=false".to_string(),
        "solver.admm.refresh=1000000".to_string(),
    ];
    if let Some((elastic, contact)) = weights {
        if elastic > 0.0 {
            changes.push(format!("solver.admm.elastic_weight={elastic}"));
        }
        if contact > 0.0 {
            changes.push(format!("solver.admm.contact_weight={contact}"));
        }
    }
    let changes: Vec<Override> = changes
        .iter()
        .map(|c| Override::parse(c).unwrap())
        .collect();
    let mut other = s.branch().unwrap();
    other.change(&changes).unwrap();
    other.advance().unwrap();
    other.world.state.v
}

/// Root mean square by mass of the difference of two sets of velocities, m/s.
fn apart(s: &Simulation, a: &[muslin::linalg::Vec3], b: &[muslin::linalg::Vec3]) -> f64 {
    let mass: f64 = s.world.mass.iter().sum();
    let each = a.iter().zip(b).zip(&s.world.mass);
    let sum: f64 = each.map(|((a, b), m)| m * a.distance_squared(*b)).sum();
    (sum / mass).sqrt()
}

/// `sphere_drape` with the sphere at rest, the same step for both methods.
const DRAPE: [&str; 5] = [
    "cloth.sheet.grid.cells=[40, 40]",
    "obstacle.ball.keyframes=[{ time = 1 }]",
    "wind.velocity=[0, 0, 0]",
    "output.frame_rate=60",
    "solver.time_step=0.016666666666666667",
];
/// What makes either method exact enough to compare.
const METHODS: [(&str, &[&str]); 2] = [
    (
        "implicit",
        &["solver.method=implicit", "solver.implicit.scheme=newton"],
    ),
    (
        "admm",
        &[
            "solver.method=admm",
            "solver.admm.iterations=400",
            "solver.admm.tolerance=1e-6",
        ],
    ),
];
/// A drape lies still when no vertex is faster than this, m/s; steps for which that is waited at most; steps for which
/// the other method then goes on.
const STILL: f64 = 1e-3;
const SETTLE: [usize; 2] = [1800, 60];

/// Folds of a large sheet are chosen by small differences while it falls, so each method goes on where the other one came
/// to rest: if both mean the same physics, nothing moves.
fn agreement() {
    println!("\n`sphere_drape`, sphere at rest, 41 x 41 vertices, air at rest, steps of 1/60 s:\n");
    println!(
        "| at rest with | fastest vertex, m/s | goes on with | seconds | moved by at most, m | on average, m | fastest vertex, m/s |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (k, (first, changes)) in METHODS.iter().enumerate() {
        let (second, others) = METHODS[1 - k];
        let mut s = simulation("sphere_drape", &[&DRAPE[..], changes].concat(), 2);
        for step in 0..SETTLE[0] {
            s.advance().unwrap();
            if step > 60 && fastest(&s) < STILL {
                break;
            }
        }
        let (rest, still) = (s.world.state.x.clone(), fastest(&s));
        let others: Vec<Override> = others.iter().map(|c| Override::parse(c).unwrap()).collect();
        s.change(&others).unwrap();
        for _ in 0..SETTLE[1] {
            s.advance().unwrap();
        }
        let moved = || {
            rest.iter()
                .zip(&s.world.state.x)
                .map(|(a, b)| a.distance(*b))
        };
        println!(
            "| `{first}` | {still:.1e} | `{second}` | {:.1} | {:.1e} | {:.1e} | {:.1e} |",
            SETTLE[1] as f64 * s.dt(),
            moved().fold(0.0, f64::max),
            moved().sum::<f64>() / rest.len() as f64,
            fastest(&s),
        );
    }
}

/// Speed of the fastest vertex, m/s.
fn fastest(s: &Simulation) -> f64 {
    let speeds = s.world.state.v.iter().map(|v| v.length());
    speeds.fold(0.0, f64::max)
}
