//! What the viewer costs: printed, never judged, for machines differ and are shared.

use crate::devtools::{Browser, Outcome};
use crate::runs::{text, write_large};
use crate::{ensure, open, quiet, serve};
use muslin::scene::SceneSource;
use muslin::simulation::Simulation;
use muslin_view::{LiveRun, Viewer};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Fetches 29 frames one after the other: medians of the time until the bytes are there, the same again for packets that are
/// made already, and of laying arrays over them, ms.
const TRANSFER: &str = "(async () => { const { unpack } = await import('/packet.js'); \
    const times = [[], [], []]; const median = (a) => a.sort((x, y) => x - y)[a.length >> 1]; \
    const get = async (n) => (await fetch(`/api/run/0/frame/${n}?faces=0`)).arrayBuffer(); \
    for (let n = 1; n < 30; n++) { let b = performance.now(); let bytes = await get(n); times[0].push(performance.now() - b); \
    b = performance.now(); bytes = await get(n); times[1].push(performance.now() - b); b = performance.now(); unpack(bytes); \
    times[2].push(performance.now() - b); } return times.map(median); })()";

/// Hands frames to the graphics library and draws them as while playing, waiting for the last pixel: medians, ms.
const DRAWING: &str = "(async () => { const m = muslin; const loop = m.loop; m.loop = () => {}; await new Promise((d) => setTimeout(d, 500)); \
    const frames = []; for (let n = 1; n < 12; n++) frames.push(await m.runs[0].frame(n)); \
    const median = (a) => a.sort((x, y) => x - y)[a.length >> 1]; const out = []; \
    for (const drafting of [true, false]) { const [hand, draw] = [[], []]; m.drafting = drafting; \
    for (const f of frames) { let b = performance.now(); m.show(m.runs[0], 0, f); hand.push(performance.now() - b); \
    b = performance.now(); m.render(m.width, m.height); draw.push(m.finished() - b); } \
    out.push(median(hand), median(draw)); } m.loop = loop; requestAnimationFrame(loop); return out; })()";

/// Prints how soon a long recording is seen, what frames of 100 000 triangles cost, and what ten viewers take from a run.
pub fn all(browser: &Browser, runs: &Path) -> Outcome<()> {
    long(browser, &runs.join("long"))?;
    large(browser, &runs.join("large"))?;
    crowd()
}

fn large(browser: &Browser, run: &Path) -> Outcome<()> {
    println!("100 000 triangles");
    write_large(run, 224, 60).map_err(text)?;
    let viewer = serve(&[run])?;
    let mut page = open(browser, &viewer)?;
    let number = |v: &serde_json::Value| v.as_f64().unwrap_or(f64::NAN);
    let t = page.eval(TRANSFER)?;
    println!(
        "  transfer {:.1} ms a frame, {:.1} ms of a packet that is made already; decoding {:.2} ms",
        number(&t[0]),
        number(&t[1]),
        number(&t[2])
    );
    let d = page.eval(DRAWING)?;
    println!(
        "  handed over in {:.1} ms, drawn in {:.0} ms while it moves and {:.0} ms with care",
        number(&d[0]),
        number(&d[1]),
        number(&d[3])
    );
    page.eval("muslin.go(0)")?;
    page.until("muslin.shown[0] === 0")?;
    page.eval("(window.begun = performance.now(), window.painted = muslin.painted, muslin.costly = true, muslin.play(true))")?;
    page.until("muslin.shown[0] === 59")?;
    let rate = page.eval("1000 * (muslin.painted - painted) / (performance.now() - begun)")?;
    println!("  played at {:.1} pictures a second", number(&rate));
    quiet(page)
}

fn long(browser: &Browser, run: &Path) -> Outcome<()> {
    println!("300 frames of 20 000 triangles");
    write_large(run, 101, 301).map_err(text)?;
    let begun = Instant::now();
    let viewer = serve(&[run])?;
    let page = open(browser, &viewer)?;
    println!(
        "  first picture {} ms after the viewer was started",
        begun.elapsed().as_millis()
    );
    quiet(page)
}

const FALL: &str = r#"
description = "A sheet hangs"
[solver]
time_step = 0.004
[cloth.sheet]
grid = { size = [1, 1], cells = [40, 40] }
fabric = "gray-interlock"
[pin.line]
cloth = "sheet"
vertices = [0, 40]
"#;

