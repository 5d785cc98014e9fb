//! Named arrays in one file: NumPy's `.npz`, uncompressed, so that `numpy.load` reads it and so do we.
//!
//! Files are written under another name and moved into place when complete: what has its final name is whole.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// A recording that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system said no.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{path} is damaged or not a Muslin file: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Something else that the user can mend.
    #[error("{0}")]
    Refused(String),
}

impl RecordError {
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io {
            path: path.clone(),
            source,
        }
    }

    #[allow(clippy::needless_pass_by_value)] // callers hand over errors and texts alike
    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged {
            path: path.to_path_buf(),
            reason: reason.to_string(),
        }
    }
}

/// Writes an array file.
pub struct ArrayWriter {
    path: PathBuf,
    temporary: PathBuf,
    zip: ZipWriter<BufWriter<File>>,
}

/// Element types and their NumPy names.
pub trait Number: bytemuck::Pod {
    /// NumPy's description, little-endian.
    const DESCRIPTION: &'static str;
}
impl Number for f64 {
    const DESCRIPTION: &'static str = "<f8";
}
impl Number for f32 {
    const DESCRIPTION: &'static str = "<f4";
}
impl Number for i32 {
    const DESCRIPTION: &'static str = "<i4";
}
impl Number for u8 {
    const DESCRIPTION: &'static str = "|u1";
}

impl ArrayWriter {
    /// Begins a file; nothing stands at `path` until [`Self::finish`].
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let temporary = path.with_extension("partial");
        let file = File::create(&temporary).map_err(RecordError::io(&temporary))?;
        Ok(Self {
            path: path.to_path_buf(),
            temporary,
            zip: ZipWriter::new(BufWriter::new(file)),
        })
    }

    /// Adds an array in row-major order.
    pub fn array<T: Number>(
        &mut self,
        name: &str,
        shape: &[usize],
        data: &[T],
    ) -> Result<(), RecordError> {
        let dimensions = shape
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
            + ",";
        let mut header = format!(
            "{{'descr': '{}', 'fortran_order': False, 'shape': ({dimensions}), }}",
            T::DESCRIPTION
        );
        // Ten bytes come before the header; NumPy wants the data to begin at a multiple of 64.
        let padding = 63 - (10 + header.len()) % 64;
        header.push_str(&" ".repeat(padding));
        header.push('\n');
        self.begin(&format!("{name}.npy"))?;
        self.bytes(b"\x93NUMPY\x01\x00")?;
        self.bytes(&(header.len() as u16).to_le_bytes())?;
        self.bytes(header.as_bytes())?;
        self.bytes(bytemuck::cast_slice(data))
    }

    /// Adds a text.
    pub fn text(&mut self, name: &str, text: &str) -> Result<(), RecordError> {
        self.begin(name)?;
        self.bytes(text.as_bytes())
    }

    fn begin(&mut self, name: &str) -> Result<(), RecordError> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(true);
        self.zip
            .start_file(name, options)
            .map_err(|e| RecordError::damaged(&self.temporary, e))
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        self.zip
            .write_all(bytes)
            .map_err(RecordError::io(&self.temporary))
    }

    /// Completes the file and moves it into place.
    pub fn finish(self) -> Result<(), RecordError> {
        let mut inner = self
            .zip
            .finish()
            .map_err(|e| RecordError::damaged(&self.temporary, e))?;
        inner.flush().map_err(RecordError::io(&self.temporary))?;
        std::fs::rename(&self.temporary, &self.path).map_err(RecordError::io(&self.path))
    }
}

/// Room made for an array at once, bytes; larger ones grow.
const LIKELY_SIZE: u64 = 16 << 20;

/// An array file opened for reading.
pub struct ArrayFile {
    path: PathBuf,
    zip: ZipArchive<File>,
}

