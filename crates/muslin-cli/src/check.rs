//! Commands that only tell: `check`, `scenes`, `fabrics`, `schema`.

use crate::Failure;
use crate::args::{CheckOptions, SceneOptions};
use muslin::material::{shipped_fabric, shipped_fabrics, shipped_solid, shipped_solids};
use muslin::scene::{Override, SceneFile, SceneSource, shipped_scenes};
use muslin::simulation::Simulation;
use muslin::world::describe;

/// Changes to a scene from the command line, in the order in which they apply.
pub fn overrides(options: &SceneOptions) -> Result<Vec<Override>, Failure> {
    let mut changes = Vec::new();
    if let Some(method) = &options.method {
        changes.push(Override::parse(&format!("solver.method=\"{method}\""))?);
    }
    for text in &options.set {
        changes.push(Override::parse(text)?);
    }
    Ok(changes)
}

/// Says what a scene contains.
pub fn check(options: &CheckOptions) -> Result<(), Failure> {
    let changes = overrides(&options.scene)?;
    let source = SceneSource::find(&options.scene.scene)?;
    let mut simulation = Simulation::new(&source, &changes, 0)?;
    print!("{}", describe(&simulation.scene, &simulation.world));
    match simulation.prepare_start() {
        Err(error) => return Err(source.locate(error, &changes).into()),
        Ok(Some(note)) => println!("{note}"),
        Ok(None) => println!("Nothing crosses at the start. The scene is sound."),
    }
    Ok(())
}

/// Lists the shipped scenes.
pub fn scenes() {
    let width = shipped_scenes().map(|s| s.name.len()).max().unwrap_or(0);
    let mut group = "";
    for scene in shipped_scenes() {
        if scene.group != group {
            group = scene.group;
            println!("{group}");
        }
        println!("  {:width$}  {}", scene.name, scene.description());
    }
}

/// Lists the shipped fabrics, and the solids of soft bodies.
pub fn fabrics() {
    let width = shipped_fabrics().map(str::len).max().unwrap_or(0);
    for name in shipped_fabrics() {
        if let Some(f) = shipped_fabric(name) {
            println!(
                "{name:width$}  {:>5.0} g/m²  {}",
                f.density * 1e3,
                f.description
            );
        }
    }
    for name in shipped_solids() {
        if let Some(s) = shipped_solid(name) {
            println!("{name:width$}  {:>5.0} kg/m³ {}", s.density, s.description);
        }
    }
}

/// Prints the schema of scene files.
pub fn schema() -> Result<(), Failure> {
    let schema = schemars::schema_for!(SceneFile);
    let text = serde_json::to_string_pretty(&schema).map_err(|e| Failure::Other(e.to_string()))?;
    println!("{text}");
    Ok(())
}
