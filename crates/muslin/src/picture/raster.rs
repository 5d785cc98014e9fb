//! A depth-buffer rasteriser with smooth shading, shadows from one light, and four samples a pixel.

use super::camera::View;
use muslin_linalg::Vec3;
use rayon::prelude::*;

/// Something to draw.
pub(super) struct Surface {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    pub faces: Vec<[i32; 3]>,
    /// Coordinates of each face's corners in the plane of the chequered pattern, m.
    pub pattern: Vec<[[f64; 2]; 3]>,
    pub square: f64,
    pub color: [f32; 3],
    /// Whether the back is darker than the front.
    pub two_sided: bool,
    /// Whether it casts a shadow.
    pub shadow: bool,
    /// Whether it is drawn over everything else, without light and shadow.
    pub on_top: bool,
    /// Distance from what is looked at where it has faded into the sky, m; none if it does not fade.
    pub fades: Option<f64>,
}

/// Samples along each side of a pixel.
const OVERSAMPLE: usize = 2;
/// Pixels along each side of the shadow map.
const SHADOW: usize = 1024;
/// Added to the inverse depth (1/m) of what is drawn over everything else.
const ON_TOP: f32 = 1e6;
/// Samples of the shadow map along each side of the square that is averaged, and their distance in its pixels.
const SOFT: i32 = 5;
const SOFT_STEP: f64 = 1.4;
/// Direction to the light.
const LIGHT: Vec3 = Vec3::new(0.35, -0.45, 0.85);
const SKY: [f32; 3] = [0.93, 0.95, 0.97];

/// What one sample sees.
#[derive(Clone, Copy)]
struct Sample {
    depth: f32,
    color: [f32; 3],
}

pub(super) struct Canvas {
    size: [usize; 2],
    samples: Vec<Sample>,
}

/// A corner on its way to the screen: place in samples, inverse depth, and what is interpolated.
#[derive(Clone, Copy)]
struct Corner {
    x: f64,
    y: f64,
    inverse_depth: f64,
    position: Vec3,
    normal: Vec3,
    pattern: [f64; 2],
}

/// A corner in the world: distance along the view, m, and what is interpolated.
#[derive(Clone, Copy)]
struct Point {
    depth: f64,
    position: Vec3,
    normal: Vec3,
    pattern: [f64; 2],
}

impl Point {
    /// The point on the way to another one that is at a depth between theirs.
    fn towards(self, other: Self, depth: f64) -> Self {
        let share = (depth - self.depth) / (other.depth - self.depth);
        let mix = |a: f64, b: f64| a + share * (b - a);
        Self {
            depth,
            position: self.position.lerp(other.position, share),
            normal: self.normal.lerp(other.normal, share),
            pattern: std::array::from_fn(|i| mix(self.pattern[i], other.pattern[i])),
        }
    }
}

/// The part of a triangle that is farther than `near` (m), as triangles: a floor may reach behind the eye.
fn in_front(corners: [Point; 3], near: f64) -> impl Iterator<Item = [Point; 3]> {
    let mut outline = Vec::with_capacity(4);
    for k in 0..3 {
        let (a, b) = (corners[k], corners[(k + 1) % 3]);
        if a.depth > near {
            outline.push(a);
        }
        if (a.depth > near) != (b.depth > near) {
            outline.push(a.towards(b, near));
        }
    }
    (2..outline.len()).map(move |k| [outline[0], outline[k - 1], outline[k]])
}

/// Unit normals of vertices: those of the faces round them, weighted by area. Zero where there is no face.
pub fn smooth_normals(positions: &[Vec3], faces: &[[i32; 3]]) -> Vec<Vec3> {
    let mut normals = vec![Vec3::ZERO; positions.len()];
    for f in faces {
        let [a, b, c] = f.map(|v| positions[v as usize]);
        let n = (b - a).cross(c - a);
        for v in f {
            normals[*v as usize] += n;
        }
    }
    normals.into_iter().map(Vec3::normalize_or_zero).collect()
}

