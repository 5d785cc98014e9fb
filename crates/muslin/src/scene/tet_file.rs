//! Reading tetrahedra from Gmsh's MSH files (ASCII, formats 2 and 4.1) and TetGen's pairs of .node and .ele files.
//!
//! Both are short texts, read here rather than by a library: the one there is for MSH knows only format 4.1 and has not
//! been kept up, and mistakes should be told with their line.

use super::SceneError;
use super::mesh_file::{LineError, file_error, numbers, read_bytes};
use muslin_geometry::tet::TetMesh;
use muslin_linalg::Vec3;
use std::path::Path;

/// Reads tetrahedra; the format follows from the ending.
pub fn read(path: &Path) -> Result<TetMesh, SceneError> {
    let ending = path
        .extension()
        .map(|e| e.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    match ending.as_str() {
        "msh" => parse(path, read_msh),
        "node" | "ele" => {
            let nodes = parse(&path.with_extension("node"), read_node)?;
            parse(&path.with_extension("ele"), |text| read_ele(text, nodes))
        }
        other => Err(file_error(
            path,
            format!("`.{other}` is not a format of tetrahedra Muslin reads"),
            "use a Gmsh .msh file or TetGen's .node with its .ele; to fill a closed surface, name it in `fill`",
            None,
        )),
    }
}

fn parse<T>(
    path: &Path,
    reader: impl FnOnce(&str) -> Result<T, LineError>,
) -> Result<T, SceneError> {
    let bytes = read_bytes(path)?;
    let text = String::from_utf8_lossy(&bytes);
    reader(&text).map_err(|(number, problem)| {
        let line = text.lines().nth(number.saturating_sub(1)).unwrap_or("");
        // Binary data would spoil the terminal.
        let shown = line
            .chars()
            .take(120)
            .map(|c| if c.is_control() { '?' } else { c });
        let line: String = shown.collect();
        let remedy =
            "mend the marked line, or save the mesh again (from Gmsh as ASCII: Mesh.Binary = 0)";
        file_error(path, problem, remedy, Some((number, &line)))
    })
}

/// Lines that say something, with their numbers.
struct Lines<'a> {
    rest: std::iter::Enumerate<std::str::Lines<'a>>,
    last: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text.lines().enumerate(),
            last: 1,
        }
    }

    fn next(&mut self) -> Option<(usize, &'a str)> {
        for (i, line) in self.rest.by_ref() {
            let line = line.split('#').next().unwrap_or("").trim();
            if !line.is_empty() {
                self.last = i + 1;
                return Some((i + 1, line));
            }
        }
        None
    }

    fn expect(&mut self, what: &str) -> Result<(usize, &'a str), LineError> {
        let end = self.last;
        self.next()
            .ok_or_else(|| (end, format!("the file ends where {what} should be")))
    }

    /// A line of at least `N` whole numbers.
    fn counts<const N: usize>(&mut self, what: &str) -> Result<[u64; N], LineError> {
        let (number, line) = self.expect(what)?;
        whole(&mut line.split_whitespace(), number)
    }
}

/// The next `N` words of a line as whole numbers.
fn whole<'a, const N: usize>(
    words: &mut impl Iterator<Item = &'a str>,
    number: usize,
) -> Result<[u64; N], LineError> {
    let mut out = [0; N];
    for slot in &mut out {
        let word = words
            .next()
            .ok_or_else(|| (number, format!("{N} whole numbers are needed here")))?;
        *slot = word
            .parse()
            .map_err(|_| (number, format!("`{word}` is not a whole number")))?;
    }
    Ok(out)
}

/// Vertices by the numbers a file gives them.
#[derive(Default)]
struct Nodes {
    positions: Vec<Vec3>,
    /// Number in the file and place in `positions`; sorted by [`Self::sort`].
    numbers: Vec<(u64, u32)>,
}

impl Nodes {
    fn add(&mut self, number: u64, position: Vec3) {
        self.numbers.push((number, self.positions.len() as u32));
        self.positions.push(position);
    }

    /// A number and three coordinates.
    fn add_line(&mut self, line: &str, number: usize) -> Result<(), LineError> {
        let mut words = line.split_whitespace();
        let [id] = whole(&mut words, number)?;
        self.add(id, Vec3::from_array(numbers(words, number)?));
        Ok(())
    }

    fn sort(&mut self) {
        self.numbers.sort_unstable();
    }

