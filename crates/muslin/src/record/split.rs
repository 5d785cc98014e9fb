//! Vertices for formats and graphics hardware, where a vertex has one texture coordinate.

use std::collections::BTreeMap;

/// A mesh in which vertices on a seam appear once for each side.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The vertex that each new one is a copy of; the first ones are the old ones.
    pub origin: Vec<u32>,
    /// Texture coordinates of the new vertices; empty without any.
    pub uv: Vec<[f32; 2]>,
    /// Faces of new vertices.
    pub faces: Vec<[u32; 3]>,
}

impl Split {
    /// Splits a mesh of so many vertices; `uv` has the coordinates of each face's corners, or is empty.
    pub fn new(vertices: usize, faces: &[[i32; 3]], uv: &[[[f32; 2]; 3]]) -> Self {
        let mut split = Self {
            origin: (0..vertices as u32).collect(),
            uv: Vec::new(),
            faces: Vec::with_capacity(faces.len()),
        };
        if uv.is_empty() {
            split.faces = faces.iter().map(|f| f.map(|v| v as u32)).collect();
            return split;
        }
        split.uv = vec![[0.0; 2]; vertices];
        let mut seen = vec![false; vertices];
        let mut copies: BTreeMap<(u32, [u32; 2]), u32> = BTreeMap::new();
        for (face, uv) in faces.iter().zip(uv) {
            let corners = std::array::from_fn(|k| {
                let v = face[k] as usize;
                if !seen[v] {
                    seen[v] = true;
                    split.uv[v] = uv[k];
                }
                if split.uv[v] == uv[k] {
                    return v as u32;
                }
                *copies
                    .entry((v as u32, uv[k].map(f32::to_bits)))
                    .or_insert_with(|| {
                        split.origin.push(v as u32);
                        split.uv.push(uv[k]);
                        split.origin.len() as u32 - 1
                    })
            });
            split.faces.push(corners);
        }
        split
    }
}
