//! Which friction holds, and where lines lie in space.

use super::World;
use crate::contact::{NO_VERTEX, Party};
use crate::material::{Origin, PairFriction};
use crate::scene::SceneSource;
use muslin_linalg::Vec3;
use std::path::Path;

fn build(scene: &str) -> Result<World, String> {
    let source = SceneSource::from_text("test", scene);
    let scene = source.load(&[]).map_err(|e| e.to_string())?;
    World::build(&scene, Path::new(""))
        .map_err(|e| format!("{}: {} / {}", e.key, e.problem, e.remedy))
}

/// Two cloths `coat` (cotton) and `lining` (polyester), obstacles `body` (skin) and `floor`; `extra` lines for each.
fn scene(coat: &str, lining: &str, body: &str, floor: &str, pairs: &str) -> String {
    format!(
        r#"
[cloth.coat]
grid = {{ size = [1, 1], cells = [2, 2] }}
fabric = "cotton-woven"
{coat}
[cloth.lining]
grid = {{ size = [1, 1], cells = [2, 2] }}
translate = [0, 0, 1]
fabric = "polyester-woven"
{lining}
[obstacle.body]
sphere = {{ radius = 0.1 }}
translate = [0, 0, 3]
material = "skin"
{body}
[obstacle.floor]
plane = {{ point = [0, 0, -1] }}
{floor}
{pairs}
"#
    )
}

const COAT: Party = Party::Cloth(0);
const LINING: Party = Party::Cloth(1);
const BODY: Party = Party::Obstacle(0);
const FLOOR: Party = Party::Obstacle(1);

fn check(scene: &str, expected: &[(Party, Party, f64)]) -> World {
    let world = build(scene).unwrap();
    for (a, b, value) in expected {
        let pair = world.friction.between(*a, *b);
        assert_eq!(pair.isotropic, *value, "{a:?} {b:?} {}", pair.origin);
        assert_eq!(*pair, world.friction.between(*b, *a).swapped());
    }
    world
}

#[test]
fn the_order_of_precedence() {
    // Nothing typed: the table, then the defaults.
    let world = check(
        &scene("", "", "", "", ""),
        &[
            (COAT, COAT, 0.35),
            (COAT, LINING, 0.35),
            (LINING, LINING, 0.4),
            (COAT, BODY, 0.3),
            (LINING, BODY, 0.3),
            (LINING, FLOOR, 0.3),
            (COAT, FLOOR, 0.35),
        ],
    );
    let origin = |a, b| &world.friction.between(a, b).origin;
    assert_eq!(*origin(LINING, FLOOR), Origin::Default);
    assert!(matches!(origin(LINING, BODY), Origin::Shipped(_, s) if s.starts_with("authored")));
    // Numbers on objects: an obstacle's own, else the cloth's; of two cloths the smaller.
    check(
        &scene("friction = 0.7", "friction = 0.2", "friction = 1", "", ""),
        &[
            (COAT, COAT, 0.7),
            (COAT, LINING, 0.2),
            (LINING, LINING, 0.2),
            (COAT, BODY, 1.0),
            (LINING, BODY, 1.0),
            (COAT, FLOOR, 0.7),
            (LINING, FLOOR, 0.2),
        ],
    );
    // Only one of two cloths has a number: it counts. Zero and huge are numbers too.
    check(
        &scene("friction = 0", "", "", "friction = 1e12", ""),
        &[
            (COAT, LINING, 0.0),
            (COAT, FLOOR, 1e12),
            (LINING, LINING, 0.4),
        ],
    );
    // One number for the scene comes after those and before the table.
    check(
        &scene("friction = 0.7", "", "", "", "[contact]\nfriction = 0.05"),
        &[
            (COAT, FLOOR, 0.7),
            (LINING, BODY, 0.05),
            (LINING, LINING, 0.05),
        ],
    );
    // Pairs: objects, then fabrics, fibres and materials, the more exact first.
    let pairs = r#"
[[friction]]
between = ["skin", "cotton"]
coefficient = 0.11
[[friction]]
between = ["cotton-woven", "skin"]
coefficient = 0.12
[[friction]]
between = ["floor", "polyester"]
coefficient = 0.13
[[friction]]
between = ["lining", "body"]
coefficient = 0.14
[[friction]]
between = ["lining", "skin"]
coefficient = 0.15
[[friction]]
between = ["coat", "coat"]
coefficient = 0.16
[[friction]]
between = ["wool", "skin"]
coefficient = 0.17
"#;
    let world = check(
        &scene(
            "friction = 0.7",
            "",
            "friction = 0.8",
            "friction = 0.9",
            pairs,
        ),
        &[
            (COAT, BODY, 0.12),
            (LINING, FLOOR, 0.13),
            (LINING, BODY, 0.14),
            (COAT, COAT, 0.16),
            (COAT, LINING, 0.7),
            (COAT, FLOOR, 0.9),
        ],
    );
    let origin = &world.friction.between(LINING, BODY).origin;
    assert!(origin.to_string().contains("number 3"), "{origin}");
}

