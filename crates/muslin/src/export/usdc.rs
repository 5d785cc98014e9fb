//! Universal Scene Description in its binary form, the crate file: values first, as they come; then tables of tokens, fields,
//! paths and specs that point to them. Version 0.8 of the form wants the tables packed; they are short, so that they are
//! packed in the plainest way, without making them shorter.

use super::Job;
use super::spool::Output;
use super::usd::{MeshTracks, Stage, Track, Values, meshes};
use crate::record::RecordError;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Types of values, by the numbers they have in the file.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Kind {
    Bool = 1,
    Int = 3,
    Double = 9,
    Token = 11,
    Vec2f = 20,
    Vec3f = 24,
    TokenVector = 41,
    Specifier = 42,
    Variability = 44,
    TimeSamples = 46,
    DoubleVector = 48,
}

/// A value: its type, and itself or its place in the file.
#[derive(Clone, Copy)]
struct Rep(u64);

impl Rep {
    /// A value that is small enough to stand for itself.
    fn inline(kind: Kind, value: u32) -> Self {
        Self((1 << 62) | ((kind as u64) << 48) | u64::from(value))
    }

    /// A value at a place in the file.
    fn at(kind: Kind, place: u64) -> Self {
        Self(((kind as u64) << 48) | place)
    }

    fn array(kind: Kind, place: u64) -> Self {
        Self((1 << 63) | Self::at(kind, place).0)
    }
}

/// What kind of thing a path leads to.
#[derive(Clone, Copy)]
#[repr(u32)]
enum SpecKind {
    Attribute = 1,
    Prim = 6,
    Root = 7,
}

/// Length of what comes before everything else: name, version, place of the contents, and room for more.
const BOOT: usize = 88;
const VERSION: u8 = 8;

/// A node of the tree of paths.
struct Node {
    token: u32,
    property: bool,
    children: Vec<usize>,
}

/// A crate file on its way to disk.
struct Crate {
    out: Output,
    at: u64,
    tokens: Vec<String>,
    known: BTreeMap<String, u32>,
    fields: Vec<(u32, Rep)>,
    sets: Vec<u32>,
    specs: Vec<[u32; 3]>,
    nodes: Vec<Node>,
}

