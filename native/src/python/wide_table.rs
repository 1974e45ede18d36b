//! Wide tables as a Python class.

use pyo3::prelude::*;

use super::errors::{raise, usage, wrong_class};
use super::integers::integer;
use crate::core::wide::WideTable as Core;

/// A symmetric table of 128-bit precision, made once and drawn from often.
#[pyclass(frozen, module = "commitments._native")]
pub struct WideTable(Core);

impl WideTable {
    pub fn new(lower: &Bound<'_, PyAny>) -> PyResult<Self> {
        let items = lower.try_iter().map_err(|_| usage("a sequence of integers is needed"))?;
        let bounds = items.map(|item| bound(&item?)).collect::<PyResult<Vec<_>>>()?;
        Ok(Self(Core::new(bounds).map_err(raise)?))
    }

    /// The table of an argument.
    pub fn of<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a Core> {
        match object.cast::<Self>() {
            Ok(table) => Ok(&table.get().0),
            Err(_) => Err(wrong_class(object, "a wide table")),
        }
    }
}

#[pymethods]
impl WideTable {
    #[getter]
    fn radius(&self) -> usize {
        self.0.radius()
    }

    fn __repr__(&self) -> String {
        format!("<WideTable: radius {}>", self.0.radius())
    }
}

fn bound(value: &Bound<'_, PyAny>) -> PyResult<u128> {
    let wide = integer(value)?.extract();
    wide.map_err(|_| usage("a bound of a wide table lies between 0 and 2^127"))
}
