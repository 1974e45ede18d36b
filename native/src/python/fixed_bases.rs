//! Precomputed tables as a Python class.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::batch::{nanos, run};
use super::errors::{raise, usage};
use super::operands::vector;
use super::point_vec::PointVec;
use crate::core::fixed_bases::FixedBases as Tables;
use crate::core::scalars::check_len;

/// Precomputed tables for a few bases that are multiplied very often.
#[pyclass(frozen, module = "commitments._native")]
pub struct FixedBases(Tables);

impl FixedBases {
    pub fn new(py: Python<'_>, bases: &PointVec) -> PyResult<Self> {
        let points = bases.points().values();
        if points.is_empty() {
            return Err(usage("fixed bases need at least one base"));
        }
        Ok(Self(run(py, points.len(), 5 * nanos::POINT_MUL, |w| Tables::new(w, points))))
    }
}

#[pymethods]
impl FixedBases {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[pyo3(signature = (*columns))]
    fn combine(&self, py: Python<'_>, columns: &Bound<'_, PyTuple>) -> PyResult<PointVec> {
        if columns.len() != self.0.len() {
            let (bases, given) = (self.0.len(), columns.len());
            return Err(usage(format!(
                "one column for each of {bases} bases is needed, not {given}"
            )));
        }
        let objects: Vec<_> = columns.iter().collect();
        let vectors = objects.iter().map(|o| Ok(vector(o)?.0)).collect::<PyResult<Vec<_>>>()?;
        let rows = vectors.first().map_or(0, |v| v.len());
        for column in &vectors {
            check_len(rows, column.len()).map_err(raise)?;
        }
        let nanos = self.0.len().saturating_mul(nanos::POINT_MUL / 2);
        Ok(PointVec::new(run(py, rows, nanos, |w| self.0.combine(w, &vectors, rows))))
    }

    fn __repr__(&self) -> String {
        format!("<FixedBases: {} bases>", self.0.len())
    }
}
