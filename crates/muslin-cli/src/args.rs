//! Commands and their options.

use clap::{Args, Parser, Subcommand, ValueEnum};
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
    /// Draw a still, an animation or a contact sheet of a recorded run.
    Render(RenderOptions),
    /// Refine a recorded run: smoother, and nothing crosses.
    Subdivide(SubdivideOptions),
    /// Make a page of all shipped scenes, with pictures, films and numbers.
    Gallery(GalleryOptions),
    /// Carry a recorded run into other programs: USD, glTF, PC2, OBJ, PLY, VTK.
    Export(ExportArguments),
    /// Show recorded runs in the browser, or simulate a scene live.
    View(ViewOptions),
    /// Plot statistics and measures of recorded runs, or a histogram of a frame.
    Plot(PlotOptions),
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
#[allow(clippy::struct_excessive_bools)] // each is a switch of the command line
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
    /// Watch the run in the browser while it goes on; the viewer stays until Ctrl-C.
    #[arg(long)]
    pub view: bool,
    /// Port of the viewer on this machine [default: any that is free].
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        requires = "view"
    )]
    pub port: u16,
    /// Do not open a browser.
    #[arg(long, requires = "view")]
    pub no_open: bool,
    /// Print errors only.
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args)]
pub struct ViewOptions {
    /// Folders of recorded runs, two to compare them side by side; or a scene to simulate live.
    #[arg(required = true, num_args = 1..=2, value_name = "DIR|SCENE")]
    pub what: Vec<String>,
    /// Change a value of the scene: a dotted path and a value. Can be repeated.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Time stepper, instead of the scene's.
    #[arg(long, value_name = "M")]
    pub method: Option<String>,
    /// Threads to simulate with [default: all cores].
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub threads: usize,
    /// Port on this machine [default: any that is free].
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Do not open a browser.
    #[arg(long)]
    pub no_open: bool,
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
    /// Frames of an animation or sheet, as 0-120 [default: all].
    #[arg(long, value_name = "A-B")]
    pub frames: Option<String>,
    /// Take only every N-th frame into an animation [default: as many as give about 25 pictures a second].
    #[arg(long, value_name = "N")]
    pub every: Option<usize>,
    /// Speed of an animation; 0.25 is four times slower than life.
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub speed: f64,
    /// Several frames in one picture: columns and rows, such as 3x2.
    #[arg(long, value_name = "CxR")]
    pub sheet: Option<String>,
    /// File to write: .png, .gif, or .mp4 where ffmpeg is installed.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Width and height in pixels, of each picture of a sheet [default: 960x720; animations 640x480, sheets 480x360].
    #[arg(long, value_name = "WxH")]
    pub size: Option<String>,
    /// Draw contacts over everything: blue sticks, orange slides, grey came apart; arrows are impulses.
    #[arg(long)]
    pub contacts: bool,
    /// Draw all obstacles, also those that hide the cloth.
    #[arg(long)]
    pub all: bool,
    /// Camera position as x,y,z [default: the scene's, or one that shows the whole motion].
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Point the camera looks at, as x,y,z.
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// Vertical opening angle of the camera, degrees [default: the scene's, or 35].
    #[arg(long, value_name = "DEGREES")]
    pub opening: Option<f64>,
}

#[derive(Args)]
pub struct GalleryOptions {
    /// Folder to write the page into.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Folder with runs by the names of their scenes; those that are not there are simulated.
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub runs: PathBuf,
    /// Only this shipped scene. Can be repeated.
    #[arg(long, value_name = "NAME")]
    pub scene: Vec<String>,
    /// Simulate at most so many frames of each scene.
    #[arg(long, value_name = "N")]
    pub frames: Option<usize>,
    /// Show what is recorded only; simulate nothing.
    #[arg(long, conflicts_with = "frames")]
    pub recorded: bool,
    /// Threads to simulate with [default: all cores].
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub threads: usize,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Up {
    Y,
    Z,
}

#[derive(Args)]
pub struct ExportArguments {
    /// Folder of a recorded run.
    pub dir: PathBuf,
    /// File to write; its ending decides the format: .usda, .usdc, .glb, .pc2 (with .obj), .obj, .ply, .vtu or .pvd. Formats of
    /// one file a frame add the frame's number to the name.
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// Frames, as 0-120, or 12 for one [default: all].
    #[arg(long, value_name = "A-B")]
    pub frames: Option<String>,
    /// Take only every N-th of them.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub every: usize,
    /// Export only this cloth or obstacle. Can be repeated.
    #[arg(long, value_name = "NAME")]
    pub object: Vec<String>,
    /// Axis that points up in the file [default: y for .glb, else z as in scenes].
    #[arg(long)]
    pub up: Option<Up>,
    /// File units in a metre: 100 for centimetres.
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub scale: f64,
    /// Leave normals out.
    #[arg(long)]
    pub no_normals: bool,
    /// Leave texture coordinates (warp and weft, in metres) out.
    #[arg(long)]
    pub no_uv: bool,
    /// Print errors only.
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Quantity {
    EdgeStrain,
    Stretch,
    Compression,
    Speed,
}

#[derive(Args)]
pub struct PlotOptions {
    /// Folders of recorded runs.
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Plot to write (.svg or .png).
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// A statistic (residual, contacts, iterations, seconds.total, …) or a measure of the scene. Can be repeated [default:
    /// the usual statistics and all measures].
    #[arg(long, value_name = "NAME")]
    pub of: Vec<String>,
    /// Over steps instead of time.
    #[arg(long)]
    pub steps: bool,
    /// Logarithmic vertical axes.
    #[arg(long)]
    pub log: bool,
    /// Draw a histogram of a frame instead of curves.
    #[arg(long, value_name = "QUANTITY", conflicts_with_all = ["of", "steps", "log"])]
    pub histogram: Option<Quantity>,
    /// Residuals over the iterations of a step instead of curves over steps; the run needs `solver.admm.trace = true`.
    #[arg(long, value_name = "N", conflicts_with_all = ["of", "steps", "histogram"])]
    pub step: Option<usize>,
    /// Frame of the histogram [default: the last].
    #[arg(long, value_name = "N", requires = "histogram")]
    pub frame: Option<usize>,
    /// Bars of the histogram.
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub bins: usize,
    /// Width and height in pixels [default: 800 wide, 240 a panel].
    #[arg(long, value_name = "WxH")]
    pub size: Option<String>,
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
