//! Constructors and constants of the group as a Python class.

use curve25519_dalek::traits::Identity;
use curve25519_dalek::{RistrettoPoint, Scalar as Number, constants};
use pyo3::prelude::*;

use super::arguments::{array, bytes, check_room, items, secret_seed};
use super::batch::{nanos, run};
use super::errors::{raise, usage};
use super::fixed_bases::FixedBases;
use super::integers::{self, size};
use super::operands::{point, points, public_scalar, public_vector, vector, wrap_vector};
use super::point::Point;
use super::point_vec::PointVec;
use super::scalar::{Scalar, SecretScalar};
use super::scalar_vec::{ScalarVec, SecretScalarVec};
use super::stream::Stream;
use super::wide_table::WideTable;
use crate::core::codec::{SIZE, decode_points, decode_scalars, map_to_points};
use crate::core::hedged::hedged_scalars;
use crate::core::points::Points;
use crate::core::scalars::{self, check_len};
use crate::core::{cpu, lanes, workers};

/// The group ristretto255 (RFC 9496) on curve25519-dalek.
#[pyclass(frozen, module = "commitments._native")]
pub struct Ristretto255 {
    order: Py<PyAny>,
    generator: Py<Point>,
    identity: Py<Point>,
}

impl Ristretto255 {
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        Ok(Self {
            order: integers::to_int(py, &-Number::ONE)?.add(1)?.unbind(),
            generator: Py::new(py, Point::new(constants::RISTRETTO_BASEPOINT_POINT))?,
            identity: Py::new(py, Point::new(RistrettoPoint::identity()))?,
        })
    }
}

