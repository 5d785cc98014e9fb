//! The one-contact solve against reference answers of sixty digits, and against itself a million times.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod support;

use muslin_friction::{OneContact, State, matchstick, solve_one};
use muslin_linalg::{Mat3, Quat, Vec3};
use serde_json::Value;
use support::{load, number, numbers, state, vector};

fn symmetric(w: &[f64]) -> Mat3 {
    Mat3::from_cols_array(&[w[0], w[1], w[2], w[1], w[3], w[4], w[2], w[4], w[5]])
}

/// Eigenvalues by the trigonometric formula; good enough for a condition number below 1e8.
fn eigenvalues(w: &Mat3) -> (f64, f64) {
    let largest = (0..200).fold(Vec3::new(0.6, 0.5, 0.4), |x, _| (*w * x).normalize());
    let inverse = w.inverse();
    let smallest = (0..200).fold(Vec3::new(0.6, 0.5, 0.4), |x, _| (inverse * x).normalize());
    (
        largest.dot(*w * largest),
        1.0 / smallest.dot(inverse * smallest),
    )
}

fn matches(answer: &OneContact, listed: &Value, w: &Mat3, d: Vec3) -> bool {
    let (top, bottom) = eigenvalues(w);
    let tolerance = (1e-15 * top / bottom).max(1e-11);
    let (u, r) = (vector(&listed["u"]), vector(&listed["r"]));
    let size = |x: Vec3| x.abs().max_element();
    size(answer.u - u) <= tolerance * size(u).max(d.length() / top)
        && size(answer.r - r) <= tolerance * size(r).max(d.length())
}

fn compare(file: &str, friction: impl Fn(&Value) -> [f64; 2]) {
    let data = load(file);
    let problems = data["problems"].as_array().unwrap();
    for p in problems {
        let w = symmetric(&numbers(&p["W"]));
        let d = vector(&p["d"]);
        let answer = solve_one(&w, d, friction(&p["mu"]));
        let listed = p["solutions"].as_array().unwrap();
        assert!(
            listed.iter().any(|s| matches(&answer, s, &w, d)),
            "{}: {answer:?} against {listed:?}",
            p["name"]
        );
    }
    println!("{file}: {} problems", problems.len());
}

#[test]
fn reference_answers() {
    compare("one_contact.json", |mu| [number(mu); 2]);
}

#[test]
fn reference_answers_of_elliptical_cones() {
    compare("one_contact_elliptic.json", |mu| {
        [number(&mu[0]), number(&mu[1])]
    });
}

#[test]
fn isotropic_response_projects_on_the_ellipse() {
    for p in load("elliptic_dual_iso.json")["problems"]
        .as_array()
        .unwrap()
    {
        let q = number(&p["q"]);
        let free = vector(&p["us"]);
        let mu = [number(&p["mu"][0]), number(&p["mu"][1])];
        let w = Mat3::from_diagonal(Vec3::splat(1.0 / q));
        let answer = solve_one(&w, -free / q, mu);
        let listed = &p["max_dissipation"];
        let error_u = (answer.u - vector(&listed["u"])).length();
        let error_r = q * (answer.r - vector(&listed["r"])).length();
        assert!(error_u + error_r < 1e-11 * free.length(), "{p}: {answer:?}");
        assert!(answer.state == state(&listed["state"]) || answer.u.length() < 1e-11);
    }
}

#[test]
fn matchstick_evaluations() {
    for m in load("elliptic_dual_iso.json")["matchstick"]
        .as_array()
        .unwrap()
    {
        let pair = matchstick(
            vector(&m["n"]),
            vector(&m["s1"]),
            vector(&m["s2"]),
            number(&m["mu_iso"]),
            number(&m["mu_aniso1"]),
            number(&m["mu_aniso2"]),
        );
        let (t, b) = (vector(&m["t"]), vector(&m["b"]));
        let sign = t.dot(pair.t).signum();
        assert!((sign * pair.t - t).length() < 1e-12);
        assert!((sign * pair.b - b).length() < 1e-12);
        assert!((pair.friction[0] - number(&m["mu_t"])).abs() < 1e-12);
        assert!((pair.friction[1] - number(&m["mu_b"])).abs() < 1e-12);
    }
}

#[test]
fn a_surface_without_a_line_is_isotropic() {
    let pair = matchstick(Vec3::Z, Vec3::ZERO, Vec3::X, 0.3, 0.1, 0.9);
    assert_eq!(pair.friction, [0.3; 2]);
    let pair = matchstick(Vec3::Z, Vec3::ZERO, Vec3::Z, 0.3, 0.1, 0.9);
    assert!(pair.t.dot(Vec3::Z).abs() < 1e-12 && pair.t.is_normalized());
}

