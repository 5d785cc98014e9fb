//! Filling of closed surfaces with tetrahedra, after isosurface stuffing (Labelle and Shewchuk 2007): a body-centred
//! lattice is cut along the surface, and lattice points that are nearly on it are moved there first, so that no
//! tetrahedron is thin.
//!
//! Vertices of the result lie on the surface; ridges finer than the lattice are blunted. Cut sides are split by vertex
//! number instead of the paper's rule of parity.

use super::shapes::split_prism;
use super::{TetError, TetMesh, prepare, volume};
use crate::distance::SurfaceDistance;
use crate::intersect::MeshJudge;
use crate::mesh::{ShapeError, SurfaceMesh, Topology, check_sizes};
use muslin_linalg::Vec3;
use std::collections::BTreeMap;

/// Lattice spacing over the wanted edge: the lattice has edges of one spacing and of 0.87, these more often.
const SPACING: f64 = 1.1;
/// Lattice points nearer to the surface than this fraction of an edge are moved there: long edges and short ones.
const SNAP: [f64; 2] = [0.249_99, 0.411_89];
/// Most lattice points: more are surely a typing mistake.
const MOST_POINTS: f64 = 2e7;

/// Ball round the origin.
pub fn ball(radius: f64, edge: f64) -> Result<TetMesh, ShapeError> {
    check_sizes(&[("radius", radius), ("edge", edge)], 1.0)?;
    let reach = Vec3::splat(radius);
    fill(|p| radius - p.length(), [-reach, reach], edge)
        .map_err(|e| ShapeError::new(e.to_string(), "use a smaller `edge`"))
}

/// Fills a closed surface. It must not be open or cross itself; which side it faces does not matter.
pub fn fill_surface(surface: &SurfaceMesh, edge: f64) -> Result<TetMesh, TetError> {
    let topology =
        Topology::build(surface.positions.len(), &surface.faces).map_err(TetError::Surface)?;
    let mut border = topology.edges.iter().filter(|e| e.is_border());
    if let Some(first) = border.next() {
        return Err(TetError::Open {
            vertices: first.vertices.map(|v| surface.original_index(v as usize)),
            open: 1 + border.count(),
        });
    }
    let unusable = |e: crate::InputError| TetError::Size(e.to_string());
    let mut judge = MeshJudge::new(&surface.positions, &surface.faces).map_err(unusable)?;
    if let Some(&faces) = judge.self_intersections().first() {
        return Err(TetError::Crosses { faces });
    }
    let at = |v: u32| surface.positions[v as usize];
    let faces = surface.faces.iter();
    let enclosed: f64 = faces
        .map(|f| volume([Vec3::ZERO, at(f[0]), at(f[1]), at(f[2])]))
        .sum();
    let distance = SurfaceDistance::new(&surface.positions, &surface.faces).map_err(unusable)?;
    let (mut min, mut max) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for p in &surface.positions {
        min = min.min(*p);
        max = max.max(*p);
    }
    let depth = |p: Vec3| {
        let found = distance.closest(p, f64::INFINITY);
        found.map_or(f64::NEG_INFINITY, |f| {
            -enclosed.signum() * f.signed_distance
        })
    };
    fill(depth, [min, max], edge)
}

/// Fills what lies where `depth` (m; any continuous function that is positive inside and about linear near the surface)
/// is positive, within a box, with tetrahedra of about the edge length `edge` (m).
pub fn fill(
    depth: impl Fn(Vec3) -> f64,
    bounds: [Vec3; 2],
    edge: f64,
) -> Result<TetMesh, TetError> {
    let mut lattice = Lattice::new(&depth, bounds, edge)?;
    lattice.snap(&depth);
    let mesh = lattice.cut(&depth);
    if mesh.tetrahedra.is_empty() {
        return Err(TetError::Size(format!(
            "tetrahedra with edges of {edge} m are too large to fill this shape"
        )));
    }
    prepare(mesh).map(|solid| TetMesh {
        origin: Vec::new(),
        ..solid.mesh
    })
}

