//! Hashes and half gates over buffers of labels.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use super::arguments::{array, bytes};
use super::batch::{nanos, run};
use super::errors::{raise, usage};
use super::integers::integer;
use crate::core::gates::{BLOCK, Gates, Hash};
use crate::core::workers::Workers;

/// The hash of every 16-byte block, the first one under the tweak, the next under tweak + 1.
#[pyfunction]
#[pyo3(signature = (key, tweak, blocks, /))]
pub fn hash_blocks<'py>(
    py: Python<'py>,
    key: &Bound<'py, PyAny>,
    tweak: &Bound<'py, PyAny>,
    blocks: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (hash, tweak) = (keyed(key)?, number(tweak)?);
    let mut blocks = Labels::read(py, blocks)?.blocks;
    for (i, block) in blocks.iter_mut().enumerate() {
        [*block] = hash.blocks([*block], [tweak.wrapping_add(i as u128)]);
    }
    Ok(PyBytes::new(py, &to_bytes(&blocks)))
}

/// Garble: labels has one zero label for each wire, those of the gates are filled in.
#[pyfunction]
#[pyo3(signature = (key, tweak, gates, delta, labels, /))]
pub fn garble_gates<'py>(
    py: Python<'py>,
    key: &Bound<'py, PyAny>,
    tweak: &Bound<'py, PyAny>,
    gates: &Bound<'py, PyAny>,
    delta: &Bound<'py, PyAny>,
    labels: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (hash, tweak, words) = (keyed(key)?, number(tweak)?, gate_words(py, gates)?);
    let delta = Labels::read(py, delta)?;
    let [delta] = &delta.blocks[..] else {
        return Err(usage("the offset has 16 bytes"));
    };
    let mut labels = Labels::read(py, labels)?;
    let gates = Gates::new(&words, labels.blocks.len()).map_err(raise)?;
    let tables = run(py, gates.ands(), nanos::AND_GATE, |_: &Workers| {
        gates.garble(&hash, tweak, delta, &mut labels.blocks)
    });
    labels.write(py)?;
    Ok(PyBytes::new(py, &tables))
}

/// Evaluate: labels has one label for each wire, those of the gates are filled in.
#[pyfunction]
#[pyo3(signature = (key, tweak, gates, tables, labels, /))]
pub fn evaluate_gates(
    py: Python<'_>,
    key: &Bound<'_, PyAny>,
    tweak: &Bound<'_, PyAny>,
    gates: &Bound<'_, PyAny>,
    tables: &Bound<'_, PyAny>,
    labels: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (hash, tweak, words) = (keyed(key)?, number(tweak)?, gate_words(py, gates)?);
    let tables = bytes(tables, "the tables")?;
    let mut labels = Labels::read(py, labels)?;
    let gates = Gates::new(&words, labels.blocks.len()).map_err(raise)?;
    run(py, gates.ands(), nanos::AND_GATE, |_: &Workers| {
        gates.evaluate(&hash, tweak, tables, &mut labels.blocks)
    })
    .map_err(raise)?;
    labels.write(py)
}

/// A copy of a buffer of labels, erased when dropped.
struct Labels {
    buffer: PyBuffer<u8>,
    blocks: Zeroizing<Vec<u128>>,
}

impl Labels {
    fn read(py: Python<'_>, labels: &Bound<'_, PyAny>) -> PyResult<Self> {
        let refused = || usage("labels are a C-contiguous buffer of bytes, 16 for each");
        let buffer = PyBuffer::<u8>::get(labels).map_err(|_| refused())?;
        if !buffer.is_c_contiguous() || !buffer.len_bytes().is_multiple_of(BLOCK) {
            return Err(refused());
        }
        let mut held = Zeroizing::new(vec![0; buffer.len_bytes()]);
        buffer.copy_to_slice(py, &mut held)?;
        let (blocks, _) = held.as_chunks::<BLOCK>();
        let blocks = blocks.iter().map(|block| u128::from_le_bytes(*block)).collect();
        Ok(Self { buffer, blocks: Zeroizing::new(blocks) })
    }

    fn write(&self, py: Python<'_>) -> PyResult<()> {
        if self.buffer.readonly() {
            return Err(usage("labels are filled in: give a buffer that can be written"));
        }
        self.buffer.copy_from_slice(py, &to_bytes(&self.blocks))
    }
}

fn to_bytes(blocks: &[u128]) -> Zeroizing<Vec<u8>> {
    let mut held = Zeroizing::new(vec![0; BLOCK * blocks.len()]);
    for (bytes, block) in held.chunks_exact_mut(BLOCK).zip(blocks) {
        bytes.copy_from_slice(&block.to_le_bytes());
    }
    held
}

fn keyed(key: &Bound<'_, PyAny>) -> PyResult<Hash> {
    Ok(Hash::new(array(bytes(key, "the key")?, "the key")?))
}

fn number(tweak: &Bound<'_, PyAny>) -> PyResult<u128> {
    integer(tweak)?.extract().map_err(|_| usage("a tweak lies between 0 and 2^128 - 1"))
}

fn gate_words(py: Python<'_>, gates: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    let refused = |_| usage("gates are a C-contiguous buffer of 32-bit words");
    let buffer = PyBuffer::<u32>::get(gates).map_err(refused)?;
    if !buffer.is_c_contiguous() {
        return Err(usage("gates are a C-contiguous buffer of 32-bit words"));
    }
    buffer.to_vec(py)
}
