//! Frames: positions and velocities of every body, surfaces of obstacles, contacts, and what stays the same only once.

use super::arrays::{ArrayFile, ArrayWriter, RecordError};
use super::contacts;
use crate::contact::Touch;
use crate::world::World;
use muslin_linalg::Vec3;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// One body in a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameBody {
    /// Name in the scene.
    pub name: String,
    /// Positions, m.
    pub positions: Vec<Vec3>,
    /// Velocities, m/s, to single precision.
    pub velocities: Vec<[f32; 3]>,
    /// Vertex triples of the surface, whose vertices come first. Frames of one topology share them.
    pub faces: Arc<Vec<[i32; 3]>>,
    /// Material coordinates of each face's corners, m.
    pub material: Arc<Vec<[[f32; 2]; 3]>>,
    /// Vertex quadruples of a soft body; none in cloth.
    pub tetrahedra: Arc<Vec<[i32; 4]>>,
}

impl FrameBody {
    /// Number of vertices on the surface; in a soft body those inside follow.
    pub fn surface_vertices(&self) -> usize {
        if self.tetrahedra.is_empty() {
            return self.positions.len();
        }
        let last = self.faces.iter().flatten().max();
        last.map_or(0, |v| *v as usize + 1)
    }

    /// Leaves out what is inside a soft body, for those who only look at surfaces.
    pub fn keep_surface(&mut self) {
        let vertices = self.surface_vertices();
        self.positions.truncate(vertices);
        self.velocities.truncate(vertices);
        self.tetrahedra = Arc::default();
    }
}

/// The surface of an obstacle in a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameObstacle {
    /// Name in the scene.
    pub name: String,
    /// Positions, m.
    pub positions: Vec<Vec3>,
    /// Vertex triples.
    pub faces: Arc<Vec<[i32; 3]>>,
}

/// What the arrays of obstacles begin with.
const OBSTACLE: &str = "obstacle:";

/// One moment of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Number, from 0.
    pub number: usize,
    /// Time, s.
    pub time: f64,
    /// Frame whose connectivity it shares: two frames that agree here have the same faces.
    pub faces_frame: usize,
    /// Bodies in the order of the scene.
    pub bodies: Vec<FrameBody>,
    /// Obstacles in the order of their names.
    pub obstacles: Vec<FrameObstacle>,
    /// Contacts of the step that completed the frame; parties count in the orders above.
    pub contacts: Vec<Touch>,
}

impl Frame {
    /// The world as it is now, as frame `number`.
    pub fn of_world(number: usize, world: &World) -> Self {
        let bodies = world.bodies.iter().map(|b| FrameBody {
            name: b.name.clone(),
            positions: world.state.x[b.vertices.clone()].to_vec(),
            velocities: world.state.v[b.vertices.clone()]
                .iter()
                .map(|v| v.as_vec3().to_array())
                .collect(),
            faces: Arc::new(bytemuck::allocation::pod_collect_to_vec(&b.topology.faces)),
            material: Arc::new(
                b.material
                    .iter()
                    .map(|m| m.map(|c| c.as_vec2().to_array()))
                    .collect(),
            ),
            tetrahedra: Arc::new(bytemuck::allocation::pod_collect_to_vec(&b.tetrahedra)),
        });
        let obstacles = world.obstacles.iter().map(|o| {
            let mut positions = Vec::new();
            o.shape.positions(world.time, &mut positions);
            FrameObstacle {
                name: o.name.clone(),
                positions,
                faces: Arc::new(bytemuck::allocation::pod_collect_to_vec(o.shape.faces())),
            }
        });
        Self {
            number,
            time: world.time,
            faces_frame: world.topology_revision as usize,
            bodies: bodies.collect(),
            obstacles: obstacles.collect(),
            contacts: world.touches.clone(),
        }
    }
}

pub(super) fn path(folder: &Path, number: usize) -> PathBuf {
    folder.join("frames").join(format!("{number:06}.npz"))
}

