//! Checks that need no mesh: numbers in sensible ranges, names that exist, keys that exclude each other.

use super::{
    Cloth, Keyframe, MeasureKind, PathSpec, SceneError, SceneFile, Triple, load::nearest_name,
};
use crate::motion::Formula;

pub(super) fn validate(scene: &SceneFile) -> Result<(), SceneError> {
    range(
        "output.frame_rate",
        scene.output.frame_rate,
        1e-3,
        1e6,
        "frames a second",
    )?;
    range(
        "output.frames",
        scene.output.frames as f64,
        0.0,
        1e7,
        "frames",
    )?;
    range("solver.time_step", scene.solver.time_step, 1e-7, 1.0, "s")?;
    range(
        "solver.implicit.tolerance",
        scene.solver.implicit.tolerance,
        1e-14,
        1.0,
        "m/s",
    )?;
    range(
        "solver.implicit.max_iterations",
        scene.solver.implicit.max_iterations as f64,
        1.0,
        1e4,
        "iterations",
    )?;
    range(
        "solver.implicit.max_sweeps",
        scene.solver.implicit.max_sweeps as f64,
        1.0,
        1e7,
        "sweeps",
    )?;
    let impulse = &scene.solver.impulse;
    let fraction = "as a fraction";
    let limits = "solver.impulse.strain_limit";
    range(limits, impulse.strain_limit, 0.0, 10.0, fraction)?;
    let limits = "solver.impulse.rate_limit";
    range(limits, impulse.rate_limit, 0.0, 10.0, fraction)?;
    let smallest = "solver.impulse.smallest_step";
    range(smallest, impulse.smallest_step, 1e-7, 1.0, "s")?;
    scene.solver.admm.check()?;
    let contact = &scene.contact;
    range(
        "contact.recovery_speed",
        contact.recovery_speed,
        0.0,
        1e3,
        "m/s",
    )?;
    range(
        "contact.rounds",
        contact.rounds as f64,
        0.0,
        100.0,
        "rounds",
    )?;
    let steps = (1.0 / (scene.output.frame_rate * scene.solver.time_step)).ceil();
    if steps > 1e6 {
        return Err(SceneError::at(
            "solver.time_step",
            format!("a frame would take {steps:.1e} steps"),
            "use a longer time step or a higher frame rate",
        ));
    }
    vector("gravity", &scene.gravity, 1e4, "m/s²")?;
    if let Some(wind) = &scene.wind {
        vector("wind.velocity", &wind.velocity, 1e3, "m/s")?;
        range("wind.density", wind.density, 0.0, 1e4, "kg/m³")?;
        range("wind.normal_drag", wind.normal_drag, 0.0, 100.0, "")?;
        range("wind.tangential_drag", wind.tangential_drag, 0.0, 100.0, "")?;
        wind.path
            .as_ref()
            .map_or(Ok(()), |p| formulas("wind.path", p))?;
    }
    for (name, fabric) in &scene.fabric {
        fabric.check().map_err(|f| {
            SceneError::at(
                format!("fabric.{name}.{}", f.key).trim_end_matches('.'),
                f.problem,
                f.remedy,
            )
        })?;
    }
    if scene.cloth.is_empty() && scene.soft.is_empty() {
        return Err(SceneError::new(
            "the scene has no cloth and no soft body",
            "add a section such as [cloth.sheet] or [soft.ball]",
        ));
    }
    for (name, cloth) in &scene.cloth {
        // Frames tell obstacles from cloth by this.
        if name.starts_with("obstacle:") {
            return Err(SceneError::at(
                format!("cloth.{name}"),
                "the name of a cloth must not begin with `obstacle:`",
                "choose another name, or make it an [obstacle.NAME]",
            ));
        }
        self::cloth(&format!("cloth.{name}"), cloth)?;
    }
    super::validate_soft::soft(scene)?;
    for (name, pin) in &scene.pin {
        let key = format!("pin.{name}");
        known_cloth(scene, &format!("{key}.cloth"), &pin.cloth)?;
        selection(
            &key,
            [
                pin.vertices.is_some(),
                pin.nearest.is_some(),
                pin.r#box.is_some(),
                pin.sphere.is_some(),
            ],
        )?;
        motion(&key, pin.keyframes.as_deref(), pin.path.as_ref())?;
        if pin.axes.as_ref().is_some_and(Vec::is_empty) {
            return Err(SceneError::at(
                format!("{key}.axes"),
                "no axis is held",
                "list some of \"x\", \"y\", \"z\"",
            ));
        }
    }
    for (name, spec) in &scene.obstacle {
        super::validate_obstacle::obstacle(&format!("obstacle.{name}"), spec)?;
    }
    super::validate_friction::friction(scene)?;
    for (name, force) in &scene.force {
        let key = format!("force.{name}");
        known_cloth(scene, &format!("{key}.cloth"), &force.cloth)?;
        selection(
            &key,
            [
                force.vertices.is_some(),
                force.nearest.is_some(),
                force.r#box.is_some(),
                force.sphere.is_some(),
            ],
        )?;
        vector(&format!("{key}.force"), &force.force, 1e9, "N")?;
        if let Some(path) = &force.path {
            formulas(&format!("{key}.path"), path)?;
        } else if force.force == [0.0; 3] {
            return Err(SceneError::at(
                format!("{key}.force"),
                "the force is zero",
                "give `force` in newtons, or `path` as formulas of t",
            ));
        }
    }
    measures(scene)?;
    if let Some(camera) = &scene.camera {
        range("camera.degrees", camera.degrees, 1.0, 150.0, "degrees")?;
        if camera.from == camera.to {
            return Err(SceneError::at(
                "camera",
                "the camera looks at the place where it stands",
                "move `from` away",
            ));
        }
    }
    Ok(())
}