#[test]
fn measured_pairs_come_from_the_table_with_their_source() {
    let text = scene("", "", "", "", "").replace("\"skin\"", "\"skin-chest\"");
    let world = check(&text, &[(COAT, BODY, 0.9), (LINING, BODY, 0.3)]);
    let origin = world.friction.between(COAT, BODY).origin.to_string();
    assert!(
        origin.contains("measured") && origin.contains("Temel"),
        "{origin}"
    );
}

#[test]
fn names_that_mean_nothing_or_too_much_are_told() {
    let pairs = |a: &str, b: &str| {
        let pair = format!("[[friction]]\nbetween = [\"{a}\", \"{b}\"]\ncoefficient = 0.1\n");
        scene("", "", "", "", &pair)
    };
    let error = build(&pairs("coat", "flor")).err().unwrap();
    assert!(error.contains("friction.0.between.1") && error.contains("did you mean `floor`"));
    let error = build(&pairs("floor", "body")).err().unwrap();
    assert!(error.contains("do not touch"), "{error}");
    // Not used now, but known.
    assert!(build(&pairs("wool", "synthetic-leather")).is_ok());
    // A cloth called like another one's fibre.
    let both = pairs("cotton", "body").replace("cloth.lining", "cloth.cotton");
    let error = build(&both).err().unwrap();
    assert!(
        error.contains("`cloth.cotton` or `surface.cotton`"),
        "{error}"
    );
    let told = both.replace("[\"cotton\",", "[\"surface.cotton\",");
    assert_eq!(
        build(&told).unwrap().friction.between(COAT, BODY).isotropic,
        0.1
    );
    let told = both.replace("[\"cotton\",", "[\"cloth.cotton\",");
    assert_eq!(
        build(&told).unwrap().friction.between(COAT, BODY).isotropic,
        0.3
    );
    // Equally exact entries that disagree.
    let two = pairs("coat", "skin")
        + "[[friction]]\nbetween = [\"cotton-woven\", \"body\"]\ncoefficient = 0.2\n";
    let error = build(&two).err().unwrap();
    assert!(
        error.contains("both hold") && error.contains("[\"coat\", \"body\"]"),
        "{error}"
    );
    let twice = pairs("coat", "body")
        + "[[friction]]\nbetween = [\"obstacle.body\", \"coat\"]\ncoefficient = 0.1\n";
    assert!(build(&twice).err().unwrap().contains("stands twice"));
}

fn cone(
    world: &World,
    parties: [Party; 2],
    vertices: [u32; 4],
    weights: [f64; 4],
) -> (Vec3, [f64; 2]) {
    let normal = Vec3::Z;
    let cone = world.cone(parties, vertices, weights, normal, &world.state.x);
    assert_eq!(cone.frame.row(0), normal);
    (cone.frame.row(1), cone.friction)
}

fn assert_line(found: Vec3, expected: Vec3) {
    let cross = found.cross(expected.normalize()).length();
    assert!(cross < 1e-12, "{found} is not along {expected}");
}

const SOLID: [u32; 4] = [0, NO_VERTEX, NO_VERTEX, NO_VERTEX];
const ALONE: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

