//! Loop's subdivision of triangle meshes (1987): every face becomes four, positions become weighted means.
//!
//! All weights are non-negative, so that the smooth surface stays in the hull of the coarse one. The border follows its
//! own smooth curve; corners of the border stay.

use muslin_geometry::mesh::{MeshError, NONE, Topology};
use muslin_linalg::Vec3;

/// A mesh with every edge split in the middle.
pub struct Refined {
    /// Old vertices, then the middles of the edges, m: the same surface as before.
    pub middle: Vec<Vec3>,
    /// Where Loop's masks put them, m.
    pub smooth: Vec<Vec3>,
    /// Vertex triples: four for each old one, in its order, the last one in its middle.
    pub faces: Vec<[u32; 3]>,
}

/// Splits a mesh of `positions` (m).
pub fn refine(positions: &[Vec3], faces: &[[u32; 3]]) -> Result<Refined, MeshError> {
    let topology = Topology::build(positions.len(), faces)?;
    let first = positions.len() as u32;
    let mut middle = positions.to_vec();
    let mut smooth = old_vertices(positions, &topology);
    for edge in &topology.edges {
        let [a, b] = edge.vertices.map(|v| positions[v as usize]);
        middle.push(a.midpoint(b));
        smooth.push(if edge.is_border() {
            a.midpoint(b)
        } else {
            let [c, d] = edge.opposite.map(|v| positions[v as usize]);
            (a + b) * 0.375 + (c + d) * 0.125
        });
    }
    let mut fine = Vec::with_capacity(4 * faces.len());
    for (face, edges) in faces.iter().zip(&topology.face_edges) {
        let [a, b, c] = *face;
        // Edge k lies opposite corner k.
        let [bc, ca, ab] = edges.map(|e| e + first);
        fine.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
    }
    Ok(Refined {
        middle,
        smooth,
        faces: fine,
    })
}

/// Weight of each of the `n` neighbours of an inner vertex.
fn weight(n: usize) -> f64 {
    let n = n as f64;
    let c = 0.375 + 0.25 * (std::f64::consts::TAU / n).cos();
    (0.625 - c * c) / n
}

/// Whether a border turns by more than 60 degrees at its second point.
fn turns(a: Vec3, b: Vec3, c: Vec3) -> bool {
    let (before, after) = ((b - a).normalize_or_zero(), (c - b).normalize_or_zero());
    before.dot(after) < 0.5
}

fn old_vertices(positions: &[Vec3], topology: &Topology) -> Vec<Vec3> {
    let n = positions.len();
    let (mut sums, mut counts) = (vec![Vec3::ZERO; n], vec![0usize; n]);
    let (mut border, mut borders) = (vec![[Vec3::ZERO; 2]; n], vec![0usize; n]);
    for edge in &topology.edges {
        let [a, b] = edge.vertices.map(|v| v as usize);
        for (v, w) in [(a, b), (b, a)] {
            sums[v] += positions[w];
            counts[v] += 1;
            if edge.faces[1] == NONE {
                border[v][borders[v].min(1)] = positions[w];
                borders[v] += 1;
            }
        }
    }
    (0..n)
        .map(|v| match (borders[v], topology.faces_of(v).len()) {
            (2, 1..) if !turns(border[v][0], positions[v], border[v][1]) => {
                positions[v] * 0.75 + (border[v][0] + border[v][1]) * 0.125
            }
            (0, 1..) => {
                let w = weight(counts[v]);
                positions[v] * (1.0 - counts[v] as f64 * w) + sums[v] * w
            }
            // A corner of the border, or a vertex without faces: it stays.
            _ => positions[v],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muslin_geometry::mesh::{Diagonals, grid, sphere};

    #[test]
    fn a_flat_sheet_stays_flat_and_keeps_its_corners() {
        let mesh = grid([1.0, 1.0], [3, 3], Diagonals::Alternate).unwrap();
        let fine = refine(&mesh.positions, &mesh.faces).unwrap();
        assert_eq!(fine.faces.len(), 4 * mesh.faces.len());
        assert!(fine.smooth.iter().all(|p| p.z == 0.0));
        let corner = |x: &[Vec3]| {
            x.iter()
                .filter(|p| p.x.abs() == 0.5 && p.y.abs() == 0.5)
                .count()
        };
        assert_eq!(corner(&fine.smooth), 4);
    }

    #[test]
    fn a_tetrahedron_has_known_masks() {
        let x = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        let faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]];
        let fine = refine(&x, &faces).unwrap();
        // Valence 3: 7/16 of the vertex and 3/16 of each neighbour.
        assert!(fine.smooth[0].distance(Vec3::splat(3.0 / 16.0)) < 1e-15);
        for (e, p) in fine.smooth[4..].iter().enumerate() {
            assert!(p.element_sum() <= 1.0, "edge {e} left the hull");
        }
    }

    #[test]
    fn a_ball_becomes_smoother() {
        let ball = sphere(1.0, 1).unwrap();
        let (mut x, mut faces) = (ball.positions, ball.faces);
        let largest_turn = |x: &[Vec3], faces: &[[u32; 3]]| {
            let t = Topology::build(x.len(), faces).unwrap();
            let normal = |f: u32| {
                let [a, b, c] = faces[f as usize].map(|v| x[v as usize]);
                (b - a).cross(c - a).normalize()
            };
            let turn = |e: &muslin_geometry::mesh::Edge| {
                normal(e.faces[0]).angle_between(normal(e.faces[1]))
            };
            t.edges.iter().map(turn).fold(0.0, f64::max)
        };
        let before = largest_turn(&x, &faces);
        for _ in 0..2 {
            let fine = refine(&x, &faces).unwrap();
            (x, faces) = (fine.smooth, fine.faces);
        }
        assert!(largest_turn(&x, &faces) < 0.35 * before);
    }
}
