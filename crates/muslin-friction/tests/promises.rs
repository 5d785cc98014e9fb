//! Same bits for any number of threads, no input that panics, held coordinates, contradicting contacts.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use muslin_friction::families::{self, Family, NODE_MASS, obstacle};
use muslin_friction::{
    Contact, FrictionError, FrictionProblem, Method, NO_NODE, SolveParams, SolveReport, Solver,
};
use muslin_linalg::{BlockMatrix, BlockPattern, Mat3, Vec3};

fn solve(
    problem: &FrictionProblem,
    method: Method,
    tolerance: f64,
) -> Result<(Vec<Vec3>, Vec<Vec3>, SolveReport), FrictionError> {
    let mut v = vec![Vec3::ZERO; problem.b.len()];
    let mut r = vec![Vec3::ZERO; problem.contacts.len()];
    let params = SolveParams {
        tolerance,
        method,
        ..SolveParams::default()
    };
    let report = Solver::default().solve(problem, &params, &mut v, &mut r)?;
    Ok((v, r, report))
}

#[test]
fn same_bits_for_any_number_of_threads() {
    let list = [
        families::sheet(60, 60.0, 0.3, 0.4, false),
        families::node_on_triangle(40, 600.0, 0.4).strict(),
        families::draped(30, 6000.0, 0.3).strict(),
    ];
    for family in &list {
        for method in [Method::Auto, Method::GaussSeidel] {
            let run = |threads| {
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap()
                    .install(|| solve(&family.problem(), method, 1e-6).unwrap())
            };
            let one = run(1);
            for threads in [2, 8] {
                assert!(run(threads) == one, "{} {method:?}", family.name);
            }
        }
    }
}

#[test]
fn a_solver_remembers_nothing() {
    let a = families::sheet(12, 60.0, 0.3, 0.4, false);
    let b = families::leaning_cards(8, 5, 1e6, 0.5).strict();
    let mut solver = Solver::default();
    let mut answers = Vec::new();
    for family in [&a, &b, &a, &b] {
        let mut v = vec![Vec3::ZERO; family.b.len()];
        let mut r = vec![Vec3::ZERO; family.contacts.len()];
        solver
            .solve(&family.problem(), &SolveParams::default(), &mut v, &mut r)
            .unwrap();
        answers.push((v, r));
    }
    assert!(answers[0] == answers[2] && answers[1] == answers[3]);
}

/// Each change must be refused, none may panic.
#[test]
fn malformed_input_is_refused() {
    let good = families::sheet(4, 20.0, 0.3, 0.6, false);
    assert!(solve(&good.problem(), Method::Auto, 1e-6).is_ok());
    let changes: Vec<fn(&mut Family)> = vec![
        |f| f.b.truncate(3),
        |f| f.b[2].x = f64::NAN,
        |f| f.matrix.values.truncate(3),
        |f| f.matrix.values[1].x_axis.x = f64::INFINITY,
        |f| {
            let slot = f.pattern.slot(5, 5).unwrap();
            f.matrix.values[slot] = Mat3::ZERO;
        },
        |f| f.inertia = vec![1.0; 3],
        |f| f.inertia = vec![0.0; 16],
        |f| f.contacts[0].nodes = [NO_NODE; 4],
        |f| f.contacts[0].nodes[1] = 16,
        |f| f.contacts[0].nodes[1] = f.contacts[0].nodes[0],
        |f| f.contacts[0].frame = Mat3::from_diagonal(Vec3::new(1.0, 1.0, 1.1)),
        |f| f.contacts[0].frame.x_axis.x = f64::NAN,
        |f| f.contacts[0].friction = [-0.1, 0.3],
        |f| f.contacts[0].friction = [0.1, f64::NAN],
        |f| f.contacts[0].offset.y = f64::NAN,
        |f| f.contacts[0].weights[0] = f64::INFINITY,
    ];
    for (k, change) in changes.into_iter().enumerate() {
        let mut bad = good.clone();
        change(&mut bad);
        let error = solve(&bad.problem(), Method::Auto, 1e-6).unwrap_err();
        println!("{k}: {error}");
    }
    assert!(solve(&good.problem(), Method::Auto, 0.0).is_err());
    assert!(solve(&good.problem(), Method::Auto, f64::NAN).is_err());
    let held = FrictionProblem {
        free: &[[true; 3]; 2],
        ..good.problem()
    };
    assert!(solve(&held, Method::Auto, 1e-6).is_err());
    let (mut v, mut r) = (vec![Vec3::ZERO; 3], vec![]);
    assert!(
        Solver::default()
            .solve(&good.problem(), &SolveParams::default(), &mut v, &mut r)
            .is_err()
    );
}

#[test]
fn nothing_to_solve_is_no_problem() {
    let pattern = BlockPattern::from_groups(0, |_| {}).unwrap();
    let matrix = BlockMatrix::zeros(&pattern);
    for method in METHODS {
        let empty = FrictionProblem {
            pattern: &pattern,
            matrix: &matrix,
            b: &[],
            contacts: &[],
            free: &[],
            inertia: &[],
        };
        let (.., report) = solve(&empty, method, 1e-6).unwrap();
        assert!(report.converged, "{method:?}");
        // Contacts may also be missing only: what is left is a linear system.
        let mut free = families::sheet(8, 200.0, 0.3, 0.0, false);
        free.contacts.clear();
        let (.., report) = solve(&free.problem(), method, 1e-9).unwrap();
        assert!(report.converged, "{method:?}");
    }
}

const METHODS: [Method; 4] = [
    Method::Auto,
    Method::GaussSeidel,
    Method::Admm,
    Method::Newton,
];

