//! The command line as a library: parses arguments, calls the engine, prints, and sets exit codes. Nothing else in
//! Muslin prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod check;
mod export;
mod gallery;
mod plot;
mod render;
mod run;
mod subdivide;
mod view;

use clap::Parser;
use muslin::record::RecordError;
use muslin::scene::SceneError;
use muslin::step::StepError;
use std::process::ExitCode;

/// Why a command failed; decides the exit code.
#[derive(Debug)]
pub enum Failure {
    /// The user's input is wrong: exit code 2, nothing was written.
    Input(String),
    /// An expectation of the scene was not met: exit code 3.
    Expectation,
    /// Anything else: exit code 1.
    Other(String),
}

impl From<SceneError> for Failure {
    fn from(e: SceneError) -> Self {
        Self::Input(e.to_string())
    }
}

impl From<RecordError> for Failure {
    fn from(e: RecordError) -> Self {
        match e {
            RecordError::Refused(message) => Self::Input(message),
            other => Self::Other(other.to_string()),
        }
    }
}

impl From<StepError> for Failure {
    fn from(e: StepError) -> Self {
        Self::Other(e.to_string())
    }
}

/// Parses the process's arguments and runs the command.
pub fn main() -> ExitCode {
    // Who reads only the first lines (`muslin scenes | head`) ends the command quietly.
    sigpipe::reset();
    let arguments = args::Arguments::parse();
    let result = match arguments.command {
        args::Command::Run(options) => run::run(&options),
        args::Command::Check(options) => check::check(&options),
        args::Command::Scenes => {
            check::scenes();
            Ok(())
        }
        args::Command::Fabrics => {
            check::fabrics();
            Ok(())
        }
        args::Command::Schema => check::schema(),
        args::Command::Render(options) => render::render(&options),
        args::Command::Subdivide(options) => subdivide::subdivide(&options),
        args::Command::Gallery(options) => gallery::gallery(&options),
        args::Command::Export(options) => export::export(&options),
        args::Command::View(options) => view::view(&options),
        args::Command::Plot(options) => plot::plot(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
        Err(Failure::Expectation) => ExitCode::from(3),
        Err(Failure::Other(message)) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
