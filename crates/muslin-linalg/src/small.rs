//! The small fixed-size types of all formulas, and the few operations on them that `glam` lacks.

/// Two components: material coordinates, in metres.
pub type Vec2 = glam::DVec2;
/// Three components: positions (m), velocities (m/s), forces (N).
pub type Vec3 = glam::DVec3;
/// The same in single precision: for what only steers an iteration.
pub type ShortVec3 = glam::Vec3;
/// 2x2 matrix.
pub type Mat2 = glam::DMat2;
/// 3x3 matrix.
pub type Mat3 = glam::DMat3;
/// Unit quaternion: a rotation.
pub type Quat = glam::DQuat;

/// 3x2 matrix as its two columns: the deformation gradient of a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mat3x2 {
    /// Image of the first material axis.
    pub x: Vec3,
    /// Image of the second material axis.
    pub y: Vec3,
}

/// `a bᵀ`.
#[inline]
pub fn outer(a: Vec3, b: Vec3) -> Mat3 {
    Mat3::from_cols(a * b.x, a * b.y, a * b.z)
}
