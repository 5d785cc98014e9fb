//! Frictional contact problems on arrays.

use crate::arrays::{flat, from_vectors, list, rows};
use crate::{errors, threads};
use muslin_friction::{
    Contact, FrictionProblem as Problem, Method, NO_NODE, SolveParams, SolveReport, Solver, State,
    states,
};
use muslin_linalg::{BlockMatrix, BlockPattern, Mat3, Vec3, symmetric_from_triplets};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A problem that owns its arrays.
#[pyclass(frozen, module = "muslin._engine")]
pub struct FrictionProblem {
    pattern: BlockPattern,
    matrix: BlockMatrix,
    b: Vec<Vec3>,
    contacts: Vec<Contact>,
    free: Vec<[bool; 3]>,
    inertia: Vec<f64>,
}

/// Errors, then counts, then the way taken, then contacts that gave way.
type Told = (bool, [f64; 4], [usize; 5], String, Vec<u32>);

impl FrictionProblem {
    fn problem(&self) -> Problem<'_> {
        Problem {
            pattern: &self.pattern,
            matrix: &self.matrix,
            b: &self.b,
            contacts: &self.contacts,
            free: &self.free,
            inertia: &self.inertia,
        }
    }
}

fn method(name: &str) -> PyResult<Method> {
    Ok(match name {
        "auto" => Method::Auto,
        "gauss-seidel" => Method::GaussSeidel,
        "admm" => Method::Admm,
        "newton" => Method::Newton,
        "condensed" => Method::Condensed,
        _ => {
            return Err(PyValueError::new_err(format!(
                "`{name}` is not a method; choose one of auto, gauss-seidel, admm, newton, condensed"
            )));
        }
    })
}

fn told(report: SolveReport) -> Told {
    (
        report.converged,
        [
            report.merit(),
            report.contact_error,
            report.dynamics_error,
            report.local_error,
        ],
        [
            report.sweeps,
            report.dual_sweeps,
            report.admm_iterations,
            report.newton_iterations,
            report.factorisations,
        ],
        report.method,
        report.yielding,
    )
}

#[pymethods]
impl FrictionProblem {
    /// Entries of the matrix, `b` by node, and arrays of contacts: nodes (M, 4) with -1 in unused places, weights (M, 4),
    /// frames (M, 3, 3) with rows n, t1, t2, coefficients (M, 2) and offsets (M, 3). `free` (N, 3) and `inertia` (N) may
    /// be empty.
    #[new]
    #[allow(clippy::too_many_arguments)] // one array each
    fn new(
        entries: (
            PyReadonlyArray1<'_, i64>,
            PyReadonlyArray1<'_, i64>,
            PyReadonlyArray1<'_, f64>,
        ),
        b: PyReadonlyArrayDyn<'_, f64>,
        nodes: PyReadonlyArrayDyn<'_, i32>,
        weights: PyReadonlyArrayDyn<'_, f64>,
        frames: PyReadonlyArrayDyn<'_, f64>,
        friction: PyReadonlyArrayDyn<'_, f64>,
        offsets: PyReadonlyArrayDyn<'_, f64>,
        free: PyReadonlyArrayDyn<'_, u8>,
        inertia: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Self> {
        let b: &[Vec3] = rows("b", &b, &[3])?;
        let (i, j) = (flat("rows", &entries.0)?, flat("columns", &entries.1)?);
        let values = flat("values", &entries.2)?;
        let (pattern, matrix) =
            symmetric_from_triplets(b.len(), i, j, values).map_err(errors::value)?;
        let nodes: &[[i32; 4]] = rows("nodes", &nodes, &[4])?;
        let weights: &[[f64; 4]] = rows("weights", &weights, &[4])?;
        let frames: &[[f64; 9]] = rows("E", &frames, &[3, 3])?;
        let friction: &[[f64; 2]] = rows("mu", &friction, &[2])?;
        let offsets: &[Vec3] = rows("uf", &offsets, &[3])?;
        let lengths = [weights.len(), frames.len(), friction.len(), offsets.len()];
        if lengths.iter().any(|n| *n != nodes.len()) {
            return Err(PyValueError::new_err(
                "nodes, weights, E, mu and uf have different lengths",
            ));
        }
        let contact = |c: usize| Contact {
            nodes: nodes[c].map(|n| u32::try_from(n).unwrap_or(NO_NODE)),
            weights: weights[c],
            frame: Mat3::from_cols_array(&frames[c]).transpose(),
            friction: friction[c],
            offset: offsets[c],
        };
        let free: &[[u8; 3]] = rows("free", &free, &[3])?;
        Ok(Self {
            contacts: (0..nodes.len()).map(contact).collect(),
            pattern,
            matrix,
            b: b.to_vec(),
            free: free.iter().map(|f| f.map(|k| k != 0)).collect(),
            inertia: flat("inertia", &inertia)?.to_vec(),
        })
    }

    /// Solves from a start: velocities (N, 3), relative velocities and impulses (M, 3), states (0 apart, 1 sticks, 2
    /// slides) and what was reached.
    fn solve<'py>(
        &self,
        py: Python<'py>,
        start: (PyReadonlyArrayDyn<'py, f64>, PyReadonlyArrayDyn<'py, f64>),
        tolerance: f64,
        method: &str,
        budget: (usize, usize, usize),
        threads: usize,
    ) -> PyResult<(
        Bound<'py, PyArray2<f64>>,
        Bound<'py, PyArray2<f64>>,
        Bound<'py, PyArray2<f64>>,
        Bound<'py, PyArray1<u8>>,
        Told,
    )> {
        let mut v: Vec<Vec3> = rows("v0", &start.0, &[3])?.to_vec();
        let mut r: Vec<Vec3> = rows("r0", &start.1, &[3])?.to_vec();
        let params = SolveParams {
            tolerance,
            method: self::method(method)?,
            max_sweeps: budget.0,
            max_factorisations: budget.1,
            max_admm_iterations: budget.2,
            ..SolveParams::default()
        };
        let pool = threads::pool(threads)?;
        let solved = py.detach(|| {
            pool.install(|| {
                let problem = self.problem();
                let report = Solver::default().solve(&problem, &params, &mut v, &mut r)?;
                let mut found = Vec::new();
                states(&problem, &v, &r, &mut found);
                let u: Vec<Vec3> = self.contacts.iter().map(|c| c.velocity(&v)).collect();
                Ok::<_, muslin_friction::FrictionError>((report, found, u))
            })
        });
        let (report, found, u) = solved.map_err(errors::value)?;
        let code = |s: &State| match s {
            State::Separate => 0,
            State::Stick => 1,
            State::Slide => 2,
        };
        Ok((
            from_vectors(py, &v)?,
            from_vectors(py, &u)?,
            from_vectors(py, &r)?,
            list(py, found.iter().map(code).collect()),
            told(report),
        ))
    }
}
