//! Tables of residues as a Python class, and what makes them.

use curve25519_dalek::Scalar as Number;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::{Zeroize, Zeroizing};

use super::arguments::{bytes, check_room, items};
use super::batch::{nanos, run};
use super::errors::{raise, refuse, usage, wrong_class};
use super::integers::size;
use super::operands::{scalar, vector};
use super::scalar::SecretScalar;
use super::scalar_vec::SecretScalarVec;
use crate::core::equality;
use crate::core::residues::Residue;
use crate::core::scalars::check_len;
use crate::core::tables::{self, BitRows, Moves};

/// Values at the corners of a cube, for work with many products; erased when dropped.
#[pyclass(frozen, module = "commitments._native")]
pub struct ResidueTable(Zeroizing<Vec<Residue>>);

impl ResidueTable {
    fn new(entries: Vec<Residue>) -> Self {
        Self(Zeroizing::new(entries))
    }

    fn of<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a [Residue]> {
        match object.cast::<Self>() {
            Ok(table) => Ok(&table.get().0),
            Err(_) => Err(wrong_class(object, "a table")),
        }
    }
}

#[pymethods]
impl ResidueTable {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// An entry; behind the end of the table it is zero.
    #[pyo3(signature = (index, /))]
    fn entry(&self, index: &Bound<'_, PyAny>) -> PyResult<SecretScalar> {
        let found = self.0.get(size(index, "the index")?).copied().unwrap_or_default();
        Ok(SecretScalar::new(found.to_scalar()))
    }

    #[pyo3(signature = (by, half, /))]
    fn fold(
        &self,
        py: Python<'_>,
        by: &Bound<'_, PyAny>,
        half: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (by, half) = (Residue::from_scalar(scalar(by)?.0), size(half, "the half")?);
        let items = self.0.len().min(half);
        Ok(Self::new(run(py, items, nanos::PRODUCT, |w| tables::fold(w, &self.0, &by, half))))
    }

    #[pyo3(signature = (other, half, /))]
    fn pair_sums(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        half: &Bound<'_, PyAny>,
    ) -> PyResult<SecretScalarVec> {
        let (right, half) = (Self::of(other)?, size(half, "the half")?);
        let items = self.0.len().min(half);
        let sums =
            run(py, items, 2 * nanos::PRODUCT, |w| tables::pair_sums(w, &self.0, right, half));
        Ok(secret_scalars(&sums.map_err(raise)?))
    }

    #[pyo3(signature = (exponent, half, /))]
    fn power_sums(
        &self,
        py: Python<'_>,
        exponent: &Bound<'_, PyAny>,
        half: &Bound<'_, PyAny>,
    ) -> PyResult<SecretScalarVec> {
        let (exponent, half) = (size(exponent, "the exponent")?, size(half, "the half")?);
        let (items, nanos) = (self.0.len().min(half), 3 * exponent.min(9) * nanos::PRODUCT);
        let sums = run(py, items, nanos, |w| tables::power_sums(w, &self.0, exponent, half));
        Ok(secret_scalars(&sums.map_err(raise)?))
    }

    #[pyo3(signature = (other, /))]
    fn times(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let right = Self::of(other)?;
        let found = run(py, self.0.len(), nanos::PRODUCT, |w| tables::times(w, &self.0, right));
        Ok(Self::new(found.map_err(raise)?))
    }

