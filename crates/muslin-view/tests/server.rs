//! The viewer's server: what it serves, whom it refuses, and how it treats runs that are damaged, going on or live.
#![allow(clippy::unwrap_used)]

use muslin::record::{Frame, RunFolder};
use muslin::scene::SceneSource;
use muslin::simulation::Simulation;
use muslin_view::{LiveRun, RecordedRun, Source, Viewer};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SCENE: &str = r#"
description = "A sheet falls on a floor"
[output]
frames = 5
frame_rate = 50
[solver]
time_step = 0.01
[cloth.sheet]
grid = { size = [0.2, 0.2], cells = [4, 4] }
translate = [0, 0, 0.02]
fabric = "paper"
[obstacle.floor]
plane = { point = [0, 0, 0], size = 2 }
[[measure]]
name = "height"
kind = "height"
"#;

struct Run(PathBuf);

impl Run {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("muslin-view-{}-{name}", std::process::id()));
        let mut simulation = simulation();
        let mut recording = RunFolder::create(&folder, &simulation).unwrap();
        while simulation.frame() < simulation.scene.output.frames {
            let report = simulation.advance().unwrap();
            recording.step(&simulation, &report).unwrap();
        }
        recording.summarise(&simulation).unwrap();
        Self(folder)
    }

    fn frame(&self, number: usize) -> PathBuf {
        self.0.join(format!("frames/{number:06}.npz"))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn simulation() -> Simulation {
    Simulation::new(&SceneSource::from_text("fall", SCENE), &[], 1).unwrap()
}

fn viewer(source: impl Source + 'static) -> Viewer {
    Viewer::start(vec![Arc::new(source)], 0).unwrap()
}

/// Sends bytes and returns status and body.
fn exchange(viewer: &Viewer, request: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(("127.0.0.1", viewer.port())).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let status = std::str::from_utf8(&answer[9..12])
        .unwrap()
        .parse()
        .unwrap();
    (status, answer[end + 4..].to_vec())
}

fn ask(viewer: &Viewer, method: &str, path: &str, headers: &str, body: &str) -> (u16, Vec<u8>) {
    let host = format!("Host: 127.0.0.1:{}\r\n", viewer.port());
    let length = body.len();
    exchange(
        viewer,
        &format!(
            "{method} {path} HTTP/1.1\r\n{host}Connection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ),
    )
}

fn get(viewer: &Viewer, path: &str) -> (u16, Vec<u8>) {
    ask(viewer, "GET", path, "", "")
}

fn json(viewer: &Viewer, path: &str) -> serde_json::Value {
    let (status, body) = get(viewer, path);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    serde_json::from_slice(&body).unwrap()
}

/// Header and arrays of a packet.
fn packet(viewer: &Viewer, path: &str) -> (serde_json::Value, Vec<u8>) {
    let (status, body) = get(viewer, path);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    assert_eq!(&body[..4], b"MSL1");
    let length = u32::from_le_bytes(body[4..8].try_into().unwrap()) as usize;
    let header = serde_json::from_slice(&body[8..8 + length]).unwrap();
    (header, body[8 + length..].to_vec())
}

fn positions(header: &serde_json::Value, data: &[u8], surface: usize) -> Vec<f32> {
    let s = &header["surfaces"][surface];
    let first = s["x"].as_u64().unwrap() as usize;
    let length = 12 * s["vertices"].as_u64().unwrap() as usize;
    bytemuck::allocation::pod_collect_to_vec(&data[first..first + length])
}

#[test]
fn page_runs_frames_and_steps_are_served() {
    let run = Run::new("served");
    let viewer = viewer(RecordedRun::open(&run.0).unwrap());
    let (status, page) = get(&viewer, "/");
    assert!(status == 200 && String::from_utf8_lossy(&page).contains("main.js"));
    assert_eq!(get(&viewer, "/three.js").0, 200);
    let runs = json(&viewer, "/api/runs");
    assert_eq!(runs["runs"][0]["planes"][0], "floor");
    let state = json(&viewer, "/api/run/0/state");
    assert_eq!(state["state"]["end"], 6);
    assert_eq!(state["state"]["steps"], 10);
    assert_eq!(state["state"]["complete"], true);
    let steps = json(&viewer, "/api/run/0/steps?from=7");
    assert_eq!(steps["steps"].as_array().unwrap().len(), 3);
    assert_eq!(steps["steps"][0]["step"], 8);
    let (header, data) = packet(&viewer, "/api/run/0/frame/4?field=stretch");
    let frame = muslin::record::FrameReader::open(&run.0)
        .unwrap()
        .read(4)
        .unwrap();
    let expected: Vec<f32> = frame.bodies[0]
        .positions
        .iter()
        .flat_map(|p| p.as_vec3().to_array())
        .collect();
    assert_eq!(positions(&header, &data, 0), expected);
    assert!(header["surfaces"][0]["field"].is_number());
    assert!(header["surfaces"][0]["faces"].is_array());
    // Where it all happens: round every frame, and not the floor.
    let extent = json(&viewer, "/api/run/0/extent");
    let radius = extent["radius"].as_f64().unwrap();
    assert!((0.14..0.3).contains(&radius), "{extent}");
    // Connectivity that the page has is not sent again.
    let (known, _) = packet(&viewer, "/api/run/0/frame/4?faces=0");
    assert!(known["surfaces"][0]["faces"].is_null());
}

#[test]
fn strangers_and_tricks_are_refused() {
    let run = Run::new("strangers");
    let viewer = viewer(RecordedRun::open(&run.0).unwrap());
    let port = viewer.port();
    let with = |headers: &str| ask(&viewer, "GET", "/api/runs", headers, "").0;
    assert_eq!(with(&format!("Origin: http://127.0.0.1:{port}\r\n")), 200);
    assert_eq!(with(&format!("Origin: http://localhost:{port}\r\n")), 200);
    for origin in [
        "http://example.org".to_string(),
        "null".into(),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{port}.example.org"),
        format!("http://127.0.0.1:{}", port.wrapping_add(1)),
    ] {
        assert_eq!(with(&format!("Origin: {origin}\r\n")), 403, "{origin}");
    }
    assert_eq!(with("Sec-Fetch-Site: cross-site\r\n"), 403);
    for host in [
        "example.org".to_string(),
        format!("example.org:{port}"),
        "127.0.0.1".into(),
        String::new(),
    ] {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(exchange(&viewer, &request).0, 403, "{host}");
    }
    assert_eq!(
        exchange(&viewer, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n").0,
        403
    );
    for path in [
        "/../Cargo.toml",
        "/..%2f..%2fetc/passwd",
        "//etc/passwd",
        "/api/run/0/frame/../../scene.toml",
        "/api/run/0/frame/-1",
        "/api/run/7/state",
        "/api/run/0/command",
        "/vendor/three/three.min.js",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/api/run/0/frame/18446744073709551616",
        "/api/run/0/frame/1/../../../../scene.toml",
        "/api/run//state",
        "/three.js/",
    ] {
        assert_eq!(get(&viewer, path).0, 404, "{path}");
    }
    assert_eq!(get(&viewer, &format!("/{}", "a".repeat(2000))).0, 414);
    assert_eq!(get(&viewer, "/api/run/0/frame/99999999").0, 422);
    assert_eq!(ask(&viewer, "DELETE", "/", "", "").0, 405);
    // The length is judged before anything of the message is read.
    let head = format!("POST /api/run/0/command HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n");
    let long = format!("{head}Content-Length: 99999999\r\n\r\n");
    assert_eq!(exchange(&viewer, &long).0, 413);
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
    assert_eq!(exchange(&viewer, &chunked).0, 411);
    let headers = "X: y\r\n".repeat(100);
    assert_eq!(ask(&viewer, "GET", "/", &headers, "").0, 431);
    let endless = format!("X: {}\r\n", "y".repeat(40_000));
    assert_eq!(ask(&viewer, "GET", "/", &endless, "").0, 431);
    for length in ["-1", "1e3", "99999999999999999999", "0x10", ""] {
        let odd = format!("{head}Content-Length: {length}\r\n\r\n");
        assert_eq!(exchange(&viewer, &odd).0, 400, "{length}");
    }
    // Two lengths are how one request is smuggled into another.
    let two = format!("{head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}");
    assert_eq!(exchange(&viewer, &two).0, 400);
    let hosts = format!(
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: example.org\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(exchange(&viewer, &hosts).0, 403);
    assert_eq!(exchange(&viewer, "nonsense\r\n\r\n").0, 400);
    let json = "Content-Type: application/json\r\n";
    let command = |kind: &str, body: &str| ask(&viewer, "POST", "/api/run/0/command", kind, body).0;
    assert_eq!(command("Content-Type: text/plain\r\n", "{}"), 415);
    // A recording does not obey.
    assert_eq!(command(json, r#"{"command":"pause"}"#), 400);
}

#[test]
fn a_damaged_run_shows_what_is_whole() {
    let run = Run::new("damaged");
    let bytes = std::fs::read(run.frame(2)).unwrap();
    std::fs::write(run.frame(2), &bytes[..bytes.len() / 2]).unwrap();
    std::fs::remove_file(run.frame(5)).unwrap();
    std::fs::write(run.0.join("frames/000005.partial"), b"half").unwrap();
    let steps = std::fs::read_to_string(run.0.join("steps.jsonl")).unwrap();
    std::fs::write(run.0.join("steps.jsonl"), &steps[..steps.len() - 40]).unwrap();
    let viewer = viewer(RecordedRun::open(&run.0).unwrap());
    let state = json(&viewer, "/api/run/0/state");
    assert_eq!(state["state"]["end"], 5);
    assert_eq!(state["state"]["steps"], 9);
    let message = state["state"]["message"].as_str().unwrap();
    assert!(message.contains("5 of 6 frames") && message.contains("000005.npz"));
    let (status, body) = get(&viewer, "/api/run/0/frame/2");
    let text = String::from_utf8_lossy(&body).into_owned();
    assert!(
        status == 422 && text.contains("000002.npz is damaged"),
        "{text}"
    );
    for whole in [0, 1, 3, 4] {
        assert_eq!(get(&viewer, &format!("/api/run/0/frame/{whole}")).0, 200);
    }
    // Reports that are not whole, or not even text, do not cost the others.
    let mut lines: Vec<Vec<u8>> = steps.lines().map(|l| l.as_bytes().to_vec()).collect();
    lines[3] = b"{\"step\": 4, \"time\": ".to_vec();
    lines[4] = vec![0xff, 0, 0xfe];
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    std::fs::write(run.0.join("steps.jsonl"), bytes).unwrap();
    let read = json(&viewer, "/api/run/0/steps?from=0");
    assert_eq!(read["next"], 10);
    let numbers: Vec<u64> = read["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["step"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 3, 6, 7, 8, 9, 10]);
    assert_eq!(json(&viewer, "/api/run/0/steps?from=99")["next"], 10);
    std::fs::write(run.0.join("summary.json"), b"{\"frames\":").unwrap();
    assert_eq!(json(&viewer, "/api/run/0/state")["state"]["end"], 5);
    // Without the first frame there is nothing to show, and the message says so.
    std::fs::write(run.frame(0), b"nothing").unwrap();
    let Err(error) = RecordedRun::open(&run.0) else {
        panic!("a run without a first frame was opened");
    };
    assert!(error.to_string().contains("000000.npz is damaged"));
}

#[test]
fn a_run_without_its_scene_is_shown_all_the_same() {
    let run = Run::new("sceneless");
    for (damage, told) in [
        (Some("{\"json\": "), "this is not TOML"),
        (None, "scene.toml is missing"),
    ] {
        let path = run.0.join("scene.toml");
        match damage {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let viewer = viewer(RecordedRun::open(&run.0).unwrap());
        let state = json(&viewer, "/api/run/0/state");
        let message = state["state"]["message"].as_str().unwrap();
        assert!(message.contains(told), "{message}");
        // The rate is that of the recording.
        let rate = state["run"]["frame_rate"].as_f64().unwrap();
        assert!((rate - 50.0).abs() < 1e-6, "{rate}");
        assert_eq!(get(&viewer, "/api/run/0/frame/4").0, 200);
    }
}

#[test]
fn a_run_that_goes_on_and_begins_anew_is_followed() {
    let run = Run::new("grows");
    for n in 3..=5 {
        std::fs::rename(run.frame(n), run.0.join(format!("later{n}"))).unwrap();
    }
    let source = RecordedRun::open(&run.0).unwrap();
    assert_eq!(source.state().end, 3);
    std::fs::rename(run.0.join("later3"), run.frame(3)).unwrap();
    assert_eq!(source.state().end, 4);
    let before = source.state().generation;
    std::thread::sleep(Duration::from_millis(20));
    RunFolder::create(&run.0, &simulation()).unwrap();
    let after = source.state();
    assert!(after.generation != before && after.end == 1 && after.steps == 0);
}

fn command(viewer: &Viewer, body: &str) -> u16 {
    let json = "Content-Type: application/json\r\n";
    ask(viewer, "POST", "/api/run/0/command", json, body).0
}

/// Waits until the state is as wanted.
fn until(viewer: &Viewer, wanted: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
    let begun = Instant::now();
    loop {
        let state = json(viewer, "/api/run/0/state");
        if wanted(&state) {
            return state;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "{state}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_live_run_is_paused_stepped_dragged_changed_and_restarted() {
    let source = SceneSource::from_text("fall", SCENE);
    let viewer = viewer(LiveRun::start(source, Vec::new(), 1).unwrap());
    let end = |s: &serde_json::Value| s["state"]["end"].as_u64().unwrap();
    // It goes on beyond the frames that the scene asks for.
    until(&viewer, |s| end(s) > 10);
    assert_eq!(command(&viewer, r#"{"command":"pause"}"#), 200);
    let paused = until(&viewer, |s| s["state"]["paused"] == true);
    std::thread::sleep(Duration::from_millis(100));
    let still = end(&json(&viewer, "/api/run/0/state"));
    assert!(still <= end(&paused) + 1);
    assert_eq!(command(&viewer, r#"{"command":"step"}"#), 200);
    until(&viewer, |s| end(s) == still + 1);
    // A hand far above pulls the sheet up.
    let hand = r#"{"command":"grab","cloth":"sheet","vertex":12,"to":[0,0,1]}"#;
    assert_eq!(command(&viewer, hand), 200);
    assert_eq!(command(&viewer, r#"{"command":"play"}"#), 200);
    let height = |number: u64| {
        let (header, data) = packet(&viewer, &format!("/api/run/0/frame/{number}"));
        positions(&header, &data, 0)[3 * 12 + 2]
    };
    let before = height(still - 1);
    let pulled = until(&viewer, |s| end(s) > still + 40);
    let risen = height(end(&pulled) - 1);
    assert!(risen > before + 0.1, "{before} m before, {risen} m after");
    assert_eq!(
        command(&viewer, r#"{"command":"move","to":[0,0,0.5]}"#),
        200
    );
    assert_eq!(command(&viewer, r#"{"command":"release"}"#), 200);
    let change = r#"{"command":"set","friction":0.9,"gravity":[0,0,-1.6],"time_step":0.005}"#;
    assert_eq!(command(&viewer, change), 200);
    let changed = until(&viewer, |s| s["run"]["friction"] == 0.9);
    assert_eq!(changed["run"]["gravity"][2], -1.6);
    assert_eq!(changed["run"]["time_step"], 0.005);
    let now = end(&changed);
    assert!(now > still, "a change must not begin anew");
    // What the scene would not take is told, and the run goes on.
    assert_eq!(command(&viewer, r#"{"command":"set","friction":-1}"#), 200);
    until(&viewer, |s| {
        s["state"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("friction"))
    });
    assert_eq!(command(&viewer, r#"{"command":"restart"}"#), 200);
    until(&viewer, |s| s["state"]["generation"] == 2);
    for bad in [
        "",
        "{}",
        r#"{"command":"dance"}"#,
        r#"{"command":"grab","cloth":"sheet","vertex":-1,"to":[0,0,0]}"#,
        r#"{"command":"move","to":[0,0,1e99]}"#,
    ] {
        assert_eq!(command(&viewer, bad), 400, "{bad}");
    }
    // Names and numbers that do not exist are ignored.
    let nobody = r#"{"command":"grab","cloth":"nobody","vertex":1,"to":[0,0,0]}"#;
    assert_eq!(command(&viewer, nobody), 200);
    let far = r#"{"command":"grab","cloth":"sheet","vertex":999999,"to":[0,0,0]}"#;
    assert_eq!(command(&viewer, far), 200);
    until(&viewer, |s| end(s) > 3);
}

#[test]
fn a_live_run_begins_as_its_scene_asks() {
    let through_a_ball = "[cloth.sheet]\ngrid = { size = [0.3, 0.3], cells = [10, 10] }\n\
        fabric = \"wool-woven\"\ntranslate = [0, 0, 0.08]\n\
        [obstacle.ball]\nsphere = { radius = 0.1 }\n";
    let live = |start: &str| {
        let text = format!("start = \"{start}\"\n{through_a_ball}");
        LiveRun::start(SceneSource::from_text("tangled", &text), Vec::new(), 1)
    };
    assert!(live("refuse").is_err());
    let viewer = viewer(live("untangle").unwrap());
    let told = |s: &serde_json::Value| s["state"]["message"].is_string();
    until(&viewer, told);
    assert_eq!(command(&viewer, r#"{"command":"restart"}"#), 200);
    until(&viewer, |s| s["state"]["generation"] == 2 && told(s));
}

#[test]
fn frames_of_a_world_are_those_of_its_recording() {
    let run = Run::new("same");
    let mut simulation = simulation();
    for _ in 0..2 * simulation.steps_per_frame() {
        simulation.advance().unwrap();
    }
    let recorded = muslin::record::FrameReader::open(&run.0)
        .unwrap()
        .read(2)
        .unwrap();
    assert_eq!(Frame::of_world(2, &simulation.world), recorded);
}
