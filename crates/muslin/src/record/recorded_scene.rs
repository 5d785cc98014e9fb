//! The scene of a recorded run, also of a folder that has lost its copy of it.

use super::arrays::RecordError;
use super::frame::FrameReader;
use crate::scene::{Override, SceneFile, SceneSource};
use std::path::Path;

/// Stands in for a scene that cannot be read: whoever looks needs a camera, a floor and a frame rate.
const USUAL: &str =
    "[cloth.cloth]\ngrid = { size = [1, 1], cells = [1, 1] }\nfabric = \"gray-interlock\"\n";

/// The scene that a run was made from. If the folder's copy cannot be read, usual values stand in for it with the frame rate
/// of the recording, and the text says what is wrong.
pub fn recorded_scene(
    folder: &Path,
    reader: &FrameReader,
) -> Result<(SceneFile, Option<String>), RecordError> {
    let path = folder.join("scene.toml");
    let why = if path.is_file() {
        match SceneSource::find(&path.to_string_lossy()).and_then(|s| s.load(&[])) {
            Ok(scene) => return Ok((scene, None)),
            Err(e) => e.to_string(),
        }
    } else {
        format!("{} is missing", path.display())
    };
    let time = |number: usize| reader.read(number).ok().map(|f| f.time);
    let rate = match (time(0), time(1)) {
        (Some(a), Some(b)) if b > a => Some(1.0 / (b - a)),
        _ => None,
    };
    let changes: Vec<Override> = rate
        .and_then(|r| Override::parse(&format!("output.frame_rate={r:?}")).ok())
        .into_iter()
        .collect();
    let usual = SceneSource::from_text("run", USUAL);
    // An odd rate can be refused; that of the usual scene is used then.
    let scene = usual.load(&changes).or_else(|_| usual.load(&[]));
    let scene = scene.map_err(|e| RecordError::Refused(e.to_string()))?;
    let told = format!("{why}\nframes are shown without what the scene says of camera and floor");
    Ok((scene, Some(told)))
}