/// A single node with contacts.
fn single(contacts: Vec<Contact>) -> Family {
    let pattern = BlockPattern::from_groups(1, |_| {}).unwrap();
    let matrix = BlockMatrix {
        values: vec![Mat3::IDENTITY * NODE_MASS],
    };
    Family {
        name: "single".to_owned(),
        pattern,
        matrix,
        b: vec![Vec3::new(-0.1, 0.0, 0.3) * NODE_MASS],
        contacts,
        inertia: vec![],
    }
}

#[test]
fn opposed_planes_on_one_node_yield() {
    // The last contradicts itself by a few tolerances only.
    for gap in [-0.1, -5.0, -2e-8] {
        let family = single(vec![
            obstacle(0, Vec3::Z, 0.5, gap),
            obstacle(0, -Vec3::Z, 0.5, gap),
        ]);
        for method in METHODS {
            let (v, r, report) = solve(&family.problem(), method, 1e-8).unwrap();
            assert!(report.converged, "{method:?} {report:?}");
            assert_eq!(report.yielding, [0, 1]);
            assert!(v[0].length() < 1.0 && r.iter().all(|r| r.is_finite()));
        }
    }
}

#[test]
fn a_squeezed_node_leaves_the_rest_of_its_sheet_alone() {
    let mut family = families::sheet(12, 200.0, 0.4, 0.5, false);
    let free = (0..144)
        .find(|n| !family.contacts.iter().any(|c| c.nodes[0] == *n))
        .unwrap() as usize;
    let first = family.contacts.len() as u32;
    family.contacts.push(obstacle(free, Vec3::Z, 0.4, -0.2));
    family
        .contacts
        .push(obstacle(free, Vec3::new(0.2, 0.0, -1.0), 0.4, -0.2));
    family
        .contacts
        .push(obstacle(free, Vec3::new(-0.2, 0.0, -1.0), 0.4, -0.2));
    for family in [family.clone(), family.strict()] {
        for method in [Method::Auto, Method::Newton] {
            let (_, _, report) = solve(&family.problem(), method, 1e-8).unwrap();
            println!("{report:?}");
            assert!(report.converged, "{method:?} {report:?}");
            assert!(!report.yielding.is_empty());
            assert!(report.yielding.iter().all(|c| *c >= first));
            assert!(report.local_error < 1e-8 && report.dynamics_error < 1e-6);
        }
    }
}

/// A wedge lets go if friction is less than its slope. If it is more, the node may be jammed: then its contacts yield.
#[test]
fn wedges_yield_only_when_jammed() {
    for (tilt, mu) in [
        (0.5, 0.3),
        (0.1, 0.05),
        (0.03, 0.01),
        (0.1, 0.3),
        (0.03, 0.5),
    ] {
        let family = single(vec![
            obstacle(0, Vec3::new(tilt, 0.0, 1.0), mu, -0.1),
            obstacle(0, Vec3::new(tilt, 0.0, -1.0), mu, -0.1),
        ]);
        for method in [Method::Auto, Method::Newton] {
            let (_, _, report) = solve(&family.problem(), method, 1e-8).unwrap();
            println!("{tilt} {mu} {method:?} {report:?}");
            assert!(report.converged, "{tilt} {mu} {method:?} {report:?}");
            assert!(report.yielding.is_empty() || mu > tilt);
        }
    }
}

/// A held row is made diagonal, as the problem asks for.
fn hold(family: &mut Family, node: usize, axes: [bool; 3]) {
    for row in 0..family.pattern.rows() {
        for slot in family.pattern.row(row) {
            let column = family.pattern.columns()[slot] as usize;
            for axis in 0..3 {
                let block = &mut family.matrix.values[slot];
                if axes[axis] && row == node {
                    for k in 0..3 {
                        block.col_mut(k)[axis] = 0.0;
                    }
                }
                if axes[axis] && column == node {
                    *block.col_mut(axis) = Vec3::ZERO;
                }
                if axes[axis] && row == node && column == node {
                    block.col_mut(axis)[axis] = NODE_MASS;
                }
            }
        }
    }
}

#[test]
fn held_coordinates_keep_their_velocity() {
    for axes in [[true; 3], [true, false, false], [false, false, true]] {
        let mut family = families::sheet(8, 200.0, 0.4, 0.7, false);
        let mut free = vec![[true; 3]; 64];
        let wanted = Vec3::new(0.3, -0.2, 0.1);
        for node in [0, 7, 20, 27] {
            hold(&mut family, node, axes);
            free[node] = axes.map(|a| !a);
            for k in (0..3).filter(|k| axes[*k]) {
                family.b[node][k] = -NODE_MASS * wanted[k];
            }
        }
        // Driven against an obstacle from above, so that some contacts are violated where all is held.
        family.contacts.push(obstacle(20, -Vec3::Z, 0.4, 0.0));
        let problem = FrictionProblem {
            free: &free,
            ..family.problem()
        };
        for method in METHODS {
            let (v, r, report) = solve(&problem, method, 1e-7).unwrap();
            assert!(report.converged, "{axes:?} {method:?} {report:?}");
            for node in [0, 7, 20, 27] {
                for k in (0..3).filter(|k| axes[*k]) {
                    assert!((v[node][k] - wanted[k]).abs() < 1e-7, "{method:?}");
                }
            }
            if axes == [true; 3] {
                assert_eq!(*r.last().unwrap(), Vec3::ZERO);
                assert_eq!(*report.yielding.last().unwrap() as usize, r.len() - 1);
            }
        }
    }
}
