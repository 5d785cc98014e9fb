//! In-plane elasticity of a triangle: an orthotropic law on Green strain, with coefficients that may depend on the
//! deformation (measured fabrics) or not (plates, simple orthotropic sheets).
//!
//! A measured law gives stress = C(strain) strain. Such a law has no energy of its own (its table has kinks exactly
//! at the measured angles), so a step sees it linearised at its start: the tabled stress there, plus a tangent that is
//! symmetric, semi-definite and knows of the hardening. Within the step that is a quadratic energy of the strain; at
//! rest the force is the tabled one to the digit. A constant law is unchanged by this. Damping is Kelvin-Voigt on the
//! same strain, so it does not resist rigid motion.

use super::{Element, StepContext, Tangent};
use crate::material::{StretchLaw, StretchSample};
use muslin_linalg::{Mat2, Mat3, Mat3x2, Vec2, Vec3, outer};
use std::sync::Arc;

/// Green strain as (uu, vv, 2 uv).
pub type Strain = [f64; 3];

/// A triangle that resists stretch and shear.
pub struct StretchTriangle {
    vertices: [u32; 3],
    law: Arc<StretchLaw>,
    rest_inverse: Mat2,
    /// Stress per strain over the step, viscous part included, N/m: symmetric and semi-definite.
    moduli: Moduli,
    stress_at_start: Strain,
    strain_at_start: Strain,
}

/// A symmetric 3x3 matrix: 00, 01, 02, 11, 12, 22.
type Moduli = [f64; 6];

/// The law of one step: stress over Green strain, N/m.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Stress per strain, viscous part included.
    pub moduli: [f64; 6],
    stress: Strain,
    strain: Strain,
}

impl Law {
    /// Stress at a strain.
    #[inline]
    pub fn stress(&self, strain: &Strain) -> Strain {
        let change: Strain = std::array::from_fn(|i| strain[i] - self.strain[i]);
        let added = multiply(&self.moduli, &change);
        std::array::from_fn(|i| self.stress[i] + added[i])
    }

    /// The part of a stress that counts in a Hessian: all of it, or its tension alone if it presses by more than
    /// `bearable` (N/m).
    #[inline]
    pub fn geometric(&self, s: &Strain, bearable: f64) -> Strain {
        let least = f64::midpoint(s[0], s[1]) - (0.25 * (s[0] - s[1]).powi(2) + s[2] * s[2]).sqrt();
        if least >= -bearable {
            *s
        } else {
            tensile_part(s)
        }
    }
}

impl StretchTriangle {
    /// `material`: rest positions of the corners in warp and weft coordinates, m.
    pub fn new(vertices: [u32; 3], material: [Vec2; 3], law: Arc<StretchLaw>) -> Self {
        let rest = Mat2::from_cols(material[1] - material[0], material[2] - material[0]);
        let moduli = tangent_moduli(&law.sample(&[0.0; 3]), 1.0);
        Self {
            vertices,
            law,
            rest_inverse: rest.inverse(),
            moduli,
            stress_at_start: [0.0; 3],
            strain_at_start: [0.0; 3],
        }
    }

    /// Rest area, m².
    pub fn area(&self) -> f64 {
        0.5 / self.rest_inverse.determinant().abs()
    }

    /// The law of the step begun last.
    pub fn law(&self) -> Law {
        Law {
            moduli: self.moduli,
            stress: self.stress_at_start,
            strain: self.strain_at_start,
        }
    }

    /// Stress per strain at rest along warp and weft, at least that of shear, over a step of `dt` (s), N/m.
    pub fn rest_moduli(&self, dt: f64) -> [f64; 2] {
        let [warp, _, weft, shear] = self.law.sample(&[0.0; 3]).coefficients;
        [warp, weft].map(|c| c.max(shear) * (1.0 + self.law.damping / dt))
    }

    /// Images of warp and weft.
    pub fn deformation(&self, x: &[Vec3; 3]) -> Mat3x2 {
        let (a, b) = (x[1] - x[0], x[2] - x[0]);
        let m = self.rest_inverse;
        Mat3x2 {
            x: a * m.x_axis.x + b * m.x_axis.y,
            y: a * m.y_axis.x + b * m.y_axis.y,
        }
    }

    /// Gradients of the three corner weights in material space, 1/m.
    pub fn weights(&self) -> [Vec2; 3] {
        let m = self.rest_inverse;
        let (b, c) = (
            Vec2::new(m.x_axis.x, m.y_axis.x),
            Vec2::new(m.x_axis.y, m.y_axis.y),
        );
        [-b - c, b, c]
    }