impl Canvas {
    pub fn new(size: [usize; 2], view: &View, surfaces: &[Surface]) -> Self {
        let shadow = ShadowMap::new(view, surfaces);
        let (width, height) = (size[0] * OVERSAMPLE, size[1] * OVERSAMPLE);
        let [right, up, forward] = view.axes();
        let scale = 0.5 * height as f64 / (view.opening / 2.0).tan();
        let near = 1e-3 * view.radius;
        let project = |p: Point| {
            let d = p.position - view.from;
            Corner {
                x: 0.5 * width as f64 + scale * d.dot(right) / p.depth,
                y: 0.5 * height as f64 - scale * d.dot(up) / p.depth,
                inverse_depth: 1.0 / p.depth,
                position: p.position,
                normal: p.normal,
                pattern: p.pattern,
            }
        };
        let mut triangles: Vec<([Corner; 3], usize)> = Vec::new();
        for (index, s) in surfaces.iter().enumerate() {
            for (f, pattern) in s.faces.iter().zip(&s.pattern) {
                let corners: [Point; 3] = std::array::from_fn(|k| {
                    let v = f[k] as usize;
                    Point {
                        depth: (s.positions[v] - view.from).dot(forward),
                        position: s.positions[v],
                        normal: s.normals[v],
                        pattern: pattern[k],
                    }
                });
                let seen = in_front(corners, near);
                triangles.extend(seen.map(|corners| (corners.map(project), index)));
            }
        }
        let background = Sample {
            depth: 0.0,
            color: SKY,
        };
        let mut samples = vec![background; width * height];
        let band = (16 * OVERSAMPLE).min(height.max(1));
        samples
            .par_chunks_mut(band * width)
            .enumerate()
            .for_each(|(i, rows)| {
                let first = i * band;
                for (corners, surface) in &triangles {
                    fill(
                        corners,
                        &surfaces[*surface],
                        rows,
                        first,
                        width,
                        view.from,
                        &shadow,
                    );
                }
            });
        Self { size, samples }
    }

    /// Averages the samples of each pixel.
    pub fn finish(self) -> Vec<u8> {
        let width = self.size[0] * OVERSAMPLE;
        let mut out = Vec::with_capacity(3 * self.size[0] * self.size[1]);
        for y in 0..self.size[1] {
            for x in 0..self.size[0] {
                let mut sum = [0.0f32; 3];
                for dy in 0..OVERSAMPLE {
                    for dx in 0..OVERSAMPLE {
                        let c =
                            self.samples[(y * OVERSAMPLE + dy) * width + x * OVERSAMPLE + dx].color;
                        for k in 0..3 {
                            sum[k] += c[k];
                        }
                    }
                }
                let share = 1.0 / (OVERSAMPLE * OVERSAMPLE) as f32;
                out.extend(
                    sum.map(|s| {
                        ((s * share).clamp(0.0, 1.0).powf(1.0 / 2.2) * 255.0).round() as u8
                    }),
                );
            }
        }
        out
    }
}

