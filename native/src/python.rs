//! The module `commitments._native`.

mod arguments;
mod batch;
mod errors;
mod fixed_bases;
mod gates;
mod group;
mod indices;
mod integers;
mod operands;
mod point;
mod point_vec;
mod restore;
mod scalar;
mod scalar_vec;
mod stream;
mod table;
mod wide_table;

use pyo3::class::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::core::workers;
use errors::raise;

/// The number of threads that large batches use.
#[pyfunction]
fn threads() -> usize {
    workers::threads()
}

/// Use this many threads (1 to 1024) from now on, whatever GOPA_THREADS says.
#[pyfunction]
#[pyo3(signature = (count, /))]
fn set_threads(count: &Bound<'_, PyAny>) -> PyResult<()> {
    workers::set_threads(integers::size(count, "the number of threads")?).map_err(raise)
}

/// What `==` and `!=` answer; `None` for an operand of another class.
fn equality(py: Python<'_>, op: CompareOp, equal: Option<bool>) -> PyResult<Py<PyAny>> {
    let answer = match (op, equal) {
        (CompareOp::Eq, Some(equal)) => equal,
        (CompareOp::Ne, Some(equal)) => !equal,
        _ => return Ok(py.NotImplemented()),
    };
    Ok(PyBool::new(py, answer).to_owned().into_any().unbind())
}

/// The start of an encoding, for `repr`.
fn short_hex(encoding: &[u8; 32]) -> String {
    encoding[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The native core: ristretto255, seeded streams and integer samplers.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::fixed_bases::FixedBases;
    #[pymodule_export]
    use super::gates::{evaluate_gates, garble_gates, hash_blocks};
    #[pymodule_export]
    use super::group::Ristretto255;
    #[pymodule_export]
    use super::point::Point;
    #[pymodule_export]
    use super::point_vec::PointVec;
    #[pymodule_export]
    use super::restore::{restore_point, restore_points, restore_scalar, restore_scalars};
    #[pymodule_export]
    use super::scalar::{Scalar, SecretScalar};
    #[pymodule_export]
    use super::scalar_vec::{ScalarVec, SecretScalarVec};
    #[pymodule_export]
    use super::stream::Stream;
    #[pymodule_export]
    use super::table::{
        ResidueTable, combine_bits, combine_rows, combine_tables, equality_moved, equality_sum,
        equality_table, equality_words, integer_power_sums, integer_table, product_table,
        row_bit_sums, scalar_table,
    };
    #[pymodule_export]
    use super::wide_table::WideTable;
    #[pymodule_export]
    use super::{set_threads, threads};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::core::workers::read_environment().map_err(super::errors::raise)?;
        module.add("RISTRETTO255", Ristretto255::new(module.py())?)
    }
}
