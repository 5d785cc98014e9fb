//! A run folder, finished or still being written.

use crate::source::{Described, Source, SourceError, State};
use muslin::record::{Frame, FrameReader, RecordError, Summary, recorded_scene};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// Step reports that are handed out at a time.
const MOST_STEPS: usize = 4000;

/// A recorded run.
pub struct RecordedRun {
    folder: PathBuf,
    described: Described,
    /// What is wrong with its copy of the scene.
    lost: Option<String>,
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
        let (scene, lost) = recorded_scene(folder, &reader)?;
        let name = std::path::absolute(folder)
            .ok()
            .and_then(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()))
            .unwrap_or_else(|| "run".into());
        Ok(Self {
            described: Described::of_scene(&name, &scene, false),
            folder: folder.to_path_buf(),
            lost,
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

/// The whole reports among some lines, from one place in the file to another.
fn read_reports(path: &Path, [from, to]: [u64; 2]) -> std::io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(to.saturating_sub(from)).read_to_end(&mut bytes)?;
    let text = bytes.split(|b| *b == b'\n').map(str::from_utf8);
    // One line that is damaged must not cost the others.
    let whole = |line: &&str| {
        line.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok()
    };
    Ok(text
        .filter_map(Result::ok)
        .filter(whole)
        .map(str::to_owned)
        .collect())
}

impl Source for RecordedRun {
    fn describe(&self) -> Described {
        self.described.clone()
    }

    fn time_step(&self) -> f64 {
        self.described.time_step
    }

    fn generation(&self) -> u64 {
        generation(&self.folder)
    }

    fn state(&self) -> State {
        let summary = std::fs::read_to_string(self.folder.join("summary.json")).ok();
        let summary = summary.and_then(|text| serde_json::from_str::<Summary>(&text).ok());
        self.look(|known| {
            let recorded = summary.as_ref().filter(|s| s.complete).map(|s| s.frames);
            let missing = recorded.filter(|n| known.end < *n).map(|n| {
                format!(
                    "{} of {n} frames are there: frames/{:06}.npz is missing",
                    known.end, known.end
                )
            });
            let told: Vec<String> = self.lost.iter().cloned().chain(missing).collect();
            let message = (!told.is_empty()).then(|| told.join("\n"));
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

    fn steps(&self, from: usize) -> (Vec<String>, usize) {
        let (next, span) = self.look(|known| {
            let count = known.lines.len() - 1;
            let (from, next) = (from.min(count), from.saturating_add(MOST_STEPS).min(count));
            (next, [known.lines[from], known.lines[next]])
        });
        let found = read_reports(&self.folder.join("steps.jsonl"), span);
        (found.unwrap_or_default(), next)
    }
}
