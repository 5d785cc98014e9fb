//! Collision-aware subdivision: frames of a recording become finer and smoother, and still nothing crosses.
//!
//! Splitting edges leaves the surface as it is. The way from there to the smooth positions is searched like a motion; what
//! would meet stops before it does, and in the worst case stays on the coarse surface. Frames do not know each other, so
//! that each can be made alone and topology may change between them.

use super::loop_masks::refine;
use crate::contact::Party;
use crate::failsafe::{Look, Surfaces, Tangle, back_off};
use crate::record::{Frame, FrameBody, FrameReader, RecordError, write_frame};
use muslin_linalg::Vec3;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// What subdividing came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subdivided {
    /// Vertices of cloth.
    pub vertices: usize,
    /// Most back-off rounds of any level.
    pub rounds: usize,
    /// Vertices that were stopped before their smooth positions, all levels together.
    pub held_back: usize,
    /// Pairs of triangles of cloth that cross, with each other or with obstacles.
    pub crossings: usize,
}

/// What a folder of refined frames was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Recipe {
    levels: usize,
}

/// A refined recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refinement {
    /// Frames in the folder.
    pub frames: usize,
    /// Frames that were there already.
    pub kept: usize,
    /// The worst of the frames just made.
    pub worst: Subdivided,
}

/// Refines all frames of the run in `folder` by `levels` and writes them to `out`; frames that are there already are
/// kept, so that an interrupted run goes on where it was.
pub fn subdivide_run(folder: &Path, out: &Path, levels: usize) -> Result<Refinement, RecordError> {
    let reader = FrameReader::open(folder)?;
    let frames = out.join("frames");
    let recipe_file = out.join("subdivide.json");
    let recipe = Recipe { levels };
    if let Ok(text) = std::fs::read_to_string(&recipe_file) {
        if serde_json::from_str::<Recipe>(&text).ok() != Some(recipe) {
            return Err(RecordError::Refused(format!(
                "{} was made with other settings; remove it or give another folder with --out",
                out.display()
            )));
        }
    } else if out.is_dir() && std::fs::read_dir(out).is_ok_and(|mut d| d.next().is_some()) {
        return Err(RecordError::Refused(format!(
            "{} holds other files; give an empty or new folder with --out",
            out.display()
        )));
    }
    std::fs::create_dir_all(&frames).map_err(RecordError::io(&frames))?;
    let text = serde_json::to_string(&recipe).map_err(|e| RecordError::damaged(&recipe_file, e))?;
    std::fs::write(&recipe_file, text).map_err(RecordError::io(&recipe_file))?;
    let (from, to) = (folder.join("scene.toml"), out.join("scene.toml"));
    std::fs::copy(&from, &to).map_err(RecordError::io(&from))?;
    let last = reader.last();
    let there = |n: usize| frames.join(format!("{n:06}.npz")).is_file();
    let missing: Vec<usize> = (0..=last).filter(|n| !there(*n)).collect();
    let made: Vec<Subdivided> = missing
        .par_iter()
        .with_max_len(1)
        .map(|n| {
            let (frame, done) = subdivide(&reader.read(*n)?, levels)
                .map_err(|e| RecordError::damaged(folder, format!("frame {n}: {e}")))?;
            write_frame(out, &frame)?;
            Ok(done)
        })
        .collect::<Result<_, RecordError>>()?;
    let mut worst = Subdivided::default();
    for done in &made {
        worst.vertices = worst.vertices.max(done.vertices);
        worst.rounds = worst.rounds.max(done.rounds);
        worst.held_back = worst.held_back.max(done.held_back);
        worst.crossings = worst.crossings.max(done.crossings);
    }
    Ok(Refinement {
        frames: last + 1,
        kept: last + 1 - missing.len(),
        worst,
    })
}

/// Refines a frame.
pub fn subdivide(frame: &Frame, levels: usize) -> Result<(Frame, Subdivided), String> {
    let mut frame = frame.clone();
    frame.contacts.clear();
    // Only surfaces are refined; what is inside soft bodies does not follow.
    for body in &mut frame.bodies {
        body.keep_surface();
    }
    let mut done = Subdivided::default();
    for _ in 0..levels {
        let (rounds, held_back) = level(&mut frame)?;
        done.rounds = done.rounds.max(rounds);
        done.held_back += held_back;
    }
    done.vertices = frame.bodies.iter().map(|b| b.positions.len()).sum();
    done.crossings = crossings(&frame)?;
    Ok((frame, done))
}

/// All triangles of a frame: cloth, then obstacles, each numbered from its own first vertex.
struct Soup {
    x: Vec<Vec3>,
    cloth: usize,
    cloth_faces: Vec<[u32; 3]>,
    obstacle_faces: Vec<[u32; 3]>,
    party: Vec<Party>,
}