pub(super) fn range(
    key: &str,
    value: f64,
    low: f64,
    high: f64,
    unit: &str,
) -> Result<(), SceneError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    let what = format!("{value} {unit} is out of range");
    Err(SceneError::at(
        key,
        what.trim_end(),
        format!("use a value from {low} to {high} {unit}").trim_end(),
    ))
}

pub(super) fn vector(
    key: &str,
    value: &Triple,
    largest: f64,
    unit: &str,
) -> Result<(), SceneError> {
    value
        .iter()
        .enumerate()
        .try_for_each(|(i, c)| range(&format!("{key}.{i}"), *c, -largest, largest, unit))
}

pub(super) fn axis(key: &str, axis: &Triple) -> Result<(), SceneError> {
    vector(key, axis, 1e9, "")?;
    if axis.iter().all(|c| *c == 0.0) {
        return Err(SceneError::at(
            key,
            "a direction of length zero",
            "give a direction such as [0, 0, 1]",
        ));
    }
    Ok(())
}

fn formulas(key: &str, path: &PathSpec) -> Result<(), SceneError> {
    for (name, text) in [("x", &path.x), ("y", &path.y), ("z", &path.z)] {
        let formula = Formula::parse(text).map_err(|e| {
            SceneError::at(
                format!("{key}.{name}"),
                format!("`{text}` is not a formula: {e}"),
                "write a formula of t, such as \"0.1*sin(2*PI*t)\"",
            )
        })?;
        if !formula.at(0.0).is_finite() {
            return Err(SceneError::at(
                format!("{key}.{name}"),
                format!("`{text}` has no value at t = 0"),
                "use a formula that is defined from t = 0 on",
            ));
        }
    }
    Ok(())
}

/// What leads a pin or an obstacle.
pub(super) fn motion(
    key: &str,
    keys: Option<&[Keyframe]>,
    path: Option<&PathSpec>,
) -> Result<(), SceneError> {
    if keys.is_some() && path.is_some() {
        return Err(SceneError::at(
            key,
            "both `keyframes` and `path` are given",
            "keep one of them",
        ));
    }
    if let Some(keys) = keys {
        keyframes(&format!("{key}.keyframes"), keys)?;
    }
    path.map_or(Ok(()), |path| formulas(&format!("{key}.path"), path))
}

