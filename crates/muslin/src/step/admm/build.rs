//! From a world to the elements of local steps.

use super::attachment::{Blown, Dragged, Rail};
use super::bending::{EdgeBend, PatchBend};
use super::limit::StretchLimit;
use super::split::{FollowingGroup, Local, SplitGroup};
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

/// Elements of all bodies. `clamped`: vertices held in all axes; `stiffening`: how much stiffer cloth is than at rest.
pub fn locals(
    world: &World,
    settings: &AdmmSettings,
    clamped: &[bool],
    stiffening: f64,
    dt: f64,
) -> Vec<Box<dyn Local>> {
    let n = world.state.x.len();
    let share = settings.elastic_weight;
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
                        .map(|t| SplitTetrahedron::new(t, share)),
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
                    limits.extend(stretch_limits(body, fabric, settings, dt));
                }
                match fabric.spring_modulus() {
                    Some(modulus) => springs.extend(
                        edge_springs(body, fabric, modulus)
                            .into_iter()
                            .map(|s| SplitSpring::new(s, share, dt)),
                    ),
                    None => triangles.extend(
                        stretch_triangles(body, fabric)
                            .into_iter()
                            .map(|t| Triangle::new(t, share * stiffening, dt)),
                    ),
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
    dt: f64,
) -> impl Iterator<Item = StretchLimit> + use<'a> {
    let stiffness = fabric.membrane_modulus() * (1.0 + fabric.damping / dt);
    let longest = 1.0 + settings.strain_limit;
    stretch_triangles(body, fabric)
        .into_iter()
        .map(move |t: StretchTriangle| {
            let weight = settings.elastic_weight * stiffness * t.area();
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
