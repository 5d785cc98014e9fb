#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
use muslin_friction::{Method, SolveParams, Solver, families as f};
use muslin_linalg::Vec3;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let method = match a[1].as_str() {
        "gs" => Method::GaussSeidel,
        "newton" => Method::Newton,
        "admm" => Method::Admm,
        _ => Method::Auto,
    };
    let tol: f64 = a[2].parse().unwrap();
    let strict = a.get(3).is_some_and(|s| s == "strict");
    let pick = a.get(4).cloned().unwrap_or_default();
    let big = a.get(5).is_some();
    let mut list = vec![
        f::sheet(30, 20.0, 0.3, 0.6, false),
        f::sheet(30, 200.0, 0.3, 0.6, false),
        f::sheet(30, 600.0, 0.6, 0.6, true),
        f::layers(20, 2, 200.0, 0.6, false),
        f::layers(20, 3, 200.0, 0.6, true),
        f::many_contacts(20, 200.0, 0.6),
        f::node_on_triangle(20, 200.0, 0.6),
        f::incline(20, 1e4, 0.5, 0.3),
        f::incline(20, 1e4, 0.5, 0.5f64.tan() * (1.0 + 1e-6)),
        f::sheet(30, 6000.0, 0.3, 0.6, false),
        f::node_on_triangle(20, 6000.0, 0.3),
        f::layers(20, 3, 6000.0, 0.4, true),
        f::many_contacts(20, 6000.0, 0.6),
        f::plate(5, 8, 1e6, 0.5),
        f::plate(5, 8, 1e6, 0.2),
        f::leaning_cards(8, 5, 1e6, 0.5),
        f::leaning_cards(20, 14, 1e6, 0.5),
        f::leaning_cards(8, 5, 1e6, 0.1),
    ];
    if big {
        list = vec![];
        for ratio in [60.0, 600.0, 6000.0] {
            for mu in [0.3, 0.6] {
                list.push(f::sheet(80, ratio, mu, 0.3956, false));
            }
        }
        list.push(f::node_on_triangle(60, 2000.0, 0.4));
    }
    let mut solver = Solver::default();
    for family in list {
        if !family.name.contains(&pick) {
            continue;
        }
        let family = if strict { family.strict() } else { family };
        let mut v = vec![Vec3::ZERO; family.b.len()];
        let mut r = vec![Vec3::ZERO; family.contacts.len()];
        let t = std::time::Instant::now();
        let rep = solver
            .solve(
                &family.problem(),
                &SolveParams {
                    tolerance: tol,
                    method,
                    max_sweeps: 2000,
                },
                &mut v,
                &mut r,
            )
            .unwrap();
        println!(
            "{:45} {:5} nc {:5}  sweeps {:4} admm {:3} newton {:3} fact {:3} {:.0e}/{:.0e} {:7.1} ms {} y{}",
            family.name,
            rep.converged,
            r.len(),
            rep.sweeps,
            rep.admm_iterations,
            rep.newton_iterations,
            rep.factorisations,
            rep.contact_error,
            rep.dynamics_error,
            t.elapsed().as_secs_f64() * 1e3,
            rep.method,
            rep.yielding.len()
        );
    }
}
