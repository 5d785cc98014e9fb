//! A scratch file for formats that want things in another order than a run has them.

use crate::record::RecordError;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A stretch of the scratch file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u64,
    pub length: u64,
}

/// Append now, copy later. The file is removed at the end, whatever happens.
pub(super) struct Spool {
    path: PathBuf,
    file: BufWriter<File>,
    length: u64,
}

impl Spool {
    /// A scratch file beside `target`.
    pub fn beside(target: &Path) -> Result<Self, RecordError> {
        let path = target.with_extension("spool");
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(RecordError::io(&path))?;
        Ok(Self {
            path,
            file: BufWriter::new(file),
            length: 0,
        })
    }

    pub fn append(&mut self, bytes: &[u8]) -> Result<Span, RecordError> {
        self.file
            .write_all(bytes)
            .map_err(RecordError::io(&self.path))?;
        let span = Span {
            start: self.length,
            length: bytes.len() as u64,
        };
        self.length += span.length;
        Ok(span)
    }

    pub fn len(&self) -> u64 {
        self.length
    }

    /// Copies a stretch to `out`.
    pub fn copy(&mut self, span: Span, out: &mut Output) -> Result<(), RecordError> {
        let failed = RecordError::io(&self.path);
        self.file.flush().map_err(&failed)?;
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(span.start)).map_err(&failed)?;
        let mut part = file.take(span.length);
        std::io::copy(&mut part, &mut out.file).map_err(&failed)?;
        Ok(())
    }

    /// Copies everything.
    pub fn copy_all(&mut self, out: &mut Output) -> Result<(), RecordError> {
        let all = Span {
            start: 0,
            length: self.length,
        };
        self.copy(all, out)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A file that stands at its place only when it is complete.
pub(super) struct Output {
    path: PathBuf,
    temporary: PathBuf,
    file: BufWriter<File>,
    complete: bool,
}

impl Output {
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".partial");
        let temporary = path.with_file_name(name);
        let file = File::create(&temporary).map_err(RecordError::io(&temporary))?;
        Ok(Self {
            path: path.to_path_buf(),
            temporary,
            file: BufWriter::with_capacity(1 << 16, file),
            complete: false,
        })
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        self.file
            .write_all(bytes)
            .map_err(RecordError::io(&self.temporary))
    }

    pub fn text(&mut self, text: &str) -> Result<(), RecordError> {
        self.bytes(text.as_bytes())
    }

    /// Writes over what stands at a place.
    pub fn patch(&mut self, place: u64, bytes: &[u8]) -> Result<(), RecordError> {
        let failed = RecordError::io(&self.temporary);
        let seek = |to: SeekFrom, file: &mut BufWriter<File>| file.seek(to).map_err(&failed);
        seek(SeekFrom::Start(place), &mut self.file)?;
        self.file.write_all(bytes).map_err(&failed)?;
        seek(SeekFrom::End(0), &mut self.file)?;
        Ok(())
    }

    /// Puts the file at its place and says where that is.
    pub fn finish(mut self) -> Result<PathBuf, RecordError> {
        self.file
            .flush()
            .map_err(RecordError::io(&self.temporary))?;
        std::fs::rename(&self.temporary, &self.path).map_err(RecordError::io(&self.path))?;
        self.complete = true;
        Ok(self.path.clone())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.complete {
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}
