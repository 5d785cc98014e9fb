//! Elasticity of a tetrahedron: Hooke's law in a frame that turns with it (corotational), with damping on Green strain.
//!
//! With the deformation `F = R S` (rotation and stretch) the energy is `V (mu |S - 1|² + lambda/2 tr(S - 1)²)`. Its gradient
//! is exact; the Hessian leaves out that the rotation changes too, and is semi-definite for that. Where a tetrahedron is
//! flat or inside out, the rotation is the one that would turn it right side out along its shortest direction, so that
//! the force does the same. Damping is Kelvin-Voigt on Green strain, so it does not resist rigid motion.

use super::{Element, StepContext, Tangent};
use crate::material::Solid;
use muslin_linalg::{Mat3, Vec3, outer, polar_rotation};

/// A tetrahedron that resists changes of shape and volume.
pub struct Tetrahedron {
    vertices: [u32; 4],
    /// Gradients of the corners' weights at rest, 1/m.
    weights: [Vec3; 4],
    /// Rest volume, m³.
    volume: f64,
    /// Lamé's constants, Pa.
    lame: [f64; 2],
    /// Damping time, s.
    damping: f64,
    /// Damping time over the length of the step.
    viscosity: f64,
    strain_at_start: Mat3,
}

impl Tetrahedron {
    /// `rest`: corners at rest, m, with a positive volume.
    pub fn new(vertices: [u32; 4], rest: [Vec3; 4], solid: &Solid) -> Self {
        let edges = Mat3::from_cols(rest[1] - rest[0], rest[2] - rest[0], rest[3] - rest[0]);
        let inverse = edges.inverse();
        let [b, c, d] = [0, 1, 2].map(|k| inverse.row(k));
        Self {
            vertices,
            weights: [-(b + c + d), b, c, d],
            volume: edges.determinant() / 6.0,
            lame: solid.lame(),
            damping: solid.damping,
            viscosity: 0.0,
            strain_at_start: Mat3::ZERO,
        }
    }

    /// Rest volume, m³.
    pub fn volume(&self) -> f64 {
        self.volume
    }

    /// Lamé's constants, Pa.
    pub fn lame(&self) -> [f64; 2] {
        self.lame
    }

    /// Gradients of the corners' weights at rest, 1/m.
    pub fn weights(&self) -> [Vec3; 4] {
        self.weights
    }

    /// Damping time, s.
    pub fn damping(&self) -> f64 {
        self.damping
    }

    /// Derivative of the positions by those at rest.
    pub fn deformation(&self, x: &[Vec3; 4]) -> Mat3 {
        // Differences first: far from the origin the sum of positions would lose digits.
        let [_, b, c, d] = self.weights;
        outer(x[1] - x[0], b) + outer(x[2] - x[0], c) + outer(x[3] - x[0], d)
    }

    /// Stress of Hooke's law, Pa, times a factor.
    pub fn stress(&self, strain: Mat3, factor: f64) -> Mat3 {
        let [lambda, mu] = self.lame;
        let trace = strain.x_axis.x + strain.y_axis.y + strain.z_axis.z;
        strain * (2.0 * mu * factor) + Mat3::from_diagonal(Vec3::splat(lambda * trace * factor))
    }

    /// Change of Green strain since the start of the step.
    fn strain_change(&self, f: &Mat3) -> Mat3 {
        green_strain(f) - self.strain_at_start
    }

    /// First Piola-Kirchhoff stress, Pa.
    fn piola(&self, f: &Mat3) -> Mat3 {
        let r = polar_rotation(f);
        let elastic = r * self.stress(symmetric(r.transpose() * *f) - Mat3::IDENTITY, 1.0);
        if self.viscosity == 0.0 {
            return elastic;
        }
        elastic + *f * self.stress(self.strain_change(f), self.viscosity)
    }
}

fn symmetric(m: Mat3) -> Mat3 {
    (m + m.transpose()) * 0.5
}

/// Green strain of a deformation.
pub fn green_strain(f: &Mat3) -> Mat3 {
    (f.transpose() * *f - Mat3::IDENTITY) * 0.5
}

fn product(a: &Mat3, b: &Mat3) -> f64 {
    a.x_axis.dot(b.x_axis) + a.y_axis.dot(b.y_axis) + a.z_axis.dot(b.z_axis)
}

impl Element<4> for Tetrahedron {
    fn vertices(&self) -> [u32; 4] {
        self.vertices
    }

