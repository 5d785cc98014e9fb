//! Looks at the viewer in a browser without a window. One that is installed is used; else one is fetched from npm.

use crate::{Outcome, cargo, root};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Chromium that comes as one file with its own software renderer.
const PACKAGE: &str = "@sparticuz/chromium@147";

/// Runs the check; screenshots are left in `target/screenshots`.
pub fn check() -> Outcome {
    let browser = find().map_or_else(fetch, Ok)?;
    println!("==> browser {}", browser.display());
    let shots = root().join("target/screenshots");
    let (browser, shots) = (browser.to_string_lossy(), shots.to_string_lossy());
    cargo(&[
        "run",
        "--package",
        "muslin-view",
        "--example",
        "browser",
        "--",
        &browser,
        &shots,
    ])
}

/// The one that is named, one on the path, or the one that was fetched before.
fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("MUSLIN_BROWSER") {
        return Some(named.into());
    }
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|n| folder.join(n)))
        .find(|p| p.is_file());
    installed.or_else(|| Some(fetched()).filter(|p| p.is_file()))
}

fn folder() -> PathBuf {
    root().join("target/browser")
}

fn fetched() -> PathBuf {
    folder().join("chromium")
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Outcome {
    println!("==> {program} {}", arguments.join(" "));
    let status = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .status();
    match status {
        Ok(s) if s.success() => Ok(()),
        other => Err(format!(
            "{program} failed ({other:?}); install Chromium or name it in MUSLIN_BROWSER, or install Node.js with npm"
        )),
    }
}

fn fetch() -> Result<PathBuf, String> {
    let folder = folder();
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    run(
        "npm",
        &["install", "--prefix", ".", "--no-save", PACKAGE],
        &folder,
    )?;
    // The package holds the program and its renderer as compressed files.
    let unpack = "const fs = require('fs'), zlib = require('zlib'); const from = \
        'node_modules/@sparticuz/chromium/bin/'; const take = (name, to) => fs.writeFileSync(to, \
        zlib.brotliDecompressSync(fs.readFileSync(from + name))); take('swiftshader.tar.br', 'swiftshader.tar'); \
        take('chromium.br', 'chromium.part'); fs.chmodSync('chromium.part', 0o755);";
    run("node", &["-e", unpack], &folder)?;
    run("tar", &["xf", "swiftshader.tar"], &folder)?;
    std::fs::rename(folder.join("chromium.part"), fetched()).map_err(|e| e.to_string())?;
    Ok(fetched())
}
