//! `muslin view`: the browser viewer on recordings, or on a simulation that goes on.

use crate::Failure;
use crate::args::{SceneOptions, ViewOptions};
use crate::check::overrides;
use crate::run::watch_for_interrupt;
use muslin::scene::SceneSource;
use muslin_view::{LiveRun, RecordedRun, Source, Viewer};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Serves the viewer until Ctrl-C.
pub fn view(options: &ViewOptions) -> Result<(), Failure> {
    let changes = overrides(&SceneOptions {
        scene: String::new(),
        set: options.set.clone(),
        method: options.method.clone(),
    })?;
    let recorded = options
        .what
        .iter()
        .filter(|w| Path::new(w).is_dir())
        .count();
    let mut sources: Vec<Arc<dyn Source>> = Vec::new();
    for what in &options.what {
        if Path::new(what).is_dir() {
            sources.push(Arc::new(RecordedRun::open(Path::new(what))?));
        } else {
            let source = SceneSource::find(what)?;
            sources.push(Arc::new(LiveRun::start(
                source,
                changes.clone(),
                options.threads,
            )?));
        }
    }
    if recorded == sources.len() && !changes.is_empty() {
        return Err(Failure::Input(
            "--set and --method are for scenes; a recording cannot be changed".into(),
        ));
    }
    let interrupted = watch_for_interrupt("closing the viewer")?;
    let viewer = open(sources, options.port, options.no_open)?;
    wait(&interrupted);
    drop(viewer);
    Ok(())
}

/// Starts the viewer, says where it is, and opens a browser unless told not to.
pub fn open(sources: Vec<Arc<dyn Source>>, port: u16, no_open: bool) -> Result<Viewer, Failure> {
    let viewer = Viewer::start(sources, port).map_err(|e| Failure::Input(e.to_string()))?;
    eprintln!("viewer at {}; Ctrl-C ends it", viewer.url());
    if !no_open {
        open_browser(&viewer.url());
    }
    Ok(viewer)
}

/// Waits for Ctrl-C.
pub fn wait(interrupted: &AtomicBool) {
    while !interrupted.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Opens a page if there is a display. The address is on the screen anyway, so nothing is lost if this fails.
fn open_browser(url: &str) {
    let display = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let program = if cfg!(target_os = "macos") {
        Some("open")
    } else if cfg!(target_os = "windows") {
        Some("explorer")
    } else if display("DISPLAY") || display("WAYLAND_DISPLAY") {
        Some("xdg-open")
    } else {
        None
    };
    if let Some(program) = program {
        let _ = Command::new(program)
            .arg(url)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
    }
}
