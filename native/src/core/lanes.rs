//! Eight numbers side by side, in limbs that a CPU with AVX-512 IFMA multiplies at once.
//!
//! `fence` finds out whether the CPU does, and has all unsafe code. What is computed here is also
//! computed by portable code, which other machines run. Nothing branches on a number or indexes by
//! one; a number may say which word of a register is taken, in a time that is always the same.

#[cfg(target_arch = "x86_64")]
mod bits;
#[cfg(target_arch = "x86_64")]
mod bounded;
#[cfg(target_arch = "x86_64")]
mod eight;
mod fence;
#[cfg(target_arch = "x86_64")]
mod field;
#[cfg(target_arch = "x86_64")]
mod points;
#[cfg(target_arch = "x86_64")]
mod tables;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod wide;

pub use fence::{LANES, Lanes, status};
