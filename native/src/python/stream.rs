//! Seeded streams as a Python class.

use pyo3::buffer::{Element, PyBuffer, PyUntypedBuffer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PySlice};
use zeroize::{Zeroize, Zeroizing};

use super::arguments::check_room;
use super::batch::{nanos, run};
use super::errors::{raise, refuse, usage};
use super::integers::{integer, is_empty_of_integers, is_native_order, size};
use super::scalar_vec::SecretScalarVec;
use super::wide_table::WideTable;
use crate::core::stream::{Stream as Core, Word, bit_bytes};
use crate::core::wide::{self, DRAW_BYTES};
use crate::core::workers::Workers;

/// Bytes of an array that are copied out, changed without the interpreter lock and
/// copied back at a time.
const WINDOW: usize = 1 << 22;
const ARRAY: &str = "masks are added to a writable, C-contiguous, one-dimensional buffer of 32- or \
                     64-bit integers in native byte order: convert the array";

/// What is added to the words of an array.
#[derive(Clone, Copy)]
enum Mask<'a> {
    /// Uniform words.
    Words,
    /// Draws from a table.
    Draws(&'a wide::WideTable),
}

impl Mask<'_> {
    /// Stream bytes for each word.
    fn bytes<W: Word>(self) -> usize {
        match self {
            Self::Words => W::SIZE,
            Self::Draws(_) => DRAW_BYTES,
        }
    }

    fn nanos(self) -> usize {
        match self {
            Self::Words => nanos::MASK_WORD,
            Self::Draws(table) => nanos::WIDE_DRAW_STEP * table.depth(),
        }
    }
}

/// A deterministic stream of secret values expanded from a 32-byte seed.
#[pyclass(frozen, module = "commitments._native")]
pub struct Stream(Core);

impl Stream {
    pub fn new(seed: &[u8; 32], domain: &[u8; 12]) -> Self {
        Self(Core::new(seed, domain))
    }

    fn claim(&self, count: usize, size: usize) -> PyResult<u64> {
        self.0.claim(count, size).map_err(raise)
    }

    fn add_mask<W>(
        &self,
        py: Python<'_>,
        buffer: &PyBuffer<W>,
        subtract: bool,
        mask: Mask<'_>,
    ) -> PyResult<()>
    where
        W: Element + Word + Zeroize + Default,
    {
        let Some(array) = buffer.obj(py) else { return Err(usage(ARRAY)) };
        let len = buffer.item_count();
        let view = PyMemoryView::from(array)?;
        let mut position = self.claim(len, mask.bytes::<W>())?;
        for start in (0..len).step_by(WINDOW / W::SIZE) {
            let end = len.min(start + WINDOW / W::SIZE);
            let slice = PySlice::new(py, start.cast_signed(), end.cast_signed(), 1);
            let window = PyBuffer::<W>::get(&view.get_item(slice)?)?;
            let mut words = Zeroizing::new(window.to_vec(py)?);
            let work = |w: &Workers| match mask {
                Mask::Words => self.0.add_to(w, position, &mut words, subtract),
                Mask::Draws(table) => {
                    self.0.add_wide_draws_to(w, position, table, &mut words, subtract);
                }
            };
            run(py, end - start, mask.nanos(), work);
            window.copy_from_slice(py, &words)?;
            position += ((end - start) * mask.bytes::<W>()) as u64;
        }
        Ok(())
    }

    fn add(
        &self,
        array: &Bound<'_, PyAny>,
        sign: &Bound<'_, PyAny>,
        mask: Mask<'_>,
    ) -> PyResult<()> {
        let py = array.py();
        let subtract = match integer(sign)?.extract() {
            Ok(1) => false,
            Ok(-1) => true,
            _ => return Err(usage("sign must be 1 or -1")),
        };
        let buffer = PyUntypedBuffer::get(array).map_err(|_| usage(ARRAY))?;
        let plain = buffer.dimensions() == 1 && buffer.is_c_contiguous() && !buffer.readonly();
        if !plain || !is_native_order(&buffer) {
            return Err(usage(ARRAY));
        }
        if is_empty_of_integers(&buffer) {
            return Ok(());
        }
        if let Ok(words) = buffer.as_typed::<i64>() {
            return self.add_mask(py, words, subtract, mask);
        }
        if let Ok(words) = buffer.as_typed::<i32>() {
            return self.add_mask(py, words, subtract, mask);
        }
        if let Ok(words) = buffer.as_typed::<u64>() {
            return self.add_mask(py, words, subtract, mask);
        }
        match buffer.as_typed::<u32>() {
            Ok(words) => self.add_mask(py, words, subtract, mask),
            Err(_) => Err(usage(ARRAY)),
        }
    }
}