/// Seconds of one try; tries with and without viewers take turns, so that other loads of the machine fall on both.
const TRY: Duration = Duration::from_secs(2);
const TRIES: usize = 8;

/// How fast a live run goes with nobody and with ten who follow it. One thread simulates, as fast as it can.
fn crowd() -> Outcome<()> {
    println!("ten viewers");
    let source = SceneSource::from_text("crowd", FALL);
    let simulation = Simulation::new(&source, &[], 1).map_err(text)?;
    let triangles: usize = simulation
        .world
        .bodies
        .iter()
        .map(|b| b.topology.faces.len())
        .sum();
    drop(simulation);
    let run = LiveRun::start(source, Vec::new(), 1).map_err(text)?;
    let viewer = Viewer::start(vec![Arc::new(run)], 0).map_err(text)?;
    let port = viewer.port();
    let (frames, bytes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut rates = [0.0, 0.0];
    std::thread::sleep(Duration::from_secs(1));
    for k in 0..2 * TRIES {
        let ended = Arc::new(AtomicBool::new(false));
        let count = if k % 2 == 0 { 0 } else { 10 };
        let viewers: Vec<_> = (0..count)
            .map(|_| {
                let (ended, frames, bytes) = (ended.clone(), frames.clone(), bytes.clone());
                std::thread::spawn(move || follow(port, &ended, &frames, &bytes))
            })
            .collect();
        let (begun, first) = (Instant::now(), end(port)?);
        std::thread::sleep(TRY);
        rates[k % 2] += (end(port)? - first) as f64 / begun.elapsed().as_secs_f64() / TRIES as f64;
        ended.store(true, Ordering::Relaxed);
        for v in viewers {
            let _ = v.join();
        }
    }
    println!(
        "  a live run of {triangles} triangles: {:.1} frames a second alone, {:.1} with ten who follow: {:+.1} %",
        rates[0],
        rates[1],
        100.0 * (rates[1] / rates[0] - 1.0)
    );
    let seconds = TRY.as_secs_f64() * TRIES as f64;
    println!(
        "  they fetched {:.0} frames and {:.1} MB a second",
        frames.load(Ordering::Relaxed) as f64 / seconds,
        bytes.load(Ordering::Relaxed) as f64 / seconds / 1e6
    );
    ensure(rates[1] > 0.0, "the run goes on with ten viewers")
}

/// What a page does that follows a live run: looks every so often, fetches the newest frame if there is a new one.
fn follow(port: u16, ended: &AtomicBool, frames: &AtomicUsize, bytes: &AtomicUsize) {
    let mut shown = 0;
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return;
    };
    while !ended.load(Ordering::Relaxed) {
        let newest = ask(&mut stream, port, "/api/run/0/state")
            .ok()
            .map(|b| end_of(&b));
        if let Some(newest) = newest.filter(|n| *n > shown + 1) {
            shown = newest - 1;
            let path = format!("/api/run/0/frame/{shown}?faces=0");
            if let Ok(packet) = ask(&mut stream, port, &path) {
                frames.fetch_add(1, Ordering::Relaxed);
                bytes.fetch_add(packet.len(), Ordering::Relaxed);
            }
        }
        std::thread::sleep(Duration::from_millis(30));
    }
}

fn end(port: u16) -> Outcome<usize> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(text)?;
    ask(&mut stream, port, "/api/run/0/state")
        .map(|b| end_of(&b))
        .map_err(text)
}

fn end_of(body: &[u8]) -> usize {
    let state = serde_json::from_slice::<serde_json::Value>(body).unwrap_or_default();
    state["state"]["end"].as_u64().unwrap_or(0) as usize
}

/// The body of an answer on a connection that stays open.
fn ask(stream: &mut TcpStream, port: u16, path: &str) -> std::io::Result<Vec<u8>> {
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        if let Some(head) = answer.windows(4).position(|w| w == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&answer[..head]).into_owned();
            let length = text
                .lines()
                .find_map(|l| l.strip_prefix("Content-Length: "))
                .and_then(|l| l.parse().ok())
                .unwrap_or(0);
            while answer.len() < head + 4 + length {
                let read = stream.read(&mut part)?;
                if read == 0 {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                answer.extend_from_slice(&part[..read]);
            }
            return Ok(answer.split_off(head + 4));
        }
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        answer.extend_from_slice(&part[..read]);
    }
}
