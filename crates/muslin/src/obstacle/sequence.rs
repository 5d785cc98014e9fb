//! A sequence of meshes with the same connectivity, passed through smoothly: an animated character, for instance.

use super::{Nature, Obstacle, ObstaclePoint};
use crate::motion::{hermite, hermite_rate};
use muslin_geometry::InputError;
use muslin_geometry::distance::SurfaceDistance;
use muslin_linalg::Vec3;
use std::sync::RwLock;

/// Meshes at equal intervals; at rest before the first and after the last.
#[derive(Debug)]
pub struct Sequence {
    frames: Vec<Vec<Vec3>>,
    faces: Vec<[u32; 3]>,
    frame_rate: f64,
    start: f64,
    /// The surfaces last asked for, newest first: one for each end of a time step.
    ready: RwLock<Vec<(f64, SurfaceDistance)>>,
}

/// Why meshes make no sequence.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SequenceError {
    /// There is nothing to show.
    #[error("a sequence needs at least one mesh")]
    Empty,
    /// A mesh has more or fewer vertices than the first.
    #[error("mesh {index} has {found} vertices, the first one has {expected}")]
    VertexCount {
        /// Which mesh, from 0.
        index: usize,
        /// Vertices of the first.
        expected: usize,
        /// Its vertices.
        found: usize,
    },
    /// A mesh cannot be used.
    #[error("mesh {index}: {source}")]
    Input {
        /// Which mesh, from 0.
        index: usize,
        /// What is wrong with it.
        source: InputError,
    },
}

const READY: usize = 2;

impl Sequence {
    /// `frame_rate` meshes a second, the first at time `start` (s).
    pub fn new(
        frames: Vec<Vec<Vec3>>,
        faces: &[[u32; 3]],
        frame_rate: f64,
        start: f64,
    ) -> Result<Self, SequenceError> {
        let first = frames.first().ok_or(SequenceError::Empty)?;
        for (index, frame) in frames.iter().enumerate() {
            if frame.len() != first.len() {
                return Err(SequenceError::VertexCount {
                    index,
                    expected: first.len(),
                    found: frame.len(),
                });
            }
            muslin_geometry::validate::validate_positions(frame)
                .map_err(|source| SequenceError::Input { index, source })?;
        }
        let surface = SurfaceDistance::new(first, faces)
            .map_err(|source| SequenceError::Input { index: 0, source })?;
        Ok(Self {
            faces: faces.to_vec(),
            frame_rate,
            start,
            ready: RwLock::new(vec![(start, surface)]),
            frames,
        })
    }

    /// The four meshes round a time, with their weights and the rates of these (1/s).
    fn stencil(&self, time: f64) -> [(usize, f64, f64); 4] {
        let last = self.frames.len() - 1;
        let at = (time - self.start) * self.frame_rate;
        if at <= 0.0 || at.is_nan() || at >= last as f64 {
            let held = if at > 0.0 { last } else { 0 };
            return [
                (held, 1.0, 0.0),
                (held, 0.0, 0.0),
                (held, 0.0, 0.0),
                (held, 0.0, 0.0),
            ];
        }
        let k = at.floor() as usize;
        let (value, rate) = (hermite(at - k as f64), hermite_rate(at - k as f64));
        let around = [k.saturating_sub(1), k, k + 1, (k + 2).min(last)];
        // Slopes are half the difference of the neighbours, none at both ends.
        let ends = [k != 0, k + 1 != last].map(|inner| if inner { 0.5 } else { 0.0 });
        let spread = |[h0, h1, g0, g1]: [f64; 4]| {
            let (g0, g1) = (g0 * ends[0], g1 * ends[1]);
            [-g0, h0 - g1, h1 + g0, g1]
        };
        let (value, rate) = (spread(value), spread(rate));
        std::array::from_fn(|i| (around[i], value[i], rate[i] * self.frame_rate))
    }

    fn blend(&self, time: f64, weight: impl Fn(&(usize, f64, f64)) -> f64, out: &mut Vec<Vec3>) {
        let stencil = self.stencil(time);
        let meshes = stencil.map(|s| (&self.frames[s.0][..], weight(&s)));
        out.extend((0..self.frames[0].len()).map(|v| {
            let [a, b, c, d] = meshes.map(|(mesh, w)| mesh[v] * w);
            a + b + (c + d)
        }));
    }

    /// Answers from the surface at a time, which is made ready if it is not.
    fn with_surface<T>(&self, time: f64, ask: impl Fn(&SurfaceDistance) -> T) -> Option<T> {
        let find = |ready: &[(f64, SurfaceDistance)]| {
            ready.iter().find(|r| r.0 == time).map(|r| ask(&r.1))
        };
        // A poisoned lock only means that another thread panicked; the surfaces are whole, replaced in one go.
        let found = find(
            &self
                .ready
                .read()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        );
        if found.is_some() {
            return found;
        }
        let mut ready = self
            .ready
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(found) = find(&ready) {
            return Some(found);
        }
        let mut positions = Vec::with_capacity(self.frames[0].len());
        self.blend(time, |s| s.1, &mut positions);
        let mut surface = if ready.len() < READY {
            ready.first()?.1.clone()
        } else {
            ready.pop()?.1
        };
        surface.update(&positions).ok()?;
        let answer = ask(&surface);
        ready.insert(0, (time, surface));
        Some(answer)
    }
}

impl Obstacle for Sequence {
    fn closest(&self, point: Vec3, time: f64, within: f64) -> Option<ObstaclePoint> {
        if !time.is_finite() {
            return None;
        }
        let found = self.with_surface(time, |s| s.closest(point, within))??;
        let corners = self.faces[found.face as usize];
        let mut velocity = Vec3::ZERO;
        for (frame, _, rate) in self.stencil(time) {
            for (v, weight) in corners.iter().zip(found.weights) {
                velocity += self.frames[frame][*v as usize] * (rate * weight);
            }
        }
        Some(ObstaclePoint {
            position: found.position,
            normal: found.normal,
            signed_distance: found.signed_distance,
            velocity,
        })
    }

    fn faces(&self) -> &[[u32; 3]] {
        &self.faces
    }

    fn positions(&self, time: f64, out: &mut Vec<Vec3>) {
        self.blend(time, |s| s.1, out);
    }

    fn velocities(&self, time: f64, out: &mut Vec<Vec3>) {
        self.blend(time, |s| s.2, out);
    }

    fn nature(&self) -> Nature {
        Nature::Mesh
    }

    fn moves(&self) -> bool {
        self.frames.len() > 1
    }
}
