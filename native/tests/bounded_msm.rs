//! Sums with small scalars against the plain sums.

mod common;

use _native::core::bounded_msm::{MOST_BITS, bounded_msms};
use _native::core::fault::Fault;
use _native::core::points::Points;
use _native::core::workers::Workers;
use common::{all_workers, naive_msm, points};
use curve25519_dalek::Scalar;

/// Signed integers as scalars.
fn scalars(values: &[i64]) -> Vec<Scalar> {
    let of = |&value: &i64| {
        let magnitude = Scalar::from(value.unsigned_abs());
        if value < 0 { -magnitude } else { magnitude }
    };
    values.iter().map(of).collect()
}

#[test]
fn every_width_holds_its_extremes() {
    let points = points(1, 6);
    let known = Points::new(points.clone());
    for bits in 1..=MOST_BITS {
        let (low, high) = (-(1i64 << bits), (1i64 << bits) - 1);
        let first = scalars(&[low, high, 0, 1, -1, high / 2]);
        let second = scalars(&[high, low, low / 2, low + 1, high - 1, 0]);
        let expected = [naive_msm(&first, &points), naive_msm(&second, &points)];
        // The more rows there are the longer are the digits.
        for pairs in [1, 60] {
            let rows = [&first[..], &second[..]].repeat(pairs);
            let made = bounded_msms(&Workers::INLINE, &rows, &known, bits);
            assert_eq!(made.expect("small scalars"), expected.repeat(pairs), "{bits}");
        }
        for bad in [low - 1, high + 1] {
            let row = scalars(&[0, 0, 0, bad, 0, 0]);
            let made = bounded_msms(&Workers::INLINE, &[&first, &row], &known, bits);
            assert!(matches!(made, Err(Fault::Usage(_))), "{bits} {bad}");
        }
    }
}

#[test]
fn large_scalars_are_refused_wherever_their_bits_are() {
    let points = points(2, 1);
    let known = Points::new(points.clone());
    for bit in 11..252 {
        let mut bytes = [0u8; 32];
        bytes[bit / 8] = 1 << (bit % 8);
        let scalar = Scalar::from_canonical_bytes(bytes).expect("below the order");
        for row in [[scalar], [-scalar - Scalar::ONE]] {
            let made = bounded_msms(&Workers::INLINE, &[&row], &known, 10);
            assert!(made.is_err(), "{bit}");
        }
    }
}

#[test]
fn pieces_of_the_points_add_up() {
    let points = points(3, 50);
    let known = Points::new(points.clone());
    let rows: Vec<Vec<Scalar>> = (0..7)
        .map(|row| {
            scalars(&(0..50).map(|i| (i * 7919 + row * 104_729) % 4001 - 2000).collect::<Vec<_>>())
        })
        .collect();
    let views: Vec<&[Scalar]> = rows.iter().map(Vec::as_slice).collect();
    let expected: Vec<_> = rows.iter().map(|row| naive_msm(row, &points)).collect();
    for workers in all_workers() {
        assert_eq!(bounded_msms(&workers, &views, &known, 11).expect("small scalars"), expected);
    }
}

#[test]
fn nothing_and_no_points() {
    assert!(
        bounded_msms(&Workers::INLINE, &[], &Points::new(points(4, 3)), 8)
            .expect("no rows")
            .is_empty()
    );
    let made =
        bounded_msms(&Workers::INLINE, &[&[], &[]], &Points::default(), 8).expect("no points");
    assert_eq!(made, [Default::default(); 2]);
    for bits in [0, MOST_BITS + 1] {
        assert!(matches!(
            bounded_msms(&Workers::INLINE, &[], &Points::default(), bits),
            Err(Fault::Usage(_))
        ));
    }
}