/// A small generator of reproducible numbers: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }

    fn between(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * self.next()
    }

    fn vector(&mut self) -> Vec3 {
        Vec3::new(
            self.between(-1.0, 1.0),
            self.between(-1.0, 1.0),
            self.between(-1.0, 1.0),
        )
    }
}

/// How far an answer is from `r = W u + d` and the law, relative to the largest terms.
fn defect(w: &Mat3, d: Vec3, mu: [f64; 2], answer: &OneContact) -> f64 {
    let (u, r) = (answer.u, answer.r);
    let largest = w.x_axis.x.max(w.y_axis.y).max(w.z_axis.z);
    let scale = d.length() + largest * u.length() + r.length();
    let balance = (r - *w * u - d).length() / scale;
    let law = match answer.state {
        State::Separate => r.length() / scale + (-u.x).max(0.0) * largest / scale,
        State::Stick => {
            u.length() * largest / scale
                + ((r.y / mu[0]).hypot(r.z / mu[1]) - r.x).max(0.0) * mu[0].min(mu[1]) / scale
        }
        State::Slide if mu == [0.0; 2] => (r.y.hypot(r.z) + (-r.x).max(0.0)) / scale,
        State::Slide => {
            let e = Vec3::new(0.0, mu[0] * u.y, mu[1] * u.z).normalize_or_zero();
            let wanted = Vec3::new(r.x, -mu[0] * r.x * e.y, -mu[1] * r.x * e.z);
            (r - wanted).length() / scale + u.x.abs() * largest / scale
        }
    };
    balance + law
}

#[test]
fn a_million_random_problems() {
    let mut random = Random(7);
    let mut worst: f64 = 0.0;
    let mut states = [0; 3];
    for k in 0..1_000_000 {
        let q = Mat3::from_quat(
            Quat::from_xyzw(
                random.between(-1.0, 1.0),
                random.between(-1.0, 1.0),
                random.between(-1.0, 1.0),
                random.between(0.1, 1.0),
            )
            .normalize(),
        );
        let range = random.between(0.0, 8.0);
        let scale = 10f64.powf(random.between(-3.0, 3.0));
        let l = Vec3::new(1.0, 10f64.powf(-range * random.next()), 10f64.powf(-range)) * scale;
        let w = q * Mat3::from_diagonal(l) * q.transpose();
        let w = (w + w.transpose()) * 0.5;
        let d = random.vector() * 10f64.powf(random.between(-3.0, 3.0));
        let mut mu = [random.between(0.0, 2.0); 2];
        match k % 10 {
            0 => mu = [0.0; 2],
            1 | 2 => mu[1] = random.between(0.0, 2.0),
            _ => {}
        }
        let answer = solve_one(&w, d, mu);
        assert!(answer.u.is_finite() && answer.r.is_finite());
        let floor = if mu[0] == mu[1] {
            mu
        } else {
            mu.map(|m| m.max(1e-4))
        };
        let defect = defect(&w, d, floor, &answer);
        // A stretch of coordinates adds its own condition to that of the block.
        assert!(
            defect < if mu[0] == mu[1] { 1e-11 } else { 1e-8 },
            "{k}: {defect:e} {w:?} {d:?} {mu:?} {answer:?}"
        );
        if mu[0] == mu[1] {
            worst = worst.max(defect);
        }
        states[answer.state as usize] += 1;
    }
    println!("worst {worst:e}, states {states:?}");
    assert!(states.iter().all(|s| *s > 50_000));
}

#[test]
fn extreme_friction_and_degenerate_inputs() {
    let w = Mat3::from_diagonal(Vec3::new(2.0, 1.0, 3.0));
    for mu in [1e3, 1e12, f64::INFINITY] {
        let answer = solve_one(&w, Vec3::new(1.0, 5.0, 5.0), [mu; 2]);
        assert_eq!(answer.state, State::Stick);
    }
    let answer = solve_one(&w, Vec3::new(1.0, 5.0, 5.0), [0.0, f64::INFINITY]);
    assert!(answer.r.is_finite() && answer.u.is_finite());
    assert_eq!(solve_one(&w, Vec3::ZERO, [0.5; 2]).u, Vec3::ZERO);
    for scale in [1e-200, 1e-30, 1e30, 1e200] {
        let answer = solve_one(&w, Vec3::new(scale, 3.0 * scale, 0.0), [0.5; 2]);
        assert_eq!(answer.state, State::Slide);
        assert!((answer.r.y / answer.r.x - 0.5).abs() < 1e-12);
    }
}
