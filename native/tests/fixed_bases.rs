//! Commitments with fixed bases against plain multiples.

mod common;

use _native::core::codec::encode_points;
use _native::core::fixed_bases::FixedBases;
use _native::core::workers::Workers;
use common::{all_workers, naive_msm};
use curve25519_dalek::{RistrettoPoint, Scalar};

#[test]
fn combine_agrees_with_plain_multiples_and_their_encodings() {
    for count in [1, 2, 5] {
        let bases = common::points(1, count);
        let mut columns: Vec<Vec<Scalar>> =
            (0..count).map(|j| common::scalars(10 + j as u8, 20)).collect();
        columns[0][3] = Scalar::ZERO;
        columns.iter_mut().for_each(|column| column[4] = Scalar::ZERO);
        columns[0][5] = -Scalar::ONE;
        let expected: Vec<RistrettoPoint> = (0..20)
            .map(|i| naive_msm(&columns.iter().map(|c| c[i]).collect::<Vec<_>>(), &bases))
            .collect();
        let encodings = encode_points(&Workers::INLINE, &expected);
        let columns: Vec<&[Scalar]> = columns.iter().map(Vec::as_slice).collect();
        for workers in all_workers() {
            for fixed in [FixedBases::tables(&workers, &bases), FixedBases::interleaved(&bases)] {
                let points = fixed.combine(&workers, &columns, 20);
                assert_eq!(fixed.len(), count);
                assert_eq!(points.values(), expected);
                assert!(points.known_encodings().is_some());
                assert_eq!(points.encodings(&workers), encodings);
            }
        }
    }
}

#[test]
fn no_rows_give_no_points() {
    let fixed = FixedBases::new(&Workers::INLINE, &common::points(1, 2));
    assert!(fixed.combine(&Workers::INLINE, &[&[], &[]], 0).values().is_empty());
}
