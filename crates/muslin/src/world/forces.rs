//! Which elements a world consists of.

use super::{Body, Substance, World};
use crate::force::Forces;
use crate::force::bend::{CurvaturePatch, Hinge, PATCH, RestSurface, dihedral, stencils};
use crate::force::drag::DragTriangle;
use crate::force::grip::Grip;
use crate::force::spring::Spring;
use crate::force::stretch::StretchTriangle;
use crate::force::tet::Tetrahedron;
use crate::material::{BendElement, Fabric, Solid};
use muslin_geometry::mesh::NONE;
use muslin_linalg::{SpanTooLarge, Vec2, Vec3};
use std::sync::Arc;

/// Which vertices are held in all axes.
pub(crate) fn clamped(world: &World) -> Vec<bool> {
    let mut held = vec![[false; 3]; world.state.x.len()];
    for pin in &world.pins {
        for v in &pin.vertices {
            for k in 0..3 {
                held[*v as usize][k] |= pin.axes[k];
            }
        }
    }
    held.iter().map(|h| h.iter().all(|k| *k)).collect()
}

/// Makes the elements of all bodies.
pub(super) fn build(world: &World) -> Result<Forces, SpanTooLarge> {
    let clamped = clamped(world);
    let mut builder = Forces::builder();
    let (mut triangles, mut springs, mut hinges, mut patches, mut drags) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut tetrahedra = Vec::new();
    for body in &world.bodies {
        let clamped = &clamped[body.vertices.clone()];
        match &body.substance {
            Substance::Solid(solid) => tetrahedra.extend(body_tetrahedra(body, solid)),
            Substance::Fabric(fabric) => {
                match fabric.spring_modulus() {
                    Some(modulus) => springs.extend(edge_springs(body, fabric, modulus)),
                    None => triangles.extend(stretch_triangles(body, fabric)),
                }
                match fabric.bend_element() {
                    Some(BendElement::Hinge) => {
                        let made = edge_hinges(body, fabric, clamped).into_iter();
                        hinges.extend(made.map(|(_, hinge)| hinge));
                    }
                    Some(BendElement::Curvature) => {
                        patches.extend(curvature_patches(body, fabric, clamped));
                    }
                    None => {}
                }
            }
        }
        if let Some(wind) = &world.wind {
            let first = body.vertices.start as u32;
            drags.extend(
                body.topology
                    .faces
                    .iter()
                    .map(|f| DragTriangle::new(f.map(|v| v + first), wind.clone())),
            );
        }
    }
    builder.add(triangles);
    builder.add(springs);
    builder.add(hinges);
    builder.add(patches);
    builder.add(tetrahedra);
    builder.add(drags);
    builder.add(
        world
            .hand()
            .cloned()
            .map(Grip::new)
            .into_iter()
            .collect::<Vec<_>>(),
    );
    Forces::new(world.state.x.len(), builder)
}

pub(crate) fn body_tetrahedra(body: &Body, solid: &Solid) -> Vec<Tetrahedron> {
    let first = body.vertices.start as u32;
    let rest = body.rest_positions.as_deref().unwrap_or(&body.initial);
    let corners = |t: &[u32; 4]| t.map(|v| rest[v as usize]);
    let tetrahedra = body.tetrahedra.iter();
    tetrahedra
        .map(|t| Tetrahedron::new(t.map(|v| v + first), corners(t), solid))
        .collect()
}

pub(crate) fn rest_area(m: &[Vec2; 3]) -> f64 {
    (m[1] - m[0]).perp_dot(m[2] - m[0]).abs() / 2.0
}

pub(crate) fn stretch_triangles(body: &Body, fabric: &Fabric) -> Vec<StretchTriangle> {
    let first = body.vertices.start as u32;
    let law = Arc::new(fabric.stretch_law());
    let faces = body.topology.faces.iter().zip(&body.material);
    faces
        .map(|(f, m)| StretchTriangle::new(f.map(|v| v + first), *m, law.clone()))
        .collect()
}

/// Rest length and direction of an edge, from the material coordinates of its left face.
fn rest_edge(body: &Body, edge: usize) -> Vec2 {
    let e = &body.topology.edges[edge];
    let face = e.faces[0] as usize;
    let corner = |v: u32| {
        body.topology.faces[face]
            .iter()
            .position(|w| *w == v)
            .unwrap_or(0)
    };
    body.material[face][corner(e.vertices[1])] - body.material[face][corner(e.vertices[0])]
}

pub(crate) fn edge_springs(body: &Body, fabric: &Fabric, modulus: f64) -> Vec<Spring> {
    let first = body.vertices.start as u32;
    (0..body.topology.edges.len())
        .map(|i| {
            let e = &body.topology.edges[i];
            let around = e.faces.iter().filter(|f| **f != NONE);
            let area: f64 = around
                .map(|f| rest_area(&body.material[*f as usize]) / 3.0)
                .sum();
            let length = rest_edge(body, i).length();
            // Three families of edges share the plane: exact for equilateral triangles.
            let stiffness = 3.0 * modulus * area / (length * length);
            Spring::new(
                e.vertices.map(|v| v + first),
                length,
                stiffness,
                fabric.damping,
            )
        })
        .collect()
}

/// Hinges with the edges they are at.
pub(crate) fn edge_hinges(body: &Body, fabric: &Fabric, clamped: &[bool]) -> Vec<(usize, Hinge)> {
    let first = body.vertices.start as u32;
    let law = Arc::new(fabric.hinge_law());
    let rigid = |f: u32| {
        body.topology.faces[f as usize]
            .iter()
            .all(|v| clamped[*v as usize])
    };
    let mut hinges = Vec::new();
    for (i, e) in body
        .topology
        .edges
        .iter()
        .enumerate()
        .filter(|(_, e)| !e.is_border())
    {
        // A clamped face does not bend, so the bend at its edge belongs to the other face alone.
        let area: f64 = e
            .faces
            .iter()
            .filter(|f| !rigid(**f))
            .map(|f| rest_area(&body.material[*f as usize]))
            .sum();
        if area == 0.0 {
            continue;
        }
        let local = [e.vertices[0], e.vertices[1], e.opposite[0], e.opposite[1]];
        let rest_angle = body
            .rest_positions
            .as_ref()
            .map_or(0.0, |p| dihedral(&local.map(|v| p[v as usize])).0);
        let direction = rest_edge(body, i);
        let hinge = Hinge::new(
            local.map(|v| v + first),
            direction.length(),
            area,
            direction.to_angle(),
            rest_angle,
            law.clone(),
        );
        hinges.push((i, hinge));
    }
    hinges
}

pub(crate) fn curvature_patches(
    body: &Body,
    fabric: &Fabric,
    clamped: &[bool],
) -> Vec<CurvaturePatch> {
    let first = body.vertices.start as u32;
    let moduli = Arc::new(fabric.bending_moduli());
    let rest = RestSurface {
        topology: &body.topology,
        material: &body.material,
        clamped,
    };
    let mut patches = Vec::new();
    for (f, stencil) in stencils(&rest).into_iter().enumerate() {
        let Some(mut stencil) = stencil else { continue };
        let at_ease: Option<[Vec3; PATCH]> = body
            .rest_positions
            .as_ref()
            .map(|p| stencil.vertices.map(|v| p[v as usize]));
        for v in &mut stencil.vertices {
            *v += first;
        }
        patches.push(CurvaturePatch::new(
            stencil,
            rest_area(&body.material[f]),
            moduli.clone(),
            at_ease.as_ref(),
        ));
    }
    patches
}
