//! Tables of residues against scalars, and what is refused.

mod common;

use curve25519_dalek::Scalar;

use _native::core::equality::{equal, equal_sum, equal_words, moved_equal, subset_products};
use _native::core::fault::Fault;
use _native::core::residues::{ProductSum, Residue, ShortSum, WordSum};
use _native::core::stream::Stream;
use _native::core::tables::{
    BitRows, Moves, bit_inners, check_small, combine, combine_bits, combine_rows, fold, inner,
    inner_words, integer_power_sums, pair_sums, permuted, power_sums, row_bit_sums, times,
};
use _native::core::workers::Workers;

const ALONE: Workers = Workers::INLINE;

fn scalars(tag: u8, n: usize) -> Vec<Scalar> {
    Stream::new(&[tag; 32], b"table  tests").scalars(&ALONE, 0, n)
}

fn words(tag: u8, n: usize) -> Vec<u64> {
    Stream::new(&[tag; 32], b"table  words").bits(&ALONE, 0, 64, n).to_vec()
}

fn integers(tag: u8, n: usize) -> Vec<i64> {
    let mut found: Vec<i64> = words(tag, n).iter().map(|&w| w as i64).collect();
    for (slot, edge) in found.iter_mut().zip([i64::MIN, i64::MAX, -1, 0, 1]) {
        *slot = edge;
    }
    found
}

fn integer(value: i64) -> Scalar {
    let size = Scalar::from(value.unsigned_abs());
    if value < 0 { -size } else { size }
}

fn residues(scalars: &[Scalar]) -> Vec<Residue> {
    scalars.iter().map(Residue::from_scalar).collect()
}

fn back(residues: &[Residue]) -> Vec<Scalar> {
    residues.iter().map(|r| r.to_scalar()).collect()
}

/// Zero, one, and what is next to the order and to powers of two.
fn edges() -> Vec<Scalar> {
    let mut power = Scalar::ONE;
    let mut found = vec![Scalar::ZERO, Scalar::ONE, -Scalar::ONE, -Scalar::from(2u64)];
    for _ in 0..252 {
        power += power;
        found.extend([power, power - Scalar::ONE, -power]);
    }
    found
}

#[test]
fn arithmetic_is_that_of_scalars() {
    let mut values = edges();
    values.extend(scalars(1, 300));
    let held = residues(&values);
    assert_eq!(back(&held), values);
    for (i, (a, r)) in values.iter().zip(&held).enumerate() {
        for j in [0, 1, 2, i, (7 * i + 3) % values.len()] {
            let (b, s) = (&values[j], &held[j]);
            assert_eq!(r.plus(s).to_scalar(), a + b);
            assert_eq!(r.minus(s).to_scalar(), a - b);
            assert_eq!(r.times(s).to_scalar(), a * b);
        }
        assert_eq!(r.negated_if(u64::MAX).to_scalar(), -a);
        assert_eq!(r.negated_if(0).to_scalar(), *a);
    }
    for value in integers(2, 100) {
        assert_eq!(Residue::from_integer(value).to_scalar(), integer(value));
        assert_eq!(Residue::from_word(value as u64).to_scalar(), Scalar::from(value as u64));
    }
}

/// The residue whose Montgomery form is 1.
fn one_over_radix() -> Residue {
    let radix = (0..256).fold(Scalar::ONE, |power, _| power + power);
    Residue::from_scalar(&radix.invert())
}

