//! Checks of `[obstacle.NAME]` that need no file.

use super::validate::{axis, motion, range, vector};
use super::{ObstacleSpec, SceneError, SequenceSpec};

/// Sizes from a micrometre to a thousand kilometres.
fn length(key: &str, value: f64) -> Result<(), SceneError> {
    range(key, value, 1e-6, 1e6, "m")
}

pub(super) fn obstacle(key: &str, spec: &ObstacleSpec) -> Result<(), SceneError> {
    let shapes = [
        spec.plane.is_some(),
        spec.r#box.is_some(),
        spec.sphere.is_some(),
        spec.capsule.is_some(),
        spec.cylinder.is_some(),
        spec.cone.is_some(),
        spec.torus.is_some(),
        spec.mesh.is_some(),
        spec.surface.is_some(),
        spec.sequence.is_some(),
    ];
    let given = shapes.iter().filter(|s| **s).count();
    if given != 1 {
        return Err(SceneError::at(
            key,
            format!("an obstacle needs exactly one shape, not {given}"),
            "give one of `plane`, `box`, `sphere`, `capsule`, `cylinder`, `cone`, `torus`, `mesh`, `surface`, \
             `sequence`",
        ));
    }
    if let Some(plane) = &spec.plane {
        vector(&format!("{key}.plane.point"), &plane.point, 1e5, "m")?;
        axis(&format!("{key}.plane.normal"), &plane.normal)?;
        length(&format!("{key}.plane.size"), plane.size)?;
    }
    if let Some(block) = &spec.r#box {
        for (i, side) in block.size.iter().enumerate() {
            length(&format!("{key}.box.size.{i}"), *side)?;
        }
    }
    if let Some(ball) = &spec.sphere {
        length(&format!("{key}.sphere.radius"), ball.radius)?;
    }
    for (name, rod) in [("capsule", &spec.capsule), ("cylinder", &spec.cylinder)] {
        if let Some(rod) = rod {
            length(&format!("{key}.{name}.radius"), rod.radius)?;
            length(&format!("{key}.{name}.length"), rod.length)?;
        }
    }
    if let Some(cone) = &spec.cone {
        length(&format!("{key}.cone.radius"), cone.radius)?;
        length(&format!("{key}.cone.height"), cone.height)?;
    }
    if let Some(torus) = &spec.torus {
        length(&format!("{key}.torus.radius"), torus.radius)?;
        length(&format!("{key}.torus.tube"), torus.tube)?;
        if torus.tube >= torus.radius {
            return Err(SceneError::at(
                format!("{key}.torus.tube"),
                "the tube is so thick that the ring has no hole",
                "make `tube` smaller than `radius`, or use a sphere",
            ));
        }
    }
    if let Some(s) = &spec.sequence {
        sequence(&format!("{key}.sequence"), s)?;
    }
    range(&format!("{key}.scale"), spec.scale, 1e-6, 1e6, "")?;
    vector(&format!("{key}.translate"), &spec.translate, 1e5, "m")?;
    if let Some(rotate) = &spec.rotate {
        axis(&format!("{key}.rotate.axis"), &rotate.axis)?;
    }
    if let Some(pivot) = &spec.pivot {
        vector(&format!("{key}.pivot"), pivot, 1e6, "m")?;
        if spec.keyframes.is_none() {
            return Err(SceneError::at(
                format!("{key}.pivot"),
                "a pivot does nothing without keyframes",
                "add `keyframes`, or leave `pivot` out",
            ));
        }
    }
    motion(key, spec.keyframes.as_deref(), spec.path.as_ref())
}

fn sequence(key: &str, spec: &SequenceSpec) -> Result<(), SceneError> {
    range(
        &format!("{key}.frame_rate"),
        spec.frame_rate,
        1e-3,
        1e6,
        "meshes a second",
    )?;
    range(&format!("{key}.start"), spec.start, -1e6, 1e6, "s")?;
    match (&spec.files, &spec.pattern) {
        (Some(files), None) if files.is_empty() => Err(SceneError::at(
            format!("{key}.files"),
            "the list of files is empty",
            "name at least one mesh file",
        )),
        (None, Some(pattern)) if !pattern.contains('#') => Err(SceneError::at(
            format!("{key}.pattern"),
            format!("`{pattern}` has no place for the number"),
            "put `#` where the digits are, as in \"body_####.obj\"",
        )),
        (Some(_), None) | (None, Some(_)) => Ok(()),
        _ => Err(SceneError::at(
            key,
            "it is not clear which files are meant",
            "give exactly one of `files` and `pattern`",
        )),
    }
}
