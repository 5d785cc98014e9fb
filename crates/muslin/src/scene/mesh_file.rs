//! Reading cloth from OBJ and PLY files.
//!
//! OBJ is read here rather than by a library: vertices must keep their numbers (pins and point caches rely on them) and
//! all their digits, and mistakes should be told with their line.

use super::SceneError;
use muslin_geometry::mesh::SurfaceMesh;
use muslin_linalg::{Vec2, Vec3};
use ply_rs_bw::{parser::Parser, ply};
use std::path::Path;

/// A mistake in a mesh file, at a line with its text if there is one.
pub(super) fn file_error(
    path: &Path,
    problem: impl Into<String>,
    remedy: &str,
    line: Option<(usize, &str)>,
) -> SceneError {
    let mut e = SceneError::new(problem, remedy);
    e.file = Some(path.to_path_buf());
    if let Some((number, text)) = line {
        e.line = Some(number);
        e.column = Some(1);
        e.excerpt = Some((text.to_string(), text.chars().count().max(1)));
    }
    e
}

/// What a mesh file holds.
pub(super) fn read_bytes(path: &Path) -> Result<Vec<u8>, SceneError> {
    std::fs::read(path).map_err(|e| {
        let problem = format!("the mesh file cannot be read: {e}");
        file_error(path, problem, "check the name and the folder", None)
    })
}

/// Reads a mesh; the format follows from the ending.
pub fn read(path: &Path) -> Result<SurfaceMesh, SceneError> {
    let error = |problem: String, remedy: &str, line: Option<(usize, &str)>| {
        file_error(path, problem, remedy, line)
    };
    let bytes = read_bytes(path)?;
    let ending = path
        .extension()
        .map(|e| e.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    match ending.as_str() {
        "obj" => {
            let text = String::from_utf8_lossy(&bytes);
            read_obj(&text).map_err(|(number, problem)| {
                let line = text.lines().nth(number - 1).unwrap_or("").to_string();
                error(
                    problem,
                    "mend the marked line, or export the mesh again",
                    Some((number, &line)),
                )
            })
        }
        "ply" => read_ply(&bytes).map_err(|problem| {
            error(
                problem,
                "export the mesh again as ASCII or binary PLY with x, y, z",
                None,
            )
        }),
        other => Err(error(
            format!("`.{other}` is not a mesh format Muslin reads"),
            "use a Wavefront .obj or a Stanford .ply file",
            None,
        )),
    }
}

/// Line, from 1, and what is wrong there.
pub(super) type LineError = (usize, String);

fn read_obj(text: &str) -> Result<SurfaceMesh, LineError> {
    let mut mesh = SurfaceMesh::default();
    let mut texture: Vec<Vec2> = Vec::new();
    let mut corners: Vec<[Option<usize>; 3]> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let number = i + 1;
        let mut words = line.split('#').next().unwrap_or("").split_whitespace();
        match words.next() {
            Some("v") => {
                let [x, y, z] = numbers(words, number)?;
                mesh.positions.push(Vec3::new(x, y, z));
            }
            Some("vt") => {
                let [u, v] = numbers(words, number)?;
                texture.push(Vec2::new(u, v));
            }
            Some("f") => {
                let polygon: Vec<(u32, Option<usize>)> = words
                    .map(|w| corner(w, mesh.positions.len(), texture.len(), number))
                    .collect::<Result<_, _>>()?;
                if polygon.len() < 3 {
                    return Err((number, format!("a face with {} corners", polygon.len())));
                }
                for k in 1..polygon.len() - 1 {
                    let triangle = [polygon[0], polygon[k], polygon[k + 1]];
                    mesh.faces.push(triangle.map(|c| c.0));
                    corners.push(triangle.map(|c| c.1));
                }
            }
            // Normals, groups, materials and the extensions of other programs say nothing about the surface.
            _ => {}
        }
    }
    if !corners.is_empty() && corners.iter().flatten().all(Option::is_some) {
        mesh.material = Some(
            corners
                .iter()
                .map(|c| c.map(|t| t.map_or(Vec2::ZERO, |t| texture[t])))
                .collect(),
        );
    }
    Ok(mesh)
}

pub(super) fn numbers<'a, const N: usize>(
    words: impl Iterator<Item = &'a str>,
    line: usize,
) -> Result<[f64; N], LineError> {
    let mut out = [0.0; N];
    let mut count = 0;
    for (slot, word) in out.iter_mut().zip(words) {
        *slot = word
            .parse()
            .map_err(|_| (line, format!("`{word}` is not a number")))?;
        count += 1;
    }
    if count < N {
        Err((line, format!("{N} numbers are needed, {count} are there")))
    } else {
        Ok(out)
    }
}

