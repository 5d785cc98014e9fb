//! VTK unstructured grids, binary: a file for the surfaces and one for the contacts of each frame, with the fields that
//! belong to them, and a `.pvd` collection that gives every file its time.

use super::Job;
use super::sequence::frame_path;
use super::spool::Output;
use crate::contact::{Party, Touch};
use crate::record::{
    Frame, FrameBody, RecordError, contact_pressure, principal_stretches, state_code,
};
use muslin_linalg::Vec3;
use std::fmt::Write;
use std::path::PathBuf;

const TRIANGLE: u8 = 5;
const POINT: u8 = 1;

/// A grid on its way into a file: XML in front, arrays behind it.
struct Grid {
    xml: String,
    data: Vec<u8>,
}

impl Grid {
    fn new(points: usize, cells: usize) -> Self {
        let xml = format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" \
             header_type=\"UInt64\">\n<UnstructuredGrid>\n<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">\n"
        );
        Self {
            xml,
            data: Vec::new(),
        }
    }

    fn section(&mut self, name: &str, fill: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.xml, "<{name}>");
        fill(self);
        let _ = writeln!(self.xml, "</{name}>");
    }

    fn array<T: bytemuck::Pod>(&mut self, name: &str, kind: &str, components: usize, values: &[T]) {
        let _ = writeln!(
            self.xml,
            "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"appended\" \
             offset=\"{}\"/>",
            self.data.len()
        );
        let bytes: &[u8] = bytemuck::cast_slice(values);
        self.data.extend((bytes.len() as u64).to_le_bytes());
        self.data.extend(bytes);
    }

    fn vectors(&mut self, name: &str, values: &[Vec3]) {
        let flat: Vec<[f64; 3]> = values.iter().map(Vec3::to_array).collect();
        self.array(name, "Float64", 3, &flat);
    }

    fn cells(&mut self, connectivity: &[i64], corners: usize, kind: u8) {
        let count = connectivity.len() / corners;
        self.section("Cells", |g| {
            g.array("connectivity", "Int64", 1, connectivity);
            let offsets: Vec<i64> = (1..=count).map(|i| (i * corners) as i64).collect();
            g.array("offsets", "Int64", 1, &offsets);
            g.array("types", "UInt8", 1, &vec![kind; count]);
        });
    }

    fn write(mut self, mut out: Output) -> Result<PathBuf, RecordError> {
        self.xml
            .push_str("</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_");
        out.text(&self.xml)?;
        out.bytes(&self.data)?;
        out.text("\n</AppendedData>\n</VTKFile>\n")?;
        out.finish()
    }
}

