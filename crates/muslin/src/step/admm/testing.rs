//! What every element of local steps has to show.

use super::following::Following;
use super::split::Split;
use muslin_linalg::Vec3;

/// The nearest deformation costs less than any other about it: energy plus weighted squared distance to `y`.
pub fn assert_minimises<S: Split<N, R>, const N: usize, const R: usize>(
    element: &mut S,
    y: &[Vec3; R],
    energy: impl Fn(&S, &[Vec3; R]) -> f64,
) {
    let weights = element.weights();
    let z = element.nearest(y, &weights);
    let cost = |z: &[Vec3; R]| {
        let far = (0..R).map(|r| 0.5 * weights[r] * z[r].distance_squared(y[r]));
        energy(element, z) + far.sum::<f64>()
    };
    let least = cost(&z);
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as f64 / (1u64 << 30) as f64 - 1.0
    };
    for size in [1e-3, 1e-2, 1e-1] {
        for _ in 0..50 {
            let other = z.map(|z| z + Vec3::new(random(), random(), random()) * size);
            let more = cost(&other) - least;
            assert!(more >= -1e-9 * least.abs(), "{more} less at {size}");
        }
    }
}

/// Force of an element at positions `x`, N.
pub fn force_of<F: Following<N>, const N: usize>(element: &F, x: &[Vec3; N]) -> [Vec3; N] {
    let (pull, stiffness) = (element.pull(x), element.stiffness());
    std::array::from_fn(|a| pull[a] - (0..N).map(|b| x[b] * stiffness[a][b]).sum::<Vec3>())
}
