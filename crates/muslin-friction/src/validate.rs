//! Refuses malformed problems before anything is computed, so that no input can panic further in.

use crate::FrictionError;
use crate::problem::{Contact, FrictionProblem, NO_NODE};
use muslin_linalg::{Mat3, Vec3};

/// A frame's rows may miss unit length and right angles by this much.
const FRAME_TOLERANCE: f64 = 1e-6;

pub(crate) fn validate(
    problem: &FrictionProblem,
    tolerance: f64,
    v: &[Vec3],
    r: &[Vec3],
) -> Result<(), FrictionError> {
    let nodes = problem.pattern.rows();
    if tolerance.is_nan() || tolerance <= 0.0 {
        return Err(FrictionError::Tolerance(tolerance));
    }
    size(
        "matrix",
        problem.pattern.blocks(),
        problem.matrix.values.len(),
    )?;
    size("b", nodes, problem.b.len())?;
    size("v", nodes, v.len())?;
    size("r", problem.contacts.len(), r.len())?;
    if !problem.free.is_empty() {
        size("free", nodes, problem.free.len())?;
    }
    if !problem.inertia.is_empty() {
        size("inertia", nodes, problem.inertia.len())?;
        let bad = |m: &f64| !(*m > 0.0 && m.is_finite());
        if let Some(node) = problem.inertia.iter().position(bad) {
            return Err(FrictionError::Inertia { node });
        }
    }
    finite("b", problem.b)?;
    finite("v", v)?;
    finite("r", r)?;
    if let Some(index) = problem.matrix.values.iter().position(|m| !is_finite(m)) {
        return Err(FrictionError::NotFinite {
            what: "matrix block",
            index,
        });
    }
    for node in 0..nodes {
        if !positive_definite(&problem.matrix.diagonal(problem.pattern, node)) {
            return Err(FrictionError::Diagonal { node });
        }
    }
    problem
        .contacts
        .iter()
        .enumerate()
        .try_for_each(|(index, contact)| check_contact(index, contact, nodes))
}

fn check_contact(contact: usize, c: &Contact, nodes: usize) -> Result<(), FrictionError> {
    let mut any = false;
    for (k, &node) in c.nodes.iter().enumerate() {
        if node == NO_NODE {
            continue;
        }
        any = true;
        if node as usize >= nodes {
            return Err(FrictionError::NodeOutOfRange { contact, node });
        }
        if c.nodes[..k].contains(&node) {
            return Err(FrictionError::RepeatedNode { contact, node });
        }
    }
    if !any {
        return Err(FrictionError::NoNode { contact });
    }
    if !(c.offset.is_finite() && c.weights.iter().all(|w| w.is_finite())) {
        return Err(FrictionError::NotFinite {
            what: "offset or weight of contact",
            index: contact,
        });
    }
    let off = c.frame * c.frame.transpose() - Mat3::IDENTITY;
    // Written so that a frame with NaN fails too.
    if !off
        .to_cols_array()
        .iter()
        .all(|e| e.abs() <= FRAME_TOLERANCE)
    {
        return Err(FrictionError::Frame { contact });
    }
    if !c.friction.iter().all(|f| *f >= 0.0) {
        return Err(FrictionError::Friction { contact });
    }
    Ok(())
}

fn size(what: &'static str, expected: usize, found: usize) -> Result<(), FrictionError> {
    if expected == found {
        Ok(())
    } else {
        Err(FrictionError::Size {
            what,
            expected,
            found,
        })
    }
}

fn finite(what: &'static str, values: &[Vec3]) -> Result<(), FrictionError> {
    match values.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(FrictionError::NotFinite { what, index }),
        None => Ok(()),
    }
}

fn is_finite(m: &Mat3) -> bool {
    // A sum is finite unless a term is not (or all are near overflow, which no mass is); cheaper than nine tests.
    (m.x_axis + m.y_axis + m.z_axis).element_sum().is_finite()
}

fn positive_definite(m: &Mat3) -> bool {
    let minor = m.x_axis.x * m.y_axis.y - m.x_axis.y * m.y_axis.x;
    m.x_axis.x > 0.0 && minor > 0.0 && m.determinant() > 0.0
}
