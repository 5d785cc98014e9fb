//! The hierarchy against brute force over the same boxes, and against plain distances.

mod support;

use muslin_geometry::bvh::{Bounds, Bvh, CandidatePairs, FacePairs};
use muslin_geometry::ccd::{CcdParams, edge_edge_times, vertex_face_times};
use muslin_geometry::distance::{edge_edge, point_triangle};
use muslin_linalg::Vec3;
use support::{Mesh, Random, crumpled, edges_of, pressed, sheet};

fn boxes(start: &[Vec3], end: &[Vec3], margin: f64) -> Vec<Bounds> {
    start
        .iter()
        .zip(end)
        .map(|(&a, &b)| Bounds::swept(a, b, 0.5 * margin))
        .collect()
}

fn hull(ids: &[u32], boxes: &[Bounds]) -> Bounds {
    ids.iter()
        .fold(Bounds::EMPTY, |b, &v| b.union(boxes[v as usize]))
}

/// All pairs within one mesh, the obvious way.
fn brute_self(mesh: &Mesh, boxes: &[Bounds]) -> CandidatePairs {
    let mut out = CandidatePairs::default();
    let mut used = vec![false; mesh.x.len()];
    let faces = mesh.faces.iter().flatten();
    for &v in faces.chain(mesh.edges.iter().flatten()) {
        used[v as usize] = true;
    }
    for v in (0..mesh.x.len() as u32).filter(|&v| used[v as usize]) {
        for (f, face) in mesh.faces.iter().enumerate() {
            if !face.contains(&v) && boxes[v as usize].overlaps(&hull(face, boxes)) {
                out.vertex_face.push([v, f as u32]);
            }
        }
    }
    for (i, e) in mesh.edges.iter().enumerate() {
        let bounds = hull(e, boxes);
        for (j, g) in mesh.edges.iter().enumerate().skip(i + 1) {
            if !g.contains(&e[0]) && !g.contains(&e[1]) && bounds.overlaps(&hull(g, boxes)) {
                out.edge_edge.push([i as u32, j as u32]);
            }
        }
    }
    out
}

fn brute_between(a: &Mesh, boxes_a: &[Bounds], b: &Mesh, boxes_b: &[Bounds]) -> CandidatePairs {
    let mut out = CandidatePairs::default();
    for v in 0..a.x.len() as u32 {
        for (f, face) in b.faces.iter().enumerate() {
            if boxes_a[v as usize].overlaps(&hull(face, boxes_b)) {
                out.vertex_face.push([v, f as u32]);
            }
        }
    }
    for (f, face) in a.faces.iter().enumerate() {
        for v in 0..b.x.len() as u32 {
            if boxes_b[v as usize].overlaps(&hull(face, boxes_a)) {
                out.face_vertex.push([f as u32, v]);
            }
        }
    }
    for (i, e) in a.edges.iter().enumerate() {
        for (j, g) in b.edges.iter().enumerate() {
            if hull(e, boxes_a).overlaps(&hull(g, boxes_b)) {
                out.edge_edge.push([i as u32, j as u32]);
            }
        }
    }
    out
}

fn assert_same(found: &mut CandidatePairs, expected: &CandidatePairs, what: &str) {
    found.sort();
    assert_eq!(found.vertex_face, expected.vertex_face, "{what}");
    assert_eq!(found.face_vertex, expected.face_vertex, "{what}");
    assert_eq!(found.edge_edge, expected.edge_edge, "{what}");
}

fn soup(random: &mut Random, faces: usize, vertices: u32, size: f64) -> Mesh {
    let x = (0..vertices).map(|_| random.vector(size)).collect();
    let pick = |r: &mut Random| r.below(u64::from(vertices)) as u32;
    let faces: Vec<[u32; 3]> = (0..faces)
        .map(|_| [pick(random), pick(random), pick(random)])
        .collect();
    let edges = edges_of(&faces);
    Mesh { x, faces, edges }
}