/// Visits the samples of a triangle within some rows: index, weights of the corners.
fn cover(
    p: [[f64; 2]; 3],
    first_row: usize,
    rows: usize,
    width: usize,
    mut visit: impl FnMut(usize, [f64; 3]),
) {
    let area =
        (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[1][1] - p[0][1]) * (p[2][0] - p[0][0]);
    if area == 0.0 || !area.is_finite() {
        return;
    }
    let bound = |k: usize, low: usize, high: usize| {
        let min = p[0][k].min(p[1][k]).min(p[2][k]) - 0.5;
        let max = p[0][k].max(p[1][k]).max(p[2][k]) - 0.5;
        (
            (min.ceil().max(low as f64)) as usize,
            (max.floor() + 1.0).clamp(0.0, high as f64) as usize,
        )
    };
    let (x0, x1) = bound(0, 0, width);
    let (y0, y1) = bound(1, first_row, first_row + rows);
    for y in y0..y1 {
        for x in x0..x1 {
            let (sx, sy) = (x as f64 + 0.5, y as f64 + 0.5);
            let weight = |a: usize, b: usize| {
                ((p[b][0] - p[a][0]) * (sy - p[a][1]) - (p[b][1] - p[a][1]) * (sx - p[a][0])) / area
            };
            let w = [weight(1, 2), weight(2, 0), weight(0, 1)];
            if w[0] >= 0.0 && w[1] >= 0.0 && w[2] >= 0.0 {
                visit((y - first_row) * width + x, w);
            }
        }
    }
}

fn fill(
    corners: &[Corner; 3],
    surface: &Surface,
    samples: &mut [Sample],
    first_row: usize,
    width: usize,
    eye: Vec3,
    shadow: &ShadowMap,
) {
    let rows = samples.len() / width;
    let front = (corners[1].position - corners[0].position)
        .cross(corners[2].position - corners[0].position);
    cover(
        corners.map(|c| [c.x, c.y]),
        first_row,
        rows,
        width,
        |index, w| {
            // Perspective: what is linear on the surface is linear on the screen only after division by depth.
            let inverse: f64 = (0..3).map(|k| w[k] * corners[k].inverse_depth).sum();
            let sample = &mut samples[index];
            // Nearer than near: still sorted among themselves.
            let depth = if surface.on_top {
                inverse as f32 + ON_TOP
            } else {
                inverse as f32
            };
            if depth <= sample.depth {
                return;
            }
            if surface.on_top {
                let color = surface.color.map(|c| c.powf(1.6));
                *sample = Sample { depth, color };
                return;
            }
            let share: [f64; 3] =
                std::array::from_fn(|k| w[k] * corners[k].inverse_depth / inverse);
            let mix = |value: &dyn Fn(&Corner) -> Vec3| -> Vec3 {
                (0..3).map(|k| value(&corners[k]) * share[k]).sum()
            };
            let position = mix(&|c| c.position);
            let mut normal = mix(&|c| c.normal).normalize_or_zero();
            let behind = front.dot(eye - position) < 0.0;
            if behind {
                normal = -normal;
            }
            let uv: [f64; 2] =
                std::array::from_fn(|i| (0..3).map(|k| corners[k].pattern[i] * share[k]).sum());
            let odd = ((uv[0] / surface.square).floor() + (uv[1] / surface.square).floor())
                .rem_euclid(2.0)
                >= 1.0;
            let light = LIGHT.normalize();
            let direct =
                normal.dot(light).max(0.0) * shadow.light_at(position + normal * shadow.offset);
            let ambient = 0.42 + 0.14 * normal.z;
            let mut brightness = (ambient + 0.62 * direct) as f32;
            if odd {
                brightness *= 0.84;
            }
            let tint = if behind && surface.two_sided {
                0.72
            } else {
                1.0
            };
            let mut color = surface.color.map(|c| (c * tint * brightness).powf(1.6));
            if let Some(far) = surface.fades {
                let share = (2.0 * position.distance(shadow.centre) / far - 1.0).clamp(0.0, 1.0);
                color = std::array::from_fn(|k| color[k] + share as f32 * (SKY[k] - color[k]));
            }
            *sample = Sample { depth, color };
        },
    );
}

/// Distance to the light of what it sees first.
struct ShadowMap {
    axes: [Vec3; 3],
    centre: Vec3,
    scale: f64,
    depth: Vec<f32>,
    offset: f64,
}