    fn begin_step(&mut self, x: &[Vec3; 4], _v: &[Vec3; 4], step: &StepContext) {
        self.strain_at_start = green_strain(&self.deformation(x));
        self.viscosity = self.damping / step.dt;
    }

    fn energy(&self, x: &[Vec3; 4]) -> f64 {
        let f = self.deformation(x);
        let strain = symmetric(polar_rotation(&f).transpose() * f) - Mat3::IDENTITY;
        let change = self.strain_change(&f);
        let of = |strain: &Mat3, factor: f64| product(strain, &self.stress(*strain, factor));
        0.5 * self.volume * (of(&strain, 1.0) + of(&change, self.viscosity))
    }

    fn gradient(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        let stress = self.piola(&self.deformation(x)) * self.volume;
        let [_, b, c, d] = self.weights.map(|w| stress * w);
        // The first from the others, so that no force is left over.
        [-(b + c + d), b, c, d]
    }

    fn linearise(&self, x: &[Vec3; 4], out: &mut Tangent<4>) {
        let [lambda, mu] = self.lame.map(|l| l * self.volume);
        let f = self.deformation(x);
        let r = polar_rotation(&f);
        out.gradient = self.gradient(x);
        let turned = self.weights.map(|w| r * w);
        // Green strain changes by the symmetric part of Fᵀ dF: its moduli are carried along by F.
        let carried = self.weights.map(|w| f * w);
        let metric = f * f.transpose();
        for a in 0..4 {
            for b in a..4 {
                let (p, q) = (turned[a], turned[b]);
                let mut block = outer(p, q) * lambda
                    + outer(q, p) * mu
                    + Mat3::from_diagonal(Vec3::splat(mu * p.dot(q)));
                if self.viscosity > 0.0 {
                    let (p, q) = (carried[a], carried[b]);
                    let across = self.weights[a].dot(self.weights[b]);
                    block += (outer(p, q) * lambda + (outer(q, p) + metric * across) * mu)
                        * self.viscosity;
                }
                out.hessian[a][b] = block;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::testing::{assert_gradient, assert_semidefinite, block, hessian_error};
    use muslin_linalg::Quat;
    use serde_json::Value;

    const REST: [Vec3; 4] = [
        Vec3::new(0.1, 0.0, 0.05),
        Vec3::new(1.0, 0.1, 0.0),
        Vec3::new(0.2, 0.9, -0.1),
        Vec3::new(0.0, 0.2, 1.1),
    ];

    fn solid(young: f64, poisson: f64, damping: f64) -> Solid {
        Solid {
            description: String::new(),
            source: String::new(),
            assumed: String::new(),
            density: 1000.0,
            young,
            poisson,
            damping,
        }
    }

    fn moved(by: impl Fn(Vec3) -> Vec3) -> [Vec3; 4] {
        REST.map(by)
    }

    fn bent(p: Vec3) -> Vec3 {
        let turned = Quat::from_scaled_axis(Vec3::new(0.7, -1.1, 0.4)) * p;
        Vec3::new(
            1.2 * turned.x + 0.2 * turned.y,
            0.9 * turned.y,
            1.1 * turned.z + 0.1,
        )
    }

    fn inside_out(p: Vec3) -> Vec3 {
        Vec3::new(1.1 * p.x + 0.1 * p.z, 0.9 * p.y, -0.6 * p.z)
    }

    #[test]
    fn derivatives() {
        for shape in [moved(bent), moved(inside_out), moved(|p| p * 0.7)] {
            for damping in [0.0, 0.03] {
                let mut e = Tetrahedron::new([0, 1, 2, 3], REST, &solid(900.0, 0.4, damping));
                let step = StepContext {
                    time: 0.0,
                    dt: 0.01,
                };
                let start = shape.map(|p| p + Vec3::new(0.05 * p.y, -0.03 * p.x, 0.04 * p.z));
                e.begin_step(&start, &[Vec3::ZERO; 4], &step);
                assert_gradient(&e, &shape);
                assert_semidefinite(&e, &shape);
            }
        }
    }

    #[test]
    fn the_hessian_at_rest_is_exact_also_when_turned_and_damped() {
        let shape = moved(|p| Quat::from_rotation_y(1.3) * p + Vec3::new(3.0, 1.0, 2.0));
        let mut e = Tetrahedron::new([0, 1, 2, 3], REST, &solid(900.0, 0.4, 0.02));
        let step = StepContext {
            time: 0.0,
            dt: 0.01,
        };
        e.begin_step(&shape, &[Vec3::ZERO; 4], &step);
        assert!(hessian_error(&e, &shape, |_, _| [Vec3::ZERO; 4]) < 1e-5);
    }

    #[test]
    fn rigid_motions_are_free_of_force() {
        let e = Tetrahedron::new([0, 1, 2, 3], REST, &solid(1e6, 0.45, 0.0));
        for angle in [0.1, 1.0, 3.0] {
            let turn = Quat::from_scaled_axis(Vec3::new(1.0, 2.0, -0.5).normalize() * angle);
            let x = moved(|p| turn * p + Vec3::new(0.3, -2.0, 1.0));
            let largest = e
                .gradient(&x)
                .map(Vec3::length)
                .into_iter()
                .fold(0.0, f64::max);
            assert!(largest < 1e-8, "{largest} N of 1e6");
        }
        // Six directions in which the Hessian does not resist: three shifts and three turns.
        let mut tangent = Tangent::default();
        e.linearise(&REST, &mut tangent);
        for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
            for mode in [REST.map(|_| axis), REST.map(|p| axis.cross(p))] {
                for a in 0..4 {
                    let force: Vec3 = (0..4).map(|b| block(&tangent, a, b) * mode[b]).sum();
                    assert!(force.length() < 1e-8, "{force}");
                }
            }
        }
    }

    #[test]
    fn an_inverted_tetrahedron_is_turned_right_side_out() {
        let e = Tetrahedron::new([0, 1, 2, 3], REST, &solid(1e3, 0.3, 0.0));
        let x = moved(|p| Vec3::new(p.x, p.y, -0.2 * p.z));
        let force = e.gradient(&x).map(|g| -g);
        // The corner that fell through the others is pushed back up.
        assert!(force[3].z > 10.0, "{force:?}");
    }

    #[test]
    fn reference_data() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../reference/tet_corotational.json"
        );
        let data: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let cases = data["cases"].as_array().unwrap();
        assert!(cases.len() > 5);
        for case in cases {
            check_case(case);
        }
    }

