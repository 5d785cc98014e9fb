//! Universal Scene Description as text.

use super::Job;
use super::spool::{Output, Span, Spool};
use super::usd::{MeshTracks, Stage, Track, Values, meshes};
use crate::record::RecordError;
use std::fmt::Write;
use std::path::PathBuf;

pub(super) fn write(
    job: &Job,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<PathBuf>, RecordError> {
    let mut spool = Spool::beside(job.to)?;
    let meshes = meshes(job, progress, &mut |v| spool.append(text(v).as_bytes()))?;
    let mut out = Output::create(job.to)?;
    let stage = Stage::new(job);
    let Stage { root, rate, .. } = &stage;
    out.text(&format!(
        "#usda 1.0\n(\n    defaultPrim = \"{root}\"\n    endTimeCode = {}\n    framesPerSecond = {rate}\n    \
         metersPerUnit = {}\n    startTimeCode = {}\n    timeCodesPerSecond = {rate}\n    upAxis = \"{}\"\n)\n\n\
         def Xform \"{root}\" (\n    kind = \"component\"\n)\n{{\n",
        stage.last, stage.metres, stage.first, stage.up
    ))?;
    for mesh in &meshes {
        write_mesh(mesh, &mut out, &mut spool)?;
    }
    out.text("}\n")?;
    Ok(vec![out.finish()?])
}

fn write_mesh(
    mesh: &MeshTracks<Span>,
    out: &mut Output,
    spool: &mut Spool,
) -> Result<(), RecordError> {
    out.text(&format!("    def Mesh \"{}\"\n    {{\n", mesh.name))?;
    if mesh.cloth {
        out.text("        uniform bool doubleSided = 1\n")?;
    }
    for track in &mesh.tracks {
        write_track(track, out, spool)?;
    }
    let color = text(&Values::Vectors(vec![mesh.color()]));
    out.text(&format!(
        "        color3f[] primvars:displayColor = {color}\n        uniform token subdivisionScheme = \
         \"none\"\n    }}\n\n"
    ))
}

fn write_track(
    track: &Track<Span>,
    out: &mut Output,
    spool: &mut Spool,
) -> Result<(), RecordError> {
    let declaration = format!("        {} {}", track.attribute.kind, track.attribute.name);
    let about = track.attribute.interpolation.map_or_else(String::new, |i| {
        format!(" (\n            interpolation = \"{i}\"\n        )")
    });
    match track.samples[..] {
        [] => {}
        [(_, span)] => {
            out.text(&format!("{declaration} = "))?;
            spool.copy(span, out)?;
            out.text(&format!("{about}\n"))?;
        }
        _ => {
            if !about.is_empty() {
                out.text(&format!("{declaration}{about}\n"))?;
            }
            out.text(&format!("{declaration}.timeSamples = {{\n"))?;
            for (frame, span) in &track.samples {
                out.text(&format!("            {frame}: "))?;
                spool.copy(*span, out)?;
                out.text(",\n")?;
            }
            out.text("        }\n")?;
        }
    }
    Ok(())
}

fn text(values: &Values) -> String {
    match values {
        Values::Integers(all) => {
            let mut text = String::from("[");
            for (i, v) in all.iter().enumerate() {
                let comma = if i == 0 { "" } else { ", " };
                // Writing to a string cannot fail.
                let _ = write!(text, "{comma}{v}");
            }
            text.push(']');
            text
        }
        Values::Pairs(all) => tuples(all.iter().map(|r| &r[..])),
        Values::Vectors(all) => tuples(all.iter().map(|r| &r[..])),
    }
}

fn tuples<'a>(rows: impl Iterator<Item = &'a [f32]>) -> String {
    let mut text = String::from("[");
    for (i, row) in rows.enumerate() {
        text.push_str(if i == 0 { "(" } else { ", (" });
        for (k, x) in row.iter().enumerate() {
            let comma = if k == 0 { "" } else { ", " };
            let _ = write!(text, "{comma}{x}");
        }
        text.push(')');
    }
    text.push(']');
    text
}
