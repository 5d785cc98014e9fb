//! Plate bending by the curvature of each triangle: energy `A/2 (κ - κ0)ᵀ D (κ - κ0)`, with the curvature taken from a
//! patch of up to twelve vertices (see `patch`). The deflection does not depend on the mesh.

use super::super::{Element, StepContext, Tangent};
use super::patch::{PATCH, Stencil};
use muslin_linalg::{Vec3, outer};
use std::sync::Arc;

/// Rigidity of an orthotropic plate, N·m.
#[derive(Clone, Debug, PartialEq)]
pub struct BendingModuli {
    /// Moment per curvature along warp.
    pub warp: f64,
    /// Moment per curvature along weft.
    pub weft: f64,
    /// Moment along one direction per curvature along the other.
    pub coupling: f64,
    /// Twisting moment per twist (2 κuv).
    pub twist: f64,
    /// Damping time, s.
    pub damping: f64,
}

impl BendingModuli {
    /// A plate that is alike in all directions.
    pub fn isotropic(rigidity: f64, poisson: f64, damping: f64) -> Self {
        Self {
            warp: rigidity,
            weft: rigidity,
            coupling: rigidity * poisson,
            twist: rigidity * (1.0 - poisson) / 2.0,
            damping,
        }
    }

    fn moment(&self, k: &[f64; 3]) -> [f64; 3] {
        [
            self.warp * k[0] + self.coupling * k[1],
            self.coupling * k[0] + self.weft * k[1],
            self.twist * k[2],
        ]
    }
}

/// A triangle that resists bending, with the neighbours its curvature is measured from.
pub struct CurvaturePatch {
    stencil: Stencil,
    area: f64,
    moduli: Arc<BendingModuli>,
    rest: [f64; 3],
    at_start: [f64; 3],
    viscosity: f64,
}

/// Curvature and what its gradient is made of: that of a vertex points along the triangle's normal, and is the
/// stencil's weight for it, at the triangle's own corners less what the turning of the normal adds.
struct Measured {
    curvature: [f64; 3],
    normal: Vec3,
    /// Sums of positions by the stencil's weights.
    second: [Vec3; 3],
    /// Gradients of the corners' hat functions: the normal turns by `δn = -Σ hat_a (n·δx_a)`.
    hats: [Vec3; 3],
}

impl Measured {
    /// What turning the normal takes from the weights of a corner.
    fn turning(&self, corner: usize) -> [f64; 3] {
        self.second.map(|s| self.hats[corner].dot(s))
    }
}

impl CurvaturePatch {
    /// `area` of the triangle at rest, m². `rest_positions` give the curvature in which the plate is at ease.
    pub fn new(
        stencil: Stencil,
        area: f64,
        moduli: Arc<BendingModuli>,
        rest_positions: Option<&[Vec3; PATCH]>,
    ) -> Self {
        let mut patch = Self {
            stencil,
            area,
            moduli,
            rest: [0.0; 3],
            at_start: [0.0; 3],
            viscosity: 0.0,
        };
        if let Some(x) = rest_positions {
            patch.rest = patch.measure(x).curvature;
        }
        patch
    }

    /// Weights of the curvature, moments per curvature (uu, vv, 2 uv; N·m³) over steps of `dt` (s), dashpot
    /// included.
    pub fn form(&self, dt: f64) -> (&Stencil, [[f64; 3]; 3]) {
        let m = &*self.moduli;
        let scale = self.area * (1.0 + m.damping / dt);
        let moduli = [
            [m.warp, m.coupling, 0.0],
            [m.coupling, m.weft, 0.0],
            [0.0, 0.0, m.twist],
        ];
        (&self.stencil, moduli.map(|r| r.map(|k| k * scale)))
    }

    fn measure(&self, x: &[Vec3; PATCH]) -> Measured {
        let area_vector = (x[1] - x[0]).cross(x[2] - x[0]);
        let double_area = area_vector.length().max(f64::MIN_POSITIVE);
        let normal = area_vector / double_area;
        let second = self.weighted(x);
        let over = normal / double_area;
        Measured {
            curvature: second.map(|s| normal.dot(s)),
            normal,
            second,
            hats: std::array::from_fn(|a| over.cross(x[(a + 2) % 3] - x[(a + 1) % 3])),
        }
    }

    /// Second derivatives of the positions (1/m) and derivative of the energy (N), which takes them.
    pub fn bent(&self, x: &[Vec3; PATCH]) -> ([Vec3; 3], [Vec3; PATCH]) {
        let m = self.measure(x);
        (m.second, self.spread(&m, self.moment(&m.curvature)))
    }

    /// Sums by the stencil's weights.
    fn weighted(&self, x: &[Vec3; PATCH]) -> [Vec3; 3] {
        let mut sums = [Vec3::ZERO; 3];
        for (x, w) in x.iter().zip(&self.stencil.weights) {
            for i in 0..3 {
                sums[i] += *x * w[i];
            }
        }
        sums
    }

    /// Derivative of the energy by the curvature, N.
    fn moment(&self, k: &[f64; 3]) -> [f64; 3] {
        let effective = std::array::from_fn(|i| {
            k[i] - self.rest[i] + self.viscosity * (k[i] - self.at_start[i])
        });
        self.moduli.moment(&effective).map(|m| m * self.area)
    }

