//! Single scalars, public and secret.

use curve25519_dalek::Scalar as Number;
use pyo3::class::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use zeroize::Zeroizing;

use super::errors::{raise, refuse};
use super::integers;
use super::operands::{scalar, wrap_scalar};
use super::restore;
use crate::core::scalars::inverse;

/// A public integer mod the group order.
#[pyclass(frozen, module = "commitments._native")]
pub struct Scalar(Number);

/// A secret integer mod the group order, erased when dropped.
#[pyclass(frozen, module = "commitments._native")]
pub struct SecretScalar(Zeroizing<Number>);

impl Scalar {
    pub fn new(value: Number) -> Self {
        Self(value)
    }

    pub fn value(&self) -> &Number {
        &self.0
    }
}

impl SecretScalar {
    pub fn new(value: Number) -> Self {
        Self(Zeroizing::new(value))
    }

    pub fn value(&self) -> &Number {
        &self.0
    }
}

/// The arithmetic that both kinds share, followed by what only one of them has.
macro_rules! scalar_methods {
    ($class:ident, secret: $secret:literal, { $($own:tt)* }) => {
        #[pymethods]
        impl $class {
            fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                let (right, secret) = scalar(other)?;
                wrap_scalar(py, self.value() + right, secret || $secret)
            }

            fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                let (right, secret) = scalar(other)?;
                wrap_scalar(py, self.value() - right, secret || $secret)
            }

            fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                let (right, secret) = scalar(other)?;
                wrap_scalar(py, self.value() * right, secret || $secret)
            }

            fn __neg__(&self) -> Self {
                Self::new(-self.value())
            }

            $($own)*
        }
    };
}

scalar_methods!(Scalar, secret: false, {
    fn inverse(&self) -> PyResult<Self> {
        Ok(Self::new(inverse(&self.0).map_err(raise)?))
    }

    fn is_zero(&self) -> bool {
        self.0 == Number::ZERO
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        integers::to_int(py, &self.0)
    }

    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        super::equality(py, op, other.cast::<Self>().ok().map(|o| self.0 == o.get().0))
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.to_bytes(py).hash()
    }

    fn __repr__(&self) -> String {
        format!("<Scalar {}>", super::short_hex(self.0.as_bytes()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        restore::reduce(py, "restore_scalar", &self.to_bytes(py))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.as_bytes())
    }

    fn secret(&self) -> SecretScalar {
        SecretScalar::new(self.0)
    }
});

scalar_methods!(SecretScalar, secret: true, {
    fn reveal(&self) -> Scalar {
        Scalar::new(*self.0)
    }

    fn __repr__(&self) -> &'static str {
        "<SecretScalar>"
    }

    fn __richcmp__(&self, _other: &Bound<'_, PyAny>, _op: CompareOp) -> PyResult<bool> {
        refuse("compared")
    }

    fn __hash__(&self) -> PyResult<isize> {
        refuse("hashed")
    }

    fn __bool__(&self) -> PyResult<bool> {
        refuse("tested for truth")
    }

    fn __int__(&self) -> PyResult<Py<PyAny>> {
        refuse("turned into a number")
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        refuse("pickled or copied")
    }
});
