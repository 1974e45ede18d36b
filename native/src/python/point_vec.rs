//! Vectors of group elements.

use curve25519_dalek::RistrettoPoint;
use pyo3::class::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PyTuple};

use super::arguments::items;
use super::batch::{nanos, run, run_in_pieces};
use super::errors::raise;
use super::indices::{Index, positions, sizes};
use super::integers::size;
use super::operands::{point_or_vector, points, public_vector, scalar_or_vector, vector};
use super::point::Point;
use super::restore;
use crate::core::codec::encode_points;
use crate::core::points::{self as core, Points};
use crate::core::scalars::check_len;
use crate::core::workers::Workers;
use crate::core::{bounded_msm, msm};

/// Large sums are cheaper for each term, so small pieces would waste time.
const MSM_PIECE: usize = 4096;
const CT_MSM_PIECE: usize = 128;

/// A vector of group elements.
#[pyclass(frozen, module = "commitments._native")]
pub struct PointVec(Points);

impl PointVec {
    pub fn new(points: Points) -> Self {
        Self(points)
    }

    pub fn points(&self) -> &Points {
        &self.0
    }

    fn values(&self) -> &[RistrettoPoint] {
        self.0.values()
    }
}

impl From<Vec<RistrettoPoint>> for PointVec {
    fn from(values: Vec<RistrettoPoint>) -> Self {
        Self(Points::new(values))
    }
}