    /// Forces of a moment (N) on the vertices.
    fn spread(&self, m: &Measured, moment: [f64; 3]) -> [Vec3; PATCH] {
        let dot = |w: &[f64; 3]| w[0] * moment[0] + w[1] * moment[1] + w[2] * moment[2];
        let mut out: [Vec3; PATCH] =
            std::array::from_fn(|a| m.normal * dot(&self.stencil.weights[a]));
        for (a, force) in out.iter_mut().enumerate().take(3) {
            *force -= m.normal * dot(&m.turning(a));
        }
        out
    }
}

impl Element<PATCH> for CurvaturePatch {
    fn vertices(&self) -> [u32; PATCH] {
        self.stencil.vertices
    }

    fn begin_step(&mut self, x: &[Vec3; PATCH], _v: &[Vec3; PATCH], step: &StepContext) {
        self.at_start = self.measure(x).curvature;
        self.viscosity = self.moduli.damping / step.dt;
    }

    fn energy(&self, x: &[Vec3; PATCH]) -> f64 {
        let k = self.measure(x).curvature;
        let form = |k: [f64; 3]| {
            let m = self.moduli.moment(&k);
            0.5 * self.area * (m[0] * k[0] + m[1] * k[1] + m[2] * k[2])
        };
        form(std::array::from_fn(|i| k[i] - self.rest[i]))
            + self.viscosity * form(std::array::from_fn(|i| k[i] - self.at_start[i]))
    }

    fn gradient(&self, x: &[Vec3; PATCH]) -> [Vec3; PATCH] {
        self.bent(x).1
    }

    /// Gauss-Newton, hence semi-definite: every block is a multiple of n nᵀ.
    fn linearise(&self, x: &[Vec3; PATCH], out: &mut Tangent<PATCH>) {
        let m = self.measure(x);
        out.gradient = self.spread(&m, self.moment(&m.curvature));
        let mut weights = self.stencil.weights;
        for (a, w) in weights.iter_mut().enumerate().take(3) {
            let turning = m.turning(a);
            *w = std::array::from_fn(|i| w[i] - turning[i]);
        }
        let nn = outer(m.normal, m.normal) * (self.area * (1.0 + self.viscosity));
        let stiff: [[f64; 3]; PATCH] = std::array::from_fn(|a| self.moduli.moment(&weights[a]));
        for a in 0..PATCH {
            for b in a..PATCH {
                let (s, w) = (stiff[a], weights[b]);
                out.hessian[a][b] = nn * (s[0] * w[0] + s[1] * w[1] + s[2] * w[2]);
            }
        }
    }

    fn product(&self, x: &[Vec3; PATCH], d: &[Vec3; PATCH]) -> [Vec3; PATCH] {
        let m = self.measure(x);
        let mut change = self.weighted(d).map(|s| m.normal.dot(s));
        for (a, d) in d.iter().enumerate().take(3) {
            let (turning, rise) = (m.turning(a), m.normal.dot(*d));
            for i in 0..3 {
                change[i] -= turning[i] * rise;
            }
        }
        let scale = self.area * (1.0 + self.viscosity);
        self.spread(&m, self.moduli.moment(&change).map(|m| m * scale))
    }
}

#[cfg(test)]
mod tests {
    use super::super::patch::{RestSurface, stencils};
    use super::*;
    use crate::force::testing::{assert_gradient, assert_semidefinite, hessian_error};
    use muslin_geometry::mesh::{Topology, unstructured_grid};

    fn inner_patch() -> (CurvaturePatch, [Vec3; PATCH]) {
        let mesh = unstructured_grid([1.0, 1.0], 0.2).unwrap();
        let topology = Topology::build(mesh.positions.len(), &mesh.faces).unwrap();
        let clamped = vec![false; mesh.positions.len()];
        let rest = RestSurface {
            topology: &topology,
            material: mesh.material.as_ref().unwrap(),
            clamped: &clamped,
        };
        let stencil = stencils(&rest)
            .into_iter()
            .flatten()
            .find(|s| s.vertices[1..].iter().all(|v| *v != s.vertices[0]))
            .unwrap();
        let bent = stencil.vertices.map(|v| {
            let p = mesh.positions[v as usize];
            Vec3::new(
                p.x,
                p.y * 1.1,
                0.4 * p.x * p.x - 0.3 * p.x * p.y + 0.2 * p.y,
            )
        });
        let moduli = BendingModuli {
            warp: 2.0,
            weft: 1.0,
            coupling: 0.4,
            twist: 0.5,
            damping: 0.02,
        };
        (
            CurvaturePatch::new(stencil, 0.02, Arc::new(moduli), None),
            bent,
        )
    }

    #[test]
    fn derivatives() {
        let (mut e, x) = inner_patch();
        let start = x.map(|p| p * 1.02 + Vec3::new(0.0, 0.0, 0.1 * p.y * p.y));
        e.begin_step(
            &start,
            &[Vec3::ZERO; PATCH],
            &StepContext {
                time: 0.0,
                dt: 0.01,
            },
        );
        assert_gradient(&e, &x);
        assert_semidefinite(&e, &x);
        // At its rest curvature nothing is left out of the Hessian.
        let (e, x) = inner_patch();
        let at_ease = CurvaturePatch::new(e.stencil, e.area, e.moduli, Some(&x));
        assert!(at_ease.energy(&x) < 1e-20);
        let error = hessian_error(&at_ease, &x, |_, _| [Vec3::ZERO; PATCH]);
        assert!(error < 1e-5, "{error}");
    }
}
