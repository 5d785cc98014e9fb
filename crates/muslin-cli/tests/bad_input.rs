//! Mistakes a user can make: each gets its own message with place and remedy, exit code 2, and nothing is written.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::process::Command;

mod support;
use support::{GOOD, folder, run};

#[test]
fn the_good_scene_is_good() {
    let folder = folder("good");
    assert_eq!(run(&folder, GOOD, &[]).0, Some(0));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Scenes made bad by replacing one part of the good one: name, part, replacement, words the message must have.
const REPLACED: &[(&str, &str, &str, &[&str])] = &[
    (
        "not toml",
        "[output]",
        "[output",
        &["not TOML", "scene.toml:2"],
    ),
    (
        "unknown key",
        "frames = 2",
        "framez = 2",
        &["`framez`", "did you mean `frames`", "scene.toml:3"],
    ),
    (
        "unknown section",
        "[output]",
        "[outputs]",
        &["`outputs`", "did you mean `output`"],
    ),
    (
        "wrong type",
        "frames = 2",
        "frames = \"two\"",
        &["invalid type", "scene.toml:3"],
    ),
    (
        "negative count",
        "frames = 2",
        "frames = -2",
        &["output.frames", "scene.toml:3"],
    ),
    (
        "frame rate zero",
        "frames = 2",
        "frame_rate = 0",
        &["0 frames a second is out of range", "scene.toml:3"],
    ),
    (
        "absurd step",
        "[output]",
        "[solver]\ntime_step = 100\n[output]",
        &["100 s is out of range"],
    ),
    (
        "step zero",
        "[output]",
        "[solver]\ntime_step = 0.0\n[output]",
        &["solver.time_step"],
    ),
    (
        "unknown method",
        "[output]",
        "[solver]\nmethod = \"magic\"\n[output]",
        &["`magic` is not one of the choices", "implicit"],
    ),
    (
        "infinite gravity",
        "[output]",
        "gravity = [0, 0, inf]\n[output]",
        &["inf is not a usable number", "gravity.2"],
    ),
    (
        "nan size",
        "size = [1, 1]",
        "size = [1, nan]",
        &["NaN is not a usable number"],
    ),
    (
        "two components",
        "size = [1, 1]",
        "size = [1]",
        &["invalid length 1"],
    ),
    (
        "negative size",
        "size = [1, 1]",
        "size = [1, -1]",
        &["size must be a positive number", "cloth.sheet.grid"],
    ),
    (
        "no cells",
        ", cells = [4, 4]",
        "",
        &["fineness of the grid"],
    ),
    (
        "zero cells",
        "cells = [4, 4]",
        "cells = [0, 4]",
        &["cells must be a positive number"],
    ),
    (
        "far too many cells",
        "cells = [4, 4]",
        "cells = [99999, 99999]",
        &["the shape would have", "use larger triangles"],
    ),
    (
        "no shape",
        "grid = { size = [1, 1], cells = [4, 4] }",
        "",
        &["exactly one shape"],
    ),
    (
        "unknown fabric",
        "gray-interlock",
        "grey-interlock",
        &["did you mean `gray-interlock`", "scene.toml:7"],
    ),
    (
        "no such fabric file",
        "gray-interlock",
        "mine.toml",
        &["fabric file cannot be read", "mine.toml"],
    ),
    (
        "missing key",
        "fabric = \"gray-interlock\"",
        "",
        &["`fabric` is missing", "scene.toml:5"],
    ),
    (
        "no cloth",
        "[cloth.sheet]",
        "[fabric.sheet]",
        &["is not a key"],
    ),
    (
        "unknown cloth",
        "cloth = \"sheet\"",
        "cloth = \"shet\"",
        &["no cloth `shet`", "did you mean `sheet`"],
    ),
    (
        "no such vertex",
        "vertices = [0]",
        "vertices = [0, 25]",
        &["no vertex 25", "pin.corner.vertices.1"],
    ),
    (
        "empty region",
        "vertices = [0]",
        "sphere = { center = [9, 9, 9], radius = 0.1 }",
        &["no vertex of cloth `sheet` is there"],
    ),
    (
        "two selections",
        "vertices = [0]",
        "vertices = [0]\nnearest = [[0, 0, 0]]",
        &["not clear which vertices"],
    ),
    (
        "bad formula",
        "vertices = [0]",
        "vertices = [0]\npath = { x = \"sin(\" }",
        &["not a formula", "pin.corner.path.x"],
    ),
    (
        "unknown variable",
        "vertices = [0]",
        "vertices = [0]\npath = { x = \"2*s\" }",
        &["`s` is not known"],
    ),
    (
        "keyframes backwards",
        "vertices = [0]",
        "vertices = [0]\nkeyframes = [{ time = 1 }, { time = 0.5 }]",
        &["not after the one before"],
    ),
    (
        "no keyframes",
        "vertices = [0]",
        "vertices = [0]\nkeyframes = []",
        &["list of keyframes is empty"],
    ),
    (
        "zero axis",
        "vertices = [0]",
        "vertices = [0]\nkeyframes = [{ time = 0, rotate = { axis = [0, 0, 0], degrees = 9 } }]",
        &["direction of length zero"],
    ),
    (
        "held twice",
        "[pin.corner]",
        "[pin.other]\ncloth = \"sheet\"\nvertices = [0]\n[pin.corner]",
        &["hold the same vertex"],
    ),
    (
        "unknown measure",
        "kind = \"speed\"",
        "kind = \"beauty\"",
        &["`beauty` is not one of the choices"],
    ),
    (
        "measure without direction",
        "kind = \"speed\"",
        "kind = \"displacement\"",
        &["needs a direction"],
    ),
    (
        "expectation without tolerance",
        "kind = \"speed\"",
        "kind = \"speed\"\nexpect = { value = 1 }",
        &["tolerance is not clear"],
    ),
    (
        "expectation that ends before it begins",
        "kind = \"speed\"",
        "kind = \"speed\"\nexpect = { value = 1, tolerance = 1, from = 2, until = 1 }",
        &["make `until` later than `from`"],
    ),
    (
        "two measures of one name",
        "[[measure]]",
        "[[measure]]\nname = \"speed\"\nkind = \"speed\"\n[[measure]]",
        &["two measures are called `speed`"],
    ),
    (
        "reaction of nothing",
        "kind = \"speed\"",
        "kind = \"reaction\"\ndirection = [0, 0, 1]",
        &["no pin of that name"],
    ),
    (
        "density zero",
        "[output]",
        "[fabric.x]\ndensity = 0\nstretch.isotropic = { modulus = 10 }\n[output]",
        &["0 kg/m² is not believable", "fabric.x.density"],
    ),
    (
        "two stretch models",
        "[output]",
        "[fabric.x]\ndensity = 1\nstretch.isotropic = { modulus = 10 }\nstretch.springs = { modulus = 1 }\n[output]",
        &["exactly one stretch model"],
    ),
    (
        "unstable coupling",
        "[output]",
        "[fabric.x]\ndensity = 1\nstretch.orthotropic = { warp = 1, weft = 1, coupling = 2, shear = 1 }\n[output]",
        &["makes the sheet unstable"],
    ),
    (
        "camera in itself",
        "[output]",
        "[camera]\nfrom = [0, 0, 0]\nto = [0, 0, 0]\n[output]",
        &["looks at the place where it stands"],
    ),
    (
        "obstacle without shape",
        "[output]",
        "[obstacle.x]\n[output]",
        &["needs exactly one shape, not 0", "obstacle.x"],
    ),
    (
        "obstacle with two shapes",
        "[output]",
        "[obstacle.x]\nsphere = { radius = 1 }\nbox = { size = [1, 1, 1] }\n[output]",
        &["exactly one shape, not 2"],
    ),
    (
        "ball without radius",
        "[output]",
        "[obstacle.x]\nsphere = { radius = 0 }\n[output]",
        &["0 m is out of range", "obstacle.x.sphere.radius"],
    ),
    (
        "flat box",
        "[output]",
        "[obstacle.x]\nbox = { size = [1, 0, 1] }\n[output]",
        &["obstacle.x.box.size.1"],
    ),
    (
        "thick torus",
        "[output]",
        "[obstacle.x]\ntorus = { radius = 0.1, tube = 0.2 }\n[output]",
        &["the ring has no hole"],
    ),
    (
        "plane without normal",
        "[output]",
        "[obstacle.x]\nplane = { normal = [0, 0, 0] }\n[output]",
        &["length zero", "obstacle.x.plane.normal"],
    ),
    (
        "unknown obstacle key",
        "[output]",
        "[obstacle.x]\nsphere = { radius = 1 }\nfrction = 0.3\n[output]",
        &["`frction` is not a key"],
    ),
    (
        "obstacle led twice",
        "[output]",
        "[obstacle.x]\nsphere = { radius = 0.1 }\ntranslate = [0, 0, 5]\nkeyframes = [{ time = 0 }]\npath = { x = \"t\" }\n[output]",
        &["both `keyframes` and `path`", "obstacle.x"],
    ),
    (
        "pivot of nothing",
        "[output]",
        "[obstacle.x]\nsphere = { radius = 0.1 }\npivot = [0, 0, 0]\n[output]",
        &["pivot does nothing"],
    ),
    (
        "size through zero",
        "[output]",
        "[obstacle.x]\nsphere = { radius = 0.1 }\ntranslate = [0, 0, 5]\nkeyframes = [{ time = 0, scale = 9 }, { time = 0.01, scale = 0.01 }, { time = 0.033, scale = 0.01 }]\n[output]",
        &["shrinks to nothing"],
    ),
    (
        "obstacle file missing",
        "[output]",
        "[obstacle.x]\nmesh = \"none.obj\"\n[output]",
        &["mesh file cannot be read", "none.obj"],
    ),
    (
        "sequence of nothing",
        "[output]",
        "[obstacle.x]\nsequence = { files = [], frame_rate = 30 }\n[output]",
        &["list of files is empty"],
    ),
    (
        "sequence without number",
        "[output]",
        "[obstacle.x]\nsequence = { pattern = \"a.obj\", frame_rate = 30 }\n[output]",
        &["no place for the number"],
    ),
    (
        "sequence nowhere",
        "[output]",
        "[obstacle.x]\nsequence = { pattern = \"nothing_##.obj\", frame_rate = 30 }\n[output]",
        &["no file of the form `nothing_##.obj`"],
    ),
    (
        "sequence unclear",
        "[output]",
        "[obstacle.x]\nsequence = { frame_rate = 30 }\n[output]",
        &["not clear which files"],
    ),
    (
        "cloth called obstacle",
        "[output]",
        "[cloth.\"obstacle:x\"]\ndisc = { radius = 1, edge = 0.3 }\nfabric = \"gray-interlock\"\n[output]",
        &["must not begin with"],
    ),
    (
        "start in a ball",
        "[output]",
        "[obstacle.x]\nsphere = { radius = 0.3 }\n[output]",
        &[
            "cloth `sheet` crosses obstacle `x`",
            "pairs of triangles",
            "move them apart",
            "scene.toml",
        ],
    ),
    (
        "start below a plane",
        "[output]",
        "[obstacle.x]\nplane = { point = [0, 0, 1] }\n[output]",
        &["cloth `sheet` crosses obstacle `x`: 25 vertices inside"],
    ),
    (
        "start inside a box",
        "[output]",
        "[obstacle.y]\nbox = { size = [9, 9, 9] }\n[output]",
        &["crosses obstacle `y`: 25 vertices inside"],
    ),
    (
        "start in other cloth",
        "[output]",
        "[cloth.z]\ndisc = { radius = 0.2, edge = 0.1 }\nrotate = { axis = [1, 0, 0], degrees = 90 }\nfabric = \"gray-interlock\"\n[output]",
        &["cloth `sheet` crosses cloth `z`", "cloth.z"],
    ),
];

#[test]
fn bad_scenes_are_refused_each_with_its_own_message() {
    let folder = folder("scenes");
    let mut messages = BTreeSet::new();
    for (name, part, replacement, words) in REPLACED {
        assert!(
            GOOD.contains(part),
            "{name}: the good scene has no `{part}`"
        );
        let (code, message, written) = run(&folder, &GOOD.replacen(part, replacement, 1), &[]);
        assert_eq!(code, Some(2), "{name}: {message}");
        assert!(!message.contains("panicked"), "{name}: {message}");
        assert!(!written, "{name}: something was written");
        assert!(
            message.contains("remedy:"),
            "{name} has no remedy: {message}"
        );
        for word in *words {
            assert!(
                message.contains(word),
                "{name}: `{word}` is not in: {message}"
            );
        }
        assert!(
            messages.insert(message.clone()),
            "{name}: the same message as another: {message}"
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
    println!("{} different messages", messages.len());
}

#[test]
fn bad_command_lines_are_refused() {
    let folder = folder("commands");
    for (extra, words) in [
        (&["--set", "solver.time_step"][..], "has no `=`"),
        (&["--set", "solver.tmie_step=1"], "`tmie_step`"),
        (&["--set", "output.frames.x=1"], "does not fit the scene"),
        (&["--set", "measure.7.name=1"], "no such list item"),
        (&["--set", "cloth.sheet.fabric=silk"], "came from --set"),
        (&["--method", "fast"], "`fast` is not one of the choices"),
        (&["--resume"], "no run to resume"),
        (&["--frames", "many"], "invalid value"),
        (&["--bogus"], "unexpected argument"),
    ] {
        let (code, message, written) = run(&folder, GOOD, extra);
        assert_eq!(code, Some(2), "{extra:?}: {message}");
        assert!(message.contains(words) && !written, "{extra:?}: {message}");
    }
    let muslin = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_muslin"))
            .args(arguments)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (code, message) = muslin(&["run", "hanging_cloht"]);
    assert!(
        code == Some(2) && message.contains("did you mean `hanging_cloth`"),
        "{message}"
    );
    let place = folder.display().to_string();
    let (code, message) = muslin(&["render", &place, "--out", "x.png"]);
    assert!(
        code == Some(2) && message.contains("not a run folder"),
        "{message}"
    );
    let (code, message) = muslin(&["render", &place, "--out", "x.jpg"]);
    assert!(code == Some(2) && message.contains(".png"), "{message}");
    // A folder with other people's files is never written to.
    std::fs::write(folder.join("thesis.txt"), "years of work").unwrap();
    let (code, message) = muslin(&["run", "free_fall", "--out", &place]);
    assert!(
        code == Some(2) && message.contains("holds other files"),
        "{message}"
    );
    assert_eq!(
        std::fs::read_to_string(folder.join("thesis.txt")).unwrap(),
        "years of work"
    );
    std::fs::remove_dir_all(folder).unwrap();
}
