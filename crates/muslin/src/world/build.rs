//! From the scene as written to the world at time zero.

use super::select::Selection;
use super::{Body, FrictionTable, Held, Push, State, World};
use crate::force::Forces;
use crate::force::drag::Wind;
use crate::material::{Fabric, shipped_fabric, shipped_fabrics};
use crate::motion::{Formula, Motion, TimeVector};
use crate::scene::{
    Axis, Cloth, DiagonalsSpec, Keyframe, MeasureKind, PathSpec, Pin, RestBend, RestFrom, Rotation,
    SceneError, SceneFile, mesh_file,
};
use muslin_geometry::mesh::{self, Diagonals, SurfaceMesh, Topology};
use muslin_linalg::{Quat, Vec2, Vec3};
use std::path::Path;
use std::sync::Arc;

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
        for (name, cloth) in &scene.cloth {
            world.add_cloth(scene, folder, name, cloth)?;
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
            let shares = border_shares(body, &selection.resolve(body)?);
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
        self.body(name)
            .ok_or_else(|| SceneError::new(format!("there is no cloth `{name}`"), "check the name"))
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
        let turn = cloth.rotate.as_ref().map_or(Quat::IDENTITY, |r| {
            Quat::from_scaled_axis(rotation_vector(r))
        });
        let placed: Vec<Vec3> = surface
            .positions
            .iter()
            .map(|p| turn * *p + Vec3::from_array(cloth.translate))
            .collect();

        let first = self.state.x.len();
        self.mass.resize(first + placed.len(), 0.0);
        for (face, m) in surface.faces.iter().zip(&material) {
            let area = (m[1] - m[0]).perp_dot(m[2] - m[0]).abs() / 2.0;
            for v in face {
                self.mass[first + *v as usize] += fabric.density * area / 3.0;
            }
        }
        let mass = &self.mass[first..];
        let total: f64 = mass.iter().sum();
        let centre = placed.iter().zip(mass).map(|(p, m)| *p * *m).sum::<Vec3>() / total;
        let (velocity, spin) = (
            Vec3::from_array(cloth.velocity),
            Vec3::from_array(cloth.angular_velocity),
        );
        self.state
            .v
            .extend(placed.iter().map(|p| velocity + spin.cross(*p - centre)));
        self.state.x.extend_from_slice(&placed);
        let thickness = cloth.thickness.unwrap_or(fabric.thickness());
        let edges = material
            .iter()
            .flat_map(|m| [m[0] - m[1], m[1] - m[2], m[2] - m[0]]);
        let shortest = edges.map(Vec2::length).fold(f64::INFINITY, f64::min);
        self.bodies.push(Body {
            thickness,
            distance_kept: thickness.min(shortest / 2.0),
            name: name.to_string(),
            vertices: first..first + placed.len(),
            topology,
            material,
            rest_positions,
            origin: surface.origin,
            fabric,
            fabric_name: cloth.fabric.clone(),
            repairs,
            initial: placed,
        });
        Ok(())
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
                            "pins `{}` and `{}` hold the same vertex of cloth `{}`",
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
    Ok(surface
        .faces
        .iter()
        .map(|f| {
            let [a, b, c] = f.map(|v| surface.positions[v as usize]);
            let normal = (b - a).cross(c - a).normalize_or_zero();
            // Warp follows the x direction of the shape where the surface has one, else y.
            let guide = if normal.x.abs() < 0.99 {
                Vec3::X
            } else {
                Vec3::Y
            };
            let u = (guide - normal * guide.dot(normal)).normalize_or_zero();
            let v = normal.cross(u);
            [a, b, c].map(|p| to_warp.rotate(Vec2::new((p - a).dot(u), (p - a).dot(v))))
        })
        .collect())
}

/// Each vertex's share of a force: by the length of border between the chosen ones, or equal shares.
fn border_shares(body: &Body, vertices: &[u32]) -> Vec<(u32, f64)> {
    let first = body.vertices.start as u32;
    let mut length = vec![0.0; vertices.len()];
    for edge in body.topology.edges.iter().filter(|e| e.is_border()) {
        let ends = edge
            .vertices
            .map(|v| vertices.binary_search(&(v + first)).ok());
        if let [Some(a), Some(b)] = ends {
            let [p, q] = edge.vertices.map(|v| body.initial[v as usize]);
            length[a] += p.distance(q) / 2.0;
            length[b] += p.distance(q) / 2.0;
        }
    }
    let total: f64 = length.iter().sum();
    let share = |l: f64| {
        if total > 0.0 {
            l / total
        } else {
            1.0 / vertices.len() as f64
        }
    };
    vertices
        .iter()
        .zip(length)
        .map(|(v, l)| (*v, share(l)))
        .collect()
}