/// Two interleaved grids of points: corners of cubes and their centres.
struct Lattice {
    /// Cubes along each axis.
    cubes: [usize; 3],
    positions: Vec<Vec3>,
    /// Depth below the surface at each point, m; exactly 0 for those that were moved there.
    depth: Vec<f64>,
}

/// The points that a point shares edges with, as steps of half a cube; the first six edges are long.
const STEPS: [[i64; 3]; 14] = [
    [2, 0, 0],
    [-2, 0, 0],
    [0, 2, 0],
    [0, -2, 0],
    [0, 0, 2],
    [0, 0, -2],
    [1, 1, 1],
    [1, 1, -1],
    [1, -1, 1],
    [1, -1, -1],
    [-1, 1, 1],
    [-1, 1, -1],
    [-1, -1, 1],
    [-1, -1, -1],
];

impl Lattice {
    fn new(
        depth: &impl Fn(Vec3) -> f64,
        [min, max]: [Vec3; 2],
        edge: f64,
    ) -> Result<Self, TetError> {
        let size = max - min;
        if !(edge > 0.0 && edge.is_finite() && size.is_finite()) {
            return Err(TetError::Size(format!("{edge} m is no edge length")));
        }
        let spacing = SPACING * edge;
        // An even number with room all round: the middle of the box is a lattice point, so that symmetric shapes get
        // symmetric meshes.
        let wanted = size
            .to_array()
            .map(|s| 2.0 * (0.5 * s / spacing).ceil() + 2.0);
        if wanted.iter().map(|w| w + 1.0).product::<f64>() > 0.5 * MOST_POINTS {
            return Err(TetError::Size(format!(
                "the shape would be filled with more than {MOST_POINTS:.0e} points"
            )));
        }
        let cubes = wanted.map(|w| w as usize);
        let middle = (min + max) * 0.5;
        let origin = middle - Vec3::from_array(wanted) * (0.5 * spacing);
        let mut lattice = Self {
            cubes,
            positions: Vec::new(),
            depth: Vec::new(),
        };
        for place in lattice.places() {
            let at = Vec3::from_array(place.map(|c| c as f64));
            lattice.positions.push(origin + at * (0.5 * spacing));
        }
        lattice.depth = lattice.positions.iter().map(|p| depth(*p)).collect();
        Ok(lattice)
    }

    /// All points in the order of their numbers: corners first, then centres; in steps of half a cube.
    fn places(&self) -> Vec<[i64; 3]> {
        let mut places = Vec::new();
        for odd in [0, 1] {
            let end = self.cubes.map(|n| n as i64 + 1 - odd);
            for i in 0..end[0] {
                for j in 0..end[1] {
                    places.extend((0..end[2]).map(|k| [2 * i + odd, 2 * j + odd, 2 * k + odd]));
                }
            }
        }
        places
    }

    /// Number of a point, if there is one.
    fn number(&self, place: [i64; 3]) -> Option<usize> {
        let odd = place[0].rem_euclid(2) as usize;
        let count = self.cubes.map(|n| n + 1 - odd);
        let mut at = [0; 3];
        for a in 0..3 {
            at[a] = usize::try_from((place[a] - odd as i64) / 2).ok()?;
            if place[a] < 0 || at[a] >= count[a] {
                return None;
            }
        }
        let corners: usize = self.cubes.iter().map(|n| n + 1).product();
        Some(odd * corners + (at[0] * count[1] + at[1]) * count[2] + at[2])
    }

    fn crosses(&self, a: usize, b: usize) -> bool {
        self.depth[a] * self.depth[b] < 0.0
    }

