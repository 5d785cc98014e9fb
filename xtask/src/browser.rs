//! Looks at the viewer in a browser without a window. One that is installed is used; else one is fetched from npm.

use crate::{Outcome, cargo, target};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Chromium that comes as one file with its own software renderer.
const PACKAGE: &str = "@sparticuz/chromium@147";

/// What the check exits with if the browser cannot be started.
const NO_BROWSER: i32 = 3;

/// How the check went.
pub enum Looked {
    /// It was done.
    Well,
    /// There is no browser to look with; the text says why.
    LeftOut(String),
}

/// Builds the check and runs it with measurements; screenshots are left in `target/screenshots`.
pub fn check() -> Outcome {
    // With all packages, so that what the tests built is used again.
    cargo(&["build", "--workspace", "--example", "browser"])?;
    match look(&["measure"])? {
        Looked::Well => Ok(()),
        Looked::LeftOut(why) => Err(why),
    }
}

/// Runs the check that testing the workspace has built. Where no browser can be had it is left out.
pub fn test() -> Result<Looked, String> {
    look(&[])
}

fn look(words: &[&str]) -> Result<Looked, String> {
    let browser = match find().map_or_else(fetch, Ok) {
        Ok(browser) => browser,
        Err(why) => return Ok(Looked::LeftOut(why)),
    };
    println!("==> the viewer in {}", browser.display());
    let program = format!("browser{}", std::env::consts::EXE_SUFFIX);
    let status = Command::new(target().join("debug/examples").join(program))
        .arg(&browser)
        .arg(target().join("screenshots"))
        .args(words)
        .status()
        .map_err(|e| format!("the check of the viewer cannot be started: {e}"))?;
    match status.code() {
        Some(0) => Ok(Looked::Well),
        Some(NO_BROWSER) => Ok(Looked::LeftOut(format!(
            "{} cannot be started; install Chromium or name it in MUSLIN_BROWSER",
            browser.display()
        ))),
        _ => Err("the viewer is not as it should be in the browser".into()),
    }
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
    target().join("browser")
}

fn fetched() -> PathBuf {
    folder().join("chromium")
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Outcome {
    println!("==> {program} {}", arguments[0]);
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
    // Without a network it gives up soon.
    let quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
    let brief = ["--fetch-retries=1", "--fetch-timeout=60000"];
    let install = ["install", "--prefix", ".", "--no-save", PACKAGE];
    run("npm", &[&install[..], &quiet, &brief].concat(), &folder)?;
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
