//! Procedural solids: a block of cubes, a round bar and a ring.

use super::TetMesh;
use crate::mesh::{ShapeError, check_sizes, disc};
use muslin_linalg::{Vec2, Vec3};
use std::f64::consts::TAU;

/// Block round the origin with edges along the axes: cubes cut into six tetrahedra each, every cube the mirror image of
/// its neighbours, so that the mesh prefers no side. Vertices run along z first, then y.
pub fn block(size: [f64; 3], cells: [usize; 3]) -> Result<TetMesh, ShapeError> {
    check_sizes(&size.map(|s| ("size", s)), 1.0)?;
    let size = Vec3::from_array(size);
    cubes(cells, |p| (p - 0.5) * size)
}

/// Solid between eight corners (m), cut like a [`block`]: the four of the bottom counter-clockwise seen from above, then
/// those above them. Sides whose corners are not in one plane are warped.
pub fn hexahedron(corners: [Vec3; 8], cells: [usize; 3]) -> Result<TetMesh, ShapeError> {
    if !corners.iter().all(|c| c.is_finite()) {
        return Err(ShapeError::new(
            "a corner is not a point",
            "give finite numbers",
        ));
    }
    let [a, b, c, d, e, f, g, h] = corners;
    let mesh = cubes(cells, |p| {
        let low = a.lerp(b, p.x).lerp(d.lerp(c, p.x), p.y);
        let high = e.lerp(f, p.x).lerp(h.lerp(g, p.x), p.y);
        low.lerp(high, p.z)
    })?;
    if mesh.worst_quality() < 1e-6 {
        return Err(ShapeError::new(
            "the corners do not span a solid: some of it is flat or inside out",
            "list the four corners of the bottom counter-clockwise seen from above, then those above them",
        ));
    }
    Ok(mesh)
}

/// A cube from 0 to 1 cut into cells and put in place.
fn cubes(cells: [usize; 3], place: impl Fn(Vec3) -> Vec3) -> Result<TetMesh, ShapeError> {
    let vertices = cells.iter().map(|c| *c as f64 + 1.0).product();
    check_sizes(&cells.map(|c| ("cells", c as f64)), vertices)?;
    let [nx, ny, nz] = cells;
    let id = |[i, j, k]: [usize; 3]| ((i * (ny + 1) + j) * (nz + 1) + k) as u32;
    let mut mesh = TetMesh::default();
    for i in 0..=nx {
        for j in 0..=ny {
            for k in 0..=nz {
                let at = std::array::from_fn(|a| [i, j, k][a] as f64 / cells[a] as f64);
                mesh.positions.push(place(Vec3::from_array(at)));
            }
        }
    }
    // The six ways to walk from one corner of a cube to the opposite one, axis by axis, and whether that turns right.
    let walks = [
        ([0, 1, 2], false),
        ([0, 2, 1], true),
        ([1, 0, 2], true),
        ([1, 2, 0], false),
        ([2, 0, 1], false),
        ([2, 1, 0], true),
    ];
    for i in 0..nx {
        for j in 0..ny {
            for k in 0..nz {
                let cell = [i, j, k];
                // Odd cubes are walked from the other side.
                let corner = |taken: [bool; 3]| {
                    id(std::array::from_fn(|a| {
                        cell[a] + usize::from(taken[a] != (cell[a] % 2 == 1))
                    }))
                };
                let mirrored = (i + j + k) % 2 == 1;
                for (walk, turned) in walks {
                    let mut taken = [false; 3];
                    let mut corners = [corner(taken); 4];
                    for (step, axis) in walk.into_iter().enumerate() {
                        taken[axis] = true;
                        corners[step + 1] = corner(taken);
                    }
                    if turned != mirrored {
                        corners.swap(2, 3);
                    }
                    mesh.tetrahedra.push(corners);
                }
            }
        }
    }
    Ok(mesh)
}

/// Round bar along the x axis, centred on the origin.
pub fn bar(radius: f64, length: f64, edge: f64) -> Result<TetMesh, ShapeError> {
    let layers = (length / edge).round().max(1.0);
    let section = section(("radius", radius), ("length", length), edge, layers + 1.0)?;
    let place = |i: usize, p: Vec2| {
        let x = length * (i as f64 / layers - 0.5);
        Vec3::new(x, p.x, p.y)
    };
    Ok(sweep(&section, layers as usize, false, place))
}

/// Ring round the z axis, centred on the origin: `radius` (m) is that of the circle in the middle of the tube, `tube` (m)
/// that of the tube.
pub fn torus(radius: f64, tube: f64, edge: f64) -> Result<TetMesh, ShapeError> {
    let layers = (TAU * radius / edge).round().max(6.0);
    let section = section(("tube", tube), ("radius", radius), edge, layers)?;
    if tube >= radius {
        return Err(ShapeError::new(
            format!("a ring of radius {radius} m has no hole with a tube of radius {tube} m"),
            "make `tube` smaller than `radius`",
        ));
    }
    let place = |i: usize, p: Vec2| {
        let out = Vec2::from_angle(TAU * i as f64 / layers);
        (out * (radius + p.x)).extend(p.y)
    };
    Ok(sweep(&section, layers as usize, true, place))
}

/// Points and triangles of a round section.
struct Section {
    points: Vec<Vec2>,
    faces: Vec<[u32; 3]>,
}

