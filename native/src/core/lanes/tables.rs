//! What `tables` and `equality` compute, eight entries at a time. Zeros fill up the last eight.

use core::arch::x86_64::{__m512i, _mm512_xor_si512};

use zeroize::{DefaultIsZeroes, Zeroizing};

use super::eight::{Eight, all};
use super::fence::{Fill, Halves, LANES, load};
use super::wide::{MOST, Wide};
use crate::core::residues::Residue;
use crate::core::tables;

/// Entries between two reductions of a sum.
const BLOCK: usize = LANES * MOST;
/// The highest power of a line's ends.
const HIGHEST: usize = tables::MOST.div_ceil(2);

/// The last items, from `at` on, and zeros behind them. They may be secret.
#[inline]
fn last<T: DefaultIsZeroes>(items: &[T], at: usize) -> Zeroizing<[T; LANES]> {
    let items = items.get(at..).unwrap_or_default();
    let mut found = Zeroizing::new([T::default(); LANES]);
    found[..items.len()].copy_from_slice(items);
    found
}

#[target_feature(enable = "avx512ifma")]
#[inline]
fn entries(table: &[Residue], at: usize) -> Eight {
    match table.get(at..).and_then(|entries| entries.first_chunk()) {
        Some(whole) => Eight::load(whole),
        None => Eight::load(&last(table, at)),
    }
}

#[target_feature(enable = "avx512ifma")]
#[inline]
fn words(words: &[u64], at: usize) -> __m512i {
    match words.get(at..).and_then(|words| words.first_chunk()) {
        Some(whole) => load(whole),
        None => load(&last(words, at)),
    }
}

/// Write residues, as many as there is room for.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn write(out: &mut [Residue], at: usize, value: Eight) {
    match out[at..].first_chunk_mut() {
        Some(whole) => value.store(whole),
        None => {
            let (mut whole, left) = (Zeroizing::new([Residue::ZERO; LANES]), out.len() - at);
            value.store(&mut whole);
            out[at..].copy_from_slice(&whole[..left]);
        }
    }
}

/// The sum of all lanes, in which each product is what it is over 2^260, as if over 2^256.
#[target_feature(enable = "avx512ifma")]
fn settled(sum: &Wide) -> Residue {
    sum.reduced().total().times(&sixteen(1))
}

/// 16^power.
fn sixteen(power: usize) -> Residue {
    Residue::from_word(1 << (4 * power))
}

#[target_feature(enable = "avx512ifma")]
pub fn fold(out: &mut [Residue], low: &[Residue], high: &[Residue], by: &Residue) {
    let by = Eight::repeated(&by.times(&sixteen(1)));
    for at in (0..out.len()).step_by(LANES) {
        let first = entries(low, at);
        let moved = by.times(&entries(high, at).minus(&first));
        write(out, at, first.plus(&moved).below_order_from_four());
    }
}

#[target_feature(enable = "avx512ifma")]
pub fn pair_sums(left: Halves<'_>, right: Halves<'_>) -> [Residue; 2] {
    let mut total = [Residue::ZERO; 2];
    for start in (0..left.0.len()).step_by(BLOCK) {
        let mut sums = Zeroizing::new([Wide::zero(); 2]);
        for at in (start..left.0.len().min(start + BLOCK)).step_by(LANES) {
            let (a, b) = (entries(left.0, at), entries(right.0, at));
            let (c, d) = (entries(left.1, at).minus(&a), entries(right.1, at).minus(&b));
            sums[0].add(&a, &b);
            sums[1].add(&c, &d);
        }
        for (slot, sum) in total.iter_mut().zip(sums.iter()) {
            *slot = slot.plus(&settled(sum));
        }
    }
    total
}

