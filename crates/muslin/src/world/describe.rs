//! What a scene contains, in words: the output of `muslin check`.

use super::select::bounds;
use super::{Body, Substance, World};
use crate::contact::Party;
use crate::material::{Line, Solid};
use crate::scene::{Between, SceneFile};
use crate::simulation::steps_per_frame;
use muslin_geometry::tet::quality;
use std::fmt::Write;

/// A description for people.
pub fn describe(scene: &SceneFile, world: &World) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(scene, world, &mut out);
    out
}

fn write_all(scene: &SceneFile, world: &World, out: &mut String) -> std::fmt::Result {
    if !scene.description.is_empty() {
        writeln!(out, "{}", scene.description)?;
    }
    let steps = steps_per_frame(scene);
    let dt = 1.0 / (scene.output.frame_rate * steps as f64);
    writeln!(
        out,
        "time      {} frames at {} a second = {:.3} s; {steps} steps a frame of {:.4} ms",
        scene.output.frames,
        scene.output.frame_rate,
        scene.output.frames as f64 / scene.output.frame_rate,
        dt * 1e3
    )?;
    writeln!(out, "gravity   {} m/s²", world.gravity)?;
    if let Some(wind) = &world.wind {
        let at = wind.velocity.at(0.0);
        writeln!(
            out,
            "air       {} kg/m³, moving at {} m/s (drag {} across, {} along)",
            wind.density, at, wind.normal, wind.tangential
        )?;
    }
    for body in &world.bodies {
        let (min, max) = bounds(&body.initial);
        let size = max - min;
        let mass: f64 = world.mass[body.vertices.clone()].iter().sum();
        let mut lengths: Vec<f64> = body
            .topology
            .edges
            .iter()
            .map(|e| {
                body.initial[e.vertices[0] as usize].distance(body.initial[e.vertices[1] as usize])
            })
            .collect();
        lengths.sort_by(f64::total_cmp);
        let triangles = body.topology.faces.len();
        write!(out, "{:<10}`{}`: ", body.kind(), body.name)?;
        match &body.substance {
            Substance::Fabric(fabric) => writeln!(
                out,
                "{} vertices, {triangles} triangles, {:.4} m² of {} ({:.1} g, {:.1} g/m², {:.2} mm thick)",
                body.initial.len(),
                mass / fabric.density,
                body.substance_name,
                mass * 1e3,
                fabric.density * 1e3,
                fabric.thickness() * 1e3
            )?,
            Substance::Solid(solid) => write_soft(body, solid, mass, out)?,
        }
        writeln!(
            out,
            "          {:.3} x {:.3} x {:.3} m, from {min:.3} to {max:.3}; edges {:.2} to {:.2} mm, median {:.2} mm",
            size.x,
            size.y,
            size.z,
            lengths[0] * 1e3,
            lengths[lengths.len() - 1] * 1e3,
            lengths[lengths.len() / 2] * 1e3
        )?;
        for repair in &body.repairs {
            writeln!(out, "          mended: {repair}")?;
        }
    }
    for obstacle in &world.obstacles {
        let mut x = Vec::new();
        obstacle.shape.positions(0.0, &mut x);
        let (min, max) = bounds(&x);
        let what = if obstacle.shape.moves() {
            "moving"
        } else {
            "fixed"
        };
        writeln!(
            out,
            "obstacle  `{}`: {what} {}, {} triangles, from {min:.3} to {max:.3}",
            obstacle.name,
            obstacle.kind,
            obstacle.shape.faces().len()
        )?;
        for repair in &obstacle.repairs {
            writeln!(out, "          mended: {repair}")?;
        }
    }
    write_friction(world, out)?;
    for pin in &world.pins {
        let what = if matches!(pin.motion, crate::motion::Motion::Fixed) {
            "holds"
        } else {
            "leads"
        };
        let axes: String = ['x', 'y', 'z']
            .iter()
            .zip(pin.axes)
            .filter(|(_, on)| *on)
            .map(|(c, _)| *c)
            .collect();
        write!(
            out,
            "pin       `{}` {what} {} vertices in {axes}",
            pin.name,
            pin.vertices.len()
        )?;
        writeln!(
            out,
            "{}",
            if pin.until.is_finite() {
                format!(" until {} s", pin.until)
            } else {
                String::new()
            }
        )?;
    }
    for (name, force) in &scene.force {
        writeln!(
            out,
            "force     `{name}`: {:?} N on `{}`",
            force.force, force.cloth
        )?;
    }
    for m in &scene.measure {
        write!(out, "measure   `{}`", m.name)?;
        match &m.expect {
            Some(e) => {
                let tolerance = e
                    .tolerance
                    .unwrap_or_else(|| e.relative.unwrap_or(0.0) * e.value.abs());
                writeln!(out, ", expected {} ± {tolerance}", e.value)?;
            }
            None => writeln!(out)?,
        }
    }
    let vertices = world.state.x.len();
    let blocks = world.forces.pattern().blocks();
    // State, matrix and elements; the factor of a planar mesh grows a little faster than its size.
    let base = world.bytes() + blocks * 72 + vertices * 24 * 8;
    let factor = blocks as f64 * 72.0 * (vertices as f64).max(2.0).log2() * 0.35;
    writeln!(
        out,
        "size      {vertices} vertices, {} force elements; about {:.0} MB of memory, {:.0} MB more if factorised",
        world.forces.elements(),
        base as f64 / 1e6,
        factor / 1e6
    )?;
    writeln!(out, "methods   implicit, impulse, admm")
}

