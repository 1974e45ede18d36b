//! What lanes compute against portable code, for lengths around whole registers and blocks, and for
//! the smallest and largest numbers.

mod common;

use std::iter::repeat_n;

use _native::core::bounded_msm::bounded_msms;
use _native::core::equality::{equal, equal_sum, equal_words, moved_equal, subset_products};
use _native::core::lanes::Lanes;
use _native::core::points::Points;
use _native::core::residues::Residue;
use _native::core::stream::Stream;
use _native::core::tables::{
    BitRows, Moves, bit_inners, combine, combine_bits, combine_rows, fold, from_integers, inner,
    inner_words, pair_sums, power_sums, row_bit_sums, times,
};
use _native::core::workers::Workers;
use common::{points, scalars};
use curve25519_dalek::traits::IsIdentity;
use curve25519_dalek::{RistrettoPoint, Scalar};

const LANES: Workers = Workers::INLINE;
/// A block has 2,048 entries, a register 8.
const LENGTHS: [usize; 12] = [0, 1, 2, 7, 8, 9, 15, 16, 63, 2047, 2049, 4103];

/// Portable code, or nothing on a machine without lanes: the rest of the tests is about that code.
fn portable() -> Option<Workers> {
    Lanes::here().map(|_| Workers::INLINE.without_lanes())
}

/// Residues whose Montgomery form is 0, 1, 2, q - 1, q - 2, or next to where a limb ends.
fn edges() -> Vec<Residue> {
    let radix = (0..256).fold(Scalar::ONE, |power, _| power + power);
    let mut forms = vec![Scalar::ZERO, Scalar::ONE, -Scalar::ONE, -Scalar::from(2u64)];
    let mut power = Scalar::ONE;
    for bit in 1..253 {
        power += power;
        if [51, 52, 103, 104, 155, 156, 207, 208, 251, 252].contains(&bit) {
            forms.extend([power, power - Scalar::ONE, -power]);
        }
    }
    forms.iter().map(|form| Residue::from_scalar(&(form * radix.invert()))).collect()
}

/// Edges, then others.
fn table(tag: u8, n: usize) -> Vec<Residue> {
    let drawn = scalars(tag, n);
    let drawn = drawn.iter().map(Residue::from_scalar);
    let mut found: Vec<Residue> = edges().into_iter().chain(drawn).collect();
    found.rotate_left(usize::from(tag) % 7);
    found.truncate(n);
    found
}

fn largest(n: usize) -> Vec<Residue> {
    repeat_n(edges()[2], n).collect()
}

fn words(tag: u8, n: usize) -> Vec<u64> {
    let drawn = Stream::new(&[tag; 32], b"lanes  words").bits(&LANES, 0, 64, n);
    let edges = [u64::MAX, 0, 1, 1 << 63, (1 << 52) - 1, 1 << 52, (1 << 63) - 1];
    edges.iter().chain(drawn.iter()).copied().take(n).collect()
}

fn integers(tag: u8, n: usize) -> Vec<i64> {
    words(tag, n).into_iter().map(u64::cast_signed).collect()
}

/// Where a table of n entries is halved: also behind its end, up to where sums of places overflow.
fn halves(n: usize) -> [usize; 6] {
    [n / 2 + 1, n.next_power_of_two() / 2, n, n + 5, usize::MAX - 1, usize::MAX]
}

fn bytes(tag: u8, n: usize) -> Vec<u8> {
    let mut found = vec![0; n];
    Stream::new(&[tag; 32], b"lanes  bytes").read(0, &mut found);
    found
}

fn same(left: &[Residue], right: &[Residue]) {
    let back = |table: &[Residue]| table.iter().map(|r| r.to_scalar()).collect::<Vec<_>>();
    assert_eq!(back(left), back(right));
    // One residue has one form, so that comparisons of forms are right.
    assert!(left == right);
}

