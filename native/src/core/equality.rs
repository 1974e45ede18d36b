//! Tables that are products over the bits of an index, such as that of equality with a point, and
//! sums over them that need no table: an entry is that of its high bits times that of its low ones.
//!
//! Nothing branches on entries or words; lengths, places and signs are public.

use std::ops::Range;
use std::{iter, mem};

use zeroize::{Zeroize, Zeroizing};

use super::fault::Fault;
use super::lanes::Lanes;
use super::residues::{ProductSum, Residue, WordSum};
use super::scalars::check_len;
use super::tables::{Moves, total};
use super::workers::Workers;

/// Of the index of an entry that is moved: those of a table that stays in the first cache.
const LOW_BITS: usize = 10;
/// Of the index it comes from: each of its values costs a reduction for every row of the other.
const HIGH_BITS: usize = 4;

/// Of any index: sixteen times the longest vector.
const MOST_BITS: usize = 24;

/// The table of equality with a point: entry j is the product over the bits of j of p_i where the
/// bit is 1, and of 1 - p_i where it is 0. Its first `len` entries.
pub fn equal(workers: &Workers, point: &[Residue], len: usize) -> Result<Vec<Residue>, Fault> {
    equal_sum(workers, point, &[Residue::ONE], len)
}

/// Entry j is the product of the factors at the bits of j that are 1. Its first `len` entries.
pub fn subset_products(
    workers: &Workers,
    factors: &[Residue],
    len: usize,
) -> Result<Vec<Residue>, Fault> {
    check_bits(factors.len(), len)?;
    let (high, low) = factors.split_at(factors.len() / 2);
    let split = |old: &Residue, factor: &Residue| (*old, old.times(factor));
    let (high, low) = (doubled(Residue::ONE, high, split), doubled(Residue::ONE, low, split));
    let shift = low.len().ilog2() as usize;
    let mut out = vec![Residue::ZERO; len];
    workers.fill(&mut out, |start, piece| {
        if let Some(lanes) = workers.lanes() {
            for (row, run) in runs(piece, start, shift) {
                lanes.scaled(run, &low[row & (low.len() - 1)..], &high[row >> shift]);
            }
            return;
        }
        for (j, slot) in (start..).zip(piece) {
            *slot = high[j >> shift].times(&low[j & (low.len() - 1)]);
        }
    });
    Ok(out)
}

/// The sum of the tables of equality with several points, all of one length, times factors.
pub fn equal_sum(
    workers: &Workers,
    points: &[Residue],
    factors: &[Residue],
    len: usize,
) -> Result<Vec<Residue>, Fault> {
    let sum = EqualSum::new(points, factors, len)?;
    let halves = sum.halves(sum.bits - sum.bits / 2);
    let mut out = vec![Residue::ZERO; len];
    workers.fill(&mut out, |start, piece| {
        if let Some(lanes) = workers.lanes() {
            for (j, run) in runs(piece, start, halves[0].shift) {
                let factors: Vec<Residue> = halves.iter().map(|half| *half.high(j)).collect();
                let tables: Vec<&[Residue]> = halves.iter().map(|half| half.low_from(j)).collect();
                lanes.combine(run, &factors, &tables);
            }
            return;
        }
        for (j, slot) in (start..).zip(piece) {
            if let [half] = &halves[..] {
                *slot = half.high(j).times(half.low(j));
                continue;
            }
            let mut sum = ProductSum::default();
            for half in &halves {
                sum.add(half.high(j), half.low(j));
            }
            *slot = sum.residue();
        }
    });
    Ok(out)
}

/// The inner product of that sum and words, without the table.
pub fn equal_words(
    workers: &Workers,
    points: &[Residue],
    factors: &[Residue],
    words: &[u64],
) -> Result<Residue, Fault> {
    let sum = EqualSum::new(points, factors, words.len())?;
    let halves = sum.halves(sum.bits - sum.bits / 2);
    let mut parts = workers.map(words.len(), |range| {
        let mut total = Zeroizing::new(ProductSum::default());
        for half in &halves {
            for part in half.rows(range.clone()) {
                let factor = half.high(part.start);
                if let Some(lanes) = workers.lanes() {
                    let low = &half.low_from(part.start)[..part.len()];
                    total.add(factor, &lanes.inner_words(low, &words[part]));
                    continue;
                }
                let mut sum = Zeroizing::new(WordSum::default());
                for j in part {
                    sum.add(half.low(j), words[j]);
                }
                total.add(factor, &sum.residue());
            }
        }
        [total.residue()]
    });
    let [total] = total(&parts);
    parts.zeroize();
    Ok(total)
}

/// The inner product of that sum with its entries moved, and the table of equality with one more
/// point, for `len` entries. There is one product for each entry, and no reduction.
pub fn moved_equal(
    workers: &Workers,
    points: &[Residue],
    factors: &[Residue],
    moves: Moves<'_>,
    at: &[Residue],
    len: usize,
) -> Result<Residue, Fault> {
    let sum = EqualSum::new(points, factors, len)?;
    check_len(sum.bits, at.len())?;
    moves.check_fits(len)?;
    if let Some(lanes) = workers.lanes() {
        return Ok(moved_in_lanes(workers, lanes, &sum, moves, at, len));
    }
    let shift = at.len().min(LOW_BITS);
    let there = Half::new(at, Residue::ONE, shift);
    // Few rows: at the end of each of them all sums are reduced.
    let halves = sum.halves(sum.bits.saturating_sub(HIGH_BITS));
    let parts = workers.map(len, |range| {
        let mut total = ProductSum::default();
        for half in &halves {
            for part in half.rows(range.clone()) {
                // For each row that entries come to, those that stay as they are, and the negated.
                let mut sums = vec![[ProductSum::default(); 2]; there.high.len()];
                for j in part.clone() {
                    let (place, sign) = moves.place(j);
                    sums[place >> shift][sign].add(half.low(j), there.low(place));
                }
                let mut row = ProductSum::default();
                for ([plus, minus], factor) in sums.iter().zip(&there.high) {
                    row.add(&plus.residue().minus(&minus.residue()), factor);
                }
                total.add(half.high(part.start), &row.residue());
            }
        }
        [total.residue()]
    });
    let [total] = total(&parts);
    Ok(total)
}

