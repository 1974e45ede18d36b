//! Vectors of ristretto255 points and scalars, seeded streams and integer samplers, and
//! vectors of garbled gates.
//!
//! `core` is plain Rust on top of curve25519-dalek and knows nothing of Python;
//! `python` wraps it in immutable classes and functions. Nothing here knows a protocol.
//!
//! Secret data: every buffer that holds secret scalars is erased when dropped, and
//! functions take constant time unless their name starts with `vartime_`.

pub mod core;
#[cfg(feature = "python")]
mod python;
