//! A good scene to make mistakes in, and how it is run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A scene without a mistake.
pub const GOOD: &str = r#"
[output]
frames = 2

[cloth.sheet]
grid = { size = [1, 1], cells = [4, 4] }
fabric = "gray-interlock"

[pin.corner]
cloth = "sheet"
vertices = [0]

[[measure]]
name = "speed"
kind = "speed"
"#;

/// An empty folder of a test's own.
pub fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("muslin-bad-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a scene in a folder of its own; returns exit code and error text, and whether anything was written.
pub fn run(folder: &Path, scene: &str, extra: &[&str]) -> (Option<i32>, String, bool) {
    let file = folder.join("scene.toml");
    std::fs::write(&file, scene).unwrap();
    let out = folder.join("out");
    let output = Command::new(env!("CARGO_BIN_EXE_muslin"))
        .args(["run", "--quiet"])
        .arg(&file)
        .arg("--out")
        .arg(&out)
        .args(extra)
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
        out.exists(),
    )
}
