//! Scenes that cross at the start: refused, untangled, or run with the crossing pairs left out.
#![allow(clippy::unwrap_used)]

use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;
use std::fmt::Write;

fn start(text: &str, policy: &str) -> Simulation {
    let text = format!("start = \"{policy}\"\n{text}");
    Simulation::new(
        &SceneSource::from_text("test", &text),
        &[] as &[Override],
        2,
    )
    .unwrap()
}

const THROUGH_SPHERE: &str = r#"
[cloth.sheet]
grid = { size = [0.3, 0.3], cells = [20, 20] }
fabric = "wool-woven"
translate = [0, 0, 0.08]
[obstacle.ball]
sphere = { radius = 0.1 }
"#;

const TWO_SHEETS: &str = r#"
[cloth.a]
grid = { size = [0.2, 0.2], cells = [14, 14] }
fabric = "wool-woven"
[cloth.b]
grid = { size = [0.2, 0.2], cells = [13, 13] }
rotate = { axis = [0, 1, 0], degrees = -20 }
translate = [0.09, 0.003, 0.025]
fabric = "wool-woven"
"#;

const BELOW_FLOOR: &str = r#"
[cloth.sheet]
grid = { size = [0.2, 0.2], cells = [10, 10] }
fabric = "wool-woven"
translate = [0, 0, -0.01]
[obstacle.floor]
plane = {}
"#;

const PIN_INSIDE: &str = r#"
[cloth.sheet]
grid = { size = [0.3, 0.3], cells = [20, 20] }
fabric = "wool-woven"
translate = [0, 0, 0.08]
[obstacle.ball]
sphere = { radius = 0.1 }
[pin.inside]
cloth = "sheet"
nearest = [[0, 0, 0.08]]
"#;

fn folded() -> String {
    // A strip folded over so far that its end goes through its beginning.
    let mut obj = String::new();
    let rows = 24;
    for i in 0..=rows {
        // Part of a figure eight: both ends go a little beyond the crossing.
        let angle = -0.15 + (std::f64::consts::PI + 0.3) * f64::from(i) / f64::from(rows);
        let (x, z) = (0.1 * (2.0 * angle).sin(), 0.1 * angle.sin());
        for y in [0.0, 0.03, 0.06] {
            writeln!(obj, "v {x} {y} {z}").unwrap();
        }
    }
    for i in 0..rows {
        for k in 0..2 {
            let a = 3 * i + k + 1;
            let (b, c, d) = (a + 3, a + 4, a + 1);
            writeln!(
                obj,
                "f {a} {b} {c}
f {a} {c} {d}"
            )
            .unwrap();
        }
    }
    obj
}

#[test]
fn what_crosses_is_refused_by_default() {
    for (text, who) in [
        (THROUGH_SPHERE, "obstacle.ball"),
        (TWO_SHEETS, "cloth.b"),
        (BELOW_FLOOR, "obstacle.floor"),
        (PIN_INSIDE, "obstacle.ball"),
    ] {
        let error = start(text, "refuse").prepare_start().unwrap_err();
        assert_eq!(error.key, who);
        assert!(error.problem.contains("cross"), "{error}");
        assert!(error.remedy.contains("start = \"untangle\""), "{error}");
    }
}

#[test]
fn cloth_is_untangled_from_sphere_floor_and_cloth() {
    for text in [THROUGH_SPHERE, BELOW_FLOOR, TWO_SHEETS] {
        let mut s = start(text, "untangle");
        let report = s.prepare_start().unwrap().unwrap();
        assert!(report.starts_with("untangled"), "{report}");
        assert_eq!(s.crossings(), []);
        for _ in 0..5 {
            s.advance().unwrap();
            assert_eq!(s.crossings(), []);
        }
    }
}

#[test]
fn a_fold_through_itself_is_refused_and_untangled() {
    let folder = std::env::temp_dir().join(format!("muslin-fold-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("fold.obj"), folded()).unwrap();
    let scene = |policy: &str| {
        let text = format!(
            "start = \"{policy}\"\n[cloth.strip]\nmesh = \"fold.obj\"\nfabric = \"wool-woven\"\n"
        );
        let file = folder.join(format!("{policy}.toml"));
        std::fs::write(&file, text).unwrap();
        let source = SceneSource::find(&file.to_string_lossy()).unwrap();
        Simulation::new(&source, &[] as &[Override], 1).unwrap()
    };
    let mut refused = scene("refuse");
    assert!(
        !refused.crossings().is_empty(),
        "the strip has to cross itself"
    );
    assert_eq!(refused.prepare_start().unwrap_err().key, "cloth.strip");
    let mut s = scene("untangle");
    s.prepare_start().unwrap();
    assert_eq!(s.crossings(), []);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_pin_inside_an_obstacle_cannot_be_untangled() {
    let error = start(PIN_INSIDE, "untangle").prepare_start().unwrap_err();
    assert!(error.remedy.contains("gave up"), "{error}");
}

#[test]
fn an_obstacle_that_crosses_itself_is_no_matter() {
    let folder = std::env::temp_dir().join(format!("muslin-star-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let obj = "v -1 -1 0\nv 1 -1 0\nv 0 1 0\nv 0 -1 -1\nv 0 -1 1\nv 0 1 0.1\nf 1 2 3\nf 4 5 6\n";
    std::fs::write(folder.join("star.obj"), obj).unwrap();
    let text = "[obstacle.star]\nmesh = \"star.obj\"\n[cloth.sheet]\ngrid = { size = [0.1, 0.1], cells = [4, 4] }\nfabric = \"wool-woven\"\ntranslate = [0, 0, 2]\n";
    std::fs::write(folder.join("scene.toml"), text).unwrap();
    let source = SceneSource::find(&folder.join("scene.toml").to_string_lossy()).unwrap();
    let mut s = Simulation::new(&source, &[] as &[Override], 1).unwrap();
    assert_eq!(s.prepare_start().unwrap(), None);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn pairs_that_cross_are_left_out_until_they_part() {
    // The lower sheet falls away from the upper one, which is held.
    let text = format!(
        "{TWO_SHEETS}[pin.hold]\ncloth = \"a\"\nbox = {{ min = [-1, -1, -1], max = [0, 1, 1] }}\n\
         [fabric.silk]\ndensity = 0.1\nstretch = {{ springs = {{ modulus = 40 }} }}\n"
    )
    .replace("wool-woven", "silk");
    for method in ["implicit", "impulse"] {
        let change = Override::parse(&format!("solver.method={method}")).unwrap();
        let text = format!("start = \"ignore-pairs\"\n{text}");
        let mut s = Simulation::new(&SceneSource::from_text("test", &text), &[change], 2).unwrap();
        let note = s.prepare_start().unwrap().unwrap();
        assert!(note.contains("left out"), "{note}");
        let before = s.crossings()[0].pairs;
        let mut parted = false;
        for _ in 0..80 {
            s.advance().unwrap();
            parted |= s.crossings().is_empty();
            assert!(
                !parted || s.crossings().is_empty(),
                "{method}: parted and crossing again"
            );
        }
        assert!(parted || s.crossings()[0].pairs < before, "{method}");
    }
}
