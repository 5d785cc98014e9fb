//! From the scene as written to the world at time zero.

use super::select::Selection;
use super::{Body, FrictionTable, Held, Push, State, Substance, World};
use crate::force::Forces;
use crate::force::drag::Wind;
use crate::material::{Fabric, shipped_fabric, shipped_fabrics};
use crate::motion::{Formula, Motion, TimeVector};
use crate::scene::{
    Axis, Cloth, DiagonalsSpec, Keyframe, MeasureKind, PathSpec, Pin, RestBend, RestFrom, Rotation,
    SceneError, SceneFile, Triple, mesh_file,
};
use muslin_geometry::mesh::{self, Diagonals, SurfaceMesh, Topology};
use muslin_linalg::{Quat, Vec2, Vec3};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Where a scene puts a body, and how it moves at first.
pub(super) struct Placed<'a> {
    pub rotate: Option<&'a Rotation>,
    pub translate: Triple,
    pub velocity: Triple,
    pub angular_velocity: Triple,
}

impl World {
    /// Builds everything a checked scene names; files are looked up relative to `folder`.
    pub fn build(scene: &SceneFile, folder: &Path) -> Result<Self, SceneError> {
        let mut world = Self {
            bodies: Vec::new(),
            state: State::default(),
            mass: Vec::new(),
            obstacles: super::obstacles::build(scene, folder)?,
            friction: FrictionTable::default(),
            pins: Vec::new(),
            pushes: Vec::new(),
            gravity: Vec3::from_array(scene.gravity),
            wind: wind(scene)?,
            time: 0.0,
            forces: Forces::empty(),
            revision: 0,
            topology_revision: 0,
            reactions: Vec::new(),
            touches: Vec::new(),
            impulses: Vec::new(),
            contact: scene.contact.clone(),
            tangle: crate::failsafe::Tangle::default(),
            hand: None,
            steered: super::steer::Steered::default(),
            wants_reactions: scene
                .measure
                .iter()
                .any(|m| m.kind == MeasureKind::Reaction),
        };
        // In the order of their names, as frames list them.
        let mut names: Vec<&String> = scene.cloth.keys().chain(scene.soft.keys()).collect();
        names.sort();
        for name in names {
            match (scene.cloth.get(name), scene.soft.get(name)) {
                (Some(cloth), _) => world.add_cloth(scene, folder, name, cloth)?,
                (None, Some(soft)) => world.add_soft(folder, name, soft)?,
                (None, None) => {}
            }
        }
        world.friction = FrictionTable::build(scene, &world.bodies)?;
        for (name, pin) in &scene.pin {
            world.add_pin(name, pin)?;
        }
        world.no_vertex_held_twice(scene)?;
        for (name, force) in &scene.force {
            let body = world.named_body(&force.cloth)?;
            let selection = Selection {
                key: format!("force.{name}"),
                vertices: force.vertices.as_ref(),
                nearest: force.nearest.as_ref(),
                r#box: force.r#box.as_ref(),
                sphere: force.sphere.as_ref(),
            };
            let shares = shares(body, &selection.resolve(body)?);
            let during = force.from..force.until.unwrap_or(f64::INFINITY);
            world.pushes.push(Push {
                shares,
                force: match &force.path {
                    Some(path) => formulas(&format!("force.{name}.path"), path)?,
                    None => TimeVector::Constant(Vec3::from_array(force.force)),
                },
                during,
            });
        }
        world
            .rebuild_forces()
            .map_err(|e| SceneError::new(e.to_string(), "use larger triangles"))?;
        Ok(world)
    }

    fn named_body(&self, name: &str) -> Result<&Body, SceneError> {
        self.body(name).ok_or_else(|| {
            SceneError::new(
                format!("there is no cloth or soft body `{name}`"),
                "check the name",
            )
        })
    }

