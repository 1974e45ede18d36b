//! When to release the interpreter lock and when to wake other threads.

use pyo3::prelude::*;

use crate::core::workers::Workers;

/// Shorter work than this is done before another Python thread could use the lock.
const RELEASE_NANOS: usize = 20_000;
/// Work that repays waking another thread.
const PIECE_NANOS: usize = 200_000;

/// Nanoseconds of one operation, good to a factor of two.
pub mod nanos {
    /// One word of a mask added in place.
    pub const MASK_WORD: usize = 1;
    /// One of the steps that find the row of a draw.
    pub const WIDE_DRAW_STEP: usize = 2;
    /// Addition mod the order.
    pub const SCALAR_ADD: usize = 15;
    /// Multiplication mod the order.
    pub const SCALAR_MUL: usize = 100;
    /// Addition of residues.
    pub const RESIDUE_ADD: usize = 3;
    /// A product of residues.
    pub const PRODUCT: usize = 15;
    /// A product of a residue and a word.
    pub const SHORT_PRODUCT: usize = 7;
    /// Hashing a scalar in or out.
    pub const SCALAR_HASH: usize = 300;
    /// Addition of points.
    pub const POINT_ADD: usize = 100;
    /// One term of a variable-time sum.
    pub const MSM_TERM: usize = 1_500;
    /// One term of a constant-time sum.
    pub const CT_MSM_TERM: usize = 4_000;
    /// One digit of a small scalar in a constant-time sum.
    pub const DIGIT: usize = 150;
    /// An AND gate, garbled or evaluated.
    pub const AND_GATE: usize = 70;
    /// Encoding or decoding one point.
    pub const CODEC: usize = 4_000;
    /// One constant-time multiple.
    pub const POINT_MUL: usize = 20_000;
}

/// Run a batch of `items` that take `nanos` each, where it runs best.
pub fn run<T: Send>(
    py: Python<'_>,
    items: usize,
    nanos: usize,
    work: impl FnOnce(&Workers) -> T + Send,
) -> T {
    run_in_pieces(py, items, nanos, (PIECE_NANOS / nanos.max(1)).max(1), work)
}

/// The same for work that should not be cut into pieces of less than `grain` items.
pub fn run_in_pieces<T: Send>(
    py: Python<'_>,
    items: usize,
    nanos: usize,
    grain: usize,
    work: impl FnOnce(&Workers) -> T + Send,
) -> T {
    if items.saturating_mul(nanos) < RELEASE_NANOS {
        return work(&Workers::INLINE);
    }
    let workers = Workers::for_batch(items, grain);
    py.detach(|| work(&workers))
}
