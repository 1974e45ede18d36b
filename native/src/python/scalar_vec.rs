//! Vectors of scalars, public and secret.

use curve25519_dalek::Scalar as Number;
use pyo3::class::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PyTuple};
use zeroize::Zeroizing;

use super::batch::{nanos, run};
use super::errors::{raise, refuse};
use super::indices::{Index, positions};
use super::operands::{Operand, scalar_or_vector, vector, wrap_scalar, wrap_vector};
use super::scalar::Scalar;
use super::{integers, restore};
use crate::core::codec::encode_scalars;
use crate::core::scalars;

/// A vector of public scalars.
#[pyclass(frozen, module = "commitments._native")]
pub struct ScalarVec(Vec<Number>);

/// A vector of secret scalars, erased when dropped.
#[pyclass(frozen, module = "commitments._native")]
pub struct SecretScalarVec(Zeroizing<Vec<Number>>);

impl ScalarVec {
    pub fn new(values: Vec<Number>) -> Self {
        Self(values)
    }

    pub fn values(&self) -> &[Number] {
        &self.0
    }
}

impl SecretScalarVec {
    pub fn new(values: Vec<Number>) -> Self {
        Self(Zeroizing::new(values))
    }

    pub fn values(&self) -> &[Number] {
        &self.0
    }
}

/// `left op right`, with a single scalar broadcast.
fn zip(
    py: Python<'_>,
    (left, secret): (&[Number], bool),
    right: Operand<'_>,
    nanos: usize,
    op: impl Fn(&Number, &Number) -> Number + Sync + Send,
) -> PyResult<Py<PyAny>> {
    right.values.check_len(left.len()).map_err(raise)?;
    let out = run(py, left.len(), nanos, |w| scalars::zip_with(w, left, right.values, op));
    wrap_vector(py, out, secret || right.secret)
}

fn inner(
    py: Python<'_>,
    (left, secret): (&[Number], bool),
    other: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let (right, other_secret) = vector(other)?;
    scalars::check_len(left.len(), right.len()).map_err(raise)?;
    let total = run(py, left.len(), nanos::SCALAR_MUL, |w| scalars::inner(w, left, right));
    wrap_scalar(py, total, secret || other_secret)
}

/// The arithmetic that both kinds share, followed by what only one of them has.
macro_rules! vector_methods {
    ($class:ident, secret: $secret:literal, { $($own:tt)* }) => {
        #[pymethods]
        impl $class {
            fn __len__(&self) -> usize {
                self.0.len()
            }

            fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                match Index::of(key, self.0.len())? {
                    Index::At(position) => wrap_scalar(py, self.0[position], $secret),
                    Index::Many(chosen) => {
                        wrap_vector(py, chosen.iter().map(|&i| self.0[i]).collect(), $secret)
                    }
                }
            }

            fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                let right = scalar_or_vector(other)?;
                zip(py, (&self.0, $secret), right, nanos::SCALAR_ADD, |a, b| a + b)
            }

            fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                let right = scalar_or_vector(other)?;
                zip(py, (&self.0, $secret), right, nanos::SCALAR_ADD, |a, b| a - b)
            }

            fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                let right = scalar_or_vector(other)?;
                zip(py, (&self.0, $secret), right, nanos::SCALAR_MUL, |a, b| a * b)
            }

            fn __neg__(&self, py: Python<'_>) -> Self {
                Self::new(run(py, self.0.len(), nanos::SCALAR_ADD, |_| scalars::negate(&self.0)))
            }

            #[pyo3(signature = (other, /))]
            fn inner(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                inner(py, (&self.0, $secret), other)
            }

            fn sum(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                let total = run(py, self.0.len(), nanos::SCALAR_ADD, |_| scalars::sum(&self.0));
                wrap_scalar(py, total, $secret)
            }

            #[pyo3(signature = (indices, /))]
            fn gather(&self, indices: &Bound<'_, PyAny>) -> PyResult<Self> {
                let chosen = positions(indices, self.0.len())?;
                Ok(Self::new(chosen.iter().map(|&i| self.0[i]).collect()))
            }

            #[pyo3(signature = (other, /))]
            fn concat(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                let (tail, secret) = vector(other)?;
                wrap_vector(py, [&self.0[..], tail].concat(), secret || $secret)
            }

            $($own)*
        }
    };
}

vector_methods!(ScalarVec, secret: false, {
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        let py = slf.py();
        let items: Vec<Scalar> = slf.get().0.iter().map(|&s| Scalar::new(s)).collect();
        PyList::new(py, items)?.try_iter()
    }

    fn inverse(&self, py: Python<'_>) -> PyResult<Self> {
        let out = run(py, self.0.len(), 4 * nanos::SCALAR_MUL, |_| scalars::inverses(&self.0));
        Ok(Self::new(out.map_err(raise)?))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &encode_scalars(&self.0))
    }

    fn ints<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ints: PyResult<Vec<_>> = self.0.iter().map(|s| integers::to_int(py, s)).collect();
        PyList::new(py, ints?)
    }

    fn secret(&self) -> SecretScalarVec {
        SecretScalarVec::new(self.0.clone())
    }

    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        super::equality(py, op, other.cast::<Self>().ok().map(|o| self.0 == o.get().0))
    }

    fn __repr__(&self) -> String {
        format!("<ScalarVec: {} scalars>", self.0.len())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        restore::reduce(py, "restore_scalars", &self.to_bytes(py))
    }
});

vector_methods!(SecretScalarVec, secret: true, {
    fn reveal(&self) -> ScalarVec {
        ScalarVec::new(self.0.to_vec())
    }

    fn __iter__(&self) -> PyResult<Py<PyAny>> {
        refuse("iterated")
    }

    fn __contains__(&self, _item: &Bound<'_, PyAny>) -> PyResult<bool> {
        refuse("searched")
    }

    fn __repr__(&self) -> String {
        format!("<SecretScalarVec: {} scalars>", self.0.len())
    }

    fn __richcmp__(&self, _other: &Bound<'_, PyAny>, _op: CompareOp) -> PyResult<bool> {
        refuse("compared")
    }

    fn __hash__(&self) -> PyResult<isize> {
        refuse("hashed")
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        refuse("pickled or copied")
    }
});
