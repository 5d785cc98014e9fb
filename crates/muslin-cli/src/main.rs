//! The `muslin` command.
fn main() {}