    fn numbers(v: &Value) -> Vec<f64> {
        match v {
            Value::Array(a) => a.iter().flat_map(numbers).collect(),
            other => vec![other.as_f64().unwrap()],
        }
    }

    fn points(v: &Value) -> [Vec3; 4] {
        let flat = numbers(v);
        std::array::from_fn(|i| Vec3::from_slice(&flat[3 * i..]))
    }

    fn check_case(case: &Value) {
        let name = &case["name"];
        let of = |key: &str| case[key].as_f64().unwrap();
        let (rest, now) = (points(&case["rest"]), points(&case["current"]));
        let e = Tetrahedron::new([0, 1, 2, 3], rest, &solid(of("E"), of("nu"), 0.0));
        assert!((e.volume() / of("volume") - 1.0).abs() < 1e-12, "{name}");
        let scale = of("E") * e.volume().cbrt();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * scale;
        // The stiffness at rest, in the order of the file: all of the first corner, then the second.
        let mut tangent = Tangent::default();
        e.linearise(&rest, &mut tangent);
        let stiffness = numbers(&case["K_row_major"]);
        for (i, k) in stiffness.iter().enumerate() {
            let (row, column) = (i / 12, i % 12);
            let own = block(&tangent, row / 3, column / 3).row(row % 3)[column % 3];
            assert!(
                near(own, *k),
                "{name}: stiffness {row} {column}: {own} against {k}"
            );
        }
        let rotation = numbers(&case["R"]);
        let mine = polar_rotation(&e.deformation(&now));
        for (i, r) in rotation.iter().enumerate() {
            let own = mine.row(i / 3)[i % 3];
            assert!(
                (own - r).abs() < 1e-9,
                "{name}: rotation {i}: {own} against {r}"
            );
        }
        let energy = e.energy(&now) - of("energy");
        assert!(
            energy.abs() < 1e-9 * scale * e.volume().cbrt().powi(2),
            "{name}: {energy}"
        );
        let force = numbers(&case["force"]);
        for (i, f) in force.iter().enumerate() {
            let own = -e.gradient(&now)[i / 3][i % 3];
            assert!(near(own, *f), "{name}: force {i}: {own} against {f}");
        }
    }
}