pub(super) fn write(
    job: &Job,
    collect: bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<PathBuf>, RecordError> {
    let vtu = job.to.with_extension("vtu");
    let stem = job.to.file_stem().unwrap_or_default().to_string_lossy();
    let contacts = job.to.with_file_name(format!("{stem}_contacts.vtu"));
    let mut written = Vec::new();
    let mut collection = String::new();
    for (done, number) in job.frames.iter().enumerate() {
        let frame = job.read(*number)?;
        let files = [
            (frame_path(job, &vtu, *number), surfaces(job, &frame)),
            (frame_path(job, &contacts, *number), touches(job, &frame)),
        ];
        for (part, (path, grid)) in files.into_iter().enumerate() {
            let path = grid.write(Output::create(&path)?)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let _ = writeln!(
                collection,
                "<DataSet timestep=\"{}\" part=\"{part}\" file=\"{}\"/>",
                frame.time,
                escaped(&name)
            );
            written.push(path);
        }
        progress(done + 1, job.frames.len());
    }
    if collect {
        let mut out = Output::create(job.to)?;
        out.text(&format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" \
             byte_order=\"LittleEndian\">\n<Collection>\n{collection}</Collection>\n</VTKFile>\n"
        ))?;
        written.insert(0, out.finish()?);
    }
    Ok(written)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

fn surfaces(job: &Job, frame: &Frame) -> Grid {
    let pieces = super::piece::pieces(job, frame);
    let points: Vec<Vec3> = pieces.iter().flat_map(|p| p.positions.clone()).collect();
    let mut connectivity: Vec<i64> = Vec::new();
    let mut object: Vec<i32> = Vec::new();
    let mut first = 0;
    for (i, p) in pieces.iter().enumerate() {
        connectivity.extend(p.faces.iter().flatten().map(|v| i64::from(*v) + first));
        object.extend(vec![i as i32; p.faces.len()]);
        first += p.positions.len() as i64;
    }
    let body = |name: &str| frame.bodies.iter().position(|b| b.name == name);
    let pressure = contact_pressure(frame, job.dt());
    // Obstacles are rigid: no stretch, and their pressure is that of the cloth on them.
    let stretches: Vec<[f64; 2]> = pieces
        .iter()
        .flat_map(|p| match body(p.name).filter(|_| p.cloth) {
            Some(i) => principal_stretches(&frame.bodies[i]),
            None => vec![[1.0; 2]; p.faces.len()],
        })
        .collect();
    let of_vertices = |of: &dyn Fn(&FrameBody, usize) -> Vec<f64>| -> Vec<f64> {
        let each = |p: &super::piece::Piece| match body(p.name).filter(|_| p.cloth) {
            Some(i) => of(&frame.bodies[i], i),
            None => vec![0.0; p.positions.len()],
        };
        pieces.iter().flat_map(each).collect()
    };
    let mut grid = Grid::new(points.len(), object.len());
    grid.section("Points", |g| g.vectors("points", &points));
    grid.cells(&connectivity, 3, TRIANGLE);
    grid.section("PointData", |g| {
        let velocity = |p: &super::piece::Piece| {
            if p.cloth {
                p.velocities.clone()
            } else {
                vec![Vec3::ZERO; p.positions.len()]
            }
        };
        let velocities: Vec<Vec3> = pieces.iter().flat_map(velocity).collect();
        g.vectors("velocity", &velocities);
        if job.options.normals {
            let normals: Vec<Vec3> = pieces.iter().flat_map(|p| p.normals.clone()).collect();
            g.vectors("normal", &normals);
        }
        let values = of_vertices(&|_, i| pressure[i].clone());
        g.array("contact_pressure", "Float64", 1, &values);
    });
    grid.section("CellData", |g| {
        let stretch: Vec<f64> = stretches.iter().map(|s| s[1] - 1.0).collect();
        let compression: Vec<f64> = stretches.iter().map(|s| 1.0 - s[0]).collect();
        g.array("stretch", "Float64", 1, &stretch);
        g.array("compression", "Float64", 1, &compression);
        g.array("object", "Int32", 1, &object);
        if job.options.uv {
            let none = [[0.0f32; 2]; 3];
            let corners: Vec<[[f32; 2]; 3]> = pieces
                .iter()
                .flat_map(|p| (0..p.faces.len()).map(|f| p.uv.get(f).copied().unwrap_or(none)))
                .collect();
            g.array("material", "Float32", 6, &corners);
        }
    });
    grid
}

/// Contacts in which a chosen object takes part, as points.
fn touches(job: &Job, frame: &Frame) -> Grid {
    let name = |party: &Party| match party {
        Party::Cloth(i) => &frame.bodies[*i].name,
        Party::Obstacle(i) => &frame.obstacles[*i].name,
    };
    let chosen = |t: &&Touch| t.parties.iter().any(|p| job.objects.contains(name(p)));
    let all: Vec<&Touch> = frame.contacts.iter().filter(chosen).collect();
    let vectors =
        |of: &dyn Fn(&Touch) -> Vec3| -> Vec<Vec3> { all.iter().map(|t| of(t)).collect() };
    let mut grid = Grid::new(all.len(), all.len());
    let positions = vectors(&|t| job.placed(t.position));
    grid.section("Points", |g| g.vectors("points", &positions));
    let each: Vec<i64> = (0..all.len() as i64).collect();
    grid.cells(&each, 1, POINT);
    grid.section("PointData", |g| {
        g.vectors("normal", &vectors(&|t| job.turned(t.normal)));
        g.vectors("impulse", &vectors(&|t| job.turned(t.impulse)));
        let states: Vec<u8> = all.iter().map(|t| state_code(t.state)).collect();
        g.array("state", "UInt8", 1, &states);
    });
    grid
}
