//! Curvature of a triangle as a weighted sum of nearby positions: weights found once, on the rest shape.
//!
//! Why this construction: the curvature of a triangle is, by Gauss's theorem, an integral of slopes over its three
//! sides. A bending element converges on any mesh if (a) both neighbours of an edge use the *same* slope there (then
//! constant moments are in balance) and (b) that slope is exact for quadratic surfaces (then constant curvature is
//! seen as such). The hinge has neither; averaging the two faces' slopes, as rotation-free triangles do, has only (a);
//! fitting a quadratic per triangle only (b). Fitting one per *edge*, through the vertices of its two faces and their
//! neighbours, has both, at the price of a patch of twelve vertices.

use muslin_geometry::mesh::{NONE, Topology};
use muslin_linalg::{Mat2, Vec2};

/// Vertices of a patch: the triangle, its three neighbours' corners, and theirs.
pub const PATCH: usize = 12;

/// Weights (uu, vv, 2 uv) of the curvature of one triangle in its material frame, 1/m².
#[derive(Clone, Debug)]
pub struct Stencil {
    /// The triangle's own corners first; unused places repeat the first with weight zero.
    pub vertices: [u32; PATCH],
    /// One triple a vertex.
    pub weights: [[f64; 3]; PATCH],
}

/// What the weights are computed from.
pub struct RestSurface<'a> {
    /// Connectivity.
    pub topology: &'a Topology,
    /// Rest positions of each face's corners in warp and weft coordinates, m.
    pub material: &'a [[Vec2; 3]],
    /// Vertices whose motion is prescribed in full. A face of three such vertices is a clamp: its slope holds at its
    /// edges, and it does not bend itself.
    pub clamped: &'a [bool],
}

impl RestSurface<'_> {
    fn is_clamp(&self, face: usize) -> bool {
        self.topology.faces[face]
            .iter()
            .all(|v| self.clamped[*v as usize])
    }

    /// Corners of a face in its material frame, mirrored if need be so that they run counter-clockwise.
    fn corners(&self, face: usize) -> [Vec2; 3] {
        let m = self.material[face];
        if (m[1] - m[0]).perp_dot(m[2] - m[0]) < 0.0 {
            m.map(|p| Vec2::new(-p.x, p.y))
        } else {
            m
        }
    }

    fn corner_of(&self, face: usize, vertex: u32) -> usize {
        self.topology.faces[face]
            .iter()
            .position(|v| *v == vertex)
            .unwrap_or(0)
    }

    /// Lays the face across edge `k` of `face` flat beside it; `at` are the corners of `face` as they lie already.
    /// Returns the neighbour and its corners.
    fn unfold(&self, face: usize, at: &[Vec2; 3], k: usize) -> Option<(usize, [Vec2; 3])> {
        let next = self.topology.neighbour(face, k)?;
        let corners = self.topology.faces[face];
        let (a, b) = (corners[(k + 1) % 3], corners[(k + 2) % 3]);
        let (pa, pb) = (at[(k + 1) % 3], at[(k + 2) % 3]);
        let own = self.corners(next);
        let (ia, ib) = (self.corner_of(next, a), self.corner_of(next, b));
        let apex = 3 - ia - ib;
        let edge = own[ib] - own[ia];
        let d = own[apex] - own[ia];
        let (along, across) = (
            d.dot(edge) / edge.length_squared(),
            edge.perp_dot(d).abs() / edge.length_squared(),
        );
        let side = pb - pa;
        let mut placed = [Vec2::ZERO; 3];
        placed[ia] = pa;
        placed[ib] = pb;
        placed[apex] = pa + side * along - side.perp() * across;
        Some((next, placed))
    }
}

/// The weights of every triangle; none for a triangle that is part of a clamp.
pub fn stencils(rest: &RestSurface) -> Vec<Option<Stencil>> {
    let slopes: Vec<Slope> = (0..rest.topology.edges.len())
        .map(|e| edge_slope(rest, e))
        .collect();
    (0..rest.topology.faces.len())
        .map(|f| (!rest.is_clamp(f)).then(|| face_stencil(rest, f, &slopes)))
        .collect()
}

/// Slope across an edge, seen from its left face outward, as weights of vertices.
type Slope = Vec<(u32, f64)>;

