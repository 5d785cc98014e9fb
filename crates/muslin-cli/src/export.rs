//! `muslin export`: a recording for other programs.

use crate::Failure;
use crate::args::{ExportArguments, Up};
use indicatif::{ProgressBar, ProgressDrawTarget};
use muslin::export::{ExportOptions, UpAxis, export as write};

/// Exports a run.
pub fn export(options: &ExportArguments) -> Result<(), Failure> {
    let (first, last) = match &options.frames {
        None => (0, None),
        Some(text) => {
            let (first, last) = frame_range(text)?;
            (first, Some(last))
        }
    };
    let wanted = ExportOptions {
        up: options.up.map(|up| match up {
            Up::Y => UpAxis::Y,
            Up::Z => UpAxis::Z,
        }),
        scale: options.scale,
        first,
        last,
        every: options.every,
        objects: options.object.clone(),
        normals: !options.no_normals,
        uv: !options.no_uv,
    };
    let bar = ProgressBar::with_draw_target(
        None,
        if options.quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        },
    );
    let written = write(&options.dir, &options.to, &wanted, &mut |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let written = written?;
    if !options.quiet {
        match &written[..] {
            [] => {}
            [one] => println!("wrote {}", one.display()),
            [first, .., last] => println!(
                "wrote {} files, {} to {}",
                written.len(),
                first.display(),
                last.display()
            ),
        }
    }
    Ok(())
}

/// `12` or `0-120`.
pub fn frame_range(text: &str) -> Result<(usize, usize), Failure> {
    let parts: Option<Vec<usize>> = text.split('-').map(|p| p.trim().parse().ok()).collect();
    match parts.as_deref() {
        Some([one]) => Ok((*one, *one)),
        Some([first, last]) if first <= last => Ok((*first, *last)),
        _ => Err(Failure::Input(format!(
            "`{text}` is not a range of frames; write it as 0-120, or as 12 for one frame"
        ))),
    }
}
