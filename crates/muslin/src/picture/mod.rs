//! Pictures of a recording, made on the CPU: no display, no GPU.

mod camera;
mod raster;

pub use camera::View;

use crate::record::{Frame, RecordError};
use muslin_linalg::Vec3;
use raster::{Canvas, Surface, smooth_normals};
use std::path::Path;

/// Colours of the pieces of cloth, front sides; backs are darker.
const PALETTE: [[f32; 3]; 6] = [
    [0.23, 0.42, 0.69],
    [0.80, 0.36, 0.25],
    [0.36, 0.60, 0.38],
    [0.78, 0.62, 0.25],
    [0.52, 0.38, 0.62],
    [0.30, 0.60, 0.64],
];

/// How a picture is made.
#[derive(Clone, Debug)]
pub struct PictureOptions {
    /// Width and height in pixels.
    pub size: [usize; 2],
    /// Where it is seen from.
    pub view: View,
    /// Height of the ground, m; none for no ground.
    pub ground: Option<f64>,
}

/// Side of the squares of the pattern on cloth and ground, m.
const CLOTH_SQUARE: f64 = 0.05;
const GROUND_SQUARE: f64 = 0.25;

/// Draws a frame as RGB bytes.
pub fn draw(frame: &Frame, options: &PictureOptions) -> Vec<u8> {
    let mut surfaces: Vec<Surface> = frame
        .bodies
        .iter()
        .enumerate()
        .map(|(i, body)| Surface {
            normals: smooth_normals(&body.positions, &body.faces),
            positions: body.positions.clone(),
            faces: body.faces.clone(),
            pattern: body
                .material
                .iter()
                .map(|m| m.map(|c| [f64::from(c[0]), f64::from(c[1])]))
                .collect(),
            square: CLOTH_SQUARE,
            color: PALETTE[i % PALETTE.len()],
            two_sided: true,
        })
        .collect();
    if let Some(height) = options.ground {
        surfaces.push(ground(height, &options.view));
    }
    Canvas::new(options.size, &options.view, &surfaces).finish()
}

/// A square of floor under what is looked at.
fn ground(height: f64, view: &View) -> Surface {
    let half = 12.0 * view.radius.max(0.1);
    let centre = Vec3::new(view.to.x, view.to.y, height);
    let mut surface = Surface {
        positions: Vec::new(),
        normals: Vec::new(),
        faces: Vec::new(),
        pattern: Vec::new(),
        square: GROUND_SQUARE,
        color: [0.78, 0.78, 0.76],
        two_sided: false,
    };
    // In pieces: the part behind the camera is left out piece by piece.
    let pieces = 48;
    let at = |i: usize, j: usize| {
        let offset = |k: usize| half * (2.0 * k as f64 / pieces as f64 - 1.0);
        centre + Vec3::new(offset(i), offset(j), 0.0)
    };
    for i in 0..=pieces {
        for j in 0..=pieces {
            surface.positions.push(at(i, j));
            surface.normals.push(Vec3::Z);
        }
    }
    let id = |i: usize, j: usize| (i * (pieces + 1) + j) as i32;
    let plane = |v: i32| {
        let p = surface.positions[v as usize];
        [p.x, p.y]
    };
    for i in 0..pieces {
        for j in 0..pieces {
            for f in [
                [id(i, j), id(i + 1, j), id(i + 1, j + 1)],
                [id(i, j), id(i + 1, j + 1), id(i, j + 1)],
            ] {
                surface.faces.push(f);
                surface.pattern.push(f.map(plane));
            }
        }
    }
    surface
}

/// Writes RGB bytes as PNG.
pub fn write_png(path: &Path, size: [usize; 2], rgb: &[u8]) -> Result<(), RecordError> {
    let file = std::fs::File::create(path).map_err(RecordError::io(path))?;
    let mut encoder = png::Encoder::new(
        std::io::BufWriter::new(file),
        size[0] as u32,
        size[1] as u32,
    );
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder
        .write_header()
        .map_err(|e| RecordError::damaged(path, e))?;
    writer
        .write_image_data(rgb)
        .map_err(|e| RecordError::damaged(path, e))
}
