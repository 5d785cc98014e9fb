//! `muslin gallery`: the shipped scenes on one static page, with pictures, films and numbers.

use crate::Failure;
use crate::args::GalleryOptions;
use crate::render::Recorded;
use muslin::picture::{draw, write_png};
use muslin::record::{Existing, RecordError, RunFolder, Summary};
use muslin::scene::{Override, SceneSource, ShippedScene, shipped_scenes};
use muslin::simulation::Simulation;
use std::fmt::Write;
use std::path::Path;

const STILL: [usize; 2] = [480, 360];
const FILM: [usize; 2] = [320, 240];
/// Pictures of a film, at most.
const FILM_FRAMES: usize = 60;

/// Makes the page.
pub fn gallery(options: &GalleryOptions) -> Result<(), Failure> {
    for name in &options.scene {
        if !shipped_scenes().any(|s| s.name == name) {
            return Err(Failure::Input(format!(
                "there is no shipped scene `{name}`; see `muslin scenes`"
            )));
        }
    }
    let chosen =
        |s: &&ShippedScene| options.scene.is_empty() || options.scene.iter().any(|n| n == s.name);
    std::fs::create_dir_all(&options.out)
        .map_err(|e| Failure::Other(format!("{}: {e}", options.out.display())))?;
    let mut cards = String::new();
    for scene in shipped_scenes().filter(chosen) {
        let run = options.runs.join(scene.name);
        if RunFolder::existing(&run) == Existing::Nothing {
            if options.recorded {
                eprintln!("{}: not recorded, left out", scene.name);
                continue;
            }
            eprintln!("{}: simulating", scene.name);
            if let Err(failure) = simulate(scene.name, &run, options) {
                // One scene that fails is shown as such; the others are still worth seeing.
                eprintln!("{}: {failure:?}", scene.name);
            }
        }
        eprintln!("{}: drawing", scene.name);
        card(&mut cards, scene, &run, &options.out)?;
        // The page is there from the first scene on.
        write_page(&options.out, &cards)?;
    }
    if cards.is_empty() {
        return Err(Failure::Input(format!(
            "nothing is recorded in {}; leave --recorded out to simulate",
            options.runs.display()
        )));
    }
    println!("wrote {}", options.out.join("index.html").display());
    Ok(())
}

fn simulate(name: &str, folder: &Path, options: &GalleryOptions) -> Result<(), Failure> {
    let source = SceneSource::find(name)?;
    let mut changes = Vec::new();
    if let Some(most) = options.frames {
        let frames = source.load(&[])?.output.frames.min(most);
        changes.push(Override::parse(&format!("output.frames={frames}"))?);
    }
    let mut simulation = Simulation::new(&source, &changes, options.threads)?;
    let mut recording = RunFolder::create(folder, &simulation)?;
    while simulation.frame() < simulation.scene.output.frames {
        let report = simulation.advance();
        if report.is_err() {
            recording.summarise(&simulation)?;
        }
        recording.step(&simulation, &report?)?;
    }
    recording.summarise(&simulation)?;
    Ok(())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn card(cards: &mut String, scene: &ShippedScene, run: &Path, out: &Path) -> Result<(), Failure> {
    let recorded = Recorded::open(run)?;
    let still = recorded.picture(STILL)?;
    let frame = recorded.last_whole()?;
    write_png(
        &out.join(format!("{}.png", scene.name)),
        STILL,
        &draw(&frame, &still),
    )?;
    let mut moving = recorded.picture(FILM)?;
    moving.contacts = true;
    let rate = recorded.scene.output.frame_rate;
    let every = (recorded.last / FILM_FRAMES)
        .max((rate / 25.0).round() as usize)
        .max(1);
    let (frames, rate) = recorded.film_frames(0, recorded.last, Some(every));
    let film = out.join(format!("{}.gif", scene.name));
    recorded.film(&film, &frames, rate, &moving, || {})?;
    // Writing to a string cannot fail.
    let _ = write!(
        cards,
        "<article id=\"{name}\"><h2>{name} <small>{}</small></h2><p>{}</p>\n<img src=\"{name}.png\" width=\"{}\" \
         height=\"{}\" alt=\"last frame\"> <img src=\"{name}.gif\" width=\"{}\" height=\"{}\" alt=\"the motion, with \
         contacts\">\n",
        scene.group,
        escaped(&scene.description()),
        STILL[0],
        STILL[1],
        FILM[0],
        FILM[1],
        name = scene.name,
    );
    match summary(run) {
        Ok(summary) => numbers(cards, &summary),
        Err(e) => {
            let _ = writeln!(
                cards,
                "<p class=\"bad\">No summary: {}</p>",
                escaped(&e.to_string())
            );
        }
    }
    cards.push_str("</article>\n");
    Ok(())
}

fn summary(run: &Path) -> Result<Summary, RecordError> {
    let path = run.join("summary.json");
    let refused = |e: String| RecordError::Refused(format!("{}: {e}", path.display()));
    let text = std::fs::read_to_string(&path).map_err(|e| refused(e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| refused(e.to_string()))
}

fn numbers(cards: &mut String, s: &Summary) {
    let _ = writeln!(
        cards,
        "<p>{}{} frames, {} steps, {:.2} s simulated in {:.1} s; {} steps missed their tolerance; triangles cross in {} \
         frames.</p>",
        if s.complete { "" } else { "Not complete: " },
        s.frames,
        s.steps,
        s.time,
        s.wall_seconds,
        s.unconverged_steps,
        s.intersecting_frames
            .map_or("unknown".into(), |n| n.to_string()),
    );
    if !s.expectations.is_empty() {
        cards.push_str("<table><tr><th>what to look for<th>expected<th>measured<th>\n");
        for e in &s.expectations {
            let measured = e.measured.map_or("nothing".into(), |m| format!("{m:.6}"));
            let (class, verdict) = if e.met {
                ("good", "met")
            } else {
                ("bad", "NOT met")
            };
            let _ = writeln!(
                cards,
                "<tr><td>{}<td>{} ± {:.3e}<td>{measured}<td class=\"{class}\">{verdict}",
                escaped(&e.name),
                e.expected,
                e.tolerance
            );
        }
        cards.push_str("</table>\n");
    }
    if !s.measures.is_empty() {
        cards.push_str("<table><tr><th>measure<th>at the end<th>least<th>most\n");
        for (name, m) in &s.measures {
            let _ = writeln!(
                cards,
                "<tr><td>{}<td>{:.5}<td>{:.5}<td>{:.5}",
                escaped(name),
                m.end,
                m.min,
                m.max
            );
        }
        cards.push_str("</table>\n");
    }
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:880px;margin:2em auto;padding:0 1em;\
    color-scheme:light dark}article{border-top:1px solid #8888;margin:1.5em 0}img{max-width:100%;height:auto;\
    vertical-align:top}small{color:#888;font-weight:400}table{border-collapse:collapse;margin:.6em 0}td,th{text-align:left;\
    padding:1px 14px 1px 0}.good{color:#0a7d4f}.bad{color:#c0391b;font-weight:600}";

fn write_page(out: &Path, cards: &str) -> Result<(), Failure> {
    let page = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Muslin gallery</title><style>{STYLE}</style>\n\
         <h1>Muslin gallery</h1>\n<p>Every scene that comes with Muslin: its last frame, its motion with contacts (blue \
         sticks, orange slides, grey came apart), and what was measured. Version {}.</p>\n{cards}</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    let path = out.join("index.html");
    std::fs::write(&path, page).map_err(|e| Failure::Other(format!("{}: {e}", path.display())))
}
