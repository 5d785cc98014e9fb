//! Sweeps and factorisations that the problem families take, held to what was measured.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use muslin_friction::families::{self, Family};
use muslin_friction::{Method, SolveParams, SolveReport, Solver, State, residual, states};
use muslin_linalg::Vec3;

struct Answer {
    v: Vec<Vec3>,
    r: Vec<Vec3>,
    report: SolveReport,
}

fn solve_from(family: &Family, method: Method, tolerance: f64, start: Option<&Answer>) -> Answer {
    let (mut v, mut r) = match start {
        Some(answer) => (answer.v.clone(), answer.r.clone()),
        None => (
            vec![Vec3::ZERO; family.b.len()],
            vec![Vec3::ZERO; family.contacts.len()],
        ),
    };
    let params = SolveParams {
        tolerance,
        method,
        ..SolveParams::default()
    };
    let report = Solver::default()
        .solve(&family.problem(), &params, &mut v, &mut r)
        .unwrap();
    println!("{}: {report:?}", family.name);
    assert!(report.converged, "{}: {report:?}", family.name);
    let errors = residual(&family.problem(), &v, &r);
    assert!(errors.merit() < tolerance, "{}: {errors:?}", family.name);
    Answer { v, r, report }
}

fn solve(family: &Family, method: Method, tolerance: f64) -> Answer {
    solve_from(family, method, tolerance, None)
}

fn largest_difference(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (*a - *b).length())
        .fold(0.0, f64::max)
}

/// Sweeps of accelerated Gauss-Seidel to 1e-8 against the prototype's, with a third to spare. Two free layers are at least
/// as stiff as those of the reference problem of that kind, whose diagonal is two to four times its mass.
#[test]
fn sweeps_of_accelerated_gauss_seidel() {
    for (family, prototype) in [
        (families::sheet(30, 20.0, 0.3, 0.6, false), 50),
        (families::sheet(30, 200.0, 0.3, 0.6, false), 100),
        (families::sheet(30, 600.0, 0.6, 0.6, true), 110),
        (families::layers(20, 2, 1.0, 0.6, false), 35),
        (families::layers(20, 2, 5.0, 0.6, false), 35),
        (families::layers(20, 3, 200.0, 0.6, true), 90),
        (families::many_contacts(20, 60.0, 0.6).opened(), 90),
        (families::many_contacts(20, 200.0, 0.6).opened(), 90),
        (families::sheet(80, 60.0, 0.3, 0.3956, false), 110),
    ] {
        let answer = solve(&family, Method::GaussSeidel, 1e-8);
        assert!(answer.report.sweeps as f64 <= 1.3 * f64::from(prototype));
    }
}

/// Stiff layers that are free take more sweeps than soft ones, and up to four contacts a node more than 90 if none of them
/// is open; the direct method does not mind.
#[test]
fn families_that_sweeps_find_hard() {
    for (family, sweeps, factorisations) in [
        (families::layers(20, 2, 200.0, 0.6, false), 200, 20),
        (families::many_contacts(20, 200.0, 0.6), 700, 20),
        (families::node_on_triangle(20, 200.0, 0.6), 70, 6),
        (families::draped(30, 60.0, 0.3), 150, 6),
    ] {
        assert!(solve(&family, Method::GaussSeidel, 1e-8).report.sweeps <= sweeps);
        let newton = solve(&family, Method::Newton, 1e-8).report;
        assert!(newton.factorisations <= factorisations);
        solve(&family, Method::Auto, 1e-8);
    }
}

#[test]
fn stiff_sheets_take_few_factorisations() {
    for (family, factorisations) in [
        (families::sheet(30, 6000.0, 0.3, 0.6, false), 4),
        (families::node_on_triangle(20, 6000.0, 0.3), 8),
        (families::layers(20, 3, 6000.0, 0.4, true), 6),
        (families::draped(30, 6000.0, 0.3), 10),
        (families::incline(20, 1e4, 0.5, 0.3), 5),
    ] {
        let family = family.strict();
        let answer = solve(&family, Method::Newton, 1e-8);
        assert!(answer.report.factorisations <= factorisations);
        let again = solve(&family, Method::Auto, 1e-8);
        assert!(largest_difference(&answer.v, &again.v) < 1e-6);
    }
}

