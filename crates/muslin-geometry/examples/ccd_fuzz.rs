//! Runs the collision fuzz for as many queries as asked: `cargo run --release --example ccd_fuzz -- 10000000 [seed]`.
//!
//! Exits with an error if a contact was missed or reported late, or an alarm had no reason.
#![allow(clippy::print_stdout)]

#[path = "../tests/support/fuzz.rs"]
mod fuzz;
#[path = "../tests/support/mod.rs"]
mod support;

use fuzz::{Count, check, query};
use rayon::prelude::*;
use std::process::ExitCode;
use support::Random;

/// Queries per block. Every block has its own seed, so a failure can be repeated alone.
const BLOCK: u64 = 10_000;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<u64>());
    let (Ok(queries), Ok(seed)) = (
        arguments.next().unwrap_or(Ok(1_000_000)),
        arguments.next().unwrap_or(Ok(0)),
    ) else {
        println!("usage: ccd_fuzz [queries] [seed]");
        return ExitCode::FAILURE;
    };
    let count = (0..queries.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let mut random = Random((seed << 32) + block);
            let mut count = Count::default();
            for _ in 0..BLOCK.min(queries - block * BLOCK) {
                let before = count;
                let q = query(&mut random);
                check(&q, &mut count);
                if (before.missed, before.late, before.unfounded)
                    != (count.missed, count.late, count.unfounded)
                {
                    let kind = if q.vertex_face {
                        "vertex-face"
                    } else {
                        "edge-edge"
                    };
                    println!(
                        "block {block}, {kind}: {:?} {:?} contact {:?}",
                        q.x0, q.x1, q.contact
                    );
                }
            }
            count
        })
        .reduce(Count::default, |mut a, b| {
            a.add(&b);
            a
        });
    println!("{count:#?}");
    if count.missed + count.late + count.unfounded == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
