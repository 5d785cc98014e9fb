//! Who is next to whom: edges with their faces, faces with their edges, vertices with their faces.

use super::MeshError;

/// Stands for "no such face or vertex" in connectivity tables.
pub const NONE: u32 = u32::MAX;

/// An edge and what lies on its two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// End vertices; the first face runs from the first to the second.
    pub vertices: [u32; 2],
    /// Faces on the left and on the right; the right one is [`NONE`] on the border.
    pub faces: [u32; 2],
    /// The vertex of each face that is not on the edge.
    pub opposite: [u32; 2],
}

impl Edge {
    /// Whether only one face has this edge.
    pub fn is_border(&self) -> bool {
        self.faces[1] == NONE
    }
}

/// Connectivity of a manifold, consistently oriented triangle mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    vertices: usize,
    /// Vertex triples.
    pub faces: Vec<[u32; 3]>,
    /// All edges, ordered by the face that has them first.
    pub edges: Vec<Edge>,
    /// Edge `k` of a face lies opposite its corner `k`.
    pub face_edges: Vec<[u32; 3]>,
    vertex_start: Vec<u32>,
    vertex_faces: Vec<u32>,
}

impl Topology {
    /// Finds all neighbours. Fails on edges with more than two faces or with two faces that run the same way.
    pub fn build(vertices: usize, faces: &[[u32; 3]]) -> Result<Self, MeshError> {
        let mut half_edges: Vec<(u32, u32, u32, u8)> = Vec::with_capacity(3 * faces.len());
        for (f, face) in faces.iter().enumerate() {
            for k in 0..3 {
                let (a, b) = (face[(k + 1) % 3], face[(k + 2) % 3]);
                if face[k] as usize >= vertices {
                    return Err(MeshError::IndexOutOfRange {
                        face: f,
                        index: face[k],
                        vertices,
                    });
                }
                half_edges.push((a.min(b), a.max(b), f as u32, k as u8));
            }
        }
        half_edges.sort_unstable();
        let mut edges = Vec::with_capacity(half_edges.len() / 2 + 1);
        for group in half_edges.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
            let side = |i: usize| {
                (
                    group[i].2,
                    faces[group[i].2 as usize],
                    usize::from(group[i].3),
                )
            };
            let (f, face, k) = side(0);
            let mut edge = Edge {
                vertices: [face[(k + 1) % 3], face[(k + 2) % 3]],
                faces: [f, NONE],
                opposite: [face[k], NONE],
            };
            match group.len() {
                1 => {}
                2 => {
                    let (g, other, l) = side(1);
                    if other[(l + 1) % 3] == edge.vertices[0] {
                        return Err(MeshError::Orientation {
                            faces: [f as usize, g as usize],
                        });
                    }
                    edge.faces[1] = g;
                    edge.opposite[1] = other[l];
                }
                n => {
                    return Err(MeshError::NonManifoldEdge {
                        vertices: [group[0].0, group[0].1],
                        faces: n,
                    });
                }
            }
            edges.push(edge);
        }
        edges.sort_unstable_by_key(|e| (e.faces[0], e.vertices));
        let mut face_edges = vec![[NONE; 3]; faces.len()];
        for (i, edge) in edges.iter().enumerate() {
            for side in 0..2 {
                if edge.faces[side] != NONE {
                    let f = edge.faces[side] as usize;
                    if let Some(k) = faces[f].iter().position(|v| *v == edge.opposite[side]) {
                        face_edges[f][k] = i as u32;
                    }
                }
            }
        }
        let (vertex_start, vertex_faces) = faces_around(vertices, faces);
        Ok(Self {
            vertices,
            faces: faces.to_vec(),
            edges,
            face_edges,
            vertex_start,
            vertex_faces,
        })
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Faces that have vertex `v`, ascending.
    pub fn faces_of(&self, v: usize) -> &[u32] {
        &self.vertex_faces[self.vertex_start[v] as usize..self.vertex_start[v + 1] as usize]
    }

    /// The face across edge `k` of face `f`, if there is one.
    pub fn neighbour(&self, f: usize, k: usize) -> Option<usize> {
        let edge = &self.edges[self.face_edges[f][k] as usize];
        let other = if edge.faces[0] as usize == f {
            edge.faces[1]
        } else {
            edge.faces[0]
        };
        (other != NONE).then_some(other as usize)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.faces.len() * (12 + 12)
            + self.edges.len() * std::mem::size_of::<Edge>()
            + 4 * (self.vertex_start.len() + self.vertex_faces.len())
    }
}

fn faces_around(vertices: usize, faces: &[[u32; 3]]) -> (Vec<u32>, Vec<u32>) {
    let mut start = vec![0u32; vertices + 1];
    for v in faces.iter().flatten() {
        start[*v as usize + 1] += 1;
    }
    for v in 0..vertices {
        start[v + 1] += start[v];
    }
    let mut next = start.clone();
    let mut around = vec![0u32; 3 * faces.len()];
    for (f, face) in faces.iter().enumerate() {
        for v in face {
            around[next[*v as usize] as usize] = f as u32;
            next[*v as usize] += 1;
        }
    }
    (start, around)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_triangles_share_one_edge() {
        let t = Topology::build(4, &[[0, 1, 2], [0, 2, 3]]).unwrap();
        assert_eq!(t.edges.len(), 5);
        let inner: Vec<&Edge> = t.edges.iter().filter(|e| !e.is_border()).collect();
        assert_eq!(inner.len(), 1);
        assert_eq!(inner[0].opposite, [1, 3]);
        assert_eq!(t.neighbour(0, 1), Some(1));
        assert_eq!(t.neighbour(0, 0), None);
        assert_eq!(t.faces_of(2), &[0, 1]);
    }

    #[test]
    fn a_third_face_on_an_edge_is_named() {
        let e = Topology::build(5, &[[0, 1, 2], [1, 0, 3], [0, 1, 4]]).unwrap_err();
        assert_eq!(
            e,
            MeshError::NonManifoldEdge {
                vertices: [0, 1],
                faces: 3
            }
        );
    }
}
