//! Mistakes in soft bodies: each gets its own message with place and remedy, exit code 2, and nothing is written.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

const GOOD: &str = r#"
[output]
frames = 1

[soft.lump]
box = { size = [0.1, 0.1, 0.1], cells = [2, 2, 2] }
translate = [0, 0, 1]
density = 1000
young = 1e5
poisson = 0.3
damping = 0.01
thickness = 1e-3
friction = 0.5

[pin.hold]
soft = "lump"
vertices = [0, 26]
"#;

const CUBE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n\
    f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";
const NODES: &str = "5 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 0.2 0.2 0.3\n";

fn folder(name: &str) -> PathBuf {
    let name = name.replace(' ', "-");
    let folder = std::env::temp_dir().join(format!("muslin-soft-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Names and texts of files beside a scene.
type Files = &'static [(&'static str, &'static str)];

/// Runs a scene beside some files: exit code, message, whether anything was written.
fn run(folder: &Path, scene: &str, files: &[(&str, &str)]) -> (Option<i32>, String, bool) {
    let file = folder.join("scene.toml");
    std::fs::write(&file, scene).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let out = folder.join("out");
    let output = Command::new(env!("CARGO_BIN_EXE_muslin"))
        .arg("run")
        .arg(&file)
        .args(["--quiet", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text, out.exists())
}

/// The good scene with another shape; without the pin, whose vertices would be others.
fn shaped(shape: &str) -> String {
    let scene = GOOD.replace("box = { size = [0.1, 0.1, 0.1], cells = [2, 2, 2] }", shape);
    scene.split("[pin.hold]").next().unwrap().to_string()
}

#[test]
fn the_good_scenes_run() {
    let shapes = [
        "box = { size = [0.1, 0.1, 0.1], edge = 0.05 }",
        "ball = { radius = 0.1, edge = 0.06 }",
        "torus = { radius = 0.1, tube = 0.03, edge = 0.03 }",
        "bar = { radius = 0.03, length = 0.2, edge = 0.03 }",
        "fill = { mesh = \"cube.obj\", edge = 0.4 }",
        "mesh = \"one.node\"",
    ];
    let folder = folder("good");
    let (code, text, _) = run(&folder, GOOD, &[]);
    assert_eq!(code, Some(0), "{text}");
    for shape in shapes {
        std::fs::remove_dir_all(folder.join("out")).unwrap();
        let files = [
            ("cube.obj", CUBE),
            ("one.node", NODES),
            ("one.ele", "1 4 0\n1 1 2 3 4\n"),
        ];
        let (code, text, _) = run(&folder, &shaped(shape), &files);
        assert_eq!(code, Some(0), "{shape}: {text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Part of the good scene, replacement, words the message must have.
const REPLACED: &[(&str, &str, &[&str])] = &[
    (
        "young = 1e5",
        "",
        &[
            "`young` of the soft body is missing",
            "scene.toml:5",
            "material",
        ],
    ),
    (
        "young = 1e5",
        "young = 1e20",
        &["soft.lump.young", "not believable", "1e12 Pa"],
    ),
    (
        "young = 1e5",
        "young = 0",
        &["soft.lump.young", "not believable"],
    ),
    (
        "young = 1e5",
        "young = nan",
        &["soft.lump.young", "finite number"],
    ),
    (
        "poisson = 0.3",
        "poisson = 0.5",
        &["Poisson ratio of 0.5", "0.499"],
    ),
    (
        "density = 1000",
        "density = -3",
        &["soft.lump.density", "not believable"],
    ),
    ("damping = 0.01", "damping = -1", &["soft.lump.damping"]),
    (
        "thickness = 1e-3",
        "thickness = 0",
        &["soft.lump.thickness", "out of range"],
    ),
    (
        "density = 1000",
        "material = \"rubbr\"",
        &["no solid `rubbr`", "did you mean `rubber`"],
    ),
    (
        "density = 1000",
        "fabric = \"felt\"",
        &["`fabric` is not a key", "soft.lump"],
    ),
    (
        "cells = [2, 2, 2]",
        "cells = [2, 2, 2], edge = 0.1",
        &["fineness", "soft.lump.box"],
    ),
    (
        "cells = [2, 2, 2]",
        "cells = [2, 0, 2]",
        &["soft.lump.box", "positive"],
    ),
    (
        "cells = [2, 2, 2]",
        "edge = 1e-6",
        &["soft.lump.box", "vertices", "larger"],
    ),
    (
        "size = [0.1, 0.1, 0.1]",
        "size = [0.1, 0.1, -1]",
        &["size", "positive"],
    ),
    (
        "thickness = 1e-3",
        "ball = { radius = 1, edge = 0.1 }",
        &["exactly one shape", "hexahedron"],
    ),
    (
        "friction = 0.5",
        "friction = -1",
        &["soft.lump.friction", "not a friction coefficient"],
    ),
    (
        "soft = \"lump\"",
        "soft = \"lamp\"",
        &["no cloth or soft body `lamp`", "did you mean `lump`"],
    ),
    (
        "vertices = [0, 26]",
        "vertices = [27]",
        &["no vertex 27", "27 vertices"],
    ),
    ("[soft.lump]", "[soft.\"obstacle:x\"]", &["must not begin"]),
    (
        "[pin.hold]",
        "[cloth.lump]\nfabric = \"paper\"\ngrid = { size = [1, 1], cells = [2, 2] }\n[pin.hold]",
        &["a cloth is called `lump` already"],
    ),
    (
        "[pin.hold]",
        "[soft.other]\nbox = { size = [0.1, 0.1, 0.1], cells = [1, 1, 1] }\ntranslate = [0.05, 0.03, 1.02]\nmaterial = \"foam\"\n[pin.hold]",
        &[
            "soft body `lump` crosses soft body `other`",
            "move them apart",
        ],
    ),
    (
        "[pin.hold]",
        "[obstacle.table]\nplane = { point = [0, 0, 1] }\n[pin.hold]",
        &["soft body `lump` crosses obstacle `table`"],
    ),
];

/// A shape, files beside the scene, words the message must have.
const SHAPED: &[(&str, Files, &[&str])] = &[
    ("", &[], &["exactly one shape"]),
    (
        "ball = { radius = 0.1, edge = 5 }",
        &[],
        &["soft.lump.ball", "too large", "smaller `edge`"],
    ),
    (
        "ball = { radius = -0.1, edge = 0.1 }",
        &[],
        &["soft.lump.ball", "positive"],
    ),
    (
        "torus = { radius = 0.1, tube = 0.2, edge = 0.05 }",
        &[],
        &["no hole", "smaller than `radius`"],
    ),
    (
        "bar = { radius = 0.1, length = 1, edge = 1e-7 }",
        &[],
        &["soft.lump.bar", "vertices"],
    ),
    (
        "hexahedron = { cells = [1, 1, 1], corners = [[0,0,0],[1,0,0],[1,1,0],[0,1,0],[0,0,0],[1,0,0],[1,1,0],[0,1,0]] }",
        &[],
        &["soft.lump.hexahedron", "do not span a solid"],
    ),
    (
        "mesh = \"missing.msh\"",
        &[],
        &["missing.msh", "cannot be read"],
    ),
    (
        "mesh = \"cube.obj\"",
        &[("cube.obj", CUBE)],
        &["not a format of tetrahedra", "`fill`"],
    ),
    (
        "mesh = \"a.msh\"",
        &[("a.msh", "nonsense")],
        &["a.msh:1", "$MeshFormat"],
    ),
    (
        "mesh = \"a.node\"",
        &[("a.node", NODES)],
        &["a.ele", "cannot be read"],
    ),
    (
        "mesh = \"a.node\"",
        &[("a.node", NODES), ("a.ele", "1 4 0\n1 1 2 3 9\n")],
        &["a.ele:2", "no vertex 9"],
    ),
    (
        "mesh = \"a.node\"",
        &[("a.node", "1 3 0 0\n1 0 zero 0\n"), ("a.ele", "0 4 0\n")],
        &["a.node:2", "`zero` is not a number"],
    ),
    (
        "mesh = \"a.node\"",
        &[
            ("a.node", "4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 nan\n"),
            ("a.ele", "1 4 0\n1 1 2 3 4\n"),
        ],
        &["soft.lump.mesh", "not a usable number: NaN"],
    ),
    (
        "mesh = \"a.node\"",
        &[("a.node", NODES), ("a.ele", "0 4 0\n")],
        &["no tetrahedra"],
    ),
    (
        "mesh = \"a.node\"",
        &[
            ("a.node", "4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 1 1 0\n"),
            ("a.ele", "1 4 0\n1 1 2 3 4\n"),
        ],
        &["soft.lump.mesh", "is flat"],
    ),
    (
        "mesh = \"a.node\"",
        &[
            ("a.node", NODES),
            ("a.ele", "2 4 0\n1 1 2 3 4\n2 1 2 3 5\n"),
        ],
        &["same side", "inverted"],
    ),
    (
        "fill = { mesh = \"open.obj\", edge = 0.2 }",
        &[("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")],
        &["surface is open", "close its holes"],
    ),
    (
        "fill = { mesh = \"cube.obj\", edge = 50 }",
        &[("cube.obj", CUBE)],
        &["too large", "another `edge`"],
    ),
    (
        "fill = { mesh = \"cube.obj\", edge = -1 }",
        &[("cube.obj", CUBE)],
        &["no edge length"],
    ),
];

#[test]
fn mistakes_are_told_with_place_and_remedy() {
    let mut cases: Vec<(String, Files, &[&str])> = Vec::new();
    for (part, replacement, words) in REPLACED {
        assert!(GOOD.contains(part), "`{part}` is not in the good scene");
        cases.push((GOOD.replacen(part, replacement, 1), &[], words));
    }
    for (shape, files, words) in SHAPED {
        cases.push((shaped(shape), files, words));
    }
    let mut wrong = Vec::new();
    for (i, (scene, files, words)) in cases.iter().enumerate() {
        let folder = folder(&i.to_string());
        let (code, text, written) = run(&folder, scene, files);
        let missing: Vec<_> = words.iter().filter(|w| !text.contains(**w)).collect();
        if code != Some(2) || written || !missing.is_empty() || !text.contains("remedy: ") {
            wrong.push(format!(
                "{words:?}: exit {code:?}, written {written}, missing {missing:?}\n{text}"
            ));
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn check_describes_soft_bodies() {
    let folder = folder("check");
    let file = folder.join("scene.toml");
    std::fs::write(&file, GOOD).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_muslin"))
        .arg("check")
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in [
        "soft body `lump`: 27 vertices, 48 tetrahedra",
        "48 triangles on 26 vertices of surface",
        "1.0000e-3 m³",
        "Young's modulus 1.000e5 Pa",
        "`lump` on itself: 0.5 (typed at soft.lump.friction)",
        "`hold` holds 2 vertices",
    ] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