#[target_feature(enable = "avx512ifma")]
pub fn power_sums(line: Halves<'_>, exponent: usize) -> [Residue; tables::MOST + 1] {
    let (less, more) = (exponent / 2, exponent.div_ceil(2));
    let mut total = [Residue::ZERO; tables::MOST + 1];
    for start in (0..line.0.len()).step_by(BLOCK) {
        let mut sums = Zeroizing::new([Wide::zero(); tables::MOST + 1]);
        for at in (start..line.0.len().min(start + BLOCK)).step_by(LANES) {
            let low = entries(line.0, at);
            let step = entries(line.1, at).minus(&low);
            let [low, step] = powers([&low, &step], more);
            let second = monomials(&low, &step, more);
            let first = if less == more { second } else { monomials(&low, &step, less) };
            for (k, sum) in sums.iter_mut().enumerate().take(exponent + 1) {
                if k != 1 {
                    let i = k.min(less);
                    sum.add(&first[i], &second[k - i]);
                }
            }
        }
        // Each of e - 1 products was over 2^260.
        let factor = sixteen(exponent - 1);
        for (slot, sum) in total.iter_mut().zip(sums.iter()) {
            *slot = slot.plus(&sum.reduced().total().times(&factor));
        }
    }
    total
}

/// The powers of two numbers from 1 up to the exponent, over as many factors 2^260 as there are
/// products in them. Those of both take turns: each waits long for the one before.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn powers(bases: [&Eight; 2], exponent: usize) -> [[Eight; HIGHEST + 1]; 2] {
    let mut out = bases.map(|base| [*base; HIGHEST + 1]);
    for k in 2..=exponent {
        for powers in &mut out {
            powers[k] = powers[k / 2].times(&powers[k - k / 2]);
        }
    }
    out
}

/// low^(d-i) step^i for i = 0 .. d, from powers.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn monomials(
    low: &[Eight; HIGHEST + 1],
    step: &[Eight; HIGHEST + 1],
    degree: usize,
) -> [Eight; HIGHEST + 1] {
    let mut out = *low;
    (out[0], out[degree]) = (low[degree], step[degree]);
    for i in 1..degree {
        out[i] = low[degree - i].times(&step[i]);
    }
    out
}

#[target_feature(enable = "avx512ifma")]
pub fn inner(left: &[Residue], right: &[Residue]) -> Residue {
    let mut total = Residue::ZERO;
    for start in (0..left.len()).step_by(BLOCK) {
        let mut sum = Zeroizing::new(Wide::zero());
        for at in (start..left.len().min(start + BLOCK)).step_by(LANES) {
            sum.add(&entries(left, at), &entries(right, at));
        }
        total = total.plus(&settled(&sum));
    }
    total
}

#[target_feature(enable = "avx512ifma")]
pub fn inner_words(table: &[Residue], numbers: &[u64]) -> Residue {
    let mut total = Residue::ZERO;
    for start in (0..table.len()).step_by(BLOCK) {
        let mut sum = Zeroizing::new(Wide::zero());
        for at in (start..table.len().min(start + BLOCK)).step_by(LANES) {
            sum.add_words(&entries(table, at), words(numbers, at));
        }
        // Over 2^260, where a product with a word is over nothing.
        total = total.plus(&sum.reduced().total());
    }
    total.times(&beyond())
}

/// 2^260.
fn beyond() -> Residue {
    let half = Residue::from_wide(1 << 65);
    let half = half.times(&half);
    half.times(&half)
}

#[target_feature(enable = "avx512ifma")]
pub fn times(out: &mut [Residue], left: &[Residue], right: &[Residue]) {
    for at in (0..out.len()).step_by(LANES) {
        let left = match left.get(at..).and_then(|entries| entries.first_chunk()) {
            Some(whole) => Eight::load_sixteenfold(whole),
            None => Eight::load_sixteenfold(&last(left, at)),
        };
        write(out, at, left.times(&entries(right, at)).below_order());
    }
}

#[target_feature(enable = "avx512ifma")]
pub fn scaled(out: &mut [Residue], table: &[Residue], factor: &Residue) {
    let factor = Eight::repeated(&factor.times(&sixteen(1)));
    for at in (0..out.len()).step_by(LANES) {
        write(out, at, factor.times(&entries(table, at)).below_order());
    }
}

