//! Vectors of scalars and points against element-wise arithmetic.

mod common;

use _native::core::codec::{SIZE, encode_points};
use _native::core::fault::Fault;
use _native::core::points::{self, Points};
use _native::core::scalars::{self, Values};
use _native::core::workers::Workers;
use common::all_workers;
use curve25519_dalek::traits::Identity;
use curve25519_dalek::{RistrettoPoint, Scalar};

#[test]
fn operands_are_taken_position_by_position_or_broadcast() {
    let (left, right) = (common::scalars(1, 9), common::scalars(2, 9));
    for workers in all_workers() {
        let many = scalars::zip_with(&workers, &left, Values::Many(&right), |a, b| a - b);
        let one = scalars::zip_with(&workers, &left, Values::One(&right[0]), |a, b| a - b);
        for i in 0..9 {
            assert_eq!(many[i], left[i] - right[i]);
            assert_eq!(one[i], left[i] - right[0]);
        }
    }
    assert!(matches!(Values::Many(&right).check_len(8), Err(Fault::Usage(_))));
    assert_eq!(Values::One(&right[0]).check_len(8), Ok(()));
}

#[test]
fn inner_products_powers_and_combinations() {
    let (left, right) = (common::scalars(1, 9), common::scalars(2, 9));
    let expected_inner: Scalar = left.iter().zip(&right).map(|(a, b)| a * b).sum();
    for workers in all_workers() {
        assert_eq!(scalars::inner(&workers, &left, &right), expected_inner);
        assert_eq!(scalars::inner(&workers, &[], &[]), Scalar::ZERO);
        let powers = scalars::powers(&workers, &left[0], 9);
        assert_eq!(powers[0], Scalar::ONE);
        assert!(powers.windows(2).all(|pair| pair[1] == pair[0] * left[0]));
        let sum = scalars::combine(&workers, &left[..2], &[&left, &right], 9);
        assert!((0..9).all(|i| sum[i] == left[0] * left[i] + left[1] * right[i]));
    }
}

#[test]
fn inverses_exist_for_everything_but_zero() {
    let values = common::scalars(1, 9);
    let inverses = scalars::inverses(&values).expect("no zero");
    assert!(values.iter().zip(&inverses).all(|(a, b)| a * b == Scalar::ONE));
    assert_eq!(scalars::inverse(&values[0]), Ok(inverses[0]));
    assert_eq!(scalars::inverses(&[]), Ok(vec![]));
    let with_zero = [values[0], Scalar::ZERO];
    assert!(matches!(scalars::inverses(&with_zero), Err(Fault::Usage(_))));
    assert!(matches!(scalars::inverse(&Scalar::ZERO), Err(Fault::Usage(_))));
}

#[test]
fn signed_integers_and_wide_bytes_are_reduced() {
    for value in [0, 1, -1, i64::MAX, i64::MIN] {
        let magnitude = Scalar::from(value.unsigned_abs());
        let expected = if value < 0 { -magnitude } else { magnitude };
        assert_eq!(scalars::from_i64(value), expected, "{value}");
    }
    let workers = Workers::INLINE;
    let order = {
        let mut bytes = (-Scalar::ONE).to_bytes();
        bytes[0] += 1;
        bytes
    };
    assert_eq!(scalars::reduce(&workers, &order, SIZE), Ok(vec![Scalar::ZERO]));
    assert_eq!(scalars::reduce(&workers, &[7, 8], 1), Ok([7u64, 8].map(Scalar::from).to_vec()));
    for (len, width) in [(1, 0), (65, 65), (3, 2)] {
        let result = scalars::reduce(&workers, &vec![0; len], width);
        assert!(matches!(result, Err(Fault::Usage(_))), "{len} {width}");
    }
}

#[test]
fn chosen_points_keep_known_encodings() {
    let workers = Workers::INLINE;
    let values = common::points(1, 4);
    let plain = Points::new(values.clone());
    assert!(plain.select([0].into_iter()).known_encodings().is_none());
    assert_eq!(plain.known_encoding(0), None);
    let known = Points::with_encodings(values.clone(), encode_points(&workers, &values));
    let chosen = known.select([3, 0, 3].into_iter());
    assert_eq!(chosen.values(), [values[3], values[0], values[3]]);
    assert!(chosen.known_encodings().is_some());
    assert_eq!(chosen.encodings(&workers), encode_points(&workers, chosen.values()));
    assert_eq!(known.known_encoding(2), Some(values[2].compress().to_bytes()));
    let both = known.concat(&chosen);
    assert!(both.known_encodings().is_some() && known.concat(&plain).known_encodings().is_none());
    assert_eq!(both.encodings(&workers), encode_points(&workers, both.values()));
    let gathered = Points::gather((0..4).map(|i| (values[i], known.known_encoding(i))));
    assert!(gathered.known_encodings().is_some());
    assert!(Points::gather(values.iter().map(|&p| (p, None))).known_encodings().is_none());
}

#[test]
fn point_sums_and_multiples() {
    let (points, scalars) = (common::points(1, 9), common::scalars(1, 9));
    for workers in all_workers() {
        assert_eq!(points::sum(&workers, &points), points.iter().sum());
        assert_eq!(points::sum(&workers, &[]), RistrettoPoint::identity());
        let products = points::multiply(&workers, &points, Values::Many(&scalars));
        assert!((0..9).all(|i| products[i] == points[i] * scalars[i]));
    }
    let with_identity = [&points[..2], &[points[0] - points[0]], &points[..1]].concat();
    for (values, place) in [(points, None), (with_identity, Some(2))] {
        let encodings = encode_points(&Workers::INLINE, &values);
        assert_eq!(points::find_identity(&Points::new(values.clone())), place);
        assert_eq!(points::find_identity(&Points::with_encodings(values, encodings)), place);
    }
}
