//! Looks at the viewer in a real browser without a window: `cargo xtask browser` finds or fetches one and runs this.
//! Arguments: the browser's program, and a folder for screenshots.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod devtools;

use devtools::{Browser, Outcome, Page};
use muslin::record::{ArrayWriter, RunFolder};
use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;
use muslin_view::{LiveRun, RecordedRun, Source, Viewer};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

const SCENE: &str = r#"
description = "A sheet slides down a ramp and meets a ball"
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
[obstacle.ramp]
plane = { point = [0, 0, 0], size = 2 }
rotate = { axis = [0, 1, 0], degrees = 30 }
[[measure]]
name = "largest stretch"
kind = "largest_stretch"
"#;

/// Hash of what the canvas shows.
const PIXELS: &str = "(() => { const c = document.getElementById('canvas'); const g = c.getContext('webgl2'); \
    const w = c.width, h = c.height, b = new Uint8Array(4 * w * h); g.readPixels(0, 0, w, h, g.RGBA, g.UNSIGNED_BYTE, b); \
    let s = 0; for (let i = 0; i < b.length; i++) s = (s * 31 + b[i]) >>> 0; return s; })()";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [browser, shots] = &arguments[..] else {
        eprintln!("give the browser's program and a folder for screenshots");
        return ExitCode::FAILURE;
    };
    match check(Path::new(browser), Path::new(shots)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("FAILED: {message}");
            ExitCode::FAILURE
        }
    }
}

fn check(program: &Path, shots: &Path) -> Outcome<()> {
    std::fs::create_dir_all(shots).map_err(|e| e.to_string())?;
    let runs = std::env::temp_dir().join(format!("muslin-look-{}", std::process::id()));
    let browser = Browser::start(program)?;
    let slow = record(&runs.join("friction 0.2"), &[])?;
    let fast = record(&runs.join("no friction"), &["contact.friction=0.0"])?;
    let outcome = recording(&browser, &slow, shots)
        .and_then(|()| comparison(&browser, &slow, &fast, shots))
        .and_then(|()| changing_topology(&browser, &runs.join("changing"), shots))
        .and_then(|()| live(&browser, shots))
        .and_then(|()| large(&browser, &runs.join("large")));
    let _ = std::fs::remove_dir_all(&runs);
    outcome
}

fn record(folder: &Path, changes: &[&str]) -> Outcome<PathBuf> {
    let changes: Result<Vec<Override>, _> = changes.iter().map(|c| Override::parse(c)).collect();
    let changes = changes.map_err(|e| e.to_string())?;
    let source = SceneSource::from_text("ramp", SCENE);
    let mut simulation = Simulation::new(&source, &changes, 0).map_err(|e| e.to_string())?;
    let mut recording = RunFolder::create(folder, &simulation).map_err(|e| e.to_string())?;
    while simulation.frame() < simulation.scene.output.frames {
        let report = simulation.advance().map_err(|e| e.to_string())?;
        recording
            .step(&simulation, &report)
            .map_err(|e| e.to_string())?;
    }
    recording
        .summarise(&simulation)
        .map_err(|e| e.to_string())?;
    Ok(folder.to_path_buf())
}

fn serve(folders: &[&Path]) -> Outcome<Viewer> {
    let mut sources: Vec<Arc<dyn Source>> = Vec::new();
    for folder in folders {
        sources.push(Arc::new(
            RecordedRun::open(folder).map_err(|e| e.to_string())?,
        ));
    }
    Viewer::start(sources, 0).map_err(|e| e.to_string())
}

fn ensure(truth: bool, what: &str) -> Outcome<()> {
    println!("  {} {what}", if truth { "ok    " } else { "FAILED" });
    if truth { Ok(()) } else { Err(what.into()) }
}

/// Opens the viewer and waits for its first picture.
fn open(browser: &Browser, viewer: &Viewer) -> Outcome<Page> {
    let begun = Instant::now();
    let mut page = browser.open(&viewer.url())?;
    page.until(
        "window.muslin !== undefined && muslin.shown.every((n) => n >= 0) && muslin.painted > 0",
    )?;
    println!("  first picture after {} ms", begun.elapsed().as_millis());
    Ok(page)
}

