//! Obstacles that would hide all of the cloth: a box that closes on it, seen from outside.

use super::View;
use crate::record::{Frame, FrameObstacle};
use muslin_linalg::Vec3;

/// Points of cloth that are looked for in a frame, and frames.
const POINTS: usize = 60;
const FRAMES: usize = 3;
/// Share of the points that may be hidden.
const MOST_HIDDEN: f64 = 0.9;

/// Names of obstacles to be left out so that the cloth is seen in a picture from there: none in nearly all scenes. Those
/// named in `beside` stay.
pub(super) fn in_the_way(frames: &[Frame], view: &View, beside: &[String]) -> Vec<String> {
    // For every point looked for, the obstacles in front of it.
    let mut points: Vec<Vec<&str>> = Vec::new();
    for frame in frames.iter().step_by(frames.len().div_ceil(FRAMES).max(1)) {
        let cloth: Vec<Vec3> = frame
            .bodies
            .iter()
            .flat_map(|b| &b.positions)
            .copied()
            .collect();
        let solid = || frame.obstacles.iter().filter(|o| !beside.contains(&o.name));
        for p in cloth.iter().step_by(cloth.len().div_ceil(POINTS).max(1)) {
            let before = solid().filter(|o| hides(o, view.from, *p));
            points.push(before.map(|o| o.name.as_str()).collect());
        }
    }
    let mut left_out: Vec<String> = Vec::new();
    loop {
        let hidden = points.iter().filter(|before| !before.is_empty()).count();
        if (hidden as f64) <= MOST_HIDDEN * points.len() as f64 {
            return left_out;
        }
        // The one that hides most goes first; of equals the first by name.
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for name in points.iter().flatten() {
            match counts.iter_mut().find(|(n, _)| n == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let Some((worst, _)) = counts.first().copied() else {
            return left_out;
        };
        for before in &mut points {
            before.retain(|name| *name != worst);
        }
        left_out.push(worst.to_owned());
    }
}

/// Whether an obstacle is between the eye and a point.
fn hides(obstacle: &FrameObstacle, eye: Vec3, point: Vec3) -> bool {
    // Not quite up to the point: what touches it does not hide it.
    let way = (point - eye) * 0.995;
    obstacle.faces.iter().any(|f| {
        let [a, b, c] = f.map(|v| obstacle.positions[v as usize]);
        let (e, g) = (b - a, c - a);
        let across = way.cross(g);
        let volume = e.dot(across);
        if volume == 0.0 {
            return false;
        }
        let from = eye - a;
        let u = from.dot(across) / volume;
        let side = from.cross(e);
        let v = way.dot(side) / volume;
        let t = g.dot(side) / volume;
        u >= 0.0 && v >= 0.0 && u + v <= 1.0 && (0.0..=1.0).contains(&t)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::FrameBody;
    use std::sync::Arc;

    fn wall(name: &str, x: f64, half: f64) -> FrameObstacle {
        let corner = |y: f64, z: f64| Vec3::new(x, half * y, half * z);
        FrameObstacle {
            name: name.into(),
            positions: vec![
                corner(-1., -1.),
                corner(1., -1.),
                corner(1., 1.),
                corner(-1., 1.),
            ],
            faces: Arc::new(vec![[0, 1, 2], [0, 2, 3]]),
        }
    }

    #[test]
    fn only_what_hides_all_of_the_cloth_is_left_out() {
        let place = |i: u32| Vec3::new(0.0, 0.1 * f64::from(i % 10), 0.1 * f64::from(i / 10));
        let cloth = FrameBody {
            name: "sheet".into(),
            positions: (0..100).map(place).collect(),
            velocities: Vec::new(),
            faces: Arc::default(),
            material: Arc::default(),
            tetrahedra: Arc::default(),
        };
        let view = View {
            from: Vec3::new(10.0, 0.45, 0.45),
            to: Vec3::new(0.0, 0.45, 0.45),
            opening: 0.5,
            radius: 1.0,
        };
        let found = |obstacles: Vec<FrameObstacle>, beside: &[String]| {
            let frame = Frame {
                number: 0,
                time: 0.0,
                faces_frame: 0,
                bodies: vec![cloth.clone()],
                obstacles,
                contacts: Vec::new(),
            };
            in_the_way(&[frame], &view, beside)
        };
        // One before it, one behind it, one that hides a part.
        let behind = || wall("behind", -1.0, 5.0);
        let part = || wall("part", 1.0, 0.4);
        assert!(found(vec![behind(), part()], &[]).is_empty());
        let front = wall("front", 2.0, 5.0);
        assert_eq!(found(vec![behind(), front.clone(), part()], &[]), ["front"]);
        assert!(found(vec![front], &["front".into()]).is_empty());
    }
}