    /// Where the surface cuts an edge whose ends are on different sides.
    fn cut_point(&self, depth: &impl Fn(Vec3) -> f64, a: usize, b: usize) -> Vec3 {
        // From the lower number, so that the point does not depend on who asks.
        let (a, b) = (a.min(b), a.max(b));
        let (mut p, mut q) = (self.positions[a], self.positions[b]);
        let (mut at_p, mut at_q) = (self.depth[a], self.depth[b]);
        let mut best = p;
        // False position, with the idle end weakened (Illinois); depth is nearly linear.
        for _ in 0..30 {
            best = p.lerp(q, (at_p / (at_p - at_q)).clamp(0.0, 1.0));
            let here = depth(best);
            if here.abs() <= 1e-12 * (at_p.abs() + at_q.abs()) {
                break;
            }
            if here * at_q < 0.0 {
                (p, at_p) = (q, at_q);
            } else {
                at_p *= 0.5;
            }
            (q, at_q) = (best, here);
        }
        best
    }

    /// Moves points that are nearly on the surface there.
    fn snap(&mut self, depth: &impl Fn(Vec3) -> f64) {
        let places = self.places();
        for (v, place) in places.iter().enumerate() {
            let mut nearest: Option<(f64, Vec3)> = None;
            for (s, step) in STEPS.iter().enumerate() {
                let other = self.number([0, 1, 2].map(|a| place[a] + step[a]));
                let Some(other) = other.filter(|o| self.crosses(v, *o)) else {
                    continue;
                };
                let cut = self.cut_point(depth, v, other);
                let length = self.positions[v].distance(self.positions[other]);
                let part = self.positions[v].distance(cut) / length;
                let limit = SNAP[usize::from(s >= 6)];
                if part < limit && nearest.is_none_or(|n| part / limit < n.0) {
                    nearest = Some((part / limit, cut));
                }
            }
            if let Some((_, cut)) = nearest {
                self.positions[v] = cut;
                self.depth[v] = 0.0;
            }
        }
    }

    /// The part of every lattice tetrahedron that is inside.
    fn cut(&self, depth: &impl Fn(Vec3) -> f64) -> TetMesh {
        let mut mesh = TetMesh {
            positions: self.positions.clone(),
            ..TetMesh::default()
        };
        let mut cuts: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for corners in self.tetrahedra() {
            if corners.iter().all(|v| self.depth[*v] <= 0.0) {
                continue;
            }
            let mut cut = |a: usize, b: usize| {
                *cuts.entry((a.min(b), a.max(b))).or_insert_with(|| {
                    mesh.positions.push(self.cut_point(depth, a, b));
                    mesh.positions.len() as u32 - 1
                })
            };
            mesh.tetrahedra
                .extend(inner_part(&self.depth, corners, &mut cut));
        }
        mesh
    }

    /// Tetrahedra of the lattice: two neighbouring centres and a side of the face between them.
    fn tetrahedra(&self) -> Vec<[usize; 4]> {
        let mut all = Vec::new();
        for place in self.places().into_iter().filter(|p| p[0] % 2 == 1) {
            for axis in 0..3 {
                let step = |by: [i64; 3]| {
                    let mut turned = [0; 3];
                    for a in 0..3 {
                        turned[(axis + a) % 3] = by[a];
                    }
                    self.number([0, 1, 2].map(|a| place[a] + turned[a]))
                };
                let ring = [[1, -1, -1], [1, 1, -1], [1, 1, 1], [1, -1, 1]].map(step);
                for k in 0..4 {
                    let found = (step([0; 3]), step([2, 0, 0]), ring[k], ring[(k + 1) % 4]);
                    if let (Some(a), Some(b), Some(c), Some(d)) = found {
                        all.push([a, b, c, d]);
                    }
                }
            }
        }
        all
    }
}

