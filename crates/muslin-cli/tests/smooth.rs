//! The impulse method, bad starts and `muslin subdivide` from the command line.
#![allow(clippy::unwrap_used)]

use muslin::record::FrameReader;
use std::path::PathBuf;
use std::process::Command;

const SCENE: &str = r#"
[output]
frames = 6
[solver]
method = "impulse"
[fabric.silk]
density = 0.1
stretch = { springs = { modulus = 30 } }
[cloth.low]
grid = { size = [0.2, 0.2], cells = [10, 10] }
translate = [0, 0, 0.053]
fabric = "silk"
[cloth.high]
grid = { size = [0.2, 0.2], cells = [9, 9] }
rotate = { axis = [0, 0, 1], degrees = 30 }
translate = [0, 0, 0.055]
fabric = "silk"
[obstacle.ball]
sphere = { radius = 0.05 }
"#;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("muslin-smooth-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("scene.toml"), SCENE).unwrap();
    folder
}

fn muslin(folder: &PathBuf, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_muslin"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn a_run_is_refined_without_crossings_and_goes_on_where_it_was() {
    let place = folder("refine");
    assert_eq!(
        muslin(&place, &["run", "scene.toml", "--out", "run"]).0,
        Some(0)
    );
    let (code, text) = muslin(&place, &["subdivide", "run", "--levels", "2"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("0 crossing pairs"), "{text}");
    let reader = FrameReader::open(&place.join("run-smooth")).unwrap();
    assert_eq!(reader.last(), 6);
    let frame = reader.read(6).unwrap();
    // 100 squares become 1600 squares.
    let low = frame.bodies.iter().find(|b| b.name == "low").unwrap();
    assert_eq!((low.faces.len(), low.positions.len()), (3200, 1681));
    assert_eq!(low.velocities.len(), 1681);
    let made = std::fs::read(place.join("run-smooth/frames/000003.npz")).unwrap();
    std::fs::remove_file(place.join("run-smooth/frames/000003.npz")).unwrap();
    let (_, text) = muslin(&place, &["subdivide", "run", "--threads", "1"]);
    assert!(text.contains("6 of them were there already"), "{text}");
    assert_eq!(
        std::fs::read(place.join("run-smooth/frames/000003.npz")).unwrap(),
        made
    );
    let (code, text) = muslin(&place, &["subdivide", "run", "--levels", "1"]);
    assert_eq!(code, Some(2), "{text}");
    assert_eq!(
        muslin(&place, &["subdivide", "run", "--levels", "0"]).0,
        Some(2)
    );
    assert_eq!(muslin(&place, &["subdivide", "nowhere"]).0, Some(2));
    let picture = [
        "render",
        "run-smooth",
        "--out",
        "picture.png",
        "--size",
        "80x60",
    ];
    assert_eq!(muslin(&place, &picture).0, Some(0));
    let _ = std::fs::remove_dir_all(&place);
}

#[test]
fn a_start_that_crosses_is_refused_untangled_or_let_be() {
    let place = folder("start");
    let run = |policy: &str| {
        let start = format!("start=\"{policy}\"");
        let down = "cloth.low.translate=[0,0,0.045]";
        let words = ["run", "scene.toml", "--out", policy, "--frames", "2"];
        muslin(
            &place,
            &[&words[..], &["--set", down, "--set", &start]].concat(),
        )
    };
    let (code, text) = run("refuse");
    assert_eq!(code, Some(2), "{text}");
    assert!(!place.join("refuse").exists());
    let (code, text) = run("untangle");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("untangled"), "{text}");
    let (code, text) = run("ignore-pairs");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("left out"), "{text}");
    assert_eq!(run("whatever").0, Some(2));
    let _ = std::fs::remove_dir_all(&place);
}

#[test]
fn an_impulse_run_resumes_with_the_same_bits() {
    let place = folder("resume");
    assert_eq!(
        muslin(&place, &["run", "scene.toml", "--out", "whole"]).0,
        Some(0)
    );
    let words = ["run", "scene.toml", "--out", "parts"];
    assert_eq!(
        muslin(&place, &[&words[..], &["--frames", "3"]].concat()).0,
        Some(0)
    );
    let (code, text) = muslin(&place, &[&words[..], &["--resume"]].concat());
    assert_eq!(code, Some(0), "{text}");
    let last = |run: &str| std::fs::read(place.join(run).join("frames/000006.npz")).unwrap();
    assert_eq!(last("whole"), last("parts"));
    let _ = std::fs::remove_dir_all(&place);
}
