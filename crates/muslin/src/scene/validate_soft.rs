//! Checks of soft bodies that need no mesh.

use super::validate::{axis, range, vector};
use super::{SceneError, SceneFile, Soft};

pub(super) fn soft(scene: &SceneFile) -> Result<(), SceneError> {
    for (name, soft) in &scene.soft {
        let key = format!("soft.{name}");
        // Frames tell obstacles from bodies by this.
        if name.starts_with("obstacle:") {
            return Err(SceneError::at(
                key,
                "the name of a soft body must not begin with `obstacle:`",
                "choose another name, or make it an [obstacle.NAME]",
            ));
        }
        if scene.cloth.contains_key(name) {
            return Err(SceneError::at(
                key,
                format!("a cloth is called `{name}` already"),
                "give the soft body another name",
            ));
        }
        one(&key, soft)?;
    }
    Ok(())
}

fn one(key: &str, soft: &Soft) -> Result<(), SceneError> {
    let shapes = [
        soft.r#box.is_some(),
        soft.hexahedron.is_some(),
        soft.ball.is_some(),
        soft.torus.is_some(),
        soft.bar.is_some(),
        soft.mesh.is_some(),
        soft.fill.is_some(),
    ];
    if shapes.iter().filter(|s| **s).count() != 1 {
        return Err(SceneError::at(
            key,
            "a soft body needs exactly one shape",
            "give one of `box`, `hexahedron`, `ball`, `torus`, `bar`, `mesh`, `fill`",
        ));
    }
    if let Some(b) = &soft.r#box {
        if b.cells.is_some() == b.edge.is_some() {
            return Err(SceneError::at(
                format!("{key}.box"),
                "the fineness of the box is not clear",
                "give either `cells = [nx, ny, nz]` or `edge` in metres",
            ));
        }
        let edge = b.edge.unwrap_or(1.0);
        range(&format!("{key}.box.edge"), edge, 1e-6, 1e4, "m")?;
    }
    let thickness = soft.thickness.unwrap_or(1e-3);
    range(&format!("{key}.thickness"), thickness, 1e-6, 1.0, "m")?;
    range(&format!("{key}.scale"), soft.scale, 1e-6, 1e6, "")?;
    vector(&format!("{key}.translate"), &soft.translate, 1e5, "m")?;
    vector(&format!("{key}.velocity"), &soft.velocity, 1e4, "m/s")?;
    let spin = format!("{key}.angular_velocity");
    vector(&spin, &soft.angular_velocity, 1e4, "rad/s")?;
    if let Some(rotate) = &soft.rotate {
        axis(&format!("{key}.rotate.axis"), &rotate.axis)?;
    }
    copies(key, soft)
}

/// Most copies of a shape.
const MOST_COPIES: usize = 100_000;

fn copies(key: &str, soft: &Soft) -> Result<(), SceneError> {
    let Some(copies) = &soft.copies else {
        return Ok(());
    };
    let all = copies
        .count
        .iter()
        .try_fold(1usize, |n, c| n.checked_mul(*c));
    if all.is_none_or(|n| n == 0 || n > MOST_COPIES) {
        return Err(SceneError::at(
            format!("{key}.copies.count"),
            format!("{:?} is not a number of copies", copies.count),
            format!("give three numbers of at least 1, with a product of at most {MOST_COPIES}"),
        ));
    }
    if soft.angular_velocity != [0.0; 3] {
        return Err(SceneError::at(
            format!("{key}.angular_velocity"),
            "copies cannot start with a rotation",
            "leave out `angular_velocity` or `copies`",
        ));
    }
    vector(&format!("{key}.copies.spacing"), &copies.spacing, 1e5, "m")?;
    if let Some(turn) = &copies.turn {
        axis(&format!("{key}.copies.turn.axis"), &turn.axis)?;
    }
    Ok(())
}
