//! Which vertices a pin or force means.

use super::Body;
use crate::scene::{BallRegion, BoxRegion, SceneError, Triple};
use muslin_linalg::Vec3;

/// The four ways to name vertices, as they stand in the scene.
pub(super) struct Selection<'a> {
    pub key: String,
    pub vertices: Option<&'a Vec<u32>>,
    pub nearest: Option<&'a Vec<Triple>>,
    pub r#box: Option<&'a BoxRegion>,
    pub sphere: Option<&'a BallRegion>,
}

impl Selection<'_> {
    /// Vertices of the state, ascending and without repetition; never empty.
    pub fn resolve(&self, body: &Body) -> Result<Vec<u32>, SceneError> {
        let first = body.vertices.start as u32;
        let inside = |test: &dyn Fn(Vec3) -> bool| {
            let hits = body.initial.iter().enumerate().filter(|(_, p)| test(**p));
            hits.map(|(i, _)| first + i as u32).collect::<Vec<u32>>()
        };
        let (key, mut found) = if let Some(list) = self.vertices {
            let mut found = Vec::new();
            for (i, wanted) in list.iter().enumerate() {
                let local = if body.origin.is_empty() {
                    ((*wanted as usize) < body.initial.len()).then_some(*wanted as usize)
                } else {
                    body.origin.iter().position(|o| o == wanted)
                };
                let Some(local) = local else {
                    return Err(SceneError::at(
                        format!("{}.vertices.{i}", self.key),
                        format!(
                            "{} `{}` has no vertex {wanted} in use",
                            body.kind(),
                            body.name
                        ),
                        format!("it has {} vertices, numbered from 0", body.initial.len()),
                    ));
                };
                found.push(first + local as u32);
            }
            ("vertices", found)
        } else if let Some(points) = self.nearest {
            (
                "nearest",
                points
                    .iter()
                    .map(|p| first + nearest(body, Vec3::from_array(*p)))
                    .collect(),
            )
        } else if let Some(b) = self.r#box {
            let (min, max) = (Vec3::from_array(b.min), Vec3::from_array(b.max));
            ("box", inside(&|p| p.cmpge(min).all() && p.cmple(max).all()))
        } else if let Some(s) = self.sphere {
            let center = Vec3::from_array(s.center);
            ("sphere", inside(&|p| p.distance(center) <= s.radius))
        } else {
            ("vertices", Vec::new())
        };
        found.sort_unstable();
        found.dedup();
        if found.is_empty() {
            let (min, max) = bounds(&body.initial);
            return Err(SceneError::at(
                format!("{}.{key}", self.key),
                format!("no vertex of {} `{}` is there", body.kind(), body.name),
                format!("it reaches from {min:.3} to {max:.3}"),
            ));
        }
        Ok(found)
    }
}

/// The body's vertex nearest to a point, counted from its first.
pub(super) fn nearest(body: &Body, point: Vec3) -> u32 {
    let distance = |i: &usize| body.initial[*i].distance_squared(point);
    (0..body.initial.len())
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .unwrap_or(0) as u32
}

/// Corners of the smallest box round points.
pub(crate) fn bounds(points: &[Vec3]) -> (Vec3, Vec3) {
    points.iter().fold(
        (Vec3::splat(f64::INFINITY), Vec3::splat(f64::NEG_INFINITY)),
        |(a, b), p| (a.min(*p), b.max(*p)),
    )
}
