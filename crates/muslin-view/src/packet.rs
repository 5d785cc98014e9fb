//! A frame as the page gets it: a JSON header that says where the arrays are, then the arrays. The page lays typed arrays
//! over the bytes and hands them to the graphics card as they are.

use muslin::linalg::Vec3;
use muslin::picture::smooth_normals;
use muslin::record::{Frame, FrameBody, Split, contact_pressure, principal_stretches, state_code};
use serde::Serialize;

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

#[derive(Default)]
struct Arrays(Vec<u8>);

impl Arrays {
    fn add<T: bytemuck::Pod>(&mut self, values: &[T]) -> usize {
        let at = self.0.len();
        self.0.extend_from_slice(bytemuck::cast_slice(values));
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        at
    }
}

/// Packs a frame; `dt` is the length of a step, s.
pub fn pack(frame: &Frame, dt: f64, wish: Wish) -> Vec<u8> {
    let with_faces = wish.has_faces != Some(frame.faces_frame);
    let pressure = match wish.field {
        Some(Field::Pressure) => contact_pressure(frame, dt),
        _ => Vec::new(),
    };
    let mut arrays = Arrays::default();
    let mut surfaces = Vec::new();
    for (i, body) in frame.bodies.iter().enumerate() {
        let split = Split::new(body.surface_vertices(), &body.faces, &body.material);
        let field = wish.field.map(|f| match f {
            Field::Pressure => pressure[i].iter().map(|p| *p as f32).collect(),
            other => values(body, other),
        });
        surfaces.push(surface(
            &mut arrays,
            (&body.name, true),
            &body.positions,
            &body.faces,
            &split,
            field.as_deref(),
            with_faces,
        ));
    }
    for o in &frame.obstacles {
        let split = Split::new(o.positions.len(), &o.faces, &[]);
        let named = (o.name.as_str(), false);
        surfaces.push(surface(
            &mut arrays,
            named,
            &o.positions,
            &o.faces,
            &split,
            None,
            with_faces,
        ));
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

fn surface<'a>(
    arrays: &mut Arrays,
    (name, cloth): (&'a str, bool),
    positions: &[Vec3],
    faces: &[[i32; 3]],
    split: &Split,
    field: Option<&[f32]>,
    with_faces: bool,
) -> Surface<'a> {
    let copies = |v: &u32| positions[*v as usize].as_vec3().to_array();
    let x: Vec<[f32; 3]> = split.origin.iter().map(copies).collect();
    let normals = smooth_normals(positions, faces);
    // Sixteen bits are more than shading shows; the fourth keeps vertices at multiples of eight bytes.
    let short = |v: &u32| {
        let n = normals[*v as usize] * f64::from(i16::MAX);
        [n.x as i16, n.y as i16, n.z as i16, 0]
    };
    let packed: Vec<[i16; 4]> = split.origin.iter().map(short).collect();
    Surface {
        name,
        cloth,
        vertices: x.len(),
        x: arrays.add(&x),
        normal: arrays.add(&packed),
        field: field.map(|f| {
            let all: Vec<f32> = split.origin.iter().map(|v| f[*v as usize]).collect();
            arrays.add(&all)
        }),
        faces: with_faces.then(|| (arrays.add(&split.faces), split.faces.len())),
        uv: (with_faces && !split.uv.is_empty()).then(|| arrays.add(&split.uv)),
        origin: (with_faces && cloth).then(|| arrays.add(&split.origin)),
    }
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
