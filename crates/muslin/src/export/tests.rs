//! What is written reads back as what was recorded.

use super::{ExportOptions, UpAxis, export};
use crate::record::{ArrayWriter, FrameReader, RecordError, RunFolder};
use crate::scene::SceneSource;
use crate::simulation::Simulation;
use muslin_linalg::Vec3;
use std::path::{Path, PathBuf};

const SCENE: &str = r#"
[output]
frames = 4
frame_rate = 50
[solver]
time_step = 0.01
[cloth.sheet]
grid = { size = [0.2, 0.2], cells = [4, 4] }
fabric = "paper"
[cloth."a tube"]
tube = { radius = 0.05, length = 0.1, cells = [12, 4] }
translate = [0.5, 0, 0]
fabric = "paper"
[obstacle.floor]
plane = { point = [0, 0, -0.15], size = 2 }
[obstacle.ball]
sphere = { radius = 0.05 }
translate = [0, 0, -0.08]
keyframes = [{ time = 0 }, { time = 1, translate = [0.2, 0, 0] }]
"#;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("muslin-export-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn run(name: &str) -> Self {
        let place = Self::new(name);
        let mut simulation =
            Simulation::new(&SceneSource::from_text("small", SCENE), &[], 1).unwrap();
        let mut recording = RunFolder::create(&place.0.join("run"), &simulation).unwrap();
        while simulation.frame() < simulation.scene.output.frames {
            let report = simulation.advance().unwrap();
            recording.step(&simulation, &report).unwrap();
        }
        place
    }

    /// A recording in which a square becomes two, beside one obstacle that stays and one that moves from frame 2 on.
    fn changing(name: &str) -> Self {
        let place = Self::new(name);
        let run = place.0.join("run");
        std::fs::create_dir_all(run.join("frames")).unwrap();
        std::fs::write(run.join("scene.toml"), SCENE).unwrap();
        for n in 0..4usize {
            let holder = if n < 2 { 0 } else { 2 };
            let squares = if n < 2 { 1 } else { 2 };
            let corner = |i: usize| [(i % 2) as f64, (i / 2) as f64, n as f64];
            let x: Vec<f64> = (0..2 + 2 * squares).flat_map(corner).collect();
            let path = run.join(format!("frames/{n:06}.npz"));
            let mut file = ArrayWriter::create(&path).unwrap();
            file.array("time", &[1], &[n as f64 * 0.02]).unwrap();
            file.array("faces_frame", &[1], &[holder]).unwrap();
            file.array("sheet/x", &[x.len() / 3, 3], &x).unwrap();
            file.array("sheet/v", &[x.len() / 3, 3], &vec![0.5f32; x.len()])
                .unwrap();
            for (name, moved) in [("ball", n.saturating_sub(1)), ("floor", 0)] {
                let x = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, moved as f64];
                if n as i32 == holder || moved > 0 {
                    file.array(&format!("obstacle:{name}/x"), &[3, 3], &x)
                        .unwrap();
                }
                if n as i32 == holder {
                    file.array(&format!("obstacle:{name}/faces"), &[1, 3], &[0i32, 1, 2])
                        .unwrap();
                }
            }
            if n as i32 == holder {
                let faces: Vec<i32> = (0..squares as i32)
                    .flat_map(|s| [0, 1, 3, 0, 3, 2].map(|v| v + 2 * s))
                    .collect();
                let flat = |v: &i32| [(*v % 2) as f32, (*v / 2) as f32];
                let material: Vec<f32> = faces.iter().flat_map(flat).collect();
                file.array("sheet/faces", &[2 * squares, 3], &faces)
                    .unwrap();
                file.array("sheet/material", &[2 * squares, 3, 2], &material)
                    .unwrap();
            }
            file.finish().unwrap();
        }
        place
    }

    fn export(&self, to: &str, options: &ExportOptions) -> Result<Vec<PathBuf>, RecordError> {
        export(
            &self.0.join("run"),
            &self.0.join(to),
            options,
            &mut |_, _| {},
        )
    }

    fn reader(&self) -> FrameReader {
        FrameReader::open(&self.0.join("run")).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn only(object: &str) -> ExportOptions {
    ExportOptions {
        objects: vec![object.into()],
        ..ExportOptions::default()
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytemuck::allocation::pod_collect_to_vec(bytes)
}

#[test]
fn pc2_holds_all_points_of_all_frames() {
    let place = Folder::run("pc2");
    let options = ExportOptions {
        up: Some(UpAxis::Y),
        scale: 100.0,
        first: 1,
        every: 2,
        ..only("sheet")
    };
    let written = place.export("c.pc2", &options).unwrap();
    assert_eq!(written, [place.0.join("c.pc2"), place.0.join("c.obj")]);
    let bytes = std::fs::read(&written[0]).unwrap();
    assert_eq!(&bytes[..12], b"POINTCACHE2\0");
    let whole = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!([whole(12), whole(16), whole(28)], [1, 25, 2]);
    assert_eq!(floats(&bytes[20..28]), [1.0, 2.0]);
    let points = floats(&bytes[32..]);
    let frame = place.reader().read(3).unwrap();
    let sheet = frame.bodies.iter().find(|b| b.name == "sheet").unwrap();
    for (i, p) in sheet.positions.iter().enumerate() {
        let turned = [p.x, p.z, -p.y].map(|c| (c * 100.0) as f32);
        assert_eq!(points[75 + 3 * i..75 + 3 * i + 3], turned);
    }
}

#[test]
fn obj_reads_back_with_the_same_bits() {
    let place = Folder::run("obj");
    let written = place.export("meshes/cloth.obj", &only("sheet")).unwrap();
    assert_eq!(written.len(), 5);
    assert_eq!(written[4], place.0.join("meshes/cloth_000004.obj"));
    let text = std::fs::read_to_string(&written[4]).unwrap();
    let points: Vec<Vec3> = text
        .lines()
        .filter_map(|l| l.strip_prefix("v "))
        .map(|l| {
            l.split(' ')
                .map(|c| c.parse().unwrap())
                .collect::<Vec<f64>>()
        })
        .map(|c| Vec3::from_slice(&c))
        .collect();
    let frame = place.reader().read(4).unwrap();
    let sheet = frame.bodies.iter().find(|b| b.name == "sheet").unwrap();
    assert_eq!(points, sheet.positions);
    assert_eq!(text.matches("\nf ").count(), sheet.faces.len());
    // One frame goes to the very path.
    let one = ExportOptions {
        first: 2,
        last: Some(2),
        ..ExportOptions::default()
    };
    let written = place.export("one.ply", &one).unwrap();
    assert_eq!(written, [place.0.join("one.ply")]);
    let bytes = std::fs::read(&written[0]).unwrap();
    let head = String::from_utf8_lossy(&bytes[..600]).into_owned();
    assert!(head.contains("comment object 1 is sheet"), "{head}");
}

/// The text of an attribute's samples: frame and list.
fn samples(usd: &str, attribute: &str) -> Vec<(usize, String)> {
    let start = usd.find(&format!("{attribute}.timeSamples")).unwrap();
    let rest = &usd[start..];
    let block = &rest[..rest.find("\n        }").unwrap()];
    block
        .lines()
        .skip(1)
        .map(|l| {
            let (frame, value) = l.trim().split_once(": ").unwrap();
            (frame.parse().unwrap(), value.to_string())
        })
        .collect()
}

#[test]
fn usd_follows_a_changing_topology() {
    let place = Folder::changing("usd");
    let written = place.export("run.usda", &ExportOptions::default()).unwrap();
    let text = std::fs::read_to_string(&written[0]).unwrap();
    let count = |v: &str| v.matches('(').count();
    let points = samples(&text, "point3f[] points");
    let counts: Vec<_> = points.iter().map(|(f, v)| (*f, count(v))).collect();
    assert_eq!(counts, [(0, 4), (1, 4), (2, 6), (3, 6)]);
    let faces = samples(&text, "int[] faceVertexIndices");
    assert_eq!(faces.iter().map(|f| f.0).collect::<Vec<_>>(), [0, 2]);
    assert!(faces[1].1.starts_with("[0, 1, 3, 0, 3, 2, 2, 3, 5"));
    assert!(!place.0.join("run.spool").exists());
    // Formats with one connectivity refuse, say why, and leave nothing behind.
    for name in ["run.glb", "run.pc2"] {
        let error = place
            .export(name, &ExportOptions::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("changes at frame 2") && error.contains(".usda"));
        assert!(!place.0.join(name).exists());
        assert!(!place.0.join(format!("{name}.partial")).exists());
    }
    // Up to the change they do not mind.
    let before = ExportOptions {
        last: Some(1),
        ..ExportOptions::default()
    };
    place.export("run.glb", &before).unwrap();
}

/// A crate file, read back as far as the test needs it.
struct CrateFile(Vec<u8>);

impl CrateFile {
    fn number(&self, at: usize) -> usize {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap()) as usize
    }

    /// Where a table begins.
    fn table(&self, name: &str) -> usize {
        let contents = self.number(16);
        let rows = (0..self.number(contents)).map(|i| contents + 8 + 32 * i);
        let named = |row: &usize| self.0[*row..].starts_with(name.as_bytes());
        // FIELDS begins as FIELDSETS does.
        let exact = |row: &usize| self.0[row + name.len()] == 0;
        self.number(rows.filter(named).find(exact).unwrap() + 16)
    }

    /// The bytes of a block that is preceded by its length, and the place after it.
    fn block(&self, at: usize) -> (&[u8], usize) {
        let (first, length) = (at + 8, self.number(at));
        let block = &self.0[first..first + length];
        let more = block[2..].iter().take_while(|b| **b == 255).count();
        let skip = if block[1] < 0xf0 { 2 } else { 3 + more };
        (&block[skip..], first + length)
    }

    fn integers(&self, at: usize, count: usize) -> (Vec<i32>, usize) {
        let (block, next) = self.block(at);
        let differences: Vec<i32> =
            bytemuck::allocation::pod_collect_to_vec(&block[4 + count.div_ceil(4)..]);
        let sums = differences.iter().scan(0, |sum, d| {
            *sum += d;
            Some(*sum)
        });
        (sums.collect(), next)
    }

    fn tokens(&self) -> Vec<String> {
        let (text, _) = self.block(self.table("TOKENS") + 16);
        let names = text.split(|b| *b == 0);
        names
            .map(|t| String::from_utf8(t.to_vec()).unwrap())
            .collect()
    }

    /// All fields with this name, as values.
    fn fields(&self, name: &str) -> Vec<u64> {
        let (table, tokens) = (self.table("FIELDS"), self.tokens());
        let count = self.number(table);
        let (of, next) = self.integers(table + 8, count);
        let (reps, _) = self.block(next);
        let reps: Vec<u64> = bytemuck::allocation::pod_collect_to_vec(reps);
        let named = of
            .iter()
            .zip(reps)
            .filter(|(t, _)| tokens[**t as usize] == name);
        named.map(|(_, rep)| rep).collect()
    }

    /// Times and values of samples: their types and places.
    fn samples(&self, rep: u64) -> Vec<(f64, u64)> {
        let at = (rep & 0xffff_ffff_ffff) as usize;
        let times = (self.number(at + 8) & 0xffff_ffff_ffff) + 8;
        let count = self.number(at + 24);
        let time = |i: usize| f64::from_bits(self.number(times + 8 * i) as u64);
        (0..count)
            .map(|i| (time(i), self.number(at + 32 + 8 * i) as u64))
            .collect()
    }
}

#[test]
fn binary_usd_holds_the_same_samples() {
    let place = Folder::changing("crate");
    let written = place.export("run.usdc", &only("sheet")).unwrap();
    let file = CrateFile(std::fs::read(&written[0]).unwrap());
    assert!(file.0.starts_with(b"PXR-USDC\0\x08\0"));
    assert_eq!(file.number(file.table("STRINGS")), 0);
    // The root, the run, its mesh, and ten attributes of that.
    assert_eq!(file.number(file.table("SPECS")), 3 + 10);
    let (jumps, _) = {
        let paths = file.table("PATHS") + 8;
        let count = file.number(paths);
        let (_, next) = file.integers(paths + 8, count);
        let (_, next) = file.integers(next, count);
        file.integers(next, count)
    };
    assert_eq!(jumps, [-1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, -2]);
    // A list of vectors of single precision in every frame, of as many as there are vertices.
    let tracks = file.fields("timeSamples");
    let counts = |rep: &u64| {
        let all = file.samples(*rep).into_iter();
        let count = |v: u64| file.number((v & 0xffff_ffff_ffff) as usize);
        all.map(|(t, v)| (t, v >> 48, count(v))).collect::<Vec<_>>()
    };
    let vectors = 0x8000 | 0x18;
    let expected = [(0., 4), (1., 4), (2., 6), (3., 6)].map(|(t, n)| (t, vectors, n));
    let found = tracks.iter().find(|rep| counts(rep) == expected).unwrap();
    let (_, last) = file.samples(*found)[3];
    let at = (last & 0xffff_ffff_ffff) as usize + 8;
    let points: Vec<f32> = bytemuck::allocation::pod_collect_to_vec(&file.0[at..at + 72]);
    let corner = |i: usize| [(i % 2) as f32, (i / 2) as f32, 3.0];
    assert_eq!(points, (0..6).flat_map(corner).collect::<Vec<f32>>());
}

#[test]
fn a_late_motion_in_usd_is_not_spread_over_the_rest_before() {
    let place = Folder::changing("late");
    let written = place.export("run.usda", &only("ball")).unwrap();
    let text = std::fs::read_to_string(&written[0]).unwrap();
    let points = samples(&text, "point3f[] points");
    let frames: Vec<usize> = points.iter().map(|p| p.0).collect();
    assert_eq!(frames, [0, 1, 2, 3]);
    assert_eq!(points[0].1, points[1].1);
    assert_ne!(points[1].1, points[2].1);
    assert_ne!(points[2].1, points[3].1);
    let still = place.export("still.usda", &only("floor")).unwrap();
    let text = std::fs::read_to_string(&still[0]).unwrap();
    assert!(text.contains("point3f[] points = [") && !text.contains("timeSamples"));
}

/// The JSON and the binary part of a GLB file.
fn glb(path: &Path) -> (serde_json::Value, Vec<u8>) {
    let bytes = std::fs::read(path).unwrap();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((number(8), &bytes[16..20]), (bytes.len(), &b"JSON"[..]));
    let end = 20 + number(12);
    let document = serde_json::from_slice(&bytes[20..end]).unwrap();
    assert_eq!(number(end), bytes.len() - end - 8);
    (document, bytes[end + 8..].to_vec())
}

#[test]
fn glb_morphs_from_the_first_frame_to_each_later_one() {
    let place = Folder::run("glb");
    let written = place.export("run.glb", &ExportOptions::default()).unwrap();
    let (document, data) = glb(&written[0]);
    let vectors = |accessor: &serde_json::Value| -> Vec<f32> {
        let a = &document["accessors"][accessor.as_u64().unwrap() as usize];
        let view = &document["bufferViews"][a["bufferView"].as_u64().unwrap() as usize];
        let start = view["byteOffset"].as_u64().unwrap() as usize;
        let length = view["byteLength"].as_u64().unwrap() as usize;
        floats(&data[start..start + length])
    };
    let meshes = document["meshes"].as_array().unwrap();
    let named = |n: &str| meshes.iter().find(|m| m["name"] == n).unwrap();
    let primitive = &named("sheet")["primitives"][0];
    let base = vectors(&primitive["attributes"]["POSITION"]);
    let frame = place.reader().read(3).unwrap();
    let sheet = frame.bodies.iter().find(|b| b.name == "sheet").unwrap();
    let moved = vectors(&primitive["targets"][2]["POSITION"]);
    for (i, p) in sheet.positions.iter().enumerate() {
        for (k, c) in [p.x, p.z, -p.y].into_iter().enumerate() {
            let at = f64::from(base[3 * i + k]) + f64::from(moved[3 * i + k]);
            assert!((at - c).abs() < 1e-7);
        }
    }
    // The seam of the tube has two texture coordinates, so its vertices are there twice.
    let tube = frame.bodies.iter().find(|b| b.name == "a tube").unwrap();
    let split = vectors(&named("a tube")["primitives"][0]["attributes"]["POSITION"]);
    assert!(split.len() > 3 * tube.positions.len());
    assert!(named("floor")["primitives"][0].get("targets").is_none());
    let targets = named("ball")["primitives"][0]["targets"]
        .as_array()
        .unwrap();
    assert_eq!(targets.len(), 4);
}

#[test]
fn vtu_files_and_their_collection() {
    let place = Folder::run("vtu");
    let written = place
        .export("v/run.pvd", &ExportOptions::default())
        .unwrap();
    assert_eq!(written.len(), 11);
    let collection = std::fs::read_to_string(&written[0]).unwrap();
    assert!(collection.contains("timestep=\"0.08\" part=\"0\" file=\"run_000004.vtu\""));
    let bytes = std::fs::read(place.0.join("v/run_000004.vtu")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for field in [
        "velocity",
        "contact_pressure",
        "stretch",
        "compression",
        "object",
    ] {
        assert!(text.contains(&format!("Name=\"{field}\"")));
    }
    // The first array behind the underscore is that of the points.
    let marker = b"<AppendedData encoding=\"raw\">\n_";
    let at = bytes
        .windows(marker.len())
        .position(|w| w == marker)
        .unwrap()
        + marker.len();
    let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let points: Vec<f64> =
        bytemuck::allocation::pod_collect_to_vec(&bytes[at + 8..at + 8 + length]);
    let frame = place.reader().read(4).unwrap();
    let expected: Vec<f64> = frame
        .bodies
        .iter()
        .map(|b| &b.positions)
        .chain(frame.obstacles.iter().map(|o| &o.positions))
        .flatten()
        .flat_map(Vec3::to_array)
        .collect();
    assert_eq!(points, expected);
}

#[test]
fn wishes_that_cannot_be_met_are_refused() {
    let place = Folder::run("refused");
    let refused = |to: &str, options: &ExportOptions| match place.export(to, options) {
        Err(RecordError::Refused(message)) => message,
        other => panic!("{other:?}"),
    };
    assert!(refused("a.usda", &only("shoe")).contains("a tube, sheet, ball, floor"));
    assert!(refused("a.gltf", &ExportOptions::default()).contains(".glb"));
    assert!(refused("meshes", &ExportOptions::default()).contains(".vtu"));
    let late = ExportOptions {
        last: Some(9),
        ..ExportOptions::default()
    };
    assert!(refused("a.usda", &late).contains("there are 0 to 4"));
    let flat = ExportOptions {
        scale: 0.0,
        ..ExportOptions::default()
    };
    assert!(refused("a.usda", &flat).contains("scale"));
    assert_eq!(std::fs::read_dir(&place.0).unwrap().count(), 1);
}
