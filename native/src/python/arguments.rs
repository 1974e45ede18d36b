//! Arguments that are bytes, and results of a size given by a number.

use pyo3::exceptions::PyMemoryError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyType};
use zeroize::Zeroizing;

use super::errors::usage;

/// The content of a `bytes` argument.
pub fn bytes<'a>(value: &'a Bound<'_, PyAny>, what: &str) -> PyResult<&'a [u8]> {
    let bytes = value.cast::<PyBytes>().map_err(|_| {
        usage(format!("{what} must be bytes, not {}: convert with bytes()", value.get_type()))
    })?;
    Ok(bytes.as_bytes())
}

/// Exactly N bytes.
pub fn array<'a, const N: usize>(bytes: &'a [u8], what: &str) -> PyResult<&'a [u8; N]> {
    let found = bytes.len();
    bytes.try_into().map_err(|_| usage(format!("{what} must have {N} bytes, not {found}")))
}

/// The 32 bytes of a `wire.secret.SecretBytes`.
pub fn secret_seed(seed: &Bound<'_, PyAny>) -> PyResult<Zeroizing<[u8; 32]>> {
    static SECRET_BYTES: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = seed.py();
    if !seed.is_instance(SECRET_BYTES.import(py, "wire.secret", "SecretBytes")?)? {
        return Err(usage("the seed must be SecretBytes: wrap it, so that it cannot leak"));
    }
    let revealed = seed.call_method0(intern!(py, "reveal"))?;
    Ok(Zeroizing::new(*array(bytes(&revealed, "the seed")?, "the seed")?))
}

/// The items of any iterable.
pub fn items<'py>(values: &Bound<'py, PyAny>, what: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let found = || usage(format!("an iterable of {what} is needed, not {}", values.get_type()));
    values.try_iter().map_err(|_| found())?.collect()
}

/// Refuse a size that the memory allocator refuses, instead of aborting the process.
pub fn check_room(count: usize, size: usize) -> PyResult<()> {
    let room = count.checked_mul(size).map(|n| Vec::<u8>::new().try_reserve_exact(n).is_ok());
    if room == Some(true) {
        return Ok(());
    }
    Err(PyMemoryError::new_err(format!("{count} values do not fit in memory")))
}
