//! Universal Scene Description: one `Mesh` an object with time samples. Points are sampled in every frame once they move,
//! connectivity only when it changes. What is written is here; how is in [`usda`](super::usda) and [`usdc`](super::usdc).

use super::piece::Piece;
use super::{Job, UpAxis, single};
use crate::record::RecordError;
use muslin_linalg::Vec3;
use std::collections::BTreeSet;

/// An attribute of a mesh.
pub(super) struct Attribute {
    pub kind: &'static str,
    pub name: &'static str,
    /// Where its values are, if that has to be said.
    pub interpolation: Option<&'static str>,
    /// Whether programs interpolate between samples.
    blends: bool,
}

const fn attribute(
    kind: &'static str,
    name: &'static str,
    interpolation: Option<&'static str>,
    blends: bool,
) -> Attribute {
    Attribute {
        kind,
        name,
        interpolation,
        blends,
    }
}

static SAMPLED: [Attribute; 7] = [
    attribute("float3[]", "extent", None, true),
    attribute("int[]", "faceVertexCounts", None, false),
    attribute("int[]", "faceVertexIndices", None, false),
    attribute("normal3f[]", "normals", Some("vertex"), true),
    attribute("point3f[]", "points", None, true),
    attribute("texCoord2f[]", "primvars:st", Some("faceVarying"), false),
    attribute("vector3f[]", "velocities", None, true),
];

/// The value of an attribute at a time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    Integers(Vec<i32>),
    Pairs(Vec<[f32; 2]>),
    Vectors(Vec<[f32; 3]>),
}

/// An attribute over time; `P` is where its values have been put.
pub(super) struct Track<P> {
    pub attribute: &'static Attribute,
    /// Frames and values; one alone holds for all times.
    pub samples: Vec<(usize, P)>,
    /// Frame and value last seen, which is not sampled if it is the one before.
    seen: Option<usize>,
    last: Option<Values>,
}

impl<P: Copy> Track<P> {
    fn add(
        &mut self,
        frame: usize,
        value: Values,
        keep: &mut dyn FnMut(&Values) -> Result<P, RecordError>,
    ) -> Result<(), RecordError> {
        if self.last.as_ref() != Some(&value) {
            // Without a sample right before it, a change would be spread over the whole rest before.
            if let (true, Some(seen), Some((at, place))) = (
                self.attribute.blends,
                self.seen,
                self.samples.last().copied(),
            ) && at != seen
            {
                self.samples.push((seen, place));
            }
            self.samples.push((frame, keep(&value)?));
            self.last = Some(value);
        }
        self.seen = Some(frame);
        Ok(())
    }
}

/// A mesh over time.
pub(super) struct MeshTracks<P> {
    pub name: String,
    pub cloth: bool,
    pub tracks: Vec<Track<P>>,
}

impl<P: Copy> MeshTracks<P> {
    fn new(name: String, cloth: bool) -> Self {
        let track = |attribute: &'static Attribute| Track {
            attribute,
            samples: Vec::new(),
            seen: None,
            last: None,
        };
        Self {
            name,
            cloth,
            tracks: SAMPLED.iter().map(track).collect(),
        }
    }

    /// Its colour where it is not lit by anything else.
    pub fn color(&self) -> [f32; 3] {
        if self.cloth {
            [0.23, 0.42, 0.69]
        } else {
            [0.62, 0.62, 0.64]
        }
    }

    fn add(
        &mut self,
        frame: usize,
        piece: &Piece,
        keep: &mut dyn FnMut(&Values) -> Result<P, RecordError>,
    ) -> Result<(), RecordError> {
        let values = [
            Some(extent(&piece.positions)),
            Some(Values::Integers(vec![3; piece.faces.len()])),
            Some(Values::Integers(piece.faces.as_flattened().to_vec())),
            (!piece.normals.is_empty()).then(|| vectors(&piece.normals)),
            Some(vectors(&piece.positions)),
            (!piece.uv.is_empty()).then(|| Values::Pairs(piece.uv.as_flattened().to_vec())),
            piece.cloth.then(|| vectors(&piece.velocities)),
        ];
        for (track, value) in self.tracks.iter_mut().zip(values) {
            if let Some(value) = value {
                track.add(frame, value, keep)?;
            }
        }
        Ok(())
    }
}

fn vectors(all: &[Vec3]) -> Values {
    Values::Vectors(all.iter().map(|v| single(*v)).collect())
}

fn extent(positions: &[Vec3]) -> Values {
    let first = positions.first().copied().unwrap_or_default();
    let corners = positions
        .iter()
        .fold([first; 2], |[a, b], p| [a.min(*p), b.max(*p)]);
    vectors(&corners)
}

/// What is said of the file as a whole.
pub(super) struct Stage {
    pub root: String,
    pub first: usize,
    pub last: usize,
    /// Frames a second.
    pub rate: f64,
    /// Metres in a unit of the file.
    pub metres: f64,
    pub up: &'static str,
}

impl Stage {
    pub fn new(job: &Job) -> Self {
        Self {
            root: identifier(&job.name, &mut BTreeSet::new()),
            first: job.frames[0],
            last: job.frames[job.frames.len() - 1],
            rate: job.scene.output.frame_rate,
            metres: 1.0 / job.options.scale,
            up: match job.up {
                UpAxis::Y => "Y",
                UpAxis::Z => "Z",
            },
        }
    }
}

/// Goes through all frames; `keep` puts values away and says where they are.
pub(super) fn meshes<P: Copy>(
    job: &Job,
    progress: &mut dyn FnMut(usize, usize),
    keep: &mut dyn FnMut(&Values) -> Result<P, RecordError>,
) -> Result<Vec<MeshTracks<P>>, RecordError> {
    let mut taken = BTreeSet::new();
    let mut meshes: Vec<MeshTracks<P>> = Vec::new();
    job.each_frame(progress, |number, _, pieces| {
        if meshes.is_empty() {
            let named = |p: &Piece| MeshTracks::new(identifier(p.name, &mut taken), p.cloth);
            meshes = pieces.iter().map(named).collect();
        }
        for (mesh, piece) in meshes.iter_mut().zip(pieces) {
            mesh.add(number, piece, keep)?;
        }
        Ok(())
    })?;
    Ok(meshes)
}

/// A name that USD takes, different from those before.
fn identifier(name: &str, taken: &mut BTreeSet<String>) -> String {
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
