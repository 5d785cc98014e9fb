//! Collision queries, intersections and distances on arrays.

use crate::arrays::{faces, list, rows, table, vectors};
use crate::{errors, threads};
use muslin_geometry::ccd::{CcdParams, edge_edge_motions, vertex_face_motions};
use muslin_geometry::distance::{SurfaceDistance, edge_edge, point_triangle};
use muslin_geometry::{InputError, intersect};
use muslin_linalg::Vec3;
use numpy::{PyArray1, PyArray2, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

/// Rows of one task.
const CHUNK: usize = 512;

/// Two arrays that belong together row by row.
type Two<'py> = (PyReadonlyArrayDyn<'py, f64>, PyReadonlyArrayDyn<'py, f64>);

/// First contact times on the way from the first positions to the second: of vertices (the first corner) and faces (the
/// other three), or of `edges` (the first two corners, the last two).
#[pyfunction]
pub fn impact_times<'py>(
    py: Python<'py>,
    edges: bool,
    motion: Two<'py>,
    separation: f64,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let x0: &[[Vec3; 4]] = rows("x0", &motion.0, &[4, 3])?;
    let x1: &[[Vec3; 4]] = rows("x1", &motion.1, &[4, 3])?;
    let params = CcdParams {
        separation,
        gap_cap: separation,
        ..CcdParams::default()
    };
    let times = if edges {
        edge_edge_motions
    } else {
        vertex_face_motions
    };
    let pool = threads::pool(threads)?;
    let found = py.detach(|| pool.install(|| times(x0, x1, &params)));
    Ok(list(py, found.map_err(errors::value)?))
}

fn pairs<'py>(
    py: Python<'py>,
    found: Result<Vec<[u32; 2]>, InputError>,
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    let found = found.map_err(errors::value)?;
    table(
        py,
        bytemuck::allocation::cast_vec::<[u32; 2], [i32; 2]>(found),
    )
}

/// Pairs of faces of a mesh that intersect.
#[pyfunction]
pub fn self_intersections<'py>(
    py: Python<'py>,
    positions: PyReadonlyArrayDyn<'py, f64>,
    triangles: PyReadonlyArrayDyn<'py, i32>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    let (x, f) = (vectors("V", &positions)?, faces("F", &triangles)?);
    let pool = threads::pool(threads)?;
    pairs(
        py,
        py.detach(|| pool.install(|| intersect::self_intersections(x, &f))),
    )
}

/// Pairs of faces of two meshes that intersect.
#[pyfunction]
pub fn intersections_between<'py>(
    py: Python<'py>,
    first: (PyReadonlyArrayDyn<'py, f64>, PyReadonlyArrayDyn<'py, i32>),
    second: (PyReadonlyArrayDyn<'py, f64>, PyReadonlyArrayDyn<'py, i32>),
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    let (x, f) = (vectors("V", &first.0)?, faces("F", &first.1)?);
    let (y, g) = (vectors("V2", &second.0)?, faces("F2", &second.1)?);
    let pool = threads::pool(threads)?;
    pairs(
        py,
        py.detach(|| pool.install(|| intersect::intersections_between(x, &f, y, &g))),
    )
}

/// Distances, and what says where the closest points are.
type Distances<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

/// Measures two lists against each other, row by row.
fn measured<'py, A: Sync, B: Sync, const N: usize>(
    py: Python<'py>,
    (name, first): (&str, &[A]),
    (other, second): (&str, &[B]),
    threads: usize,
    measure: impl Fn(&A, &B) -> (f64, [f64; N]) + Send + Sync,
) -> PyResult<Distances<'py>> {
    if first.len() != second.len() {
        return Err(PyValueError::new_err(format!(
            "{name} has {} rows and {other} has {}; they must be as many",
            first.len(),
            second.len()
        )));
    }
    let pool = threads::pool(threads)?;
    let found: (Vec<f64>, Vec<[f64; N]>) = py.detach(|| {
        pool.install(|| {
            let each = first.par_iter().with_min_len(CHUNK).zip(second);
            each.map(|(a, b)| measure(a, b)).unzip()
        })
    });
    Ok((list(py, found.0), table(py, found.1)?))
}

/// Distances of points (N, 3) to triangles (N, 3, 3), and the weights of the corners of the closest points.
#[pyfunction]
pub fn point_triangle_distances<'py>(
    py: Python<'py>,
    both: Two<'py>,
    threads: usize,
) -> PyResult<Distances<'py>> {
    let points = ("points", vectors("points", &both.0)?);
    let triangles: &[[Vec3; 3]] = rows("triangles", &both.1, &[3, 3])?;
    measured(py, points, ("triangles", triangles), threads, |p, t| {
        let found = point_triangle(*p, t[0], t[1], t[2]);
        (found.distance(), found.weights)
    })
}

/// Distances of edges (N, 2, 3), and where along each the closest points are.
#[pyfunction]
pub fn edge_edge_distances<'py>(
    py: Python<'py>,
    both: Two<'py>,
    threads: usize,
) -> PyResult<Distances<'py>> {
    let [first, second]: [&[[Vec3; 2]]; 2] = [
        rows("first", &both.0, &[2, 3])?,
        rows("second", &both.1, &[2, 3])?,
    ];
    measured(py, ("first", first), ("second", second), threads, |a, b| {
        let found = edge_edge(a[0], a[1], b[0], b[1]);
        (found.distance(), found.parameters)
    })
}

/// Signed distances of points to a surface, the closest points, and the faces on which these are.
#[pyfunction]
pub fn closest_points<'py>(
    py: Python<'py>,
    points: PyReadonlyArrayDyn<'py, f64>,
    positions: PyReadonlyArrayDyn<'py, f64>,
    triangles: PyReadonlyArrayDyn<'py, i32>,
    threads: usize,
) -> PyResult<(
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<i32>>,
)> {
    let points = vectors("points", &points)?;
    let (x, f) = (vectors("V", &positions)?, faces("F", &triangles)?);
    if f.is_empty() {
        return Err(PyValueError::new_err("F is empty: there is no surface"));
    }
    let pool = threads::pool(threads)?;
    let found = py.detach(|| {
        pool.install(|| {
            let surface = SurfaceDistance::new(x, &f)?;
            let mut found = Vec::new();
            surface.closest_all(points, f64::INFINITY, &mut found);
            Ok::<_, InputError>(found)
        })
    });
    let found = found.map_err(errors::value)?;
    let (mut distances, mut places, mut on) = (Vec::new(), Vec::new(), Vec::new());
    for (i, point) in found.into_iter().enumerate() {
        let point = point
            .ok_or_else(|| PyValueError::new_err(format!("points[{i}] is not a finite number")))?;
        distances.push(point.signed_distance);
        places.push(point.position.to_array());
        on.push(point.face as i32);
    }
    Ok((list(py, distances), table(py, places)?, list(py, on)))
}