#[test]
fn elementwise() {
    let Some(portable) = portable() else { return };
    for n in LENGTHS {
        for (a, b) in [(table(1, n), table(2, n)), (largest(n), largest(n))] {
            same(
                &times(&LANES, &a, &b[..n]).unwrap_or_default(),
                &times(&portable, &a, &b).unwrap_or_default(),
            );
            if n.is_multiple_of(3) && n > 0 {
                let third = &b[..n / 3];
                same(&times(&LANES, &a, third).unwrap(), &times(&portable, &a, third).unwrap());
            }
            for by in [edges()[1], edges()[2], table(3, 30)[29]] {
                for half in halves(n) {
                    same(&fold(&LANES, &a, &by, half), &fold(&portable, &a, &by, half));
                }
                let (factors, tables) = ([by, edges()[2], by], [&a[..], &b[..n / 2], &b[..]]);
                let [left, right] = [&LANES, &portable].map(|w| combine(w, &factors, &tables));
                same(&left, &right);
            }
        }
        let values = integers(4, n);
        same(&from_integers(&LANES, &values), &from_integers(&portable, &values));
    }
    let (factors, long) = (largest(600), largest(5));
    let tables: Vec<&[Residue]> = factors.iter().map(|_| &long[..]).collect();
    same(&combine(&LANES, &factors, &tables), &combine(&portable, &factors, &tables));
}

#[test]
fn sums() {
    let Some(portable) = portable() else { return };
    for n in LENGTHS {
        for (a, b) in [(table(5, n), table(6, n)), (largest(n), largest(n))] {
            let [left, right] = [&LANES, &portable].map(|w| inner(w, &a, &b).unwrap());
            same(&[left], &[right]);
            for words in [words(7, n), vec![u64::MAX; n]] {
                let [left, right] =
                    [&LANES, &portable].map(|w| inner_words(w, &a, &words).unwrap());
                same(&[left], &[right]);
            }
            for half in halves(n) {
                let [left, right] =
                    [&LANES, &portable].map(|w| pair_sums(w, &a, &b, half).unwrap());
                same(&left, &right);
                for exponent in 2..=8 {
                    let [left, right] =
                        [&LANES, &portable].map(|w| power_sums(w, &a, exponent, half).unwrap());
                    same(&left, &right);
                }
            }
        }
    }
    // Steps that are as large as they get: from 1 to q - 1, and back.
    let zigzag: Vec<Residue> =
        [vec![edges()[1]; 2100], vec![edges()[2]; 2100], vec![edges()[1]; 100]].concat();
    let [left, right] = [&LANES, &portable].map(|w| power_sums(w, &zigzag, 8, 2100).unwrap());
    same(&left, &right);
}

#[test]
fn rows_and_bits() {
    let Some(portable) = portable() else { return };
    for (width, rows) in [(1, 1), (8, 3), (13, 9), (64, 257), (5, 600), (70, 2100)] {
        let values = integers(8, width * rows);
        let least = vec![i64::MIN; width * rows];
        for weights in [table(9, rows), largest(rows)] {
            for values in [&values, &least] {
                let [left, right] =
                    [&LANES, &portable].map(|w| combine_rows(w, values, &weights).unwrap());
                same(&left, &right);
            }
            for content in
                [bytes(10, rows * width.div_ceil(8)), vec![255; rows * width.div_ceil(8)]]
            {
                let strings = BitRows::new(&content, width).unwrap();
                let [left, right] =
                    [&LANES, &portable].map(|w| combine_bits(w, &weights, strings).unwrap());
                same(&left, &right);
            }
            for content in [bytes(11, 5 * rows.div_ceil(8)), vec![255; 5 * rows.div_ceil(8)]] {
                let strings = BitRows::new(&content, rows).unwrap();
                let [left, right] =
                    [&LANES, &portable].map(|w| bit_inners(w, &weights, strings).unwrap());
                same(&left, &right);
            }
        }
        let content = bytes(12, 11 * width.div_ceil(8));
        let strings = BitRows::new(&content, width).unwrap();
        let [left, right] = [&LANES, &portable].map(|w| row_bit_sums(w, &values, strings).unwrap());
        assert_eq!(*left, *right);
    }
}

#[test]
fn more_bits_than_five_limbs_have_room_for() {
    let Some(portable) = portable() else { return };
    let long = (1 << 20) + 9;
    let (table, ones) = (largest(long), vec![255; long]);
    let strings = BitRows::new(&ones[..long.div_ceil(8)], long).unwrap();
    let [left, right] = [&LANES, &portable].map(|w| bit_inners(w, &table, strings).unwrap());
    same(&left, &right);
    let strings = BitRows::new(&ones, 7).unwrap();
    let [left, right] = [&LANES, &portable].map(|w| combine_bits(w, &table, strings).unwrap());
    same(&left, &right);
}

