//! Reads the reference sets.
#![allow(dead_code)]

use muslin_friction::{Contact, FrictionProblem, NO_NODE, State};
use muslin_linalg::{BlockMatrix, BlockPattern, Mat3, Vec3};
use serde_json::Value;

/// A reference file.
pub fn load(name: &str) -> Value {
    let path = format!("{}/../../reference/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub fn number(v: &Value) -> f64 {
    v.as_f64().unwrap()
}

pub fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(number).collect()
}

pub fn vector(v: &Value) -> Vec3 {
    Vec3::from_slice(&numbers(v))
}

pub fn vectors(v: &Value) -> Vec<Vec3> {
    numbers(v).chunks(3).map(Vec3::from_slice).collect()
}

pub fn state(v: &Value) -> State {
    match v.as_str().unwrap() {
        "takeoff" => State::Separate,
        "stick" => State::Stick,
        "slide" => State::Slide,
        other => panic!("state {other}"),
    }
}

/// A global problem that owns its arrays.
pub struct Owned {
    pub name: String,
    pub pattern: BlockPattern,
    pub matrix: BlockMatrix,
    pub b: Vec<Vec3>,
    pub contacts: Vec<Contact>,
    /// Velocities of every known answer.
    pub answers: Vec<Vec<Vec3>>,
}

impl Owned {
    pub fn problem(&self) -> FrictionProblem<'_> {
        FrictionProblem {
            pattern: &self.pattern,
            matrix: &self.matrix,
            b: &self.b,
            contacts: &self.contacts,
            free: &[],
            inertia: &[],
        }
    }

    /// Distance to the nearest known answer, m/s.
    pub fn distance(&self, v: &[Vec3]) -> f64 {
        self.answers
            .iter()
            .map(|answer| {
                v.iter()
                    .zip(answer)
                    .map(|(a, b)| (*a - *b).abs().max_element())
                    .fold(0.0, f64::max)
            })
            .fold(f64::INFINITY, f64::min)
    }
}

/// Rows n, t1, t2 of a frame.
pub fn frame(rows: &[f64]) -> Mat3 {
    Mat3::from_cols_slice(rows).transpose()
}

/// The global reference problems.
pub fn dfcp() -> Vec<Owned> {
    load("dfcp.json")["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(read_global)
        .collect()
}

fn read_global(p: &Value) -> Owned {
    let nodes = p["n_nodes"].as_u64().unwrap() as usize;
    let index = |v: &Value| -> Vec<usize> {
        v.as_array()
            .unwrap()
            .iter()
            .map(|i| i.as_u64().unwrap() as usize)
            .collect()
    };
    let (rows, columns) = (index(&p["A"]["i"]), index(&p["A"]["j"]));
    let values = numbers(&p["A"]["v"]);
    let pattern = BlockPattern::from_groups(nodes, |group| {
        for (i, j) in rows.iter().zip(&columns) {
            if i / 3 != j / 3 {
                group(&[(i / 3) as u32, (j / 3) as u32]);
            }
        }
    })
    .unwrap();
    let mut matrix = BlockMatrix::zeros(&pattern);
    let mut put = |i: usize, j: usize, value: f64| {
        let slot = pattern.slot(i / 3, (j / 3) as u32).unwrap();
        matrix.values[slot].col_mut(j % 3)[i % 3] = value;
    };
    for k in 0..values.len() {
        put(rows[k], columns[k], values[k]);
        put(columns[k], rows[k], values[k]);
    }
    let contacts = p["contacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            let (mut nodes, mut weights) = ([NO_NODE; 4], [0.0; 4]);
            for (k, n) in index(&c["nodes"]).into_iter().enumerate() {
                nodes[k] = n as u32;
                weights[k] = number(&c["weights"][k]);
            }
            Contact {
                nodes,
                weights,
                frame: frame(&numbers(&c["E"])),
                friction: [number(&c["mu"]); 2],
                offset: vector(&c["uf"]),
            }
        })
        .collect();
    let mut answers = vec![vectors(&p["solution"]["v"])];
    if let Some(others) = p.get("alternatives").and_then(Value::as_array) {
        answers.extend(others.iter().map(|o| vectors(&o["v"])));
    }
    Owned {
        name: p["name"].as_str().unwrap().to_owned(),
        pattern,
        matrix,
        b: vectors(&p["b"]),
        contacts,
        answers,
    }
}