fn pixels(page: &mut Page) -> Outcome<u64> {
    // Two frames later whatever was asked for has been painted.
    page.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")?;
    Ok(page.eval(PIXELS)?.as_u64().unwrap_or(0))
}

fn quiet(page: &Page) -> Outcome<()> {
    ensure(
        page.errors.is_empty(),
        &format!("no errors on the console {:?}", page.errors),
    )
}

fn recording(browser: &Browser, run: &Path, shots: &Path) -> Outcome<()> {
    println!("a recording");
    let viewer = serve(&[run])?;
    let mut page = open(browser, &viewer)?;
    page.eval("muslin.go(0)")?;
    page.until("muslin.shown[0] === 0")?;
    let first = pixels(&mut page)?;
    page.eval(
        "(() => { const t = document.getElementById('timeline'); t.value = 25; t.dispatchEvent(new Event('input')); })()",
    )?;
    page.until("muslin.shown[0] === 25")?;
    let later = pixels(&mut page)?;
    ensure(first != later, "scrubbing changes the picture")?;
    ensure(
        later == pixels(&mut page)?,
        "a frame at rest stays the same",
    )?;
    let sliding =
        page.eval("muslin.stages[0].frame.contacts.state.filter((s) => s === 2).length")?;
    ensure(sliding.as_u64() > Some(10), "contacts slide")?;
    ensure(
        page.eval("muslin.stages[0].dots.visible")? == true,
        "contacts are drawn",
    )?;
    page.key("c")?;
    ensure(pixels(&mut page)? != later, "the key C hides contacts")?;
    page.key("c")?;
    ensure(pixels(&mut page)? == later, "and shows them again")?;
    page.screenshot(&shots.join("recording.png"))?;
    for field in ["stretch", "compression", "speed", "pressure"] {
        let before = pixels(&mut page)?;
        page.eval(&format!(
            "(() => {{ const f = document.getElementById('field'); f.value = '{field}'; f.dispatchEvent(new \
             Event('change')); }})()"
        ))?;
        page.until(&format!(
            "muslin.runs[0].field === '{field}' && muslin.runs[0].has(25)"
        ))?;
        page.until("muslin.stages[0].frame.surfaces[0].field !== null && !document.getElementById('legend').hidden")?;
        ensure(pixels(&mut page)? != before, &format!("colour by {field}"))?;
    }
    page.screenshot(&shots.join("pressure.png"))?;
    page.key("Home")?;
    page.until("muslin.shown[0] === 0")?;
    page.key(" ")?;
    page.until("muslin.shown[0] > 10")?;
    ensure(true, "it plays")?;
    page.until("!muslin.playing && muslin.shown[0] === 30")?;
    ensure(true, "and stops at the end")?;
    page.key("d")?;
    page.key("w")?;
    page.screenshot(&shots.join("dark_wire.png"))?;
    page.until("document.querySelectorAll('#charts figure').length >= 5")?;
    ensure(true, "statistics are plotted")?;
    quiet(&page)
}

fn comparison(browser: &Browser, slow: &Path, fast: &Path, shots: &Path) -> Outcome<()> {
    println!("two runs side by side");
    let viewer = serve(&[slow, fast])?;
    let mut page = open(browser, &viewer)?;
    page.eval("muslin.go(0.45)")?;
    page.until("muslin.shown[0] === 27 && muslin.shown[1] === 27")?;
    let x = |i: usize| format!("muslin.stages[{i}].frame.surfaces[0].x[0]");
    let (a, b) = (page.eval(&x(0))?, page.eval(&x(1))?);
    ensure(b.as_f64() > a.as_f64(), "without friction it gets farther")?;
    let before = pixels(&mut page)?;
    page.eval("(muslin.camera.position.x += 0.5, muslin.controls.update(), muslin.stale = true)")?;
    ensure(pixels(&mut page)? != before, "the camera moves both")?;
    page.screenshot(&shots.join("comparison.png"))?;
    quiet(&page)
}

