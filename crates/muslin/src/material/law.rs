//! Stress of a sheet over strain: constant moduli, or a measured table blended over angle and stretch.

/// In-plane law of a sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct StretchLaw {
    table: Table,
    /// Kelvin-Voigt damping time: stress of the strain rate over stress of the strain, s.
    pub damping: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Table {
    Constant([f64; 4]),
    Measured([[f64; 4]; 6]),
}

/// The law at one deformation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StretchSample {
    /// c11, c12, c22 and the modulus of the shear angle c33, N/m: stress = C strain with strain (uu, vv, 2 uv).
    pub coefficients: [f64; 4],
    /// The stress grows along this direction in strain space beyond what the coefficients say; add its outer product
    /// to them for a tangent.
    pub hardening: [f64; 3],
}

/// Stretch at which the second to sixth rows of a measured table hold.
const TABLED_STRETCH: f64 = 1.0 / 6.0;

impl StretchLaw {
    /// The same moduli at any deformation, N/m.
    pub fn constant(coefficients: [f64; 4], damping: f64) -> Self {
        Self {
            table: Table::Constant(coefficients),
            damping,
        }
    }

    /// Published rows of (c11, c12, c22, c33) for no strain, then for stretch 1/6 at 0, 22.5, 45, 67.5, 90 degrees.
    pub fn measured(rows: [[f64; 4]; 6], damping: f64) -> Self {
        Self {
            table: Table::Measured(rows),
            damping,
        }
    }

    /// Whether sampling always gives the same.
    pub fn is_constant(&self) -> bool {
        matches!(self.table, Table::Constant(_))
    }

    /// The law at a Green strain (uu, vv, 2 uv).
    ///
    /// Rows are blended linearly over the angle between the largest principal strain and warp, and over the largest
    /// principal stretch; negative entries count as zero, and all are doubled, as the published numbers ask for.
    pub fn sample(&self, strain: &[f64; 3]) -> StretchSample {
        let rows = match &self.table {
            Table::Constant(c) => {
                return StretchSample {
                    coefficients: *c,
                    hardening: [0.0; 3],
                };
            }
            Table::Measured(rows) => rows,
        };
        let [uu, vv, shear] = *strain;
        let largest = f64::midpoint(uu, vv) + 0.5 * ((uu - vv).powi(2) + shear * shear).sqrt();
        let stretch = (1.0 + 2.0 * largest.max(0.0)).sqrt() - 1.0;
        let angle = 0.5 * shear.atan2(uu - vv);
        let position = (angle.abs() / std::f64::consts::FRAC_PI_8).min(4.0);
        let row = (position as usize).min(3);
        let share = position - row as f64;
        let grown = stretch / TABLED_STRETCH;
        let mut coefficients = [0.0; 4];
        let mut slope = [0.0; 4];
        for k in 0..4 {
            let tabled = rows[row + 1][k] + share * (rows[row + 2][k] - rows[row + 1][k]);
            let blended = rows[0][k] + grown.min(1.0) * (tabled - rows[0][k]);
            coefficients[k] = 2.0 * blended.max(0.0);
            if blended > 0.0 && grown < 1.0 {
                slope[k] = 2.0 * (tabled - rows[0][k]) / TABLED_STRETCH;
            }
        }
        let (sin, cos) = angle.sin_cos();
        // Growth of the normal stress along the largest strain, per strain in that direction.
        let growth = (slope[0] * uu + slope[1] * vv) * cos * cos
            + (slope[1] * uu + slope[2] * vv) * sin * sin
            + 2.0 * slope[3] * shear * sin * cos;
        let size = (growth / (1.0 + stretch)).max(0.0).sqrt();
        StretchSample {
            coefficients,
            hardening: [size * cos * cos, size * sin * sin, size * sin * cos],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [[f64; 4]; 6] = [
        [10.0, -1.0, 20.0, 5.0],
        [20.0, 1.0, 30.0, 6.0],
        [30.0, 2.0, 40.0, 7.0],
        [40.0, 3.0, 50.0, 8.0],
        [50.0, 4.0, 60.0, 9.0],
        [60.0, 5.0, 70.0, 10.0],
    ];

    /// Green strain of a stretch along an angle, nothing across.
    fn pulled(stretch: f64, degrees: f64) -> [f64; 3] {
        let g = ((1.0 + stretch).powi(2) - 1.0) / 2.0;
        let (s, c) = degrees.to_radians().sin_cos();
        [g * c * c, g * s * s, 2.0 * g * s * c]
    }

    #[test]
    fn rows_apply_at_their_angles_and_blend_between() {
        let law = StretchLaw::measured(ROWS, 0.0);
        for (i, degrees) in [0.0, 22.5, 45.0, 67.5, 90.0].into_iter().enumerate() {
            for sign in [-1.0, 1.0] {
                let c = law.sample(&pulled(1.0 / 6.0, sign * degrees)).coefficients;
                assert!(
                    (c[0] - 2.0 * ROWS[i + 1][0]).abs() < 1e-9,
                    "{degrees}: {c:?}"
                );
            }
        }
        assert_eq!(law.sample(&[0.0; 3]).coefficients, [20.0, 0.0, 40.0, 10.0]);
        let half = law.sample(&pulled(1.0 / 12.0, 11.25)).coefficients;
        assert!((half[0] - 2.0 * f64::midpoint(10.0, 25.0)).abs() < 1e-9);
        assert_eq!(law.sample(&pulled(0.9, 0.0)).coefficients[0], 40.0);
        assert_eq!(law.sample(&[-0.2, -0.1, 0.0]).coefficients[0], 20.0);
    }

    #[test]
    fn hardening_is_the_slope_of_the_stress_along_the_pull() {
        let law = StretchLaw::measured(ROWS, 0.0);
        let stress = |g: f64| law.sample(&[g, 0.0, 0.0]).coefficients[0] * g;
        let (g, h) = (0.08, 1e-6);
        let slope = (stress(g + h) - stress(g - h)) / (2.0 * h);
        let sample = law.sample(&[g, 0.0, 0.0]);
        let tangent = sample.coefficients[0] + sample.hardening[0].powi(2);
        assert!((slope - tangent).abs() < 1e-5 * slope, "{slope} {tangent}");
    }
}