/// What a soft body consists of.
fn write_soft(body: &Body, solid: &Solid, mass: f64, out: &mut String) -> std::fmt::Result {
    let rest = body.rest_positions.as_deref().unwrap_or(&body.initial);
    let tetrahedra = body.tetrahedra.iter();
    let worst = tetrahedra
        .map(|t| quality(t.map(|v| rest[v as usize])))
        .fold(f64::INFINITY, f64::min);
    writeln!(
        out,
        "{} vertices, {} tetrahedra (worst quality {worst:.2} of 1), {} triangles on {} vertices of surface",
        body.initial.len(),
        body.tetrahedra.len(),
        body.topology.faces.len(),
        body.surface.len()
    )?;
    writeln!(
        out,
        "          {:.4e} m³ of {} ({:.1} g, {} kg/m³, Young's modulus {:.3e} Pa, Poisson ratio {}, damping {} s), keeps {:.2} mm",
        mass / solid.density,
        body.substance_name,
        mass * 1e3,
        solid.density,
        solid.young,
        solid.poisson,
        solid.damping,
        body.thickness * 1e3
    )
}

/// Pairs that are listed one by one.
const MOST_PAIRS: usize = 60;

/// What holds where two objects touch, and who says so.
fn write_friction(world: &World, out: &mut String) -> std::fmt::Result {
    let cloths = 0..world.bodies.len();
    let (with_cloth, with_obstacles) = match world.contact.between {
        Between::All => (true, true),
        Between::Obstacles => (false, true),
        Between::Nothing => (false, false),
    };
    let pairs = cloths.flat_map(|i| {
        let others = (i..world.bodies.len()).filter(move |_| with_cloth);
        let obstacles = (0..world.obstacles.len()).filter(move |_| with_obstacles);
        others
            .map(Party::Cloth)
            .chain(obstacles.map(Party::Obstacle))
            .map(move |other| (i, other))
    });
    for (i, other) in pairs.clone().take(MOST_PAIRS) {
        let on = match other {
            Party::Cloth(j) if i == j => "itself".to_string(),
            Party::Cloth(j) => format!("`{}`", world.bodies[j].name),
            Party::Obstacle(j) => format!("`{}`", world.obstacles[j].name),
        };
        let pair = world.friction.between(Party::Cloth(i), other);
        let name = &world.bodies[i].name;
        let first = format!("`{name}`");
        let coefficient = match &pair.anisotropy {
            Some(a) => {
                let of = |(line, whose): (Option<Line>, &String)| {
                    line.map(|line| format!("{line} of {whose}"))
                };
                let lines: Vec<String> = a
                    .lines
                    .into_iter()
                    .zip([&first, &on])
                    .filter_map(of)
                    .collect();
                let blended = if lines.len() == 2 {
                    format!(", {} where these are at right angles", pair.isotropic)
                } else {
                    String::new()
                };
                let lines = lines.join(" and ");
                format!("{} along and {} across {lines}{blended}", a.along, a.across)
            }
            None => pair.isotropic.to_string(),
        };
        writeln!(
            out,
            "friction  `{name}` on {on}: {coefficient} ({})",
            pair.origin
        )?;
    }
    let more = pairs.count().saturating_sub(MOST_PAIRS);
    if more > 0 {
        writeln!(out, "          and {more} more pairs")?;
    }
    Ok(())
}
