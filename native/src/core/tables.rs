//! Tables of residues: the values of a function at the corners of a cube, in the order of the
//! corner's bits, the most significant first. Entries behind the end of a table are zeros.
//!
//! Nothing branches on entries or indexes by them; lengths, bits and places are public.

use std::ops::Range;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::fault::Fault;
use super::lanes::Lanes;
use super::residues::{ProductSum, Residue, ShortSum, WordSum, sign_mask};
use super::scalars::check_len;
use super::workers::Workers;

/// The largest exponent of `power_sums`.
pub const MOST: usize = 8;
/// Bits that choose a sum from a table of sums.
pub(super) const GROUP: usize = ShortSum::MOST;

/// lo + by (hi - lo), where lo are the first `half` entries and hi those behind them.
pub fn fold(workers: &Workers, table: &[Residue], by: &Residue, half: usize) -> Vec<Residue> {
    let mut out = vec![Residue::ZERO; table.len().min(half)];
    workers.fill(&mut out, |start, piece| {
        if let Some(lanes) = workers.lanes() {
            let (low, high) = halves(table, half, start..start + piece.len());
            return lanes.fold(piece, low, high, by);
        }
        for (j, slot) in (start..).zip(piece) {
            let (low, step) = line(table, half, j);
            *slot = low.plus(&by.times(&step));
        }
    });
    out
}

/// Entry j behind the first half, if there is one; a half may be as large as a word.
fn behind<T: Copy>(table: &[T], half: usize, j: usize) -> Option<T> {
    table.get(half.checked_add(j)?).copied()
}

/// Entry j of the first half, and what leads from it to the second half.
fn line(table: &[Residue], half: usize, j: usize) -> (Residue, Residue) {
    let low = table[j];
    let high = behind(table, half, j).unwrap_or(Residue::ZERO);
    (low, high.minus(&low))
}

/// These entries of the first half, and those of the second half that there are.
fn halves(table: &[Residue], half: usize, range: Range<usize>) -> (&[Residue], &[Residue]) {
    let end = table.len().min(half.saturating_add(range.end));
    let start = end.min(half.saturating_add(range.start));
    (&table[range], &table[start..end])
}

/// The sum over j of (lo + X step)(lo' + X step') as a polynomial: its coefficients of 1 and X^2.
pub fn pair_sums(
    workers: &Workers,
    left: &[Residue],
    right: &[Residue],
    half: usize,
) -> Result<[Residue; 2], Fault> {
    check_len(left.len(), right.len())?;
    let mut parts = workers.map(left.len().min(half), |range| {
        if let Some(lanes) = workers.lanes() {
            return lanes.pair_sums(halves(left, half, range.clone()), halves(right, half, range));
        }
        let mut sums = Zeroizing::new([ProductSum::default(); 2]);
        for j in range {
            let ((a, c), (b, d)) = (line(left, half, j), line(right, half, j));
            sums[0].add(&a, &b);
            sums[1].add(&c, &d);
        }
        [sums[0].residue(), sums[1].residue()]
    });
    let total = total(&parts);
    parts.zeroize();
    Ok(total)
}

/// The sum over j of (lo + X step)^e as a polynomial: its coefficients of 1, X^2, .., X^e.
pub fn power_sums(
    workers: &Workers,
    table: &[Residue],
    exponent: usize,
    half: usize,
) -> Result<Vec<Residue>, Fault> {
    check_exponent(exponent)?;
    let (less, more) = (exponent / 2, exponent.div_ceil(2));
    let mut parts = workers.map(table.len().min(half), |range| {
        if let Some(lanes) = workers.lanes() {
            return lanes.power_sums(halves(table, half, range), exponent);
        }
        let mut sums = Zeroizing::new([ProductSum::default(); MOST + 1]);
        for j in range {
            let (low, step) = line(table, half, j);
            let (low, step) = (powers(&low, more), powers(&step, more));
            // lo^(e-k) step^k is the product of two such monomials of half the degree.
            let second = monomials(&low, &step, more);
            let first = if less == more { second } else { monomials(&low, &step, less) };
            for k in (0..=exponent).filter(|&k| k != 1) {
                let i = k.min(less);
                sums[k].add(&first[i], &second[k - i]);
            }
        }
        sums.map(|sum| sum.residue())
    });
    let sums = total(&parts);
    parts.zeroize();
    Ok(with_binomials(&sums, exponent))
}

