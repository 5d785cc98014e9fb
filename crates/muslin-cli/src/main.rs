//! The `muslin` command.

fn main() -> std::process::ExitCode {
    muslin_cli::main()
}
