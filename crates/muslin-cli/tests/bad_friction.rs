//! Mistakes in friction: each gets its own message with place and remedy, exit code 2, and nothing is written.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GOOD: &str = r#"
[output]
frames = 1

[cloth.sheet]
grid = { size = [1, 1], cells = [2, 2] }
fabric = "cotton-woven"
friction = 0.5

[obstacle.ramp]
plane = { point = [0, 0, -1] }
friction = 0.3
material = "steel"

[[friction]]
between = ["sheet", "sheet"]
coefficient = 0.2

[[measure]]
name = "load"
kind = "contact_force"
of = "ramp"
direction = [0, 0, 1]
"#;

fn folder(name: &str) -> PathBuf {
    let name = name.replace(' ', "-");
    let folder = std::env::temp_dir().join(format!("muslin-fric-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn muslin(command: &str, folder: &Path, scene: &str, extra: &[&str]) -> Output {
    let file = folder.join("scene.toml");
    std::fs::write(&file, scene).unwrap();
    Command::new(env!("CARGO_BIN_EXE_muslin"))
        .arg(command)
        .arg(&file)
        .args(extra)
        .output()
        .unwrap()
}

fn run(folder: &Path, scene: &str, extra: &[&str]) -> (Option<i32>, String, bool) {
    let out = folder.join("out");
    let out_text = out.to_string_lossy().into_owned();
    let mut arguments = vec!["--quiet", "--out", &out_text];
    arguments.extend(extra);
    let output = muslin("run", folder, scene, &arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text, out.exists())
}

#[test]
fn check_says_where_friction_comes_from() {
    let folder = folder("good");
    assert_eq!(run(&folder, GOOD, &[]).0, Some(0));
    let check = |extra: &[&str]| {
        let output = muslin("check", &folder, GOOD, extra);
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = check(&[]);
    assert!(
        text.contains("`sheet` on itself: 0.2 (from [[friction]] number 0"),
        "{text}"
    );
    assert!(
        text.contains("`sheet` on `ramp`: 0.3 (typed at obstacle.ramp.friction)"),
        "{text}"
    );
    // The command line can type it too: numbers, tables, parts of a pair.
    let text = check(&["--set", "obstacle.ramp.friction=0.7"]);
    assert!(text.contains("`sheet` on `ramp`: 0.7"), "{text}");
    let text = check(&["--set", "friction.0.coefficient=0"]);
    assert!(text.contains("on itself: 0 ("), "{text}");
    let table = "obstacle.ramp.friction={ along = 0.1, across = 0.4, direction = [1, 0, 0] }";
    let text = check(&["--set", table]);
    assert!(
        text.contains("0.1 along and 0.4 across direction [1, 0, 0] of `ramp`"),
        "{text}"
    );
    let text = check(&["--set", "obstacle.ramp.friction=1e9"]);
    assert!(text.contains("`ramp`: 1000000000 ("), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Name, part of the good scene, replacement, words the message must have.
const REPLACED: &[(&str, &str, &str, &[&str])] = &[
    (
        "negative",
        "friction = 0.3",
        "friction = -0.3",
        &[
            "-0.3 is not a friction coefficient",
            "obstacle.ramp.friction",
            "scene.toml:12",
            "0 (slippery) or more",
        ],
    ),
    (
        "nan",
        "friction = 0.5",
        "friction = nan",
        &[
            "NaN is not a usable number",
            "cloth.sheet.friction",
            "scene.toml:8",
        ],
    ),
    (
        "infinite",
        "coefficient = 0.2",
        "coefficient = inf",
        &[
            "inf is not a usable number",
            "friction.0.coefficient",
            "scene.toml:17",
        ],
    ),
    (
        "text",
        "friction = 0.3",
        "friction = \"low\"",
        &[
            "expected a number, or a table",
            "obstacle.ramp.friction",
            "scene.toml:12",
        ],
    ),
    (
        "negative along",
        "friction = 0.5",
        "friction = { along = -1, across = 0.5 }",
        &[
            "-1 is not a friction coefficient",
            "cloth.sheet.friction.along",
        ],
    ),
    (
        "across missing",
        "friction = 0.5",
        "friction = { along = 1 }",
        &["the key `across` is missing", "cloth.sheet.friction"],
    ),
    (
        "key misspelt",
        "friction = 0.5",
        "friction = { along = 1, acros = 0.5 }",
        &["`acros`", "did you mean `across`"],
    ),
    (
        "cloth with a vector",
        "friction = 0.5",
        "friction = { along = 1, across = 0.5, direction = [1, 0, 0] }",
        &[
            "not a direction of cloth",
            "[warp, weft]",
            "cloth.sheet.friction.direction",
        ],
    ),
    (
        "obstacle with warp",
        "friction = 0.3",
        "friction = { along = 1, across = 0.5, direction = \"warp\" }",
        &["not a direction of an obstacle", "[x, y, z]"],
    ),
    (
        "obstacle without direction",
        "friction = 0.3",
        "friction = { along = 1, across = 0.5 }",
        &["which direction of the obstacle", "direction = [x, y, z]"],
    ),
    (
        "direction zero",
        "friction = 0.3",
        "friction = { along = 1, across = 0.5, direction = [0, 0, 0] }",
        &["a direction of length zero"],
    ),
    (
        "direction unknown",
        "friction = 0.5",
        "friction = { along = 1, across = 0.5, direction = \"bias\" }",
        &["`bias` is not one of the choices", "warp"],
    ),
    (
        "no direction",
        "friction = 0.5",
        "friction = { along = 1, across = 0.5, direction = \"none\" }",
        &["needs a direction", "a single number"],
    ),
    (
        "empty material",
        "\"steel\"",
        "\" \"",
        &["the material has no name", "scene.toml:13"],
    ),
    (
        "unknown name",
        "[\"sheet\", \"sheet\"]",
        "[\"sheet\", \"rampe\"]",
        &[
            "no cloth, soft body, obstacle, fabric, fibre or material `rampe`",
            "did you mean `ramp`",
            "scene.toml:16",
            "friction.0.between.1",
        ],
    ),
    (
        "far name",
        "[\"sheet\", \"sheet\"]",
        "[\"sheet\", \"unobtainium\"]",
        &[
            "`unobtainium`",
            "known in this scene: cotton, cotton-woven, ramp, sheet, steel",
        ],
    ),
    (
        "one name",
        "[\"sheet\", \"sheet\"]",
        "[\"sheet\"]",
        &["invalid length 1", "scene.toml:16"],
    ),
    (
        "obstacles",
        "[\"sheet\", \"sheet\"]",
        "[\"ramp\", \"ramp\"]",
        &["obstacles do not touch each other"],
    ),
    (
        "materials of obstacles",
        "[\"sheet\", \"sheet\"]",
        "[\"steel\", \"steel\"]",
        &["obstacles do not touch each other", "scene.toml:16"],
    ),
    (
        "all surfaces",
        "\"steel\"",
        "\"any\"",
        &["`any` stands for all surfaces", "scene.toml:13"],
    ),
    (
        "directions of a pair that does not meet",
        "[[measure]]",
        "[[friction]]\nbetween = [\"wool\", \"steel\"]\nalong = 1\nacross = 2\ndirections = [[0, 0], [1]]\n[[measure]]",
        &["friction.1.directions.0"],
    ),
    (
        "pair twice",
        "[[measure]]",
        "[[friction]]\nbetween = [\"sheet\", \"sheet\"]\ncoefficient = 1\n[[measure]]",
        &[
            "stands twice",
            "friction.1.between",
            "scene.toml:20",
            "keep one of them",
        ],
    ),
    (
        "pairs disagree",
        "[[measure]]",
        "[[friction]]\nbetween = [\"sheet\", \"steel\"]\ncoefficient = 1\n[[friction]]\nbetween = [\"cotton-woven\", \"ramp\"]\ncoefficient = 2\n[[measure]]",
        &[
            "both hold for cloth.sheet and obstacle.ramp",
            "between = [\"sheet\", \"ramp\"]",
        ],
    ),
    (
        "nothing given",
        "coefficient = 0.2",
        "",
        &["not clear what the friction of this pair is", "friction.0"],
    ),
    (
        "both given",
        "coefficient = 0.2",
        "coefficient = 0.2\nalong = 0.1\nacross = 0.1",
        &["not clear what the friction of this pair is"],
    ),
    (
        "directions without need",
        "coefficient = 0.2",
        "coefficient = 0.2\ndirections = [\"warp\", \"warp\"]",
        &["not clear what the friction of this pair is"],
    ),
    (
        "directions of nobody",
        "coefficient = 0.2",
        "along = 0.2\nacross = 0.3\ndirections = [\"none\", \"none\"]",
        &["neither surface has a direction", "friction.0.directions"],
    ),
    (
        "direction of the wrong side",
        "coefficient = 0.2",
        "along = 0.2\nacross = 0.3\ndirections = [\"warp\", [1, 0, 0]]",
        &["not a direction of cloth", "friction.0.directions.1"],
    ),
    (
        "friction of everything",
        "[output]",
        "friction = 0.3\n[output]",
        &["not TOML"],
    ),
    (
        "force of nobody",
        "of = \"ramp\"",
        "",
        &["none is named", "measure.0"],
    ),
    (
        "force of a stranger",
        "of = \"ramp\"",
        "of = \"romp\"",
        &[
            "no cloth or obstacle `romp`",
            "did you mean `ramp`",
            "scene.toml:22",
        ],
    ),
    (
        "force nowhere",
        "direction = [0, 0, 1]",
        "",
        &["needs a direction"],
    ),
    (
        "penetration of an obstacle",
        "kind = \"contact_force\"",
        "kind = \"penetration\"",
        &["no cloth `ramp`"],
    ),
];

#[test]
fn mistakes_are_told_with_place_and_remedy() {
    let mut wrong = Vec::new();
    for (name, part, replacement, words) in REPLACED {
        assert!(
            GOOD.contains(part),
            "{name}: `{part}` is not in the good scene"
        );
        let folder = folder(name);
        let (code, text, written) = run(&folder, &GOOD.replacen(part, replacement, 1), &[]);
        let missing: Vec<_> = words.iter().filter(|w| !text.contains(**w)).collect();
        if code != Some(2) || written || !missing.is_empty() || !text.contains("remedy: ") {
            wrong.push(format!(
                "{name}: exit {code:?}, written {written}, missing {missing:?}\n{text}"
            ));
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn mistakes_on_the_command_line_name_it() {
    let folder = folder("set");
    let (code, text, written) = run(&folder, GOOD, &["--set", "obstacle.ramp.friction=-1"]);
    assert!(code == Some(2) && !written, "{text}");
    assert!(
        text.contains("came from --set obstacle.ramp.friction"),
        "{text}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_number_for_the_whole_scene_is_told_where_to_go() {
    let folder = folder("whole");
    let pair = "[[friction]]\nbetween = [\"sheet\", \"sheet\"]\ncoefficient = 0.2\n";
    let scene = format!("friction = 0.3\n{}", GOOD.replace(pair, ""));
    let (code, text, _) = run(&folder, &scene, &[]);
    assert_eq!(code, Some(2));
    assert!(
        text.contains("[obstacle.NAME]") && text.contains("scene.toml:1"),
        "{text}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}