    #[pyo3(signature = (other, /))]
    fn inner(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<SecretScalar> {
        let right = Self::of(other)?;
        let sum = run(py, right.len(), nanos::PRODUCT, |w| tables::inner(w, &self.0, right));
        Ok(SecretScalar::new(sum.map_err(raise)?.to_scalar()))
    }

    #[pyo3(signature = (words, /))]
    fn inner_words(&self, py: Python<'_>, words: &Bound<'_, PyAny>) -> PyResult<SecretScalar> {
        let words = integers::<u64>(words)?;
        let sum =
            run(py, words.len(), nanos::SHORT_PRODUCT, |w| tables::inner_words(w, &self.0, &words));
        Ok(SecretScalar::new(sum.map_err(raise)?.to_scalar()))
    }

    #[pyo3(signature = (bits, /))]
    fn bit_inners(&self, py: Python<'_>, bits: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bits = BitRows::new(bytes(bits, "the bits")?, self.0.len()).map_err(raise)?;
        let nanos = nanos::RESIDUE_ADD * (self.0.len() / 8 + 1);
        let sums = run(py, bits.count() + 256, nanos, |w| tables::bit_inners(w, &self.0, bits));
        Ok(Self::new(sums.map_err(raise)?))
    }

    #[pyo3(signature = (places, signs, /))]
    fn permuted(
        &self,
        py: Python<'_>,
        places: &Bound<'_, PyAny>,
        signs: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let places = integers::<u32>(places)?;
        let signs = BitRows::new(bytes(signs, "the signs")?, places.len()).map_err(raise)?;
        let moved = run(py, places.len(), nanos::RESIDUE_ADD, |_| {
            tables::permuted(&self.0, Moves::new(&places, signs)?)
        });
        Ok(Self::new(moved.map_err(raise)?))
    }

    fn scalars(&self, py: Python<'_>) -> SecretScalarVec {
        run(py, self.0.len(), nanos::PRODUCT, |_| secret_scalars(&self.0))
    }

    fn __repr__(&self) -> String {
        format!("<ResidueTable: {} entries>", self.0.len())
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        refuse("pickled or copied")
    }
}

/// The table of these scalars.
#[pyfunction]
#[pyo3(signature = (scalars, /))]
pub fn scalar_table(py: Python<'_>, scalars: &Bound<'_, PyAny>) -> PyResult<ResidueTable> {
    let values = vector(scalars)?.0;
    Ok(ResidueTable::new(run(py, values.len(), nanos::PRODUCT, |_| residues(values))))
}

/// The table of signed integers.
#[pyfunction]
#[pyo3(signature = (values, /))]
pub fn integer_table(py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<ResidueTable> {
    let values = integers::<i64>(values)?;
    Ok(ResidueTable::new(run(py, values.len(), nanos::PRODUCT, |w| {
        tables::from_integers(w, &values)
    })))
}

/// What `power_sums` of the table of these integers is, if they are small.
#[pyfunction]
#[pyo3(signature = (values, exponent, half, /))]
pub fn integer_power_sums(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    exponent: &Bound<'_, PyAny>,
    half: &Bound<'_, PyAny>,
) -> PyResult<SecretScalarVec> {
    let (exponent, half) = (size(exponent, "the exponent")?, size(half, "the half")?);
    let values = integers::<i64>(values)?;
    let (items, nanos) = (values.len().min(half), 4 * nanos::SHORT_PRODUCT * exponent.min(9));
    let sums = run(py, items, nanos, |w| {
        tables::check_small(&values, exponent)?;
        tables::integer_power_sums(w, &values, exponent, half)
    });
    Ok(secret_scalars(&sums.map_err(raise)?))
}

/// The first entries of the table of equality with a point.
#[pyfunction]
#[pyo3(signature = (point, count, /))]
pub fn equality_table(
    py: Python<'_>,
    point: &Bound<'_, PyAny>,
    count: &Bound<'_, PyAny>,
) -> PyResult<ResidueTable> {
    let (point, count) = (residues(vector(point)?.0), size(count, "the number of entries")?);
    check_room(count, size_of::<Residue>())?;
    let found = run(py, count, nanos::PRODUCT, |w| equality::equal(w, &point, count));
    Ok(ResidueTable::new(found.map_err(raise)?))
}

/// The sum of the first entries of tables of equality with points of one length, times factors.
#[pyfunction]
#[pyo3(signature = (points, factors, count, /))]
pub fn equality_sum(
    py: Python<'_>,
    points: &Bound<'_, PyAny>,
    factors: &Bound<'_, PyAny>,
    count: &Bound<'_, PyAny>,
) -> PyResult<ResidueTable> {
    let (points, factors) = (residues(vector(points)?.0), residues(vector(factors)?.0));
    let count = size(count, "the number of entries")?;
    check_room(count, size_of::<Residue>())?;
    let nanos = nanos::PRODUCT * (factors.len() + 1);
    let found = run(py, count, nanos, |w| equality::equal_sum(w, &points, &factors, count));
    Ok(ResidueTable::new(found.map_err(raise)?))
}

/// The inner product of such a sum and words.
#[pyfunction]
#[pyo3(signature = (points, factors, words, /))]
pub fn equality_words(
    py: Python<'_>,
    points: &Bound<'_, PyAny>,
    factors: &Bound<'_, PyAny>,
    words: &Bound<'_, PyAny>,
) -> PyResult<SecretScalar> {
    let (points, factors) = (residues(vector(points)?.0), residues(vector(factors)?.0));
    let words = integers::<u64>(words)?;
    let nanos = nanos::SHORT_PRODUCT * factors.len().max(1);
    let sum = run(py, words.len(), nanos, |w| equality::equal_words(w, &points, &factors, &words));
    Ok(SecretScalar::new(sum.map_err(raise)?.to_scalar()))
}

/// The inner product of such a sum with its entries moved, and the table of equality with `at`.
#[pyfunction]
#[pyo3(signature = (points, factors, moves, at, count, /))]
pub fn equality_moved(
    py: Python<'_>,
    points: &Bound<'_, PyAny>,
    factors: &Bound<'_, PyAny>,
    moves: (Bound<'_, PyAny>, Bound<'_, PyAny>),
    at: &Bound<'_, PyAny>,
    count: &Bound<'_, PyAny>,
) -> PyResult<SecretScalar> {
    let (points, factors) = (residues(vector(points)?.0), residues(vector(factors)?.0));
    let (at, count) = (residues(vector(at)?.0), size(count, "the number of entries")?);
    let places = integers::<u32>(&moves.0)?;
    let signs = BitRows::new(bytes(&moves.1, "the signs")?, places.len()).map_err(raise)?;
    let nanos = nanos::PRODUCT * factors.len().max(1);
    let sum = run(py, count, nanos, |w| {
        equality::moved_equal(w, &points, &factors, Moves::new(&places, signs)?, &at, count)
    });
    Ok(SecretScalar::new(sum.map_err(raise)?.to_scalar()))
}

/// The first entries of the table of products of the factors at the bits that are 1.
#[pyfunction]
#[pyo3(signature = (factors, count, /))]
pub fn product_table(
    py: Python<'_>,
    factors: &Bound<'_, PyAny>,
    count: &Bound<'_, PyAny>,
) -> PyResult<ResidueTable> {
    let (factors, count) = (residues(vector(factors)?.0), size(count, "the number of entries")?);
    check_room(count, size_of::<Residue>())?;
    let found = run(py, count, nanos::PRODUCT, |w| equality::subset_products(w, &factors, count));
    Ok(ResidueTable::new(found.map_err(raise)?))
}

/// The sum of tables times factors, as long as the longest of them.
#[pyfunction]
#[pyo3(signature = (factors, tables, /))]
pub fn combine_tables(
    py: Python<'_>,
    factors: &Bound<'_, PyAny>,
    tables: &Bound<'_, PyAny>,
) -> PyResult<ResidueTable> {
    let (factors, tables) = (residues(vector(factors)?.0), items(tables, "tables")?);
    let held = tables.iter().map(ResidueTable::of).collect::<PyResult<Vec<_>>>()?;
    check_len(factors.len(), held.len()).map_err(raise)?;
    let work = held.iter().map(|table| table.len()).sum();
    Ok(ResidueTable::new(run(py, work, nanos::PRODUCT, |w| tables::combine(w, &factors, &held))))
}

/// The sum of rows of integers times the entries of a table, one for each row.
#[pyfunction]
#[pyo3(signature = (rows, weights, /))]
pub fn combine_rows(
    py: Python<'_>,
    rows: &Bound<'_, PyAny>,
    weights: &Bound<'_, PyAny>,
) -> PyResult<ResidueTable> {
    let (rows, weights) = (integers::<i64>(rows)?, ResidueTable::of(weights)?);
    let nanos = nanos::SHORT_PRODUCT;
    let found = run(py, rows.len(), nanos, |w| tables::combine_rows(w, &rows, weights));
    Ok(ResidueTable::new(found.map_err(raise)?))
}

/// The sum of strings of bits times the entries of a table, one for each string.
#[pyfunction]
#[pyo3(signature = (weights, bits, count, /))]
pub fn combine_bits(
    py: Python<'_>,
    weights: &Bound<'_, PyAny>,
    bits: &Bound<'_, PyAny>,
    count: &Bound<'_, PyAny>,
) -> PyResult<ResidueTable> {
    let (weights, count) = (ResidueTable::of(weights)?, size(count, "the number of bits")?);
    let bits = BitRows::new(bytes(bits, "the bits")?, count).map_err(raise)?;
    let nanos = nanos::RESIDUE_ADD * (weights.len() / 8 + 1);
    let items = count.saturating_add(256);
    let found = run(py, items, nanos, |w| tables::combine_bits(w, weights, bits));
    Ok(ResidueTable::new(found.map_err(raise)?))
}

/// For each row of integers and each string of bits the sum of those where it has a 1, mod 2^64.
#[pyfunction]
#[pyo3(signature = (rows, bits, count, /))]
pub fn row_bit_sums<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
    bits: &Bound<'py, PyAny>,
    count: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (rows, count) = (integers::<i64>(rows)?, size(count, "the number of bits")?);
    let bits = BitRows::new(bytes(bits, "the bits")?, count).map_err(raise)?;
    check_room((rows.len() / count).saturating_mul(bits.count()), size_of::<i64>())?;
    let nanos = nanos::MASK_WORD * (bits.count() / 8 + 32);
    let sums = run(py, rows.len(), nanos, |w| tables::row_bit_sums(w, &rows, bits));
    let sums = sums.map_err(raise)?;
    PyBytes::new_with(py, size_of::<i64>() * sums.len(), |out| {
        for (bytes, sum) in out.as_chunks_mut::<8>().0.iter_mut().zip(sums.iter()) {
            *bytes = sum.to_ne_bytes();
        }
        Ok(())
    })
}

fn residues(scalars: &[Number]) -> Vec<Residue> {
    scalars.iter().map(Residue::from_scalar).collect()
}

fn secret_scalars(residues: &[Residue]) -> SecretScalarVec {
    SecretScalarVec::new(residues.iter().map(|residue| residue.to_scalar()).collect())
}

/// A copy of a buffer of integers, erased when dropped.
fn integers<T>(values: &Bound<'_, PyAny>) -> PyResult<Zeroizing<Vec<T>>>
where
    T: Element + Zeroize + Default,
{
    let refused = || {
        let (size, kind) = (8 * size_of::<T>(), std::any::type_name::<T>());
        let sign = if kind.starts_with('i') { "signed" } else { "unsigned" };
        usage(format!(
            "a C-contiguous, one-dimensional buffer of {sign} {size}-bit integers is needed: \
             convert the array"
        ))
    };
    let buffer = PyBuffer::<T>::get(values).map_err(|_| refused())?;
    if buffer.dimensions() != 1 || !buffer.is_c_contiguous() {
        return Err(refused());
    }
    let mut held = Zeroizing::new(vec![T::default(); buffer.item_count()]);
    buffer.copy_to_slice(values.py(), &mut held)?;
    Ok(held)
}
