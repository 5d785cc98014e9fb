//! Mistakes in meshes and where they start: each gets its own message with place and remedy, exit code 2, and nothing is
//! written.
#![allow(clippy::unwrap_used)]

use std::process::Command;

mod support;
use support::{GOOD, folder, run};

/// Bad mesh files: file name, contents, words.
const MESHES: &[(&str, &str, &[&str])] = &[
    ("missing.obj", "", &["mesh file cannot be read"]),
    ("strange.stl", "x", &["`.stl` is not a mesh format"]),
    ("empty.obj", "# nothing\n", &["no triangles"]),
    (
        "word.obj",
        "v 0 0 zero\n",
        &["`zero` is not a number", "word.obj:1"],
    ),
    (
        "short.obj",
        "v 0 0\n",
        &["3 numbers are needed", "short.obj:1"],
    ),
    (
        "index.obj",
        "v 0 0 0\nv 1 0 0\nf 1 2 3\n",
        &["vertex 3 does not exist", "index.obj:3"],
    ),
    (
        "nan.obj",
        "v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
        &["vertex 0 has a coordinate"],
    ),
    (
        "huge.obj",
        "v 0 0 1e300\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
        &["vertex 0 has a coordinate"],
    ),
    (
        "flat.obj",
        "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n",
        &["no triangles with an area"],
    ),
    (
        "book.obj",
        "v 0 0 0\nv 0 1 0\nv 1 0 0\nv -1 0 0\nv 0 0 1\nf 1 2 3\nf 2 1 4\nf 1 2 5\n",
        &["3 faces share the edge"],
    ),
    (
        "bowtie.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv -1 0 0\nv 0 -1 0\nf 1 2 3\nf 1 4 5\n",
        &["touch in a single point"],
    ),
    (
        "moebius.obj",
        "v 1 0 0\nv .3 .9 1\nv -.8 .6 0\nv -.8 -.6 1\nv .3 -.9 0\nf 1 2 3\nf 2 3 4\nf 3 4 5\nf 4 5 1\nf 5 1 2\n",
        &["one-sided"],
    ),
    (
        "texture.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 2 0\nf 1/1 2/2 3/3\n",
        &["no area in texture space"],
    ),
    (
        "broken.ply",
        "ply\nformat ascii 1.0\nelement vertex 1\n",
        &["PLY"],
    ),
    (
        "noface.ply",
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n0 0 0\n",
        &["no faces"],
    ),
    (
        "negative.ply",
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n\
         property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 -2\n",
        &["only 3 vertices"],
    ),
];

#[test]
fn bad_meshes_are_refused_each_with_its_own_message() {
    let folder = folder("meshes");
    for (name, contents, words) in MESHES {
        if !contents.is_empty() {
            std::fs::write(folder.join(name), contents).unwrap();
        }
        let scene = GOOD
            .replacen(
                "grid = { size = [1, 1], cells = [4, 4] }",
                &format!("mesh = \"{name}\""),
                1,
            )
            .replacen("[pin.corner]\ncloth = \"sheet\"\nvertices = [0]", "", 1);
        let (code, message, written) = run(&folder, &scene, &[]);
        assert_eq!(code, Some(2), "{name}: {message}");
        assert!(
            !message.contains("panicked") && !written,
            "{name}: {message}"
        );
        for word in *words {
            assert!(
                message.contains(word),
                "{name}: `{word}` is not in: {message}"
            );
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A mesh through itself, a mesh in an obstacle of triangles, and meshes that make no sequence.
#[test]
fn bad_starts_and_sequences_of_files_are_refused() {
    let folder = folder("starts");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    // A strip folded so that its last triangle passes through the first.
    write(
        "folded.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 1\nv 0.2 0.3 0.5\nv 0.3 0.2 -0.5\n\
         f 1 2 3\nf 3 2 4\nf 3 4 5\nf 5 4 6\n",
    );
    write("wall.obj", "v 0 -9 -9\nv 0 9 -9\nv 0 0 9\nf 1 2 3\n");
    write("walk_00.obj", "v 5 0 0\nv 6 0 0\nv 5 1 0\nf 1 2 3\n");
    write("walk_01.obj", "v 5 0 0\nv 6 0 0\nv 5 1 0\nf 1 3 2\n");
    write("hop_00.obj", "v 5 0 0\nv 6 0 0\nv 5 1 0\nf 1 2 3\n");
    write("hop_02.obj", "v 5 0 0\nv 6 0 0\nv 5 1 0\nf 1 2 3\n");
    let own = "grid = { size = [1, 1], cells = [4, 4] }";
    let obstacle =
        |text: &str| GOOD.replacen("[output]", &format!("[obstacle.o]\n{text}\n[output]"), 1);
    for (scene, words) in [
        (
            GOOD.replacen(own, "mesh = \"folded.obj\"", 1),
            &["cloth `sheet` crosses itself", "does not cross itself"][..],
        ),
        (
            obstacle("mesh = \"wall.obj\""),
            &["cloth `sheet` crosses obstacle `o`", "pairs of triangles"],
        ),
        (
            obstacle("sequence = { pattern = \"walk_##.obj\", frame_rate = 30 }"),
            &["same connectivity", "walk_01.obj"],
        ),
        (
            obstacle("sequence = { pattern = \"hop_##.obj\", frame_rate = 30 }"),
            &["jump from number 0 to 2"],
        ),
        (
            obstacle(
                "sphere = { radius = 0.1 }\ntranslate = [0, 0, 5]\npath = { x = \"sqrt(0.01 - t)\" }",
            ),
            &["no usable position at t", "obstacle.o.path"],
        ),
    ] {
        let (code, message, written) = run(&folder, &scene, &[]);
        assert_eq!(code, Some(2), "{message}");
        assert!(!message.contains("panicked") && !written, "{message}");
        for word in words {
            assert!(message.contains(word), "`{word}` is not in: {message}");
        }
        // The check says the same.
        let output = Command::new(env!("CARGO_BIN_EXE_muslin"))
            .arg("check")
            .arg(folder.join("scene.toml"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(String::from_utf8_lossy(&output.stderr), message);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