    /// Stress of the step's law, with the viscous part.
    fn stress(&self, strain: &Strain) -> Strain {
        self.law().stress(strain)
    }

    fn gradient_of(&self, f: &Mat3x2, stress: &Strain) -> [Vec3; 3] {
        let area = self.area();
        let along_u = (f.x * stress[0] + f.y * stress[2]) * area;
        let along_v = (f.x * stress[2] + f.y * stress[1]) * area;
        self.weights().map(|w| along_u * w.x + along_v * w.y)
    }
}

fn multiply(m: &Moduli, e: &Strain) -> Strain {
    [
        m[0] * e[0] + m[1] * e[1] + m[2] * e[2],
        m[1] * e[0] + m[3] * e[1] + m[4] * e[2],
        m[2] * e[0] + m[4] * e[1] + m[5] * e[2],
    ]
}

/// The sampled coefficients, kept definite, plus hardening, times a factor.
fn tangent_moduli(sample: &StretchSample, factor: f64) -> Moduli {
    let [c11, c12, c22, c33] = sample.coefficients;
    // The published tables have entries with c12² > c11 c22; a tangent must not follow them there.
    let bound = 0.999 * (c11 * c22).sqrt();
    let c12 = c12.clamp(-bound, bound);
    let h = sample.hardening;
    [
        c11 + h[0] * h[0],
        c12 + h[0] * h[1],
        h[0] * h[2],
        c22 + h[1] * h[1],
        h[1] * h[2],
        c33 + h[2] * h[2],
    ]
    .map(|entry| factor * entry)
}

/// Green strain of a deformation gradient.
pub fn green_strain(f: &Mat3x2) -> Strain {
    [
        (f.x.length_squared() - 1.0) / 2.0,
        (f.y.length_squared() - 1.0) / 2.0,
        f.x.dot(f.y),
    ]
}

/// The nearest positive semi-definite matrix to a symmetric 2x2 one given as (11, 22, 12).
fn tensile_part(s: &Strain) -> Strain {
    let mean = f64::midpoint(s[0], s[1]);
    let radius = (0.25 * (s[0] - s[1]).powi(2) + s[2] * s[2]).sqrt();
    let (high, low) = (mean + radius, mean - radius);
    if low >= 0.0 {
        return *s;
    }
    if high <= 0.0 {
        return [0.0; 3];
    }
    // One tensile direction: keep it alone.
    let scale = high / (high - low);
    [scale * (s[0] - low), scale * (s[1] - low), scale * s[2]]
}

impl Element<3> for StretchTriangle {
    fn vertices(&self) -> [u32; 3] {
        self.vertices
    }

    fn begin_step(&mut self, x: &[Vec3; 3], _v: &[Vec3; 3], step: &StepContext) {
        let strain = green_strain(&self.deformation(x));
        let sample = self.law.sample(&strain);
        let [c11, c12, c22, c33] = sample.coefficients;
        self.stress_at_start = [
            c11 * strain[0] + c12 * strain[1],
            c12 * strain[0] + c22 * strain[1],
            c33 * strain[2],
        ];
        // Kelvin-Voigt: over the step, a change of strain costs its elastic stress and that of its rate.
        self.moduli = tangent_moduli(&sample, 1.0 + self.law.damping / step.dt);
        self.strain_at_start = strain;
    }

    fn energy(&self, x: &[Vec3; 3]) -> f64 {
        let e = green_strain(&self.deformation(x));
        let change: Strain = std::array::from_fn(|i| e[i] - self.strain_at_start[i]);
        let added = multiply(&self.moduli, &change);
        let per_area: f64 = (0..3)
            .map(|i| change[i] * (self.stress_at_start[i] + 0.5 * added[i]))
            .sum();
        self.area() * per_area
    }

    fn gradient(&self, x: &[Vec3; 3]) -> [Vec3; 3] {
        let f = self.deformation(x);
        self.gradient_of(&f, &self.stress(&green_strain(&f)))
    }