#[pymethods]
impl Ristretto255 {
    #[getter]
    fn name(&self) -> &'static str {
        "ristretto255"
    }

    #[getter]
    fn backend(&self) -> &'static str {
        "native"
    }

    #[getter]
    fn details(&self) -> String {
        let (curve, tables) = (cpu::backend(), lanes::status());
        format!("curve25519-dalek, {curve} code, tables {tables}, {} threads", workers::threads())
    }

    #[getter]
    fn order(&self) -> &Py<PyAny> {
        &self.order
    }

    #[getter]
    fn scalar_size(&self) -> usize {
        SIZE
    }

    #[getter]
    fn point_size(&self) -> usize {
        SIZE
    }

    #[getter]
    fn generator(&self) -> &Py<Point> {
        &self.generator
    }

    #[getter]
    fn identity(&self) -> &Py<Point> {
        &self.identity
    }

    #[pyo3(signature = (value, /))]
    fn scalar(&self, value: &Bound<'_, PyAny>) -> PyResult<Scalar> {
        Ok(Scalar::new(integers::scalar(value)?))
    }

    #[pyo3(signature = (value, /))]
    fn secret_scalar(&self, value: &Bound<'_, PyAny>) -> PyResult<SecretScalar> {
        Ok(SecretScalar::new(integers::scalar(value)?))
    }

    #[pyo3(signature = (values, /))]
    fn scalars(&self, values: &Bound<'_, PyAny>) -> PyResult<ScalarVec> {
        Ok(ScalarVec::new(integers::scalars(values)?))
    }

    #[pyo3(signature = (values, /))]
    fn secret_scalars(&self, values: &Bound<'_, PyAny>) -> PyResult<SecretScalarVec> {
        Ok(SecretScalarVec::new(integers::scalars(values)?))
    }

    #[pyo3(signature = (n, rng, /))]
    fn random_scalars(
        &self,
        py: Python<'_>,
        n: &Bound<'_, PyAny>,
        rng: &Bound<'_, PyAny>,
    ) -> PyResult<SecretScalarVec> {
        let n = size(n, "the number of scalars")?;
        check_room(n, 64)?;
        let drawn = rng.call1((64 * n,))?;
        let data = bytes(&drawn, "the result of rng")?;
        if data.len() != 64 * n {
            let (wanted, got) = (64 * n, data.len());
            return Err(usage(format!("rng({wanted}) must return {wanted} bytes, not {got}")));
        }
        let out = run(py, n, nanos::SCALAR_MUL, |w| scalars::reduce(w, data, 64));
        Ok(SecretScalarVec::new(out.map_err(raise)?))
    }

    #[pyo3(signature = (n, session, fresh, witness, /))]
    fn hedged_scalars(
        &self,
        py: Python<'_>,
        n: &Bound<'_, PyAny>,
        session: &Bound<'_, PyAny>,
        fresh: &Bound<'_, PyAny>,
        witness: &Bound<'_, PyAny>,
    ) -> PyResult<SecretScalarVec> {
        let n = size(n, "the number of scalars")?;
        check_room(n, size_of::<Number>())?;
        let session = array::<32>(bytes(session, "the session")?, "the session")?;
        let (fresh, (witness, _)) = (bytes(fresh, "fresh randomness")?, vector(witness)?);
        let work = |_: &_| hedged_scalars(n, session, fresh, witness);
        let drawn = run(py, n.saturating_add(witness.len()), nanos::SCALAR_HASH, work);
        Ok(SecretScalarVec::new(drawn.map_err(raise)?))
    }

    #[pyo3(signature = (data, width, /))]
    fn reduce_scalars(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        width: &Bound<'_, PyAny>,
    ) -> PyResult<ScalarVec> {
        let (data, width) = (bytes(data, "data")?, size(width, "the width")?);
        let count = data.len() / width.max(1);
        let out = run(py, count, nanos::SCALAR_MUL, |w| scalars::reduce(w, data, width));
        Ok(ScalarVec::new(out.map_err(raise)?))
    }

    #[pyo3(signature = (data, count, /))]
    fn decode_scalars(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        count: &Bound<'_, PyAny>,
    ) -> PyResult<ScalarVec> {
        let (data, count) = (bytes(data, "data")?, size(count, "the count")?);
        let out = run(py, count, nanos::SCALAR_MUL, |w| decode_scalars(w, data, count));
        Ok(ScalarVec::new(out.map_err(raise)?))
    }

    #[pyo3(signature = (base, n, /))]
    fn powers(
        &self,
        py: Python<'_>,
        base: &Bound<'_, PyAny>,
        n: &Bound<'_, PyAny>,
    ) -> PyResult<ScalarVec> {
        let (base, n) = (public_scalar(base)?, size(n, "the number of powers")?);
        check_room(n, size_of::<Number>())?;
        Ok(ScalarVec::new(run(py, n, nanos::SCALAR_MUL, |w| scalars::powers(w, base, n))))
    }

    #[pyo3(signature = (coefficients, vectors, /))]
    fn combine_scalars(
        &self,
        py: Python<'_>,
        coefficients: &Bound<'_, PyAny>,
        vectors: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let coefficients = public_vector(coefficients)?;
        let objects = items(vectors, "vectors")?;
        let columns = objects.iter().map(|o| vector(o)).collect::<PyResult<Vec<_>>>()?;
        check_len(coefficients.len(), columns.len()).map_err(raise)?;
        let Some(len) = columns.first().map(|(values, _)| values.len()) else {
            return Err(usage("at least one vector is needed: its length is the result's"));
        };
        for (values, _) in &columns {
            check_len(len, values.len()).map_err(raise)?;
        }
        let secret = columns.iter().any(|(_, secret)| *secret);
        let columns: Vec<_> = columns.into_iter().map(|(values, _)| values).collect();
        let nanos = columns.len().saturating_mul(nanos::SCALAR_MUL + nanos::SCALAR_ADD);
        let out = run(py, len, nanos, |w| scalars::combine(w, coefficients, &columns, len));
        wrap_vector(py, out, secret)
    }

    #[pyo3(signature = (values, /))]
    fn points(&self, values: &Bound<'_, PyAny>) -> PyResult<PointVec> {
        let objects = items(values, "points")?;
        let items = objects.iter().map(point).collect::<PyResult<Vec<_>>>()?;
        Ok(PointVec::new(Points::gather(
            items.iter().map(|p| (*p.get().value(), p.get().known_encoding().copied())),
        )))
    }

    #[pyo3(signature = (data, /, *, allow_identity = false))]
    fn decode_point(&self, data: &Bound<'_, PyAny>, allow_identity: bool) -> PyResult<Point> {
        let workers = workers::Workers::INLINE;
        let points = decode_points(&workers, bytes(data, "data")?, 1, allow_identity);
        Ok(Point::pick(&points.map_err(raise)?, 0))
    }

    #[pyo3(signature = (data, count, /, *, allow_identity = false))]
    fn decode_points(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        count: &Bound<'_, PyAny>,
        allow_identity: bool,
    ) -> PyResult<PointVec> {
        let (data, count) = (bytes(data, "data")?, size(count, "the count")?);
        let out = run(py, count, nanos::CODEC, |w| decode_points(w, data, count, allow_identity));
        Ok(PointVec::new(out.map_err(raise)?))
    }

    #[pyo3(signature = (data, /))]
    fn map_to_points(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<PointVec> {
        let data = bytes(data, "data")?;
        let out = run(py, data.len() / 64, 3 * nanos::CODEC, |w| map_to_points(w, data));
        Ok(out.map_err(raise)?.into())
    }

    #[pyo3(signature = (bases, /))]
    fn fixed_bases(&self, py: Python<'_>, bases: &Bound<'_, PyAny>) -> PyResult<FixedBases> {
        FixedBases::new(py, points(bases)?.get())
    }

    #[pyo3(signature = (seed, domain, /))]
    fn stream(&self, seed: &Bound<'_, PyAny>, domain: &Bound<'_, PyAny>) -> PyResult<Stream> {
        let domain = array::<12>(bytes(domain, "the domain")?, "the domain")?;
        let seed = secret_seed(seed)?;
        Ok(Stream::new(&seed, domain))
    }

    #[pyo3(signature = (lower, /))]
    fn wide_table(&self, lower: &Bound<'_, PyAny>) -> PyResult<WideTable> {
        WideTable::new(lower)
    }

    fn __repr__(&self) -> &'static str {
        "<Ristretto255, native backend>"
    }

    /// There is one instance, found by its name.
    fn __reduce__(&self) -> &'static str {
        "RISTRETTO255"
    }
}
