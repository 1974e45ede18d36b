//! Wide tables against the definition, and the three ways to draw against each other.

mod common;

use _native::core::fault::Fault;
use _native::core::stream::Stream;
use _native::core::wide::{DRAW_BYTES, WideTable};
use _native::core::workers::Workers;
use common::all_workers;
use curve25519_dalek::Scalar;

const HALF: u128 = 1 << 127;

fn stream() -> Stream {
    Stream::new(&[9; 32], b"wide draws 1")
}

fn draws(n: usize) -> Vec<u128> {
    let mut bytes = vec![0; DRAW_BYTES * n];
    stream().read(0, &mut bytes);
    let (draws, _) = bytes.as_chunks::<DRAW_BYTES>();
    draws.iter().map(|draw| u128::from_le_bytes(*draw)).collect()
}

/// The definition: the row i with F_i <= y < F_{i+1}, less the radius. A bound 2^128 - F
/// is at most y exactly if 2^128 - 1 - y is below F.
fn value(lower: &[u128], draw: u128) -> i64 {
    let below = lower.iter().filter(|&&bound| bound <= draw).count() as i64;
    let above = lower.iter().filter(|&&bound| !draw < bound).count() as i64;
    below + above - lower.len() as i64
}

fn steps(radius: usize) -> Vec<u128> {
    (1..=radius as u128).map(|i| HALF / (radius as u128 + 1) * i).collect()
}

#[test]
fn search_and_scan_follow_the_definition() {
    for radius in [1, 2, 3, 4, 7, 8, 9, 100] {
        let lower = steps(radius);
        let table = WideTable::new(lower.clone()).expect("a table");
        assert_eq!(table.radius(), radius);
        let mut edges = vec![0, 1, HALF - 1, HALF, HALF + 1, u128::MAX - 1, u128::MAX];
        edges.extend(lower.iter().flat_map(|&b| [b - 1, b, b + 1, !b, !(b - 1), !(b + 1)]));
        edges.extend(draws(500));
        for draw in edges {
            assert_eq!(table.scanned(draw), value(&lower, draw), "{radius} {draw}");
            assert_eq!(table.searched(&[draw, !draw]), [value(&lower, draw), value(&lower, !draw)]);
        }
    }
}

#[test]
fn the_depth_is_that_of_a_search() {
    for (radius, depth) in [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (665, 10)] {
        assert_eq!(WideTable::new(steps(radius)).expect("a table").depth(), depth);
    }
}

#[test]
fn all_forms_and_all_workers_give_the_same_draws() {
    let lower = steps(37);
    let table = WideTable::new(lower.clone()).expect("a table");
    let n = 1500;
    let expected: Vec<i64> = draws(n).iter().map(|&draw| value(&lower, draw)).collect();
    for workers in all_workers() {
        assert_eq!(stream().wide_draws(&workers, 0, &table, n)[..], expected);
        let tail = stream().wide_draws(&workers, 7 * DRAW_BYTES as u64, &table, n - 7);
        assert_eq!(tail[..], expected[7..]);
        let scalars = stream().wide_scalars(&workers, 0, &table, n);
        for (scalar, &value) in scalars.iter().zip(&expected) {
            let magnitude = Scalar::from(value.unsigned_abs());
            assert_eq!(*scalar, if value < 0 { -magnitude } else { magnitude });
        }
        let start: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let mut words = start.clone();
        stream().add_wide_draws_to(&workers, 0, &table, &mut words, true);
        for ((word, old), &value) in words.iter().zip(&start).zip(&expected) {
            assert_eq!(*word, old.wrapping_sub(value as u32));
        }
        stream().add_wide_draws_to(&workers, 0, &table, &mut words, false);
        assert_eq!(words, start);
    }
}

#[test]
fn words_of_all_types_wrap() {
    let table = WideTable::new(steps(5)).expect("a table");
    let values = stream().wide_draws(&Workers::INLINE, 0, &table, 40);
    let (mut a, mut b) = (vec![i32::MAX; 40], vec![u64::MAX; 40]);
    let mut c = vec![i64::MIN; 40];
    stream().add_wide_draws_to(&Workers::INLINE, 0, &table, &mut a, false);
    stream().add_wide_draws_to(&Workers::INLINE, 0, &table, &mut b, false);
    stream().add_wide_draws_to(&Workers::INLINE, 0, &table, &mut c, true);
    for (i, &value) in values.iter().enumerate() {
        assert_eq!(a[i], i32::MAX.wrapping_add(value as i32));
        assert_eq!(b[i], u64::MAX.wrapping_add_signed(value));
        assert_eq!(c[i], i64::MIN.wrapping_sub(value));
    }
}

#[test]
fn malformed_tables_are_refused() {
    assert!(WideTable::new(vec![1, 1, HALF]).is_ok());
    for bad in [vec![], vec![0], vec![0, 1], vec![2, 1], vec![1, HALF + 1], vec![u128::MAX]] {
        assert!(matches!(WideTable::new(bad), Err(Fault::Usage(_))));
    }
}
