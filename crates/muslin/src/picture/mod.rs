//! Pictures of a recording, made on the CPU: no display, no GPU.

mod animation;
mod camera;
mod hiding;
mod overlay;
mod raster;
mod text;

pub use animation::{ContactSheet, Film};
pub use camera::{View, lowest};
pub use text::write_text;

use crate::record::{Frame, FrameObstacle, RecordError};
use crate::scene::SceneFile;
use muslin_linalg::Vec3;
pub use raster::smooth_normals;
use raster::{Canvas, Surface};
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
    /// Obstacles that are drawn as ground: flat squares of four vertices.
    pub planes: Vec<String>,
    /// Obstacles that are not drawn.
    pub left_out: Vec<String>,
    /// Whether contacts are drawn over everything, coloured by what they do.
    pub contacts: bool,
}

impl PictureOptions {
    /// Camera and ground that suit all of the given frames, or what their scene says. Obstacles that would hide all of the
    /// cloth are left out.
    pub fn suiting(scene: &SceneFile, frames: &[Frame], size: [usize; 2]) -> Self {
        let flat = scene.obstacle.iter().filter(|(_, o)| o.plane.is_some());
        let planes: Vec<String> = flat.map(|(name, _)| name.clone()).collect();
        let view = scene.camera.as_ref().map_or_else(
            || {
                let mut view = View::framing(frames, &planes);
                // The opening is that of the height; a narrow picture needs distance.
                let narrow = (size[1] as f64 / size[0] as f64).max(1.0);
                view.from = view.to + (view.from - view.to) * narrow;
                view
            },
            View::from_scene,
        );
        let lowest = lowest(frames, &planes);
        Self {
            size,
            left_out: hiding::in_the_way(frames, &view, &planes),
            view,
            // A plane of the scene is the ground; else one is drawn under everything.
            ground: planes.is_empty().then_some(lowest - 1e-3),
            planes,
            contacts: false,
        }
    }
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
            faces: body.faces.to_vec(),
            pattern: body
                .material
                .iter()
                .map(|m| m.map(|c| [f64::from(c[0]), f64::from(c[1])]))
                .collect(),
            square: CLOTH_SQUARE,
            color: PALETTE[i % PALETTE.len()],
            two_sided: true,
            shadow: true,
            on_top: false,
            fades: None,
        })
        .collect();
    let drawn = |o: &&FrameObstacle| !options.left_out.contains(&o.name);
    for obstacle in frame.obstacles.iter().filter(drawn) {
        surfaces.push(match obstacle.positions[..] {
            [a, b, _, d] if options.planes.contains(&obstacle.name) => floor(a, b - a, d - a),
            _ => solid(obstacle),
        });
    }
    if let Some(height) = options.ground {
        let half = 12.0 * options.view.radius.max(0.1);
        let corner = Vec3::new(options.view.to.x - half, options.view.to.y - half, height);
        let mut ground = floor(corner, Vec3::X * 2.0 * half, Vec3::Y * 2.0 * half);
        ground.fades = Some(half);
        surfaces.push(ground);
    }
    if options.contacts {
        surfaces.extend(overlay::contacts(&frame.contacts, options.view.radius));
    }
    Canvas::new(options.size, &options.view, &surfaces).finish()
}

const OBSTACLE_COLOR: [f32; 3] = [0.62, 0.62, 0.64];
/// Faces that meet at a sharper angle than this (cosine) keep their edge when shaded.
const SMOOTH: f64 = 0.7;

/// An obstacle, in grey. Corners where it is sharp are drawn sharp.
fn solid(obstacle: &FrameObstacle) -> Surface {
    let smooth = smooth_normals(&obstacle.positions, &obstacle.faces);
    let mut surface = Surface {
        positions: Vec::new(),
        normals: Vec::new(),
        faces: Vec::new(),
        pattern: vec![[[0.0; 2]; 3]; obstacle.faces.len()],
        square: 1.0,
        color: OBSTACLE_COLOR,
        two_sided: false,
        shadow: true,
        on_top: false,
        fades: None,
    };
    for face in obstacle.faces.iter() {
        let [a, b, c] = face.map(|v| obstacle.positions[v as usize]);
        let flat = (b - a).cross(c - a).normalize_or_zero();
        let first = surface.positions.len() as i32;
        surface.faces.push([first, first + 1, first + 2]);
        for v in face {
            let normal = smooth[*v as usize];
            surface.positions.push(obstacle.positions[*v as usize]);
            let sharp = normal.dot(flat) < SMOOTH;
            surface.normals.push(if sharp { flat } else { normal });
        }
    }
    surface
}

/// A chequered parallelogram of floor.
fn floor(corner: Vec3, along: Vec3, across: Vec3) -> Surface {
    let mut surface = Surface {
        positions: Vec::new(),
        normals: Vec::new(),
        faces: Vec::new(),
        pattern: Vec::new(),
        square: GROUND_SQUARE,
        color: [0.78, 0.78, 0.76],
        two_sided: false,
        shadow: false,
        on_top: false,
        fades: None,
    };
    let normal = along.cross(across).normalize_or_zero();
    // In pieces: the part behind the camera is left out piece by piece.
    let pieces = 64;
    let share = |k: usize| k as f64 / pieces as f64;
    for i in 0..=pieces {
        for j in 0..=pieces {
            surface
                .positions
                .push(corner + along * share(i) + across * share(j));
            surface.normals.push(normal);
        }
    }
    // Squares are counted from the origin of the scene, so that they stay where they are when the view moves.
    let (u, v) = (along.normalize_or_zero(), across.normalize_or_zero());
    let id = |i: usize, j: usize| (i * (pieces + 1) + j) as i32;
    let plane = |k: i32| {
        let p = surface.positions[k as usize];
        [p.dot(u), p.dot(v)]
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
    encode_png(std::io::BufWriter::new(file), size, rgb).map_err(|e| RecordError::damaged(path, e))
}

/// Writes RGB bytes as PNG to anything that takes bytes.
pub fn encode_png(
    out: impl std::io::Write,
    size: [usize; 2],
    rgb: &[u8],
) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(out, size[0] as u32, size[1] as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(rgb)
}
