//! `muslin subdivide`: a finer, smoother recording in which nothing crosses.

use crate::Failure;
use crate::args::SubdivideOptions;
use muslin::export::subdivide::subdivide_run;

/// Most levels: each makes four triangles of one.
const MOST_LEVELS: usize = 5;

/// Refines all frames of a recorded run.
pub fn subdivide(options: &SubdivideOptions) -> Result<(), Failure> {
    if options.levels == 0 || options.levels > MOST_LEVELS {
        return Err(Failure::Input(format!(
            "--levels {}: give 1 to {MOST_LEVELS}; each makes four triangles of one",
            options.levels
        )));
    }
    let out = options.out.clone().unwrap_or_else(|| {
        let mut name = options.dir.clone().into_os_string();
        name.push("-smooth");
        name.into()
    });
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .build()
        .map_err(|e| Failure::Other(format!("threads could not be started: {e}")))?;
    let done = pool.install(|| subdivide_run(&options.dir, &out, options.levels))?;
    println!(
        "{} frames in {}, {} of them were there already",
        done.frames,
        out.display(),
        done.kept
    );
    if done.kept < done.frames {
        println!(
            "  up to {} vertices, {} back-off rounds, {} vertices held back, {} crossing pairs in a frame",
            done.worst.vertices, done.worst.rounds, done.worst.held_back, done.worst.crossings
        );
    }
    println!("  muslin render {} --out picture.png", out.display());
    Ok(())
}
