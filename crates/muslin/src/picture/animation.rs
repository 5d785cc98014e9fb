//! Pictures that move: GIF by ourselves, MP4 through ffmpeg where it is installed.

use super::write_text;
use crate::record::RecordError;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A film on its way to disk, frame by frame.
pub struct Film {
    path: PathBuf,
    temporary: PathBuf,
    size: [usize; 2],
    /// Seconds a frame is shown.
    seconds: f64,
    /// Frames written.
    frames: usize,
    kind: Kind,
    complete: bool,
}

enum Kind {
    Gif(Box<gif::Encoder<BufWriter<File>>>),
    Mp4(Child),
}

impl Film {
    /// Begins a film of pictures of this size (pixels) with so many pictures a second; the ending of the path says which
    /// kind.
    pub fn create(path: &Path, size: [usize; 2], rate: f64) -> Result<Self, RecordError> {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let temporary = path.with_extension(format!("partial.{ending}"));
        let kind = if ending.eq_ignore_ascii_case("mp4") {
            Kind::Mp4(ffmpeg(&temporary, size, rate)?)
        } else {
            let file = File::create(&temporary).map_err(RecordError::io(&temporary))?;
            let (w, h) = (size[0] as u16, size[1] as u16);
            let mut encoder = gif::Encoder::new(BufWriter::new(file), w, h, &[])
                .map_err(|e| RecordError::damaged(&temporary, e))?;
            encoder
                .set_repeat(gif::Repeat::Infinite)
                .map_err(|e| RecordError::damaged(&temporary, e))?;
            Kind::Gif(Box::new(encoder))
        };
        Ok(Self {
            path: path.to_path_buf(),
            temporary,
            size,
            seconds: 1.0 / rate,
            frames: 0,
            kind,
            complete: false,
        })
    }

    /// Adds a picture of RGB bytes.
    pub fn add(&mut self, rgb: &[u8]) -> Result<(), RecordError> {
        match &mut self.kind {
            Kind::Gif(encoder) => {
                let (w, h) = (self.size[0] as u16, self.size[1] as u16);
                let mut frame = gif::Frame::from_rgb_speed(w, h, rgb, 20);
                // GIF counts in hundredths; from the whole time, so that rounding does not add up.
                let at = |n: usize| (n as f64 * self.seconds * 100.0).round();
                frame.delay = (at(self.frames + 1) - at(self.frames)).max(2.0) as u16;
                encoder
                    .write_frame(&frame)
                    .map_err(|e| RecordError::damaged(&self.temporary, e))?;
            }
            Kind::Mp4(child) => {
                let sent = child.stdin.as_mut().map(|pipe| pipe.write_all(rgb));
                sent.unwrap_or(Ok(()))
                    .map_err(RecordError::io(&self.temporary))?;
            }
        }
        self.frames += 1;
        Ok(())
    }

    /// Puts the film at its place.
    pub fn finish(mut self) -> Result<(), RecordError> {
        if let Kind::Mp4(child) = &mut self.kind {
            drop(child.stdin.take());
            let status = child.wait().map_err(RecordError::io(&self.temporary))?;
            if !status.success() {
                return Err(RecordError::damaged(
                    &self.temporary,
                    format!("ffmpeg failed ({status})"),
                ));
            }
        }
        if let Kind::Gif(encoder) = &mut self.kind {
            encoder
                .get_mut()
                .flush()
                .map_err(RecordError::io(&self.temporary))?;
        }
        self.complete = true;
        let (from, to) = (self.temporary.clone(), self.path.clone());
        // Closing writes the end of a GIF.
        drop(self);
        std::fs::rename(&from, &to).map_err(RecordError::io(&to))
    }
}

impl Drop for Film {
    fn drop(&mut self) {
        if !self.complete {
            if let Kind::Mp4(child) = &mut self.kind {
                let _ = child.kill();
                let _ = child.wait();
            }
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

fn ffmpeg(path: &Path, size: [usize; 2], rate: f64) -> Result<Child, RecordError> {
    // Players want even sides; one pixel may be cut off.
    let even = "crop=trunc(iw/2)*2:trunc(ih/2)*2";
    Command::new("ffmpeg")
        .args(["-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"])
        .args(["-s", &format!("{}x{}", size[0], size[1]), "-r", &rate.to_string()])
        .args(["-i", "-", "-an", "-vf", even, "-c:v", "libx264", "-crf", "18"])
        .args(["-pix_fmt", "yuv420p", "-movflags", "+faststart"])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|e| match e.kind() {
            ErrorKind::NotFound => RecordError::Refused(
                "an .mp4 needs the program ffmpeg, which is not installed; install it, or write a .gif".into(),
            ),
            _ => RecordError::io(Path::new("ffmpeg"))(e),
        })
}

/// Several pictures of one size in one, row by row, each with a label.
pub struct ContactSheet {
    columns: usize,
    size: [usize; 2],
    rgb: Vec<u8>,
    placed: usize,
}

impl ContactSheet {
    /// An empty sheet of so many columns and rows of pictures of this size (pixels).
    pub fn new(columns: usize, rows: usize, size: [usize; 2]) -> Self {
        Self {
            columns,
            size,
            rgb: vec![255; 3 * columns * rows * size[0] * size[1]],
            placed: 0,
        }
    }

    /// Adds the next picture; one too many is left out.
    pub fn add(&mut self, rgb: &[u8], label: &str) {
        let width = self.columns * self.size[0];
        let corner = [
            (self.placed % self.columns) * self.size[0],
            (self.placed / self.columns) * self.size[1],
        ];
        for (y, row) in rgb.chunks_exact(3 * self.size[0]).enumerate() {
            let first = 3 * ((corner[1] + y) * width + corner[0]);
            if let Some(place) = self.rgb.get_mut(first..first + row.len()) {
                place.copy_from_slice(row);
            }
        }
        let height = (self.size[1] as f32 / 16.0).clamp(11.0, 28.0);
        let at = [corner[0] + 6, corner[1] + 4];
        write_text(&mut self.rgb, width, at, height, [40; 3], label);
        self.placed += 1;
    }

    /// Size in pixels and RGB bytes.
    pub fn finish(self) -> ([usize; 2], Vec<u8>) {
        let width = self.columns * self.size[0];
        ([width, self.rgb.len() / (3 * width).max(1)], self.rgb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gif_plays_at_its_rate() {
        let path = std::env::temp_dir().join(format!("muslin-film-{}.gif", std::process::id()));
        let mut film = Film::create(&path, [8, 6], 30.0).unwrap();
        for i in 0..30u8 {
            film.add(&[8 * i; 3 * 8 * 6]).unwrap();
        }
        film.finish().unwrap();
        let mut reader = gif::DecodeOptions::new()
            .read_info(File::open(&path).unwrap())
            .unwrap();
        let (mut frames, mut hundredths) = (0, 0);
        while let Some(frame) = reader.read_next_frame().unwrap() {
            frames += 1;
            hundredths += usize::from(frame.delay);
        }
        assert_eq!((frames, hundredths), (30, 100));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_sheet_has_its_pictures_in_rows() {
        let mut sheet = ContactSheet::new(2, 2, [40, 30]);
        for shade in [10, 60, 110] {
            sheet.add(&[shade; 3 * 40 * 30], "");
        }
        let (size, rgb) = sheet.finish();
        assert_eq!(size, [80, 60]);
        let at = |x: usize, y: usize| rgb[3 * (y * 80 + x)];
        assert_eq!(
            [at(0, 0), at(79, 0), at(0, 59), at(79, 59)],
            [10, 60, 110, 255]
        );
    }
}