#[test]
fn the_warp_turns_with_the_cloth() {
    let table = "friction = { along = 0.2, across = 0.6 }";
    for (turn, grain, direction, expected) in [
        (0.0, 0.0, "warp", 0.0f64),
        (30.0, 0.0, "warp", 30.0),
        (30.0, 20.0, "warp", 50.0),
        (30.0, 20.0, "weft", 140.0),
    ] {
        let coat = format!(
            "friction = {{ along = 0.2, across = 0.6, direction = \"{direction}\" }}\ngrain = {grain}\n\
             rotate = {{ axis = [0, 0, 1], degrees = {turn} }}"
        );
        let world = build(&scene(&coat, "", "", "", "")).unwrap();
        let (line, friction) = cone(&world, [COAT, FLOOR], SOLID, ALONE);
        assert_eq!(friction, [0.2, 0.6]);
        let angle = expected.to_radians();
        assert_line(line, Vec3::new(angle.cos(), angle.sin(), 0.0));
        // The same for an inner vertex, an edge and a face, and for the cloth as second party.
        let sides: [([u32; 4], [f64; 4]); 3] = [
            ([NO_VERTEX, 4, NO_VERTEX, NO_VERTEX], [0.0, 1.0, 0.0, 0.0]),
            ([0, 1, NO_VERTEX, NO_VERTEX], [0.5, 0.5, 0.0, 0.0]),
            ([0, 1, 4, NO_VERTEX], [0.2, 0.3, 0.5, 0.0]),
        ];
        for (vertices, weights) in sides {
            let (line, _) = cone(&world, [COAT, FLOOR], vertices, weights);
            assert_line(line, Vec3::new(angle.cos(), angle.sin(), 0.0));
            let (line, _) = cone(&world, [FLOOR, COAT], vertices, weights.map(|w| -w));
            assert_line(line, Vec3::new(angle.cos(), angle.sin(), 0.0));
        }
    }
    // A stretched and sheared sheet takes its warp along.
    let mut world = build(&scene(table, "", "", "", "")).unwrap();
    for x in &mut world.state.x {
        *x = Vec3::new(x.x + 0.5 * x.y, 0.3 * x.x + 2.0 * x.y, 0.0);
    }
    let (line, _) = cone(&world, [COAT, FLOOR], SOLID, ALONE);
    assert_line(line, Vec3::new(1.0, 0.3, 0.0));
}

#[test]
fn an_obstacles_line_moves_with_it() {
    let body = r"
friction = { along = 0.1, across = 0.5, isotropic = 0.4, direction = [1, 0, 0] }
rotate = { axis = [0, 0, 1], degrees = 30 }
keyframes = [{ time = 0 }, { time = 1, rotate = { axis = [0, 0, 1], degrees = 60 } }]";
    // The cloth's own table does not count: the obstacle's holds for everything that touches it.
    let coat = "friction = { along = 0.9, across = 0.9 }";
    let mut world = build(&scene(coat, "", body, "", "")).unwrap();
    for (time, degrees) in [(0.0, 30.0f64), (1.0, 90.0), (7.0, 90.0)] {
        world.time = time;
        let (line, friction) = cone(&world, [COAT, BODY], SOLID, ALONE);
        assert_eq!(friction, [0.1, 0.5]);
        assert_line(
            line,
            Vec3::new(degrees.to_radians().cos(), degrees.to_radians().sin(), 0.0),
        );
    }
}

#[test]
fn two_lines_blend() {
    // Cloth on cloth, turned by 45 degrees: half way to isotropic.
    let turned = "rotate = { axis = [0, 0, 1], degrees = 45 }";
    let pair = r#"
[[friction]]
between = ["lining", "coat"]
along = 0.2
across = 0.8
isotropic = 0.4
"#;
    let world = build(&scene("", turned, "", "", pair)).unwrap();
    let vertices = [4, 9, 10, 13];
    let (line, friction) = cone(&world, [COAT, LINING], vertices, [1.0, -0.2, -0.3, -0.5]);
    assert!((friction[0] - 0.3).abs() < 1e-12 && (friction[1] - 0.6).abs() < 1e-12);
    let middle = 22.5f64.to_radians();
    assert_line(line, Vec3::new(middle.cos(), middle.sin(), 0.0));
    // Directions go with their names, whatever the order of the parties.
    let one = pair.to_string() + "directions = [\"weft\", \"none\"]\n";
    let world = build(&scene("", turned, "", "", &one)).unwrap();
    let (line, friction) = cone(&world, [COAT, LINING], vertices, [1.0, -0.2, -0.3, -0.5]);
    assert_eq!(friction, [0.2, 0.8]);
    assert_line(line, Vec3::new(-1.0, 1.0, 0.0));
    // Cloth on itself has its own line on both sides.
    let own = "friction = { along = 0.2, across = 0.8, direction = [1, 1] }";
    let world = build(&scene(own, "", "", "", "")).unwrap();
    let (line, friction) = cone(&world, [COAT, COAT], [0, 4, 5, 8], [1.0, -0.2, -0.3, -0.5]);
    assert!((friction[0] - 0.2).abs() < 1e-7 && (friction[1] - 0.8).abs() < 1e-7);
    assert_line(line, Vec3::new(1.0, 1.0, 0.0));
    let pair: &PairFriction = world.friction.between(COAT, COAT);
    assert_eq!(pair.isotropic, 0.5);
}