#[test]
fn plates_and_leaning_cards() {
    for (family, cold) in [
        (families::plate(5, 8, 1e6, 0.5), 2),
        (families::plate(5, 8, 1e6, 0.2), 6),
        (families::leaning_cards(8, 5, 1e6, 0.5), 3),
        (families::leaning_cards(20, 14, 1e6, 0.5), 5),
        (families::leaning_cards(8, 5, 1e6, 0.1), 6),
    ] {
        let family = family.strict();
        let answer = solve(&family, Method::Newton, 1e-8);
        assert!(answer.report.factorisations <= cold);
        // The next step of a card at rest: the same but for a little.
        let mut next = family.clone();
        for b in &mut next.b {
            *b *= 1.001;
        }
        let warm = solve_from(&next, Method::Newton, 1e-8, Some(&answer));
        assert!(warm.report.factorisations <= 3);
    }
}

/// Cards that are kicked, over contacts that are partly open: no state can be guessed from the last step.
#[test]
fn kicked_cards() {
    for seed in 0..30 {
        let mut family = families::leaning_cards(8, 5, 1e6, 0.1 + 0.02 * f64::from(seed)).strict();
        let wobble = |k: f64| (12.9898 * (f64::from(seed) + k)).sin();
        let half = family.b.len() / 2;
        for (i, b) in family.b.iter_mut().enumerate() {
            let card = 4.0 * (i / half) as f64;
            let kick = Vec3::new(wobble(card), wobble(card + 1.0), wobble(card + 2.0));
            *b -= families::NODE_MASS * 0.3 * kick;
        }
        for (c, contact) in family.contacts.iter_mut().enumerate() {
            contact.offset.x = 0.02 + 0.02 * wobble(10.0 + c as f64);
        }
        solve(&family, Method::Auto, 1e-8);
    }
}

/// What a diagonal a million times the mass hides: without inertia the first sweep would pass for an answer.
#[test]
fn a_stiff_plate_is_right_even_when_no_inertia_is_given() {
    let family = families::plate(5, 8, 1e6, 0.2);
    let answer = solve(&family, Method::Auto, 1e-8);
    let strict = solve(&family.strict(), Method::Auto, 1e-10);
    assert!(largest_difference(&answer.v, &strict.v) < 1e-7);
}

#[test]
fn incline_slides_as_a_block_at_any_stiffness() {
    let angle: f64 = 0.5;
    for ratio in [20.0, 1e4, 1e6] {
        for mu in [0.0, 0.3, 0.5] {
            let family = families::incline(12, ratio, angle, mu).strict();
            let answer = solve(&family, Method::Auto, 1e-8);
            let wanted = families::incline_speed(angle, mu);
            for v in &answer.v {
                assert!(
                    (*v - Vec3::X * wanted).length() < 1e-4 * wanted,
                    "{v} {wanted}"
                );
            }
        }
    }
}

#[test]
fn incline_sticks_to_the_last_bit_just_above_the_limit() {
    let angle: f64 = 0.5;
    for ratio in [20.0, 1e4] {
        for (factor, state) in [(1.0 + 1e-6, State::Stick), (1.0 - 1e-6, State::Slide)] {
            let family = families::incline(12, ratio, angle, angle.tan() * factor).strict();
            for method in [Method::Auto, Method::Newton, Method::GaussSeidel] {
                let answer = solve(&family, method, 1e-12);
                let mut found = Vec::new();
                states(&family.problem(), &answer.v, &answer.r, &mut found);
                assert!(found.iter().all(|s| *s == state), "{method:?}");
                if state == State::Stick {
                    let speed = answer.v.iter().map(|v| v.length()).fold(0.0, f64::max);
                    assert!(speed < 1e-17, "{speed:e}");
                }
            }
        }
    }
}

#[test]
fn methods_agree() {
    let family = families::sheet(12, 60.0, 0.4, 0.6, true).strict();
    let newton = solve(&family, Method::Newton, 1e-11);
    for method in [Method::GaussSeidel, Method::Admm, Method::Auto] {
        let other = solve(&family, method, 1e-11);
        assert!(largest_difference(&newton.v, &other.v) < 1e-9, "{method:?}");
    }
}
