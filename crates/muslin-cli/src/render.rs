//! `muslin render`: a picture of a recorded frame.

use crate::Failure;
use crate::args::RenderOptions;
use muslin::picture::{PictureOptions, View, draw, write_png};
use muslin::record::{Frame, FrameReader};
use muslin::scene::SceneSource;

/// Draws a frame.
pub fn render(options: &RenderOptions) -> Result<(), Failure> {
    if options
        .out
        .extension()
        .is_none_or(|e| !e.eq_ignore_ascii_case("png"))
    {
        return Err(Failure::Input(format!(
            "{}: pictures are written as .png",
            options.out.display()
        )));
    }
    let size = size(&options.size)?;
    let reader = FrameReader::open(&options.dir)?;
    let last = reader.last();
    let number = options.frame.unwrap_or(last);
    if number > last {
        return Err(Failure::Input(format!(
            "there is no frame {number}; the last one is {last}"
        )));
    }
    let frame = reader.read(number)?;
    // A few frames show the extent of the motion well enough.
    let sampled: Vec<Frame> = (0..=8)
        .map(|i| reader.read(last * i / 8))
        .collect::<Result<_, _>>()?;
    let scene = SceneSource::find(&options.dir.join("scene.toml").to_string_lossy())?.load(&[])?;
    let planes: Vec<String> = scene
        .obstacle
        .iter()
        .filter(|(_, o)| o.plane.is_some())
        .map(|(name, _)| name.clone())
        .collect();
    let mut view = scene
        .camera
        .as_ref()
        .map_or_else(|| View::framing(&sampled, &planes), View::from_scene);
    if let Some(from) = &options.from {
        view.from = point("--from", from)?;
    }
    if let Some(to) = &options.to {
        view.to = point("--to", to)?;
    }
    if view.from.distance(view.to) < 1e-9 {
        return Err(Failure::Input("--from and --to are the same point".into()));
    }
    let cloth = sampled
        .iter()
        .flat_map(|f| &f.bodies)
        .flat_map(|b| &b.positions);
    let obstacles = sampled
        .iter()
        .flat_map(|f| &f.obstacles)
        .flat_map(|o| &o.positions);
    let lowest = cloth.chain(obstacles).map(|p| p.z).fold(0.0, f64::min);
    let rgb = draw(
        &frame,
        &PictureOptions {
            size,
            view,
            // A plane of the scene is the ground; else one is drawn under everything.
            ground: planes.is_empty().then_some(lowest - 1e-3),
            planes,
        },
    );
    write_png(&options.out, size, &rgb)?;
    Ok(())
}

fn size(text: &str) -> Result<[usize; 2], Failure> {
    let parts: Vec<usize> = text.split('x').filter_map(|p| p.parse().ok()).collect();
    match parts[..] {
        [w, h] if (16..=8192).contains(&w) && (16..=8192).contains(&h) => Ok([w, h]),
        _ => Err(Failure::Input(format!(
            "`{text}` is not a size; write it as 960x720, at most 8192x8192"
        ))),
    }
}

fn point(option: &str, text: &str) -> Result<muslin::linalg::Vec3, Failure> {
    let parts: Vec<f64> = text
        .split(',')
        .filter_map(|p| p.trim().parse().ok())
        .collect();
    match parts[..] {
        [x, y, z] if x.is_finite() && y.is_finite() && z.is_finite() => {
            Ok(muslin::linalg::Vec3::new(x, y, z))
        }
        _ => Err(Failure::Input(format!(
            "{option} {text} is not a point; write it as x,y,z in metres"
        ))),
    }
}
