//! Sums of multiples with public scalars against the naive sum.

mod common;

use _native::core::buckets::{self, Plan};
use _native::core::fault::Fault;
use _native::core::msm::{segments, vartime_msm, vartime_segment_msm};
use _native::core::points;
use _native::core::vartime::{Signed, multiply};
use _native::core::workers::Workers;
use common::{all_workers, naive_msm, runs};
use curve25519_dalek::traits::Identity;
use curve25519_dalek::{RistrettoPoint, Scalar};

/// Scalars of `bits` bits with both signs, the extremes first.
fn short_scalars(bits: u32, n: usize) -> Vec<Scalar> {
    let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
    let random = common::scalars(3, n);
    let values = random.iter().map(|s| {
        let low = u64::from_le_bytes(s.as_bytes()[..8].try_into().expect("8 bytes"));
        let value = Scalar::from(low & mask);
        if s.as_bytes()[8] & 1 == 1 { -value } else { value }
    });
    let largest = Scalar::from(mask);
    [largest, -largest, Scalar::ZERO].into_iter().chain(values).take(n).collect()
}

#[test]
fn agrees_with_the_naive_sum_for_every_size_and_length() {
    let points = common::points(1, 1000);
    for workers in all_workers() {
        for n in [0, 1, 2, 3, 31, 189, 190, 499, 500, 800, 1000] {
            for bits in [0, 1, 2, 8, 16, 17, 32, 33, 64] {
                let scalars = short_scalars(bits, n);
                let expected = naive_msm(&scalars, &points[..n]);
                assert_eq!(vartime_msm(&workers, &scalars, &points[..n]), expected, "{n} {bits}");
            }
            let scalars = common::scalars(2, n);
            let expected = naive_msm(&scalars, &points[..n]);
            assert_eq!(vartime_msm(&workers, &scalars, &points[..n]), expected, "{n} full");
        }
    }
}

#[test]
fn cuts_long_vectors_into_chunks_without_losing_terms() {
    let n = 10_241;
    let scalars = vec![Scalar::from(3u64); n];
    let points = vec![common::points(1, 1)[0]; n];
    let expected = points[0] * Scalar::from(3 * n as u64);
    assert_eq!(vartime_msm(&Workers::INLINE, &scalars, &points), expected);
}

#[test]
fn buckets_hold_for_every_width_up_to_their_limit() {
    let points = common::points(1, 40);
    for bits in 0..=buckets::MAX_BITS {
        let scalars = short_scalars(bits as u32, points.len());
        let signed: Vec<Signed> = scalars.iter().map(Signed::of).collect();
        for terms in [1, points.len(), 5000] {
            let plan = Plan::best(terms, bits);
            let expected = naive_msm(&scalars, &points);
            assert_eq!(buckets::vartime_msm(plan, &signed, &points), expected, "{bits} {terms}");
        }
    }
}

#[test]
fn small_counts_from_both_ends() {
    for value in [0u64, 1, 2, 255, u64::MAX] {
        let (plus, minus) = (Signed::of(&Scalar::from(value)), Signed::of(&-Scalar::from(value)));
        let bits = (u64::BITS - value.leading_zeros()) as usize;
        assert_eq!((plus.bits(), plus.negative), (bits, false));
        assert_eq!((minus.bits(), minus.negative), (bits, value != 0));
    }
    // Between the two ends the scalar is taken as it is.
    let middle = Scalar::from(5u64).invert();
    assert_eq!((Signed::of(&middle).magnitude, Signed::of(&middle).negative), (middle, false));
}

#[test]
fn single_multiples_agree_with_the_constant_time_ones() {
    let point = common::points(1, 1)[0];
    let small = [0u64, 1, 2, 1 << 40].map(Scalar::from);
    for scalar in small.iter().chain(&common::scalars(2, 3)) {
        assert_eq!(multiply(scalar, &point), point * scalar);
        assert_eq!(multiply(&-scalar, &point), point * -scalar);
    }
}

#[test]
fn constant_time_sum_agrees_across_its_chunks() {
    let points = common::points(1, 600);
    for workers in all_workers() {
        for n in [0, 1, 511, 512, 513, 600] {
            let scalars = common::scalars(2, n);
            let expected = naive_msm(&scalars, &points[..n]);
            assert_eq!(points::msm(&workers, &scalars, &points[..n]), expected, "{n}");
        }
    }
}

#[test]
fn segments_are_summed_one_by_one() {
    let lengths = [3, 0, 1, 200, 0, 2];
    let (scalars, points) = (common::scalars(2, 206), common::points(1, 206));
    let ranges = segments(&lengths, 206).expect("they add up");
    assert_eq!(ranges, runs(&lengths));
    let expected: Vec<RistrettoPoint> =
        ranges.iter().map(|r| naive_msm(&scalars[r.clone()], &points[r.clone()])).collect();
    assert_eq!(expected[1], RistrettoPoint::identity());
    for workers in all_workers() {
        for (across, within) in [(&workers, &Workers::INLINE), (&Workers::INLINE, &workers)] {
            let sums = vartime_segment_msm(across, within, &scalars, &points, &ranges);
            assert_eq!(sums, expected);
        }
    }
}

#[test]
fn segments_must_cover_the_vector() {
    assert_eq!(segments(&[], 0), Ok(vec![]));
    for lengths in [&[][..], &[4], &[6], &[5, 1], &[usize::MAX, 6]] {
        assert!(matches!(segments(lengths, 5), Err(Fault::Usage(_))), "{lengths:?}");
    }
}
