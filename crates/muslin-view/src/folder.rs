//! A run folder, finished or still being written.

use crate::source::{Described, Source, SourceError, State};
use muslin::record::{Frame, FrameReader, RecordError, Summary};
use muslin::scene::SceneSource;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// Step reports that are handed out at a time.
const MOST_STEPS: usize = 4000;

/// A recorded run.
pub struct RecordedRun {
    folder: PathBuf,
    described: Described,
    known: Mutex<Known>,
}

/// What was found so far; it grows with the run.
struct Known {
    reader: Arc<FrameReader>,
    generation: u64,
    end: usize,
    /// Where each whole line of `steps.jsonl` begins, and the end of the last.
    lines: Vec<u64>,
}

impl RecordedRun {
    /// Opens a run folder.
    pub fn open(folder: &Path) -> Result<Self, RecordError> {
        let reader = FrameReader::open(folder)?;
        let scene = SceneSource::find(&folder.join("scene.toml").to_string_lossy())
            .and_then(|s| s.load(&[]))
            .map_err(|e| RecordError::Refused(e.to_string()))?;
        let name = std::path::absolute(folder)
            .ok()
            .and_then(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()))
            .unwrap_or_else(|| "run".into());
        Ok(Self {
            described: Described::of_scene(&name, &scene, false),
            folder: folder.to_path_buf(),
            known: Mutex::new(Known {
                reader: Arc::new(reader),
                generation: generation(folder),
                end: 0,
                lines: vec![0],
            }),
        })
    }

    /// Brings what is known up to date with the folder.
    fn look<T>(&self, then: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = generation(&self.folder);
        if now != known.generation
            && let Ok(reader) = FrameReader::open(&self.folder)
        {
            *known = Known {
                reader: Arc::new(reader),
                generation: now,
                end: 0,
                lines: vec![0],
            };
        }
        known.end = known.reader.end_from(known.end);
        // A file that cannot be read has no more lines; the page shows what there is.
        let _ = count_lines(&self.folder.join("steps.jsonl"), &mut known.lines);
        then(&mut known)
    }
}

/// When the first frame was written: another run, another time.
fn generation(folder: &Path) -> u64 {
    std::fs::metadata(folder.join("frames/000000.npz"))
        .and_then(|m| m.modified())
        .ok()
        .and_then(|t| t.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |d| d.as_millis() as u64)
}

/// Finds the lines that were added since the last look.
fn count_lines(path: &Path, lines: &mut Vec<u64>) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut at = lines.last().copied().unwrap_or(0);
    if file.metadata()?.len() < at {
        *lines = vec![0];
        at = 0;
    }
    file.seek(SeekFrom::Start(at))?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if read == 0 || line.last() != Some(&b'\n') {
            return Ok(());
        }
        at += read as u64;
        lines.push(at);
    }
}

fn read_lines(path: &Path, lines: &[u64], from: usize) -> std::io::Result<Vec<String>> {
    let end = lines.len().saturating_sub(1).min(from + MOST_STEPS);
    if from >= end {
        return Ok(Vec::new());
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(lines[from]))?;
    BufReader::new(file).lines().take(end - from).collect()
}

impl Source for RecordedRun {
    fn describe(&self) -> Described {
        self.described.clone()
    }

    fn generation(&self) -> u64 {
        generation(&self.folder)
    }

    fn state(&self) -> State {
        let summary = std::fs::read_to_string(self.folder.join("summary.json")).ok();
        let summary = summary.and_then(|text| serde_json::from_str::<Summary>(&text).ok());
        self.look(|known| {
            let recorded = summary.as_ref().filter(|s| s.complete).map(|s| s.frames);
            let message = recorded.filter(|n| known.end < *n).map(|n| {
                format!(
                    "{} of {n} frames are there: frames/{:06}.npz is missing",
                    known.end, known.end
                )
            });
            State {
                generation: known.generation,
                first: 0,
                end: known.end,
                steps: known.lines.len() - 1,
                complete: recorded.is_some(),
                paused: false,
                message,
            }
        })
    }

    fn frame(&self, number: usize) -> Result<Arc<Frame>, SourceError> {
        // Reading happens outside the lock: viewers do not wait for each other.
        let reader = self.look(|known| known.reader.clone());
        let frame = reader.read(number);
        frame
            .map(Arc::new)
            .map_err(|e| SourceError(format!("frame {number}: {e}")))
    }

    fn steps(&self, from: usize) -> (usize, Vec<String>) {
        let lines = self.look(|known| known.lines.clone());
        let found = read_lines(&self.folder.join("steps.jsonl"), &lines, from);
        (from, found.unwrap_or_default())
    }
}
