//! `muslin render`: a still, an animation or a contact sheet of a recorded run.

use crate::Failure;
use crate::args::RenderOptions;
use crate::export::frame_range;
use indicatif::ProgressBar;
use muslin::linalg::Vec3;
use muslin::picture::{ContactSheet, Film, PictureOptions, View, draw, write_png};
use muslin::record::{Frame, FrameReader, recorded_scene};
use muslin::scene::SceneFile;
use std::path::Path;

/// Pictures a second of an animation, at most, unless asked for.
const FILM_RATE: f64 = 25.0;
/// Frames that show the extent of the motion well enough.
const SAMPLED: usize = 9;

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Still,
    Film,
}

/// Draws what is asked for.
pub fn render(options: &RenderOptions) -> Result<(), Failure> {
    let kind = kind(&options.out)?;
    let usual = match (kind, options.sheet.is_some()) {
        (Kind::Film, _) => "640x480",
        (Kind::Still, true) => "480x360",
        (Kind::Still, false) => "960x720",
    };
    let size = size(options.size.as_deref().unwrap_or(usual))?;
    let run = Recorded::open(&options.dir)?;
    let mut picture = run.picture(size)?;
    picture.contacts = options.contacts;
    place_camera(&mut picture.view, options)?;
    if options.all {
        picture.left_out.clear();
    } else if !picture.left_out.is_empty() {
        eprintln!(
            "left out what hides the cloth: {}; --all draws it",
            picture.left_out.join(", ")
        );
    }
    match (kind, &options.sheet) {
        (Kind::Film, Some(_)) => Err(Failure::Input(
            "a contact sheet is one picture; write it as .png".into(),
        )),
        (Kind::Film, None) => film(options, &run, &picture),
        (Kind::Still, Some(text)) => sheet(options, &run, &picture, text),
        (Kind::Still, None) => {
            if options.frames.is_some() || options.every.is_some() {
                return Err(Failure::Input(
                    "--frames and --every are for animations (.gif, .mp4) and sheets; use --frame for a still".into(),
                ));
            }
            let frame = match options.frame {
                Some(number) => run.reader.read(run.checked(number)?)?,
                None => run.last_whole()?,
            };
            write_png(&options.out, size, &draw(&frame, &picture))?;
            Ok(())
        }
    }
}

fn kind(out: &Path) -> Result<Kind, Failure> {
    let ending = out.extension().map(|e| e.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("png") => Ok(Kind::Still),
        Some("gif" | "mp4") => Ok(Kind::Film),
        _ => Err(Failure::Input(format!(
            "{}: pictures are written as .png, animations as .gif or .mp4",
            out.display()
        ))),
    }
}

fn place_camera(view: &mut View, options: &RenderOptions) -> Result<(), Failure> {
    if let Some(from) = &options.from {
        view.from = point("--from", from)?;
    }
    if let Some(to) = &options.to {
        view.to = point("--to", to)?;
    }
    if let Some(degrees) = options.opening {
        if !(degrees > 0.1 && degrees < 170.0) {
            return Err(Failure::Input(
                "--opening must be from 0.1 to 170 degrees".into(),
            ));
        }
        view.opening = degrees.to_radians();
    }
    if view.from.distance(view.to) < 1e-9 {
        return Err(Failure::Input("--from and --to are the same point".into()));
    }
    Ok(())
}

/// A run to draw pictures of.
pub struct Recorded {
    /// Its frames.
    pub reader: FrameReader,
    /// Its scene.
    pub scene: SceneFile,
    /// Its last frame.
    pub last: usize,
}

impl Recorded {
    /// Opens a run folder.
    pub fn open(dir: &Path) -> Result<Self, Failure> {
        let reader = FrameReader::open(dir)?;
        let (scene, lost) = recorded_scene(dir, &reader)?;
        if let Some(why) = lost {
            eprintln!("{why}");
        }
        Ok(Self {
            last: reader.last(),
            reader,
            scene,
        })
    }

    /// The number of a frame that is there.
    pub fn checked(&self, number: usize) -> Result<usize, Failure> {
        if number <= self.last {
            return Ok(number);
        }
        Err(Failure::Input(format!(
            "there is no frame {number}; the last one is {}",
            self.last
        )))
    }

    /// A frame, or a message if it is damaged: the others are still worth seeing.
    fn whole(&self, number: usize) -> Option<Frame> {
        let read = self.reader.read(number);
        read.map_err(|e| eprintln!("left out frame {number}: {e}"))
            .ok()
    }

    /// The last frame that is whole.
    pub fn last_whole(&self) -> Result<Frame, Failure> {
        let found = (0..=self.last).rev().find_map(|n| self.whole(n));
        found.ok_or_else(|| Failure::Input("no frame of this run is whole".into()))
    }

