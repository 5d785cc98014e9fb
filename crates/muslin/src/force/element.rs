//! What a newcomer writes to add a force: energy, gradient and Hessian of *one* element.

use muslin_linalg::{Mat3, Vec3};

/// What elements may know about the step.
#[derive(Clone, Copy, Debug)]
pub struct StepContext {
    /// Time at the end of the step, s.
    pub time: f64,
    /// Length of the step, s.
    pub dt: f64,
}

/// Gradient and positive semi-definite Hessian of an element with `N` vertices.
///
/// Only blocks with `row <= column` are read; the rest follows by symmetry.
pub struct Tangent<const N: usize> {
    /// Derivative of the energy, N.
    pub gradient: [Vec3; N],
    /// Second derivative of the energy, N/m.
    pub hessian: [[Mat3; N]; N],
}

impl<const N: usize> Default for Tangent<N> {
    fn default() -> Self {
        Self {
            gradient: [Vec3::ZERO; N],
            hessian: [[Mat3::ZERO; N]; N],
        }
    }
}

/// One triangle, hinge, spring or patch with a potential energy.
///
/// Loops, threads, assembly and the derivative test are written once for all elements.
pub trait Element<const N: usize>: Send + Sync {
    /// The vertices it acts on, as indices into the state.
    fn vertices(&self) -> [u32; N];

    /// Called once at the start of a step with the positions and velocities there: hold what damping needs, and sample
    /// laws that depend on the deformation, so that energy, gradient and Hessian belong to one potential.
    fn begin_step(&mut self, _x: &[Vec3; N], _v: &[Vec3; N], _step: &StepContext) {}

    /// Energy at positions `x`, J.
    fn energy(&self, x: &[Vec3; N]) -> f64;

    /// Derivative of the energy, N.
    fn gradient(&self, x: &[Vec3; N]) -> [Vec3; N];

    /// Overwrites `out` with gradient and Hessian; the Hessian must be positive semi-definite.
    fn linearise(&self, x: &[Vec3; N], out: &mut Tangent<N>);

    /// The Hessian of [`Self::linearise`] times `d`. Elements whose Hessian is a sum of few outer products do better
    /// than this.
    fn product(&self, x: &[Vec3; N], d: &[Vec3; N]) -> [Vec3; N] {
        let mut tangent = Tangent::default();
        self.linearise(x, &mut tangent);
        let mut out = [Vec3::ZERO; N];
        for a in 0..N {
            out[a] += tangent.hessian[a][a] * d[a];
            for b in a + 1..N {
                out[a] += tangent.hessian[a][b] * d[b];
                out[b] += tangent.hessian[a][b].transpose() * d[a];
            }
        }
        out
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! The derivative test every element has to pass.

    use super::*;

    /// Gradient against central differences of the energy.
    pub fn assert_gradient<const N: usize>(element: &impl Element<N>, x: &[Vec3; N]) {
        let h = 1e-6;
        let exact = element.gradient(x);
        let mut tangent = Tangent::default();
        element.linearise(x, &mut tangent);
        let scale = exact.iter().map(|g| g.length()).fold(1e-9, f64::max);
        for a in 0..N {
            assert!(
                (tangent.gradient[a] - exact[a]).length() <= 1e-9 * scale,
                "linearise differs from gradient"
            );
            for k in 0..3 {
                let (mut up, mut down) = (*x, *x);
                up[a][k] += h;
                down[a][k] -= h;
                let difference = (element.energy(&up) - element.energy(&down)) / (2.0 * h);
                assert!(
                    (difference - exact[a][k]).abs() < 1e-5 * scale,
                    "vertex {a} axis {k}: {difference} against {}",
                    exact[a][k]
                );
            }
        }
        let sum: Vec3 = exact.iter().copied().sum();
        assert!(
            sum.length() < 1e-9 * scale,
            "internal forces must add up to zero"
        );
        let torque: Vec3 = exact.iter().zip(x).map(|(g, x)| x.cross(*g)).sum();
        assert!(
            torque.length() < 1e-8 * scale,
            "internal forces must have no torque: {torque}"
        );
    }

    /// Block of the Hessian with the symmetric half filled in.
    pub fn block<const N: usize>(tangent: &Tangent<N>, a: usize, b: usize) -> Mat3 {
        if a <= b {
            tangent.hessian[a][b]
        } else {
            tangent.hessian[b][a].transpose()
        }
    }

    /// Largest difference between the Hessian and central differences of the gradient, relative to its largest entry;
    /// `missing(a, k)` is the column of what the Hessian leaves out on purpose.
    pub fn hessian_error<const N: usize>(
        element: &impl Element<N>,
        x: &[Vec3; N],
        missing: impl Fn(usize, usize) -> [Vec3; N],
    ) -> f64 {
        let h = 1e-6;
        let mut tangent = Tangent::default();
        element.linearise(x, &mut tangent);
        let (mut error, mut scale) = (0.0f64, 1e-12f64);
        for a in 0..N {
            for k in 0..3 {
                let (mut up, mut down) = (*x, *x);
                up[a][k] += h;
                down[a][k] -= h;
                let (up, down) = (element.gradient(&up), element.gradient(&down));
                let left_out = missing(a, k);
                for b in 0..N {
                    let difference = (up[b] - down[b]) / (2.0 * h);
                    let column = block(&tangent, b, a).col(k);
                    error = error.max((difference - column - left_out[b]).length());
                    scale = scale.max(column.length());
                }
            }
        }
        error / scale
    }

    /// All eigenvalues at least zero: checked through random quadratic forms and the diagonal.
    pub fn assert_semidefinite<const N: usize>(element: &impl Element<N>, x: &[Vec3; N]) {
        let mut tangent = Tangent::default();
        element.linearise(x, &mut tangent);
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as f64 / (1u64 << 30) as f64 - 1.0
        };
        let mut scale = 0.0f64;
        for _ in 0..200 {
            let d: [Vec3; N] = std::array::from_fn(|_| Vec3::new(random(), random(), random()));
            let mut form = 0.0;
            for a in 0..N {
                for b in 0..N {
                    form += d[a].dot(block(&tangent, a, b) * d[b]);
                }
            }
            scale = scale.max(form.abs());
            assert!(form >= -1e-9 * scale, "negative curvature {form}");
            let product = element.product(x, &d);
            for a in 0..N {
                let exact: Vec3 = (0..N).map(|b| block(&tangent, a, b) * d[b]).sum();
                let error = product[a].distance(exact);
                assert!(error <= 1e-9 * scale, "product differs by {error}");
            }
        }
    }
}