#[test]
fn equality_with_points() {
    let Some(portable) = portable() else { return };
    for bits in [0, 1, 4, 9, 13] {
        for n in [1 << bits, (1 << bits) * 3 / 4 + 1, 1] {
            for (many, at) in
                [(table(13, 3 * bits), table(14, bits)), (largest(3 * bits), largest(bits))]
            {
                let one = &many[..bits];
                let factors = [edges()[2], table(15, 40)[39], edges()[1]];
                same(&equal(&LANES, one, n).unwrap(), &equal(&portable, one, n).unwrap());
                let [left, right] =
                    [&LANES, &portable].map(|w| subset_products(w, one, n).unwrap());
                same(&left, &right);
                let [left, right] =
                    [&LANES, &portable].map(|w| equal_sum(w, &many, &factors, n).unwrap());
                same(&left, &right);
                let numbers = words(16, n);
                let [left, right] =
                    [&LANES, &portable].map(|w| equal_words(w, &many, &factors, &numbers).unwrap());
                same(&[left], &[right]);
                for moved in [n, n.div_ceil(2)] {
                    let mut places: Vec<u32> = (0..moved as u32).rev().collect();
                    places.rotate_left(moved / 3);
                    let content = bytes(17, moved.div_ceil(8));
                    let moves =
                        Moves::new(&places, BitRows::new(&content, moved).unwrap()).unwrap();
                    let [left, right] = [&LANES, &portable]
                        .map(|w| moved_equal(w, &many, &factors, moves, &at, n).unwrap());
                    same(&[left], &[right]);
                }
            }
        }
    }
}

#[test]
fn pieces_for_threads() {
    let Some(portable) = portable() else { return };
    let (a, values) = (table(18, 1001), integers(19, 7 * 143));
    let bits = bytes(20, 18 * 143);
    for grain in [1, 5, 100] {
        let cut = Workers::fixed(3, grain);
        same(&fold(&cut, &a, &a[500], 512), &fold(&portable, &a, &a[500], 512));
        same(&power_sums(&cut, &a, 7, 512).unwrap(), &power_sums(&portable, &a, 7, 512).unwrap());
        same(&pair_sums(&cut, &a, &a, 512).unwrap(), &pair_sums(&portable, &a, &a, 512).unwrap());
        same(&times(&cut, &a, &a[..13]).unwrap(), &times(&portable, &a, &a[..13]).unwrap());
        same(
            &combine(&cut, &a[..2], &[&a, &a[..70]]),
            &combine(&portable, &a[..2], &[&a, &a[..70]]),
        );
        let weights = &a[..143];
        let [left, right] = [&cut, &portable].map(|w| combine_rows(w, &values, weights).unwrap());
        same(&left, &right);
        let strings = BitRows::new(&bits, 143).unwrap();
        let [left, right] = [&cut, &portable].map(|w| bit_inners(w, weights, strings).unwrap());
        same(&left, &right);
        let [left, right] = [&cut, &portable].map(|w| combine_bits(w, &a[..143], strings).unwrap());
        same(&left, &right);
        let [left, right] = [&cut, &portable].map(|w| row_bit_sums(w, &values, strings).unwrap());
        assert_eq!(*left, *right);
        let point = &a[..10];
        same(&equal(&cut, point, 1001).unwrap(), &equal(&portable, point, 1001).unwrap());
        same(
            &equal_sum(&cut, &a[..20], &a[..2], 1001).unwrap(),
            &equal_sum(&portable, &a[..20], &a[..2], 1001).unwrap(),
        );
    }
}

#[test]
fn rows_of_small_scalars() {
    let Some(portable) = portable() else { return };
    for (columns, rows, bits) in [(1, 64, 1), (70, 1, 12), (33, 9, 16), (65, 8, 30), (9, 17, 58)] {
        // Points that cancel, that are the same, and that are none: additions have no exception.
        let mut bases = points(1, columns);
        let copied = bases[0];
        if columns > 4 {
            (bases[1], bases[2], bases[3]) = (copied, -copied, RistrettoPoint::default());
        }
        let drawn = words(21, columns * rows);
        let (low, range) = (-(1i64 << bits), (1u64 << bits) * 2);
        let of = |&word: &u64| {
            let value = low + (word % range).cast_signed();
            let size = Scalar::from(value.unsigned_abs());
            if value < 0 { -size } else { size }
        };
        let mut made: Vec<Scalar> = drawn.iter().map(of).collect();
        made[..columns].fill(Scalar::ZERO);
        let views: Vec<&[Scalar]> = made.chunks(columns).collect();
        let known = Points::new(bases);
        let expected = bounded_msms(&portable, &views, &known, bits).unwrap();
        assert!(expected[0].is_identity());
        for workers in [LANES, Workers::fixed(3, 1)] {
            assert_eq!(bounded_msms(&workers, &views, &known, bits).unwrap(), expected);
        }
    }
}