    fn add_cloth(
        &mut self,
        scene: &SceneFile,
        folder: &Path,
        name: &str,
        cloth: &Cloth,
    ) -> Result<(), SceneError> {
        let key = format!("cloth.{name}");
        let fabric = find_fabric(scene, folder, &key, &cloth.fabric)?;
        let raw = surface(&key, cloth, folder)?;
        let (mut surface, repairs) = mesh::clean(raw).map_err(|e| {
            SceneError::at(
                if cloth.mesh.is_some() {
                    format!("{key}.mesh")
                } else {
                    key.clone()
                },
                format!("the mesh of cloth `{name}` cannot be used: {e}"),
                "mend the mesh in the program it comes from",
            )
        })?;
        for p in &mut surface.positions {
            *p *= cloth.scale;
        }
        let material = rest_shape(&key, cloth, &surface)?;
        let from_texture = surface.material.is_some() && cloth.rest != Some(RestFrom::Positions);
        let curved = match cloth.rest_bend {
            Some(bend) => bend == RestBend::Shape,
            None => !from_texture,
        };
        let topology = Topology::build(surface.positions.len(), &surface.faces)
            .map_err(|e| SceneError::at(key.clone(), e.to_string(), "mend the mesh"))?;
        let rest_positions = curved.then(|| surface.positions.clone());
        let mut mass = vec![0.0; surface.positions.len()];
        for (face, m) in surface.faces.iter().zip(&material) {
            let area = (m[1] - m[0]).perp_dot(m[2] - m[0]).abs() / 2.0;
            for v in face {
                mass[*v as usize] += fabric.density * area / 3.0;
            }
        }
        let vertices = self.add_vertices(
            &surface.positions,
            &mass,
            &Placed {
                rotate: cloth.rotate.as_ref(),
                translate: cloth.translate,
                velocity: cloth.velocity,
                angular_velocity: cloth.angular_velocity,
            },
        );
        let thickness = cloth.thickness.unwrap_or(fabric.thickness());
        let edges = material
            .iter()
            .flat_map(|m| [m[0] - m[1], m[1] - m[2], m[2] - m[0]]);
        let shortest = edges.map(Vec2::length).fold(f64::INFINITY, f64::min);
        self.bodies.push(Body {
            thickness,
            distance_kept: thickness.min(shortest / 2.0),
            name: name.to_string(),
            surface: vertices.clone(),
            initial: self.state.x[vertices.clone()].to_vec(),
            vertices,
            topology,
            tetrahedra: Vec::new(),
            material,
            rest_positions,
            origin: surface.origin,
            substance: Substance::Fabric(Box::new(fabric)),
            substance_name: cloth.fabric.clone(),
            repairs: repairs.iter().map(ToString::to_string).collect(),
        });
        Ok(())
    }

    /// Adds the vertices of a body to the state, where the scene places them; says which they are.
    pub(super) fn add_vertices(
        &mut self,
        rest: &[Vec3],
        mass: &[f64],
        placed: &Placed,
    ) -> Range<usize> {
        let turn = placed.rotate.map_or(Quat::IDENTITY, |r| {
            Quat::from_scaled_axis(rotation_vector(r))
        });
        let shift = Vec3::from_array(placed.translate);
        let first = self.state.x.len();
        self.state.x.extend(rest.iter().map(|p| turn * *p + shift));
        self.mass.extend_from_slice(mass);
        let own = &self.state.x[first..];
        let total: f64 = mass.iter().sum();
        let centre = own.iter().zip(mass).map(|(p, m)| *p * *m).sum::<Vec3>() / total;
        let velocity = Vec3::from_array(placed.velocity);
        let spin = Vec3::from_array(placed.angular_velocity);
        let v = own.iter().map(|p| velocity + spin.cross(*p - centre));
        self.state.v.extend(v);
        first..self.state.x.len()
    }

    fn add_pin(&mut self, name: &str, pin: &Pin) -> Result<(), SceneError> {
        let body = self.named_body(&pin.cloth)?;
        let selection = Selection {
            key: format!("pin.{name}"),
            vertices: pin.vertices.as_ref(),
            nearest: pin.nearest.as_ref(),
            r#box: pin.r#box.as_ref(),
            sphere: pin.sphere.as_ref(),
        };
        let vertices = selection.resolve(body)?;
        let start: Vec<Vec3> = vertices.iter().map(|v| self.state.x[*v as usize]).collect();
        let middle = start.iter().sum::<Vec3>() / start.len() as f64;
        let motion = motion(
            &format!("pin.{name}"),
            pin.keyframes.as_deref(),
            pin.path.as_ref(),
        )?;
        let axes = pin.axes.as_ref().map_or([true; 3], |axes| {
            [Axis::X, Axis::Y, Axis::Z].map(|a| axes.contains(&a))
        });
        self.pins.push(Held {
            name: name.to_string(),
            vertices,
            axes,
            motion,
            pivot: pin.pivot.map_or(middle, Vec3::from_array),
            start,
            until: pin.until.unwrap_or(f64::INFINITY),
            lead: None,
        });
        Ok(())
    }

