//! Pickling of public values, as their strict encodings.

use curve25519_dalek::Scalar as Number;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::batch::{nanos, run};
use super::errors::raise;
use super::point::Point;
use super::point_vec::PointVec;
use super::scalar::Scalar;
use super::scalar_vec::ScalarVec;
use crate::core::codec::{SIZE, decode_points, decode_scalars};
use crate::core::fault::Fault;
use crate::core::points::Points;

/// What `__reduce__` answers: call that function of this module on those bytes.
pub fn reduce<'py>(
    py: Python<'py>,
    function: &str,
    encoding: &Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyTuple>> {
    let module = py.import(intern!(py, "commitments._native"))?;
    let arguments = PyTuple::new(py, [encoding])?;
    PyTuple::new(py, [module.getattr(function)?, arguments.into_any()])
}

/// Unpickle a scalar.
#[pyfunction]
#[pyo3(signature = (encoding, /))]
pub fn restore_scalar(py: Python<'_>, encoding: &Bound<'_, PyBytes>) -> PyResult<Scalar> {
    let scalars = scalars(py, encoding.as_bytes(), 1).map_err(raise)?;
    Ok(Scalar::new(scalars[0]))
}

/// Unpickle a vector of scalars.
#[pyfunction]
#[pyo3(signature = (encodings, /))]
pub fn restore_scalars(py: Python<'_>, encodings: &Bound<'_, PyBytes>) -> PyResult<ScalarVec> {
    let data = encodings.as_bytes();
    Ok(ScalarVec::new(scalars(py, data, data.len() / SIZE).map_err(raise)?))
}

/// Unpickle a point.
#[pyfunction]
#[pyo3(signature = (encoding, /))]
pub fn restore_point(py: Python<'_>, encoding: &Bound<'_, PyBytes>) -> PyResult<Point> {
    let points = points(py, encoding.as_bytes(), 1).map_err(raise)?;
    Ok(Point::pick(&points, 0))
}

/// Unpickle a vector of points.
#[pyfunction]
#[pyo3(signature = (encodings, /))]
pub fn restore_points(py: Python<'_>, encodings: &Bound<'_, PyBytes>) -> PyResult<PointVec> {
    let data = encodings.as_bytes();
    Ok(PointVec::new(points(py, data, data.len() / SIZE).map_err(raise)?))
}

fn scalars(py: Python<'_>, data: &[u8], count: usize) -> Result<Vec<Number>, Fault> {
    run(py, count, nanos::SCALAR_MUL, |w| decode_scalars(w, data, count))
}

fn points(py: Python<'_>, data: &[u8], count: usize) -> Result<Points, Fault> {
    run(py, count, nanos::CODEC, |w| decode_points(w, data, count, true))
}