fn edge_slope(rest: &RestSurface, edge: usize) -> Slope {
    let e = &rest.topology.edges[edge];
    for side in 0..2 {
        let (own, other) = (e.faces[side], e.faces[1 - side]);
        if own != NONE
            && other != NONE
            && rest.is_clamp(other as usize)
            && !rest.is_clamp(own as usize)
        {
            let sign = if side == 0 { 1.0 } else { -1.0 };
            return clamp_slope(rest, other as usize, edge)
                .into_iter()
                .map(|(v, w)| (v, -sign * w))
                .collect();
        }
    }
    let left = e.faces[0] as usize;
    let at = rest.corners(left);
    let across = rest.corner_of(left, e.opposite[0]);
    let (a, b) = (at[(across + 1) % 3], at[(across + 2) % 3]);
    let (middle, length) = ((a + b) / 2.0, a.distance(b));
    let mut points: Vec<(u32, Vec2)> = Vec::with_capacity(8);
    let mut add = |face: usize, at: &[Vec2; 3]| {
        for (v, p) in rest.topology.faces[face].iter().zip(at) {
            if points.iter().all(|(w, _)| w != v) {
                points.push((*v, (*p - middle) / length));
            }
        }
    };
    add(left, &at);
    // On the border there is no right face; the left one's other neighbours make up for it.
    let mut centres = vec![(left, at)];
    for k in (0..3).filter(|k| e.is_border() || *k == across) {
        centres.extend(rest.unfold(left, &at, k));
    }
    for (face, at) in &centres {
        add(*face, at);
        for k in 0..3 {
            if let Some((next, placed)) = rest.unfold(*face, at, k) {
                add(next, &placed);
            }
        }
    }
    let outward = -(b - a).perp() / (length * length);
    quadratic_gradient(&points)
        .into_iter()
        .map(|(v, g)| (v, g.dot(outward)))
        .collect()
}

/// Outward slope across an edge of a face that is a plane.
fn clamp_slope(rest: &RestSurface, face: usize, edge: usize) -> Slope {
    let at = rest.corners(face);
    let Some(k) = rest.topology.face_edges[face]
        .iter()
        .position(|e| *e as usize == edge)
    else {
        return Vec::new();
    };
    let side = at[(k + 2) % 3] - at[(k + 1) % 3];
    let outward = -side.perp() / side.length();
    let double_area = (at[1] - at[0]).perp_dot(at[2] - at[0]);
    (0..3)
        .map(|i| {
            let opposite = at[(i + 2) % 3] - at[(i + 1) % 3];
            (
                rest.topology.faces[face][i],
                opposite.perp().dot(outward) / double_area,
            )
        })
        .collect()
}

