//! Whole runs from the command line: recording, interruption, resuming, pictures, exit codes.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const SCENE: &str = r#"
description = "A sheet on a moving handle, let go half-way"
[output]
frames = 24
frame_rate = 40
[solver]
time_step = 0.0125
[cloth.sheet]
grid = { size = [0.5, 0.5], cells = [12, 12] }
fabric = "camel-ponte-roma"
[cloth.card]
grid = { size = [0.1, 0.06], cells = [5, 3] }
translate = [0, 0, 0.5]
fabric = "paper"
angular_velocity = [2, 1, 0]
[pin.handle]
cloth = "sheet"
box = { min = [-1, -1, -1], max = [-0.24, 1, 1] }
path = { z = "0.1*sin(8*t)" }
until = 0.4
[wind]
velocity = [0, 2, 0]
[[measure]]
name = "fall"
kind = "displacement"
of = "sheet"
direction = [0, 0, -1]
expect = { value = 0.1, tolerance = 100 }
"#;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("muslin-run-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("scene.toml"), SCENE).unwrap();
        Self(folder)
    }

    fn muslin(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_muslin"));
        command
            .current_dir(&self.0)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, out: &str, extra: &[&str]) -> (Option<i32>, String) {
        let output = self
            .muslin(&["run", "scene.toml", "--out", out])
            .args(extra)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    }

    /// All frames and the step reports without their times.
    fn recording(&self, out: &str) -> (Vec<Vec<u8>>, Vec<String>) {
        let folder = self.0.join(out);
        let frames = (0..)
            .map(|n| folder.join(format!("frames/{n:06}.npz")))
            .take_while(|p| p.exists());
        let frames = frames.map(|p| std::fs::read(p).unwrap()).collect();
        let steps = std::fs::read_to_string(folder.join("steps.jsonl")).unwrap();
        (
            frames,
            steps
                .lines()
                .map(|l| l.split("\"seconds\"").next().unwrap().to_string())
                .collect(),
        )
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn frames_in(folder: &Path) -> usize {
    (0..1_000_000)
        .take_while(|n| folder.join(format!("frames/{n:06}.npz")).exists())
        .count()
}

#[test]
fn a_run_leaves_what_the_contract_says() {
    let place = Place::new("contract");
    let (code, text) = place.run("out", &["--threads", "2"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("met"), "{text}");
    let out = place.0.join("out");
    let summary: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["frames"], 25);
    assert_eq!(summary["threads"], 2);
    assert_eq!(summary["complete"], true);
    assert_eq!(summary["expectations"][0]["met"], true);
    for key in [
        "wall_seconds",
        "version",
        "unconverged_steps",
        "measures",
        "statistics",
        "intersecting_frames",
    ] {
        assert!(summary.get(key).is_some(), "summary.json has no {key}");
    }
    let steps = std::fs::read_to_string(out.join("steps.jsonl")).unwrap();
    assert_eq!(steps.lines().count(), 48);
    let last: serde_json::Value = serde_json::from_str(steps.lines().last().unwrap()).unwrap();
    for key in [
        "step",
        "time",
        "vertices",
        "contacts",
        "sticking",
        "sliding",
        "iterations",
        "residual",
        "converged",
        "intersections",
        "failsafe",
        "seconds",
    ] {
        assert!(last.get(key).is_some(), "steps.jsonl has no {key}");
    }
    assert!(last["seconds"]["total"].as_f64().unwrap() > 0.0);
    // The resolved scene is a scene, and gives the same run.
    let (code, text) = place.run("again", &["--frames", "0"]);
    assert_eq!(code, Some(3), "no step, so nothing measured: {text}");
    let output = place.muslin(&["check", "out/scene.toml"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success()
            && text.contains("169 vertices")
            && text.contains("camel-ponte-roma"),
        "{text}"
    );
    let output = place
        .muslin(&[
            "render", "out", "--frame", "10", "--out", "p.png", "--size", "320x240",
        ])
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(
        &std::fs::read(place.0.join("p.png")).unwrap()[..4],
        b"\x89PNG"
    );
}

#[test]
fn an_unmet_expectation_is_exit_code_3() {
    let place = Place::new("expect");
    let (code, text) = place.run(
        "out",
        &[
            "--frames",
            "2",
            "--set",
            "measure.fall.expect.tolerance=1e-9",
        ],
    );
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("NOT MET"), "{text}");
}

#[test]
fn threads_do_not_change_a_recording() {
    let place = Place::new("threads");
    assert_eq!(place.run("one", &["--threads", "1"]).0, Some(0));
    assert_eq!(place.run("two", &["--threads", "2"]).0, Some(0));
    assert!(
        place.recording("one") == place.recording("two"),
        "recordings with one and two threads differ"
    );
}

#[test]
fn a_resumed_run_equals_an_uninterrupted_one() {
    let place = Place::new("resume");
    assert_eq!(place.run("whole", &[]).0, Some(0));
    // Not quite random: a different frame every time the test is built for another process number.
    let stop = 1 + std::process::id() as usize % 22;
    assert_eq!(
        place.run("parts", &["--frames", &stop.to_string()]).0,
        Some(0)
    );
    assert_eq!(frames_in(&place.0.join("parts")), stop + 1);
    let (code, text) = place.run("parts", &["--resume"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        place.recording("whole") == place.recording("parts"),
        "differs after a stop at frame {stop}"
    );
    // Another scene is not a continuation.
    let (code, text) = place.run("parts", &["--resume", "--set", "gravity=[0,0,-1]"]);
    assert!(
        code == Some(2) && text.contains("scene has changed"),
        "{text}"
    );
}

#[test]
fn a_killed_run_loses_at_most_the_current_frame() {
    let place = Place::new("kill");
    assert_eq!(place.run("whole", &[]).0, Some(0));
    let mut begun = 0;
    for delay in [40, 90, 170, 260] {
        let out = format!("killed{delay}");
        let mut child = place
            .muslin(&["run", "scene.toml", "--out", &out, "--quiet"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        let folder = place.0.join(&out);
        if !folder.join("checkpoint/latest.npz").exists() {
            continue;
        }
        begun += 1;
        let before = frames_in(&folder);
        // Every frame that is there is whole: the picture of the last one can be drawn.
        let output = place
            .muslin(&["render", &out, "--out", "k.png", "--size", "64x64"])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let (code, text) = place.run(&out, &[]);
        if before < 25 {
            assert!(code == Some(2) && text.contains("unfinished run"), "{text}");
        }
        let (code, text) = place.run(&out, &["--resume"]);
        assert_eq!(code, Some(0), "{text}");
        assert!(
            place.recording("whole") == place.recording(&out),
            "differs after a kill with {before} frames"
        );
    }
    assert!(begun > 0, "every run was killed before it began");
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_and_says_how_to_resume() {
    let place = Place::new("interrupt");
    let long = ["--frames", "100000"];
    let child = place
        .muslin(&["run", "scene.toml", "--out", "out"])
        .args(long)
        .spawn()
        .unwrap();
    while !place.0.join("out/frames/000002.npz").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("--resume"), "{text}");
    let frames = frames_in(&place.0.join("out"));
    let (code, text) = place.run("out", &["--resume", "--frames", &(frames + 1).to_string()]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(frames_in(&place.0.join("out")), frames + 2);
}

#[test]
fn obstacles_are_recorded_once_or_as_they_move() {
    let folder = std::env::temp_dir().join(format!("muslin-obstacles-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let scene = folder.join("scene.toml");
    let text = r#"
        output = { frames = 3 }
        [cloth.sheet]
        grid = { size = [1, 1], cells = [3, 3] }
        translate = [0, 0, 1]
        fabric = "gray-interlock"
        [obstacle.block]
        box = { size = [1, 1, 1] }
        translate = [0, 0, -1]
        [obstacle.ball]
        sphere = { radius = 0.1 }
        translate = [3, 0, 0]
        path = { x = "t" }
    "#;
    std::fs::write(&scene, text).unwrap();
    let out = folder.join("out");
    let status = Command::new(env!("CARGO_BIN_EXE_muslin"))
        .args(["run", "--quiet"])
        .arg(&scene)
        .arg("--out")
        .arg(&out)
        .status()
        .unwrap();
    assert!(status.success());
    let reader = muslin::record::FrameReader::open(&out).unwrap();
    let (first, last) = (reader.read(0).unwrap(), reader.read(3).unwrap());
    assert_eq!(last.bodies.len(), 1);
    let names: Vec<&str> = last.obstacles.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["ball", "block"]);
    assert_eq!(first.obstacles[1], last.obstacles[1]);
    assert_eq!(first.obstacles[0].faces, last.obstacles[0].faces);
    let moved = last.obstacles[0].positions[5] - first.obstacles[0].positions[5];
    assert!((moved.x - 0.05).abs() < 1e-9 && moved.y == 0.0, "{moved}");
    let frame = muslin::record::ArrayFile::open(&out.join("frames/000003.npz")).unwrap();
    let names: Vec<String> = frame.names().collect();
    assert!(
        !names.iter().any(|n| n.starts_with("obstacle:block")),
        "{names:?}"
    );
    let summary = std::fs::read_to_string(out.join("summary.json")).unwrap();
    assert!(summary.contains("\"intersecting_frames\": 0"), "{summary}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// As in `muslin scenes | head -1`: whoever reads has gone before all is written.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_muslin"))
        .arg("schema")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "{:?}", output.stderr);
}
