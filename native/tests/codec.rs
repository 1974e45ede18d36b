//! Strict decoding: one encoding per value, and the first bad one is named.

mod common;

use _native::core::codec::{
    SIZE, decode_points, decode_scalars, encode_points, encode_scalars, map_to_points,
};
use _native::core::fault::Fault;
use _native::core::workers::Workers;
use common::all_workers;
use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::traits::Identity;
use curve25519_dalek::{RistrettoPoint, Scalar};

/// The order, which is the smallest integer that is not a canonical scalar.
fn order() -> [u8; SIZE] {
    let mut bytes = (-Scalar::ONE).to_bytes();
    bytes[0] += 1;
    bytes
}

/// One encoding for every reason to refuse it.
fn bad_points() -> Vec<[u8; SIZE]> {
    let mut field_order = [0xff; SIZE]; // the smallest field element not in lowest terms
    (field_order[0], field_order[31]) = (0xed, 0x7f);
    let mut high_bit = encode(&common::points(1, 1)[0]);
    high_bit[31] |= 0x80;
    let small = |value: u8| std::array::from_fn(|i| if i == 0 { value } else { 0 });
    let no_point = (2..=254).step_by(2).map(small);
    let no_point = no_point.filter(|e| CompressedRistretto(*e).decompress().is_none()).take(3);
    let one: [u8; SIZE] = small(1); // odd, so negative
    [field_order, high_bit, one, [0xff; SIZE]].into_iter().chain(no_point).collect()
}

fn encode(point: &RistrettoPoint) -> [u8; SIZE] {
    point.compress().to_bytes()
}

fn offset<T>(result: Result<T, Fault>) -> Option<usize> {
    match result {
        Err(Fault::Malformed { offset, .. }) => Some(offset),
        _ => None,
    }
}

#[test]
fn points_survive_the_round_trip() {
    let points = common::points(1, 50);
    for workers in all_workers() {
        let data = encode_points(&workers, &points);
        let decoded = decode_points(&workers, &data, 50, false).expect("good encodings");
        assert_eq!(decoded.values(), points);
        assert_eq!(decoded.encodings(&workers), data);
    }
}

#[test]
fn scalars_survive_the_round_trip() {
    let scalars = [common::scalars(1, 50), vec![Scalar::ZERO, -Scalar::ONE]].concat();
    for workers in all_workers() {
        let data = encode_scalars(&scalars);
        assert_eq!(decode_scalars(&workers, &data, 52), Ok(scalars.clone()));
    }
}

#[test]
fn the_first_bad_point_is_named() {
    let points = common::points(1, 40);
    let bad = bad_points();
    assert_eq!(bad.len(), 7);
    for workers in all_workers() {
        let good = encode_points(&workers, &points);
        assert!(decode_points(&workers, &good, 40, false).is_ok());
        for encoding in &bad {
            for position in [0, 17, 39] {
                let mut data = good.clone();
                data[position * SIZE..][..SIZE].copy_from_slice(encoding);
                data[39 * SIZE..].copy_from_slice(encoding);
                let result = decode_points(&workers, &data, 40, true);
                assert_eq!(offset(result), Some(position * SIZE), "{encoding:?}");
            }
        }
    }
}

#[test]
fn the_first_bad_scalar_is_named() {
    let workers = Workers::INLINE;
    let good = encode_scalars(&common::scalars(1, 9));
    assert!(decode_scalars(&workers, &good, 9).is_ok());
    for encoding in [order(), [0xff; SIZE]] {
        for position in [0, 4, 8] {
            let mut data = good.clone();
            data[position * SIZE..][..SIZE].copy_from_slice(&encoding);
            data[8 * SIZE..].copy_from_slice(&encoding);
            assert_eq!(offset(decode_scalars(&workers, &data, 9)), Some(position * SIZE));
        }
    }
}

#[test]
fn the_identity_needs_permission() {
    let workers = Workers::INLINE;
    let mut points = common::points(1, 3);
    points[1] = RistrettoPoint::identity();
    let data = encode_points(&workers, &points);
    assert!(decode_points(&workers, &data, 3, true).is_ok());
    assert_eq!(offset(decode_points(&workers, &data, 3, false)), Some(SIZE));
}

#[test]
fn the_length_must_be_exact() {
    let workers = Workers::INLINE;
    let data = encode_points(&workers, &common::points(1, 3));
    assert!(decode_points(&workers, &data, 3, false).is_ok());
    let long = [&data[..], &[0]].concat();
    let cases = [(&data[..95], 3, 95), (&long[..], 3, 96), (&data[..], 2, 64), (&data[..], 4, 96)];
    for (data, count, expected) in cases {
        assert_eq!(offset(decode_points(&workers, data, count, false)), Some(expected));
    }
    assert_eq!(offset(decode_scalars(&workers, &[], usize::MAX)), Some(0), "nothing allocated");
}

#[test]
fn mapping_needs_whole_strings() {
    let workers = Workers::INLINE;
    assert_eq!(map_to_points(&workers, &[0; 128]).map(|points| points.len()), Ok(2));
    assert!(matches!(map_to_points(&workers, &[0; 127]), Err(Fault::Usage(_))));
}