fn keyframes(key: &str, keys: &[Keyframe]) -> Result<(), SceneError> {
    if keys.is_empty() {
        return Err(SceneError::at(
            key,
            "the list of keyframes is empty",
            "give at least one, or leave the key out",
        ));
    }
    for (i, k) in keys.iter().enumerate() {
        let key = format!("{key}.{i}");
        if i > 0 && k.time <= keys[i - 1].time {
            return Err(SceneError::at(
                format!("{key}.time"),
                format!(
                    "time {} s is not after the one before it ({} s)",
                    k.time,
                    keys[i - 1].time
                ),
                "list keyframes in order of time",
            ));
        }
        vector(&format!("{key}.translate"), &k.translate, 1e6, "m")?;
        range(&format!("{key}.scale"), k.scale, 1e-6, 1e6, "")?;
        if let Some(rotate) = &k.rotate {
            axis(&format!("{key}.rotate.axis"), &rotate.axis)?;
        }
    }
    Ok(())
}

fn cloth(key: &str, cloth: &Cloth) -> Result<(), SceneError> {
    let shapes = [
        cloth.grid.is_some(),
        cloth.disc.is_some(),
        cloth.tube.is_some(),
        cloth.sphere.is_some(),
        cloth.mesh.is_some(),
        cloth.surface.is_some(),
    ];
    if shapes.iter().filter(|s| **s).count() != 1 {
        return Err(SceneError::at(
            key,
            "a cloth needs exactly one shape",
            "give one of `grid`, `disc`, `tube`, `sphere`, `mesh`, `surface`",
        ));
    }
    range(
        &format!("{key}.thickness"),
        cloth.thickness.unwrap_or(1e-3),
        1e-6,
        1.0,
        "m",
    )?;
    if let Some(grid) = &cloth.grid {
        let unstructured = grid.diagonals == super::DiagonalsSpec::Unstructured;
        if unstructured && grid.edge.is_none() {
            return Err(SceneError::at(
                format!("{key}.grid"),
                "an unstructured grid is sized by its edge length",
                "give `edge` in metres instead of `cells`",
            ));
        }
        if grid.cells.is_some() == grid.edge.is_some() {
            return Err(SceneError::at(
                format!("{key}.grid"),
                "the fineness of the grid is not clear",
                "give either `cells = [nx, ny]` or `edge` in metres",
            ));
        }
    }
    range(&format!("{key}.scale"), cloth.scale, 1e-6, 1e6, "")?;
    vector(&format!("{key}.translate"), &cloth.translate, 1e5, "m")?;
    vector(&format!("{key}.velocity"), &cloth.velocity, 1e4, "m/s")?;
    vector(
        &format!("{key}.angular_velocity"),
        &cloth.angular_velocity,
        1e4,
        "rad/s",
    )?;
    if let Some(rotate) = &cloth.rotate {
        axis(&format!("{key}.rotate.axis"), &rotate.axis)?;
    }
    Ok(())
}

