//! A frame as the page gets it: a JSON header that says where the arrays are, then the arrays. The page lays typed arrays
//! over the bytes and hands them to the graphics card as they are.

use crate::shape::Shape;
use muslin::linalg::Vec3;
use muslin::record::{Frame, FrameBody, Split, contact_pressure, principal_stretches, state_code};
use serde::Serialize;
use std::borrow::Cow;

/// What the surface of cloth is coloured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Stretch,
    Compression,
    Speed,
    Pressure,
}

impl Field {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "stretch" => Some(Self::Stretch),
            "compression" => Some(Self::Compression),
            "speed" => Some(Self::Speed),
            "pressure" => Some(Self::Pressure),
            _ => None,
        }
    }
}

/// What the page asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Connectivity that it has already.
    pub has_faces: Option<usize>,
    /// Field to colour by.
    pub field: Option<Field>,
}

#[derive(Serialize)]
struct Header<'a> {
    number: usize,
    time: f64,
    faces_frame: usize,
    surfaces: Vec<Surface<'a>>,
    contacts: Contacts,
}

/// Places are byte offsets behind the header.
#[derive(Serialize)]
struct Surface<'a> {
    name: &'a str,
    cloth: bool,
    vertices: usize,
    x: usize,
    normal: usize,
    field: Option<usize>,
    faces: Option<(usize, usize)>,
    uv: Option<usize>,
    origin: Option<usize>,
}

#[derive(Serialize)]
struct Contacts {
    count: usize,
    x: usize,
    impulse: usize,
    state: usize,
}

/// Bytes that begin every packet.
const MAGIC: &[u8; 4] = b"MSL1";

/// Arrays one after the other, each at a multiple of eight bytes.
struct Arrays(Vec<u8>);

impl Arrays {
    fn add<T: bytemuck::Pod>(&mut self, values: &[T]) -> usize {
        let at = self.0.len();
        self.0.extend_from_slice(bytemuck::cast_slice(values));
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        at
    }
}

/// Packs a frame that has this shape; `dt` is the length of a step, s.
pub fn pack(frame: &Frame, shape: &Shape, dt: f64, wish: Wish) -> Vec<u8> {
    let with_faces = wish.has_faces != Some(frame.faces_frame);
    let pressure = match wish.field {
        Some(Field::Pressure) => contact_pressure(frame, dt),
        _ => Vec::new(),
    };
    let vertices: usize = shape.surfaces.iter().map(|s| s.origin.len()).sum();
    let mut arrays = Arrays(Vec::with_capacity(
        24 * vertices + 28 * frame.contacts.len() + 1024,
    ));
    let mut surfaces = Vec::new();
    for (i, (body, split)) in frame.bodies.iter().zip(&shape.surfaces).enumerate() {
        let field = wish.field.map(|f| match f {
            Field::Pressure => pressure[i].iter().map(|p| *p as f32).collect(),
            other => values(body, other),
        });
        let points = single(&body.positions);
        // Normals are those of the vertices themselves: seams of the pattern are smooth.
        let normals = packed_normals(&points, bytemuck::cast_slice(body.faces.as_slice()));
        let mut surface = Surface::new(&body.name, true, split);
        surface.x = arrays.add(&copies(split, &points));
        surface.normal = arrays.add(&copies(split, &normals));
        surface.field = field.map(|f| arrays.add(&copies(split, &f)));
        surface.share(&mut arrays, split, with_faces);
        surfaces.push(surface);
    }
    let solids = shape.surfaces.iter().skip(frame.bodies.len());
    for (obstacle, split) in frame.obstacles.iter().zip(solids) {
        let points = copies(split, &single(&obstacle.positions)).into_owned();
        let mut surface = Surface::new(&obstacle.name, false, split);
        surface.x = arrays.add(&points);
        // Each side of a sharp edge has its own vertices, and so its own normals.
        surface.normal = arrays.add(&packed_normals(&points, &split.faces));
        surface.share(&mut arrays, split, with_faces);
        surfaces.push(surface);
    }
    let vectors = |of: fn(&muslin::contact::Touch) -> Vec3| -> Vec<[f32; 3]> {
        let single = |t| of(t).as_vec3().to_array();
        frame.contacts.iter().map(single).collect()
    };
    let states: Vec<u8> = frame.contacts.iter().map(|t| state_code(t.state)).collect();
    let contacts = Contacts {
        count: frame.contacts.len(),
        x: arrays.add(&vectors(|t| t.position)),
        impulse: arrays.add(&vectors(|t| t.impulse)),
        state: arrays.add(&states),
    };
    let header = Header {
        number: frame.number,
        time: frame.time,
        faces_frame: frame.faces_frame,
        surfaces,
        contacts,
    };
    // Plain structures of numbers and texts can always be written.
    let mut text = serde_json::to_vec(&header).unwrap_or_default();
    text.resize((text.len() + 8).next_multiple_of(8) - 8, b' ');
    let mut packet = Vec::with_capacity(8 + text.len() + arrays.0.len());
    packet.extend(MAGIC);
    packet.extend((text.len() as u32).to_le_bytes());
    packet.extend(text);
    packet.extend(arrays.0);
    packet
}

