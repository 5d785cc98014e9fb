//! Chores, so that one command does everything where only the Rust toolchain is installed.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod arch;
mod browser;
mod house;
mod python;
mod uniaxial;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

type Outcome = Result<(), String>;

const USAGE: &str = "cargo xtask CHORE
  test       format, lints, all tests, generated files, the viewer in a browser, Python package, validation scenes:
             what has to pass
  quick      unit tests and lints only
  python     build, install and test the Python package; `python bench` measures what it costs
  scenes     run the validation scenes and compare with what they expect
  browser    look at the viewer in a browser without a window (uses or fetches Chromium), and measure what it costs
  bench      the benches; prints tables
  stress     the stress scenes with both methods, every step judged: [SCENE...] [METHOD] [seeds=0..10] [log=FILE]...
  generate   write generated files anew (--check: only compare)";

/// Unit tests. The compiled part of the Python package has none, and cannot be linked without Python.
const QUICK: [&str; 5] = ["test", "--workspace", "--lib", "--exclude", "muslin-python"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["test"] => test(),
        ["quick"] => lint().and_then(|()| cargo(&QUICK)),
        ["python"] => python::build().and_then(|()| python::test()),
        ["python", "bench"] => python::bench(),
        ["scenes"] => build().and_then(|()| scenes()),
        ["browser"] => browser::check(),
        ["bench"] => cargo(&["bench", "--workspace"]),
        ["stress", ..] => stress(&words[1..]),
        ["generate"] => build().and_then(|()| generate(false)),
        ["generate", "--check"] => build().and_then(|()| generate(true)),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Takes hours with all scenes, frames and perturbations; meant to be run on purpose.
fn stress(arguments: &[&str]) -> Outcome {
    let mut words = vec!["run", "--release", "--package", "muslin"];
    words.extend(["--example", "stress_sweep", "--"]);
    words.extend(arguments);
    cargo(&words)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn cargo(arguments: &[&str]) -> Outcome {
    println!("==> cargo {}", arguments.join(" "));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let status = Command::new(cargo)
        .args(arguments)
        .current_dir(root())
        .status();
    match status {
        Ok(s) if s.success() => Ok(()),
        Ok(s) => Err(format!("cargo {} failed ({s})", arguments.join(" "))),
        Err(e) => Err(format!("cargo could not be started: {e}")),
    }
}

fn test() -> Outcome {
    lint()?;
    cargo(&["test", "--workspace"])?;
    generate(true)?;
    let looked = browser::test()?;
    python::test()?;
    scenes()?;
    if let browser::Looked::LeftOut(why) = looked {
        // Said last, where it is seen.
        println!("\nLEFT OUT: the viewer was not looked at in a browser: {why}");
    }
    Ok(())
}

fn lint() -> Outcome {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ])
}

fn build() -> Outcome {
    cargo(&["build", "--package", "muslin-cli"])
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The `muslin` program of the development profile. Testing the workspace builds it on the way.
fn program() -> PathBuf {
    target()
        .join("debug")
        .join(format!("muslin{}", std::env::consts::EXE_SUFFIX))
}

/// Runs every validation scene; each says itself whether it met its expectations.
fn scenes() -> Outcome {
    let program = program();
    let out = std::env::temp_dir().join(format!("muslin-scenes-{}", std::process::id()));
    let mut names: Vec<String> = std::fs::read_dir(root().join("scenes/validation"))
        .map_err(|e| e.to_string())?
        .filter_map(|entry| {
            entry
                .ok()?
                .path()
                .file_stem()
                .map(|s| s.to_string_lossy().into_owned())
        })
        .collect();
    names.sort();
    let mut failed = 0;
    for name in &names {
        println!("==> muslin run {name}");
        let status = Command::new(&program)
            .args(["run", name, "--out"])
            .arg(out.join(name))
            .status();
        failed += usize::from(!status.is_ok_and(|s| s.success()));
    }
    let _ = std::fs::remove_dir_all(&out);
    println!("scenes: {} passed, {failed} failed", names.len() - failed);
    if failed == 0 {
        Ok(())
    } else {
        Err(format!(
            "{failed} validation scenes did not meet their expectations"
        ))
    }
}

/// Files that follow from others.
fn generate(only_check: bool) -> Outcome {
    let program = program();
    let schema = Command::new(program)
        .arg("schema")
        .output()
        .map_err(|e| e.to_string())?;
    let schema = String::from_utf8(schema.stdout).map_err(|e| e.to_string())?;
    let files = [
        (
            "scenes/validation/uniaxial.toml",
            uniaxial::scene(&root().join("materials/fabrics"))?,
        ),
        ("scenes/argus2018/house_of_cards.toml", house::house()),
        ("scenes/argus2018/two_cards.toml", house::two_cards()),
        (
            "scenes/zhu2024/house_of_cards_coarse.toml",
            house::budget_house([4, 2]),
        ),
        (
            "scenes/zhu2024/house_of_cards_fine.toml",
            house::budget_house([8, 4]),
        ),
        ("scenes/zhu2024/masonry_arch.toml", arch::arch()),
        ("book/src/reference/scene.schema.json", schema),
    ];
    for (name, text) in files {
        let path = root().join(name);
        if only_check {
            if std::fs::read_to_string(&path).unwrap_or_default() != text {
                return Err(format!("{name} is out of date; run `cargo xtask generate`"));
            }
            continue;
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
        }
        std::fs::write(&path, text).map_err(|e| format!("{name}: {e}"))?;
        println!("wrote {name}");
    }
    Ok(())
}