    fn find(&self, number: u64, line: usize) -> Result<u32, LineError> {
        let found = self.numbers.binary_search_by_key(&number, |n| n.0);
        let found = found.map_err(|_| (line, format!("there is no vertex {number}")))?;
        Ok(self.numbers[found].1)
    }

    fn tetrahedron(&self, corners: [u64; 4], line: usize) -> Result<[u32; 4], LineError> {
        let mut out = [0; 4];
        for (slot, corner) in out.iter_mut().zip(corners) {
            *slot = self.find(corner, line)?;
        }
        Ok(out)
    }

    fn mesh(self, tetrahedra: Vec<[u32; 4]>) -> TetMesh {
        TetMesh {
            positions: self.positions,
            tetrahedra,
            origin: Vec::new(),
        }
    }
}

fn read_node(text: &str) -> Result<Nodes, LineError> {
    let mut lines = Lines::new(text);
    let [count, dimensions] = lines.counts("the number of vertices")?;
    if dimensions != 3 {
        let problem = format!("the vertices have {dimensions} coordinates, not 3");
        return Err((lines.last, problem));
    }
    let mut nodes = Nodes::default();
    for _ in 0..count {
        let (number, line) = lines.expect("a vertex")?;
        nodes.add_line(line, number)?;
    }
    nodes.sort();
    Ok(nodes)
}

fn read_ele(text: &str, nodes: Nodes) -> Result<TetMesh, LineError> {
    let mut lines = Lines::new(text);
    let [count, corners] = lines.counts("the number of tetrahedra")?;
    // Ten are four corners and the middles of the edges, which do not count here.
    if corners != 4 && corners != 10 {
        let problem = format!("the elements have {corners} corners; tetrahedra have 4");
        return Err((lines.last, problem));
    }
    let mut tetrahedra = Vec::new();
    for _ in 0..count {
        let (number, line) = lines.expect("a tetrahedron")?;
        let [_, a, b, c, d] = whole(&mut line.split_whitespace(), number)?;
        tetrahedra.push(nodes.tetrahedron([a, b, c, d], number)?);
    }
    Ok(nodes.mesh(tetrahedra))
}

/// Gmsh's numbers for tetrahedra with four and with ten vertices.
const TETRAHEDRA: [u64; 2] = [4, 11];

fn read_msh(text: &str) -> Result<TetMesh, LineError> {
    let mut lines = Lines::new(text);
    let (mut format, mut nodes) = (None, Nodes::default());
    let mut tetrahedra = Vec::new();
    while let Some((number, line)) = lines.next() {
        match (line, format) {
            ("$MeshFormat", _) => format = Some(msh_format(&mut lines)?),
            ("$Nodes", Some(Msh::Two)) => nodes_of_two(&mut lines, &mut nodes)?,
            ("$Nodes", Some(Msh::Four)) => nodes_of_four(&mut lines, &mut nodes)?,
            ("$Elements", Some(Msh::Two)) => elements_of_two(&mut lines, &nodes, &mut tetrahedra)?,
            ("$Elements", Some(Msh::Four)) => {
                elements_of_four(&mut lines, &nodes, &mut tetrahedra)?;
            }
            (_, None) => {
                return Err((number, "a Gmsh file begins with $MeshFormat".into()));
            }
            _ => {}
        }
    }
    Ok(nodes.mesh(tetrahedra))
}

#[derive(Clone, Copy)]
enum Msh {
    Two,
    Four,
}

fn msh_format(lines: &mut Lines) -> Result<Msh, LineError> {
    let (number, line) = lines.expect("the format")?;
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [_, "1", ..] => Err((number, "this is a binary Gmsh file".into())),
        [version, "0", ..] if version.starts_with('2') => Ok(Msh::Two),
        ["4.1", "0", ..] => Ok(Msh::Four),
        [version, ..] => Err((
            number,
            format!("format {version} is not read; save the mesh as version 2.2 or 4.1"),
        )),
        [] => Err((number, "the format is missing".into())),
    }
}

fn nodes_of_two(lines: &mut Lines, nodes: &mut Nodes) -> Result<(), LineError> {
    let [count] = lines.counts("the number of vertices")?;
    for _ in 0..count {
        let (number, line) = lines.expect("a vertex")?;
        nodes.add_line(line, number)?;
    }
    nodes.sort();
    Ok(())
}