    fn linearise(&self, x: &[Vec3; 3], out: &mut Tangent<3>) {
        let f = self.deformation(x);
        let stress = self.stress(&green_strain(&f));
        out.gradient = self.gradient_of(&f, &stress);
        let [d00, d01, d02, d11, d12, d22] = self.moduli;
        let area = self.area();
        let t = tensile_part(&stress);
        let (uu, uv, vu, vv) = (
            outer(f.x, f.x),
            outer(f.x, f.y),
            outer(f.y, f.x),
            outer(f.y, f.y),
        );
        let w = self.weights();
        for a in 0..3 {
            for b in a..3 {
                let (p, q) = (w[a] * area, w[b]);
                let (xx, xy, yx, yy) = (p.x * q.x, p.x * q.y, p.y * q.x, p.y * q.y);
                // Rows of the strain derivative: (p.x f.x, p.y f.y, p.x f.y + p.y f.x).
                let k_uu = d00 * xx + d02 * (xy + yx) + d22 * yy;
                let k_vv = d11 * yy + d12 * (xy + yx) + d22 * xx;
                let k_uv = d01 * xy + d02 * xx + d12 * yy + d22 * yx;
                let k_vu = d01 * yx + d02 * xx + d12 * yy + d22 * xy;
                let geometric = t[0] * xx + t[2] * (xy + yx) + t[1] * yy;
                out.hessian[a][b] = uu * k_uu
                    + uv * k_uv
                    + vu * k_vu
                    + vv * k_vv
                    + Mat3::from_diagonal(Vec3::splat(geometric));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::testing::{assert_gradient, assert_semidefinite, hessian_error};

    const MATERIAL: [Vec2; 3] = [
        Vec2::new(0.1, 0.2),
        Vec2::new(1.0, 0.3),
        Vec2::new(0.2, 0.9),
    ];

    fn denim() -> Arc<StretchLaw> {
        let fabric = crate::material::shipped_fabric("11oz-black-denim").unwrap();
        Arc::new(fabric.stretch_law())
    }

    fn stretched(k: f64) -> [Vec3; 3] {
        MATERIAL.map(|m| {
            Vec3::new(
                m.x * (1.0 + k) + 0.1 * m.y,
                m.y * (1.0 + 0.5 * k),
                0.3 * m.x - k * m.y,
            )
        })
    }

    fn prepared(law: Arc<StretchLaw>) -> StretchTriangle {
        let mut e = StretchTriangle::new([0, 1, 2], MATERIAL, law);
        e.begin_step(
            &stretched(0.02),
            &[Vec3::ZERO; 3],
            &StepContext {
                time: 0.0,
                dt: 0.01,
            },
        );
        e
    }

    #[test]
    fn derivatives() {
        let plate = Arc::new(StretchLaw::constant([500.0, 150.0, 500.0, 175.0], 0.005));
        for law in [plate.clone(), denim()] {
            for k in [-0.3, 0.0, 0.05, 0.4] {
                let x = stretched(k);
                let e = prepared(law.clone());
                assert_gradient(&e, &x);
                assert_semidefinite(&e, &x);
            }
        }
        // In tension nothing is cut from the Hessian.
        let x = stretched(0.3);
        let error = hessian_error(&prepared(plate), &x, |_, _| [Vec3::ZERO; 3]);
        assert!(error < 1e-6, "{error}");
    }

    #[test]
    fn a_step_starts_with_the_stress_of_the_table() {
        let (x, law) = (stretched(0.1), denim());
        let mut e = StretchTriangle::new([0, 1, 2], MATERIAL, law.clone());
        e.begin_step(
            &x,
            &[Vec3::ZERO; 3],
            &StepContext {
                time: 0.0,
                dt: 0.01,
            },
        );
        let strain = green_strain(&e.deformation(&x));
        let c = law.sample(&strain).coefficients;
        assert_eq!(e.stress(&strain)[0], c[0] * strain[0] + c[1] * strain[1]);
    }

    #[test]
    fn tension_is_kept_and_pressure_cut() {
        assert_eq!(tensile_part(&[2.0, 1.0, 0.5]), [2.0, 1.0, 0.5]);
        assert_eq!(tensile_part(&[-2.0, -1.0, 0.5]), [0.0; 3]);
        let t = tensile_part(&[3.0, -1.0, 0.0]);
        assert!((t[0] - 3.0).abs() < 1e-15 && t[1].abs() < 1e-15);
    }

    #[test]
    fn rest_shape_may_be_mirrored() {
        let mirrored = MATERIAL.map(|m| Vec2::new(-m.x, m.y));
        let e = StretchTriangle::new([0, 1, 2], mirrored, denim());
        assert!(e.area() > 0.0);
        let flat = mirrored.map(|m| m.extend(0.0));
        assert!(e.gradient(&flat).iter().all(|g| g.length() < 1e-9));
    }
}
