//! Procedural shapes, each with material coordinates in metres.

use super::{SurfaceMesh, area_vector};
use muslin_linalg::{Vec2, Vec3};
use spade::{DelaunayTriangulation, Point2, Triangulation};
use std::f64::consts::{PI, TAU};

/// How a grid's squares are cut into triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagonals {
    /// All from lower left to upper right.
    Forward,
    /// All from upper left to lower right.
    Backward,
    /// Directions take turns like the colours of a chessboard.
    Alternate,
    /// Both, with a vertex in the middle of each square.
    Crossed,
}

/// A shape that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct ShapeError {
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

impl ShapeError {
    pub(crate) fn new(problem: impl Into<String>, remedy: &str) -> Self {
        Self {
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

/// Meshes beyond this many vertices are surely a typing mistake.
const MOST_VERTICES: f64 = 2e7;

pub(crate) fn check_sizes(sizes: &[(&str, f64)], vertices: f64) -> Result<(), ShapeError> {
    for (name, value) in sizes {
        if !(*value > 0.0 && value.is_finite()) {
            return Err(ShapeError::new(
                format!("{name} must be a positive number, not {value}"),
                "give sizes in metres and whole counts, larger than 0",
            ));
        }
    }
    if vertices > MOST_VERTICES {
        return Err(ShapeError::new(
            format!("the shape would have {vertices:.1e} vertices"),
            "use larger triangles",
        ));
    }
    Ok(())
}

/// Lifts a planar mesh into z = 0 with its own coordinates as material coordinates.
fn flat(points: &[Vec2], faces: Vec<[u32; 3]>) -> SurfaceMesh {
    SurfaceMesh {
        positions: points.iter().map(|p| p.extend(0.0)).collect(),
        material: Some(
            faces
                .iter()
                .map(|f| f.map(|v| points[v as usize]))
                .collect(),
        ),
        faces,
        origin: Vec::new(),
    }
}

/// Rectangle in the xy plane, centred on the origin. Vertices run along y first, so that a strip that is long in
/// x has a narrow band matrix.
pub fn grid(
    size: [f64; 2],
    cells: [usize; 2],
    diagonals: Diagonals,
) -> Result<SurfaceMesh, ShapeError> {
    let [nx, ny] = cells;
    check_sizes(
        &[
            ("size", size[0]),
            ("size", size[1]),
            ("cells", nx as f64),
            ("cells", ny as f64),
        ],
        2.0 * (nx as f64 + 1.0) * (ny as f64 + 1.0),
    )?;
    let at = |x: f64, y: f64| {
        Vec2::new(
            size[0] * (x / nx as f64 - 0.5),
            size[1] * (y / ny as f64 - 0.5),
        )
    };
    let mut points = Vec::new();
    let stride = if diagonals == Diagonals::Crossed {
        2 * ny + 1
    } else {
        ny + 1
    };
    for i in 0..=nx {
        points.extend((0..=ny).map(|j| at(i as f64, j as f64)));
        if diagonals == Diagonals::Crossed && i < nx {
            points.extend((0..ny).map(|j| at(i as f64 + 0.5, j as f64 + 0.5)));
        }
    }
    let id = |i: usize, j: usize| (i * stride + j) as u32;
    let mut faces = Vec::new();
    for i in 0..nx {
        for j in 0..ny {
            let (a, b, c, d) = (id(i, j), id(i + 1, j), id(i + 1, j + 1), id(i, j + 1));
            match diagonals {
                Diagonals::Crossed => {
                    let m = (i * stride + ny + 1 + j) as u32;
                    faces.extend([[a, b, m], [b, c, m], [c, d, m], [d, a, m]]);
                }
                Diagonals::Forward => faces.extend([[a, b, c], [a, c, d]]),
                Diagonals::Alternate if (i + j) % 2 == 0 => faces.extend([[a, b, c], [a, c, d]]),
                Diagonals::Backward | Diagonals::Alternate => faces.extend([[a, b, d], [b, c, d]]),
            }
        }
    }
    Ok(flat(&points, faces))
}

/// Rectangle in the xy plane meshed without a preferred direction: border points at even distances, inner points
/// on a shaken triangular lattice, joined by Delaunay's rule. The same sizes always give the same mesh.
pub fn unstructured_grid(size: [f64; 2], edge: f64) -> Result<SurfaceMesh, ShapeError> {
    check_sizes(
        &[("size", size[0]), ("size", size[1]), ("edge", edge)],
        1.2 * (size[0] / edge + 1.0) * (size[1] / edge + 1.0),
    )?;
    let half = Vec2::new(size[0], size[1]) * 0.5;
    let mut points = Vec::new();
    let count = [0, 1].map(|k| (size[k] / edge).round().max(1.0) as usize);
    for i in 0..=count[0] {
        let x = size[0] * (i as f64 / count[0] as f64) - half.x;
        points.extend([Vec2::new(x, -half.y), Vec2::new(x, half.y)]);
    }
    for j in 1..count[1] {
        let y = size[1] * (j as f64 / count[1] as f64) - half.y;
        points.extend([Vec2::new(-half.x, y), Vec2::new(half.x, y)]);
    }
    scatter(half, edge, &mut points, |p| (half - p.abs()).min_element());
    triangulate(points)
}

/// Disc in the xy plane, centred on the origin, meshed without a preferred direction.
pub fn disc(radius: f64, edge: f64) -> Result<SurfaceMesh, ShapeError> {
    check_sizes(
        &[("radius", radius), ("edge", edge)],
        4.0 * (radius / edge + 1.0).powi(2),
    )?;
    let n = (TAU * radius / edge).round().max(6.0) as usize;
    let mut points: Vec<Vec2> = (0..n)
        .map(|i| Vec2::from_angle(TAU * i as f64 / n as f64) * radius)
        .collect();
    scatter(Vec2::splat(radius), edge, &mut points, |p| {
        radius - p.length()
    });
    triangulate(points)
}

/// Adds inner points; `depth` is the distance to the border.
fn scatter(half: Vec2, edge: f64, points: &mut Vec<Vec2>, depth: impl Fn(Vec2) -> f64) {
    let row_height = edge * 0.75f64.sqrt();
    let rows = (2.0 * half.y / row_height) as usize + 2;
    let columns = (2.0 * half.x / edge) as usize + 2;
    // A fixed hash instead of a random generator: the same scene must give the same mesh for ever.
    let shake = |i: usize, j: usize, salt: u64| {
        let mut h = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ (j as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
            ^ salt.wrapping_mul(0x1656_67B1_9E37_79F9);
        h = (h ^ (h >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((h >> 40) as f64 / (1u64 << 24) as f64 - 0.5) * 0.5 * edge
    };
    for j in 0..rows {
        for i in 0..columns {
            let x = -half.x + (i as f64 + 0.5 * (j % 2) as f64) * edge + shake(i, j, 1);
            let p = Vec2::new(x, -half.y + j as f64 * row_height + shake(i, j, 2));
            if depth(p) > 0.55 * edge {
                points.push(p);
            }
        }
    }
}

fn triangulate(mut points: Vec<Vec2>) -> Result<SurfaceMesh, ShapeError> {
    // Neighbours in space become neighbours in number: short bands, good cache use.
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let sites = points.iter().map(|p| Point2::new(p.x, p.y)).collect();
    let triangulation: DelaunayTriangulation<Point2<f64>> =
        DelaunayTriangulation::bulk_load_stable(sites)
            .map_err(|e| ShapeError::new(e.to_string(), "change the edge length a little"))?;
    let mut faces: Vec<[u32; 3]> = triangulation
        .inner_faces()
        .map(|f| f.vertices().map(|v| v.fix().index() as u32))
        .filter(|f| {
            // Border points that should be in a line may bulge by rounding and leave hair-thin triangles.
            let [a, b, c] = f.map(|v| points[v as usize]);
            (b - a).perp_dot(c - a) > 1e-9 * (b - a).length_squared().max((c - a).length_squared())
        })
        .collect();
    faces.sort_unstable();
    if faces.is_empty() {
        return Err(ShapeError::new(
            "the edge length is too large for this shape",
            "use a smaller `edge`",
        ));
    }
    Ok(flat(&points, faces))
}

/// Open tube round the z axis, centred on the origin; material coordinates unroll it (u round, v along).
pub fn tube(radius: f64, length: f64, cells: [usize; 2]) -> Result<SurfaceMesh, ShapeError> {
    let [around, along] = cells;
    check_sizes(
        &[
            ("radius", radius),
            ("length", length),
            ("cells", along as f64),
        ],
        around as f64 * (along as f64 + 1.0),
    )?;
    if around < 3 {
        return Err(ShapeError::new(
            "the tube has too few cells round its axis",
            "give at least 3",
        ));
    }
    let angle = |i: usize| TAU * i as f64 / around as f64;
    let mut positions = Vec::new();
    for j in 0..=along {
        let z = length * (j as f64 / along as f64 - 0.5);
        positions.extend((0..around).map(|i| (Vec2::from_angle(angle(i)) * radius).extend(z)));
    }
    // Unrolled at chord length, so that the flat sheet and the polygonal tube have the same edges.
    let du = 2.0 * radius * (PI / around as f64).sin();
    let dv = length / along as f64;
    let mut faces = Vec::new();
    let mut material = Vec::new();
    for j in 0..along {
        for i in 0..around {
            let id = |di: usize, dj: usize| ((j + dj) * around + (i + di) % around) as u32;
            let uv = |di: usize, dj: usize| Vec2::new((i + di) as f64 * du, (j + dj) as f64 * dv);
            for corners in [[(0, 0), (1, 0), (1, 1)], [(0, 0), (1, 1), (0, 1)]] {
                faces.push(corners.map(|(a, b)| id(a, b)));
                material.push(corners.map(|(a, b)| uv(a, b)));
            }
        }
    }
    Ok(SurfaceMesh {
        positions,
        faces,
        material: Some(material),
        origin: Vec::new(),
    })
}

/// Sphere round the origin: an icosahedron, each triangle split in four `subdivisions` times. A sphere cannot be
/// unrolled, so it has no material coordinates.
pub fn sphere(radius: f64, subdivisions: usize) -> Result<SurfaceMesh, ShapeError> {
    check_sizes(
        &[("radius", radius)],
        10.0 * 4f64.powi(subdivisions.min(50) as i32),
    )?;
    let g = f64::midpoint(1.0, 5f64.sqrt());
    let mut positions: Vec<Vec3> = Vec::new();
    for (a, b) in [(-1.0, g), (1.0, g), (-1.0, -g), (1.0, -g)] {
        positions.push(Vec3::new(a, b, 0.0));
    }
    for (a, b) in [(-1.0, g), (1.0, g), (-1.0, -g), (1.0, -g)] {
        positions.push(Vec3::new(0.0, a, b));
    }
    for (a, b) in [(g, -1.0), (g, 1.0), (-g, -1.0), (-g, 1.0)] {
        positions.push(Vec3::new(a, 0.0, b));
    }
    // The 20 faces are the triples of mutual neighbours (distance 2).
    let near = |a: usize, b: usize| (positions[a].distance(positions[b]) - 2.0).abs() < 0.1;
    let mut faces = Vec::new();
    for a in 0..12 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                if near(a, b) && near(b, c) && near(a, c) {
                    let outward = area_vector(positions[a], positions[b], positions[c])
                        .dot(positions[a])
                        > 0.0;
                    faces.push(if outward { [a, b, c] } else { [a, c, b] }.map(|v| v as u32));
                }
            }
        }
    }
    for p in &mut positions {
        *p = p.normalize();
    }
    for _ in 0..subdivisions {
        faces = split_in_four(&mut positions, &faces);
    }
    for p in &mut positions {
        *p *= radius;
    }
    Ok(SurfaceMesh {
        positions,
        faces,
        material: None,
        origin: Vec::new(),
    })
}

fn split_in_four(positions: &mut Vec<Vec3>, faces: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut middles = std::collections::BTreeMap::new();
    let mut middle = |a: u32, b: u32| {
        *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
            positions.push((positions[a as usize] + positions[b as usize]).normalize());
            positions.len() as u32 - 1
        })
    };
    let mut finer = Vec::with_capacity(4 * faces.len());
    for &[a, b, c] in faces {
        let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
        finer.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
    }
    finer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::clean;

    fn area(mesh: &SurfaceMesh) -> f64 {
        let p = |v: u32| mesh.positions[v as usize];
        mesh.faces
            .iter()
            .map(|f| area_vector(p(f[0]), p(f[1]), p(f[2])).length() / 2.0)
            .sum()
    }

    #[test]
    fn shapes_are_clean_and_have_the_right_area() {
        use Diagonals::{Alternate, Backward, Crossed, Forward};
        for d in [Forward, Backward, Alternate, Crossed] {
            let mesh = grid([2.0, 1.0], [8, 5], d).unwrap();
            assert!((area(&mesh) - 2.0).abs() < 1e-12);
            assert!(clean(mesh).unwrap().1.is_empty());
        }
        let mesh = unstructured_grid([2.0, 1.0], 0.1).unwrap();
        assert!((area(&mesh) - 2.0).abs() < 1e-9, "{}", area(&mesh));
        assert!(clean(mesh).unwrap().1.is_empty());
        let mesh = disc(0.5, 0.05).unwrap();
        assert!((area(&mesh) / (0.25 * PI) - 1.0).abs() < 0.01);
        assert!(clean(mesh).unwrap().1.is_empty());
        let mesh = tube(0.1, 1.0, [32, 10]).unwrap();
        assert!((area(&mesh) / (TAU * 0.1) - 1.0).abs() < 0.01);
        assert!(clean(mesh).unwrap().1.is_empty());
        let mesh = sphere(2.0, 3).unwrap();
        assert!((area(&mesh) / (16.0 * PI) - 1.0).abs() < 0.02);
        assert!(clean(mesh).unwrap().1.is_empty());
    }

    #[test]
    fn absurd_shapes_are_refused() {
        assert!(grid([1.0, f64::NAN], [2, 2], Diagonals::Forward).is_err());
        assert!(grid([1.0, 1.0], [0, 2], Diagonals::Forward).is_err());
        assert!(grid([1.0, 1.0], [1 << 20, 1 << 20], Diagonals::Forward).is_err());
        assert!(sphere(1.0, 60).is_err());
        assert!(tube(1.0, 1.0, [2, 2]).is_err());
        assert!(disc(-1.0, 0.1).is_err());
    }
}
