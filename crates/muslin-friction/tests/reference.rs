//! Every method against the global reference problems.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod support;

use muslin_friction::{Method, SolveParams, Solver, residual};
use muslin_linalg::Vec3;

fn compare(method: Method) {
    let mut solver = Solver::default();
    for owned in support::dfcp() {
        let problem = owned.problem();
        let mut v = vec![Vec3::ZERO; owned.b.len()];
        let mut r = vec![Vec3::ZERO; owned.contacts.len()];
        let params = SolveParams {
            tolerance: 1e-11,
            method,
            max_sweeps: 3000,
            max_admm_iterations: 5000,
            ..SolveParams::default()
        };
        let report = solver.solve(&problem, &params, &mut v, &mut r).unwrap();
        let distance = owned.distance(&v);
        println!("{}: {distance:.1e} {report:?}", owned.name);
        assert!(report.converged, "{}: {report:?}", owned.name);
        assert!(distance < 1e-9, "{}: {distance:e}", owned.name);
        let errors = residual(&problem, &v, &r);
        assert!(errors.contact < 1e-11 && errors.dynamics < 1e-11);
    }
}

#[test]
fn gauss_seidel() {
    compare(Method::GaussSeidel);
}

#[test]
fn newton() {
    compare(Method::Newton);
}

#[test]
fn admm() {
    compare(Method::Admm);
}

#[test]
fn auto() {
    compare(Method::Auto);
}

#[test]
fn condensed() {
    compare(Method::Condensed);
}