#[pymethods]
impl Stream {
    #[pyo3(signature = (n, /))]
    fn bytes<'py>(&self, py: Python<'py>, n: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let n = size(n, "the number of bytes")?;
        check_room(n, 1)?;
        let start = self.claim(n, 1)?;
        PyBytes::new_with(py, n, |out| {
            run(py, n, 1, |_| self.0.read(start, out));
            Ok(())
        })
    }

    #[pyo3(signature = (n, /))]
    fn scalars(&self, py: Python<'_>, n: &Bound<'_, PyAny>) -> PyResult<SecretScalarVec> {
        let n = size(n, "the number of scalars")?;
        check_room(n, size_of::<curve25519_dalek::Scalar>())?;
        let start = self.claim(n, 64)?;
        let scalars = run(py, n, nanos::SCALAR_MUL, |w| self.0.scalars(w, start, n));
        Ok(SecretScalarVec::new(scalars))
    }

    #[pyo3(signature = (width, n, /))]
    fn bits<'py>(
        &self,
        py: Python<'py>,
        width: &Bound<'_, PyAny>,
        n: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let n = size(n, "the number of integers")?;
        let width = match size(width, "the width")? {
            bits @ 1..=64 => bits as u32,
            bits => return Err(usage(format!("integers have 1 to 64 bits, not {bits}"))),
        };
        check_room(n, size_of::<u64>())?;
        let start = self.claim(n, bit_bytes(width))?;
        let values = run(py, n, nanos::SCALAR_ADD, |w| self.0.bits(w, start, width, n));
        PyList::new(py, values.iter())
    }

    #[pyo3(signature = (n, /))]
    fn permutation<'py>(
        &self,
        py: Python<'py>,
        n: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let n = size(n, "the number of places")?;
        check_room(n, size_of::<u32>())?;
        let places = run(py, n, nanos::SCALAR_ADD, |_| self.0.permutation(n)).map_err(raise)?;
        let bytes: Vec<u8> = places.iter().flat_map(|place| place.to_ne_bytes()).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    #[pyo3(signature = (table, n, /))]
    fn wide_table_draws<'py>(
        &self,
        table: &Bound<'py, PyAny>,
        n: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = table.py();
        let (table, n) = (WideTable::of(table)?, size(n, "the number of draws")?);
        check_room(n, size_of::<i64>())?;
        let start = self.claim(n, DRAW_BYTES)?;
        let nanos = Mask::Draws(table).nanos();
        let values = run(py, n, nanos, |w| self.0.wide_draws(w, start, table, n));
        PyList::new(py, values.iter())
    }

    #[pyo3(signature = (table, n, /))]
    fn wide_table_scalars(
        &self,
        table: &Bound<'_, PyAny>,
        n: &Bound<'_, PyAny>,
    ) -> PyResult<SecretScalarVec> {
        let py = table.py();
        let (table, n) = (WideTable::of(table)?, size(n, "the number of scalars")?);
        check_room(n, size_of::<curve25519_dalek::Scalar>())?;
        let start = self.claim(n, DRAW_BYTES)?;
        let nanos = nanos::SCALAR_ADD + table.radius();
        let scalars = run(py, n, nanos, |w| self.0.wide_scalars(w, start, table, n));
        Ok(SecretScalarVec::new(scalars))
    }

    #[pyo3(signature = (array, sign, /))]
    fn add_to(&self, array: &Bound<'_, PyAny>, sign: &Bound<'_, PyAny>) -> PyResult<()> {
        self.add(array, sign, Mask::Words)
    }

    #[pyo3(signature = (array, sign, table, /))]
    fn add_wide_draws_to(
        &self,
        array: &Bound<'_, PyAny>,
        sign: &Bound<'_, PyAny>,
        table: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.add(array, sign, Mask::Draws(WideTable::of(table)?))
    }

    fn __repr__(&self) -> &'static str {
        "<Stream>"
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        refuse("pickled or copied")
    }
}
