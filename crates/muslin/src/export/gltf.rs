//! Binary glTF 2.0: the first frame is the mesh, every later frame a morph target, and an animation of the weights plays
//! them. Objects that do not move are plain meshes. Lengths are metres unless scaled, y is up unless asked otherwise.

use super::piece::Piece;
use super::spool::{Output, Spool};
use super::{Job, single};
use crate::record::{RecordError, Split};
use muslin_linalg::Vec3;
use serde_json::{Value, json};
use std::path::PathBuf;

const FLOAT: u32 = 5126;
const UNSIGNED: u32 = 5125;
const VERTEX_DATA: u32 = 34962;
const INDEX_DATA: u32 = 34963;

/// Buffer views and accessors, in the order in which their bytes come.
struct Buffers {
    spool: Spool,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Buffers {
    fn view(&mut self, bytes: &[u8], target: Option<u32>) -> Result<usize, RecordError> {
        let span = self.spool.append(bytes)?;
        let mut view = json!({ "buffer": 0, "byteOffset": span.start, "byteLength": span.length });
        if let Some(target) = target {
            view["target"] = target.into();
        }
        self.views.push(view);
        Ok(self.views.len() - 1)
    }

    fn accessor(&mut self, value: Value) -> usize {
        self.accessors.push(value);
        self.accessors.len() - 1
    }

    fn vectors(&mut self, all: &[[f32; 3]], bounds: bool) -> Result<usize, RecordError> {
        let view = self.view(bytemuck::cast_slice(all), Some(VERTEX_DATA))?;
        let mut value = json!({ "bufferView": view, "componentType": FLOAT, "count": all.len(), "type": "VEC3" });
        if bounds && !all.is_empty() {
            let extreme = |pick: fn(f32, f32) -> f32| {
                let merge = |a: [f32; 3], b: &[f32; 3]| std::array::from_fn(|k| pick(a[k], b[k]));
                all.iter().fold(all[0], merge)
            };
            value["min"] = json!(extreme(f32::min));
            value["max"] = json!(extreme(f32::max));
        }
        Ok(self.accessor(value))
    }
}

/// A mesh as it grows.
struct Morphing {
    name: String,
    cloth: bool,
    split: Split,
    faces: Vec<[i32; 3]>,
    base: [Vec<Vec3>; 2],
    attributes: Value,
    indices: usize,
    /// Accessors of displacements from the first frame, one entry a later frame.
    targets: Vec<Value>,
    /// Frames before the first motion; they need no targets if nothing ever moves.
    still: usize,
}

impl Morphing {
    fn new(piece: &Piece, buffers: &mut Buffers) -> Result<Self, RecordError> {
        let split = piece.split();
        let positions = copies(&piece.positions, &split);
        let mut attributes = json!({ "POSITION": buffers.vectors(&positions, true)? });
        if !piece.normals.is_empty() {
            let normals: Vec<[f32; 3]> = copies(&piece.normals, &split)
                .into_iter()
                // A vertex without faces has no normal, and glTF wants unit vectors.
                .map(|n| if n == [0.0; 3] { [0.0, 1.0, 0.0] } else { n })
                .collect();
            attributes["NORMAL"] = buffers.vectors(&normals, false)?.into();
        }
        if !split.uv.is_empty() {
            // The origin of glTF's textures is at the top.
            let uv: Vec<[f32; 2]> = split.uv.iter().map(|uv| [uv[0], 1.0 - uv[1]]).collect();
            let view = buffers.view(bytemuck::cast_slice(&uv), Some(VERTEX_DATA))?;
            attributes["TEXCOORD_0"] = buffers
                .accessor(json!({ "bufferView": view, "componentType": FLOAT, "count": uv.len(), "type": "VEC2" }))
                .into();
        }
        let view = buffers.view(bytemuck::cast_slice(&split.faces), Some(INDEX_DATA))?;
        let count = 3 * split.faces.len();
        let indices = buffers.accessor(
            json!({ "bufferView": view, "componentType": UNSIGNED, "count": count, "type": "SCALAR" }),
        );
        Ok(Self {
            name: piece.name.to_string(),
            cloth: piece.cloth,
            faces: piece.faces.to_vec(),
            base: [piece.positions.clone(), piece.normals.clone()],
            split,
            attributes,
            indices,
            targets: Vec::new(),
            still: 0,
        })
    }