fn known_cloth(scene: &SceneFile, key: &str, name: &str) -> Result<(), SceneError> {
    let mut names = scene.cloth.keys().chain(scene.soft.keys());
    if names.any(|n| n == name) {
        return Ok(());
    }
    let names = scene.cloth.keys().chain(scene.soft.keys());
    let names: Vec<&str> = names.map(String::as_str).collect();
    let (what, all) = if scene.soft.is_empty() {
        ("cloth", "cloths")
    } else {
        ("cloth or soft body", "cloths and soft bodies")
    };
    let remedy = nearest_name(name, names.iter().copied()).map_or_else(
        || format!("the {all} are: {}", names.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    Err(SceneError::at(
        key,
        format!("there is no {what} `{name}`"),
        remedy,
    ))
}

fn known_object(scene: &SceneFile, key: &str, name: &str) -> Result<(), SceneError> {
    let body = scene.cloth.contains_key(name) || scene.soft.contains_key(name);
    match (body, scene.obstacle.contains_key(name)) {
        (true, false) | (false, true) => return Ok(()),
        (true, true) => {
            return Err(SceneError::at(
                key,
                format!("both a body and an obstacle are called `{name}`"),
                "give one of them another name",
            ));
        }
        (false, false) => {}
    }
    let bodies = scene.cloth.keys().chain(scene.soft.keys());
    let names = bodies.chain(scene.obstacle.keys());
    let names: Vec<&str> = names.map(String::as_str).collect();
    let remedy = nearest_name(name, names.iter().copied()).map_or_else(
        || format!("the cloths and obstacles are: {}", names.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    Err(SceneError::at(
        key,
        format!("there is no cloth or obstacle `{name}`"),
        remedy,
    ))
}

fn selection(key: &str, given: [bool; 4]) -> Result<(), SceneError> {
    if given.iter().filter(|g| **g).count() == 1 {
        return Ok(());
    }
    Err(SceneError::at(
        key,
        "it is not clear which vertices are meant",
        "give exactly one of `vertices`, `nearest`, `box`, `sphere`",
    ))
}

fn measures(scene: &SceneFile) -> Result<(), SceneError> {
    for (i, m) in scene.measure.iter().enumerate() {
        let key = format!("measure.{i}");
        if scene.measure[..i].iter().any(|other| other.name == m.name) {
            return Err(SceneError::at(
                format!("{key}.name"),
                format!("two measures are called `{}`", m.name),
                "give each its own name",
            ));
        }
        let (points, direction) = match m.kind {
            MeasureKind::Displacement
            | MeasureKind::CenterOfMass
            | MeasureKind::Momentum
            | MeasureKind::AngularMomentum
            | MeasureKind::Reaction
            | MeasureKind::ContactForce => (0, true),
            MeasureKind::Position => (1, true),
            MeasureKind::Distance | MeasureKind::Elongation => (2, false),
            _ => (0, false),
        };
        if direction && m.direction.is_none() {
            return Err(SceneError::at(
                key,
                "this measure needs a direction",
                "add `direction = [x, y, z]`",
            ));
        }
        if let Some(d) = &m.direction {
            axis(&format!("{key}.direction"), d)?;
        }
        if m.points.as_ref().map_or(0, Vec::len) != points {
            return Err(SceneError::at(
                format!("{key}.points"),
                format!("this measure takes {points} points"),
                "give them as `points = [[x, y, z], …]`, or leave the key out if none are needed",
            ));
        }
        match (&m.of, m.kind) {
            (Some(name), MeasureKind::Reaction) if scene.pin.contains_key(name) => {}
            (_, MeasureKind::Reaction) => {
                return Err(SceneError::at(
                    format!("{key}.of"),
                    "a reaction is the force of a pin, and no pin of that name exists",
                    "set `of` to the name of a pin",
                ));
            }
            (None, MeasureKind::ContactForce) => {
                return Err(SceneError::at(
                    key,
                    "a contact force acts on an object, and none is named",
                    "set `of` to the name of a cloth or obstacle",
                ));
            }
            (
                Some(name),
                MeasureKind::Contacts
                | MeasureKind::Sticking
                | MeasureKind::Sliding
                | MeasureKind::ContactForce,
            ) => known_object(scene, &format!("{key}.of"), name)?,
            (Some(name), _) => known_cloth(scene, &format!("{key}.of"), name)?,
            (None, _) => {}
        }
        if let Some(e) = &m.expect {
            if e.tolerance.is_some() == e.relative.is_some() {
                return Err(SceneError::at(
                    format!("{key}.expect"),
                    "the tolerance is not clear",
                    "give either `tolerance` (in the measure's unit) or `relative` (a fraction)",
                ));
            }
            if e.tolerance.or(e.relative).is_some_and(|t| t < 0.0) {
                return Err(SceneError::at(
                    format!("{key}.expect"),
                    "a negative tolerance",
                    "make it positive",
                ));
            }
            if e.until.is_some_and(|until| until < e.from) {
                return Err(SceneError::at(
                    format!("{key}.expect.until"),
                    "values would have to count before they begin to",
                    "make `until` later than `from`",
                ));
            }
        }
    }
    Ok(())
}
