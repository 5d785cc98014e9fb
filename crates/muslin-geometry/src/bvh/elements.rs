//! What the leaves hold: faces and loose primitives, and who owns which vertex and edge.

use super::bounds::Bounds;
use crate::validate::{InputError, validate_edges, validate_faces};

/// Marks a face or an edge that is not there.
pub(super) const NONE: u32 = u32::MAX;

/// One leaf entry: a face, a loose edge (`a b b`) or a loose point (`a a a`). 32 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub vertices: [u32; 3],
    /// Index of the face, or [`NONE`].
    pub face: u32,
    /// Edge from corner `k` to corner `k + 1` if this element owns it, else [`NONE`].
    pub edges: [u32; 3],
    /// Bit `k`: this element owns the vertex at corner `k`.
    pub owned: u32,
}

impl Element {
    #[inline]
    pub(super) fn bounds(&self, boxes: &[Bounds]) -> Bounds {
        let [a, b, c] = self.vertices.map(|v| boxes[v as usize]);
        a.union(b).union(c)
    }

    #[inline]
    pub(super) fn touches(&self, vertex: u32) -> bool {
        self.vertices.contains(&vertex)
    }

    /// The vertices this element owns.
    #[inline]
    pub(super) fn owned_vertices(&self) -> impl Iterator<Item = u32> + use<> {
        let Self {
            vertices, owned, ..
        } = *self;
        (0..3)
            .filter(move |k| owned >> k & 1 == 1)
            .map(move |k| vertices[k])
    }

    /// The edges this element owns, each with its two vertices.
    #[inline]
    pub(super) fn owned_edges(&self) -> impl Iterator<Item = (u32, [u32; 2])> + use<> {
        let Self {
            vertices, edges, ..
        } = *self;
        (0..3)
            .filter(move |&k| edges[k] != NONE)
            .map(move |k| (edges[k], [vertices[k], vertices[(k + 1) % 3]]))
    }
}

/// Builds the elements of a mesh: every face, every edge and every vertex in `points` (or used by a face or an edge) is
/// represented exactly once.
pub(super) fn elements(
    vertices: usize,
    faces: &[[u32; 3]],
    edges: &[[u32; 2]],
    points: &[u32],
) -> Result<Vec<Element>, InputError> {
    validate_faces(vertices, faces)?;
    validate_edges(vertices, edges)?;
    if let Some(index) = points.iter().position(|&p| p as usize >= vertices) {
        return Err(InputError::NoSuchVertex {
            kind: "point",
            index,
            vertex: points[index],
            vertices,
        });
    }
    let count = faces.len() + edges.len() + points.len();
    if count.max(vertices) >= NONE as usize {
        return Err(InputError::TooMany { count });
    }
    let mut elements: Vec<Element> = faces
        .iter()
        .enumerate()
        .map(|(f, &vertices)| Element {
            vertices,
            face: f as u32,
            edges: [NONE; 3],
            owned: 0,
        })
        .collect();
    give_edges(&mut elements, edges);
    give_vertices(&mut elements, vertices, points);
    Ok(elements)
}

/// Sorted pair of vertices as one number.
fn key(a: u32, b: u32) -> u64 {
    u64::from(a.min(b)) << 32 | u64::from(a.max(b))
}

/// Gives every edge to the adjacent face that owns the fewest so far: even shares keep the work per leaf even.
fn give_edges(elements: &mut Vec<Element>, edges: &[[u32; 2]]) {
    let mut sides: Vec<(u64, u32, u8)> = Vec::with_capacity(3 * elements.len());
    for (index, element) in elements.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (element.vertices[k], element.vertices[(k + 1) % 3]);
            sides.push((key(a, b), index as u32, k as u8));
        }
    }
    sides.sort_unstable();
    for (e, &[a, b]) in edges.iter().enumerate() {
        let wanted = key(a, b);
        let first = sides.partition_point(|side| side.0 < wanted);
        let free = sides[first..]
            .iter()
            .take_while(|side| side.0 == wanted)
            .filter(|side| elements[side.1 as usize].edges[side.2 as usize] == NONE)
            .min_by_key(|side| {
                let owned = &elements[side.1 as usize].edges;
                owned.iter().filter(|&&e| e != NONE).count()
            });
        match free {
            Some(&(_, index, k)) => elements[index as usize].edges[k as usize] = e as u32,
            // A wire, or a second edge with the same ends: it becomes an element of its own.
            None => elements.push(Element {
                vertices: [a, b, b],
                face: NONE,
                edges: [e as u32, NONE, NONE],
                owned: 0,
            }),
        }
    }
}

fn give_vertices(elements: &mut Vec<Element>, vertices: usize, points: &[u32]) {
    // The least burdened element that contains each vertex; faces come first, so they win over loose edges.
    let mut owner: Vec<(u32, u8)> = vec![(NONE, 0); vertices];
    for index in 0..elements.len() {
        for k in 0..3 {
            let v = elements[index].vertices[k] as usize;
            let (current, corner) = owner[v];
            let burden = |i: usize, elements: &[Element]| elements[i].owned.count_ones();
            if current == NONE {
                owner[v] = (index as u32, k as u8);
                elements[index].owned |= 1 << k;
            } else if current as usize != index
                && burden(current as usize, elements) > burden(index, elements) + 1
            {
                elements[current as usize].owned &= !(1 << corner);
                elements[index].owned |= 1 << k;
                owner[v] = (index as u32, k as u8);
            }
        }
    }
    for &p in points {
        if owner[p as usize].0 == NONE {
            owner[p as usize].0 = elements.len() as u32;
            elements.push(Element {
                vertices: [p; 3],
                face: NONE,
                edges: [NONE; 3],
                owned: 1,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_owned_once() {
        // Two faces, a wire, an edge listed twice, a face without area, a loose point.
        let faces = [[0, 1, 2], [2, 1, 3], [4, 4, 5]];
        let edges = [
            [0, 1],
            [1, 2],
            [2, 0],
            [1, 3],
            [3, 2],
            [5, 6],
            [1, 0],
            [4, 5],
        ];
        let elements = elements(8, &faces, &edges, &[7, 0]).unwrap();
        let mut seen_vertices = [0; 8];
        let mut seen_edges = [0; 8];
        for element in &elements {
            for v in element.owned_vertices() {
                seen_vertices[v as usize] += 1;
            }
            for (e, ends) in element.owned_edges() {
                seen_edges[e as usize] += 1;
                assert_eq!(
                    key(ends[0], ends[1]),
                    key(edges[e as usize][0], edges[e as usize][1])
                );
            }
        }
        assert_eq!(seen_vertices, [1; 8]);
        assert_eq!(seen_edges, [1; 8]);
        assert!(super::elements(2, &faces, &[], &[]).is_err());
    }
}
