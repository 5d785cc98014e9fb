//! One file a frame: OBJ as text, PLY in binary.

use super::Job;
use super::piece::Piece;
use super::spool::Output;
use crate::record::{RecordError, Split};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The file of a frame: `name.obj` becomes `name_000012.obj`; a single frame is written to the very path.
pub(super) fn frame_path(job: &Job, to: &Path, number: usize) -> PathBuf {
    if job.frames.len() == 1 {
        return to.to_path_buf();
    }
    let stem = to.file_stem().unwrap_or_default().to_string_lossy();
    let ending = to.extension().unwrap_or_default().to_string_lossy();
    to.with_file_name(format!("{stem}_{number:06}.{ending}"))
}

pub(super) fn write(
    job: &Job,
    encode: fn(&[Piece]) -> Vec<u8>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<PathBuf>, RecordError> {
    let mut written = Vec::new();
    job.each_frame(progress, |number, _, pieces| {
        let mut out = Output::create(&frame_path(job, job.to, number))?;
        out.bytes(&encode(pieces))?;
        written.push(out.finish()?);
        Ok(())
    })?;
    Ok(written)
}

/// Numbers are written so that they read back as the very same.
pub(super) fn obj(pieces: &[Piece]) -> Vec<u8> {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let (mut vertices, mut normals, mut coordinates) = (1, 1, 1);
    for piece in pieces {
        let _ = writeln!(text, "o {}", piece.name);
        for p in &piece.positions {
            let _ = writeln!(text, "v {} {} {}", p.x, p.y, p.z);
        }
        for n in &piece.normals {
            let _ = writeln!(text, "vn {} {} {}", n.x as f32, n.y as f32, n.z as f32);
        }
        let split = piece.split();
        for uv in &split.uv {
            let _ = writeln!(text, "vt {} {}", uv[0], uv[1]);
        }
        for (face, corner) in piece.faces.iter().zip(&split.faces) {
            text.push('f');
            for k in 0..3 {
                let _ = write!(text, " {}", vertices + face[k]);
                match (split.uv.is_empty(), piece.normals.is_empty()) {
                    (true, true) => {}
                    (false, true) => {
                        let _ = write!(text, "/{}", coordinates + corner[k]);
                    }
                    (true, false) => {
                        let _ = write!(text, "//{}", normals + face[k]);
                    }
                    (false, false) => {
                        let _ = write!(text, "/{}/{}", coordinates + corner[k], normals + face[k]);
                    }
                }
            }
            text.push('\n');
        }
        vertices += piece.positions.len() as i32;
        normals += piece.normals.len() as i32;
        coordinates += split.uv.len() as u32;
    }
    text.into_bytes()
}

pub(super) fn ply(pieces: &[Piece]) -> Vec<u8> {
    let splits: Vec<Split> = pieces.iter().map(Piece::split).collect();
    let with_normals = pieces.iter().any(|p| !p.normals.is_empty());
    let with_uv = splits.iter().any(|s| !s.uv.is_empty());
    let vertices: usize = splits.iter().map(|s| s.origin.len()).sum();
    let faces: usize = splits.iter().map(|s| s.faces.len()).sum();
    let mut header = String::from("ply\nformat binary_little_endian 1.0\n");
    for (i, piece) in pieces.iter().enumerate() {
        let _ = writeln!(header, "comment object {i} is {}", piece.name);
    }
    let _ = writeln!(
        header,
        "element vertex {vertices}\nproperty double x\nproperty double y\nproperty double z"
    );
    if with_normals {
        header.push_str("property float nx\nproperty float ny\nproperty float nz\n");
    }
    if with_uv {
        header.push_str("property float s\nproperty float t\n");
    }
    let _ = writeln!(
        header,
        "property int object\nelement face {faces}\nproperty list uchar int vertex_indices\nend_header"
    );
    let mut bytes = header.into_bytes();
    for (object, (piece, split)) in pieces.iter().zip(&splits).enumerate() {
        for (i, v) in split.origin.iter().enumerate() {
            bytes.extend(bytemuck::bytes_of(&piece.positions[*v as usize].to_array()));
            if with_normals {
                let n = piece.normals.get(*v as usize).copied().unwrap_or_default();
                bytes.extend(bytemuck::bytes_of(&super::single(n)));
            }
            if with_uv {
                let uv = split.uv.get(i).copied().unwrap_or_default();
                bytes.extend(bytemuck::bytes_of(&uv));
            }
            bytes.extend((object as i32).to_le_bytes());
        }
    }
    let mut first = 0;
    for split in &splits {
        for face in &split.faces {
            bytes.push(3);
            bytes.extend(bytemuck::bytes_of(&face.map(|v| v + first)));
        }
        first += split.origin.len() as u32;
    }
    bytes
}
