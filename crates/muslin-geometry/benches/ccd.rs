//! Collision queries per second, on what a broad phase really hands over.
#![allow(missing_docs)]

#[path = "../tests/support/mod.rs"]
mod support;

use divan::Bencher;
use divan::counter::ItemsCount;
use muslin_geometry::bvh::{Bvh, CandidatePairs};
use muslin_geometry::ccd::{CcdParams, edge_edge_times, inclusion, vertex_face_times};
use muslin_linalg::Vec3;
use support::{Mesh, Random, crumpled, pressed};

fn main() {
    divan::main();
}

struct Scene {
    mesh: Mesh,
    end: Vec<Vec3>,
    pairs: CandidatePairs,
    params: CcdParams,
}

/// Candidates of a crumpled sheet of 20 thousand triangles whose layers are pressed into each other by millimetres.
fn scene() -> Scene {
    let mesh = crumpled(100);
    let end = pressed(&mesh.x);
    let params = CcdParams::default();
    let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).expect("a sound mesh");
    bvh.refit_swept(&mesh.x, &end, params.broad_phase_margin())
        .expect("finite positions");
    let mut pairs = CandidatePairs::default();
    bvh.self_pairs(&mut pairs);
    Scene {
        mesh,
        end,
        pairs,
        params,
    }
}

#[divan::bench]
fn vertex_face_pressed_sheet(bencher: Bencher) {
    let s = scene();
    let mut times = vec![];
    bencher
        .counter(ItemsCount::new(s.pairs.vertex_face.len()))
        .bench_local(|| {
            let (x0, x1) = (&s.mesh.x, &s.end);
            vertex_face_times(
                x0,
                x1,
                &s.mesh.faces,
                &s.pairs.vertex_face,
                &s.params,
                &mut times,
            )
        });
    report("vertex-face", &times);
}

#[divan::bench]
fn edge_edge_pressed_sheet(bencher: Bencher) {
    let s = scene();
    let mut times = vec![];
    bencher
        .counter(ItemsCount::new(s.pairs.edge_edge.len()))
        .bench_local(|| {
            let (x0, x1) = (&s.mesh.x, &s.end);
            edge_edge_times(
                x0,
                x1,
                &s.mesh.edges,
                &s.pairs.edge_edge,
                &s.params,
                &mut times,
            )
        });
    report("edge-edge", &times);
}

#[allow(clippy::print_stderr)]
fn report(kind: &str, times: &[f64]) {
    let hits = times.iter().filter(|t| t.is_finite()).count();
    eprintln!("  ({kind}: {} pairs, {hits} hits)", times.len());
}

/// Unrelated random motions in a unit cube: no coherence, many deep crossings. The worst a broad phase could do.
fn chaos(vertices: usize) -> (Vec<Vec3>, Vec<Vec3>) {
    let mut random = Random(5);
    let mut cloud = || (0..vertices).map(|_| random.vector(0.5)).collect();
    (cloud(), cloud())
}

const CHAOS: usize = 100_000;

#[divan::bench]
fn vertex_face_chaos(bencher: Bencher) {
    let (x0, x1) = chaos(4 * CHAOS);
    let faces: Vec<[u32; 3]> = (0..CHAOS as u32)
        .map(|i| [4 * i + 1, 4 * i + 2, 4 * i + 3])
        .collect();
    let pairs: Vec<[u32; 2]> = (0..CHAOS as u32).map(|i| [4 * i, i]).collect();
    let mut times = vec![];
    bencher.counter(ItemsCount::new(CHAOS)).bench_local(|| {
        vertex_face_times(&x0, &x1, &faces, &pairs, &CcdParams::default(), &mut times)
    });
    report("vertex-face", &times);
}

#[divan::bench]
fn edge_edge_chaos(bencher: Bencher) {
    let (x0, x1) = chaos(4 * CHAOS);
    let edges: Vec<[u32; 2]> = (0..2 * CHAOS as u32).map(|i| [2 * i, 2 * i + 1]).collect();
    let pairs: Vec<[u32; 2]> = (0..CHAOS as u32).map(|i| [2 * i, 2 * i + 1]).collect();
    let mut times = vec![];
    bencher.counter(ItemsCount::new(CHAOS)).bench_local(|| {
        edge_edge_times(&x0, &x1, &edges, &pairs, &CcdParams::default(), &mut times)
    });
    report("edge-edge", &times);
}

#[divan::bench(sample_count = 10)]
fn inclusion_chaos(bencher: Bencher) {
    let (x0, x1) = chaos(4 * 100);
    let params = inclusion::InclusionParams::default();
    bencher.counter(ItemsCount::new(100usize)).bench_local(|| {
        let four = |x: &[Vec3], i: usize| [x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]];
        (0..100)
            .filter(|&i| inclusion::vertex_face(four(&x0, i), four(&x1, i), &params).is_some())
            .count()
    });
}