fn meshes() -> Vec<(&'static str, Mesh, f64)> {
    let mut random = Random(7);
    let mut all = vec![
        ("crumpled", crumpled(24), 1e-3),
        ("crumpled, wide margin", crumpled(12), 0.1),
        ("flat", sheet(15, |u, v| Vec3::new(u, v, 0.0)), 1e-3),
        ("a line", sheet(9, |u, _| Vec3::new(u, 0.0, 0.0)), 0.0),
        ("a point", sheet(5, |_, _| Vec3::ONE), 0.0),
        (
            "far away",
            sheet(9, |u, v| Vec3::new(u, v, u * v) + 1e7),
            1e-3,
        ),
        ("huge", sheet(6, |u, v| Vec3::new(u, v, 0.0) * 1e300), 1e-3),
        (
            "tiny",
            sheet(9, |u, v| Vec3::new(u, v, u * v) * 1e-300),
            0.0,
        ),
    ];
    for n in [0, 1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 200] {
        all.push(("soup", soup(&mut random, n, n as u32 + 3, 1.0), 0.05));
        all.push((
            "dense soup",
            soup(&mut random, n, n as u32 / 2 + 3, 0.2),
            0.0,
        ));
    }
    let mut wires = crumpled(8);
    wires.edges.push([0, 40]);
    wires.edges.push([3, 77]);
    wires.edges.push([1, 0]);
    all.push(("with wires and a double edge", wires, 1e-3));
    all
}

#[test]
fn self_pairs_equal_brute_force() {
    let mut found = CandidatePairs::default();
    for (what, mesh, margin) in meshes() {
        let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).unwrap();
        bvh.refit(&mesh.x, margin).unwrap();
        bvh.self_pairs(&mut found);
        let expected = brute_self(&mesh, &boxes(&mesh.x, &mesh.x, margin));
        assert_same(&mut found, &expected, what);

        // Swept, on a tree built for other positions, then rebuilt.
        let end = pressed(&mesh.x);
        bvh.refit_swept(&mesh.x, &end, margin).unwrap();
        bvh.self_pairs(&mut found);
        let expected = brute_self(&mesh, &boxes(&mesh.x, &end, margin));
        assert_same(&mut found, &expected, what);
        bvh.rebuild();
        assert!((bvh.degradation() - 1.0).abs() < 1e-12);
        bvh.self_pairs(&mut found);
        assert_same(&mut found, &expected, what);
    }
}

#[test]
fn pairs_between_meshes_equal_brute_force() {
    let mut found = CandidatePairs::default();
    let mut random = Random(8);
    for n in [0, 1, 3, 5, 40, 130] {
        let mut a = soup(&mut random, n, n as u32 + 3, 0.5);
        let mut b = crumpled(6);
        a.x.push(Vec3::new(0.05, 0.3, 0.0));
        a.edges.push([0, a.x.len() as u32 - 1]);
        b.edges.truncate(100);
        let (ax, bx) = (a.x.len() as u32, b.x.len() as u32);
        let points_a: Vec<u32> = (0..ax).collect();
        let points_b: Vec<u32> = (0..bx).collect();
        let mut ta = Bvh::with_points(&a.x, &a.faces, &a.edges, &points_a).unwrap();
        let mut tb = Bvh::with_points(&b.x, &b.faces, &b.edges, &points_b).unwrap();
        ta.refit(&a.x, 0.02).unwrap();
        tb.refit(&b.x, 0.04).unwrap();
        let (boxes_a, boxes_b) = (boxes(&a.x, &a.x, 0.02), boxes(&b.x, &b.x, 0.04));
        ta.pairs_with(&tb, &mut found);
        assert_same(
            &mut found,
            &brute_between(&a, &boxes_a, &b, &boxes_b),
            "a, b",
        );
        tb.pairs_with(&ta, &mut found);
        assert_same(
            &mut found,
            &brute_between(&b, &boxes_b, &a, &boxes_a),
            "b, a",
        );

        let mut faces = FacePairs::default();
        ta.face_pairs_with(&tb, &mut faces);
        faces.sort();
        let mut expected = vec![];
        for (i, f) in a.faces.iter().enumerate() {
            for (j, g) in b.faces.iter().enumerate() {
                if hull(f, &boxes_a).overlaps(&hull(g, &boxes_b)) {
                    expected.push([i as u32, j as u32]);
                }
            }
        }
        assert_eq!(faces.faces, expected);
    }
}

