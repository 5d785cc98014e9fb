//! Contacts drawn on top of everything: a dot coloured by what the contact does, and an arrow along its impulse.

use super::raster::Surface;
use crate::contact::Touch;
use crate::record::state_code;
use muslin_linalg::Vec3;

/// Came apart, sticks, slides: told apart also by people with colour-blindness.
const COLORS: [[f32; 3]; 3] = [[0.55, 0.55, 0.55], [0.0, 0.36, 0.75], [0.95, 0.55, 0.0]];
/// Radius of a dot and length of the longest arrow, as shares of the radius of what is looked at.
const DOT: f64 = 0.008;
const ARROW: f64 = 0.25;

/// Dots and arrows of contacts, for a view of something of this radius (m).
pub(super) fn contacts(touches: &[Touch], radius: f64) -> Vec<Surface> {
    let mut surfaces: Vec<Surface> = COLORS.iter().map(|c| empty(*c)).collect();
    let largest = touches
        .iter()
        .map(|t| t.impulse.length())
        .fold(0.0, f64::max);
    for touch in touches {
        let surface = &mut surfaces[usize::from(state_code(touch.state))];
        let dot = DOT * radius;
        let axes = [Vec3::X * dot, Vec3::Y * dot, Vec3::Z * dot];
        spindle(surface, touch.position, axes);
        if largest > 0.0 {
            let along = touch.impulse * (ARROW * radius / largest);
            let side = touch.normal.any_orthonormal_vector() * (0.2 * dot);
            let other = touch.normal.cross(side);
            spindle(
                surface,
                touch.position + along * 0.5,
                [side, other, along * 0.5],
            );
        }
    }
    surfaces
}

fn empty(color: [f32; 3]) -> Surface {
    Surface {
        positions: Vec::new(),
        normals: Vec::new(),
        faces: Vec::new(),
        pattern: Vec::new(),
        square: 1.0,
        color,
        two_sided: false,
        shadow: false,
        on_top: true,
        fades: None,
    }
}

/// Eight triangles about a centre with the given half axes.
fn spindle(surface: &mut Surface, centre: Vec3, axes: [Vec3; 3]) {
    let first = surface.positions.len() as i32;
    for axis in axes {
        for end in [axis, -axis] {
            surface.positions.push(centre + end);
            surface.normals.push(end.normalize_or_zero());
        }
    }
    for x in [0, 1] {
        for y in [2, 3] {
            for z in [4, 5] {
                surface.faces.push([x, y, z].map(|v| first + v));
                surface.pattern.push([[0.0; 2]; 3]);
            }
        }
    }
}