/// The same for a table of integers that `check_small` lets pass.
pub fn integer_power_sums(
    workers: &Workers,
    values: &[i64],
    exponent: usize,
    half: usize,
) -> Result<Vec<Residue>, Fault> {
    check_exponent(exponent)?;
    let mut parts = workers.map(values.len().min(half), |range| {
        let mut sums = Zeroizing::new([0i128; MOST + 1]);
        for j in range {
            let low = i128::from(values[j]);
            let step = i128::from(behind(values, half, j).unwrap_or(0)) - low;
            let (mut lows, mut steps) = ([1; MOST + 1], [1; MOST + 1]);
            for k in 1..=exponent {
                (lows[k], steps[k]) = (lows[k - 1] * low, steps[k - 1] * step);
            }
            for (k, sum) in sums.iter_mut().enumerate().take(exponent + 1) {
                *sum += lows[exponent - k] * steps[k];
            }
        }
        sums.map(Residue::from_wide)
    });
    let sums = total(&parts);
    parts.zeroize();
    Ok(with_binomials(&sums, exponent))
}

/// Refuses integers of which a sum of powers may reach 2^126. That one of them is too large is all
/// that leaks.
pub fn check_small(values: &[i64], exponent: usize) -> Result<(), Fault> {
    check_exponent(exponent)?;
    let length = usize::BITS - values.len().leading_zeros();
    let bits = (126 - length) / exponent as u32 - 1;
    let seen = values.iter().fold(0, |seen, value| seen | (value ^ (value >> 63)));
    if bool::from((seen >> bits).ct_eq(&0)) {
        return Ok(());
    }
    Err(Fault::usage(format!("an integer does not fit in {bits} bits")))
}

fn check_exponent(exponent: usize) -> Result<(), Fault> {
    if (2..=MOST).contains(&exponent) {
        return Ok(());
    }
    Err(Fault::usage(format!("an exponent lies between 2 and {MOST}")))
}

/// Sums of lo^(e-k) step^k, times how often they occur in a power of a sum; without that of X.
fn with_binomials(sums: &[Residue; MOST + 1], exponent: usize) -> Vec<Residue> {
    let mut binomial = 1;
    let mut out = Vec::with_capacity(exponent);
    for (k, sum) in sums.iter().enumerate().take(exponent + 1) {
        if k != 1 {
            out.push(sum.times(&Residue::from_word(binomial)));
        }
        binomial = binomial * (exponent - k) as u64 / (k as u64 + 1);
    }
    out
}

/// Up to what power of a line's ends is computed.
const HALF_MOST: usize = MOST.div_ceil(2);

/// 1 and the powers up to the exponent; what is left are zeros.
fn powers(base: &Residue, exponent: usize) -> [Residue; HALF_MOST + 1] {
    let mut out = [Residue::ZERO; HALF_MOST + 1];
    (out[0], out[1]) = (Residue::ONE, *base);
    for k in 2..=exponent {
        out[k] = out[k / 2].times(&out[k - k / 2]);
    }
    out
}

/// lo^(d-i) step^i for i = 0 .. d, from powers.
fn monomials(
    low: &[Residue; HALF_MOST + 1],
    step: &[Residue; HALF_MOST + 1],
    degree: usize,
) -> [Residue; HALF_MOST + 1] {
    let mut out = *low;
    (out[0], out[degree]) = (low[degree], step[degree]);
    for i in 1..degree {
        out[i] = low[degree - i].times(&step[i]);
    }
    out
}

pub(super) fn total<const N: usize>(parts: &[[Residue; N]]) -> [Residue; N] {
    let mut out = [Residue::ZERO; N];
    for part in parts {
        for (slot, value) in out.iter_mut().zip(part) {
            *slot = slot.plus(value);
        }
    }
    out
}

/// The inner product of two tables of one length.
pub fn inner(workers: &Workers, left: &[Residue], right: &[Residue]) -> Result<Residue, Fault> {
    check_len(left.len(), right.len())?;
    let mut parts = workers.map(left.len(), |range| {
        if let Some(lanes) = workers.lanes() {
            return [lanes.inner(&left[range.clone()], &right[range])];
        }
        let mut sum = Zeroizing::new(ProductSum::default());
        for (a, b) in left[range.clone()].iter().zip(&right[range]) {
            sum.add(a, b);
        }
        [sum.residue()]
    });
    let [total] = total(&parts);
    parts.zeroize();
    Ok(total)
}