#[test]
fn long_sums_do_not_overflow() {
    let (largest, n) = (Residue::from_scalar(&-Scalar::ONE), 70_000u64);
    // Its Montgomery form is q - 1, the largest there is.
    let high = Residue::ZERO.minus(&one_over_radix());
    for value in [largest, high] {
        let (mut products, mut with_words) = (ProductSum::default(), WordSum::default());
        for _ in 0..n {
            products.add(&value, &value);
            with_words.add(&value, u64::MAX);
        }
        let (mut eight, mut long) = (ShortSum::default(), WordSum::default());
        for _ in 0..ShortSum::MOST {
            eight = eight.plus(&value);
        }
        for _ in 0..n {
            long.add_sum(&eight);
        }
        let scalar = value.to_scalar();
        assert_eq!(long.residue().to_scalar(), scalar * Scalar::from(8 * n));
        assert_eq!(products.residue().to_scalar(), scalar * scalar * Scalar::from(n));
        assert_eq!(
            with_words.residue().to_scalar(),
            scalar * Scalar::from(u64::MAX) * Scalar::from(n)
        );
    }
}

#[test]
fn equality_and_products_spread_over_bits() {
    let point = scalars(3, 5);
    let held = residues(&point);
    for workers in [&ALONE, &Workers::fixed(2, 3)] {
        for len in [0, 1, 7, 32] {
            let (found, subsets) = (
                back(&equal(workers, &held, len).unwrap()),
                back(&subset_products(workers, &held, len).unwrap()),
            );
            assert_eq!((found.len(), subsets.len()), (len, len));
            for j in 0..len {
                let bit = |i: usize| j >> (4 - i) & 1 == 1;
                let factor = |i: usize| if bit(i) { point[i] } else { Scalar::ONE - point[i] };
                assert_eq!(found[j], (0..5).map(factor).product::<Scalar>());
                let chosen = (0..5).filter(|&i| bit(i)).map(|i| point[i]);
                assert_eq!(subsets[j], chosen.product::<Scalar>());
            }
        }
        assert!(equal(workers, &held, 33).is_err());

        let (second, factors) = (scalars(23, 5), scalars(24, 2));
        let both = residues(&[point.clone(), second.clone()].concat());
        let found = back(&equal_sum(workers, &both, &residues(&factors), 27).unwrap());
        let tables = [&point, &second].map(|p| back(&equal(&ALONE, &residues(p), 27).unwrap()));
        for (j, sum) in found.iter().enumerate() {
            assert_eq!(*sum, factors[0] * tables[0][j] + factors[1] * tables[1][j]);
        }
        assert!(equal_sum(workers, &both, &residues(&factors), 33).is_err());
        assert!(equal_sum(workers, &both, &[], 3).is_err());
        assert!(equal_sum(workers, &both[1..], &residues(&factors), 3).is_err());
    }
    assert_eq!(back(&equal(&ALONE, &[], 1).unwrap()), [Scalar::ONE]);
}

