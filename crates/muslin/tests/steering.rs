//! What is changed from outside between steps, and simulations that are branched, saved and changed.
#![allow(clippy::unwrap_used)]

use muslin::linalg::{Quat, Vec3};
use muslin::obstacle::Placement;
use muslin::record::{load, save};
use muslin::scene::{Override, SceneSource};
use muslin::simulation::Simulation;
use muslin::world::SteerError;

const SCENE: &str = r#"
[output]
frame_rate = 50
[solver]
time_step = 0.01
[cloth.sheet]
grid = { size = [0.3, 0.3], cells = [8, 8] }
translate = [0, 0, 0.105]
fabric = "wool-woven"
[pin.corner]
cloth = "sheet"
vertices = [0]
until = 0.05
[obstacle.ball]
sphere = { radius = 0.1 }
friction = 0.5
"#;

fn simulation(text: &str) -> Simulation {
    Simulation::new(&SceneSource::from_text("steered", text), &[], 1).unwrap()
}

fn go(simulation: &mut Simulation, steps: usize) {
    for _ in 0..steps {
        simulation.advance().unwrap();
    }
}

fn at(translation: Vec3) -> Placement {
    Placement {
        translation,
        ..Placement::IDENTITY
    }
}

/// Everything at once.
fn drive(simulation: &mut Simulation) {
    let change = Override::parse("gravity=[0, 0.5, -9]").unwrap();
    simulation.change(&[change]).unwrap();
    let place = Placement {
        rotation: Quat::from_rotation_z(0.1),
        ..at(Vec3::new(0.003, 0.0, 0.002))
    };
    simulation.drive("ball", place, Some(0.04)).unwrap();
    let world = &mut simulation.world;
    world
        .hold("hand", "sheet", &[8, 7], [true, false, true])
        .unwrap();
    let places = [world.state.x[7], world.state.x[8]].map(|x| x + Vec3::Z * 0.003);
    simulation.lead("hand", &places, Some(0.05)).unwrap();
    let forces = vec![Vec3::X * 1e-4; simulation.world.state.x.len()];
    simulation.world.push("sheet", &forces).unwrap();
}

#[test]
fn a_driven_obstacle_is_one_that_follows_a_path() {
    let path = SCENE.replace(
        "friction = 0.5\n",
        "friction = 0.5\npath = { x = \"0.1*t\", z = \"0.05*t\" }\n",
    );
    // Places differ by rounding; each answer by no more than its tolerance.
    let exact = "[solver.implicit]\ntolerance = 1e-9\n";
    let [path, scene] = [path.as_str(), SCENE].map(|text| format!("{text}{exact}"));
    let (mut led, mut driven) = (simulation(&path), simulation(&scene));
    for step in 1..=20 {
        let time = driven.dt() * f64::from(step);
        let place = at(Vec3::new(0.1 * time, 0.0, 0.05 * time));
        driven.drive("ball", place, None).unwrap();
        go(&mut driven, 1);
        go(&mut led, 1);
    }
    assert!(!driven.world.touches.is_empty());
    let pairs = led.world.state.x.iter().zip(&driven.world.state.x);
    let apart = pairs.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(apart < 1e-7, "{apart:e}");
}

#[test]
fn branches_and_saved_ones_go_on_alike() {
    for method in ["implicit", "impulse", "admm"] {
        branch_and_save(method);
    }
}

fn branch_and_save(method: &str) {
    let mut first = simulation(SCENE);
    let method = Override::parse(&format!("solver.method={method}")).unwrap();
    first.change(&[method]).unwrap();
    go(&mut first, 4);
    drive(&mut first);
    // The corner is let go on the way.
    go(&mut first, 3);
    let mut branch = first.branch().unwrap();
    let file = std::env::temp_dir().join(format!("muslin-saved-{}.npz", std::process::id()));
    save(&first, &file).unwrap();
    let mut saved = load(&file, 2).unwrap();
    std::fs::remove_file(&file).unwrap();
    go(&mut first, 6);
    go(&mut branch, 6);
    go(&mut saved, 6);
    assert!(!first.world.touches.is_empty());
    for other in [&branch, &saved] {
        assert_eq!(first.world.state, other.world.state);
        assert_eq!(first.world.touches, other.world.touches);
        assert_eq!(first.world.steering(), other.world.steering());
        assert_eq!(
            (first.steps(), first.world.time),
            (other.steps(), other.world.time)
        );
    }
    // A change of nothing changes nothing.
    let kept = first.world.state.clone();
    first.change(&[]).unwrap();
    assert_eq!(first.world.state, kept);
    go(&mut first, 3);
    go(&mut branch, 3);
    assert_eq!(first.world.state, branch.world.state);
}

