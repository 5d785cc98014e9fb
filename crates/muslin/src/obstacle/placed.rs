//! An obstacle put somewhere and led along a motion: points are taken into its own frame and answers back.

use super::{Drive, Nature, Obstacle, ObstaclePoint};
use crate::motion::{Motion, Pose};
use muslin_linalg::{Quat, Vec3};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where something stands: scaled, then turned about the origin, then moved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Size factor, positive.
    pub scale: f64,
    /// Rotation.
    pub rotation: Quat,
    /// Displacement, m.
    pub translation: Vec3,
}

impl Placement {
    /// As it is.
    pub const IDENTITY: Self = Self {
        scale: 1.0,
        rotation: Quat::IDENTITY,
        translation: Vec3::ZERO,
    };

    /// Image of a point.
    pub fn apply(&self, point: Vec3) -> Vec3 {
        self.rotation * (point * self.scale) + self.translation
    }

    /// The point whose image is given.
    pub fn unapply(&self, image: Vec3) -> Vec3 {
        self.rotation.conjugate() * (image - self.translation) / self.scale
    }

    /// This placement followed by a pose about a pivot.
    fn then(&self, pose: &Pose, pivot: Vec3) -> Self {
        Self {
            scale: self.scale * pose.scale,
            rotation: pose.rotation * self.rotation,
            translation: pose.apply(self.translation, pivot),
        }
    }
}

/// An obstacle somewhere, at rest, led or driven. Copies share the shape.
#[derive(Clone)]
pub struct Placed {
    inner: Arc<dyn Obstacle>,
    placement: Placement,
    motion: Motion,
    pivot: Vec3,
    drive: Option<Drive>,
}

/// A placed obstacle as everybody else sees it: an [`Obstacle`] like any other. Who drives it takes the field.
#[derive(Clone)]
pub struct Standing(pub Placed);

impl std::ops::Deref for Standing {
    type Target = dyn Obstacle;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl AsRef<dyn Obstacle> for Standing {
    fn as_ref(&self) -> &(dyn Obstacle + 'static) {
        &self.0
    }
}

impl Placed {
    /// Puts `inner` at `placement` and leads it from there by `motion`, turning and scaling about `pivot` (m).
    pub fn new(
        inner: Box<dyn Obstacle>,
        placement: Placement,
        motion: Motion,
        pivot: Vec3,
    ) -> Self {
        Self {
            inner: Arc::from(inner),
            placement,
            motion,
            pivot,
            drive: None,
        }
    }

    /// Who drives it from outside, if somebody does.
    pub fn drive(&self) -> Option<&Drive> {
        self.drive.as_ref()
    }

    /// Drives it from outside, from now on instead of its motion.
    pub fn set_drive(&mut self, drive: Drive) {
        self.drive = Some(drive);
    }

    /// Where it stands at a time (s).
    pub fn at(&self, time: f64) -> Placement {
        if let Some(drive) = &self.drive {
            return drive.at(time);
        }
        match self.motion {
            Motion::Fixed => self.placement,
            _ => self.placement.then(&self.motion.at(time), self.pivot),
        }
    }

    /// Velocity of the material at `image`, where the obstacle in its own frame moves at `inner`.
    fn velocity(&self, time: f64, at: &Placement, image: Vec3, inner: Vec3) -> Vec3 {
        let carried = at.rotation * (inner * at.scale);
        if let Some(drive) = &self.drive {
            return carried + drive.velocity(time, image);
        }
        if matches!(self.motion, Motion::Fixed) {
            return carried;
        }
        let rate = self.motion.rate(time);
        carried + rate.velocity(&self.motion.at(time), image, self.pivot)
    }
}

impl Obstacle for Placed {
    fn closest(&self, point: Vec3, time: f64, within: f64) -> Option<ObstaclePoint> {
        let at = self.at(time);
        let local = at.unapply(point);
        if !local.is_finite() {
            return None;
        }
        let found = self.inner.closest(local, time, within / at.scale)?;
        let position = at.apply(found.position);
        Some(ObstaclePoint {
            position,
            normal: at.rotation * found.normal,
            signed_distance: found.signed_distance * at.scale,
            velocity: self.velocity(time, &at, position, found.velocity),
        })
    }

    fn faces(&self) -> &[[u32; 3]] {
        self.inner.faces()
    }

    fn positions(&self, time: f64, out: &mut Vec<Vec3>) {
        let (at, first) = (self.at(time), out.len());
        self.inner.positions(time, out);
        for p in &mut out[first..] {
            *p = at.apply(*p);
        }
    }

    fn velocities(&self, time: f64, out: &mut Vec<Vec3>) {
        let (at, first) = (self.at(time), out.len());
        self.inner.velocities(time, out);
        let mut positions = Vec::with_capacity(out.len() - first);
        self.inner.positions(time, &mut positions);
        for (v, p) in out[first..].iter_mut().zip(positions) {
            *v = self.velocity(time, &at, at.apply(p), *v);
        }
    }

    fn carried(&self, point: Vec3, from: f64, to: f64) -> Vec3 {
        if !self.moves() {
            return point;
        }
        let own = self.inner.carried(self.at(from).unapply(point), from, to);
        self.at(to).apply(own)
    }

    fn direction(&self, own: Vec3, time: f64) -> Vec3 {
        self.at(time).rotation * self.inner.direction(own, time)
    }

    fn nature(&self) -> Nature {
        self.inner.nature()
    }

    fn has_inside(&self) -> bool {
        self.inner.has_inside()
    }

    fn moves(&self) -> bool {
        self.drive.is_some() || !matches!(self.motion, Motion::Fixed) || self.inner.moves()
    }

    fn first_contact(&self, from: (Vec3, f64), to: (Vec3, f64), separation: f64) -> Option<f64> {
        let ends = [self.at(from.1), self.at(to.1)];
        // The smaller size makes the separation larger in the obstacle's own measure: never too late.
        let scale = ends[0].scale.min(ends[1].scale);
        let (own_from, own_to) = (ends[0].unapply(from.0), ends[1].unapply(to.0));
        // Seen from an obstacle that turns, a straight way is bent; what it bulges is searched too, twice over.
        let bulge = [0.25, 0.5, 0.75]
            .map(|s| {
                let pose = self.at(from.1 + s * (to.1 - from.1));
                pose.unapply(from.0.lerp(to.0, s))
                    .distance(own_from.lerp(own_to, s))
            })
            .into_iter()
            .fold(0.0, f64::max);
        self.inner.first_contact(
            (own_from, from.1),
            (own_to, to.1),
            separation / scale + 2.0 * bulge,
        )
    }
}