    /// Adds a frame after the first.
    fn add(&mut self, piece: &Piece, buffers: &mut Buffers) -> Result<(), RecordError> {
        if self.targets.is_empty() && piece.positions == self.base[0] {
            self.still += 1;
            return Ok(());
        }
        for _ in 0..std::mem::take(&mut self.still) {
            let rest = self.base[0].clone();
            let target = self.target(&rest, &self.base[1].clone(), buffers)?;
            self.targets.push(target);
        }
        let target = self.target(&piece.positions, &piece.normals, buffers)?;
        self.targets.push(target);
        Ok(())
    }

    fn target(
        &self,
        positions: &[Vec3],
        normals: &[Vec3],
        buffers: &mut Buffers,
    ) -> Result<Value, RecordError> {
        let difference = |now: &[Vec3], base: &[Vec3]| -> Vec<[f32; 3]> {
            let moved: Vec<Vec3> = now.iter().zip(base).map(|(a, b)| *a - *b).collect();
            copies(&moved, &self.split)
        };
        let moved = difference(positions, &self.base[0]);
        let mut target = json!({ "POSITION": buffers.vectors(&moved, true)? });
        if !normals.is_empty() {
            let turned = difference(normals, &self.base[1]);
            target["NORMAL"] = buffers.vectors(&turned, false)?.into();
        }
        Ok(target)
    }
}

/// Values of the vertices, repeated where a seam splits them.
fn copies(values: &[Vec3], split: &Split) -> Vec<[f32; 3]> {
    let of = |v: &u32| single(values[*v as usize]);
    split.origin.iter().map(of).collect()
}

pub(super) fn write(
    job: &Job,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<PathBuf>, RecordError> {
    let mut buffers = Buffers {
        spool: Spool::beside(job.to)?,
        views: Vec::new(),
        accessors: Vec::new(),
    };
    let mut meshes: Vec<Morphing> = Vec::new();
    let mut times: Vec<f32> = Vec::new();
    let mut begin = 0.0;
    job.each_frame(progress, |number, time, pieces| {
        if meshes.is_empty() {
            begin = time;
            for piece in pieces {
                meshes.push(Morphing::new(piece, &mut buffers)?);
            }
        } else {
            for (mesh, piece) in meshes.iter_mut().zip(pieces) {
                if piece.faces != &mesh.faces[..] {
                    return Err(job.changing_topology(piece.name, number));
                }
                mesh.add(piece, &mut buffers)?;
            }
        }
        times.push((time - begin) as f32);
        Ok(())
    })?;
    let mut document = describe(&meshes);
    let channels = animate(&meshes, &times, &mut buffers)?;
    if let Some(animation) = channels {
        document["animations"] = json!([animation]);
    }
    document["accessors"] = Value::Array(buffers.accessors);
    document["bufferViews"] = Value::Array(buffers.views);
    document["buffers"] = json!([{ "byteLength": buffers.spool.len() }]);
    assemble(job, &document, &mut buffers.spool)
}

fn describe(meshes: &[Morphing]) -> Value {
    let nodes: Vec<Value> = (0..meshes.len())
        .map(|i| json!({ "name": meshes[i].name, "mesh": i }))
        .collect();
    let each = meshes.iter().map(|m| {
        let mut primitive = json!({
            "attributes": m.attributes,
            "indices": m.indices,
            "material": usize::from(!m.cloth),
        });
        let mut mesh = json!({ "name": m.name });
        if !m.targets.is_empty() {
            primitive["targets"] = Value::Array(m.targets.clone());
            mesh["weights"] = json!(vec![0.0; m.targets.len()]);
        }
        mesh["primitives"] = json!([primitive]);
        mesh
    });
    let material = |name: &str, color: [f64; 4], two_sided: bool| {
        json!({
            "name": name,
            "doubleSided": two_sided,
            "pbrMetallicRoughness": { "baseColorFactor": color, "metallicFactor": 0.0, "roughnessFactor": 0.9 },
        })
    };
    json!({
        "asset": { "version": "2.0", "generator": concat!("Muslin ", env!("CARGO_PKG_VERSION")) },
        "scene": 0,
        "scenes": [{ "nodes": (0..meshes.len()).collect::<Vec<_>>() }],
        "nodes": nodes,
        "meshes": each.collect::<Vec<_>>(),
        "materials": [
            material("cloth", [0.05, 0.15, 0.43, 1.0], true),
            material("obstacle", [0.34, 0.34, 0.36, 1.0], false),
        ],
    })
}

/// Weights that turn one target after the other fully on. They are nearly all zero, so only the ones are stored.
fn animate(
    meshes: &[Morphing],
    times: &[f32],
    buffers: &mut Buffers,
) -> Result<Option<Value>, RecordError> {
    if meshes.iter().all(|m| m.targets.is_empty()) {
        return Ok(None);
    }
    let view = buffers.view(bytemuck::cast_slice(times), None)?;
    let input = buffers.accessor(json!({
        "bufferView": view, "componentType": FLOAT, "count": times.len(), "type": "SCALAR",
        "min": [times[0]], "max": [times[times.len() - 1]],
    }));
    let targets = times.len() - 1;
    // Frame k + 1 shows target k.
    let ones: Vec<u32> = (0..targets)
        .map(|k| ((k + 1) * targets + k) as u32)
        .collect();
    let indices = buffers.view(bytemuck::cast_slice(&ones), None)?;
    let values = buffers.view(bytemuck::cast_slice(&vec![1.0f32; targets]), None)?;
    let output = buffers.accessor(json!({
        "componentType": FLOAT, "count": times.len() * targets, "type": "SCALAR",
        "sparse": {
            "count": targets,
            "indices": { "bufferView": indices, "componentType": UNSIGNED },
            "values": { "bufferView": values },
        },
    }));
    let channels: Vec<Value> = (0..meshes.len())
        .filter(|i| !meshes[*i].targets.is_empty())
        .map(|i| json!({ "sampler": 0, "target": { "node": i, "path": "weights" } }))
        .collect();
    Ok(Some(json!({
        "name": "run",
        "samplers": [{ "input": input, "output": output, "interpolation": "LINEAR" }],
        "channels": channels,
    })))
}

fn assemble(job: &Job, document: &Value, spool: &mut Spool) -> Result<Vec<PathBuf>, RecordError> {
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    // All entries are of four-byte numbers, so the buffer needs no padding.
    let total = 12 + 8 + text.len() as u64 + 8 + spool.len();
    let Ok(total) = u32::try_from(total) else {
        return Err(RecordError::Refused(format!(
            "{} would be larger than the 4 GiB that glTF allows; export fewer frames or objects, or .usda",
            job.to.display()
        )));
    };
    let mut out = Output::create(job.to)?;
    out.bytes(b"glTF")?;
    out.bytes(&2u32.to_le_bytes())?;
    out.bytes(&total.to_le_bytes())?;
    out.bytes(&(text.len() as u32).to_le_bytes())?;
    out.bytes(b"JSON")?;
    out.bytes(&text)?;
    out.bytes(&(spool.len() as u32).to_le_bytes())?;
    out.bytes(b"BIN\0")?;
    spool.copy_all(&mut out)?;
    Ok(vec![out.finish()?])
}
