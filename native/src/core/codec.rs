//! Strict encodings: one byte string per value, 32 bytes each.

use std::sync::atomic::{AtomicUsize, Ordering};

use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::{RistrettoPoint, Scalar};

use super::fault::Fault;
use super::points::Points;
use super::workers::Workers;

/// Bytes in the encoding of a scalar and of a point.
pub const SIZE: usize = 32;

const NOT_A_SCALAR: &str = "not a canonical scalar below the group order";
const NOT_A_POINT: &str = "not a canonical ristretto255 encoding";
const IDENTITY: &str = "the identity is not allowed here";

/// Exactly `count` scalars below the order.
pub fn decode_scalars(workers: &Workers, data: &[u8], count: usize) -> Result<Vec<Scalar>, Fault> {
    decode(workers, data, count, Scalar::ZERO, |encoding| {
        Option::from(Scalar::from_canonical_bytes(*encoding)).ok_or(NOT_A_SCALAR)
    })
}

/// Exactly `count` group elements; the identity only where it is allowed.
pub fn decode_points(
    workers: &Workers,
    data: &[u8],
    count: usize,
    allow_identity: bool,
) -> Result<Points, Fault> {
    let values = decode(workers, data, count, RistrettoPoint::default(), |encoding| {
        if !allow_identity && *encoding == [0; SIZE] {
            return Err(IDENTITY);
        }
        CompressedRistretto(*encoding).decompress().ok_or(NOT_A_POINT)
    })?;
    // Decoding accepts one encoding per point, so this is what encoding would give.
    Ok(Points::with_encodings(values, data.to_vec()))
}

/// The encodings, one after the other.
pub fn encode_scalars(scalars: &[Scalar]) -> Vec<u8> {
    scalars.iter().flat_map(|s| *s.as_bytes()).collect()
}

/// The encodings, one after the other.
pub fn encode_points(workers: &Workers, points: &[RistrettoPoint]) -> Vec<u8> {
    let mut out = vec![[0; SIZE]; points.len()];
    workers.fill(&mut out, |start, piece| {
        for (slot, point) in piece.iter_mut().zip(&points[start..]) {
            *slot = point.compress().to_bytes();
        }
    });
    out.into_flattened()
}

/// The RFC 9496 one-way map of consecutive 64-byte strings.
pub fn map_to_points(workers: &Workers, data: &[u8]) -> Result<Vec<RistrettoPoint>, Fault> {
    let (strings, rest) = data.as_chunks::<64>();
    if !rest.is_empty() {
        let len = data.len();
        return Err(Fault::usage(format!("{len} bytes do not divide into 64-byte strings")));
    }
    let mut out = vec![RistrettoPoint::default(); strings.len()];
    workers.fill(&mut out, |start, piece| {
        for (slot, string) in piece.iter_mut().zip(&strings[start..]) {
            *slot = RistrettoPoint::from_uniform_bytes(string);
        }
    });
    Ok(out)
}

/// Decode every element and name the first bad one, whichever thread sees it.
fn decode<T: Copy + Send + Sync>(
    workers: &Workers,
    data: &[u8],
    count: usize,
    blank: T,
    element: impl Fn(&[u8; SIZE]) -> Result<T, &'static str> + Sync,
) -> Result<Vec<T>, Fault> {
    let encodings = exact_chunks(data, count)?;
    let first_bad = AtomicUsize::new(usize::MAX);
    let mut out = vec![blank; count];
    workers.fill(&mut out, |start, piece| {
        for (i, slot) in piece.iter_mut().enumerate() {
            match element(&encodings[start + i]) {
                Ok(value) => *slot = value,
                Err(_) => {
                    first_bad.fetch_min(start + i, Ordering::Relaxed);
                    return;
                }
            }
        }
    });
    let index = first_bad.into_inner();
    match encodings.get(index).map(element) {
        Some(Err(message)) => Err(Fault::malformed(message, index * SIZE)),
        _ => Ok(out),
    }
}

/// Checks the length before anything is allocated for `count` elements.
fn exact_chunks(data: &[u8], count: usize) -> Result<&[[u8; SIZE]], Fault> {
    let (encodings, rest) = data.as_chunks::<SIZE>();
    if encodings.len() == count && rest.is_empty() {
        return Ok(encodings);
    }
    let offset = count.saturating_mul(SIZE).min(data.len());
    let len = data.len();
    Err(Fault::malformed(
        format!("{count} encodings of {SIZE} bytes expected, got {len} bytes"),
        offset,
    ))
}
