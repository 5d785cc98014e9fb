//! Refit and self pairs on a crumpled sheet, beside `parry3d-f64` doing the comparable part of the same work.
#![allow(missing_docs)]

#[path = "../tests/support/mod.rs"]
mod support;

use divan::Bencher;
use muslin_geometry::bvh::{Bvh, CandidatePairs, FacePairs};
use muslin_geometry::intersect::MeshJudge;
use muslin_linalg::Vec3;
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::partitioning::{
    Bvh as ParryBvh, BvhBuildStrategy, BvhLeafUpdateStatus, BvhWorkspace,
};
use rayon::prelude::*;
use support::{Mesh, crumpled};

/// Cells per side: 20 thousand and 200 thousand triangles.
const SIZES: [u32; 2] = [100, 316];
const MARGIN: f64 = 1e-3;

fn main() {
    divan::main();
}

#[divan::bench(args = SIZES)]
fn build(bencher: Bencher, n: u32) {
    let mesh = crumpled(n);
    bencher.bench_local(|| Bvh::new(&mesh.x, &mesh.faces, &mesh.edges));
}

#[divan::bench(args = SIZES)]
fn rebuild(bencher: Bencher, n: u32) {
    let mesh = crumpled(n);
    let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).expect("a sound mesh");
    bencher.bench_local(|| bvh.rebuild());
}

#[divan::bench(args = SIZES)]
fn refit(bencher: Bencher, n: u32) {
    let mesh = crumpled(n);
    let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).expect("a sound mesh");
    bencher.bench_local(|| bvh.refit(&mesh.x, MARGIN));
}

#[divan::bench(args = SIZES)]
fn refit_and_self_pairs(bencher: Bencher, n: u32) {
    let mesh = crumpled(n);
    let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).expect("a sound mesh");
    let mut pairs = CandidatePairs::default();
    bencher.bench_local(|| {
        bvh.refit(&mesh.x, MARGIN).expect("finite positions");
        bvh.self_pairs(&mut pairs);
        pairs.len()
    });
}

#[divan::bench(args = SIZES)]
fn refit_and_face_pairs(bencher: Bencher, n: u32) {
    let mesh = crumpled(n);
    let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).expect("a sound mesh");
    let mut pairs = FacePairs::default();
    bencher.bench_local(|| {
        bvh.refit(&mesh.x, MARGIN).expect("finite positions");
        bvh.self_face_pairs(&mut pairs);
        pairs.faces.len()
    });
}

#[divan::bench(args = SIZES)]
fn sort_pairs(bencher: Bencher, n: u32) {
    let mesh = crumpled(n);
    let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).expect("a sound mesh");
    bvh.refit(&mesh.x, MARGIN).expect("finite positions");
    let mut pairs = CandidatePairs::default();
    bvh.self_pairs(&mut pairs);
    bencher
        .with_inputs(|| pairs.clone())
        .bench_local_values(|mut pairs| {
            pairs.sort();
            pairs
        });
}

#[divan::bench(args = SIZES)]
fn judge_self_intersections(bencher: Bencher, n: u32) {
    let mesh = crumpled(n);
    let mut judge = MeshJudge::new(&mesh.x, &mesh.faces).expect("a sound mesh");
    bencher.bench_local(|| {
        judge.update(&mesh.x).expect("finite positions");
        judge.self_intersections()
    });
}

fn parry_box(mesh: &Mesh, face: [u32; 3]) -> Aabb {
    let [a, b, c] = face.map(|v| mesh.x[v as usize]);
    let grow = Vec3::splat(0.5 * MARGIN);
    let (lo, hi) = (a.min(b).min(c) - grow, a.max(b).max(c) + grow);
    Aabb::new(lo.to_array().into(), hi.to_array().into())
}

fn parry_tree(mesh: &Mesh) -> ParryBvh {
    let boxes: Vec<Aabb> = mesh.faces.iter().map(|&f| parry_box(mesh, f)).collect();
    ParryBvh::from_leaves(BvhBuildStrategy::Binned, &boxes)
}

#[divan::bench(args = SIZES)]
fn parry_build(bencher: Bencher, n: u32) {
    let mesh = crumpled(n);
    bencher.bench_local(|| parry_tree(&mesh));
}

#[divan::bench(args = SIZES)]
fn parry_refit(bencher: Bencher, n: u32) {
    let mesh = crumpled(n);
    let mut tree = ParryUpdate::new(&mesh);
    bencher.bench_local(|| tree.refit(&mesh));
}

#[divan::bench(args = SIZES)]
fn parry_refit_and_face_pairs(bencher: Bencher, n: u32) {
    let mesh = crumpled(n);
    let mut tree = ParryUpdate::new(&mesh);
    bencher.bench_local(|| {
        tree.refit(&mesh);
        tree.tree
            .traverse_bvtt_single_tree_parallel::<false>()
            .len()
    });
}

/// Its parallel update of the leaves and of the boxes above them, with reused memory.
struct ParryUpdate {
    tree: ParryBvh,
    updates: Vec<(Aabb, u32, f64)>,
    statuses: Vec<BvhLeafUpdateStatus>,
    workspace: BvhWorkspace,
}

impl ParryUpdate {
    fn new(mesh: &Mesh) -> Self {
        Self {
            tree: parry_tree(mesh),
            updates: vec![],
            statuses: vec![],
            workspace: BvhWorkspace::default(),
        }
    }

    fn refit(&mut self, mesh: &Mesh) {
        mesh.faces
            .par_iter()
            .enumerate()
            .map(|(f, &face)| (parry_box(mesh, face), f as u32, 0.0))
            .collect_into_vec(&mut self.updates);
        self.tree
            .insert_or_update_batch_partially_parallel(&self.updates, &mut self.statuses);
        self.tree.refit_parallel(&mut self.workspace);
    }
}
