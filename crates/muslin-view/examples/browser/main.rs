//! Looks at the viewer in a real browser without a window; `cargo xtask test` runs it, and `cargo xtask browser` with
//! measurements. Arguments: the browser's program, a folder for screenshots, and `measure` to print what things cost.
//! Exits with 3 if the browser cannot be started.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod devtools;
mod measure;
mod runs;

use devtools::{Browser, Outcome, Page};
use muslin::record::RunFolder;
use muslin::scene::SceneSource;
use muslin_view::{LiveRun, RecordedRun, Source, Viewer};
use runs::{SCENE, go_on, record, simulation, text, write_changing};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// What is left of the program if there is no browser to look with.
const NO_BROWSER: u8 = 3;

/// Hash of what the canvas shows.
const PIXELS: &str = "(() => { const c = document.getElementById('canvas'); const g = c.getContext('webgl2'); \
    const w = c.width, h = c.height, b = new Uint8Array(4 * w * h); g.readPixels(0, 0, w, h, g.RGBA, g.UNSIGNED_BYTE, b); \
    let s = 0; for (let i = 0; i < b.length; i++) s = (s * 31 + b[i]) >>> 0; return s; })()";

/// Pixels of the left or right half that have exactly the colour of contacts that stick, and that slide.
const CONTACT_PIXELS: &str = "((half) => { const c = document.getElementById('canvas'); const g = c.getContext('webgl2'); \
    const w = c.width >> 1, h = c.height, b = new Uint8Array(4 * w * h); \
    g.readPixels(half * w, 0, w, h, g.RGBA, g.UNSIGNED_BYTE, b); const found = [0, 0]; \
    const colours = [[0, 114, 178], [230, 159, 0]]; const near = (i, rgb) => rgb.every((v, k) => Math.abs(b[i + k] - v) < 4); \
    for (let i = 0; i < b.length; i += 4) colours.forEach((rgb, k) => (found[k] += near(i, rgb))); return found; })";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (browser, shots, measures) = match words[..] {
        [browser, shots] => (browser, shots, false),
        [browser, shots, "measure"] => (browser, shots, true),
        _ => {
            eprintln!(
                "give the browser's program, a folder for screenshots, and perhaps `measure`"
            );
            return ExitCode::FAILURE;
        }
    };
    let browser = match Browser::start(Path::new(browser)) {
        Ok(browser) => browser,
        Err(why) => {
            eprintln!("the browser cannot be started: {why}");
            return ExitCode::from(NO_BROWSER);
        }
    };
    match check(&browser, Path::new(shots), measures) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("FAILED: {message}");
            ExitCode::FAILURE
        }
    }
}