impl Soup {
    fn new(frame: &Frame) -> Self {
        let mut soup = Self {
            x: Vec::new(),
            cloth: 0,
            cloth_faces: Vec::new(),
            obstacle_faces: Vec::new(),
            party: Vec::new(),
        };
        for (i, body) in frame.bodies.iter().enumerate() {
            let first = soup.x.len() as u32;
            soup.x.extend_from_slice(&body.positions);
            let faces = body.faces.iter().map(|f| f.map(|v| v as u32 + first));
            soup.cloth_faces.extend(faces);
            soup.party.resize(soup.x.len(), Party::Cloth(i));
        }
        soup.cloth = soup.x.len();
        for (i, obstacle) in frame.obstacles.iter().enumerate() {
            let first = (soup.x.len() - soup.cloth) as u32;
            soup.x.extend_from_slice(&obstacle.positions);
            let faces = obstacle.faces.iter().map(|f| f.map(|v| v as u32 + first));
            soup.obstacle_faces.extend(faces);
            soup.party.resize(soup.x.len(), Party::Obstacle(i));
        }
        soup
    }
}

/// One level; gives back-off rounds and vertices held back.
fn level(frame: &mut Frame) -> Result<(usize, usize), String> {
    let mut smooth = Vec::new();
    for body in &mut frame.bodies {
        let faces: Vec<[u32; 3]> = body.faces.iter().map(|f| f.map(|v| v as u32)).collect();
        let fine = refine(&body.positions, &faces).map_err(|e| e.to_string())?;
        split_rest(body, &fine.faces);
        smooth.extend_from_slice(&fine.smooth);
        body.positions = fine.middle;
        let faces = fine.faces.iter().map(|f| f.map(|v| v as i32));
        body.faces = Arc::new(faces.collect());
    }
    let soup = Soup::new(frame);
    let mut end = smooth;
    end.extend_from_slice(&soup.x[soup.cloth..]);
    let mut surfaces = Surfaces::of_triangles(
        &soup.x,
        soup.cloth,
        soup.cloth_faces,
        soup.obstacle_faces,
        soup.party,
    )
    .map_err(|e| e.to_string())?;
    // What crosses in the recording cannot be parted here; it goes its way.
    let tangle = Tangle::of_triangles(&mut surfaces, &soup.x).map_err(|e| e.to_string())?;
    let done = back_off(&soup.x, &mut end, soup.cloth, |end, changed, found| {
        let look = Look {
            between_cloth: true,
            changed,
            tangle: &tangle,
        };
        surfaces.meetings(&soup.x, end, &look, found)
    })
    .map_err(|e| e.to_string())?;
    let mut rest = &end[..];
    for body in &mut frame.bodies {
        let (own, after) = rest.split_at(body.positions.len());
        body.positions.copy_from_slice(own);
        rest = after;
    }
    Ok((done.rounds, done.held_back))
}

/// Velocities and material coordinates of the finer mesh.
fn split_rest(body: &mut FrameBody, fine: &[[u32; 3]]) {
    let count = fine.iter().flatten().max().map_or(0, |v| *v as usize + 1);
    let mut velocities = body.velocities.clone();
    velocities.resize(count.max(velocities.len()), [0.0; 3]);
    let mut material = Vec::with_capacity(4 * body.material.len());
    for (f, old) in body.faces.iter().enumerate() {
        let [a, b, c] = old.map(|v| body.velocities[v as usize]);
        let mean = |p: [f32; 3], q: [f32; 3]| [0, 1, 2].map(|k| f32::midpoint(p[k], q[k]));
        let [ab, bc, ca] = fine[4 * f + 3];
        for (v, value) in [(ab, mean(a, b)), (bc, mean(b, c)), (ca, mean(c, a))] {
            velocities[v as usize] = value;
        }
        if let Some([a, b, c]) = body.material.get(f).copied() {
            let mean = |p: [f32; 2], q: [f32; 2]| [0, 1].map(|k| f32::midpoint(p[k], q[k]));
            let (ab, bc, ca) = (mean(a, b), mean(b, c), mean(c, a));
            material.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
    }
    body.velocities = velocities;
    body.material = Arc::new(material);
}

fn crossings(frame: &Frame) -> Result<usize, String> {
    let soup = Soup::new(frame);
    let x = soup.x;
    let mut surfaces = Surfaces::of_triangles(
        &x,
        soup.cloth,
        soup.cloth_faces,
        soup.obstacle_faces,
        soup.party,
    )
    .map_err(|e| e.to_string())?;
    let tangle = Tangle::of_triangles(&mut surfaces, &x).map_err(|e| e.to_string())?;
    Ok(tangle.count())
}
