//! Values of Python as values of a scene.

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::{Table, Value};

/// Tables inside tables, at most: deeper ones are made by mistake, such as a table that contains itself.
const DEEPEST: usize = 32;

/// A dict with text keys as a table.
pub fn table(value: &Bound<'_, PyDict>) -> PyResult<Table> {
    dict(value, "", 0)
}

/// Any value that a scene can hold.
pub fn convert(value: &Bound<'_, PyAny>, key: &str) -> PyResult<Value> {
    nested(value, key, 0)
}

fn dict(value: &Bound<'_, PyDict>, key: &str, depth: usize) -> PyResult<Table> {
    let mut table = Table::new();
    for (name, inner) in value.iter() {
        let Ok(name) = name.cast::<PyString>() else {
            return Err(PyTypeError::new_err(format!(
                "the keys of {} must be text, but {} is not",
                place(key),
                name.repr()?
            )));
        };
        let name = name.to_str()?;
        let key = join(key, name);
        table.insert(name.to_owned(), nested(&inner, &key, depth + 1)?);
    }
    Ok(table)
}

fn nested(value: &Bound<'_, PyAny>, key: &str, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!(
            "{} is nested too deeply for a scene",
            place(key)
        )));
    }
    // Truth values are whole numbers to Python, so they come first.
    if let Ok(b) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(b.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.to_owned()));
    }
    if value.cast::<PyFloat>().is_ok() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.cast::<PyInt>().is_ok() {
        let number = value.extract::<i64>();
        return number
            .map(Value::Integer)
            .map_err(|_| PyValueError::new_err(format!("{} is too large a number", place(key))));
    }
    if let Ok(inner) = value.cast::<PyDict>() {
        return Ok(Value::Table(dict(inner, key, depth)?));
    }
    if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
        let mut items = Vec::with_capacity(value.len()?);
        for (i, item) in value.try_iter()?.enumerate() {
            items.push(nested(&item?, &join(key, &i.to_string()), depth + 1)?);
        }
        return Ok(Value::Array(items));
    }
    // Arrays and single numbers of NumPy know how to become lists and numbers.
    let numpy = value.cast::<PyUntypedArray>().is_ok();
    if numpy || value.hasattr("dtype")? {
        let plain = value.call_method0("tolist")?;
        return nested(&plain, key, depth + 1);
    }
    if value.hasattr("__fspath__")? {
        let path = value.call_method0("__fspath__")?;
        return nested(&path, key, depth + 1);
    }
    Err(PyTypeError::new_err(format!(
        "{} is {}, which a scene cannot hold; use numbers, text, truth values, lists, dicts or arrays",
        place(key),
        value.get_type().name()?
    )))
}

fn place(key: &str) -> String {
    if key.is_empty() {
        "the scene".into()
    } else {
        format!("`{key}`")
    }
}

fn join(key: &str, name: &str) -> String {
    if key.is_empty() {
        name.into()
    } else {
        format!("{key}.{name}")
    }
}