/// A recording in which a square becomes two, as a remesher would write it.
fn changing_topology(browser: &Browser, run: &Path, shots: &Path) -> Outcome<()> {
    println!("changing topology");
    write_changing(run).map_err(|e| e.to_string())?;
    let viewer = serve(&[run])?;
    let mut page = open(browser, &viewer)?;
    for (number, faces) in [(1, 6), (3, 12), (0, 6), (2, 12)] {
        page.eval(&format!("muslin.go({number} / 60 + 1e-4)"))?;
        page.until(&format!("muslin.shown[0] === {number}"))?;
        let shown = page.eval("muslin.stages[0].surfaces.get('sheet').geometry.index.count")?;
        ensure(shown == faces, &format!("frame {number} has its own faces"))?;
    }
    page.screenshot(&shots.join("changing.png"))?;
    quiet(&page)
}

fn write_changing(run: &Path) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(run.join("frames"))?;
    std::fs::write(run.join("scene.toml"), SCENE)?;
    std::fs::write(run.join("steps.jsonl"), "")?;
    for n in 0..4i32 {
        let holder = if n < 2 { 0 } else { 2 };
        let squares = if n < 2 { 1 } else { 2 };
        let corner = |i: i32| [f64::from(i % 2), f64::from(i / 2), 0.1 * f64::from(n)];
        let x: Vec<f64> = (0..2 + 2 * squares).flat_map(corner).collect();
        let mut file = ArrayWriter::create(&run.join(format!("frames/{n:06}.npz")))?;
        file.array("time", &[1], &[f64::from(n) / 60.0])?;
        file.array("faces_frame", &[1], &[holder])?;
        file.array("sheet/x", &[x.len() / 3, 3], &x)?;
        file.array("sheet/v", &[x.len() / 3, 3], &vec![0f32; x.len()])?;
        if n == holder {
            let faces: Vec<i32> = (0..squares)
                .flat_map(|s| [0, 1, 3, 0, 3, 2].map(|v| v + 2 * s))
                .collect();
            let flat = |v: &i32| [(*v % 2) as f32, (*v / 2) as f32];
            let material: Vec<f32> = faces.iter().flat_map(flat).collect();
            let rows = faces.len() / 3;
            file.array("sheet/faces", &[rows, 3], &faces)?;
            file.array("sheet/material", &[rows, 3, 2], &material)?;
        }
        file.finish()?;
    }
    Ok(())
}

fn live(browser: &Browser, shots: &Path) -> Outcome<()> {
    println!("a live run");
    let source =
        SceneSource::from_text("live", &SCENE.replace("cells = [12, 12]", "cells = [8, 8]"));
    let run = LiveRun::start(source, Vec::new(), 1).map_err(|e| e.to_string())?;
    let viewer = Viewer::start(vec![Arc::new(run)], 0).map_err(|e| e.to_string())?;
    let mut page = open(browser, &viewer)?;
    page.until("muslin.shown[0] > 5")?;
    ensure(true, "it runs")?;
    page.eval("document.getElementById('live-pause').click()")?;
    page.until("muslin.runs[0].state.paused && muslin.shown[0] === muslin.runs[0].state.end - 1")?;
    let still = pixels(&mut page)?;
    ensure(still == pixels(&mut page)?, "it can be paused")?;
    let number = page.eval("muslin.shown[0]")?.as_u64().unwrap_or(0);
    page.eval("document.getElementById('live-step').click()")?;
    page.until(&format!("muslin.shown[0] === {}", number + 1))?;
    ensure(true, "and stepped")?;
    page.eval("document.getElementById('live-restart').click()")?;
    page.until("muslin.runs[0].state.generation === 2 && muslin.shown[0] === 0")?;
    ensure(true, "and restarted")?;
    // The middle of the sheet, on the screen.
    let place = page.eval(
        "(() => { const s = muslin.stages[0].surfaces.get('sheet'); const p = muslin.controls.target.clone(); \
         p.fromArray(s.data.x, 3 * 40).project(muslin.camera); const b = \
         document.getElementById('canvas').getBoundingClientRect(); return [b.left + (p.x + 1) / 2 * b.width, b.top + (1 - \
         p.y) / 2 * b.height]; })()",
    )?;
    let at = [
        place[0].as_f64().unwrap_or(0.0),
        place[1].as_f64().unwrap_or(0.0),
    ];
    page.mouse("mousePressed", at)?;
    ensure(
        page.eval("muslin.dragging === true")? == true,
        "the mouse takes the cloth",
    )?;
    page.eval("document.getElementById('live-pause').click()")?;
    page.mouse("mouseMoved", [at[0], at[1] - 120.0])?;
    let height = "muslin.stages[0].frame.surfaces[0].x[3 * 40 + 2]";
    let before = page.eval(height)?.as_f64().unwrap_or(0.0);
    page.until(&format!("{height} > {before} + 0.05"))?;
    ensure(true, "and lifts it")?;
    page.screenshot(&shots.join("live.png"))?;
    page.mouse("mouseReleased", [at[0], at[1] - 120.0])?;
    page.eval(
        "(() => { const f = document.getElementById('live-friction'); f.value = '0.9'; f.dispatchEvent(new \
         Event('change')); })()",
    )?;
    page.until("muslin.runs[0].about.friction === 0.9")?;
    ensure(true, "friction is changed while it runs")?;
    quiet(&page)
}

