//! NumPy arrays in and out.

use bytemuck::Pod;
use muslin_linalg::Vec3;
use numpy::{Element, IntoPyArray, PyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray};
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods, ndarray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Rows of an array whose first axis counts them and whose others are `inner`.
pub fn rows<'a, T: Element + Pod, R: Pod>(
    name: &str,
    array: &'a PyReadonlyArrayDyn<'_, T>,
    inner: &[usize],
) -> PyResult<&'a [R]> {
    let shape = array.shape();
    if shape.len() != inner.len() + 1 || &shape[1..] != inner {
        let wanted: Vec<String> = inner.iter().map(ToString::to_string).collect();
        return Err(PyValueError::new_err(format!(
            "{name} has shape {shape:?}, but (N, {}) is needed",
            wanted.join(", ")
        )));
    }
    let flat = flat(name, array)?;
    bytemuck::try_cast_slice(flat)
        .map_err(|e| PyValueError::new_err(format!("{name} cannot be read: {e}")))
}

/// All numbers of an array.
pub fn flat<'a, T: Element, D: ndarray::Dimension>(
    name: &str,
    array: &'a PyReadonlyArray<'_, T, D>,
) -> PyResult<&'a [T]> {
    array
        .as_slice()
        .map_err(|_| PyValueError::new_err(format!("{name} is not contiguous in memory")))
}

/// Positions, velocities or forces: (N, 3).
pub fn vectors<'a>(name: &str, array: &'a PyReadonlyArrayDyn<'_, f64>) -> PyResult<&'a [Vec3]> {
    rows(name, array, &[3])
}

/// Faces as indices; whether the vertices exist is for the engine to check.
pub fn faces(name: &str, array: &PyReadonlyArrayDyn<'_, i32>) -> PyResult<Vec<[u32; 3]>> {
    let rows: &[[i32; 3]] = rows(name, array, &[3])?;
    let mut faces = Vec::with_capacity(rows.len());
    for (i, row) in rows.iter().enumerate() {
        if row.iter().any(|v| *v < 0) {
            return Err(PyValueError::new_err(format!(
                "face {i} of {name} names a vertex below 0"
            )));
        }
        faces.push(row.map(|v| v as u32));
    }
    Ok(faces)
}

/// A matrix of rows, moved to Python without copying its numbers.
pub fn table<'py, T: Element, const N: usize>(
    py: Python<'py>,
    rows: Vec<[T; N]>,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let shape = [rows.len(), N];
    rows.into_flattened().into_pyarray(py).reshape(shape)
}

/// Vectors as (N, 3).
pub fn from_vectors<'py>(py: Python<'py>, vectors: &[Vec3]) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let flat: &[f64] = bytemuck::cast_slice(vectors);
    PyArray1::from_slice(py, flat).reshape([vectors.len(), 3])
}

/// Writes vectors into an array of the caller's.
pub fn write_vectors(
    out: &Bound<'_, PyArray<f64, ndarray::IxDyn>>,
    vectors: &[Vec3],
) -> PyResult<()> {
    let shape = out.shape().to_vec();
    if shape != [vectors.len(), 3] {
        return Err(PyValueError::new_err(format!(
            "out has shape {shape:?}, but ({}, 3) is needed",
            vectors.len()
        )));
    }
    let mut out = out
        .try_readwrite()
        .map_err(|e| PyValueError::new_err(format!("out cannot be written: {e}")))?;
    let slice = out
        .as_slice_mut()
        .map_err(|_| PyValueError::new_err("out is not contiguous in memory"))?;
    slice.copy_from_slice(bytemuck::cast_slice(vectors));
    Ok(())
}

/// Numbers as a list of rows of one.
pub fn list<T: Element>(py: Python<'_>, numbers: Vec<T>) -> Bound<'_, PyArray1<T>> {
    numbers.into_pyarray(py)
}