    fn no_vertex_held_twice(&self, scene: &SceneFile) -> Result<(), SceneError> {
        let mut holder: std::collections::BTreeMap<(u32, usize), &Held> =
            std::collections::BTreeMap::new();
        for pin in &self.pins {
            let held = pin
                .vertices
                .iter()
                .flat_map(|v| (0..3).filter(|k| pin.axes[*k]).map(|k| (*v, k)));
            for place in held {
                if let Some(other) = holder.insert(place, pin) {
                    return Err(SceneError::at(
                        format!("pin.{}", pin.name),
                        format!(
                            "pins `{}` and `{}` hold the same vertex of `{}`",
                            other.name, pin.name, scene.pin[&pin.name].cloth
                        ),
                        "make their regions disjoint, or hold different axes",
                    ));
                }
            }
        }
        Ok(())
    }
}

fn wind(scene: &SceneFile) -> Result<Option<Arc<Wind>>, SceneError> {
    let Some(spec) = &scene.wind else {
        return Ok(None);
    };
    let velocity = match &spec.path {
        Some(path) => formulas("wind.path", path)?,
        None => TimeVector::Constant(Vec3::from_array(spec.velocity)),
    };
    Ok(Some(Arc::new(Wind {
        velocity,
        density: spec.density,
        normal: spec.normal_drag,
        tangential: spec.tangential_drag,
    })))
}

fn formulas(key: &str, path: &PathSpec) -> Result<TimeVector, SceneError> {
    let parse = |name: &str, text: &str| {
        Formula::parse(text)
            .map_err(|e| SceneError::at(format!("{key}.{name}"), e, "write a formula of t"))
    };
    Ok(TimeVector::Formula([
        parse("x", &path.x)?,
        parse("y", &path.y)?,
        parse("z", &path.z)?,
    ]))
}

/// What leads a pin or an obstacle.
pub(super) fn motion(
    key: &str,
    keys: Option<&[Keyframe]>,
    path: Option<&PathSpec>,
) -> Result<Motion, SceneError> {
    Ok(match (keys, path) {
        (Some(keys), _) => keyframed(keys),
        (None, Some(path)) => Motion::Path(formulas(&format!("{key}.path"), path)?),
        (None, None) => Motion::Fixed,
    })
}

pub(super) fn rotation_vector(r: &Rotation) -> Vec3 {
    Vec3::from_array(r.axis).normalize_or_zero() * r.degrees.to_radians()
}

fn keyframed(keys: &[Keyframe]) -> Motion {
    let each =
        |value: &dyn Fn(&Keyframe) -> Vec3| keys.iter().map(|k| (k.time, value(k))).collect();
    Motion::Keyframes {
        translation: each(&|k| Vec3::from_array(k.translate)),
        rotation: each(&|k| k.rotate.as_ref().map_or(Vec3::ZERO, rotation_vector)),
        scale: each(&|k| Vec3::splat(k.scale)),
    }
}

fn find_fabric(
    scene: &SceneFile,
    folder: &Path,
    key: &str,
    name: &str,
) -> Result<Fabric, SceneError> {
    if let Some(fabric) = scene.fabric.get(name) {
        return Ok(fabric.clone());
    }
    let is_file = Path::new(name)
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    if is_file {
        return crate::scene::read_fabric(&folder.join(name));
    }
    shipped_fabric(name).ok_or_else(|| {
        let mut known: Vec<&str> = scene.fabric.keys().map(String::as_str).collect();
        for shipped in shipped_fabrics() {
            known.push(shipped);
        }
        let remedy = crate::scene::nearest_name(name, known.iter().copied()).map_or_else(
            || {
                format!(
                    "use one of {}, a [fabric.NAME] of the scene, or a .toml file",
                    known.join(", ")
                )
            },
            |near| format!("did you mean `{near}`?"),
        );
        SceneError::at(
            format!("{key}.fabric"),
            format!("there is no fabric `{name}`"),
            remedy,
        )
    })
}

