//! Material for the tests: points and scalars without structure.
#![allow(dead_code)] // every test file uses its own part

use std::ops::Range;

use _native::core::codec::map_to_points;
use _native::core::stream::Stream;
use _native::core::workers::Workers;
use curve25519_dalek::{RistrettoPoint, Scalar};

/// Full-size scalars, different for each tag.
pub fn scalars(tag: u8, n: usize) -> Vec<Scalar> {
    Stream::new(&[tag; 32], b"test scalars").scalars(&Workers::INLINE, 0, n)
}

/// Points nobody knows a relation between, different for each tag.
pub fn points(tag: u8, n: usize) -> Vec<RistrettoPoint> {
    let mut bytes = vec![0; 64 * n];
    Stream::new(&[tag; 32], b"test points ").read(0, &mut bytes);
    map_to_points(&Workers::INLINE, &bytes).expect("whole strings")
}

/// Term by term, with nothing shared.
pub fn naive_msm(scalars: &[Scalar], points: &[RistrettoPoint]) -> RistrettoPoint {
    assert_eq!(scalars.len(), points.len());
    scalars.iter().zip(points).map(|(s, p)| s * p).sum()
}

/// One thread, and three with the finest cut.
pub fn all_workers() -> [Workers; 2] {
    [Workers::INLINE, Workers::fixed(3, 1)]
}

/// Consecutive ranges of these lengths.
pub fn runs(lengths: &[usize]) -> Vec<Range<usize>> {
    let mut end = 0;
    let run = |&length: &usize| {
        end += length;
        end - length..end
    };
    lengths.iter().map(run).collect()
}