#[test]
fn polynomials_of_a_round_hold_at_points() {
    let at = |table: &[Scalar], half: usize, j: usize, x: &Scalar| {
        let high = table.get(half + j).copied().unwrap_or(Scalar::ZERO);
        table[j] + x * (high - table[j])
    };
    for (len, half) in [(64, 32), (50, 32), (32, 32), (20, 32), (1, 1)] {
        let (left, right) = (scalars(4, len), scalars(5, len));
        let (held, other) = (residues(&left), residues(&right));
        for workers in [&ALONE, &Workers::fixed(2, 3)] {
            let x = scalars(6, 1)[0];
            let folded = back(&fold(workers, &held, &Residue::from_scalar(&x), half));
            let expected: Vec<Scalar> =
                (0..len.min(half)).map(|j| at(&left, half, j, &x)).collect();
            assert_eq!(folded, expected);

            let found = back(&pair_sums(workers, &held, &other, half).unwrap());
            let value = |x: Scalar| -> Scalar {
                (0..len.min(half)).map(|j| at(&left, half, j, &x) * at(&right, half, j, &x)).sum()
            };
            let (zero, one, two) =
                (value(Scalar::ZERO), value(Scalar::ONE), value(Scalar::from(2u64)));
            assert_eq!(found[0], zero);
            assert_eq!(found[1] + found[1], two - one - one + zero);

            for exponent in 2..=8 {
                let found = back(&power_sums(workers, &held, exponent, half).unwrap());
                assert_eq!(found.len(), exponent);
                let value = |x: Scalar| -> Scalar {
                    let power = |v: Scalar| (0..exponent).map(|_| v).product::<Scalar>();
                    (0..len.min(half)).map(|j| power(at(&left, half, j, &x))).sum()
                };
                // The one coefficient that is left out follows from the value at 1.
                let linear = value(Scalar::ONE) - found.iter().sum::<Scalar>();
                for x in scalars(7, 3) {
                    let mut all = found.clone();
                    all.insert(1, linear);
                    let polynomial = all.iter().rev().fold(Scalar::ZERO, |sum, c| sum * x + c);
                    assert_eq!(polynomial, value(x));
                }
                // The largest integers that are taken, and what is next to them.
                let length = usize::BITS - len.leading_zeros();
                let most = (1i64 << ((126 - length) / exponent as u32 - 1)) - 1;
                let mut small: Vec<i64> = integers(8, len).iter().map(|v| v % most).collect();
                small[0] = most;
                small[len / 2] = -most - 1;
                small[len - 1] = -most - 1;
                let held: Vec<Residue> = small.iter().map(|&v| Residue::from_integer(v)).collect();
                assert!(check_small(&small, exponent).is_ok());
                let sums = integer_power_sums(workers, &small, exponent, half).unwrap();
                assert_eq!(back(&sums), back(&power_sums(workers, &held, exponent, half).unwrap()));
                for wrong in [most + 1, -most - 2] {
                    small[len - 1] = wrong;
                    assert!(check_small(&small, exponent).is_err());
                }
            }
        }
    }
}

#[test]
fn sums_are_those_of_scalars() {
    let (left, right, weights) = (scalars(10, 90), scalars(11, 90), scalars(12, 6));
    let (held, other) = (residues(&left), residues(&right));
    let (words, values) = (words(13, 90), integers(14, 90));
    for workers in [&ALONE, &Workers::fixed(2, 7)] {
        let expected: Scalar = left.iter().zip(&right).map(|(a, b)| a * b).sum();
        assert_eq!(inner(workers, &held, &other).unwrap().to_scalar(), expected);
        let expected: Scalar = left.iter().zip(&words).map(|(a, &w)| a * Scalar::from(w)).sum();
        assert_eq!(inner_words(workers, &held, &words).unwrap().to_scalar(), expected);

        let found = back(&times(workers, &held, &residues(&weights)).unwrap());
        for (j, product) in found.iter().enumerate() {
            assert_eq!(*product, left[j] * weights[j % 6]);
        }
        let factors = residues(&weights[..2]);
        let found = back(&combine(workers, &factors, &[&held, &other[..40]]));
        for (j, sum) in found.iter().enumerate() {
            let second = if j < 40 { right[j] } else { Scalar::ZERO };
            assert_eq!(*sum, weights[0] * left[j] + weights[1] * second);
        }
        let found = back(&combine_rows(workers, &values, &residues(&weights)).unwrap());
        assert_eq!(found.len(), 15);
        for (l, sum) in found.iter().enumerate() {
            let row = |i: usize| weights[i] * integer(values[15 * i + l]);
            assert_eq!(*sum, (0..6).map(row).sum::<Scalar>());
        }
    }
}