    /// Camera and ground that suit the whole motion, or what the scene says.
    pub fn picture(&self, size: [usize; 2]) -> Result<PictureOptions, Failure> {
        let wanted = (0..SAMPLED).map(|i| self.last * i / (SAMPLED - 1));
        // Damaged ones are told about when they are to be shown.
        let sampled: Vec<Frame> = wanted.filter_map(|n| self.reader.read(n).ok()).collect();
        if sampled.is_empty() {
            return Err(Failure::Input("no frame of this run is whole".into()));
        }
        Ok(PictureOptions::suiting(&self.scene, &sampled, size))
    }

    /// Frames of a film and how many of them a second.
    pub fn film_frames(
        &self,
        first: usize,
        last: usize,
        every: Option<usize>,
    ) -> (Vec<usize>, f64) {
        let rate = self.scene.output.frame_rate;
        let every = every.unwrap_or_else(|| (rate / FILM_RATE).round().max(1.0) as usize);
        ((first..=last).step_by(every).collect(), rate / every as f64)
    }

    /// Writes a film.
    pub fn film(
        &self,
        out: &Path,
        frames: &[usize],
        rate: f64,
        picture: &PictureOptions,
        mut progress: impl FnMut(),
    ) -> Result<(), Failure> {
        let mut film = Film::create(out, picture.size, rate)?;
        for number in frames {
            if let Some(frame) = self.whole(*number) {
                film.add(&draw(&frame, picture))?;
            }
            progress();
        }
        film.finish()?;
        Ok(())
    }
}

fn range(options: &RenderOptions, run: &Recorded) -> Result<(usize, usize), Failure> {
    let (first, last) = match &options.frames {
        Some(text) => frame_range(text)?,
        None => (0, run.last),
    };
    run.checked(last)?;
    if options.frame.is_some() {
        return Err(Failure::Input(
            "--frame is for a still; use --frames for a range".into(),
        ));
    }
    if options.every == Some(0) {
        return Err(Failure::Input("--every must be 1 or more".into()));
    }
    Ok((first, last))
}

fn film(options: &RenderOptions, run: &Recorded, picture: &PictureOptions) -> Result<(), Failure> {
    let (first, last) = range(options, run)?;
    let (frames, rate) = run.film_frames(first, last, options.every);
    let speed = options.speed;
    if !(speed.is_finite() && speed > 0.0) {
        return Err(Failure::Input("--speed must be positive".into()));
    }
    let bar = ProgressBar::new(frames.len() as u64);
    let done = run.film(&options.out, &frames, rate * speed, picture, || bar.inc(1));
    bar.finish_and_clear();
    done
}

fn sheet(
    options: &RenderOptions,
    run: &Recorded,
    picture: &PictureOptions,
    text: &str,
) -> Result<(), Failure> {
    let parts: Vec<usize> = text.split('x').filter_map(|p| p.parse().ok()).collect();
    let [columns, rows] = parts[..] else {
        return Err(Failure::Input(format!(
            "`{text}` is not a sheet; write it as 3x2 for three columns and two rows"
        )));
    };
    let fits = |n: usize, side: usize| n > 0 && n * side <= 16384;
    if !fits(columns, picture.size[0]) || !fits(rows, picture.size[1]) {
        return Err(Failure::Input(format!(
            "a sheet of {text} pictures of {}x{} pixels is empty or larger than 16384 pixels",
            picture.size[0], picture.size[1]
        )));
    }
    let (first, last) = range(options, run)?;
    let count = columns * rows;
    let mut sheet = ContactSheet::new(columns, rows, picture.size);
    // As many digits as tell the pictures apart.
    let each = (last - first) as f64 / run.scene.output.frame_rate / count as f64;
    let digits = if each > 0.0 {
        (1.0 - each.log10()).clamp(2.0, 6.0) as usize
    } else {
        2
    };
    for i in 0..count {
        let number = first + (last - first) * i / (count - 1).max(1);
        let Some(frame) = run.whole(number) else {
            continue;
        };
        let label = format!("{:.*} s", digits, frame.time);
        sheet.add(&draw(&frame, picture), &label);
    }
    let (size, rgb) = sheet.finish();
    write_png(&options.out, size, &rgb)?;
    Ok(())
}

/// `960x720`.
pub fn size(text: &str) -> Result<[usize; 2], Failure> {
    let parts: Vec<usize> = text.split('x').filter_map(|p| p.parse().ok()).collect();
    match parts[..] {
        [w, h] if (16..=8192).contains(&w) && (16..=8192).contains(&h) => Ok([w, h]),
        _ => Err(Failure::Input(format!(
            "`{text}` is not a size; write it as 960x720, at most 8192x8192"
        ))),
    }
}

fn point(option: &str, text: &str) -> Result<Vec3, Failure> {
    let parts: Vec<f64> = text
        .split(',')
        .filter_map(|p| p.trim().parse().ok())
        .collect();
    match parts[..] {
        [x, y, z] if x.is_finite() && y.is_finite() && z.is_finite() => Ok(Vec3::new(x, y, z)),
        _ => Err(Failure::Input(format!(
            "{option} {text} is not a point; write it as x,y,z in metres"
        ))),
    }
}