/// Weights of the gradient at the origin of the quadratic that fits values at the points best. Near points count
/// more; where there are too few points, the flattest of the fitting quadratics is taken.
fn quadratic_gradient(points: &[(u32, Vec2)]) -> Vec<(u32, Vec2)> {
    const FLATNESS: f64 = 1e-6;
    let basis = |p: &Vec2| [1.0, p.x, p.y, 0.5 * p.x * p.x, 0.5 * p.y * p.y, p.x * p.y];
    let importance = |p: &Vec2| (0.25 + p.length_squared()).powi(-2);
    let mut normal = [[0.0; 6]; 6];
    for (i, row) in normal.iter_mut().enumerate().skip(3) {
        row[i] = FLATNESS;
    }
    for (_, p) in points {
        let (phi, w) = (basis(p), importance(p));
        for i in 0..6 {
            for j in 0..6 {
                normal[i][j] += w * phi[i] * phi[j];
            }
        }
    }
    let gx = solve6(normal, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    let gy = solve6(normal, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    let weight = |g: &[f64; 6], p: &Vec2| -> f64 {
        importance(p) * basis(p).iter().zip(g).map(|(b, g)| b * g).sum::<f64>()
    };
    let mut gradient: Vec<(u32, Vec2)> = points
        .iter()
        .map(|(v, p)| (*v, Vec2::new(weight(&gx, p), weight(&gy, p))))
        .collect();
    exact_for_planes(points, &mut gradient);
    gradient
}

/// Takes rounding errors out of the gradient of linear functions by a correction at the first three points: what is
/// left of them would be a net force on a body that moves freely.
fn exact_for_planes(points: &[(u32, Vec2)], gradient: &mut [(u32, Vec2)]) {
    let sum: Vec2 = gradient.iter().map(|g| g.1).sum();
    let mut excess = -Mat2::IDENTITY;
    for ((_, p), (_, g)) in points.iter().zip(gradient.iter()) {
        excess += Mat2::from_cols(*g * p.x, *g * p.y);
    }
    let corner = [points[0].1, points[1].1, points[2].1];
    let double_area = (corner[1] - corner[0]).perp_dot(corner[2] - corner[0]);
    for k in 0..3 {
        let (a, b) = (corner[(k + 1) % 3], corner[(k + 2) % 3]);
        let slope = (b - a).perp() / double_area;
        let value_at_origin = a.perp_dot(b) / double_area;
        gradient[k].1 -= sum * value_at_origin + excess * slope;
    }
}

/// Gaussian elimination for a symmetric positive definite 6x6 system.
fn solve6(mut a: [[f64; 6]; 6], mut b: [f64; 6]) -> [f64; 6] {
    for k in 0..6 {
        for i in k + 1..6 {
            let factor = a[i][k] / a[k][k];
            let pivot_row = a[k];
            for (x, p) in a[i].iter_mut().zip(pivot_row).skip(k) {
                *x -= factor * p;
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..6).rev() {
        let known: f64 = (k + 1..6).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - known) / a[k][k];
    }
    b
}

fn face_stencil(rest: &RestSurface, face: usize, slopes: &[Slope]) -> Stencil {
    let corners = rest.topology.faces[face];
    let at = rest.corners(face);
    let area = (at[1] - at[0]).perp_dot(at[2] - at[0]) / 2.0;
    let mut stencil = Stencil {
        vertices: [corners[0]; PATCH],
        weights: [[0.0; 3]; PATCH],
    };
    stencil.vertices[..3].copy_from_slice(&corners);
    let mut used = 3;
    // Adds `weight * sym(outward ⊗ direction)`, the boundary integral's term for one value.
    let mut add = |v: u32, outward: Vec2, direction: Vec2, weight: f64| {
        let i = stencil.vertices[..used]
            .iter()
            .position(|w| *w == v)
            .unwrap_or_else(|| {
                stencil.vertices[used] = v;
                used += 1;
                used - 1
            });
        let w = &mut stencil.weights[i];
        w[0] += weight * outward.x * direction.x;
        w[1] += weight * outward.y * direction.y;
        w[2] += weight * (outward.x * direction.y + outward.y * direction.x);
    };
    for k in 0..3 {
        let (ia, ib) = ((k + 1) % 3, (k + 2) % 3);
        let side = at[ib] - at[ia];
        let length = side.length();
        let along = side / length;
        let outward = -along.perp();
        let edge = rest.topology.face_edges[face][k] as usize;
        let sign = if rest.topology.edges[edge].faces[0] as usize == face {
            1.0
        } else {
            -1.0
        };
        for (v, w) in &slopes[edge] {
            add(*v, outward, outward, sign * w * length / area);
        }
        add(corners[ib], outward, along, 1.0 / area);
        add(corners[ia], outward, along, -1.0 / area);
    }
    stencil
}

#[cfg(test)]
mod tests {
    use super::*;
    use muslin_geometry::mesh::{disc, unstructured_grid};

    #[test]
    fn quadratic_surfaces_have_their_curvature_in_every_inner_triangle() {
        let mesh = unstructured_grid([1.0, 1.0], 0.1).unwrap();
        let topology = Topology::build(mesh.positions.len(), &mesh.faces).unwrap();
        let material = mesh.material.as_ref().unwrap();
        let clamped = vec![false; mesh.positions.len()];
        let rest = RestSurface {
            topology: &topology,
            material,
            clamped: &clamped,
        };
        let height = |v: u32| {
            let p = mesh.positions[v as usize];
            1.0 + 2.0 * p.x - p.y + 1.5 * p.x * p.x - 0.5 * p.y * p.y + 0.7 * p.x * p.y
        };
        let mut inner = 0;
        for (f, stencil) in stencils(&rest).iter().enumerate() {
            let middle: muslin_linalg::Vec3 = topology.faces[f]
                .iter()
                .map(|v| mesh.positions[*v as usize])
                .sum::<muslin_linalg::Vec3>()
                / 3.0;
            if middle.abs().max_element() > 0.3 {
                continue;
            }
            inner += 1;
            let s = stencil.as_ref().unwrap();
            for (i, expected) in [3.0, -1.0, 1.4].into_iter().enumerate() {
                let k: f64 = (0..PATCH)
                    .map(|a| s.weights[a][i] * height(s.vertices[a]))
                    .sum();
                assert!(
                    (k - expected).abs() < 1e-3,
                    "face {f}: {k} instead of {expected}"
                );
            }
        }
        assert!(inner > 50);
    }

    #[test]
    fn planes_have_no_curvature_anywhere() {
        let mesh = disc(0.5, 0.1).unwrap();
        let topology = Topology::build(mesh.positions.len(), &mesh.faces).unwrap();
        let clamped: Vec<bool> = mesh.positions.iter().map(|p| p.x < -0.2).collect();
        let rest = RestSurface {
            topology: &topology,
            material: mesh.material.as_ref().unwrap(),
            clamped: &clamped,
        };
        for stencil in stencils(&rest).iter().flatten() {
            for i in 0..3 {
                let plane = |v: u32| {
                    0.3 + mesh.positions[v as usize].x - 2.0 * mesh.positions[v as usize].y
                };
                let k: f64 = (0..PATCH)
                    .map(|a| stencil.weights[a][i] * plane(stencil.vertices[a]))
                    .sum();
                assert!(k.abs() < 1e-10, "{k}");
            }
        }
    }
}
