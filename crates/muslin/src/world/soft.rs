//! Soft bodies of a scene: shape, material and place become a body of tetrahedra.

use super::build::{Placed, face_coordinates, rotation_vector};
use super::{Body, Substance, World};
use crate::material::{DEFAULT_DAMPING, DEFAULT_POISSON, Solid, shipped_solid, shipped_solids};
use crate::scene::{Copies, SceneError, Soft, mesh_file, nearest_name, tet_file};
use muslin_geometry::mesh::{self, ShapeError, Topology};
use muslin_geometry::tet::{self, TetMesh};
use muslin_linalg::{Quat, Vec3};
use std::path::Path;

/// Thickness of the skin where none is given, m, and as a part of the shortest edge.
const SKIN: f64 = 1e-3;
const SKIN_OF_EDGE: f64 = 0.1;

impl World {
    pub(super) fn add_soft(
        &mut self,
        folder: &Path,
        name: &str,
        soft: &Soft,
    ) -> Result<(), SceneError> {
        let key = format!("soft.{name}");
        let solid = material(&key, soft)?;
        let (shape, raw) = tetrahedra(&key, soft, folder)?;
        let mut prepared = tet::prepare(raw).map_err(|e| {
            SceneError::at(
                format!("{key}.{shape}"),
                format!("the tetrahedra of soft body `{name}` cannot be used: {e}"),
                "mend the mesh in the program it comes from, or use smaller tetrahedra",
            )
        })?;
        for p in &mut prepared.mesh.positions {
            *p *= soft.scale;
        }
        if let Some(copies) = &soft.copies {
            repeat(&mut prepared, copies.count.iter().product());
        }
        let rest = prepared.mesh.positions;
        let tetrahedra = prepared.mesh.tetrahedra;
        let topology = Topology::build(rest.len(), &prepared.surface)
            .map_err(|e| SceneError::at(key.clone(), e.to_string(), "mend the mesh"))?;
        let material = face_coordinates(&prepared.surface, &rest, |_| Vec3::ZERO);
        let mut mass = vec![0.0; rest.len()];
        for t in &tetrahedra {
            let volume = tet::volume(t.map(|v| rest[v as usize]));
            for v in t {
                mass[*v as usize] += solid.density * volume / 4.0;
            }
        }
        let vertices = self.add_vertices(
            &rest,
            &mass,
            &Placed {
                rotate: soft.rotate.as_ref(),
                translate: soft.translate,
                velocity: soft.velocity,
                angular_velocity: soft.angular_velocity,
            },
        );
        if let Some(copies) = &soft.copies {
            let own = vertices.clone();
            spread(
                copies,
                prepared.surface_vertices,
                &mass,
                &mut self.state.x[own],
            );
        }
        let length = |e: &mesh::Edge| {
            let [a, b] = e.vertices.map(|v| rest[v as usize]);
            a.distance(b)
        };
        let shortest = topology
            .edges
            .iter()
            .map(length)
            .fold(f64::INFINITY, f64::min);
        let thickness = soft.thickness.unwrap_or(SKIN.min(SKIN_OF_EDGE * shortest));
        let surface = vertices.start..vertices.start + prepared.surface_vertices;
        self.bodies.push(Body {
            thickness,
            distance_kept: thickness.min(shortest / 2.0),
            name: name.to_string(),
            initial: self.state.x[vertices.clone()].to_vec(),
            vertices,
            surface,
            topology,
            material,
            tetrahedra,
            rest_positions: Some(rest),
            origin: prepared.mesh.origin,
            substance: Substance::Solid(solid),
            substance_name: soft.material.clone().unwrap_or_else(|| "solid".into()),
            repairs: prepared.repairs.iter().map(ToString::to_string).collect(),
        });
        Ok(())
    }
}

/// Repeats a solid, all in the same place, with the vertices of all surfaces first. Copies have the same rest shape to the
/// bit, so that what is computed for one serves all.
fn repeat(solid: &mut tet::Solid, copies: usize) {
    let (n, outer) = (solid.mesh.positions.len(), solid.surface_vertices);
    let place = |copy: usize, vertex: usize| {
        if vertex < outer {
            copy * outer + vertex
        } else {
            copies * outer + copy * (n - outer) + vertex - outer
        }
    };
    let mut positions = vec![Vec3::ZERO; n * copies];
    for copy in 0..copies {
        for (vertex, at) in solid.mesh.positions.iter().enumerate() {
            positions[place(copy, vertex)] = *at;
        }
    }
    let number = |copy: usize, v: u32| place(copy, v as usize) as u32;
    let (mut tetrahedra, mut surface) = (Vec::new(), Vec::new());
    for copy in 0..copies {
        let solids = solid.mesh.tetrahedra.iter();
        tetrahedra.extend(solids.map(|t| t.map(|v| number(copy, v))));
        let faces = solid.surface.iter();
        surface.extend(faces.map(|f| f.map(|v| number(copy, v))));
    }
    solid.mesh.positions = positions;
    solid.mesh.tetrahedra = tetrahedra;
    // Numbers of a file mean one of the copies no more than another.
    solid.mesh.origin.clear();
    solid.surface = surface;
    solid.surface_vertices = outer * copies;
}