/// How long a frame of 100 000 triangles takes to get and to show, and how fast it plays.
fn large(browser: &Browser, run: &Path) -> Outcome<()> {
    println!("100 000 triangles");
    write_large(run).map_err(|e| e.to_string())?;
    let viewer = serve(&[run])?;
    let mut page = open(browser, &viewer)?;
    let fetched = page.eval(
        "(async () => { const { unpack } = await import('/packet.js'); let most = []; for (let n = 1; n < 20; n++) { const b \
         = performance.now(); unpack(await (await fetch(`/api/run/0/frame/${n}?faces=0`)).arrayBuffer()); \
         most.push(performance.now() - b); } return most.sort((a, b) => a - b)[9]; })()",
    )?;
    println!(
        "  transfer and decode: {:.1} ms a frame",
        fetched.as_f64().unwrap_or(f64::NAN)
    );
    page.eval("muslin.go(0)")?;
    page.until("muslin.shown[0] === 0")?;
    page.key("s")?;
    page.eval(
        "(window.begun = performance.now(), window.painted = muslin.painted, muslin.play(true))",
    )?;
    page.until("muslin.shown[0] === 59")?;
    let rate = page.eval("1000 * (muslin.painted - painted) / (performance.now() - begun)")?;
    println!(
        "  played at {:.1} pictures a second, without shadows",
        rate.as_f64().unwrap_or(f64::NAN)
    );
    quiet(&page)
}

fn write_large(run: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let side = 224;
    std::fs::create_dir_all(run.join("frames"))?;
    std::fs::write(run.join("scene.toml"), SCENE)?;
    std::fs::write(run.join("steps.jsonl"), "")?;
    let at = |i: usize| (i % side, i / side);
    let id = |x: usize, y: usize| (y * side + x) as i32;
    let cells = (0..(side - 1) * (side - 1)).map(|c| (c % (side - 1), c / (side - 1)));
    let corners = |(x, y): (usize, usize)| {
        let [a, b, c, d] = [id(x, y), id(x + 1, y), id(x + 1, y + 1), id(x, y + 1)];
        [a, b, c, a, c, d]
    };
    let faces: Vec<i32> = cells.flat_map(corners).collect();
    for n in 0..60 {
        let wave = |i: usize| {
            let (x, y) = at(i);
            let z = 0.05 * (0.1 * x as f64 + 0.2 * f64::from(n)).sin();
            [x as f64 / side as f64, y as f64 / side as f64, z + 0.5]
        };
        let x: Vec<f64> = (0..side * side).flat_map(wave).collect();
        let mut file = ArrayWriter::create(&run.join(format!("frames/{n:06}.npz")))?;
        file.array("time", &[1], &[f64::from(n) / 60.0])?;
        file.array("faces_frame", &[1], &[0i32])?;
        file.array("sheet/x", &[side * side, 3], &x)?;
        file.array("sheet/v", &[side * side, 3], &vec![0f32; x.len()])?;
        if n == 0 {
            let flat = |v: &i32| {
                let (x, y) = at(*v as usize);
                [x as f32 / side as f32, y as f32 / side as f32]
            };
            let material: Vec<f32> = faces.iter().flat_map(flat).collect();
            file.array("sheet/faces", &[faces.len() / 3, 3], &faces)?;
            file.array("sheet/material", &[faces.len() / 3, 3, 2], &material)?;
        }
        file.finish()?;
    }
    Ok(())
}
