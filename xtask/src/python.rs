//! The Python package, tested as users get it: the wheel is built, installed into an environment of its own, and tried.

use crate::{Outcome, cargo, program, root, target};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds what [`test`] needs; both at once, so that their dependencies are built once.
pub fn build() -> Outcome {
    cargo(&[
        "build",
        "--package",
        "muslin-cli",
        "--package",
        "muslin-python",
    ])
}

/// Builds the wheel and runs tests, examples and the type checker. The `muslin` program must have been built.
pub fn test() -> Outcome {
    let python = environment()?;
    // With the profile of the tests, so that what they built is used again.
    install(&python, "dev")?;
    // The names of the compiled part and their types are the ones that are written down.
    run(&python, &["-m", "mypy"])?;
    run(&python, &["-m", "mypy.stubtest", "muslin._engine"])?;
    run(&python, &["-m", "pytest", "--quiet"])
}

/// Costs that the package promises; prints a table.
pub fn bench() -> Outcome {
    let python = environment()?;
    install(&python, "release")?;
    run(&python, &["python/benches/costs.py"])
}

fn folder() -> PathBuf {
    target().join("python")
}

/// The interpreter of an environment with everything that is needed, made if it is not there or out of date.
fn environment() -> Result<PathBuf, String> {
    let place = folder().join("venv");
    let python = if cfg!(windows) {
        place.join("Scripts").join("python.exe")
    } else {
        place.join("bin").join("python")
    };
    let list = root().join("python").join("requirements.txt");
    let wanted = std::fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let stamp = place.join("installed.txt");
    if python.is_file() && std::fs::read_to_string(&stamp).is_ok_and(|s| s == wanted) {
        return Ok(python);
    }
    let base = interpreter()?;
    println!("==> a Python environment in {}", place.display());
    let made = Command::new(&base[0])
        .args(&base[1..])
        .args(["-m", "venv", "--clear"])
        .arg(&place)
        .status();
    if !made.is_ok_and(|s| s.success()) {
        return Err(format!(
            "{} cannot make virtual environments; install its `venv` module (python3-venv on Debian and Ubuntu)",
            base.join(" ")
        ));
    }
    let mut words = pip();
    words.extend(["--requirement", "python/requirements.txt"]);
    run(&python, &words)?;
    std::fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(python)
}

fn pip() -> Vec<&'static str> {
    let quiet = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    quiet.to_vec()
}

/// A Python of 3.11 or later: `$PYTHON`, or whatever is on the path.
fn interpreter() -> Result<Vec<String>, String> {
    let mut candidates: Vec<Vec<String>> = Vec::new();
    candidates.extend(std::env::var("PYTHON").ok().map(|p| vec![p]));
    candidates.push(vec!["python3".into()]);
    candidates.extend((11..=15).rev().map(|n| vec![format!("python3.{n}")]));
    candidates.push(vec!["python".into()]);
    candidates.push(vec!["py".into(), "-3".into()]);
    let recent = "import sys, venv; sys.exit(sys.version_info < (3, 11))";
    let works = |c: &Vec<String>| {
        let tried = Command::new(&c[0])
            .args(&c[1..])
            .args(["-c", recent])
            .output();
        tried.is_ok_and(|o| o.status.success())
    };
    candidates.into_iter().find(works).ok_or_else(|| {
        "the Python package needs Python 3.11 or later with its `venv` module; install it, or set PYTHON to it".into()
    })
}

/// Builds the wheel and installs it.
fn install(python: &Path, profile: &str) -> Outcome {
    let wheels = folder().join("wheels");
    // Only what is built now may be installed.
    let _ = std::fs::remove_dir_all(&wheels);
    let place = wheels.to_string_lossy().into_owned();
    let build = ["-m", "maturin", "build", "--quiet", "--profile", profile];
    run(python, &[&build[..], &["--out", &place]].concat())?;
    let entries = std::fs::read_dir(&wheels).map_err(|e| format!("{place}: {e}"))?;
    let wheel = entries
        .flatten()
        .map(|e| e.path())
        .find(|p| p.extension().is_some_and(|e| e == "whl"))
        .ok_or_else(|| format!("maturin left no wheel in {place}"))?;
    let wheel = wheel.to_string_lossy();
    let mut words = pip();
    words.extend(["--force-reinstall", "--no-deps", &wheel]);
    run(python, &words)
}

fn run(python: &Path, arguments: &[&str]) -> Outcome {
    println!("==> python {}", arguments.join(" "));
    let status = Command::new(python)
        .args(arguments)
        .current_dir(root())
        .env("MUSLIN_PROGRAM", program())
        // The interpreter is the one of the environment, whoever calls.
        .env("PYO3_PYTHON", python)
        .env_remove("PYTHONPATH")
        .env("CARGO_TARGET_DIR", target())
        .status();
    match status {
        Ok(s) if s.success() => Ok(()),
        Ok(s) => Err(format!("python {} failed ({s})", arguments.join(" "))),
        Err(e) => Err(format!("{} could not be started: {e}", python.display())),
    }
}
