//! From a world to the elements of local steps.

use super::attachment::{Blown, Dragged, Rail};
use super::bending::{EdgeBend, PatchBend};
use super::following::FollowingGroup;
use super::limit::StretchLimit;
use super::local::Local;
use super::split::SplitGroup;
use super::spring::SplitSpring;
use super::tetrahedron::{DampedTetrahedron, SplitTetrahedron};
use super::triangle::Triangle;
use crate::force::Element;
use crate::force::bend::Hinge;
use crate::force::drag::DragTriangle;
use crate::force::grip::Grip;
use crate::force::stretch::StretchTriangle;
use crate::material::{BendElement, Fabric};
use crate::scene::AdmmSettings;
use crate::world::forces::{
    body_tetrahedra, curvature_patches, edge_hinges, edge_springs, rest_area, stretch_triangles,
};
use crate::world::{Body, Substance, World};

/// Speed of the air relative to cloth for which the constant part of its resistance is made, m/s.
const BRISK: f64 = 10.0;

/// Weight of solids and limits of stretch as a share of their stiffness, unless the scene says otherwise.
const SOLID: f64 = 0.5;

/// Weight of an element of cloth over the mean of stiffness and inertia that [`between`] takes: measured, over scenes in
/// which that mean is a fortieth to a quarter of the stiffness.
const BETWEEN: f64 = 0.25;
/// Bounds of that weight as a share of the stiffness.
const SHARES: [f64; 2] = [1.0 / 64.0, 0.5];

/// Weight of an element of cloth as a share of its `stiffness` (N/m) along the cloth. Across, all that it meets is inertia, of
/// its mass (kg) in steps of `dt` (s), and iterations come to the answer soonest with a weight between the two.
fn between(mass: f64, stiffness: f64, dt: f64) -> f64 {
    let share = (mass / (dt * dt * stiffness)).powf(0.25);
    (BETWEEN * share).clamp(SHARES[0], SHARES[1])
}

/// Elements of all bodies. `clamped`: vertices held in all axes; `hurry`: least weight of the elements of cloth as a share
/// of their stiffness.
pub fn locals(
    world: &World,
    settings: &AdmmSettings,
    clamped: &[bool],
    hurry: f64,
    dt: f64,
) -> Vec<Box<dyn Local>> {
    let n = world.state.x.len();
    let solid_weight = settings.elastic_weight.unwrap_or(SOLID);
    let (mut triangles, mut limits, mut springs) = (Vec::new(), Vec::new(), Vec::new());
    let (mut edges, mut patches, mut blown) = (Vec::new(), Vec::new(), Vec::new());
    let (mut tetrahedra, mut damped) = (Vec::new(), Vec::new());
    for body in &world.bodies {
        let clamped = &clamped[body.vertices.clone()];
        match &body.substance {
            Substance::Solid(solid) => {
                tetrahedra.extend(
                    body_tetrahedra(body, solid)
                        .into_iter()
                        .map(|t| SplitTetrahedron::new(t, solid_weight)),
                );
                if solid.damping > 0.0 {
                    damped.extend(
                        body_tetrahedra(body, solid)
                            .into_iter()
                            .map(|t| DampedTetrahedron::new(t, dt)),
                    );
                }
            }
            Substance::Fabric(fabric) => {
                if settings.strain_limit > 0.0 {
                    limits.extend(stretch_limits(body, fabric, settings, solid_weight, dt));
                }
                let share = |mass: f64| {
                    move |stiffness: f64| {
                        let automatic = between(mass, stiffness, dt).max(hurry);
                        settings.elastic_weight.unwrap_or(automatic)
                    }
                };
                match fabric.spring_modulus() {
                    Some(modulus) => {
                        let mass = body_area(body) * fabric.density;
                        let each = mass / body.topology.edges.len() as f64;
                        springs.extend(
                            edge_springs(body, fabric, modulus)
                                .into_iter()
                                .map(|s| SplitSpring::new(s, share(each), dt)),
                        );
                    }
                    None => {
                        triangles.extend(stretch_triangles(body, fabric).into_iter().map(|t| {
                            let mass = t.area() * fabric.density;
                            Triangle::new(t, share(mass), dt)
                        }));
                    }
                }
                match fabric.bend_element() {
                    Some(BendElement::Hinge) => edges.extend(
                        edge_hinges(body, fabric, clamped)
                            .into_iter()
                            .map(|(edge, hinge)| edge_bend(body, edge, hinge, dt)),
                    ),
                    Some(BendElement::Curvature) => patches.extend(
                        curvature_patches(body, fabric, clamped)
                            .into_iter()
                            .map(|p| PatchBend::new(p, dt)),
                    ),
                    None => {}
                }
            }
        }
        if let Some(wind) = &world.wind {
            let first = body.vertices.start as u32;
            let drag = wind.normal.max(wind.tangential);
            for (f, m) in body.topology.faces.iter().zip(&body.material) {
                let element = DragTriangle::new(f.map(|v| v + first), wind.clone());
                let resistance = 0.5 * wind.density * drag * BRISK * rest_area(m);
                blown.push(Blown::new(element, resistance / dt));
            }
        }
    }
    let mut groups: Vec<Box<dyn Local>> = vec![
        Box::new(SplitGroup::new(n, triangles)),
        Box::new(SplitGroup::new(n, limits)),
        Box::new(SplitGroup::new(n, springs)),
        Box::new(SplitGroup::new(n, tetrahedra)),
        Box::new(FollowingGroup::new(n, damped)),
        Box::new(FollowingGroup::new(n, edges)),
        Box::new(FollowingGroup::new(n, patches)),
        Box::new(FollowingGroup::new(n, blown)),
    ];
    if let Some(hand) = world.hand() {
        let dragged = Dragged::new(Grip::new(hand.clone()), dt);
        groups.push(Box::new(FollowingGroup::new(n, vec![dragged])));
    }
    groups.retain(|g| !g.is_empty());
    groups
}