/// The inner product of a table and words.
pub fn inner_words(workers: &Workers, table: &[Residue], words: &[u64]) -> Result<Residue, Fault> {
    check_len(table.len(), words.len())?;
    let mut parts = workers.map(table.len(), |range| {
        if let Some(lanes) = workers.lanes() {
            return [lanes.inner_words(&table[range.clone()], &words[range])];
        }
        let mut sum = Zeroizing::new(WordSum::default());
        for (entry, word) in table[range.clone()].iter().zip(&words[range]) {
            sum.add(entry, *word);
        }
        [sum.residue()]
    });
    let [total] = total(&parts);
    parts.zeroize();
    Ok(total)
}

/// Each entry times one of the others, which are taken again and again.
pub fn times(
    workers: &Workers,
    table: &[Residue],
    others: &[Residue],
) -> Result<Vec<Residue>, Fault> {
    if others.is_empty() || !table.len().is_multiple_of(others.len()) {
        let (left, right) = (table.len(), others.len());
        return Err(Fault::usage(format!("{left} entries are no multiple of {right}")));
    }
    let mut out = vec![Residue::ZERO; table.len()];
    workers.fill(&mut out, |start, piece| {
        if let Some(lanes) = workers.lanes() {
            return times_in_runs(lanes, piece, table, others, start);
        }
        for (j, slot) in (start..).zip(piece) {
            *slot = table[j].times(&others[j % others.len()]);
        }
    });
    Ok(out)
}

/// The entries from `start` on, cut where the others are taken again.
fn times_in_runs(
    lanes: Lanes,
    out: &mut [Residue],
    table: &[Residue],
    others: &[Residue],
    mut start: usize,
) {
    let (mut rest, period) = (out, others.len());
    while !rest.is_empty() {
        let (run, later) = rest.split_at_mut(rest.len().min(period - start % period));
        lanes.times(run, &table[start..start + run.len()], &others[start % period..]);
        (start, rest) = (start + run.len(), later);
    }
}

/// The sum of tables times factors; it is as long as the longest of them.
pub fn combine<'a>(
    workers: &Workers,
    factors: &[Residue],
    tables: &[&'a [Residue]],
) -> Vec<Residue> {
    let len = tables.iter().map(|table| table.len()).max().unwrap_or(0);
    let mut out = vec![Residue::ZERO; len];
    workers.fill(&mut out, |start, piece| {
        if let Some(lanes) = workers.lanes() {
            let behind = |table: &&'a [Residue]| table.get(start..).unwrap_or_default();
            return lanes.combine(piece, factors, &tables.iter().map(behind).collect::<Vec<_>>());
        }
        for (factor, table) in factors.iter().zip(tables) {
            for (slot, entry) in piece.iter_mut().zip(table.iter().skip(start)) {
                *slot = slot.plus(&factor.times(entry));
            }
        }
    });
    out
}

/// The sum of rows of integers times weights, one for each row.
pub fn combine_rows(
    workers: &Workers,
    rows: &[i64],
    weights: &[Residue],
) -> Result<Vec<Residue>, Fault> {
    let width = width(rows.len(), weights.len())?;
    let negative: Vec<Residue> = weights.iter().map(|w| Residue::ZERO.minus(w)).collect();
    let mut out = vec![Residue::ZERO; width];
    workers.fill(&mut out, |start, piece| {
        if let Some(lanes) = workers.lanes() {
            return lanes.combine_rows(piece, rows, width, start, weights);
        }
        let mut sums = Zeroizing::new(vec![WordSum::default(); piece.len()]);
        for (row, (plus, minus)) in rows.chunks_exact(width).zip(weights.iter().zip(&negative)) {
            for (sum, value) in sums.iter_mut().zip(&row[start..]) {
                sum.add(&plus.or(minus, sign_mask(*value)), value.unsigned_abs());
            }
        }
        reduced(piece, &sums);
    });
    Ok(out)
}

fn width(entries: usize, rows: usize) -> Result<usize, Fault> {
    if rows == 0 || entries == 0 || !entries.is_multiple_of(rows) {
        return Err(Fault::usage(format!("{entries} integers do not divide into {rows} rows")));
    }
    Ok(entries / rows)
}