/// Whatever is really closer than the margin must be there: the promise the boxes exist for.
#[test]
fn no_near_pair_is_missing() {
    let mesh = crumpled(20);
    let margin = 3e-3;
    let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).unwrap();
    bvh.refit(&mesh.x, margin).unwrap();
    let mut found = CandidatePairs::default();
    bvh.self_pairs(&mut found);
    found.sort();
    let at = |v: u32| mesh.x[v as usize];
    let mut near = 0;
    for v in 0..mesh.x.len() as u32 {
        for (f, &[a, b, c]) in mesh.faces.iter().enumerate() {
            if [a, b, c].contains(&v) {
                continue;
            }
            if point_triangle(at(v), at(a), at(b), at(c)).distance() <= margin {
                near += 1;
                assert!(found.vertex_face.binary_search(&[v, f as u32]).is_ok());
            }
        }
    }
    for (i, &[a, b]) in mesh.edges.iter().enumerate() {
        for (j, &[c, d]) in mesh.edges.iter().enumerate().skip(i + 1) {
            if [c, d].contains(&a) || [c, d].contains(&b) {
                continue;
            }
            if edge_edge(at(a), at(b), at(c), at(d)).distance() <= margin {
                near += 1;
                assert!(found.edge_edge.binary_search(&[i as u32, j as u32]).is_ok());
            }
        }
    }
    assert!(near > 100, "only {near} near pairs: the test tests nothing");
}

#[test]
fn any_number_of_threads_gives_the_same_order() {
    let mesh = crumpled(100);
    let end = pressed(&mesh.x);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).unwrap();
            bvh.refit_swept(&mesh.x, &end, 1e-3).unwrap();
            let mut pairs = CandidatePairs::default();
            bvh.self_pairs(&mut pairs);
            let params = CcdParams::default();
            let (mut vf, mut ee) = (vec![], vec![]);
            let (x0, x1) = (&mesh.x, &end);
            vertex_face_times(x0, x1, &mesh.faces, &pairs.vertex_face, &params, &mut vf).unwrap();
            edge_edge_times(x0, x1, &mesh.edges, &pairs.edge_edge, &params, &mut ee).unwrap();
            let times: Vec<u64> = vf.iter().chain(&ee).map(|t| t.to_bits()).collect();
            let aged = bvh.degradation();
            bvh.rebuild();
            let mut faces = FacePairs::default();
            bvh.self_face_pairs(&mut faces);
            let crossings =
                muslin_geometry::intersect::self_intersections(&end, &mesh.faces).unwrap();
            (
                pairs.vertex_face,
                pairs.edge_edge,
                faces.faces,
                aged.to_bits(),
                crossings,
                times,
            )
        })
    };
    let one = run(1);
    assert!(one.0.len() > 1000 && one.1.len() > 1000 && !one.4.is_empty());
    assert!(one == run(2));
    assert!(one == run(8));
}

#[test]
fn nearest_and_box_queries_equal_brute_force() {
    let mesh = crumpled(20);
    let bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).unwrap();
    let mut random = Random(9);
    let squared = |p: Vec3, f: u32| {
        let [a, b, c] = mesh.faces[f as usize].map(|v| mesh.x[v as usize]);
        point_triangle(p, a, b, c).squared
    };
    let flat = boxes(&mesh.x, &mesh.x, 0.0);
    for _ in 0..500 {
        let p = random.vector(0.5);
        let expected = (0..mesh.faces.len() as u32)
            .map(|f| (squared(p, f), f))
            .min_by(|a, b| a.partial_cmp(b).unwrap())
            .unwrap();
        let found = bvh
            .nearest_face(p, f64::INFINITY, |f| squared(p, f))
            .unwrap();
        assert_eq!((found.squared, found.face), expected);
        let near = bvh.nearest_face(p, 0.9 * expected.0.sqrt(), |f| squared(p, f));
        assert_eq!(near, None);

        let query = Bounds::around(p, 0.05);
        let mut list = vec![];
        bvh.faces_overlapping(&query, &mut list);
        list.sort_unstable();
        let expected: Vec<u32> = (0..mesh.faces.len() as u32)
            .filter(|&f| hull(&mesh.faces[f as usize], &flat).overlaps(&query))
            .collect();
        assert_eq!(list, expected);
    }
}

