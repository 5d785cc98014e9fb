//! The conservative detector and its slow twin against queries with exactly known answers.

mod support;

use muslin_geometry::ccd::{self, CcdParams, inclusion};
use std::path::{Path, PathBuf};
use support::{CcdQuery, read_queries};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

struct Tally {
    hits: usize,
    alarms: usize,
}

/// No missed hit, no late time, no alarm for features that stay farther apart than `widest`.
fn judge(queries: &[CcdQuery], widest: f64, detect: impl Fn(&CcdQuery) -> Option<f64>) -> Tally {
    let mut tally = Tally { hits: 0, alarms: 0 };
    for q in queries {
        let found = detect(q);
        if q.hit {
            let t = found.unwrap_or_else(|| panic!("query {} missed", q.id));
            // NaN: the first contact is not a single time.
            assert!(
                t <= q.toi || q.toi.is_nan(),
                "query {}: {t} is later than {}",
                q.id,
                q.toi
            );
            tally.hits += 1;
        } else if found.is_some() {
            assert!(
                q.distance < widest,
                "query {}: alarm at {} m",
                q.id,
                q.distance
            );
            tally.alarms += 1;
        }
    }
    tally
}

fn additive(q: &CcdQuery) -> Option<f64> {
    let params = CcdParams::default();
    if q.vertex_face {
        ccd::vertex_face(q.x0, q.x1, &params)
    } else {
        ccd::edge_edge(q.x0, q.x1, &params)
    }
}

fn interval(q: &CcdQuery) -> Option<f64> {
    let params = inclusion::InclusionParams {
        max_boxes: 20_000,
        ..Default::default()
    };
    if q.vertex_face {
        inclusion::vertex_face(q.x0, q.x1, &params)
    } else {
        inclusion::edge_edge(q.x0, q.x1, &params)
    }
}

fn generated() -> Vec<CcdQuery> {
    let path = workspace().join("reference/ccd_queries.csv");
    read_queries(
        &std::fs::read_to_string(path).expect("the reference queries are in the repository"),
    )
}

#[test]
fn generated_queries() {
    let tally = judge(&generated(), 3e-6, additive);
    println!("{} hits found, {} alarms", tally.hits, tally.alarms);
    assert_eq!(tally.hits, 363);
}

#[test]
fn generated_queries_by_inclusion() {
    let tally = judge(&generated(), 3e-6, interval);
    println!("{} hits found, {} alarms", tally.hits, tally.alarms);
}

/// The sample of the public benchmark is not part of this repository; with a copy beside it, it is read too.
#[test]
fn public_sample_queries() {
    let path = workspace().join("../shared/external/ccd/sample_queries.csv");
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: no copy of the public sample queries");
        return;
    };
    let queries = read_queries(&text);
    let tally = judge(&queries, 3e-6, additive);
    println!(
        "{} queries, {} hits found, {} alarms",
        queries.len(),
        tally.hits,
        tally.alarms
    );
    let tally = judge(&queries, 3e-6, interval);
    println!(
        "inclusion: {} hits found, {} alarms",
        tally.hits, tally.alarms
    );
}