/// The same, with a product for the entry that each one comes to, and one for each sum.
fn moved_in_lanes(
    workers: &Workers,
    lanes: Lanes,
    sum: &EqualSum<'_>,
    moves: Moves<'_>,
    at: &[Residue],
    len: usize,
) -> Residue {
    let shift = at.len().div_ceil(2);
    let there = Half::new(at, Residue::ONE, shift);
    // Both signs of an entry are side by side: signs cost nothing.
    let signed: Vec<_> = there.high.iter().flat_map(|h| [*h, Residue::ZERO.minus(h)]).collect();
    let halves = sum.halves(sum.bits.saturating_sub(HIGH_BITS));
    let parts = workers.map(len, |range| {
        let mut total = ProductSum::default();
        for part in halves[0].rows(range) {
            let lows: Vec<_> =
                halves.iter().map(|half| &half.low_from(part.start)[..part.len()]).collect();
            let factors = [&signed[..], &there.low[..]];
            let sums = lanes.inners_of_products(&lows, factors, &|at, places| {
                for (j, slot) in (part.start + at..part.end).zip(places) {
                    let (place, sign) = moves.place(j);
                    *slot = [place >> shift << 1 | sign, place & (there.low.len() - 1)];
                }
            });
            for (half, sum) in halves.iter().zip(&sums) {
                total.add(half.high(part.start), sum);
            }
        }
        [total.residue()]
    });
    let [total] = total(&parts);
    total
}

/// Consecutive entries from `start` on, cut where the high bits of an index change.
fn runs(
    out: &mut [Residue],
    mut start: usize,
    shift: usize,
) -> impl Iterator<Item = (usize, &mut [Residue])> {
    let mut rest = out;
    iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (first, size) = (start, (1 << shift) - (start & ((1 << shift) - 1)));
        let size = size.min(rest.len());
        let (run, later) = mem::take(&mut rest).split_at_mut(size);
        (start, rest) = (first + run.len(), later);
        Some((first, run))
    })
}

/// Several points of one length, each with a factor.
struct EqualSum<'a> {
    points: &'a [Residue],
    factors: &'a [Residue],
    bits: usize,
}

impl<'a> EqualSum<'a> {
    /// For tables of at least `len` entries.
    fn new(points: &'a [Residue], factors: &'a [Residue], len: usize) -> Result<Self, Fault> {
        if factors.is_empty() || !points.len().is_multiple_of(factors.len()) {
            let (found, count) = (points.len(), factors.len());
            return Err(Fault::usage(format!("{found} scalars do not divide into {count} points")));
        }
        let bits = points.len() / factors.len();
        check_bits(bits, len)?;
        Ok(Self { points, factors, bits })
    }

    fn halves(&self, low_bits: usize) -> Vec<Half> {
        let points = (0..self.factors.len()).map(|i| &self.points[self.bits * i..][..self.bits]);
        points.zip(self.factors).map(|(point, first)| Half::new(point, *first, low_bits)).collect()
    }
}

/// A table of equality as products: of an entry for the high bits and one for the low ones.
struct Half {
    high: Vec<Residue>,
    low: Vec<Residue>,
    shift: usize,
}

impl Half {
    fn new(point: &[Residue], first: Residue, shift: usize) -> Self {
        let split = |old: &Residue, factor: &Residue| {
            let one = old.times(factor);
            (old.minus(&one), one)
        };
        let (high, low) = point.split_at(point.len() - shift);
        Self { high: doubled(first, high, split), low: doubled(Residue::ONE, low, split), shift }
    }

    fn high(&self, j: usize) -> &Residue {
        &self.high[j >> self.shift]
    }

    fn low(&self, j: usize) -> &Residue {
        &self.low[j & (self.low.len() - 1)]
    }

    /// The entries for the low bits of an index from those of j on.
    fn low_from(&self, j: usize) -> &[Residue] {
        &self.low[j & (self.low.len() - 1)..]
    }

    /// A range cut where the high bits change.
    fn rows(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let (shift, end) = (self.shift, range.end);
        let first = range.start >> shift;
        (first..end.div_ceil(1 << shift))
            .map(move |row| (row << shift).max(range.start)..((row + 1) << shift).min(end))
    }
}

/// Halves of a table are made whole, however few of its entries are asked for: so its bits are
/// bounded, too.
fn check_bits(bits: usize, len: usize) -> Result<(), Fault> {
    if bits > MOST_BITS {
        return Err(Fault::usage(format!("a table has at most {MOST_BITS} bits, not {bits}")));
    }
    if u32::try_from(bits).ok().and_then(|bits| 1usize.checked_shl(bits)).is_none_or(|n| len > n) {
        return Err(Fault::usage(format!("{len} entries are more than {bits} bits tell apart")));
    }
    Ok(())
}

fn doubled(
    first: Residue,
    factors: &[Residue],
    split: impl Fn(&Residue, &Residue) -> (Residue, Residue),
) -> Vec<Residue> {
    factors.iter().fold(vec![first], |table, factor| {
        table.iter().map(|old| split(old, factor)).flat_map(|(a, b)| [a, b]).collect()
    })
}