#[test]
fn ageing_is_noticed_and_cured() {
    let mesh = crumpled(40);
    let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).unwrap();
    let mut random = Random(10);
    let shuffled: Vec<Vec3> = mesh.x.iter().map(|&x| x + random.vector(0.001)).collect();
    bvh.refit(&shuffled, 0.0).unwrap();
    assert!(bvh.degradation() < 1.3, "{}", bvh.degradation());
    // Unfolded, layers that were neighbours are far apart.
    let open = sheet(40, |u, v| Vec3::new(u, v, 0.0)).x;
    bvh.refit(&open, 0.0).unwrap();
    let aged = bvh.degradation();
    assert!(aged > 2.0, "{aged}");
    bvh.rebuild();
    assert!((bvh.degradation() - 1.0).abs() < 1e-12);
}

#[test]
fn bad_positions_are_refused() {
    let mesh = crumpled(60);
    let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).unwrap();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut x = mesh.x.clone();
        x[3000].y = bad;
        x[3100].x = bad;
        let expected = Err(muslin_geometry::InputError::NotFinite { vertex: 3000 });
        assert_eq!(bvh.refit(&x, 0.0), expected);
        assert_eq!(bvh.refit_swept(&mesh.x, &x, 0.0), expected);
        assert!(Bvh::new(&x, &mesh.faces, &mesh.edges).is_err());
        assert!(bvh.refit(&mesh.x, bad).is_err());
    }
    assert!(bvh.refit(&mesh.x, -1.0).is_err());
    assert!(bvh.refit(&mesh.x[1..], 0.0).is_err());
    assert!(Bvh::new(&mesh.x, &[[0, 1, 9_999_999]], &[]).is_err());
    assert!(bvh.refit(&mesh.x, 0.0).is_ok());
}

/// An independent hierarchy, in double precision: its pairs must all be ours, and ours beyond them only by rounding.
#[test]
fn face_pairs_agree_with_parry() {
    use parry3d_f64::bounding_volume::Aabb;
    use parry3d_f64::partitioning::{Bvh as ParryBvh, BvhBuildStrategy, BvhWorkspace};
    let mesh = crumpled(60);
    let margin = 1e-3;
    let corners = |f: u32, margin: f64| {
        let [a, b, c] = mesh.faces[f as usize].map(|v| mesh.x[v as usize]);
        let r = 0.5 * margin;
        (a.min(b).min(c) - r, a.max(b).max(c) + r)
    };
    let boxes: Vec<Aabb> = (0..mesh.faces.len() as u32)
        .map(|f| {
            let (lo, hi) = corners(f, margin);
            Aabb::new(lo.to_array().into(), hi.to_array().into())
        })
        .collect();
    let tree = ParryBvh::from_leaves(BvhBuildStrategy::Binned, &boxes);
    let mut theirs = vec![];
    tree.traverse_bvtt_single_tree::<false>(&mut BvhWorkspace::default(), &mut |a, b| {
        theirs.push([a.min(b), a.max(b)]);
    });
    theirs.sort_unstable();

    let mut bvh = Bvh::new(&mesh.x, &mesh.faces, &mesh.edges).unwrap();
    bvh.refit(&mesh.x, margin).unwrap();
    let mut ours = FacePairs::default();
    bvh.self_face_pairs(&mut ours);
    ours.sort();
    assert!(theirs.len() > 10_000);
    assert!(theirs.iter().all(|p| ours.faces.binary_search(p).is_ok()));
    for pair in &ours.faces {
        let ((lo, hi), (lo2, hi2)) = (corners(pair[0], margin), corners(pair[1], margin));
        assert!(lo.cmple(hi2 + 1e-6).all() && lo2.cmple(hi + 1e-6).all());
    }
}