/// `v`, `v/t`, `v//n` or `v/t/n`; negative numbers count from the end.
fn corner(
    word: &str,
    vertices: usize,
    texture: usize,
    line: usize,
) -> Result<(u32, Option<usize>), LineError> {
    let index = |text: &str, count: usize, what: &str| {
        let i: i64 = text
            .parse()
            .map_err(|_| (line, format!("`{text}` is not a {what} number")))?;
        let zero_based = if i < 0 { count as i64 + i } else { i - 1 };
        if zero_based < 0 || zero_based >= count as i64 {
            return Err((
                line,
                format!("{what} {i} does not exist; there are {count} so far"),
            ));
        }
        Ok(zero_based as usize)
    };
    let mut parts = word.split('/');
    let vertex = index(parts.next().unwrap_or(""), vertices, "vertex")?;
    let t = match parts.next() {
        None | Some("") => None,
        Some(text) => Some(index(text, texture, "texture coordinate")?),
    };
    Ok((vertex as u32, t))
}

fn read_ply(bytes: &[u8]) -> Result<SurfaceMesh, String> {
    let parser = Parser::<ply::DefaultElement>::new();
    let data = parser
        .read_ply(&mut std::io::Cursor::new(bytes))
        .map_err(|e| format!("this is not a PLY file: {e}"))?;
    let vertices = data
        .payload
        .get("vertex")
        .ok_or("the file has no vertices")?;
    let mut mesh = SurfaceMesh::default();
    let mut texture: Vec<Option<Vec2>> = Vec::new();
    for v in vertices {
        let get = |names: &[&str]| names.iter().find_map(|n| v.get(*n).and_then(scalar));
        let coordinate = |name: &str| get(&[name]).ok_or(format!("a vertex has no `{name}`"));
        mesh.positions.push(Vec3::new(
            coordinate("x")?,
            coordinate("y")?,
            coordinate("z")?,
        ));
        let uv = get(&["u", "s", "texture_u"]).zip(get(&["v", "t", "texture_v"]));
        texture.push(uv.map(|(u, v)| Vec2::new(u, v)));
    }
    for face in data.payload.get("face").ok_or("the file has no faces")? {
        let list = ["vertex_indices", "vertex_index"]
            .iter()
            .find_map(|n| face.get(*n))
            .and_then(indices);
        let list = list.ok_or("a face has no `vertex_indices`")?;
        if list.len() < 3 {
            return Err(format!("a face with {} corners", list.len()));
        }
        for k in 1..list.len() - 1 {
            mesh.faces.push([list[0], list[k], list[k + 1]]);
        }
    }
    let known: Option<Vec<Vec2>> = texture.into_iter().collect();
    let in_range = mesh
        .faces
        .iter()
        .flatten()
        .all(|v| (*v as usize) < mesh.positions.len());
    if let (Some(uv), true) = (known.filter(|k| !k.is_empty()), in_range) {
        mesh.material = Some(
            mesh.faces
                .iter()
                .map(|f| f.map(|v| uv[v as usize]))
                .collect(),
        );
    }
    Ok(mesh)
}

fn scalar(p: &ply::Property) -> Option<f64> {
    use ply::Property as P;
    Some(match p {
        P::Char(v) => f64::from(*v),
        P::UChar(v) => f64::from(*v),
        P::Short(v) => f64::from(*v),
        P::UShort(v) => f64::from(*v),
        P::Int(v) => f64::from(*v),
        P::UInt(v) => f64::from(*v),
        P::Float(v) => f64::from(*v),
        P::Double(v) => *v,
        _ => return None,
    })
}

/// A negative index becomes one that is surely out of range, and is refused with the rest.
fn indices(p: &ply::Property) -> Option<Vec<u32>> {
    use ply::Property as P;
    let signed = |i: i64| u32::try_from(i).unwrap_or(u32::MAX);
    Some(match p {
        P::ListChar(v) => v.iter().map(|i| signed(i64::from(*i))).collect(),
        P::ListUChar(v) => v.iter().map(|i| u32::from(*i)).collect(),
        P::ListShort(v) => v.iter().map(|i| signed(i64::from(*i))).collect(),
        P::ListUShort(v) => v.iter().map(|i| u32::from(*i)).collect(),
        P::ListInt(v) => v.iter().map(|i| signed(i64::from(*i))).collect(),
        P::ListUInt(v) => v.clone(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obj_with_texture_quads_and_foreign_lines() {
        let text = "# c\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvl 1 2 3\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 -1/-1\n";
        let mesh = read_obj(text).unwrap();
        assert_eq!(mesh.faces, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(mesh.material.unwrap()[1][2], Vec2::new(0.0, 1.0));
    }

    #[test]
    fn obj_mistakes_have_their_line() {
        assert_eq!(read_obj("v 0 0 0\nf 1 2 3\n").unwrap_err().0, 2);
        assert_eq!(read_obj("v 0 zero 0\n").unwrap_err().0, 1);
        assert_eq!(read_obj("v 0 0\n").unwrap_err().0, 1);
        assert_eq!(read_obj("v 0 0 0\n\nf 1 1\n").unwrap_err().0, 3);
    }

    #[test]
    fn ply_ascii() {
        let text = "ply\nformat ascii 1.0\nelement vertex 3\nproperty double x\nproperty double y\nproperty double z\n\
                    element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
        let mesh = read_ply(text.as_bytes()).unwrap();
        assert_eq!(mesh.faces, [[0, 1, 2]]);
        assert!(read_ply(b"ply\nnonsense").is_err());
    }
}