#[test]
fn strings_of_bits_choose_summands() {
    let (len, count) = (21, 19);
    let bytes: Vec<u8> = words(15, 3 * count).iter().map(|&w| w as u8).collect();
    let bit = |k: usize, j: usize| bytes[3 * k + j / 8] >> (j % 8) & 1 == 1;
    let bits = BitRows::new(&bytes, len).unwrap();
    let (table, weights, rows) = (scalars(16, len), scalars(17, count), integers(18, 4 * len));
    for workers in [&ALONE, &Workers::fixed(2, 3)] {
        let found = back(&bit_inners(workers, &residues(&table), bits).unwrap());
        for (k, sum) in found.iter().enumerate() {
            let chosen = (0..len).filter(|&j| bit(k, j)).map(|j| table[j]);
            assert_eq!(*sum, chosen.sum::<Scalar>());
        }
        let found = back(&combine_bits(workers, &residues(&weights), bits).unwrap());
        for (j, sum) in found.iter().enumerate() {
            let chosen = (0..count).filter(|&k| bit(k, j)).map(|k| weights[k]);
            assert_eq!(*sum, chosen.sum::<Scalar>());
        }
        let found = row_bit_sums(workers, &rows, bits).unwrap();
        assert_eq!(found.len(), 4 * count);
        for (place, sum) in found.iter().enumerate() {
            let (row, k) = (&rows[place / count * len..], place % count);
            let chosen = (0..len).filter(|&j| bit(k, j)).map(|j| row[j]);
            assert_eq!(*sum, chosen.fold(0i64, i64::wrapping_add));
        }
    }
}

#[test]
fn a_permutation_moves_and_negates() {
    let table = scalars(19, 6);
    let signs = BitRows::new(&[0b0101], 4).unwrap();
    let moves = Moves::new(&[2, 0, 3, 1], signs).unwrap();
    let found = back(&permuted(&residues(&table), moves).unwrap());
    // Entries 0 and 2 are negated, on their way to 2 and 3.
    assert_eq!(found, [table[1], table[3], -table[0], -table[2], table[4], table[5]]);
    for places in [&[0, 1, 2, 2][..], &[0, 1, 2, 4], &[0, 1, 2]] {
        assert!(Moves::new(places, signs).is_err());
    }
    assert!(permuted(&residues(&table[..3]), moves).is_err());
}

