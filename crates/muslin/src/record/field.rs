//! Quantities over a recorded surface: how much it is stretched, how hard it is pressed.

use super::frame::{Frame, FrameBody};
use crate::contact::Party;
use crate::force::stretch::green_strain;
use muslin_geometry::distance::SurfaceDistance;
use muslin_linalg::{Mat2, Mat3, Mat3x2, Vec2, Vec3, svd};

/// Smallest and largest principal stretch of a triangle with rest corners `rest` (m) and corners `now` (m).
pub fn principal_stretch(rest: [Vec2; 3], now: [Vec3; 3]) -> [f64; 2] {
    let rest = Mat2::from_cols(rest[1] - rest[0], rest[2] - rest[0]).inverse();
    let (a, b) = (now[1] - now[0], now[2] - now[0]);
    let gradient = Mat3x2 {
        x: a * rest.x_axis.x + b * rest.x_axis.y,
        y: a * rest.y_axis.x + b * rest.y_axis.y,
    };
    let [uu, vv, shear] = green_strain(&gradient);
    let (mean, radius) = (
        f64::midpoint(uu, vv),
        0.5 * ((uu - vv).powi(2) + shear * shear).sqrt(),
    );
    let stretch = |g: f64| (1.0 + 2.0 * g).max(0.0).sqrt();
    [stretch(mean - radius), stretch(mean + radius)]
}

/// Smallest and largest principal stretch of a tetrahedron with rest corners `rest` (m) and corners `now` (m); the smallest
/// is negative if it is inside out.
pub fn solid_stretch(rest: [Vec3; 4], now: [Vec3; 4]) -> [f64; 2] {
    let edges = |p: [Vec3; 4]| Mat3::from_cols(p[1] - p[0], p[2] - p[0], p[3] - p[0]);
    let found = svd(&(edges(now) * edges(rest).inverse()));
    [found.s.z, found.s.x]
}

/// Smallest and largest principal stretch of every face.
pub fn principal_stretches(body: &FrameBody) -> Vec<[f64; 2]> {
    let faces = body.faces.iter().zip(body.material.iter());
    faces
        .map(|(f, m)| {
            principal_stretch(
                m.map(|c| Vec2::new(f64::from(c[0]), f64::from(c[1]))),
                f.map(|v| body.positions[v as usize]),
            )
        })
        .collect()
}

/// Pressure of contacts on every vertex of every body, Pa, with steps of `dt` (s): the normal impulses of the last step,
/// spread over the corners of the nearest face. A contact of a cloth with itself counts on one of its sides.
pub fn contact_pressure(frame: &Frame, dt: f64) -> Vec<Vec<f64>> {
    let each = frame.bodies.iter().enumerate().map(|(i, body)| {
        let mut force = vec![0.0; body.positions.len()];
        let own = |t: &&crate::contact::Touch| t.parties.contains(&Party::Cloth(i));
        if !frame.contacts.iter().any(|t| own(&t)) {
            return force;
        }
        let faces: Vec<[u32; 3]> = body.faces.iter().map(|f| f.map(|v| v as u32)).collect();
        // A surface that is not finite has no pressure that means anything.
        let Ok(surface) = SurfaceDistance::new(&body.positions, &faces) else {
            return force;
        };
        for touch in frame.contacts.iter().filter(own) {
            if let Some(found) = surface.closest(touch.position, f64::INFINITY) {
                let normal = touch.impulse.dot(touch.normal).max(0.0) / dt;
                let corners = faces[found.face as usize];
                for (v, weight) in corners.into_iter().zip(found.weights) {
                    force[v as usize] += weight * normal;
                }
            }
        }
        let areas = vertex_areas(body);
        let over = |(f, a): (&f64, f64)| if a > 0.0 { f / a } else { 0.0 };
        force.iter().zip(areas).map(over).collect()
    });
    each.collect()
}

/// A third of the area of the faces round each vertex, m².
pub fn vertex_areas(body: &FrameBody) -> Vec<f64> {
    let mut areas = vec![0.0; body.positions.len()];
    for f in body.faces.iter() {
        let [a, b, c] = f.map(|v| body.positions[v as usize]);
        let share = (b - a).cross(c - a).length() / 6.0;
        for v in f {
            areas[*v as usize] += share;
        }
    }
    areas
}