impl ShadowMap {
    fn new(view: &View, surfaces: &[Surface]) -> Self {
        let light = LIGHT.normalize();
        let right = light.cross(Vec3::Y).normalize_or_zero();
        let radius = 1.6 * view.radius;
        let mut map = Self {
            axes: [right, light.cross(right), light],
            centre: view.to,
            scale: 0.5 * SHADOW as f64 / radius,
            depth: vec![f32::NEG_INFINITY; SHADOW * SHADOW],
            offset: 4.0 * radius / SHADOW as f64,
        };
        for s in surfaces.iter().filter(|s| s.shadow) {
            for f in &s.faces {
                let c = f.map(|v| map.place(s.positions[v as usize]));
                let depth = &mut map.depth;
                cover(c.map(|p| [p[0], p[1]]), 0, SHADOW, SHADOW, |index, w| {
                    let height = w[0] * c[0][2] + w[1] * c[1][2] + w[2] * c[2][2];
                    depth[index] = depth[index].max(height as f32);
                });
            }
        }
        map
    }

    fn place(&self, p: Vec3) -> [f64; 3] {
        let d = p - self.centre;
        let half = 0.5 * SHADOW as f64;
        [
            half + self.scale * d.dot(self.axes[0]),
            half + self.scale * d.dot(self.axes[1]),
            d.dot(self.axes[2]),
        ]
    }

    /// Share of the light that reaches a point, averaged over a few map pixels for a soft edge.
    fn light_at(&self, p: Vec3) -> f64 {
        let [x, y, height] = self.place(p);
        let mut lit = 0.0;
        for dy in -SOFT / 2..=SOFT / 2 {
            for dx in -SOFT / 2..=SOFT / 2 {
                let px = (x + SOFT_STEP * f64::from(dx)).floor();
                let py = (y + SOFT_STEP * f64::from(dy)).floor();
                let inside = px >= 0.0 && py >= 0.0 && px < SHADOW as f64 && py < SHADOW as f64;
                if !inside || f64::from(self.depth[py as usize * SHADOW + px as usize]) <= height {
                    lit += 1.0;
                }
            }
        }
        lit / f64::from(SOFT * SOFT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_no_gap() {
        // Two triangles of a square must cover every sample inside it.
        let mut hits = vec![0; 20 * 20];
        for p in [
            [[2.0, 2.0], [17.0, 2.0], [17.0, 17.0]],
            [[2.0, 2.0], [17.0, 17.0], [2.0, 17.0]],
        ] {
            cover(p, 0, 20, 20, |i, _| hits[i] += 1);
        }
        assert!((2..17).all(|y| (2..17).all(|x| hits[y * 20 + x] >= 1)));
        assert_eq!(hits[0], 0);
    }

    #[test]
    fn what_reaches_behind_the_eye_is_drawn_up_to_it() {
        let at = |depth: f64, x: f64| Point {
            depth,
            position: Vec3::new(x, depth, 0.0),
            normal: Vec3::Z,
            pattern: [x, depth],
        };
        let area = |[a, b, c]: [Point; 3]| {
            (b.position - a.position).cross(c.position - a.position).z / 2.0
        };
        // A triangle from 1 m behind the eye to 1 m before it; three quarters or one are in front.
        for (corners, left) in [
            ([at(-1.0, 0.0), at(1.0, 1.0), at(1.0, -1.0)], 1.5),
            ([at(1.0, 0.0), at(-1.0, -1.0), at(-1.0, 1.0)], 0.5),
            ([at(-1.0, 0.0), at(-2.0, 0.0), at(-1.0, 1.0)], 0.0),
        ] {
            let mut sum = 0.0;
            for part in in_front(corners, 0.0) {
                assert!(part.iter().all(|p| p.depth >= 0.0));
                assert!(
                    part.iter()
                        .all(|p| p.pattern == [p.position.x, p.position.y])
                );
                assert!(
                    area(part) * area(corners) >= 0.0,
                    "the front stays the front"
                );
                sum += area(part).abs();
            }
            assert!((sum - left).abs() < 1e-12);
        }
    }
}