#[test]
fn a_released_pin_stays_released() {
    let mut simulation = simulation(SCENE);
    simulation.world.release("corner").unwrap();
    simulation
        .change(&[Override::parse("contact.friction=0.1").unwrap()])
        .unwrap();
    assert!(simulation.world.pins.is_empty());
    assert!(simulation.branch().unwrap().world.pins.is_empty());
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let mut simulation = simulation(SCENE);
    let (n, before) = (
        simulation.world.state.x.len(),
        simulation.world.state.clone(),
    );
    let world = &mut simulation.world;
    let all = [true; 3];
    assert!(matches!(
        world.hold("a", "shet", &[0], all),
        Err(SteerError::NoSuch { .. })
    ));
    assert!(matches!(
        world.hold("corner", "sheet", &[5], all),
        Err(SteerError::PinExists(_))
    ));
    assert!(matches!(
        world.hold("a", "sheet", &[0], all),
        Err(SteerError::HeldTwice { .. })
    ));
    assert!(matches!(
        world.hold("a", "sheet", &[], all),
        Err(SteerError::HoldsNothing(_))
    ));
    assert!(matches!(
        world.hold("a", "sheet", &[5], [false; 3]),
        Err(SteerError::HoldsNothing(_))
    ));
    assert!(matches!(
        world.hold("a", "sheet", &[n as u32], all),
        Err(SteerError::NoSuchVertex { .. })
    ));
    assert!(matches!(world.release("a"), Err(SteerError::NoSuch { .. })));
    assert!(matches!(
        world.lead("corner", &[], 0.1),
        Err(SteerError::Length { .. })
    ));
    assert!(matches!(
        world.lead("corner", &[Vec3::NAN], 0.1),
        Err(SteerError::NotUsable { .. })
    ));
    assert!(matches!(
        world.lead("corner", &[Vec3::X], f64::NAN),
        Err(SteerError::Duration(_))
    ));
    assert!(matches!(
        world.push("sheet", &[Vec3::X]),
        Err(SteerError::Length { .. })
    ));
    let nowhere = at(Vec3::NAN);
    assert!(matches!(
        simulation.drive("ball", nowhere, None),
        Err(SteerError::NotUsable { .. })
    ));
    let flat = Placement {
        scale: 0.0,
        ..Placement::IDENTITY
    };
    assert!(matches!(
        simulation.drive("ball", flat, None),
        Err(SteerError::Degenerate(_))
    ));
    let unturned = Placement {
        rotation: Quat::from_xyzw(0.0, 0.0, 0.0, 0.0),
        ..Placement::IDENTITY
    };
    assert!(matches!(
        simulation.drive("ball", unturned, None),
        Err(SteerError::Degenerate(_))
    ));
    assert!(simulation.drive("bal", Placement::IDENTITY, None).is_err());
    assert!(
        simulation
            .set_positions("sheet", &vec![Vec3::splat(1e7); n])
            .is_err()
    );
    assert!(simulation.set_velocities("sheet", &[]).is_err());
    assert!(simulation.contact_force("nobody").is_none());
    let finer = Override::parse("cloth.sheet.grid.cells=[2, 2]").unwrap();
    assert!(
        simulation
            .change(&[finer])
            .unwrap_err()
            .problem
            .contains("other vertices")
    );
    assert_eq!(simulation.world.state, before);
    assert!(simulation.world.steering().is_empty());
}

#[test]
fn surfaces_in_a_scene_are_meshes_like_any_other() {
    let scene = |positions: &str, faces: &str, texture: &str| {
        let text = format!(
            "[cloth.a]\nfabric = \"paper\"\nsurface = {{ positions = {positions}, faces = {faces}{texture} }}\n"
        );
        Simulation::new(&SceneSource::from_text("a", &text), &[], 1)
    };
    let (square, two) = ("[[0,0,0],[1,0,0],[1,1,0],[0,1,0]]", "[[0,1,2],[0,2,3]]");
    let given = scene(square, two, "").unwrap();
    assert!((given.world.mass.iter().sum::<f64>() - 0.1).abs() < 1e-12);
    let half = ", texture = [[0,0],[0.5,0],[0.5,0.5],[0,0.5]]";
    let shrunk = scene(square, two, half).unwrap();
    assert!((shrunk.world.mass.iter().sum::<f64>() - 0.025).abs() < 1e-12);
    for (positions, faces, texture, key) in [
        (square, "[[0,1,4]]", "", "cloth.a.surface.faces.0"),
        (square, "[[0,1,-1]]", "", "cloth.a.surface"),
        (square, "[]", "", "cloth.a"),
        (
            "[[0,0,0],[1,0,0],[nan,1,0]]",
            "[[0,1,2]]",
            "",
            "cloth.a.surface.positions.2.0",
        ),
        (
            square,
            two,
            ", texture = [[0,0]]",
            "cloth.a.surface.texture",
        ),
        (square, two, ", uv = [[0,0]]", "cloth.a.surface"),
    ] {
        let error = scene(positions, faces, texture).err().unwrap();
        assert!(error.key.starts_with(key), "{error}");
        assert!(!error.remedy.is_empty() && error.line.is_some());
    }
}

#[test]
fn a_step_that_fails_leaves_the_state_before_it() {
    let set = |simulation: &mut Simulation, change: &str| {
        let change = Override::parse(change).unwrap();
        simulation.change(&[change]).unwrap();
    };
    for method in ["implicit", "impulse", "admm"] {
        let mut simulation = simulation(SCENE);
        set(&mut simulation, &format!("solver.method={method}"));
        // The formula ends in the middle of the fourth step.
        set(
            &mut simulation,
            "pin.corner.path.z=\"0.01*sqrt(0.0375 - t)\"",
        );
        go(&mut simulation, 3);
        let kept = simulation.world.state.clone();
        assert!(simulation.advance().is_err());
        assert_eq!(simulation.world.state.x, kept.x);
        assert_eq!(simulation.world.state.v, kept.v);
        assert_eq!((simulation.steps(), simulation.world.time), (3, 0.03));
        // Mended, it goes on.
        set(&mut simulation, "pin.corner.path.z=\"0\"");
        go(&mut simulation, 2);
    }
}

#[test]
fn threads_can_be_started_anew() {
    let (mut first, mut second) = (simulation(SCENE), simulation(SCENE));
    first.advance().unwrap();
    second.advance().unwrap();
    second.restart_threads().unwrap();
    go(&mut first, 3);
    go(&mut second, 3);
    assert_eq!(first.world.state.x, second.world.state.x);
    assert_eq!(second.threads(), 1);
}