fn surface(key: &str, cloth: &Cloth, folder: &Path) -> Result<SurfaceMesh, SceneError> {
    let made = |name: &str, mesh: Result<SurfaceMesh, mesh::ShapeError>| {
        mesh.map_err(|e| SceneError::at(format!("{key}.{name}"), e.problem, e.remedy))
    };
    if let Some(grid) = &cloth.grid {
        let edge = grid.edge.unwrap_or(1.0);
        let count = |k: usize| (grid.size[k] / edge).round().clamp(1.0, 1e6) as usize;
        if grid.edge.is_some_and(|e| e <= 0.0) {
            return Err(SceneError::at(
                format!("{key}.grid.edge"),
                "an edge must be longer than 0",
                "give it in metres",
            ));
        }
        let cells = grid.cells.unwrap_or_else(|| [count(0), count(1)]);
        let diagonals = match grid.diagonals {
            DiagonalsSpec::Unstructured => {
                return made("grid", mesh::unstructured_grid(grid.size, edge));
            }
            DiagonalsSpec::Alternate => Diagonals::Alternate,
            DiagonalsSpec::Forward => Diagonals::Forward,
            DiagonalsSpec::Backward => Diagonals::Backward,
            DiagonalsSpec::Crossed => Diagonals::Crossed,
        };
        return made("grid", mesh::grid(grid.size, cells, diagonals));
    }
    if let Some(disc) = &cloth.disc {
        return made("disc", mesh::disc(disc.radius, disc.edge));
    }
    if let Some(tube) = &cloth.tube {
        return made("tube", mesh::tube(tube.radius, tube.length, tube.cells));
    }
    if let Some(sphere) = &cloth.sphere {
        return made("sphere", mesh::sphere(sphere.radius, sphere.subdivisions));
    }
    if let Some(surface) = &cloth.surface {
        return surface.mesh(&format!("{key}.surface"));
    }
    let file = cloth.mesh.as_deref().unwrap_or_default();
    mesh_file::read(&folder.join(file))
}

/// Corners of all faces at rest, in warp and weft coordinates.
fn rest_shape(
    key: &str,
    cloth: &Cloth,
    surface: &SurfaceMesh,
) -> Result<Vec<[Vec2; 3]>, SceneError> {
    let to_warp = Vec2::from_angle(-cloth.grain.to_radians());
    let texture = match (cloth.rest, &surface.material) {
        (Some(RestFrom::Positions), _) | (None, None) => None,
        (_, Some(material)) => Some(material),
        (Some(RestFrom::Texture), None) => {
            return Err(SceneError::at(
                format!("{key}.rest"),
                "the shape has no texture coordinates to take the rest shape from",
                "export them with the mesh, or use rest = \"positions\"",
            ));
        }
    };
    if let Some(material) = texture {
        return Ok(material
            .iter()
            .map(|m| m.map(|p| to_warp.rotate(p * cloth.scale)))
            .collect());
    }
    let coordinates = face_coordinates(&surface.faces, &surface.positions, |corner| corner);
    let turned = coordinates.into_iter();
    Ok(turned.map(|m| m.map(|p| to_warp.rotate(p))).collect())
}

/// Corners of faces laid flat, each in its own plane and counted from a point that `from` makes of its first corner. The
/// first axis follows the x direction of the shape where the surface has one, else y.
pub(super) fn face_coordinates(
    faces: &[[u32; 3]],
    positions: &[Vec3],
    from: fn(Vec3) -> Vec3,
) -> Vec<[Vec2; 3]> {
    faces
        .iter()
        .map(|f| {
            let [a, b, c] = f.map(|v| positions[v as usize]);
            let normal = (b - a).cross(c - a).normalize_or_zero();
            let guide = if normal.x.abs() < 0.99 {
                Vec3::X
            } else {
                Vec3::Y
            };
            let u = (guide - normal * guide.dot(normal)).normalize_or_zero();
            let v = normal.cross(u);
            [a, b, c].map(|p| Vec2::new((p - from(a)).dot(u), (p - from(a)).dot(v)))
        })
        .collect()
}

/// Each vertex's share of a force: by the length of border between the chosen ones, or the area of surface of a soft body,
/// or equal shares.
fn shares(body: &Body, vertices: &[u32]) -> Vec<(u32, f64)> {
    let first = body.vertices.start as u32;
    let place = |v: u32| vertices.binary_search(&(v + first)).ok();
    let at = |v: u32| body.initial[v as usize];
    let mut weight = vec![0.0; vertices.len()];
    if body.tetrahedra.is_empty() {
        for edge in body.topology.edges.iter().filter(|e| e.is_border()) {
            if let [Some(a), Some(b)] = edge.vertices.map(place) {
                let [p, q] = edge.vertices.map(at);
                weight[a] += p.distance(q) / 2.0;
                weight[b] += p.distance(q) / 2.0;
            }
        }
    } else {
        for face in &body.topology.faces {
            if let [Some(a), Some(b), Some(c)] = face.map(place) {
                let [p, q, r] = face.map(at);
                let area = mesh::area_vector(p, q, r).length();
                for v in [a, b, c] {
                    weight[v] += area;
                }
            }
        }
    }
    let total: f64 = weight.iter().sum();
    let share = |w: f64| {
        if total > 0.0 {
            w / total
        } else {
            1.0 / vertices.len() as f64
        }
    };
    vertices
        .iter()
        .zip(weight)
        .map(|(v, w)| (*v, share(w)))
        .collect()
}