impl ArrayFile {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let file = File::open(path).map_err(RecordError::io(path))?;
        let zip = ZipArchive::new(file).map_err(|e| RecordError::damaged(path, e))?;
        Ok(Self {
            path: path.to_path_buf(),
            zip,
        })
    }

    /// Names of all entries.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.zip
            .file_names()
            .filter_map(Result::ok)
            .map(std::borrow::Cow::into_owned)
    }

    /// Whether there is an array of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|n| n.strip_suffix(".npy") == Some(name))
    }

    /// An array and its shape.
    pub fn array<T: Number>(&mut self, name: &str) -> Result<(Vec<usize>, Vec<T>), RecordError> {
        let bytes = self.entry(&format!("{name}.npy"))?;
        let bad = |why: &str| RecordError::damaged(&self.path, format!("array `{name}`: {why}"));
        let length = bytes.get(8..10).ok_or_else(|| bad("no header"))?;
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        let header = bytes.get(10..10 + length).ok_or_else(|| bad("no header"))?;
        let header = String::from_utf8_lossy(header);
        if !header.contains(T::DESCRIPTION) {
            return Err(bad("another element type"));
        }
        let shape = header
            .split('(')
            .nth(1)
            .and_then(|s| s.split(')').next())
            .ok_or_else(|| bad("no shape"))?;
        let shape: Vec<usize> = shape
            .split(',')
            .filter_map(|d| d.trim().parse().ok())
            .collect();
        let body = &bytes[10 + length..];
        let count = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
        if count.and_then(|n| n.checked_mul(std::mem::size_of::<T>())) != Some(body.len()) {
            return Err(bad("its length does not match its shape"));
        }
        Ok((shape, bytemuck::allocation::pod_collect_to_vec(body)))
    }

    /// A text.
    pub fn text(&mut self, name: &str) -> Result<String, RecordError> {
        String::from_utf8(self.entry(name)?).map_err(|e| RecordError::damaged(&self.path, e))
    }

    fn entry(&mut self, name: &str) -> Result<Vec<u8>, RecordError> {
        let mut file = self
            .zip
            .by_name(name)
            .map_err(|e| RecordError::damaged(&self.path, format!("`{name}`: {e}")))?;
        // What a damaged file says of its size is not to be believed beyond reason.
        let mut bytes = Vec::with_capacity(file.size().min(LIKELY_SIZE) as usize);
        file.read_to_end(&mut bytes)
            .map_err(RecordError::io(&self.path))?;
        Ok(bytes)
    }
}

/// Cuts a file to a length, for resuming.
pub(crate) fn truncate(path: &Path, length: u64) -> Result<File, RecordError> {
    let mut file = File::options()
        .write(true)
        .open(path)
        .map_err(RecordError::io(path))?;
    file.set_len(length).map_err(RecordError::io(path))?;
    file.seek(std::io::SeekFrom::End(0))
        .map_err(RecordError::io(path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_back_and_damage_is_noticed() {
        let path = std::env::temp_dir().join(format!("muslin-arrays-{}.npz", std::process::id()));
        let mut w = ArrayWriter::create(&path).unwrap();
        w.array("sheet/x", &[2, 3], &[1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0])
            .unwrap();
        w.array("faces", &[1, 3], &[0i32, 1, 2]).unwrap();
        w.text("meta.json", "{}").unwrap();
        w.finish().unwrap();
        let mut r = ArrayFile::open(&path).unwrap();
        assert_eq!(
            r.array::<f64>("sheet/x").unwrap(),
            (vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        );
        assert!(r.array::<f64>("faces").is_err());
        assert!(r.array::<f64>("nothing").is_err());
        assert_eq!(r.text("meta.json").unwrap(), "{}");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[150] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(
            ArrayFile::open(&path)
                .and_then(|mut r| r.array::<f64>("sheet/x"))
                .is_err()
        );
        std::fs::write(&path, &bytes[..100]).unwrap();
        assert!(ArrayFile::open(&path).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
