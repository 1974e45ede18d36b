//! Arguments that are group objects, and results that may be secret.

use curve25519_dalek::Scalar as Number;
use pyo3::prelude::*;

use super::errors::wrong_class;
use super::point::Point;
use super::point_vec::PointVec;
use super::scalar::{Scalar, SecretScalar};
use super::scalar_vec::{ScalarVec, SecretScalarVec};
use crate::core::points::Operands;
use crate::core::scalars::Values;

/// Scalars of an argument, and whether they are secret.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    pub values: Values<'a>,
    pub secret: bool,
}

/// A scalar or a vector of scalars, public or secret.
pub fn scalar_or_vector<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Operand<'a>> {
    if let Ok(vector) = vector(object) {
        return Ok(Operand { values: Values::Many(vector.0), secret: vector.1 });
    }
    let (value, secret) =
        scalar(object).map_err(|_| wrong_class(object, "a scalar or a vector of scalars"))?;
    Ok(Operand { values: Values::One(value), secret })
}

/// A public or secret scalar, and whether it is secret.
pub fn scalar<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<(&'a Number, bool)> {
    if let Ok(public) = object.cast::<Scalar>() {
        return Ok((public.get().value(), false));
    }
    match object.cast::<SecretScalar>() {
        Ok(secret) => Ok((secret.get().value(), true)),
        Err(_) => Err(wrong_class(object, "a scalar")),
    }
}

/// A public or secret vector, and whether it is secret.
pub fn vector<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<(&'a [Number], bool)> {
    if let Ok(public) = object.cast::<ScalarVec>() {
        return Ok((public.get().values(), false));
    }
    match object.cast::<SecretScalarVec>() {
        Ok(secret) => Ok((secret.get().values(), true)),
        Err(_) => Err(wrong_class(object, "a vector of scalars")),
    }
}

/// A scalar for a variable-time operation.
pub fn public_scalar<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a Number> {
    let public = object.cast::<Scalar>().map_err(|_| wrong_class(object, "a public scalar"))?;
    Ok(public.get().value())
}

/// A vector for a variable-time operation.
pub fn public_vector<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a [Number]> {
    let wanted = "a public vector of scalars";
    let public = object.cast::<ScalarVec>().map_err(|_| wrong_class(object, wanted))?;
    Ok(public.get().values())
}

/// A point or a vector of points.
pub fn point_or_vector<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Operands<'a>> {
    if let Ok(vector) = object.cast::<PointVec>() {
        return Ok(Operands::Many(vector.get().points().values()));
    }
    match object.cast::<Point>() {
        Ok(point) => Ok(Operands::One(point.get().value())),
        Err(_) => Err(wrong_class(object, "a point or a vector of points")),
    }
}

/// One point.
pub fn point<'a, 'py>(object: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, Point>> {
    object.cast::<Point>().map_err(|_| wrong_class(object, "a point"))
}

/// A vector of points.
pub fn points<'a, 'py>(object: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PointVec>> {
    object.cast::<PointVec>().map_err(|_| wrong_class(object, "a vector of points"))
}

/// The Python object for a scalar: secrecy spreads.
pub fn wrap_scalar(py: Python<'_>, value: Number, secret: bool) -> PyResult<Py<PyAny>> {
    Ok(if secret {
        Py::new(py, SecretScalar::new(value))?.into_any()
    } else {
        Py::new(py, Scalar::new(value))?.into_any()
    })
}

/// The Python object for a vector: secrecy spreads.
pub fn wrap_vector(py: Python<'_>, values: Vec<Number>, secret: bool) -> PyResult<Py<PyAny>> {
    Ok(if secret {
        Py::new(py, SecretScalarVec::new(values))?.into_any()
    } else {
        Py::new(py, ScalarVec::new(values))?.into_any()
    })
}