/// Writes the world as a frame. Connectivity and obstacles that never move go into frame `faces_frame`; the others only
/// name it.
pub(super) fn write(
    folder: &Path,
    number: usize,
    world: &World,
    faces_frame: usize,
) -> Result<(), RecordError> {
    let mut file = ArrayWriter::create(&path(folder, number))?;
    file.array("time", &[1], &[world.time])?;
    file.array("faces_frame", &[1], &[faces_frame as i32])?;
    for body in &world.bodies {
        let n = body.vertices.len();
        let x: &[f64] = bytemuck::cast_slice(&world.state.x[body.vertices.clone()]);
        file.array(&format!("{}/x", body.name), &[n, 3], x)?;
        let v: Vec<f32> = world.state.v[body.vertices.clone()]
            .iter()
            .flat_map(|v| v.as_vec3().to_array())
            .collect();
        file.array(&format!("{}/v", body.name), &[n, 3], &v)?;
        if number == faces_frame {
            let faces: &[i32] = bytemuck::cast_slice(&body.topology.faces);
            file.array(
                &format!("{}/faces", body.name),
                &[body.topology.faces.len(), 3],
                faces,
            )?;
            let material: Vec<f32> = body
                .material
                .iter()
                .flatten()
                .flat_map(|m| [m.x as f32, m.y as f32])
                .collect();
            file.array(
                &format!("{}/material", body.name),
                &[body.material.len(), 3, 2],
                &material,
            )?;
            let tetrahedra: &[i32] = bytemuck::cast_slice(&body.tetrahedra);
            write_tetrahedra(&mut file, &body.name, tetrahedra)?;
        }
    }
    for obstacle in &world.obstacles {
        let (name, shape) = (&obstacle.name, &obstacle.shape);
        if number == faces_frame || shape.moves() {
            let mut positions = Vec::new();
            shape.positions(world.time, &mut positions);
            let x: &[f64] = bytemuck::cast_slice(&positions);
            file.array(&format!("{OBSTACLE}{name}/x"), &[positions.len(), 3], x)?;
        }
        if number == faces_frame {
            let faces: &[i32] = bytemuck::cast_slice(shape.faces());
            let size = [shape.faces().len(), 3];
            file.array(&format!("{OBSTACLE}{name}/faces"), &size, faces)?;
        }
    }
    contacts::write(&mut file, &world.touches)?;
    file.finish()
}

/// Only soft bodies have this array.
fn write_tetrahedra(file: &mut ArrayWriter, name: &str, flat: &[i32]) -> Result<(), RecordError> {
    if flat.is_empty() {
        return Ok(());
    }
    file.array(&format!("{name}/tetrahedra"), &[flat.len() / 4, 4], flat)
}

/// Writes a frame that holds its own connectivity into a folder of frames. Contacts are left out.
pub fn write_frame(folder: &Path, frame: &Frame) -> Result<(), RecordError> {
    let mut file = ArrayWriter::create(&path(folder, frame.number))?;
    file.array("time", &[1], &[frame.time])?;
    file.array("faces_frame", &[1], &[frame.number as i32])?;
    for body in &frame.bodies {
        let (name, n, f) = (&body.name, body.positions.len(), body.faces.len());
        let x: &[f64] = bytemuck::cast_slice(&body.positions);
        file.array(&format!("{name}/x"), &[n, 3], x)?;
        let v: &[f32] = bytemuck::cast_slice(&body.velocities);
        file.array(&format!("{name}/v"), &[n, 3], v)?;
        let faces: &[i32] = bytemuck::cast_slice(body.faces.as_slice());
        file.array(&format!("{name}/faces"), &[f, 3], faces)?;
        let material: &[f32] = bytemuck::cast_slice(body.material.as_slice());
        let size = [body.material.len(), 3, 2];
        file.array(&format!("{name}/material"), &size, material)?;
        write_tetrahedra(
            &mut file,
            name,
            bytemuck::cast_slice(body.tetrahedra.as_slice()),
        )?;
    }
    for obstacle in &frame.obstacles {
        let name = format!("{OBSTACLE}{}", obstacle.name);
        let x: &[f64] = bytemuck::cast_slice(&obstacle.positions);
        file.array(&format!("{name}/x"), &[obstacle.positions.len(), 3], x)?;
        let faces: &[i32] = bytemuck::cast_slice(obstacle.faces.as_slice());
        file.array(&format!("{name}/faces"), &[obstacle.faces.len(), 3], faces)?;
    }
    contacts::write(&mut file, &[])?;
    file.finish()
}