/// Moves copies from the place of the first to their own. `outer`: vertices of all surfaces together.
fn spread(copies: &Copies, outer: usize, mass: &[f64], x: &mut [Vec3]) {
    let [nx, ny, nz] = copies.count;
    let all = nx * ny * nz;
    let (surface, inner) = (outer / all, (x.len() - outer) / all);
    let centre = {
        let own = (0..surface).chain(outer..outer + inner);
        let sums = own.fold((Vec3::ZERO, 0.0), |(c, m), v| {
            (c + x[v] * mass[v], m + mass[v])
        });
        sums.0 / sums.1
    };
    for copy in 0..all {
        let step = [copy % nx, copy / nx % ny, copy / (nx * ny)].map(|k| k as f64);
        let shift = Vec3::from_array(step) * Vec3::from_array(copies.spacing);
        let turn = copies.turn.as_ref().map_or(Quat::IDENTITY, |t| {
            Quat::from_scaled_axis(rotation_vector(t) * copy as f64)
        });
        let skin = copy * surface..(copy + 1) * surface;
        for v in skin.chain(outer + copy * inner..outer + (copy + 1) * inner) {
            x[v] = centre + turn * (x[v] - centre) + shift;
        }
    }
}

/// The solid of a soft body: a shipped one with changes, or all that is typed.
fn material(key: &str, soft: &Soft) -> Result<Solid, SceneError> {
    let shipped = match &soft.material {
        None => None,
        Some(name) => Some(shipped_solid(name).ok_or_else(|| {
            let remedy = nearest_name(name, shipped_solids()).map_or_else(
                || {
                    let names: Vec<&str> = shipped_solids().collect();
                    format!(
                        "use one of {}, or give `density` and `young` instead",
                        names.join(", ")
                    )
                },
                |near| format!("did you mean `{near}`?"),
            );
            SceneError::at(
                format!("{key}.material"),
                format!("there is no solid `{name}`"),
                remedy,
            )
        })?),
    };
    let needed = |name: &str, typed: Option<f64>, of: fn(&Solid) -> f64| {
        typed.or(shipped.as_ref().map(of)).ok_or_else(|| {
            SceneError::at(
                key,
                format!("the `{name}` of the soft body is missing"),
                "give `material`, or `density` in kg/m³ and `young` in Pa",
            )
        })
    };
    let solid = Solid {
        density: needed("density", soft.density, |s| s.density)?,
        young: needed("young", soft.young, |s| s.young)?,
        poisson: soft
            .poisson
            .unwrap_or(shipped.as_ref().map_or(DEFAULT_POISSON, |s| s.poisson)),
        damping: soft
            .damping
            .unwrap_or(shipped.as_ref().map_or(DEFAULT_DAMPING, |s| s.damping)),
        description: shipped
            .as_ref()
            .map_or(String::new(), |s| s.description.clone()),
        source: shipped.as_ref().map_or(String::new(), |s| s.source.clone()),
        assumed: shipped
            .as_ref()
            .map_or(String::new(), |s| s.assumed.clone()),
    };
    solid
        .check()
        .map_err(|f| SceneError::at(format!("{key}.{}", f.key), f.problem, f.remedy))?;
    Ok(solid)
}

/// The tetrahedra of a soft body before they are placed, and the key that names its shape.
fn tetrahedra(
    key: &str,
    soft: &Soft,
    folder: &Path,
) -> Result<(&'static str, TetMesh), SceneError> {
    let made = |name: &'static str, mesh: Result<TetMesh, ShapeError>| {
        let refused = |e: ShapeError| SceneError::at(format!("{key}.{name}"), e.problem, e.remedy);
        Ok((name, mesh.map_err(refused)?))
    };
    if let Some(b) = &soft.r#box {
        let edge = b.edge.unwrap_or(1.0);
        let count = |k: usize| (b.size[k] / edge).round().clamp(1.0, 1e6) as usize;
        let cells = b.cells.unwrap_or_else(|| [count(0), count(1), count(2)]);
        return made("box", tet::block(b.size, cells));
    }
    if let Some(h) = &soft.hexahedron {
        let corners = h.corners.map(Vec3::from_array);
        return made("hexahedron", tet::hexahedron(corners, h.cells));
    }
    if let Some(b) = &soft.ball {
        return made("ball", tet::ball(b.radius, b.edge));
    }
    if let Some(t) = &soft.torus {
        return made("torus", tet::torus(t.radius, t.tube, t.edge));
    }
    if let Some(b) = &soft.bar {
        return made("bar", tet::bar(b.radius, b.length, b.edge));
    }
    if let Some(fill) = &soft.fill {
        let unusable =
            |problem: String, remedy: &str| SceneError::at(format!("{key}.fill"), problem, remedy);
        let raw = mesh_file::read(&folder.join(&fill.mesh))?;
        let (surface, _) = mesh::clean(raw).map_err(|e| {
            let problem = format!("the surface cannot be used: {e}");
            unusable(problem, "mend the mesh in the program it comes from")
        })?;
        let filled = tet::fill_surface(&surface, fill.edge).map_err(|e| {
            let remedy = match e {
                tet::TetError::Size(_) => "choose another `edge`",
                tet::TetError::Open { .. } => "close its holes in the program it comes from",
                _ => "use a smaller `edge`, or mend the mesh in the program it comes from",
            };
            unusable(format!("the surface cannot be filled: {e}"), remedy)
        })?;
        return Ok(("fill", filled));
    }
    let file = soft.mesh.as_deref().unwrap_or_default();
    Ok(("mesh", tet_file::read(&folder.join(file))?))
}