impl Crate {
    fn create(job: &Job) -> Result<Self, RecordError> {
        let mut file = Self {
            out: Output::create(job.to)?,
            at: 0,
            tokens: Vec::new(),
            known: BTreeMap::new(),
            fields: Vec::new(),
            sets: Vec::new(),
            specs: Vec::new(),
            nodes: Vec::new(),
        };
        // Filled in at the end.
        file.bytes(&[0; BOOT])?;
        // The first token is that of no name.
        file.token("");
        Ok(file)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        self.out.bytes(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// The next place at a multiple of eight bytes.
    fn align(&mut self) -> Result<u64, RecordError> {
        let gap = self.at.next_multiple_of(8) - self.at;
        self.bytes(&[0; 8][..gap as usize])?;
        Ok(self.at)
    }

    /// Puts bytes at a multiple of eight and says where.
    fn put(&mut self, bytes: &[u8]) -> Result<u64, RecordError> {
        let place = self.align()?;
        self.bytes(bytes)?;
        Ok(place)
    }

    fn token(&mut self, text: &str) -> u32 {
        if let Some(index) = self.known.get(text) {
            return *index;
        }
        let index = self.tokens.len() as u32;
        self.tokens.push(text.to_string());
        self.known.insert(text.to_string(), index);
        index
    }

    fn named(&mut self, text: &str) -> Rep {
        Rep::inline(Kind::Token, self.token(text))
    }

    fn names(&mut self, all: &[&str]) -> Result<Rep, RecordError> {
        let mut bytes = (all.len() as u64).to_le_bytes().to_vec();
        for name in all {
            bytes.extend(self.token(name).to_le_bytes());
        }
        Ok(Rep::at(Kind::TokenVector, self.put(&bytes)?))
    }

    fn number(&mut self, value: f64) -> Result<Rep, RecordError> {
        let short = value as f32;
        if f64::from(short) == value {
            return Ok(Rep::inline(Kind::Double, short.to_bits()));
        }
        Ok(Rep::at(Kind::Double, self.put(&value.to_le_bytes())?))
    }

    fn values(&mut self, values: &Values) -> Result<Rep, RecordError> {
        let (kind, count, bytes): (Kind, usize, &[u8]) = match values {
            Values::Integers(v) => (Kind::Int, v.len(), bytemuck::cast_slice(v)),
            Values::Pairs(v) => (Kind::Vec2f, v.len(), bytemuck::cast_slice(v)),
            Values::Vectors(v) => (Kind::Vec3f, v.len(), bytemuck::cast_slice(v)),
        };
        if count == 0 {
            return Ok(Rep::array(kind, 0));
        }
        let place = self.align()?;
        self.bytes(&(count as u64).to_le_bytes())?;
        self.bytes(bytes)?;
        Ok(Rep::array(kind, place))
    }

    /// Values at times. Parts are preceded by the way to them; as values are written before, it is as short as can be.
    fn samples(&mut self, samples: &[(usize, Rep)]) -> Result<Rep, RecordError> {
        let count = (samples.len() as u64).to_le_bytes();
        let mut times = count.to_vec();
        times.extend(samples.iter().flat_map(|(t, _)| (*t as f64).to_le_bytes()));
        let times = Rep::at(Kind::DoubleVector, self.put(&times)?);
        let next = 8i64.to_le_bytes();
        let mut bytes = [next, times.0.to_le_bytes(), next, count].concat();
        bytes.extend(samples.iter().flat_map(|(_, rep)| rep.0.to_le_bytes()));
        Ok(Rep::at(Kind::TimeSamples, self.put(&bytes)?))
    }

    /// Adds something at a path, under the one it belongs to.
    fn add(
        &mut self,
        parent: Option<usize>,
        name: &str,
        kind: SpecKind,
        fields: Vec<(&str, Rep)>,
    ) -> usize {
        let node = self.nodes.len();
        let token = self.token(name);
        self.nodes.push(Node {
            token,
            property: matches!(kind, SpecKind::Attribute),
            children: Vec::new(),
        });
        if let Some(parent) = parent {
            self.nodes[parent].children.push(node);
        }
        self.specs
            .push([node as u32, self.sets.len() as u32, kind as u32]);
        for (field, rep) in fields {
            let token = self.token(field);
            self.sets.push(self.fields.len() as u32);
            self.fields.push((token, rep));
        }
        self.sets.push(u32::MAX);
        node
    }

    /// Adds the tree of paths from a node on, children before siblings.
    fn path(&self, node: usize, siblings: &[usize], tree: &mut Tree) {
        let Node {
            token,
            property,
            children,
        } = &self.nodes[node];
        let own = tree.nodes.len();
        tree.nodes.push(node as i32);
        // Properties are told from prims by the sign.
        let token = *token as i32;
        tree.tokens.push(if *property { -token } else { token });
        tree.jumps
            .push(match (children.is_empty(), siblings.is_empty()) {
                (true, true) => LEAF,
                (false, true) => ONLY_CHILDREN,
                _ => ONLY_SIBLINGS,
            });
        if let Some((first, others)) = children.split_first() {
            self.path(*first, others, tree);
            if !siblings.is_empty() {
                tree.jumps[own] = (tree.nodes.len() - own) as i32;
            }
        }
        if let Some((next, others)) = siblings.split_first() {
            self.path(*next, others, tree);
        }
    }

    /// The tables, by name.
    fn tables(&self) -> [(&'static str, Vec<u8>); 6] {
        let count = |n: usize| (n as u64).to_le_bytes().to_vec();
        let names = self.tokens.iter();
        let text: Vec<u8> = names.flat_map(|t| t.bytes().chain([0])).collect();
        let tokens = [
            count(self.tokens.len()),
            count(text.len()),
            sized(stored(&text)),
        ];
        let of: Vec<i32> = self.fields.iter().map(|(t, _)| *t as i32).collect();
        let reps: Vec<u8> = self
            .fields
            .iter()
            .flat_map(|(_, r)| r.0.to_le_bytes())
            .collect();
        let fields = [
            count(self.fields.len()),
            sized(integers(&of)),
            sized(stored(&reps)),
        ];
        let sets: Vec<i32> = self.sets.iter().map(|s| *s as i32).collect();
        let sets = [count(sets.len()), sized(integers(&sets))];
        let column = |k: usize| {
            let all: Vec<i32> = self.specs.iter().map(|s| s[k] as i32).collect();
            sized(integers(&all))
        };
        let specs = [count(self.specs.len()), column(0), column(1), column(2)];
        let mut tree = Tree::default();
        self.path(0, &[], &mut tree);
        let paths = [
            count(self.nodes.len()),
            count(tree.nodes.len()),
            sized(integers(&tree.nodes)),
            sized(integers(&tree.tokens)),
            sized(integers(&tree.jumps)),
        ];
        [
            ("TOKENS", tokens.concat()),
            ("STRINGS", count(0)),
            ("FIELDS", fields.concat()),
            ("FIELDSETS", sets.concat()),
            ("PATHS", paths.concat()),
            ("SPECS", specs.concat()),
        ]
    }

    /// Writes the tables and what leads to them.
    fn finish(mut self) -> Result<PathBuf, RecordError> {
        let tables = self.tables();
        let mut contents = (tables.len() as u64).to_le_bytes().to_vec();
        for (name, bytes) in tables {
            let place = self.put(&bytes)?;
            let mut row = [0u8; 32];
            row[..name.len()].copy_from_slice(name.as_bytes());
            row[16..24].copy_from_slice(&place.to_le_bytes());
            row[24..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            contents.extend(row);
        }
        let contents = self.put(&contents)?;
        let mut boot = b"PXR-USDC".to_vec();
        boot.extend([0, VERSION, 0, 0, 0, 0, 0, 0]);
        boot.extend(contents.to_le_bytes());
        self.out.patch(0, &boot)?;
        self.out.finish()
    }
}

/// The tree of paths as the file has it: one row a path.
#[derive(Default)]
struct Tree {
    nodes: Vec<i32>,
    tokens: Vec<i32>,
    /// Rows to the next sibling if there are children in between, or one of those below.
    jumps: Vec<i32>,
}

const ONLY_SIBLINGS: i32 = 0;
const ONLY_CHILDREN: i32 = -1;
const LEAF: i32 = -2;

/// Bytes after their number.
fn sized(bytes: Vec<u8>) -> Vec<u8> {
    [(bytes.len() as u64).to_le_bytes().to_vec(), bytes].concat()
}

/// Bytes as one block of LZ4 that repeats nothing, in one piece.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut block = vec![0];
    // A length of 15 or more goes on in further bytes, up to one that is not full.
    match bytes.len().checked_sub(15) {
        None => block.push((bytes.len() as u8) << 4),
        Some(more) => {
            block.push(0xf0);
            block.extend(std::iter::repeat_n(255, more / 255));
            block.push((more % 255) as u8);
        }
    }
    block.extend(bytes);
    block
}

/// Integers as differences from the one before: a usual one, here nought, that is not needed; two bits each that say how long
/// they are, here always four bytes; then themselves.
fn integers(all: &[i32]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    let full = all.len() / 4;
    bytes.extend(std::iter::repeat_n(0xff, full));
    if !all.len().is_multiple_of(4) {
        bytes.push((1 << (2 * (all.len() % 4))) - 1);
    }
    let mut before = 0i32;
    for value in all {
        bytes.extend(value.wrapping_sub(before).to_le_bytes());
        before = *value;
    }
    stored(&bytes)
}

pub(super) fn write(
    job: &Job,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<PathBuf>, RecordError> {
    let mut file = Crate::create(job)?;
    let meshes = meshes(job, progress, &mut |v| file.values(v))?;
    let stage = Stage::new(job);
    let fields = vec![
        ("defaultPrim", file.named(&stage.root)),
        ("endTimeCode", file.number(stage.last as f64)?),
        ("framesPerSecond", file.number(stage.rate)?),
        ("metersPerUnit", file.number(stage.metres)?),
        ("startTimeCode", file.number(stage.first as f64)?),
        ("timeCodesPerSecond", file.number(stage.rate)?),
        ("upAxis", file.named(stage.up)),
        ("primChildren", file.names(&[&stage.root])?),
    ];
    let top = file.add(None, "", SpecKind::Root, fields);
    let names: Vec<&str> = meshes.iter().map(|m| m.name.as_str()).collect();
    let fields = vec![
        ("specifier", Rep::inline(Kind::Specifier, 0)),
        ("typeName", file.named("Xform")),
        ("kind", file.named("component")),
        ("primChildren", file.names(&names)?),
    ];
    let root = file.add(Some(top), &stage.root, SpecKind::Prim, fields);
    for mesh in &meshes {
        write_mesh(&mut file, root, mesh)?;
    }
    Ok(vec![file.finish()?])
}

/// A name, and the fields of what stands there.
type Described<'a> = (&'a str, Vec<(&'a str, Rep)>);

fn write_mesh(file: &mut Crate, root: usize, mesh: &MeshTracks<Rep>) -> Result<(), RecordError> {
    let uniform = ("variability", Rep::inline(Kind::Variability, 1));
    let mut attributes: Vec<Described> = Vec::new();
    if mesh.cloth {
        let truth = ("default", Rep::inline(Kind::Bool, 1));
        let fields = vec![("typeName", file.named("bool")), uniform, truth];
        attributes.push(("doubleSided", fields));
    }
    for track in mesh.tracks.iter().filter(|t| !t.samples.is_empty()) {
        attributes.push((track.attribute.name, fields_of(file, track)?));
    }
    let color = file.values(&Values::Vectors(vec![mesh.color()]))?;
    let fields = vec![("typeName", file.named("color3f[]")), ("default", color)];
    attributes.push(("primvars:displayColor", fields));
    let plain = ("default", file.named("none"));
    let fields = vec![("typeName", file.named("token")), uniform, plain];
    attributes.push(("subdivisionScheme", fields));
    let names: Vec<&str> = attributes.iter().map(|(name, _)| *name).collect();
    let fields = vec![
        ("specifier", Rep::inline(Kind::Specifier, 0)),
        ("typeName", file.named("Mesh")),
        ("properties", file.names(&names)?),
    ];
    let node = file.add(Some(root), &mesh.name, SpecKind::Prim, fields);
    for (name, fields) in attributes {
        file.add(Some(node), name, SpecKind::Attribute, fields);
    }
    Ok(())
}

fn fields_of<'a>(file: &mut Crate, track: &Track<Rep>) -> Result<Vec<(&'a str, Rep)>, RecordError> {
    let mut fields = vec![("typeName", file.named(track.attribute.kind))];
    if let Some(interpolation) = track.attribute.interpolation {
        fields.push(("interpolation", file.named(interpolation)));
    }
    fields.push(match track.samples[..] {
        [(_, alone)] => ("default", alone),
        _ => ("timeSamples", file.samples(&track.samples)?),
    });
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_say_how_long_they_are() {
        assert_eq!(stored(b"abc"), [&[0, 0x30][..], b"abc"].concat());
        for length in [14, 15, 16, 269, 270, 271, 1000] {
            let block = stored(&vec![7; length]);
            assert_eq!(block[0], 0);
            let mut found = usize::from(block[1] >> 4);
            let mut at = 2;
            if found == 15 {
                loop {
                    found += usize::from(block[at]);
                    at += 1;
                    if block[at - 1] < 255 {
                        break;
                    }
                }
            }
            assert_eq!((found, block.len() - at), (length, length));
        }
    }

    #[test]
    fn integers_are_differences_of_four_bytes() {
        let bytes = integers(&[5, 3, 3, -1, 2]);
        assert_eq!(&bytes[..2], [0, 0xf0], "26 bytes: 15 and 11 more");
        assert_eq!(bytes[2], 11);
        assert_eq!(&bytes[3..7], [0; 4]);
        assert_eq!([bytes[7], bytes[8]], [0xff, 0b11]);
        let differences: Vec<i32> = bytemuck::allocation::pod_collect_to_vec(&bytes[9..]);
        assert_eq!(differences, [5, -2, 0, -4, 3]);
    }
}