/// Strings of bits of one length, each from a new byte on, the lowest bit first.
#[derive(Clone, Copy)]
pub struct BitRows<'a> {
    bytes: &'a [u8],
    stride: usize,
    len: usize,
}

impl<'a> BitRows<'a> {
    /// Strings of `len` bits.
    pub fn new(bytes: &'a [u8], len: usize) -> Result<Self, Fault> {
        let stride = len.div_ceil(8);
        if len == 0 || !bytes.len().is_multiple_of(stride) {
            let found = bytes.len();
            return Err(Fault::usage(format!("{found} bytes are no strings of {len} bits")));
        }
        Ok(Self { bytes, stride, len })
    }

    /// How many strings there are.
    pub fn count(&self) -> usize {
        self.bytes.len() / self.stride
    }

    /// How long they are.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// For each bit of a byte, those of up to 8 strings from `first` on, the first one lowest.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn across(&self, first: usize, count: usize, byte: usize) -> [u8; GROUP] {
        let mut square = 0;
        for k in 0..count {
            square |= u64::from(self.bytes[(first + k) * self.stride + byte]) << (8 * k);
        }
        transposed(square).to_le_bytes()
    }

    /// Byte `group` of string k, without bits behind its end.
    pub(super) fn group(&self, k: usize, group: usize) -> usize {
        let left = self.len - GROUP * group;
        let mask = if left < GROUP { (1u8 << left) - 1 } else { u8::MAX };
        usize::from(self.bytes[k * self.stride + group] & mask)
    }

    fn bit(&self, k: usize, j: usize) -> usize {
        usize::from(self.bytes[k * self.stride + j / 8] >> (j % 8) & 1)
    }
}

/// Eight bytes as a square of bits, with rows for columns.
#[cfg(target_arch = "x86_64")]
fn transposed(mut square: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0xf0f0_f0f0)]
    {
        let swapped = (square ^ (square >> shift)) & mask;
        square ^= swapped ^ (swapped << shift);
    }
    square
}

/// Sums of up to 8 values, by the bits of an index.
fn subset_sums<S: Copy, T>(zero: S, values: &[T], add: impl Fn(&S, &T) -> S) -> [S; 1 << GROUP] {
    let mut sums = [zero; 1 << GROUP];
    for (i, value) in values.iter().enumerate() {
        for low in 0..1 << i {
            sums[1 << i | low] = add(&sums[low], value);
        }
    }
    sums
}

/// For each string, the sum of the entries where it has a 1; strings are as long as the table.
pub fn bit_inners(
    workers: &Workers,
    table: &[Residue],
    bits: BitRows<'_>,
) -> Result<Vec<Residue>, Fault> {
    check_len(table.len(), bits.len)?;
    let mut out = vec![Residue::ZERO; bits.count()];
    workers.fill(&mut out, |start, piece| {
        if let Some(lanes) = workers.lanes() {
            return lanes.bit_inners(piece, table, bits, start);
        }
        let mut totals = Zeroizing::new(vec![WordSum::default(); piece.len()]);
        for (group, values) in table.chunks(GROUP).enumerate() {
            let sums = Zeroizing::new(subset_sums(ShortSum::default(), values, ShortSum::plus));
            for (k, total) in (start..).zip(totals.iter_mut()) {
                total.add_sum(&sums[bits.group(k, group)]);
            }
        }
        reduced(piece, &totals);
    });
    Ok(out)
}

/// The sum of the strings times weights, one for each string: an entry for each bit.
pub fn combine_bits(
    workers: &Workers,
    weights: &[Residue],
    bits: BitRows<'_>,
) -> Result<Vec<Residue>, Fault> {
    check_len(weights.len(), bits.count())?;
    // Nothing else bounds the length of no strings, and entries would be made for each of its bits.
    if weights.is_empty() {
        return Err(Fault::usage("a sum of strings needs at least one"));
    }
    let mut out = vec![Residue::ZERO; bits.len];
    workers.fill(&mut out, |start, piece| {
        if let Some(lanes) = workers.lanes() {
            return lanes.combine_bits(piece, weights, bits, start);
        }
        let mut totals = Zeroizing::new(vec![WordSum::default(); piece.len()]);
        for (group, values) in weights.chunks(GROUP).enumerate() {
            let sums = Zeroizing::new(subset_sums(ShortSum::default(), values, ShortSum::plus));
            for (j, total) in (start..).zip(totals.iter_mut()) {
                let first = GROUP * group;
                let index =
                    (0..values.len()).fold(0, |index, i| index | bits.bit(first + i, j) << i);
                total.add_sum(&sums[index]);
            }
        }
        reduced(piece, &totals);
    });
    Ok(out)
}