/// Area of a cloth at rest, m².
fn body_area(body: &Body) -> f64 {
    body.material.iter().map(rest_area).sum()
}

/// Vertices of which some axes are held. `weights`: of each vertex, N/m.
pub fn rails(world: &World, weights: &[f64]) -> SplitGroup<Rail, 1, 1> {
    let mut rails = Vec::new();
    for pin in world.pins.iter().filter(|p| !p.axes.iter().all(|a| *a)) {
        for v in &pin.vertices {
            rails.push(Rail::new(*v, pin.axes, weights[*v as usize]));
        }
    }
    SplitGroup::new(world.state.x.len(), rails)
}

fn stretch_limits<'a>(
    body: &'a Body,
    fabric: &Fabric,
    settings: &'a AdmmSettings,
    share: f64,
    dt: f64,
) -> impl Iterator<Item = StretchLimit> + use<'a> {
    let stiffness = fabric.membrane_modulus() * (1.0 + fabric.damping / dt);
    let longest = 1.0 + settings.strain_limit;
    stretch_triangles(body, fabric)
        .into_iter()
        .map(move |t: StretchTriangle| {
            let weight = share * stiffness * t.area();
            StretchLimit::new(t.vertices(), t.weights(), weight, longest)
        })
}

fn edge_bend(body: &Body, edge: usize, hinge: Hinge, dt: f64) -> EdgeBend {
    let e = &body.topology.edges[edge];
    let (mut heights, mut feet) = ([0.0; 2], [0.0; 2]);
    for side in 0..2 {
        let face = e.faces[side] as usize;
        let at = |v: u32| {
            let corners = &body.topology.faces[face];
            body.material[face][corners.iter().position(|c| *c == v).unwrap_or(0)]
        };
        let [a, b, corner] = [e.vertices[0], e.vertices[1], e.opposite[side]].map(at);
        let along = b - a;
        feet[side] = (corner - a).dot(along) / along.length_squared();
        heights[side] = along.perp_dot(corner - a).abs() / along.length();
    }
    EdgeBend::new(hinge, heights, feet, dt)
}