/// Reads frames of a finished or growing run.
pub struct FrameReader {
    folder: PathBuf,
    names: Vec<String>,
    obstacles: Vec<String>,
    /// What the last frame read shared with others: most frames share it with the next one.
    shared: Mutex<Option<Arc<Shared>>>,
}

/// What frames share with the one that holds their connectivity.
struct Shared {
    holder: usize,
    /// Tells a file from one that replaced it.
    stamp: Stamp,
    bodies: Vec<SharedBody>,
    /// Positions of those that move are in the frames themselves.
    obstacles: Vec<(Faces, Vec<Vec3>)>,
}

/// What frames share of a body.
struct SharedBody {
    faces: Faces,
    material: Arc<Vec<[[f32; 2]; 3]>>,
    tetrahedra: Arc<Vec<[i32; 4]>>,
}

type Faces = Arc<Vec<[i32; 3]>>;
type Stamp = (Option<SystemTime>, u64);

fn stamp(path: &Path) -> Result<Stamp, RecordError> {
    let about = std::fs::metadata(path).map_err(RecordError::io(path))?;
    Ok((about.modified().ok(), about.len()))
}

impl FrameReader {
    /// Opens a run folder.
    pub fn open(folder: &Path) -> Result<Self, RecordError> {
        let first = path(folder, 0);
        if !first.is_file() {
            return Err(RecordError::Refused(format!(
                "{} is not a run folder: it has no frames/000000.npz; make one with `muslin run SCENE --out DIR`",
                folder.display()
            )));
        }
        let file = ArrayFile::open(&first)?;
        let mut names: Vec<String> = file
            .names()
            .filter_map(|n| n.strip_suffix("/x.npy").map(str::to_owned))
            .collect();
        names.sort();
        let (obstacles, names): (Vec<String>, Vec<String>) =
            names.into_iter().partition(|n| n.starts_with(OBSTACLE));
        Ok(Self {
            folder: folder.to_path_buf(),
            names,
            obstacles,
            shared: Mutex::new(None),
        })
    }

    /// Names of all cloths, then of all obstacles.
    pub fn object_names(&self) -> Vec<String> {
        let obstacles = self
            .obstacles
            .iter()
            .map(|o| o.trim_start_matches(OBSTACLE));
        let cloths = self.names.iter().map(String::as_str);
        cloths.chain(obstacles).map(str::to_owned).collect()
    }

    /// Number of the last frame there is, counting on from 0 without a gap.
    pub fn last(&self) -> usize {
        self.end_from(1) - 1
    }

    /// Number after the last frame there is, where all before `known` are known to be there.
    pub fn end_from(&self, known: usize) -> usize {
        let mut end = known.max(1);
        while path(&self.folder, end).is_file() {
            end += 1;
        }
        end
    }

    fn shared(&self, holder: usize) -> Result<Arc<Shared>, RecordError> {
        let place = path(&self.folder, holder);
        let stamp = stamp(&place)?;
        // A reader that panicked while holding the lock left the value as it was.
        let mut kept = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = kept.as_ref()
            && shared.holder == holder
            && shared.stamp == stamp
        {
            return Ok(shared.clone());
        }
        let mut file = ArrayFile::open(&place)?;
        let mut shared = Shared {
            holder,
            stamp,
            bodies: Vec::new(),
            obstacles: Vec::new(),
        };
        for name in &self.names {
            let (_, faces) = file.array::<i32>(&format!("{name}/faces"))?;
            let (_, material) = file.array::<f32>(&format!("{name}/material"))?;
            let solid = format!("{name}/tetrahedra");
            let tetrahedra = if file.has(&solid) {
                let (_, flat) = file.array::<i32>(&solid)?;
                Arc::new(bytemuck::allocation::pod_collect_to_vec(whole(
                    &place, name, &flat, 4,
                )?))
            } else {
                Arc::default()
            };
            shared.bodies.push(SharedBody {
                faces: triples(&place, name, &faces)?,
                material: Arc::new(bytemuck::allocation::pod_collect_to_vec(whole(
                    &place, name, &material, 6,
                )?)),
                tetrahedra,
            });
        }
        for name in &self.obstacles {
            let (_, faces) = file.array::<i32>(&format!("{name}/faces"))?;
            let (_, x) = file.array::<f64>(&format!("{name}/x"))?;
            shared.obstacles.push((
                triples(&place, name, &faces)?,
                bytemuck::allocation::pod_collect_to_vec(whole(&place, name, &x, 3)?),
            ));
        }
        let shared = Arc::new(shared);
        *kept = Some(shared.clone());
        Ok(shared)
    }

