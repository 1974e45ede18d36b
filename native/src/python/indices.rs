//! Indices and slices with Python's meaning.

use pyo3::prelude::*;
use pyo3::types::PySlice;

use super::errors::usage;
use super::integers::{integer, size};

/// What stands between the brackets.
pub enum Index {
    /// One position.
    At(usize),
    /// Positions in this order.
    Many(Vec<usize>),
}

impl Index {
    /// Resolve an index or a slice against a length.
    pub fn of(key: &Bound<'_, PyAny>, len: usize) -> PyResult<Self> {
        if let Ok(slice) = key.cast::<PySlice>() {
            let span = slice
                .indices(len.cast_signed())
                .map_err(|_| usage("a slice takes integers and a step other than zero"))?;
            let mut position = span.start;
            let mut positions = Vec::with_capacity(span.slicelength);
            for _ in 0..span.slicelength {
                positions.push(position.cast_unsigned());
                position += span.step;
            }
            return Ok(Self::Many(positions));
        }
        let index: isize =
            integer(key)?.extract().map_err(|_| usage("the index does not fit a machine word"))?;
        let from_start = if index < 0 { index + len.cast_signed() } else { index };
        match usize::try_from(from_start) {
            Ok(position) if position < len => Ok(Self::At(position)),
            _ => Err(usage(format!("index {index} is outside a vector of {len}"))),
        }
    }
}

/// The positions of a `gather`.
pub fn positions(indices: &Bound<'_, PyAny>, len: usize) -> PyResult<Vec<usize>> {
    let positions = sizes(indices, "an index")?;
    match positions.iter().find(|&&position| position >= len) {
        Some(bad) => Err(usage(format!("index {bad} is outside a vector of {len}"))),
        None => Ok(positions),
    }
}

/// A sequence of sizes.
pub fn sizes(values: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<usize>> {
    let items = values.try_iter().map_err(|_| usage("a sequence of integers is needed"))?;
    items.map(|item| size(&item?, what)).collect()
}