/// Tetrahedra of the part of one that is inside; `cut` numbers the points where edges meet the surface.
fn inner_part(
    depth: &[f64],
    corners: [usize; 4],
    cut: &mut impl FnMut(usize, usize) -> u32,
) -> Vec<[u32; 4]> {
    let of = |test: fn(f64) -> bool| -> Vec<usize> {
        corners.into_iter().filter(|v| test(depth[*v])).collect()
    };
    let (inside, on, outside) = (of(|d| d > 0.0), of(|d| d == 0.0), of(|d| d < 0.0));
    let id = |v: usize| v as u32;
    match (&inside[..], &outside[..]) {
        (_, []) => vec![corners.map(id)],
        (&[p], _) => {
            let ends = corners.into_iter().filter(|v| *v != p);
            let mut tetrahedron = vec![id(p)];
            for v in ends {
                tetrahedron.push(if depth[v] == 0.0 { id(v) } else { cut(p, v) });
            }
            vec![[
                tetrahedron[0],
                tetrahedron[1],
                tetrahedron[2],
                tetrahedron[3],
            ]]
        }
        (&[p, q], &[n]) => {
            // A pyramid: its base is cut from the lower of the inner corners.
            let (p, q) = (p.min(q), p.max(q));
            let (apex, at_p, at_q) = (id(on[0]), cut(p, n), cut(q, n));
            vec![[id(p), id(q), at_q, apex], [id(p), at_q, at_p, apex]]
        }
        (&[p, q], &[n, m]) => {
            let ends = [p, q].map(|v| [id(v), cut(v, n), cut(v, m)]);
            split_prism(ends).to_vec()
        }
        (&[p, q, r], &[n]) => {
            let far = [p, q, r].map(|v| cut(v, n));
            split_prism([[p, q, r].map(id), far]).to_vec()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh;
    use std::f64::consts::PI;

    #[test]
    fn balls_have_their_volume_and_no_thin_tetrahedra() {
        for edge in [0.5, 0.3, 0.11] {
            let solid = prepare(ball(1.0, edge).unwrap()).unwrap();
            let (volume, worst) = (solid.mesh.volume(), solid.mesh.worst_quality());
            assert!(worst > 0.2, "edge {edge}: {worst}");
            let lost = 1.0 - volume / (PI * 4.0 / 3.0);
            assert!(
                (0.0..0.35 * edge * edge).contains(&lost),
                "edge {edge}: {lost}"
            );
            let first = &solid.mesh.positions[..solid.surface_vertices];
            assert!(first.iter().all(|p| (p.length() - 1.0).abs() < 1e-9));
        }
    }

    #[test]
    fn closed_surfaces_are_filled_whichever_way_they_face() {
        let mut surface = mesh::sphere(1.0, 3).unwrap();
        let solid = prepare(fill_surface(&surface, 0.2).unwrap()).unwrap();
        let volume = solid.mesh.volume();
        assert!((volume / (PI * 4.0 / 3.0) - 1.0).abs() < 0.03, "{volume}");
        assert!(solid.mesh.worst_quality() > 0.2);
        for f in &mut surface.faces {
            f.swap(1, 2);
        }
        let other = fill_surface(&surface, 0.2).unwrap();
        assert!((other.volume() - volume).abs() < 1e-9);
    }

    #[test]
    fn open_and_crossing_surfaces_are_refused() {
        let tube = mesh::tube(0.5, 1.0, [12, 4]).unwrap();
        let open = fill_surface(&tube, 0.1);
        assert!(
            matches!(open, Err(TetError::Open { open: 24, .. })),
            "{open:?}"
        );
        let mut two = mesh::sphere(1.0, 2).unwrap();
        let n = two.positions.len() as u32;
        let moved: Vec<Vec3> = two.positions.iter().map(|p| *p + Vec3::X).collect();
        two.positions.extend(moved);
        let copies: Vec<[u32; 3]> = two.faces.iter().map(|f| f.map(|v| v + n)).collect();
        two.faces.extend(copies);
        assert!(matches!(
            fill_surface(&two, 0.2),
            Err(TetError::Crosses { .. })
        ));
        let small = mesh::sphere(0.01, 2).unwrap();
        assert!(matches!(fill_surface(&small, 1.0), Err(TetError::Size(_))));
        assert!(matches!(fill_surface(&small, 1e-9), Err(TetError::Size(_))));
        assert!(matches!(
            fill_surface(&small, f64::NAN),
            Err(TetError::Size(_))
        ));
    }
}