/// Also where an index has more bits than the halves of tables are cut for.
#[test]
fn sums_over_tables_of_equality_need_no_table() {
    for (bits, len) in [(0usize, 1usize), (3, 7), (6, 64), (13, 5_003)] {
        let places: Vec<u32> = (0..(len * 3).div_ceil(4) as u32).rev().collect();
        let signs: Vec<u8> = words(27, places.len()).iter().map(|&w| w as u8).collect();
        let signs = &signs[..places.len().div_ceil(8)];
        let (factors, points) = (residues(&scalars(25, 2)), residues(&scalars(26, 3 * bits)));
        let (both, at) = points.split_at(2 * bits);
        let words = words(28, len);
        let moves = || Moves::new(&places, BitRows::new(signs, places.len()).unwrap()).unwrap();
        for (both, factors) in [(both, &factors[..]), (&both[..bits], &factors[..1])] {
            let table = equal_sum(&ALONE, both, factors, len).unwrap();
            let moved = permuted(&table, moves()).unwrap();
            for workers in [&ALONE, &Workers::fixed(2, 3), &Workers::fixed(2, 1_000)] {
                let found = equal_words(workers, both, factors, &words).unwrap();
                assert!(found == inner_words(&ALONE, &table, &words).unwrap());
                let found = moved_equal(workers, both, factors, moves(), at, len).unwrap();
                let other = equal(&ALONE, at, len).unwrap();
                assert!(found == inner(&ALONE, &moved, &other).unwrap());
            }
            let short = moved_equal(&ALONE, both, factors, moves(), at, places.len() - 1);
            assert!(short.is_err());
        }
        if bits > 0 {
            assert!(moved_equal(&ALONE, both, &factors, moves(), &at[1..], len).is_err());
        }
        assert!(equal_words(&ALONE, both, &factors, &vec![0; (1 << bits) + 1]).is_err());
        assert!(equal_words(&ALONE, both, &[], &words).is_err());
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (three, four) = (residues(&scalars(20, 3)), residues(&scalars(21, 4)));
    let bits = BitRows::new(&[1, 2, 3], 4).unwrap();
    let usage = |found: Result<_, Fault>| matches!(found, Err(Fault::Usage(_)));
    assert!(usage(pair_sums(&ALONE, &three, &four, 2).map(|_| ())));
    assert!(usage(inner(&ALONE, &three, &four).map(|_| ())));
    assert!(usage(times(&ALONE, &three, &four).map(|_| ())));
    assert!(usage(times(&ALONE, &three, &[]).map(|_| ())));
    assert!(usage(inner_words(&ALONE, &three, &[1, 2]).map(|_| ())));
    assert!(usage(combine_rows(&ALONE, &[1, 2, 3, 4], &three).map(|_| ())));
    assert!(usage(combine_rows(&ALONE, &[], &three).map(|_| ())));
    assert!(usage(combine_rows(&ALONE, &[1], &[]).map(|_| ())));
    assert!(usage(bit_inners(&ALONE, &three, bits).map(|_| ())));
    assert!(usage(combine_bits(&ALONE, &four, bits).map(|_| ())));
    assert!(usage(row_bit_sums(&ALONE, &[1, 2, 3], bits).map(|_| ())));
    assert!(usage(BitRows::new(&[1, 2, 3], 9).map(|_| ())));
    assert!(usage(BitRows::new(&[], 0).map(|_| ())));
    for exponent in [0, 1, 9] {
        assert!(usage(power_sums(&ALONE, &three, exponent, 2).map(|_| ())));
    }
}

#[test]
fn a_half_behind_the_end_of_a_table_adds_zeros() {
    let values = integers(22, 5).iter().map(|v| v >> 51).collect::<Vec<_>>();
    let held: Vec<Residue> = values.iter().map(|v| Residue::from_integer(*v)).collect();
    let (by, far) = (Residue::from_word(5), 5);
    for workers in [ALONE, ALONE.without_lanes(), Workers::fixed(2, 2).without_lanes()] {
        let folded = fold(&workers, &held, &by, far);
        let pairs = pair_sums(&workers, &held, &held, far).unwrap();
        let powers = power_sums(&workers, &held, 8, far).unwrap();
        // Where a sum of places overflows it comes back to the first entries.
        for half in [6, usize::MAX - 5, usize::MAX - 3, usize::MAX - 1, usize::MAX] {
            assert_eq!(back(&fold(&workers, &held, &by, half)), back(&folded));
            assert_eq!(back(&pair_sums(&workers, &held, &held, half).unwrap()), back(&pairs));
            for exponent in [2, 3, 8] {
                let [all, small] = [
                    power_sums(&workers, &held, exponent, half).unwrap(),
                    integer_power_sums(&workers, &values, exponent, half).unwrap(),
                ];
                assert_eq!(back(&all), back(&small));
            }
            assert_eq!(back(&power_sums(&workers, &held, 8, half).unwrap()), back(&powers));
        }
    }
}

#[test]
fn a_count_without_data_makes_no_room() {
    let usage = |found: Result<Vec<Residue>, Fault>| matches!(found, Err(Fault::Usage(_)));
    let one = residues(&scalars(23, 1));
    assert_eq!(combine_bits(&ALONE, &one, BitRows::new(&[3], 8).unwrap()).unwrap().len(), 8);
    for workers in [ALONE, ALONE.without_lanes()] {
        for len in [1, 1 << 40, usize::MAX] {
            assert!(usage(combine_bits(&workers, &[], BitRows::new(&[], len).unwrap())));
        }
    }
    // A point of many bits, of whose table one entry is asked for.
    let most = residues(&scalars(24, 24));
    assert_eq!(equal(&ALONE, &most, 1).unwrap().len(), 1);
    assert_eq!(subset_products(&ALONE, &most, 1).unwrap().len(), 1);
    for bits in [25, 60, 200] {
        let point = residues(&scalars(24, bits));
        assert!(usage(equal(&ALONE, &point, 1)));
        assert!(usage(subset_products(&ALONE, &point, 1)));
        assert!(usage(equal_sum(&ALONE, &point, &one, 1)));
        assert!(equal_words(&ALONE, &point, &one, &[1]).is_err());
    }
}