#[target_feature(enable = "avx512ifma")]
pub fn combine(out: &mut [Residue], factors: &[Residue], tables: &[&[Residue]]) {
    for (factors, tables) in factors.chunks(MOST).zip(tables.chunks(MOST)) {
        let factors: Vec<Residue> = factors.iter().map(|each| each.times(&sixteen(1))).collect();
        let factors = Zeroizing::new(factors);
        for at in (0..out.len()).step_by(LANES) {
            let mut sum = Wide::zero();
            for (factor, table) in factors.iter().zip(tables) {
                sum.add(&Eight::repeated(factor), &entries(table, at));
            }
            let total = sum.reduced().plus(&entries(out, at));
            write(out, at, total.below_order_from_four());
        }
    }
}

#[target_feature(enable = "avx512ifma")]
pub fn combine_rows(
    out: &mut [Residue],
    rows: &[i64],
    width: usize,
    start: usize,
    weights: &[Residue],
) {
    // Words are 2^63 more than the integers.
    let surplus = weights.iter().fold(Residue::ZERO, |sum, each| sum.plus(each));
    out.fill(Residue::ZERO.minus(&surplus.times(&Residue::from_word(TOP))));
    let (beyond, end) = (beyond(), start + out.len());
    let scaled: Vec<Residue> = weights.iter().map(|each| each.times(&beyond)).collect();
    let weights = Zeroizing::new(scaled);
    for (rows, weights) in rows.chunks(MOST * width).zip(weights.chunks(MOST)) {
        for at in (start..end).step_by(LANES) {
            let mut sum = Wide::zero();
            for (row, weight) in rows.chunks_exact(width).zip(weights) {
                sum.add_words(&Eight::repeated(weight), raised(&row[..end], at));
            }
            let total = sum.reduced().plus(&entries(out, at - start));
            write(out, at - start, total.below_order_from_four());
        }
    }
}

/// 2^63.
const TOP: u64 = 1 << 63;

/// The integers from `at` on, each and 2^63.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn raised(values: &[i64], at: usize) -> __m512i {
    let values = match values.get(at..).and_then(|values| values.first_chunk()) {
        Some(whole) => load(&whole.map(i64::cast_unsigned)),
        None => load(&Zeroizing::new(last(values, at).map(i64::cast_unsigned))),
    };
    _mm512_xor_si512(values, all(TOP))
}

#[target_feature(enable = "avx512ifma")]
pub fn inners_of_products(
    tables: &[&[Residue]],
    [left, right]: [&[Residue]; 2],
    fill: Fill<'_>,
) -> Vec<Residue> {
    let len = tables.first().map_or(0, |table| table.len());
    let mut totals = vec![Residue::ZERO; tables.len()];
    let (mut sums, mut places) = (vec![Wide::zero(); tables.len()], [[0; 2]; LANES]);
    for start in (0..len).step_by(BLOCK) {
        sums.fill(Wide::zero());
        for at in (start..len.min(start + BLOCK)).step_by(LANES) {
            fill(at, &mut places);
            let [left, right] = [
                Eight::gathered(left, &places.map(|[place, _]| place)),
                Eight::gathered(right, &places.map(|[_, place]| place)),
            ];
            let product = left.times(&right);
            for (sum, table) in sums.iter_mut().zip(tables) {
                sum.add(&entries(table, at), &product);
            }
        }
        // Both products are over 2^260.
        for (total, sum) in totals.iter_mut().zip(&sums) {
            *total = total.plus(&sum.reduced().total().times(&sixteen(2)));
        }
    }
    totals
}

#[target_feature(enable = "avx512ifma")]
pub fn from_integers(out: &mut [Residue], values: &[i64]) {
    let (beyond, top) = (Eight::repeated(&beyond()), Eight::repeated(&Residue::from_word(TOP)));
    for at in (0..out.len()).step_by(LANES) {
        let mut product = Wide::zero();
        product.add_words(&beyond, raised(values, at));
        let residues = product.reduced().below_order();
        write(out, at, residues.minus(&top).below_order());
    }
}
