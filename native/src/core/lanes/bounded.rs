//! Sums with small secret scalars, for eight rows at once: a digit chooses from the multiples of a
//! point by a permutation of registers, which takes one time whatever it chooses.

use core::arch::x86_64::*;

use zeroize::Zeroizing;

use super::eight::all;
use super::fence::{LANES, load};
use super::field::Field;
use super::points::{Addend, Eight, StoredPoints, bit, chosen};
use crate::core::bounded_msm::Digit;

/// Points whose multiples are made together: there is one inversion for all of them.
const GROUPS: usize = 4;
const POINTS: usize = GROUPS * LANES;
/// Words of an addend: five limbs of three coordinates.
const WORDS: usize = 15;
/// Multiples for two registers.
const PAIR: usize = 2 * LANES;

/// For each word of an addend, that of 1, 2, .. times a point.
type Table = Vec<[[u64; LANES]; WORDS]>;

/// The encodings of the sums of rows: `words` has the scalars of a point, one for each of `rows`
/// rows, point by point, raised so that no digit is negative.
#[target_feature(enable = "avx512ifma")]
pub fn row_sums(
    encodings: &[[u8; 32]],
    words: &[u64],
    rows: usize,
    digits: &[Digit],
) -> Zeroizing<Vec<[u8; 32]>> {
    let blocks = rows.div_ceil(LANES);
    let mut sums = Zeroizing::new(vec![[[[0; LANES]; 5]; 4]; blocks * digits.len()]);
    for sum in sums.iter_mut() {
        Eight::zero().store(sum);
    }
    let pairs = digits.iter().map(|digit| digit.multiples().div_ceil(PAIR)).max().unwrap_or(1);
    let mut tables = Multiples::new(pairs);
    for (points, words) in encodings.chunks(POINTS).zip(words.chunks(POINTS * rows)) {
        tables.fill(points, digits.iter().map(Digit::multiples).max().unwrap_or(1));
        for (digit, sums) in digits.iter().zip(sums.chunks_exact_mut(blocks)) {
            for (block, sum) in sums.iter_mut().enumerate() {
                let mut total = Eight::load(sum);
                for (row, table) in words.chunks_exact(rows).zip(&tables.of_points) {
                    let index = signed(digit, eight(row, LANES * block));
                    total = total.plus_addend(&multiple(table, digit.multiples(), index));
                }
                total.store(sum);
            }
        }
    }
    let mut found = Zeroizing::new(vec![[0; 32]; blocks * LANES]);
    for (block, out) in found.as_chunks_mut().0.iter_mut().enumerate() {
        *out = joined(&sums, block, blocks, digits).encoded();
    }
    found.truncate(rows);
    found
}

/// The words from `at` on, and zeros behind them.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn eight(words: &[u64], at: usize) -> __m512i {
    let words = &words[at..];
    match words.first_chunk() {
        Some(whole) => load(whole),
        None => {
            let mut found = Zeroizing::new([0; LANES]);
            found[..words.len()].copy_from_slice(words);
            load(&found)
        }
    }
}

/// A digit of raised scalars, in two's complement.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn signed(digit: &Digit, words: __m512i) -> __m512i {
    let shift = _mm_cvtsi64_si128(digit.shift as i64);
    let cut = _mm512_and_si512(_mm512_srl_epi64(words, shift), all(digit.mask()));
    _mm512_sub_epi64(cut, all(digit.offset()))
}

/// The multiples of a point by eight digits, each of at most `most`; all of them are read.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn multiple(table: &Table, most: usize, digit: __m512i) -> Addend {
    let none = _mm512_setzero_si512();
    let negative = _mm512_cmplt_epi64_mask(digit, none);
    let size = _mm512_abs_epi64(digit);
    let (index, zero) = (_mm512_sub_epi64(size, all(1)), _mm512_cmpeq_epi64_mask(size, none));
    let mut words = [none; WORDS];
    for (slot, (low, high)) in words.iter_mut().zip(table[0].iter().zip(&table[1])) {
        *slot = chosen(load(low), load(high), index);
    }
    if most > PAIR {
        let upper = bit::<4>(index);
        for (slot, (low, high)) in words.iter_mut().zip(table[2].iter().zip(&table[3])) {
            *slot = _mm512_mask_blend_epi64(upper, *slot, chosen(load(low), load(high), index));
        }
    }
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = words;
    let found = Addend {
        plus: Field::of_limbs([a, b, c, d, e]),
        minus: Field::of_limbs([f, g, h, i, j]),
        product: Field::of_limbs([k, l, m, n, o]),
    };
    found.or_zero(zero).negated(negative)
}

/// The sums of eight rows: each digit's, shifted as the digit is.
#[target_feature(enable = "avx512ifma")]
fn joined(sums: &[StoredPoints], block: usize, blocks: usize, digits: &[Digit]) -> Eight {
    let mut total = Eight::zero();
    for (window, digit) in digits.iter().enumerate().rev() {
        for _ in 0..digit.size {
            total = total.doubled();
        }
        total = total.plus(&Eight::load(&sums[window * blocks + block]));
    }
    total
}

/// The multiples of some points. They are public.
struct Multiples {
    of_points: Vec<Table>,
    points: Vec<[Eight; GROUPS]>,
    before: Vec<[Field; GROUPS]>,
}

impl Multiples {
    #[target_feature(enable = "avx512ifma")]
    fn new(pairs: usize) -> Self {
        let (none, room) = ([[0; LANES]; WORDS], pairs * PAIR);
        Self {
            of_points: vec![vec![none; 2 * pairs]; POINTS],
            points: vec![[Eight::zero(); GROUPS]; room],
            before: vec![[Field::one(); GROUPS]; room],
        }
    }

    /// Those of these points, up to `count`.
    #[target_feature(enable = "avx512ifma")]
    fn fill(&mut self, points: &[[u8; 32]], count: usize) {
        self.of_points.truncate(points.len());
        let mut product = Field::one();
        for (group, encodings) in points.chunks(LANES).enumerate() {
            let mut whole = [[0; 32]; LANES];
            whole[..encodings.len()].copy_from_slice(encodings);
            let first = Eight::decoded(&whole);
            let addend = first.addend(&Field::one());
            let mut power = first;
            for k in 0..count {
                if k > 0 {
                    power = power.plus_addend(&addend);
                }
                (self.points[k][group], self.before[k][group]) = (power, product);
                product = product.times(power.z());
            }
        }
        let mut inverse = product.inverse();
        for group in (0..points.len().div_ceil(LANES)).rev() {
            for k in (0..count).rev() {
                let point = &self.points[k][group];
                let own = inverse.times(&self.before[k][group]);
                inverse = inverse.times(point.z());
                self.write(group, k, &point.addend(&own));
            }
        }
    }

    /// Multiple k + 1 of eight points into their tables.
    #[target_feature(enable = "avx512ifma")]
    fn write(&mut self, group: usize, k: usize, addend: &Addend) {
        let parts = [&addend.plus, &addend.minus, &addend.product];
        for (coordinate, part) in parts.into_iter().enumerate() {
            let mut limbs = [[0; LANES]; 5];
            part.store(&mut limbs);
            for (limb, words) in limbs.iter().enumerate() {
                let tables = self.of_points.iter_mut().skip(group * LANES);
                for (table, word) in tables.zip(words) {
                    table[k / LANES][5 * coordinate + limb][k % LANES] = *word;
                }
            }
        }
    }
}