fn nodes_of_four(lines: &mut Lines, nodes: &mut Nodes) -> Result<(), LineError> {
    let [blocks] = lines.counts("the number of blocks of vertices")?;
    for _ in 0..blocks {
        let [_, _, _, count] = lines.counts("a block of vertices")?;
        let mut ids = Vec::new();
        for _ in 0..count {
            let [id] = lines.counts("the number of a vertex")?;
            ids.push(id);
        }
        for id in ids {
            let (number, line) = lines.expect("a vertex")?;
            let at = numbers(line.split_whitespace(), number)?;
            nodes.add(id, Vec3::from_array(at));
        }
    }
    nodes.sort();
    Ok(())
}

fn elements_of_two(
    lines: &mut Lines,
    nodes: &Nodes,
    out: &mut Vec<[u32; 4]>,
) -> Result<(), LineError> {
    let [count] = lines.counts("the number of elements")?;
    for _ in 0..count {
        let (number, line) = lines.expect("an element")?;
        let mut words = line.split_whitespace();
        let [_, kind, tags] = whole(&mut words, number)?;
        if TETRAHEDRA.contains(&kind) {
            let corners = whole(&mut words.skip(tags as usize), number)?;
            out.push(nodes.tetrahedron(corners, number)?);
        }
    }
    Ok(())
}

fn elements_of_four(
    lines: &mut Lines,
    nodes: &Nodes,
    out: &mut Vec<[u32; 4]>,
) -> Result<(), LineError> {
    let [blocks] = lines.counts("the number of blocks of elements")?;
    for _ in 0..blocks {
        let [_, _, kind, count] = lines.counts("a block of elements")?;
        for _ in 0..count {
            let (number, line) = lines.expect("an element")?;
            if TETRAHEDRA.contains(&kind) {
                let [_, a, b, c, d] = whole(&mut line.split_whitespace(), number)?;
                out.push(nodes.tetrahedron([a, b, c, d], number)?);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n5 0 1 0\n7 0 0 1\n$EndNodes\n\
                       $Elements\n2\n1 2 2 0 1 1 2 5\n2 4 2 0 1 1 2 5 7\n$EndElements\n";
    const FOUR: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 1\n1 0 0 0 1 1 1 0 0\n$EndEntities\n\
                        $Nodes\n2 4 1 7\n0 1 0 1\n1\n0 0 0\n3 1 0 3\n2\n5\n7\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n\
                        $Elements\n2 2 1 2\n2 1 2 1\n1 1 2 5\n3 1 4 1\n2 1 2 5 7\n$EndElements\n";

    #[test]
    fn gmsh_files_of_both_kinds_say_the_same() {
        let two = read_msh(TWO).unwrap();
        assert_eq!(two.tetrahedra, [[0, 1, 2, 3]]);
        assert_eq!(two.positions[3], Vec3::Z);
        assert_eq!(read_msh(FOUR).unwrap(), two);
    }

    #[test]
    fn tetgen_files_may_count_from_one_and_have_comments() {
        let nodes = "# made by hand\n4 3 0 0\n1 0 0 0\n2 1 0 0 # east\n3 0 1 0\n4 0 0 1\n";
        let mesh = read_ele("1 4 0\n1 1 2 3 4\n", read_node(nodes).unwrap()).unwrap();
        assert_eq!(mesh.tetrahedra, [[0, 1, 2, 3]]);
    }

    #[test]
    fn mistakes_have_their_line() {
        let wrong = |from: &str, to: &str| read_msh(&TWO.replace(from, to)).unwrap_err();
        assert_eq!(wrong("5 0 1 0", "5 0 one 0").0, 8);
        assert_eq!(
            wrong("2 4 2 0 1 1 2 5 7", "2 4 2 0 1 1 2 5 8"),
            (14, "there is no vertex 8".into())
        );
        assert_eq!(wrong("2 4 2 0 1 1 2 5 7", "2 4 2 0 1 1 2").0, 14);
        assert_eq!(wrong("2.2 0 8", "2.2 1 8").0, 2);
        assert_eq!(wrong("2.2 0 8", "3.0 0 8").0, 2);
        assert_eq!(wrong("$Elements\n2", "$Elements\n99999999999999").0, 15);
        assert_eq!(read_msh("solid cube").unwrap_err().0, 1);
        let nodes = || read_node("1 3 0 0\n0 0 0 0\n").unwrap();
        assert_eq!(read_ele("1 4 0\n", nodes()).unwrap_err().0, 1);
        assert_eq!(read_ele("1 8 0\n", nodes()).unwrap_err().0, 1);
        assert!(read_node("1 2 0 0\n0 0 0\n").is_err());
        assert!(read_node("-1 3\n").is_err());
    }
}
