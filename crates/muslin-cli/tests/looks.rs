//! What is left of a run when one looks at it or carries it away: pictures, films, plots, exports, the viewer; also of runs
//! that are damaged.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SCENE: &str = r#"
description = "A card slides down"
[output]
frames = 6
frame_rate = 50
[solver]
time_step = 0.01
[contact]
friction = 0.1
[cloth.card]
grid = { size = [0.2, 0.2], cells = [4, 4] }
rotate = { axis = [0, 1, 0], degrees = 30 }
translate = [0, 0, 0.001]
fabric = "paper"
[obstacle.ramp]
plane = { point = [0, 0, 0], size = 2 }
rotate = { axis = [0, 1, 0], degrees = 30 }
[[measure]]
name = "speed"
kind = "speed"
"#;

struct Place(PathBuf);

impl Place {
    /// A folder with a recorded run in `run`.
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("muslin-looks-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("scene.toml"), SCENE).unwrap();
        let place = Self(folder);
        place.good(&[
            "run",
            "scene.toml",
            "--out",
            "run",
            "--quiet",
            "--threads",
            "1",
        ]);
        place
    }

    fn muslin(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_muslin"))
            .current_dir(&self.0)
            .args(arguments)
            .output()
            .unwrap()
    }

    fn good(&self, arguments: &[&str]) -> String {
        let output = self.muslin(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {errors}");
        errors
    }

    /// The message of a command that is refused with exit code 2.
    fn bad(&self, arguments: &[&str]) -> String {
        let output = self.muslin(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn cut(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

#[test]
fn pictures_films_and_sheets() {
    let place = Place::new("pictures");
    let small = ["--size", "64x48"];
    let render = |extra: &[&str]| place.good(&[&["render", "run"], &small[..], extra].concat());
    render(&["--out", "plain.png"]);
    render(&["--out", "contacts.png", "--contacts"]);
    assert_ne!(place.file("plain.png"), place.file("contacts.png"));
    render(&["--out", "close.png", "--opening", "10"]);
    assert_ne!(place.file("plain.png"), place.file("close.png"));
    render(&["--out", "film.gif", "--every", "2"]);
    assert!(place.file("film.gif").starts_with(b"GIF89a"));
    render(&["--out", "sheet.png", "--sheet", "3x2"]);
    // Width and height stand in the header of a PNG.
    assert_eq!(place.file("sheet.png")[16..24], [0, 0, 0, 192, 0, 0, 0, 96]);
    for (arguments, told) in [
        (&["--out", "a.jpg"][..], ".gif or .mp4"),
        (&["--out", "a.png", "--frame", "7"], "the last one is 6"),
        (&["--out", "a.gif", "--frames", "3-9"], "the last one is 6"),
        (&["--out", "a.gif", "--frames", "3-x"], "0-120"),
        (&["--out", "a.gif", "--frame", "3"], "--frames"),
        (&["--out", "a.png", "--frames", "0-3"], "--frame"),
        (&["--out", "a.gif", "--speed", "0"], "positive"),
        (&["--out", "a.gif", "--every", "0"], "1 or more"),
        (&["--out", "a.png", "--sheet", "0x2"], "empty"),
        (&["--out", "a.png", "--opening", "500"], "170"),
    ] {
        let message = place.bad(&[&["render", "run"], arguments].concat());
        assert!(message.contains(told), "{arguments:?}: {message}");
    }
    assert!(!place.path("a.gif").exists() && !place.path("a.png").exists());
}

#[test]
fn plots() {
    let place = Place::new("plots");
    place.good(&["plot", "run", "--out", "all.svg"]);
    let text = String::from_utf8(place.file("all.svg")).unwrap();
    for title in [
        "residual",
        "contacts",
        "iterations",
        "seconds.total",
        "speed",
    ] {
        assert!(text.contains(title), "{title}");
    }
    place.good(&[
        "plot", "run", "run", "--of", "speed", "--steps", "--out", "two.png",
    ]);
    assert!(place.file("two.png").starts_with(b"\x89PNG"));
    for quantity in ["edge-strain", "stretch", "compression", "speed"] {
        place.good(&["plot", "run", "--histogram", quantity, "--out", "h.svg"]);
    }
    assert!(
        place
            .bad(&["plot", "run", "--of", "joy", "--out", "a.svg"])
            .contains("residual")
    );
    assert!(
        place
            .bad(&["plot", "run", "--out", "a.pdf"])
            .contains(".svg")
    );
    assert!(
        place
            .bad(&["plot", "nothing", "--out", "a.svg"])
            .contains("recorded run")
    );
}

#[test]
fn exports() {
    let place = Place::new("exports");
    for name in [
        "a.usda", "a.usdc", "a.glb", "m/a.obj", "m/a.ply", "v/a.vtu", "v/a.pvd",
    ] {
        place.good(&["export", "run", "--to", name, "--up", "y", "--scale", "100"]);
    }
    place.good(&[
        "export", "run", "--to", "c.pc2", "--object", "card", "--frames", "2-5",
    ]);
    assert_eq!(place.file("c.pc2").len(), 32 + 4 * 25 * 12);
    assert!(
        place.path("m/a_000006.ply").exists() && place.path("v/a_contacts_000006.vtu").exists()
    );
    let usd = String::from_utf8(place.file("a.usda")).unwrap();
    assert!(usd.contains("upAxis = \"Y\"") && usd.contains("metersPerUnit = 0.01"));
    assert!(
        place
            .bad(&["export", "run", "--to", "a.fbx"])
            .contains(".usda")
    );
    assert!(
        place
            .bad(&["export", "run", "--to", "b.usda", "--object", "shoe"])
            .contains("card")
    );
    assert!(!place.path("b.usda").exists());
}

#[test]
fn damaged_runs_show_what_is_whole() {
    let place = Place::new("damaged");
    cut(&place.path("run/frames/000006.npz"));
    cut(&place.path("run/frames/000003.npz"));
    let steps = String::from_utf8(place.file("run/steps.jsonl")).unwrap();
    std::fs::write(place.path("run/steps.jsonl"), &steps[..steps.len() - 30]).unwrap();
    let told = place.good(&["render", "run", "--size", "64x48", "--out", "last.png"]);
    assert!(told.contains("left out frame 6") && told.contains("000006.npz is damaged"));
    let told = place.good(&[
        "render", "run", "--size", "64x48", "--every", "1", "--out", "a.gif",
    ]);
    assert!(told.contains("left out frame 3") && told.contains("left out frame 6"));
    let told = place.good(&["plot", "run", "--out", "a.svg"]);
    assert!(told.contains("line 12"), "{told}");
    let told = place.bad(&["export", "run", "--to", "a.usda"]);
    assert!(told.contains("--frames 0-2"), "{told}");
    place.good(&["export", "run", "--to", "a.usda", "--frames", "0-2"]);
    let told = place.good(&["plot", "run", "--histogram", "stretch", "--out", "a.svg"]);
    assert!(told.contains("left out frame 6"), "{told}");
    lost_scene(&place);
    cut(&place.path("run/frames/000000.npz"));
    let told = place.muslin(&["view", "run", "--no-open"]);
    assert!(String::from_utf8_lossy(&told.stderr).contains("000000.npz is damaged"));
    assert!(place.bad(&["view", "nowhere"]).contains("nowhere"));
    assert!(
        place
            .bad(&["view", "run/frames"])
            .contains("not a run folder")
    );
}

/// Frames are drawn without the scene; what depends on its numbers says what is missing. Reports need not even be text.
fn lost_scene(place: &Place) {
    let small = ["render", "run", "--size", "64x48", "--out", "b.png"];
    let export = ["export", "run", "--to", "b.usda", "--frames", "0-2"];
    for (damage, told) in [(Some("[cloth"), "this is not TOML"), (None, "is missing")] {
        match damage {
            Some(text) => std::fs::write(place.path("run/scene.toml"), text).unwrap(),
            None => std::fs::remove_file(place.path("run/scene.toml")).unwrap(),
        }
        assert!(place.good(&small).contains(told));
        let refused = place.bad(&export);
        assert!(
            refused.contains(told) && refused.contains("put it back"),
            "{refused}"
        );
    }
    let mut steps = place.file("run/steps.jsonl");
    steps.splice(0..0, *b"\xff\xfe\n\n[1]\n");
    std::fs::write(place.path("run/steps.jsonl"), steps).unwrap();
    let plotted = place.good(&["plot", "run", "--out", "b.svg"]);
    assert!(plotted.contains("line 1, 2, 3"), "{plotted}");
    std::fs::write(place.path("run/steps.jsonl"), b"").unwrap();
    let empty = place.bad(&["plot", "run", "--out", "b.svg"]);
    assert!(empty.contains("no whole step"), "{empty}");
}

#[test]
fn the_gallery_has_a_page() {
    let place = Place::new("gallery");
    place.good(&[
        "gallery",
        "--out",
        "g",
        "--scene",
        "free_fall",
        "--frames",
        "3",
        "--threads",
        "1",
    ]);
    let page = String::from_utf8(place.file("g/index.html")).unwrap();
    assert!(page.contains("free_fall.gif") && page.contains("expected"));
    assert!(place.path("g/free_fall.png").exists() && place.path("out/free_fall").exists());
    assert!(
        place
            .bad(&["gallery", "--out", "g", "--scene", "nothing"])
            .contains("muslin scenes")
    );
}

/// A run that is watched is served while it goes on, and does not care when those who look go away.
#[test]
fn a_run_is_watched() {
    let place = Place::new("watched");
    let mut child = Command::new(env!("CARGO_BIN_EXE_muslin"))
        .current_dir(&place.0)
        .args([
            "run",
            "scene.toml",
            "--out",
            "seen",
            "--view",
            "--no-open",
            "--threads",
            "1",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines
        .find_map(|l| l.ok().filter(|l| l.contains("viewer at")))
        .unwrap();
    let port = line.split("127.0.0.1:").nth(1).unwrap();
    let port: u16 = port.split('/').next().unwrap().parse().unwrap();
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    assert!(ask("/").contains("main.js"));
    // Somebody who hangs up in the middle of a sentence.
    drop(TcpStream::connect(("127.0.0.1", port)).map(|mut s| s.write_all(b"GET /api")));
    let begun = std::time::Instant::now();
    while !ask("/api/run/0/state").contains("\"complete\":true") {
        assert!(begun.elapsed().as_secs() < 60);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(ask("/api/run/0/state").contains("\"end\":7"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        place.file("seen/frames/000006.npz"),
        place.file("run/frames/000006.npz")
    );
}
