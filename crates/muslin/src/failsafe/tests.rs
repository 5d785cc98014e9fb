//! The parts against reference data and conservation laws, and the whole on motions that cross.

use super::project::{Bonds, project};
use super::rigid::{Member, RigidMotion};
use super::row::Row;
use super::*;
use crate::contact::Party;
use crate::material::Cone;
use crate::scene::{Override, SceneSource};
use crate::simulation::Simulation;
use serde::Deserialize;

#[derive(Deserialize)]
struct File<T> {
    cases: Vec<T>,
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> Vec<T> {
    let path = format!("{}/../../reference/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str::<File<T>>(&text).unwrap().cases
}

#[derive(Deserialize)]
struct ZoneCase {
    name: String,
    dt: f64,
    x: Vec<Vec3Of>,
    v: Vec<Vec3Of>,
    mass: Vec<f64>,
    fixed: Vec<bool>,
    x0: Vec3Of,
    v0: Vec3Of,
    omega: Vec3Of,
    x_next: Vec<Vec3Of>,
}

type Vec3Of = [f64; 3];

fn near(a: Vec3, b: Vec3Of, scale: f64) -> bool {
    a.distance(Vec3::from_array(b)) <= 1e-9 * scale
}

#[test]
fn rigid_zones_move_as_the_reference_says() {
    for case in read::<ZoneCase>("ccd_rigid_zones.json") {
        let members: Vec<Member> = (0..case.x.len())
            .map(|i| Member {
                x: Vec3::from_array(case.x[i]),
                v: Vec3::from_array(case.v[i]),
                mass: if case.fixed[i] {
                    f64::INFINITY
                } else {
                    case.mass[i]
                },
            })
            .collect();
        let motion = RigidMotion::fit(&members);
        let speed = Vec3::from_array(case.v0).length().max(1e-3);
        let turn = Vec3::from_array(case.omega).length().max(1e-3);
        assert!(near(motion.center, case.x0, 1.0), "{}", case.name);
        assert!(near(motion.velocity, case.v0, speed), "{}", case.name);
        assert!(near(motion.omega, case.omega, turn), "{}", case.name);
        for (m, next) in members.iter().zip(&case.x_next) {
            let carried = motion.carry(m.x, case.dt);
            assert!(near(carried, *next, 1.0), "{}", case.name);
        }
        if !case.fixed.iter().any(|f| *f) {
            conserves(&members, &motion, &case.name);
        }
    }
}

/// Momentum to 1e-12 by the velocity field, linear momentum also by where the members go.
fn conserves(members: &[Member], motion: &RigidMotion, name: &str) {
    let field = |m: &Member| motion.velocity + motion.omega.cross(m.x - motion.center);
    let linear = |v: &dyn Fn(&Member) -> Vec3| members.iter().map(|m| v(m) * m.mass).sum::<Vec3>();
    let angular = |v: &dyn Fn(&Member) -> Vec3| {
        let turning = |m: &Member| (m.x - motion.center).cross(v(m)) * m.mass;
        members.iter().map(turning).sum::<Vec3>()
    };
    let wanted = |m: &Member| m.v;
    let dt = 0.01;
    let carried = |m: &Member| (motion.carry(m.x, dt) - m.x) / dt;
    let size: f64 = members.iter().map(|m| m.v.length() * m.mass).sum();
    assert!(
        linear(&wanted).distance(linear(&field)) <= 1e-12 * size,
        "{name}"
    );
    assert!(
        linear(&wanted).distance(linear(&carried)) <= 1e-12 * size,
        "{name}"
    );
    let arms: f64 = members
        .iter()
        .map(|m| (m.x - motion.center).length() * m.v.length() * m.mass)
        .sum();
    assert!(
        angular(&wanted).distance(angular(&field)) <= 1e-12 * arms,
        "{name}"
    );
}

#[derive(Deserialize)]
struct ProjectionCase {
    name: String,
    v: Vec<Vec3Of>,
    mass: Vec<f64>,
    fixed: Vec<bool>,
    constraints: Vec<Constraint>,
    v_after: Vec<Vec3Of>,
}

#[derive(Deserialize)]
struct Constraint {
    vertices: [u32; 4],
    weights: [f64; 4],
    normal: Vec3Of,
}

fn row(c: &Constraint) -> Row {
    Row {
        vertices: c.vertices,
        weights: c.weights,
        normal: Vec3::from_array(c.normal),
        surface: Vec3::ZERO,
        least: 0.0,
        cone: Cone::isotropic(Vec3::from_array(c.normal), 0.5),
    }
}

#[test]
fn projection_changes_as_little_as_the_reference_says() {
    for case in read::<ProjectionCase>("ccd_inelastic_projection.json") {
        let rows: Vec<Row> = case.constraints.iter().map(row).collect();
        let masses = case.mass.iter().zip(&case.fixed);
        let inverse: Vec<Vec3> = masses
            .map(|(m, f)| Vec3::splat(if *f { 0.0 } else { 1.0 / m }))
            .collect();
        let mut v: Vec<Vec3> = case.v.iter().map(|v| Vec3::from_array(*v)).collect();
        project(&rows, &inverse, &mut v, Bonds::Both);
        for (v, expected) in v.iter().zip(&case.v_after) {
            assert!(near(*v, *expected, 1.0), "{}: {v} {expected:?}", case.name);
        }
    }
}

#[test]
fn impulses_and_projection_conserve_momentum_and_only_push() {
    for case in read::<ProjectionCase>("ccd_inelastic_projection.json") {
        let rows: Vec<Row> = case.constraints.iter().map(row).collect();
        let inverse: Vec<Vec3> = case.mass.iter().map(|m| Vec3::splat(1.0 / m)).collect();
        let before: Vec<Vec3> = case.v.iter().map(|v| Vec3::from_array(*v)).collect();
        let momentum = |v: &[Vec3]| v.iter().zip(&case.mass).map(|(v, m)| *v * *m).sum::<Vec3>();
        let size: f64 = before
            .iter()
            .zip(&case.mass)
            .map(|(v, m)| v.length() * m)
            .sum();
        let mut pushed = before.clone();
        for _ in 0..4 {
            for row in &rows {
                row.resolve(&inverse, &mut pushed);
                assert!(row.velocity(&pushed).dot(row.normal) >= -1e-12);
            }
        }
        let mut projected = before.clone();
        project(&rows, &inverse, &mut projected, Bonds::Push);
        for v in [pushed, projected] {
            let lost = momentum(&v).distance(momentum(&before));
            assert!(lost <= 1e-12 * size, "{}", case.name);
        }
    }
}

/// A small sheet above another, and what holds still below both.
const TWO_SHEETS: &str = r#"
[contact]
friction = 0.3
[cloth.low]
grid = { size = [0.2, 0.2], cells = [8, 8] }
fabric = "wool-woven"
translate = [0, 0, 0.02]
[cloth.high]
grid = { size = [0.2, 0.2], cells = [9, 9] }
rotate = { axis = [0, 0, 1], degrees = 30 }
fabric = "wool-woven"
translate = [0, 0, 0.03]
"#;

fn simulation(text: &str, more: &str) -> Simulation {
    let source = SceneSource::from_text("test", &format!("{text}\n{more}"));
    Simulation::new(&source, &[] as &[Override], 1).unwrap()
}

/// Mends a proposed motion of the whole state and judges it.
fn mended(simulation: &mut Simulation, dt: f64, motion: impl Fn(usize, Vec3) -> Vec3) -> Mended {
    let world = &mut simulation.world;
    let mut end: Vec<Vec3> = (0..world.state.x.len())
        .map(|i| motion(i, world.state.x[i]))
        .collect();
    let proposed = end.clone();
    let done = FailSafe::default().mend(world, &mut end, dt).unwrap();
    let changed = end.iter().zip(&proposed).filter(|(a, b)| a != b).count();
    assert_eq!(done.touched, changed);
    world.state.x = end;
    world.time += dt;
    done
}

#[test]
fn what_does_not_cross_is_left_as_it_is() {
    let mut s = simulation(TWO_SHEETS, "");
    let done = mended(&mut s, 0.01, |_, x| x - Vec3::Z * 0.015);
    assert_eq!((done.stage, done.touched), (Stage::Clean, 0));
}

#[test]
fn sheets_thrown_through_each_other_stay_apart_and_keep_their_momentum() {
    let mut s = simulation(TWO_SHEETS, "");
    let low = s.world.bodies[1].vertices.len();
    assert_eq!(s.world.bodies[0].name, "high");
    let high = s.world.bodies[0].vertices.len();
    let before = s.world.state.x.clone();
    let done = mended(&mut s, 0.01, |i, x| {
        // Crumpled a little, so that no two features meet at the same time.
        let bump = Vec3::new(0.0, 0.0, 1e-3 * ((i * 7919) % 13) as f64);
        if i < high {
            x - Vec3::Z * 0.05 + bump
        } else {
            x + Vec3::X * 0.03
        }
    });
    assert!(done.stage > Stage::Clean && done.touched > high.min(low) / 2);
    assert!(done.trapped == 0);
    assert_eq!(s.crossings(), []);
    // Impulses are equal and opposite.
    if done.stage <= Stage::Zones {
        let w = &s.world;
        let wanted: Vec3 = (0..w.mass.len())
            .map(|i| {
                let bump = Vec3::new(0.0, 0.0, 1e-3 * ((i * 7919) % 13) as f64);
                let way = if i < high {
                    Vec3::Z * -0.05 + bump
                } else {
                    Vec3::X * 0.03
                };
                way * w.mass[i]
            })
            .sum();
        let got: Vec3 = (0..w.mass.len())
            .map(|i| (w.state.x[i] - before[i]) * w.mass[i])
            .sum();
        assert!(
            wanted.distance(got) <= 1e-10 * wanted.length(),
            "{wanted} {got}"
        );
    }
}

#[test]
fn cloth_is_kept_out_of_every_solid_and_off_spikes() {
    let spike = r"
[obstacle.ball]
sphere = { radius = 0.01 }
translate = [0.03, 0.03, 0]
[obstacle.floor]
plane = { point = [0, 0, -0.02] }
[obstacle.spike]
cone = { radius = 0.004, height = 0.03 }
translate = [-0.0301, -0.0402, 0]
";
    let mut s = simulation(TWO_SHEETS, spike);
    let done = mended(&mut s, 0.01, |i, x| {
        x - Vec3::Z * (0.08 + 1e-3 * ((i * 7919) % 13) as f64)
    });
    assert!(done.stage > Stage::Clean);
    assert_eq!(done.trapped, 0);
    assert_eq!(s.crossings(), []);
}

#[test]
fn cloth_between_closing_jaws_says_so_and_stays_safe_from_itself() {
    let jaws = r"
[obstacle.below]
box = { size = [0.3, 0.3, 0.01] }
[obstacle.above]
box = { size = [0.3, 0.3, 0.01] }
translate = [0, 0, 0.05]
keyframes = [{ time = 0 }, { time = 0.5, translate = [0, 0, -0.05] }, { time = 1 }]
";
    let mut s = simulation(TWO_SHEETS, jaws);
    let mut trapped = 0;
    let (mut guard, mut watch) = (FailSafe::default(), TangleWatch::default());
    for _ in 0..14 {
        let world = &mut s.world;
        let mut end = world.state.x.clone();
        let done = guard.mend(world, &mut end, 0.04).unwrap();
        trapped += done.trapped;
        world.state.x = end;
        world.time += 0.04;
        watch.update(world, done.trapped > 0).unwrap();
        for c in s.crossings() {
            assert!(matches!(c.b, Party::Obstacle(_)), "{c:?}");
        }
    }
    assert!(trapped > 0);
}
