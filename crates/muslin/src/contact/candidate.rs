//! One representation for everything that is near or about to cross: four vertices, four signed weights, a normal.

use super::{Features, Party};
use muslin_geometry::ccd::{self, CcdParams};
use muslin_geometry::distance::{edge_edge, point_triangle};
use muslin_linalg::Vec3;

/// Stands in [`Candidate::vertices`] where there is none.
pub const NO_VERTEX: u32 = u32::MAX;

/// What meets what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A vertex and the three corners of a face.
    VertexFace,
    /// The ends of two edges.
    EdgeEdge,
    /// A vertex of cloth and a solid obstacle.
    VertexSolid,
}

/// Two features that are near each other or will cross within the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// What meets what.
    pub kind: Kind,
    /// Whose features they are: `a` has the positive weights.
    pub parties: [Party; 2],
    /// Vertices as the detector numbers them: those of the state first, then those of mesh obstacles.
    pub vertices: [u32; 4],
    /// Signed weights: the gap is their sum times the positions, the relative velocity their sum times the velocities.
    pub weights: [f64; 4],
    /// From side `b` to side `a` at the start of the step, between the points that the weights name, m.
    pub gap: Vec3,
    /// Unit vector from side `b` to side `a`.
    pub normal: Vec3,
    /// Velocity of the solid's surface at the point of contact, m/s; zero for the other kinds, whose vertices have one.
    pub surface_velocity: Vec3,
    /// Whether they are near at the start of the step; else they come from afar.
    pub near: bool,
    /// Whether no neighbouring face comes nearer: the surfaces would touch here.
    pub closest: bool,
    /// Whether the closest points lie inside both features rather than at an end or a border. Others meet there too.
    pub inner: bool,
    /// Part of the thickness that they keep.
    pub share: f64,
    /// Fraction of the step at which the features may first touch; infinite if they are only near.
    pub time: f64,
}

/// Gaps shorter than this have no direction worth the name, m.
const NO_DIRECTION: f64 = 1e-9;

/// A pair of features before it is known whether they matter.
pub(crate) struct Pair {
    pub kind: Kind,
    pub parties: [Party; 2],
    pub vertices: [u32; 4],
}

impl Candidate {
    /// What meets what.
    pub fn features(&self) -> Features {
        Features {
            kind: self.kind,
            vertices: self.vertices,
            party: self.parties[1],
        }
    }
}

impl Pair {
    /// Measures the pair on its way from `x0` to `x1` (all vertices); none if it is neither nearer than `margin` at the
    /// start nor about to touch.
    pub fn examine(
        self,
        x0: &[Vec3],
        x1: Option<&[Vec3]>,
        margin: f64,
        params: &CcdParams,
    ) -> Option<Candidate> {
        let at = |x: &[Vec3]| self.vertices.map(|v| x[v as usize]);
        let start = at(x0);
        if self.stays_apart(&start, x1.map(at).as_ref(), margin, params) {
            return None;
        }
        let time = x1.and_then(|x1| match self.kind {
            Kind::EdgeEdge => ccd::edge_edge(start, at(x1), params),
            _ => ccd::vertex_face(start, at(x1), params),
        });
        // What is to be found only if it touches need not be measured else.
        if time.is_none() && margin <= 0.0 {
            return None;
        }
        let measured = Measured::new(self.kind, &start);
        let near = measured.squared <= margin * margin;
        if !near && time.is_none() {
            return None;
        }
        // What is near is described where it is; what comes from afar, where it will touch. The detector stops while the
        // features are still a separation apart, so there is a direction.
        let described = match (near, time, x1) {
            (false, Some(t), Some(x1)) => {
                let end = at(x1);
                let touching = std::array::from_fn(|k| start[k].lerp(end[k], t));
                (Measured::new(self.kind, &touching), touching)
            }
            _ => (measured, start),
        };
        let (found, place) = described;
        let gap: Vec3 = (0..4).map(|k| start[k] * found.weights[k]).sum();
        Some(Candidate {
            kind: self.kind,
            parties: self.parties,
            vertices: self.vertices,
            weights: found.weights,
            gap,
            normal: found.normal(self.kind, &place, &start),
            surface_velocity: Vec3::ZERO,
            near,
            closest: true,
            inner: found.inner,
            share: 1.0,
            time: time.unwrap_or(f64::INFINITY),
        })
    }
}