fn reduced(out: &mut [Residue], sums: &[WordSum]) {
    for (slot, sum) in out.iter_mut().zip(sums) {
        *slot = sum.residue();
    }
}

/// For each row of integers and each string, the sum of those where it has a 1, mod 2^64.
pub fn row_bit_sums(
    workers: &Workers,
    rows: &[i64],
    bits: BitRows<'_>,
) -> Result<Zeroizing<Vec<i64>>, Fault> {
    if !rows.len().is_multiple_of(bits.len) {
        let (found, len) = (rows.len(), bits.len);
        return Err(Fault::usage(format!("{found} integers do not divide into rows of {len}")));
    }
    let count = bits.count();
    let mut out = Zeroizing::new(vec![0; rows.len() / bits.len * count]);
    let add = |a: &i64, b: &i64| a.wrapping_add(*b);
    let mut slots: Vec<&mut [i64]> = out.chunks_mut(count.max(1)).collect();
    workers.fill(&mut slots, |start, piece| {
        if let Some(lanes) = workers.lanes() {
            let rows = &rows[start * bits.len..][..piece.len() * bits.len];
            return lanes.row_bit_sums(piece, rows, bits);
        }
        for (row, slots) in rows[start * bits.len..].chunks_exact(bits.len).zip(piece) {
            for (group, values) in row.chunks(GROUP).enumerate() {
                let sums = Zeroizing::new(subset_sums(0, values, add));
                for (k, slot) in slots.iter_mut().enumerate() {
                    *slot = slot.wrapping_add(sums[bits.group(k, group)]);
                }
            }
        }
    });
    Ok(out)
}

/// Where entries go, and which of them are negated on their way; those behind them stay.
#[derive(Clone, Copy)]
pub struct Moves<'a> {
    places: &'a [u32],
    signs: BitRows<'a>,
}

impl<'a> Moves<'a> {
    /// Entry j goes to places[j], each place once, negated where bit j of the signs is 1.
    pub fn new(places: &'a [u32], signs: BitRows<'a>) -> Result<Self, Fault> {
        if signs.count() != 1 || signs.len != places.len() {
            return Err(Fault::usage("a permutation has a sign for each place"));
        }
        let mut seen = vec![false; places.len()];
        for place in places {
            match seen.get_mut(*place as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(Fault::usage("places are a permutation: each of them once")),
            }
        }
        Ok(Self { places, signs })
    }

    /// A table of so many entries has all places.
    pub fn check_fits(&self, len: usize) -> Result<(), Fault> {
        if self.places.len() <= len {
            return Ok(());
        }
        Err(Fault::usage(format!("{} places are more than {len} entries", self.places.len())))
    }

    /// Where entry j goes, and 1 if it is negated, else 0.
    pub fn place(&self, j: usize) -> (usize, usize) {
        if j < self.places.len() {
            return (self.places[j] as usize, self.signs.bit(0, j));
        }
        (j, 0)
    }

    /// Entry j and where it goes.
    fn entry(&self, table: &[Residue], j: usize) -> (usize, Residue) {
        let mask = (self.signs.bit(0, j) as u64).wrapping_neg();
        (self.places[j] as usize, table[j].negated_if(mask))
    }
}

/// The table of signed integers.
pub fn from_integers(workers: &Workers, values: &[i64]) -> Vec<Residue> {
    let mut out = vec![Residue::ZERO; values.len()];
    workers.fill(&mut out, |start, piece| {
        let values = &values[start..start + piece.len()];
        if let Some(lanes) = workers.lanes() {
            return lanes.from_integers(piece, values);
        }
        for (slot, value) in piece.iter_mut().zip(values) {
            *slot = Residue::from_integer(*value);
        }
    });
    out
}

/// The table with its entries moved.
pub fn permuted(table: &[Residue], moves: Moves<'_>) -> Result<Vec<Residue>, Fault> {
    moves.check_fits(table.len())?;
    let mut out = table.to_vec();
    for j in 0..moves.places.len() {
        let (place, entry) = moves.entry(table, j);
        out[place] = entry;
    }
    Ok(out)
}
