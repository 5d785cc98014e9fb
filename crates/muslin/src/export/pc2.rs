//! PC2 point caches: 32 bytes of header, then single-precision points of all frames. Each comes with an OBJ of the first
//! frame, the mesh that the cache moves.

use super::piece::Piece;
use super::sequence;
use super::spool::Output;
use super::{Job, single};
use crate::record::RecordError;
use std::path::PathBuf;

pub(super) fn write(
    job: &Job,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<PathBuf>, RecordError> {
    let mut caches: Vec<(Output, Output, Vec<[i32; 3]>)> = Vec::new();
    job.each_frame(progress, |number, _, pieces| {
        if caches.is_empty() {
            for piece in pieces {
                caches.push(begin(job, piece)?);
            }
        }
        for ((cache, _, faces), piece) in caches.iter_mut().zip(pieces) {
            if piece.faces != &faces[..] {
                return Err(job.changing_topology(piece.name, number));
            }
            let points: Vec<[f32; 3]> = piece.positions.iter().map(|p| single(*p)).collect();
            cache.bytes(bytemuck::cast_slice(&points))?;
        }
        Ok(())
    })?;
    let mut written = Vec::new();
    for (cache, mesh, _) in caches {
        written.push(cache.finish()?);
        written.push(mesh.finish()?);
    }
    Ok(written)
}

fn begin(job: &Job, piece: &Piece) -> Result<(Output, Output, Vec<[i32; 3]>), RecordError> {
    let path = if job.objects.len() == 1 {
        job.to.to_path_buf()
    } else {
        job.to.with_extension(format!("{}.pc2", piece.name))
    };
    let mut cache = Output::create(&path)?;
    cache.bytes(b"POINTCACHE2\0")?;
    cache.bytes(&1i32.to_le_bytes())?;
    cache.bytes(&(piece.positions.len() as i32).to_le_bytes())?;
    cache.bytes(&(job.frames[0] as f32).to_le_bytes())?;
    cache.bytes(&(job.options.every as f32).to_le_bytes())?;
    cache.bytes(&(job.frames.len() as i32).to_le_bytes())?;
    let mut mesh = Output::create(&path.with_extension("obj"))?;
    mesh.bytes(&sequence::obj(std::slice::from_ref(piece)))?;
    Ok((cache, mesh, piece.faces.to_vec()))
}
