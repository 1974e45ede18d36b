//! Single group elements.

use std::sync::OnceLock;

use curve25519_dalek::RistrettoPoint;
use curve25519_dalek::traits::IsIdentity;
use pyo3::class::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::operands::{point, scalar};
use super::restore;
use crate::core::codec::SIZE;
use crate::core::points::Points;

/// A group element. Multiplication by a scalar takes constant time.
#[pyclass(frozen, module = "commitments._native")]
pub struct Point {
    value: RistrettoPoint,
    encoding: OnceLock<[u8; SIZE]>,
}

impl Point {
    pub fn new(value: RistrettoPoint) -> Self {
        Self { value, encoding: OnceLock::new() }
    }

    /// One of several, with its encoding if that is known.
    pub fn pick(points: &Points, index: usize) -> Self {
        let encoding = points.known_encoding(index).map_or_else(OnceLock::new, OnceLock::from);
        Self { value: points.values()[index], encoding }
    }

    pub fn value(&self) -> &RistrettoPoint {
        &self.value
    }

    pub fn known_encoding(&self) -> Option<&[u8; SIZE]> {
        self.encoding.get()
    }

    fn encoding(&self) -> &[u8; SIZE] {
        self.encoding.get_or_init(|| self.value.compress().to_bytes())
    }
}

#[pymethods]
impl Point {
    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::new(self.value + point(other)?.get().value))
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::new(self.value - point(other)?.get().value))
    }

    fn __neg__(&self) -> Self {
        Self::new(-self.value)
    }

    fn __mul__(&self, scalar_: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::new(self.value * scalar(scalar_)?.0))
    }

    fn is_identity(&self) -> bool {
        self.value.is_identity()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.encoding())
    }

    fn __richcmp__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        op: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        super::equality(py, op, other.cast::<Self>().ok().map(|o| self.value == o.get().value))
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.to_bytes(py).hash()
    }

    fn __repr__(&self) -> String {
        format!("<Point {}>", super::short_hex(self.encoding()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        restore::reduce(py, "restore_point", &self.to_bytes(py))
    }
}