    /// Reads a frame; connectivity comes from the last frame that has it.
    pub fn read(&self, number: usize) -> Result<Frame, RecordError> {
        let place = path(&self.folder, number);
        let mut file = ArrayFile::open(&place)?;
        let (_, time) = file.array::<f64>("time")?;
        let time = *time
            .first()
            .ok_or_else(|| RecordError::damaged(&place, "no time"))?;
        let (_, holder) = file.array::<i32>("faces_frame")?;
        let holder = holder.first().and_then(|n| usize::try_from(*n).ok());
        let holder = holder.ok_or_else(|| RecordError::damaged(&place, "no connectivity"))?;
        let shared = self.shared(holder)?;
        let mut bodies = Vec::new();
        for (name, shared) in self.names.iter().zip(&shared.bodies) {
            let (faces, material) = (&shared.faces, &shared.material);
            let (_, x) = file.array::<f64>(&format!("{name}/x"))?;
            let (_, v) = file.array::<f32>(&format!("{name}/v"))?;
            if x.len() != v.len() || faces.len() != material.len() {
                return Err(RecordError::damaged(
                    &place,
                    format!("the arrays of `{name}` have different lengths"),
                ));
            }
            bodies.push(FrameBody {
                name: name.clone(),
                positions: bytemuck::allocation::pod_collect_to_vec(whole(&place, name, &x, 3)?),
                velocities: bytemuck::allocation::pod_collect_to_vec(&v),
                faces: faces.clone(),
                material: material.clone(),
                tetrahedra: shared.tetrahedra.clone(),
            });
        }
        let mut obstacles = Vec::new();
        for (name, (faces, at_rest)) in self.obstacles.iter().zip(&shared.obstacles) {
            let key = format!("{name}/x");
            let positions = if file.has(&key) {
                let (_, x) = file.array::<f64>(&key)?;
                bytemuck::allocation::pod_collect_to_vec(whole(&place, name, &x, 3)?)
            } else {
                at_rest.clone()
            };
            obstacles.push(FrameObstacle {
                name: name.trim_start_matches(OBSTACLE).to_owned(),
                positions,
                faces: faces.clone(),
            });
        }
        for body in &bodies {
            let n = body.positions.len() as i32;
            let mut corners = body.tetrahedra.iter().flatten();
            if corners.any(|v| !(0..n).contains(v)) {
                return Err(RecordError::damaged(
                    &place,
                    "a tetrahedron names a vertex that does not exist",
                ));
            }
        }
        let surfaces = bodies
            .iter()
            .map(|b| (b.positions.len(), &b.faces))
            .chain(obstacles.iter().map(|o| (o.positions.len(), &o.faces)));
        for (n, faces) in surfaces {
            let n = n as i32;
            if faces.iter().flatten().any(|v| !(0..n).contains(v)) {
                return Err(RecordError::damaged(
                    &place,
                    "a face names a vertex that does not exist",
                ));
            }
        }
        let contacts = contacts::read(&mut file, &place, bodies.len(), obstacles.len())?;
        Ok(Frame {
            number,
            time,
            faces_frame: holder,
            bodies,
            obstacles,
            contacts,
        })
    }
}

/// Numbers that make whole rows; casting them would panic otherwise.
fn whole<'a, T>(
    place: &Path,
    name: &str,
    flat: &'a [T],
    row: usize,
) -> Result<&'a [T], RecordError> {
    if flat.len().is_multiple_of(row) {
        return Ok(flat);
    }
    Err(RecordError::damaged(
        place,
        format!("an array of `{name}` has a row that is not whole"),
    ))
}

fn triples(place: &Path, name: &str, flat: &[i32]) -> Result<Faces, RecordError> {
    let rows = whole(place, name, flat, 3)?;
    Ok(Arc::new(bytemuck::allocation::pod_collect_to_vec(rows)))
}