fn check(browser: &Browser, shots: &Path, measures: bool) -> Outcome<()> {
    std::fs::create_dir_all(shots).map_err(text)?;
    let runs = std::env::temp_dir().join(format!("muslin-look-{}", std::process::id()));
    let slides = record(&runs.join("friction 0.2"), &[])?;
    let sticks = record(&runs.join("friction 0.9"), &["contact.friction=0.9"])?;
    let outcome = recording(browser, &slides, shots)
        .and_then(|()| comparison(browser, &slides, &sticks, shots))
        .and_then(|()| damaged(browser, &sticks, shots))
        .and_then(|()| growing(browser, &runs.join("growing")))
        .and_then(|()| changing_topology(browser, &runs.join("changing"), shots))
        .and_then(|()| live(browser, shots))
        .and_then(|()| {
            if measures {
                measure::all(browser, &runs)
            } else {
                Ok(())
            }
        });
    let _ = std::fs::remove_dir_all(&runs);
    outcome
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

/// The picture when all that was asked for has been painted, with care.
fn pixels(page: &mut Page) -> Outcome<u64> {
    page.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")?;
    page.until("!muslin.stale && !muslin.drafting")?;
    Ok(page.eval(PIXELS)?.as_u64().unwrap_or(0))
}

/// Closes a page that has nothing to complain about.
fn quiet(page: Page) -> Outcome<()> {
    ensure(
        page.errors.is_empty(),
        &format!("no errors on the console {:?}", page.errors),
    )?;
    page.close()
}

/// Pixels of contacts that stick, and that slide, in the left (0) or right (1) half.
fn contact_pixels(page: &mut Page, half: usize) -> Outcome<[u64; 2]> {
    pixels(page)?;
    let found = page.eval(&format!("{CONTACT_PIXELS}({half})"))?;
    Ok([0, 1].map(|k| found[k].as_u64().unwrap_or(0)))
}

/// Puts a value into a field as a user does.
fn enter(page: &mut Page, id: &str, value: &str, event: &str) -> Outcome<()> {
    page.eval(&format!(
        "(() => {{ const f = document.getElementById('{id}'); f.value = '{value}'; f.dispatchEvent(new Event('{event}')); }})()"
    ))?;
    Ok(())
}

fn click(page: &mut Page, id: &str) -> Outcome<()> {
    page.eval(&format!("document.getElementById('{id}').click()"))?;
    Ok(())
}

fn recording(browser: &Browser, run: &Path, shots: &Path) -> Outcome<()> {
    println!("a recording");
    let viewer = serve(&[run])?;
    let mut page = open(browser, &viewer)?;
    page.eval("muslin.go(0)")?;
    page.until("muslin.shown[0] === 0")?;
    let first = pixels(&mut page)?;
    enter(&mut page, "timeline", "25", "input")?;
    page.until("muslin.shown[0] === 25")?;
    let later = pixels(&mut page)?;
    ensure(first != later, "scrubbing changes the picture")?;
    ensure(
        later == pixels(&mut page)?,
        "a frame at rest stays the same",
    )?;
    let found = contact_pixels(&mut page, 0)?[1] + contact_pixels(&mut page, 1)?[1];
    ensure(found > 20, "contacts that slide are seen in their colour")?;
    page.screenshot(&shots.join("recording.png"))?;
    for (key, what) in [
        ("c", "contacts"),
        ("i", "impulses"),
        ("w", "wire"),
        ("s", "shadows"),
        ("k", "weave"),
        ("o", "obstacles"),
    ] {
        page.key(key)?;
        ensure(
            pixels(&mut page)? != later,
            &format!("the key {key} changes {what}"),
        )?;
        page.key(key)?;
    }
    ensure(pixels(&mut page)? == later, "and again changes it back")?;
    for field in ["stretch", "compression", "speed", "pressure"] {
        let before = pixels(&mut page)?;
        enter(&mut page, "field", field, "change")?;
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
    statistics(&mut page)?;
    page.key("d")?;
    page.key("w")?;
    pixels(&mut page)?;
    page.screenshot(&shots.join("dark_wire.png"))?;
    page.key("w")?;
    page.key("?")?;
    ensure(
        page.eval("document.getElementById('keys').open")? == true,
        "the list of keys opens",
    )?;
    page.screenshot(&shots.join("keys.png"))?;
    page.key("?")?;
    let saved = page.eval(
        "new Promise((done) => { let kept; const make = URL.createObjectURL; URL.createObjectURL = (blob) => ((kept = blob), \
         make(blob)); HTMLAnchorElement.prototype.click = function () { done([this.download, kept.type, kept.size]); }; \
         document.getElementById('screenshot').click(); })",
    )?;
    ensure(
        saved[0] == "friction 0.2_000015.png"
            && saved[1] == "image/png"
            && saved[2].as_u64() > Some(5000),
        "the button saves a picture",
    )?;
    quiet(page)
}

/// The panel has curves; a click into one goes to that time.
fn statistics(page: &mut Page) -> Outcome<()> {
    page.until("document.querySelectorAll('#charts figure').length >= 5")?;
    ensure(true, "statistics and measures are plotted")?;
    page.eval(
        "(() => { const c = document.querySelector('#charts canvas'); const b = c.getBoundingClientRect(); \
         c.dispatchEvent(new PointerEvent('pointerdown', { clientX: b.left + 44 + 0.5 * (b.width - 44), clientY: b.top + 9 \
         })); })()",
    )?;
    page.until("muslin.shown[0] === 15")?;
    ensure(true, "a click into a curve goes there")
}

fn comparison(browser: &Browser, slides: &Path, sticks: &Path, shots: &Path) -> Outcome<()> {
    println!("two runs side by side");
    let viewer = serve(&[slides, sticks])?;
    let mut page = open(browser, &viewer)?;
    page.eval("muslin.go(0.45)")?;
    page.until("muslin.shown[0] === 27 && muslin.shown[1] === 27")?;
    let x = |i: usize| format!("muslin.stages[{i}].frame.surfaces[0].x[0]");
    let (a, b) = (page.eval(&x(0))?, page.eval(&x(1))?);
    ensure(
        a.as_f64() > b.as_f64(),
        "with less friction it gets farther",
    )?;
    let (left, right) = (contact_pixels(&mut page, 0)?, contact_pixels(&mut page, 1)?);
    ensure(
        left[1] > left[0] && right[0] > right[1],
        &format!("contacts slide on the left and stick on the right: {left:?}, {right:?} pixels"),
    )?;
    page.screenshot(&shots.join("comparison.png"))?;
    let before = pixels(&mut page)?;
    page.mouse("mousePressed", [150.0, 350.0])?;
    page.mouse("mouseMoved", [220.0, 380.0])?;
    page.mouse("mouseReleased", [220.0, 380.0])?;
    ensure(pixels(&mut page)? != before, "the mouse turns both")?;
    quiet(page)
}

/// A frame that cannot be read is told about; the others are shown.
fn damaged(browser: &Browser, run: &Path, shots: &Path) -> Outcome<()> {
    println!("a damaged recording");
    std::fs::write(run.join("frames/000010.npz"), b"half a frame").map_err(text)?;
    let viewer = serve(&[run])?;
    let mut page = open(browser, &viewer)?;
    page.eval("muslin.go(9 / 60 + 1e-4)")?;
    page.until("muslin.shown[0] === 9")?;
    page.key("ArrowRight")?;
    page.until("document.getElementById('message').textContent.includes('000010.npz is damaged')")?;
    ensure(true, "the frame that is damaged is named")?;
    page.eval("muslin.play(true)")?;
    page.until("muslin.shown[0] === 30")?;
    ensure(true, "it plays past it")?;
    page.screenshot(&shots.join("damaged.png"))?;
    // The browser itself notes the answer that refuses the frame.
    page.errors.retain(|e| !e.contains("/frame/10"));
    quiet(page)
}

/// A run that goes on is followed; a page that is closed does it no harm.
fn growing(browser: &Browser, run: &Path) -> Outcome<()> {
    println!("a run that goes on");
    let mut simulation = simulation(&["output.frames=12"])?;
    let mut recording = RunFolder::create(run, &simulation).map_err(text)?;
    let viewer = serve(&[run])?;
    let mut page = open(browser, &viewer)?;
    ensure(
        page.eval("muslin.shown[0]")? == 0,
        "its first frame is shown",
    )?;
    open(browser, &viewer)?.close()?;
    page.bring_to_front()?;
    go_on(&mut simulation, &mut recording)?;
    page.until("muslin.shown[0] === 12 && muslin.runs[0].state.complete")?;
    ensure(true, "it is followed to its end")?;
    quiet(page)
}

fn changing_topology(browser: &Browser, run: &Path, shots: &Path) -> Outcome<()> {
    println!("changing topology");
    write_changing(run).map_err(text)?;
    let viewer = serve(&[run])?;
    let mut page = open(browser, &viewer)?;
    for (number, faces) in [(1, 6), (3, 12), (0, 6), (2, 12)] {
        page.eval(&format!("muslin.go({number} / 60 + 1e-4)"))?;
        page.until(&format!("muslin.shown[0] === {number}"))?;
        let shown = page.eval("muslin.stages[0].surfaces.get('sheet').geometry.index.count")?;
        ensure(shown == faces, &format!("frame {number} has its own faces"))?;
    }
    page.eval("(muslin.go(0), muslin.play(true))")?;
    page.until("muslin.shown[0] === 3")?;
    ensure(true, "it plays")?;
    pixels(&mut page)?;
    page.screenshot(&shots.join("changing.png"))?;
    quiet(page)
}

fn live(browser: &Browser, shots: &Path) -> Outcome<()> {
    println!("a live run");
    let source =
        SceneSource::from_text("live", &SCENE.replace("cells = [12, 12]", "cells = [8, 8]"));
    let run = LiveRun::start(source, Vec::new(), 1).map_err(text)?;
    let viewer = Viewer::start(vec![Arc::new(run)], 0).map_err(text)?;
    let mut page = open(browser, &viewer)?;
    page.until("muslin.shown[0] > 5")?;
    ensure(true, "it runs")?;
    click(&mut page, "live-pause")?;
    page.until("muslin.runs[0].state.paused && muslin.shown[0] === muslin.runs[0].state.end - 1")?;
    page.until("document.getElementById('live-pause').textContent === 'Play'")?;
    let still = pixels(&mut page)?;
    ensure(still == pixels(&mut page)?, "it can be paused")?;
    let number = page.eval("muslin.shown[0]")?.as_u64().unwrap_or(0);
    click(&mut page, "live-step")?;
    page.until(&format!("muslin.shown[0] === {}", number + 1))?;
    ensure(true, "and stepped")?;
    click(&mut page, "live-restart")?;
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
    click(&mut page, "live-pause")?;
    page.mouse("mouseMoved", [at[0], at[1] - 120.0])?;
    let height = "muslin.stages[0].surfaces.get('sheet').data.x[3 * 40 + 2]";
    let before = page.eval(height)?.as_f64().unwrap_or(0.0);
    page.until(&format!("{height} > {before} + 0.05"))?;
    ensure(true, "and lifts it")?;
    page.screenshot(&shots.join("live.png"))?;
    page.mouse("mouseReleased", [at[0], at[1] - 120.0])?;
    for (id, value, met) in [
        ("live-friction", "0.9", "friction === 0.9"),
        ("live-gravity", "1.6", "gravity[2] === -1.6"),
        ("live-wind-y", "3", "wind[1] === 3"),
        ("live-dt", "4", "time_step < 0.0045"),
    ] {
        enter(&mut page, id, value, "change")?;
        page.until(&format!("muslin.runs[0].about.{met}"))?;
        ensure(true, &format!("{id} is changed while it runs"))?;
    }
    ensure(
        page.eval(
            "muslin.runs[0].state.generation === 2 && muslin.runs[0].state.message === null",
        )? == true,
        "without beginning anew",
    )?;
    quiet(page)
}