#[pymethods]
impl PointVec {
    fn __len__(&self) -> usize {
        self.values().len()
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Ok(match Index::of(key, self.values().len())? {
            Index::At(position) => Py::new(py, Point::pick(&self.0, position))?.into_any(),
            Index::Many(chosen) => {
                Py::new(py, Self(self.0.select(chosen.iter().copied())))?.into_any()
            }
        })
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        let points = &slf.get().0;
        let items: Vec<Point> =
            (0..points.values().len()).map(|i| Point::pick(points, i)).collect();
        PyList::new(slf.py(), items)?.try_iter()
    }

    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (left, right) = (self.values(), point_or_vector(other)?);
        right.check_len(left.len()).map_err(raise)?;
        let sum = |i: usize| left[i] + right.at(i);
        Ok(run(py, left.len(), nanos::POINT_ADD, |w| core::build(w, left.len(), sum)).into())
    }

    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (left, right) = (self.values(), point_or_vector(other)?);
        right.check_len(left.len()).map_err(raise)?;
        let difference = |i: usize| left[i] - right.at(i);
        Ok(run(py, left.len(), nanos::POINT_ADD, |w| core::build(w, left.len(), difference)).into())
    }

    fn __neg__(&self, py: Python<'_>) -> Self {
        let points = self.values();
        run(py, points.len(), nanos::SCALAR_ADD, |w| core::build(w, points.len(), |i| -points[i]))
            .into()
    }

    fn __mul__(&self, py: Python<'_>, scalars: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (points, factors) = (self.values(), scalar_or_vector(scalars)?.values);
        factors.check_len(points.len()).map_err(raise)?;
        let work = |w: &_| core::multiply(w, points, factors);
        Ok(run(py, points.len(), nanos::POINT_MUL, work).into())
    }

    fn sum(&self, py: Python<'_>) -> Point {
        let points = self.values();
        Point::new(run(py, points.len(), nanos::POINT_ADD, |w| core::sum(w, points)))
    }

    #[pyo3(signature = (scalars, /))]
    fn msm(&self, py: Python<'_>, scalars: &Bound<'_, PyAny>) -> PyResult<Point> {
        let (points, (factors, _)) = (self.values(), vector(scalars)?);
        check_len(points.len(), factors.len()).map_err(raise)?;
        let work = |w: &_| core::msm(w, factors, points);
        Ok(Point::new(run_in_pieces(py, points.len(), nanos::CT_MSM_TERM, CT_MSM_PIECE, work)))
    }

    #[pyo3(signature = (rows, /, *, bits = None))]
    fn msms(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        bits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let points = self.values();
        let objects = items(rows, "vectors of scalars")?;
        let rows = objects.iter().map(|o| Ok(vector(o)?.0)).collect::<PyResult<Vec<_>>>()?;
        for row in &rows {
            check_len(points.len(), row.len()).map_err(raise)?;
        }
        let Some(bits) = bits else {
            let sum = |i: usize| core::msm(&Workers::INLINE, rows[i], points);
            let nanos = points.len().saturating_mul(nanos::CT_MSM_TERM);
            return Ok(run(py, rows.len(), nanos, |w| core::build(w, rows.len(), sum)).into());
        };
        let bits = size(bits, "the number of bits")?;
        let digits = rows.len().saturating_mul(bits / 4 + 1);
        let nanos = digits.saturating_mul(nanos::DIGIT).saturating_add(8 * nanos::POINT_ADD);
        let work = |w: &_| bounded_msm::bounded_msms(w, &rows, &self.0, bits);
        Ok(run(py, points.len(), nanos, work).map_err(raise)?.into())
    }

    #[pyo3(signature = (scalars, /))]
    fn vartime_msm(&self, py: Python<'_>, scalars: &Bound<'_, PyAny>) -> PyResult<Point> {
        let (points, factors) = (self.values(), public_vector(scalars)?);
        check_len(points.len(), factors.len()).map_err(raise)?;
        let work = |w: &_| msm::vartime_msm(w, factors, points);
        Ok(Point::new(run_in_pieces(py, points.len(), nanos::MSM_TERM, MSM_PIECE, work)))
    }

    #[pyo3(signature = (scalars, lengths, /))]
    fn vartime_segment_msm(
        &self,
        py: Python<'_>,
        scalars: &Bound<'_, PyAny>,
        lengths: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (points, factors) = (self.values(), public_vector(scalars)?);
        check_len(points.len(), factors.len()).map_err(raise)?;
        let lengths = sizes(lengths, "a segment length")?;
        let segments = msm::segments(&lengths, points.len()).map_err(raise)?;
        let sums = |across: &_, within: &_| {
            msm::vartime_segment_msm(across, within, factors, points, &segments)
        };
        let mean = points.len() / segments.len().max(1);
        Ok(if mean < MSM_PIECE {
            let nanos = mean.saturating_mul(nanos::MSM_TERM).saturating_add(nanos::POINT_MUL);
            run(py, segments.len(), nanos, |w| sums(w, &Workers::INLINE))
        } else {
            run_in_pieces(py, mean, nanos::MSM_TERM, MSM_PIECE, |w| sums(&Workers::INLINE, w))
        }
        .into())
    }

    #[pyo3(signature = (indices, /))]
    fn gather(&self, indices: &Bound<'_, PyAny>) -> PyResult<Self> {
        let chosen = positions(indices, self.values().len())?;
        Ok(Self(self.0.select(chosen.iter().copied())))
    }

    #[pyo3(signature = (other, /))]
    fn concat(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(self.0.concat(&points(other)?.get().0)))
    }

    fn find_identity(&self, py: Python<'_>) -> Option<usize> {
        run(py, self.0.values().len(), nanos::POINT_ADD, |_| core::find_identity(&self.0))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        if let Some(known) = self.0.known_encodings() {
            return PyBytes::new(py, known);
        }
        let work = |w: &_| encode_points(w, self.values());
        let encodings = run(py, self.values().len(), nanos::CODEC, work);
        PyBytes::new(py, self.0.remember(encodings))
    }

    fn __richcmp__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        op: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let same = |o: &Bound<'_, Self>| self.values() == o.get().values();
        super::equality(py, op, other.cast::<Self>().ok().map(same))
    }

    fn __repr__(&self) -> String {
        format!("<PointVec: {} points>", self.values().len())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        restore::reduce(py, "restore_points", &self.to_bytes(py))
    }
}
