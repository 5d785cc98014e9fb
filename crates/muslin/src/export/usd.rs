//! Universal Scene Description as text: one `Mesh` an object with time samples. Points are sampled in every frame once
//! they move, connectivity only when it changes.

use super::piece::Piece;
use super::spool::{Output, Span, Spool};
use super::{Job, UpAxis, single};
use crate::record::RecordError;
use muslin_linalg::Vec3;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

/// An attribute over time.
struct Track {
    declaration: &'static str,
    /// Metadata after the value.
    metadata: &'static str,
    /// Whether programs interpolate between samples.
    interpolated: bool,
    samples: Vec<(usize, Span)>,
    /// Frame and value last seen, which is not sampled if it is the one before.
    seen: Option<usize>,
    last: String,
}

impl Track {
    fn new(declaration: &'static str, metadata: &'static str, interpolated: bool) -> Self {
        Self {
            declaration,
            metadata,
            interpolated,
            samples: Vec::new(),
            seen: None,
            last: String::new(),
        }
    }

    fn add(&mut self, frame: usize, value: String, spool: &mut Spool) -> Result<(), RecordError> {
        if self.samples.is_empty() || value != self.last {
            // Without a sample right before it, a change would be spread over the whole rest before.
            if let (true, Some(seen), Some((at, span))) =
                (self.interpolated, self.seen, self.samples.last().copied())
                && at != seen
            {
                self.samples.push((seen, span));
            }
            let span = spool.append(value.as_bytes())?;
            self.samples.push((frame, span));
            self.last = value;
        }
        self.seen = Some(frame);
        Ok(())
    }

    fn write(&self, out: &mut Output, spool: &mut Spool) -> Result<(), RecordError> {
        match self.samples[..] {
            [] => {}
            [(_, span)] => {
                out.text(&format!("        {} = ", self.declaration))?;
                spool.copy(span, out)?;
                out.text(&format!("{}\n", self.metadata))?;
            }
            _ => {
                let name = self.declaration;
                if !self.metadata.is_empty() {
                    out.text(&format!("        {name}{}\n", self.metadata))?;
                }
                out.text(&format!("        {name}.timeSamples = {{\n"))?;
                for (frame, span) in &self.samples {
                    out.text(&format!("            {frame}: "))?;
                    spool.copy(*span, out)?;
                    out.text(",\n")?;
                }
                out.text("        }\n")?;
            }
        }
        Ok(())
    }
}

const SAMPLED: usize = 7;

struct MeshTracks {
    name: String,
    cloth: bool,
    tracks: [Track; SAMPLED],
}

impl MeshTracks {
    fn new(name: String, cloth: bool) -> Self {
        let vertex = " (\n            interpolation = \"vertex\"\n        )";
        let corner = " (\n            interpolation = \"faceVarying\"\n        )";
        Self {
            name,
            cloth,
            tracks: [
                Track::new("float3[] extent", "", true),
                Track::new("int[] faceVertexCounts", "", false),
                Track::new("int[] faceVertexIndices", "", false),
                Track::new("normal3f[] normals", vertex, true),
                Track::new("point3f[] points", "", true),
                Track::new("texCoord2f[] primvars:st", corner, false),
                Track::new("vector3f[] velocities", "", true),
            ],
        }
    }

    fn add(&mut self, frame: usize, piece: &Piece, spool: &mut Spool) -> Result<(), RecordError> {
        let counts = format!("[{}]", vec!["3"; piece.faces.len()].join(", "));
        let mut indices = String::from("[");
        for (i, v) in piece.faces.iter().flatten().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            let _ = write!(indices, "{comma}{v}");
        }
        indices.push(']');
        let st = piece.uv.iter().flatten().map(|uv| &uv[..]);
        let values = [
            Some(extent(&piece.positions)),
            Some(counts),
            Some(indices),
            (!piece.normals.is_empty()).then(|| vectors(&piece.normals)),
            Some(vectors(&piece.positions)),
            (!piece.uv.is_empty()).then(|| tuples(st)),
            piece.cloth.then(|| vectors(&piece.velocities)),
        ];
        for (track, value) in self.tracks.iter_mut().zip(values) {
            if let Some(value) = value {
                track.add(frame, value, spool)?;
            }
        }
        Ok(())
    }
}

