//! Commands and their options.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Cloth simulation in which the friction you type is the friction you get.
#[derive(Parser)]
#[command(name = "muslin", version, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Simulate a scene and record it.
    Run(RunOptions),
    /// Read and validate a scene, and say what it contains.
    Check(CheckOptions),
    /// List the scenes that come with Muslin.
    Scenes,
    /// List the fabrics that come with Muslin.
    Fabrics,
    /// Print the JSON schema of scene files, for editors.
    Schema,
    /// Draw a frame of a recorded run.
    Render(RenderOptions),
    /// Refine a recorded run: smoother, and nothing crosses.
    Subdivide(SubdivideOptions),
}

#[derive(Args)]
pub struct SceneOptions {
    /// A scene file, or the name of a shipped scene.
    pub scene: String,
    /// Change a value of the scene: a dotted path and a value, such as solver.time_step=1e-3. Can be repeated.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Time stepper, instead of the scene's.
    #[arg(long, value_name = "M")]
    pub method: Option<String>,
}

#[derive(Args)]
pub struct RunOptions {
    #[command(flatten)]
    pub scene: SceneOptions,
    /// Folder to record into [default: out/<scene name>].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Frames to simulate, instead of the scene's number.
    #[arg(long, value_name = "N")]
    pub frames: Option<usize>,
    /// Threads to use [default: all cores]. The result does not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub threads: usize,
    /// Go on with an interrupted run.
    #[arg(long)]
    pub resume: bool,
    /// Start anew in a folder that holds an unfinished run.
    #[arg(long, conflicts_with = "resume")]
    pub overwrite: bool,
    /// Print errors only.
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args)]
pub struct CheckOptions {
    #[command(flatten)]
    pub scene: SceneOptions,
}

#[derive(Args)]
pub struct RenderOptions {
    /// Folder of a recorded run.
    pub dir: PathBuf,
    /// Frame to draw [default: the last].
    #[arg(long, value_name = "N")]
    pub frame: Option<usize>,
    /// Picture to write (.png).
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Width and height in pixels.
    #[arg(long, value_name = "WxH", default_value = "960x720")]
    pub size: String,
    /// Camera position as x,y,z [default: the scene's, or one that shows the whole motion].
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Point the camera looks at, as x,y,z.
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub to: Option<String>,
}

#[derive(Args)]
pub struct SubdivideOptions {
    /// Folder of a recorded run.
    pub dir: PathBuf,
    /// How often every triangle is split in four.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub levels: usize,
    /// Folder to write to [default: DIR-smooth]. Frames that are there already are kept.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Threads to use [default: all cores]. The result does not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub threads: usize,
}