impl<'a> Surface<'a> {
    fn new(name: &'a str, cloth: bool, split: &Split) -> Self {
        Self {
            name,
            cloth,
            vertices: split.origin.len(),
            x: 0,
            normal: 0,
            field: None,
            faces: None,
            uv: None,
            origin: None,
        }
    }

    /// Adds what other frames share, if it is wanted.
    fn share(&mut self, arrays: &mut Arrays, split: &Split, wanted: bool) {
        if wanted {
            self.faces = Some((arrays.add(&split.faces), split.faces.len()));
            self.uv = (!split.uv.is_empty()).then(|| arrays.add(&split.uv));
            self.origin = self.cloth.then(|| arrays.add(&split.origin));
        }
    }
}

/// Positions as graphics cards take them.
fn single(positions: &[Vec3]) -> Vec<[f32; 3]> {
    positions.iter().map(|p| p.as_vec3().to_array()).collect()
}

/// Values of the split vertices from those of their originals, which mostly are the same.
fn copies<'a, T: Copy>(split: &Split, values: &'a [T]) -> Cow<'a, [T]> {
    let last = split.origin.len().wrapping_sub(1);
    // The originals come first and in order: without a seam nothing has to be copied.
    if split.origin.last().is_none_or(|v| *v as usize == last) && last < values.len() {
        return Cow::Borrowed(&values[..=last]);
    }
    Cow::Owned(split.origin.iter().map(|v| values[*v as usize]).collect())
}

/// Unit normals of vertices, weighted by the areas of the faces round them, in eight bits: shading shows no more, and what
/// travels is what takes time. The fourth number keeps vertices at multiples of four bytes.
fn packed_normals(points: &[[f32; 3]], faces: &[[u32; 3]]) -> Vec<[i8; 4]> {
    let mut sums = vec![[0f32; 3]; points.len()];
    for face in faces {
        let [a, b, c] = face.map(|v| points[v as usize]);
        let (e, f) = (less(b, a), less(c, a));
        let n = [
            e[1] * f[2] - e[2] * f[1],
            e[2] * f[0] - e[0] * f[2],
            e[0] * f[1] - e[1] * f[0],
        ];
        for v in face {
            let sum = &mut sums[*v as usize];
            *sum = [sum[0] + n[0], sum[1] + n[1], sum[2] + n[2]];
        }
    }
    let unit = |n: [f32; 3]| {
        // In double precision: the squares of small areas would vanish.
        let length = n
            .iter()
            .map(|c| f64::from(*c) * f64::from(*c))
            .sum::<f64>()
            .sqrt();
        let scale = if length > 0.0 {
            (f64::from(i8::MAX) / length) as f32
        } else {
            0.0
        };
        [
            (n[0] * scale).round() as i8,
            (n[1] * scale).round() as i8,
            (n[2] * scale).round() as i8,
            0,
        ]
    };
    sums.into_iter().map(unit).collect()
}

fn less(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Values of a field at the vertices of a body; those of faces are averaged over the faces round a vertex.
fn values(body: &FrameBody, field: Field) -> Vec<f32> {
    if field == Field::Speed {
        let length = |v: &[f32; 3]| v.iter().map(|c| c * c).sum::<f32>().sqrt();
        return body.velocities.iter().map(length).collect();
    }
    let mut sums = vec![(0.0, 0.0); body.positions.len()];
    for (face, [low, high]) in body.faces.iter().zip(principal_stretches(body)) {
        let value = if field == Field::Stretch {
            high - 1.0
        } else {
            1.0 - low
        };
        for v in face {
            let s = &mut sums[*v as usize];
            *s = (s.0 + value, s.1 + 1.0);
        }
    }
    let mean = |(sum, n): (f64, f64)| if n > 0.0 { (sum / n) as f32 } else { 0.0 };
    sums.into_iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_point_away_from_the_middle_of_a_ball() {
        // An octahedron; one vertex belongs to no face and has no normal.
        let points = [
            [1., 0., 0.],
            [-1., 0., 0.],
            [0., 1., 0.],
            [0., -1., 0.],
            [0., 0., 1.],
            [0., 0., -1.],
            [9., 9., 9.],
        ];
        let faces = [
            [0, 2, 4],
            [2, 1, 4],
            [1, 3, 4],
            [3, 0, 4],
            [2, 0, 5],
            [1, 2, 5],
            [3, 1, 5],
            [0, 3, 5],
        ];
        let small = points.map(|p: [f32; 3]| p.map(|c| 1e-6 * c));
        let normals = packed_normals(&small, &faces);
        for (n, p) in normals.iter().zip(points).take(6) {
            for k in 0..3 {
                assert!((f32::from(n[k]) - 127.0 * p[k]).abs() < 0.5, "{n:?}");
            }
        }
        assert_eq!(normals[6], [0; 4]);
    }
}
