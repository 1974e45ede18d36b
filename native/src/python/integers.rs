//! Python integers and buffers of integers to scalars, and back.

use curve25519_dalek::Scalar;
use pyo3::buffer::{Element, PyBuffer, PyUntypedBuffer};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyList, PyMemoryView, PyTuple};
use zeroize::{Zeroize, Zeroizing};

use super::batch::{nanos, run};
use super::errors::usage;
use crate::core::scalars::from_i64;
use crate::core::workers::Workers;

const OUT_OF_RANGE: &str = "an integer v must satisfy -order < v < order: reduce it first";
const BUFFER: &str = "a buffer must be one-dimensional, of 32- or 64-bit integers in native byte \
                      order: convert the array";

const LONGEST_HINT: usize = 1 << 20;

/// The integer mod the order.
///
/// Python's integers have sizes, and the time depends on them. Buffers do not.
pub fn scalar(value: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    let value = integer(value)?;
    if let Ok(small) = value.extract::<i64>() {
        return Ok(from_i64(small));
    }
    let negative = value.lt(0)?;
    let magnitude = if negative { value.neg()? } else { value.into_any() };
    let size = (32, intern!(magnitude.py(), "little"));
    let bytes = magnitude.call_method1(intern!(magnitude.py(), "to_bytes"), size);
    let scalar = bytes
        .ok()
        .and_then(|bytes| {
            // Extracted as an array it would be read byte by byte.
            let array = bytes.cast::<PyBytes>().ok()?.as_bytes().try_into().ok();
            array.map(Zeroizing::<[u8; 32]>::new)
        })
        .and_then(|bytes| Option::<Scalar>::from(Scalar::from_canonical_bytes(*bytes)))
        .ok_or_else(|| usage(OUT_OF_RANGE))?;
    Ok(if negative { -scalar } else { scalar })
}

/// The scalars of a buffer or of any iterable of integers.
pub fn scalars(values: &Bound<'_, PyAny>) -> PyResult<Vec<Scalar>> {
    let plain = values.is_instance_of::<PyList>() || values.is_instance_of::<PyTuple>();
    if !plain {
        match PyUntypedBuffer::get(values) {
            Ok(buffer) => return from_buffer(values.py(), &buffer),
            // A view that was released: some interpreters iterate over it as if it were empty.
            Err(_) if values.is_instance_of::<PyMemoryView>() => return Err(usage(BUFFER)),
            Err(_) => (),
        }
    }
    let items = values.try_iter().map_err(|_| {
        usage("integers come as an iterable of int or as a buffer of 32- or 64-bit integers")
    })?;
    // A vector that grows by itself leaves copies of secrets behind. The length is a
    // hint of the caller's object and must not make us allocate what never comes.
    let hint = values.len().unwrap_or(0).min(LONGEST_HINT);
    let mut grown = Zeroizing::new(Vec::with_capacity(hint));
    for item in items {
        if grown.len() == grown.capacity() {
            let mut wider = Vec::with_capacity(2 * grown.len() + 16);
            wider.extend_from_slice(&grown);
            grown = Zeroizing::new(wider);
        }
        grown.push(scalar(&item?)?);
    }
    Ok(std::mem::take(&mut *grown))
}

/// A size given as an integer argument.
pub fn size(value: &Bound<'_, PyAny>, what: &str) -> PyResult<usize> {
    integer(value)?
        .extract()
        .map_err(|_| usage(format!("{what} must be 0 or more and fit the machine's word")))
}

/// The integer in [0, order).
pub fn to_int<'py>(py: Python<'py>, scalar: &Scalar) -> PyResult<Bound<'py, PyAny>> {
    let bytes = scalar.as_bytes();
    if let ([low, high @ ..], _) = bytes.as_chunks::<8>()
        && high.iter().all(|word| *word == [0; 8])
    {
        return Ok(u64::from_le_bytes(*low).into_pyobject(py)?.into_any());
    }
    let arguments = (PyBytes::new(py, bytes), intern!(py, "little"));
    py.get_type::<PyInt>().call_method1(intern!(py, "from_bytes"), arguments)
}

/// Whether multi-byte elements are stored as this machine stores them.
///
/// PyO3 takes the big-endian mark `>` for native on little-endian machines.
pub fn is_native_order(buffer: &PyUntypedBuffer) -> bool {
    !matches!(buffer.format().to_bytes(), [b'>' | b'!', ..])
}

/// Anything with `__index__`, as Python itself treats sizes; never a float, and no
/// bool, which is a comparison that slipped into an integer's place.
pub fn integer<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyInt>> {
    if let Ok(int) = value.cast_exact::<PyInt>() {
        return Ok(int.clone());
    }
    let found = || usage(format!("an int is needed, not {}", value.get_type()));
    if value.is_instance_of::<PyBool>() {
        return Err(found());
    }
    let index = value.call_method0(intern!(value.py(), "__index__")).map_err(|_| found())?;
    index.cast_into::<PyInt>().map_err(|_| found())
}

/// Whether a buffer without elements would hold 32- or 64-bit integers.
///
/// Where nothing is stored an exporter may give any address: an empty `array.array` is
/// not aligned, so that it would be taken for no buffer of integers at all.
pub fn is_empty_of_integers(buffer: &PyUntypedBuffer) -> bool {
    let kind = buffer.format().to_bytes().last();
    buffer.item_count() == 0
        && matches!(buffer.item_size(), 4 | 8)
        && matches!(kind, Some(b'i' | b'I' | b'l' | b'L' | b'q' | b'Q'))
}

fn from_buffer(py: Python<'_>, buffer: &PyUntypedBuffer) -> PyResult<Vec<Scalar>> {
    if buffer.dimensions() != 1 || !is_native_order(buffer) {
        return Err(usage(BUFFER));
    }
    if is_empty_of_integers(buffer) {
        return Ok(Vec::new());
    }
    if let Ok(words) = buffer.as_typed::<i64>() {
        return convert(py, words, from_i64);
    }
    if let Ok(words) = buffer.as_typed::<i32>() {
        return convert(py, words, |word| from_i64(word.into()));
    }
    if let Ok(words) = buffer.as_typed::<u64>() {
        return convert(py, words, Scalar::from);
    }
    if let Ok(words) = buffer.as_typed::<u32>() {
        return convert(py, words, Scalar::from);
    }
    Err(usage(BUFFER))
}

fn convert<T: Element + Zeroize + Sync>(
    py: Python<'_>,
    words: &PyBuffer<T>,
    scalar: impl Fn(T) -> Scalar + Sync,
) -> PyResult<Vec<Scalar>> {
    let words = Zeroizing::new(words.to_vec(py)?);
    let convert = |_: &Workers| words.iter().map(|&word| scalar(word)).collect();
    Ok(run(py, words.len(), nanos::SCALAR_ADD, convert))
}