fn tuples<'a>(rows: impl Iterator<Item = &'a [f32]>) -> String {
    let mut text = String::from("[");
    for (i, row) in rows.enumerate() {
        text.push_str(if i == 0 { "(" } else { ", (" });
        for (k, x) in row.iter().enumerate() {
            let comma = if k == 0 { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{comma}{x}");
        }
        text.push(')');
    }
    text.push(']');
    text
}

fn vectors(all: &[Vec3]) -> String {
    let rows: Vec<[f32; 3]> = all.iter().map(|v| single(*v)).collect();
    tuples(rows.iter().map(|r| &r[..]))
}

fn extent(positions: &[Vec3]) -> String {
    let Some(first) = positions.first() else {
        return "[(0, 0, 0), (0, 0, 0)]".into();
    };
    let corners = positions
        .iter()
        .fold([*first; 2], |[a, b], p| [a.min(*p), b.max(*p)]);
    vectors(&corners)
}

/// A name that USD takes, different from those before.
pub(super) fn identifier(name: &str, taken: &mut BTreeSet<String>) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut plain: String = name.chars().map(keep).collect();
    if plain.is_empty() || plain.starts_with(|c: char| c.is_ascii_digit()) {
        plain.insert(0, '_');
    }
    let mut found = plain.clone();
    let mut n = 2;
    while !taken.insert(found.clone()) {
        found = format!("{plain}_{n}");
        n += 1;
    }
    found
}

const CLOTH_COLOR: &str = "(0.23, 0.42, 0.69)";
const OBSTACLE_COLOR: &str = "(0.62, 0.62, 0.64)";

pub(super) fn write(
    job: &Job,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<PathBuf>, RecordError> {
    let mut spool = Spool::beside(job.to)?;
    let mut taken = BTreeSet::new();
    let mut meshes: Vec<MeshTracks> = Vec::new();
    job.each_frame(progress, |number, _, pieces| {
        if meshes.is_empty() {
            let named = |p: &Piece| MeshTracks::new(identifier(p.name, &mut taken), p.cloth);
            meshes = pieces.iter().map(named).collect();
        }
        for (mesh, piece) in meshes.iter_mut().zip(pieces) {
            mesh.add(number, piece, &mut spool)?;
        }
        Ok(())
    })?;
    let mut out = Output::create(job.to)?;
    let rate = job.scene.output.frame_rate;
    let up = match job.up {
        UpAxis::Y => "Y",
        UpAxis::Z => "Z",
    };
    let root = identifier(&job.name, &mut BTreeSet::new());
    let (first, last) = (job.frames[0], job.frames[job.frames.len() - 1]);
    out.text(&format!(
        "#usda 1.0\n(\n    defaultPrim = \"{root}\"\n    endTimeCode = {last}\n    framesPerSecond = {rate}\n    \
         metersPerUnit = {}\n    startTimeCode = {first}\n    timeCodesPerSecond = {rate}\n    upAxis = \"{up}\"\n)\n\n\
         def Xform \"{root}\" (\n    kind = \"component\"\n)\n{{\n",
        1.0 / job.options.scale
    ))?;
    for mesh in &meshes {
        out.text(&format!("    def Mesh \"{}\"\n    {{\n", mesh.name))?;
        if mesh.cloth {
            out.text("        uniform bool doubleSided = 1\n")?;
        }
        for track in &mesh.tracks {
            track.write(&mut out, &mut spool)?;
        }
        let color = if mesh.cloth {
            CLOTH_COLOR
        } else {
            OBSTACLE_COLOR
        };
        out.text(&format!(
            "        color3f[] primvars:displayColor = [{color}]\n        uniform token subdivisionScheme = \
             \"none\"\n    }}\n\n"
        ))?;
    }
    out.text("}\n")?;
    Ok(vec![out.finish()?])
}