fn section(
    (name, radius): (&str, f64),
    other: (&str, f64),
    edge: f64,
    layers: f64,
) -> Result<Section, ShapeError> {
    let points = 4.0 * (radius / edge + 1.0).powi(2);
    check_sizes(
        &[(name, radius), other, ("edge", edge)],
        points * layers.max(1.0),
    )?;
    let disc = disc(radius, edge)?;
    Ok(Section {
        points: disc.positions.iter().map(|p| p.truncate()).collect(),
        faces: disc.faces,
    })
}

/// Moves a section along a path of `layers` pieces, closed or not; `place` says where its points are in each position.
fn sweep(
    section: &Section,
    layers: usize,
    closed: bool,
    place: impl Fn(usize, Vec2) -> Vec3,
) -> TetMesh {
    let n = section.points.len() as u32;
    let positions = layers + usize::from(!closed);
    let mut mesh = TetMesh::default();
    for i in 0..positions {
        mesh.positions
            .extend(section.points.iter().map(|p| place(i, *p)));
    }
    for i in 0..layers {
        let [from, to] = [i, (i + 1) % positions].map(|k| k as u32 * n);
        for face in &section.faces {
            let prism = [face.map(|v| v + from), face.map(|v| v + to)];
            mesh.tetrahedra.extend(split_prism(prism));
        }
    }
    mesh
}

/// Cuts a prism between two triangles into three tetrahedra. The diagonals of its sides start at the lowest number on each
/// side, so that neighbours cut their common side alike.
pub(super) fn split_prism([mut a, mut b]: [[u32; 3]; 2]) -> [[u32; 4]; 3] {
    let least = |t: &[u32; 3]| t[0].min(t[1]).min(t[2]);
    if least(&b) < least(&a) {
        std::mem::swap(&mut a, &mut b);
    }
    let first = a.iter().position(|v| *v == least(&a)).unwrap_or(0);
    a.rotate_left(first);
    b.rotate_left(first);
    if a[1].min(b[2]) < a[2].min(b[1]) {
        [
            [a[0], a[1], a[2], b[2]],
            [a[0], a[1], b[2], b[1]],
            [a[0], b[1], b[2], b[0]],
        ]
    } else {
        [
            [a[0], a[1], a[2], b[1]],
            [a[0], a[2], b[2], b[1]],
            [a[0], b[1], b[2], b[0]],
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tet::{Solid, prepare};
    use std::f64::consts::PI;

    /// Checks what every solid must have, and says its volume.
    fn sound(solid: &Solid, worst: f64) -> f64 {
        let quality = solid.mesh.worst_quality();
        assert!(quality > worst, "worst quality {quality}");
        let p = |v: u32| solid.mesh.positions[v as usize];
        let faces = solid.surface.iter();
        let enclosed: f64 = faces
            .map(|f| p(f[0]).dot(p(f[1]).cross(p(f[2]))) / 6.0)
            .sum();
        let volume = solid.mesh.volume();
        assert!(
            (enclosed / volume - 1.0).abs() < 1e-12,
            "surface encloses {enclosed}"
        );
        volume
    }

    #[test]
    fn blocks_bars_and_rings_are_sound_and_have_their_volume() {
        let solid = prepare(block([0.3, 0.2, 0.1], [3, 2, 2]).unwrap()).unwrap();
        assert!((sound(&solid, 0.3) - 0.006).abs() < 1e-15);
        assert!(solid.repairs.is_empty());
        // 3 x 2 x 2 cells show 32 squares, each of two triangles.
        assert_eq!(solid.surface.len(), 2 * 2 * (6 + 6 + 4));
        assert_eq!(solid.surface_vertices, 4 * 3 * 3 - 2);
        let mut corners = [
            [0.0, 0.0, 0.0],
            [2.0, 0.0, 0.0],
            [2.0, 1.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.5, 0.0, 1.0],
            [1.5, 0.0, 1.0],
            [1.5, 1.0, 1.0],
            [0.5, 1.0, 1.0],
        ]
        .map(Vec3::from_array);
        let solid = prepare(hexahedron(corners, [2, 2, 3]).unwrap()).unwrap();
        assert!((sound(&solid, 0.2) - 1.5).abs() < 1e-12);
        corners.swap(0, 1);
        assert!(hexahedron(corners, [2, 2, 3]).is_err());
        let solid = prepare(bar(0.1, 1.0, 0.04).unwrap()).unwrap();
        assert!((sound(&solid, 0.05) / (PI * 0.01) - 1.0).abs() < 0.03);
        let solid = prepare(torus(0.3, 0.1, 0.04).unwrap()).unwrap();
        assert!((sound(&solid, 0.05) / (PI * 0.01 * TAU * 0.3) - 1.0).abs() < 0.03);
    }

    #[test]
    fn absurd_solids_are_refused() {
        assert!(block([1.0, 1.0, 0.0], [1, 1, 1]).is_err());
        assert!(block([1.0; 3], [0, 1, 1]).is_err());
        assert!(block([1.0; 3], [100_000; 3]).is_err());
        assert!(bar(0.1, 1.0, f64::NAN).is_err());
        assert!(bar(0.1, 1.0, 1e-9).is_err());
        assert!(torus(0.1, 0.1, 0.02).is_err());
        assert!(torus(-0.1, 0.01, 0.02).is_err());
    }
}
