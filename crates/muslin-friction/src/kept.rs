//! A point that a solver may come back to.

use muslin_linalg::Vec3;

/// Velocities and impulses kept aside.
#[derive(Default)]
pub(crate) struct Kept {
    v: Vec<Vec3>,
    r: Vec<Vec3>,
}

impl Kept {
    /// Keeps a point in place of the last one.
    pub(crate) fn keep(&mut self, v: &[Vec3], r: &[Vec3]) {
        for (kept, from) in [(&mut self.v, v), (&mut self.r, r)] {
            kept.clear();
            kept.extend_from_slice(from);
        }
    }

    /// Goes back to the point kept last.
    pub(crate) fn restore(&self, v: &mut [Vec3], r: &mut [Vec3]) {
        v.copy_from_slice(&self.v);
        r.copy_from_slice(&self.r);
    }
}