impl Pair {
    /// Whether a plane parts both features by more than `margin` (m) at the start and by more than what counts as touching
    /// all the way: along a fixed direction everything moves linearly, so start and end say it all. Tried are the plane
    /// along both, which parts layers that lie on each other, and the one halfway, which parts neighbours in one layer.
    /// Most pairs are dismissed here, before anything is measured.
    fn stays_apart(
        &self,
        start: &[Vec3; 4],
        end: Option<&[Vec3; 4]>,
        margin: f64,
        params: &CcdParams,
    ) -> bool {
        let edges = self.kind == Kind::EdgeEdge;
        // From the first vertex: small numbers, exact differences.
        let from_first = |x: &[Vec3; 4]| [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
        let here = from_first(start);
        let there = end.map(from_first);
        let [q, r, s] = here;
        let (across, between) = if edges {
            (q.cross(s - r), q - (r + s))
        } else {
            ((r - q).cross(s - q), -(q + r + s))
        };
        let along = if r.dot(across) > 0.0 { -across } else { across };
        let touching = params.broad_phase_margin();
        [along, between].into_iter().any(|n| {
            let apart = |x: &[Vec3; 3], by: f64| {
                let [q, r, s] = x.map(|x| x.dot(n));
                let gap = if edges {
                    q.min(0.0) - r.max(s)
                } else {
                    -q.max(r).max(s)
                };
                // What is no number is left to the detector.
                gap > by && (q + r + s).is_finite()
            };
            let length = n.length();
            apart(&here, margin.max(touching) * length)
                && (there.as_ref()).is_none_or(|there| apart(there, touching * length))
        })
    }
}

/// Closest points of a pair at one moment.
struct Measured {
    squared: f64,
    weights: [f64; 4],
    gap: Vec3,
    inner: bool,
}

impl Measured {
    fn new(kind: Kind, x: &[Vec3; 4]) -> Self {
        if kind == Kind::EdgeEdge {
            let found = edge_edge(x[0], x[1], x[2], x[3]);
            return Self {
                squared: found.squared,
                weights: found.weights(),
                gap: found.gap,
                inner: found.parameters.iter().all(|p| *p > 0.0 && *p < 1.0),
            };
        }
        let found = point_triangle(x[0], x[1], x[2], x[3]);
        let [a, b, c] = found.weights;
        Self {
            squared: found.squared,
            weights: [1.0, -a, -b, -c],
            gap: found.gap,
            inner: a > 0.0 && b > 0.0 && c > 0.0,
        }
    }

    /// Along the gap. Where it is too short, across both features, on the side on which `a` was at the start.
    fn normal(&self, kind: Kind, x: &[Vec3; 4], start: &[Vec3; 4]) -> Vec3 {
        if self.squared > NO_DIRECTION * NO_DIRECTION
            && let Some(normal) = self.gap.try_normalize()
        {
            return normal;
        }
        let across = |x: &[Vec3; 4]| match kind {
            Kind::EdgeEdge => (x[1] - x[0]).cross(x[3] - x[2]),
            _ => (x[2] - x[1]).cross(x[3] - x[1]),
        };
        // Parallel edges and faces without area have no such direction; any across the first will do.
        let along = x[1] - x[0];
        let normal = across(x)
            .try_normalize()
            .unwrap_or_else(|| along.normalize_or(Vec3::X).any_orthonormal_vector());
        let side = (start[0] - start[2]).dot(normal);
        if side < 0.0 { -normal } else { normal }
    }
}
