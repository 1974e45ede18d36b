//! Constant-time sums with secret scalars that are known to be small.

use curve25519_dalek::{RistrettoPoint, Scalar};
use subtle::{Choice, ConditionallyNegatable, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::fault::Fault;
use super::workers::Workers;

/// The most bits of a small scalar.
pub const MOST_BITS: usize = 58;

/// The bits of a digit at most.
const LONGEST: usize = 6;
/// What adding a point takes, and reading one of the multiples it may be.
const ADD_NANOS: usize = 240;
const READ_NANOS: usize = 12;

const MULTIPLES: usize = (1 << (LONGEST - 1)) + 1;
type Multiples = [RistrettoPoint; MULTIPLES];

/// For each row of scalars the sum of scalars[i] * points[i], constant-time.
///
/// Every row has a scalar for each point, and all scalars lie in [-2^bits, 2^bits) or the
/// call is refused; that one of them does not is all that leaks. Each scalar is cut into
/// as many signed digits as `bits` takes, and each digit reads all multiples of its point.
/// The multiples of a point are made once and serve all rows.
pub fn bounded_msms(
    workers: &Workers,
    rows: &[&[Scalar]],
    points: &[RistrettoPoint],
    bits: usize,
) -> Result<Vec<RistrettoPoint>, Fault> {
    let (digits, count) = (digits(bits, rows.len())?, rows.len());
    let columns = recoded(rows, points.len(), bits, &digits)?;
    let parts = workers.map(points.len(), |range| {
        let mut sums = Zeroizing::new(vec![RistrettoPoint::default(); count * digits.len()]);
        for (point, i) in points[range.clone()].iter().zip(range) {
            let multiples = multiples(point, &digits);
            let words = &columns[i * count..(i + 1) * count];
            for (digit, sums) in digits.iter().zip(sums.chunks_exact_mut(count.max(1))) {
                digit.add_to(sums, words, &multiples);
            }
        }
        sums
    });
    Ok((0..count).map(|row| joined(&parts, row, &digits, count)).collect())
}

/// Bits of scalars from `shift` on, read as an integer from -2^(size-1) to 2^(size-1).
struct Digit {
    shift: usize,
    size: usize,
    highest: bool,
}

/// The fastest digits that hold every integer of [-2^bits, 2^bits), for so many rows.
///
/// All but the highest leave out 2^(size-1). The highest one has it: nothing is carried out of it.
fn digits(bits: usize, rows: usize) -> Result<Vec<Digit>, Fault> {
    if !(1..=MOST_BITS).contains(&bits) {
        return Err(Fault::usage(format!("small scalars have 1 to {MOST_BITS} bits, not {bits}")));
    }
    let total = bits + 1;
    let size = |windows: usize, k: usize| (total + windows - 1 - k) / windows;
    let work = |windows: usize| {
        let digit = |k| ADD_NANOS + (READ_NANOS << (size(windows, k) - 1));
        let each: usize = (0..windows).map(digit).sum();
        rows.saturating_mul(each).saturating_add(ADD_NANOS << (size(windows, 0) - 1))
    };
    let fewest = total.div_ceil(LONGEST);
    let windows = (fewest..=total).min_by_key(|&windows| work(windows)).unwrap_or(total);
    let mut shift = 0;
    let digits = (0..windows).map(|k| {
        let digit = Digit { shift, size: size(windows, k), highest: k + 1 == windows };
        shift += digit.size;
        digit
    });
    Ok(digits.collect())
}

impl Digit {
    /// What is added so that no digit is negative; its largest magnitude, too.
    fn offset(&self) -> u64 {
        1 << (self.size - 1)
    }

    /// The digit of a recoded scalar, in two's complement.
    fn of(&self, word: u64) -> u64 {
        let size = self.size + usize::from(self.highest);
        ((word >> self.shift) & ((1 << size) - 1)).wrapping_sub(self.offset())
    }

    /// Add the multiples by this digit of each word.
    fn add_to(&self, sums: &mut [RistrettoPoint], words: &[u64], multiples: &Multiples) {
        match self.size {
            1 => self.add::<2>(sums, words, multiples),
            2 => self.add::<3>(sums, words, multiples),
            3 => self.add::<5>(sums, words, multiples),
            4 => self.add::<9>(sums, words, multiples),
            5 => self.add::<17>(sums, words, multiples),
            _ => self.add::<MULTIPLES>(sums, words, multiples),
        }
    }

    /// `COUNT` multiples are read for each digit: those of its size.
    fn add<const COUNT: usize>(
        &self,
        sums: &mut [RistrettoPoint],
        words: &[u64],
        multiples: &Multiples,
    ) {
        let Some(multiples) = multiples.first_chunk::<COUNT>() else { return };
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum += select(multiples, self.of(*word));
        }
    }
}

/// The digits of all scalars, each raised by the offset: point by point, one word per row.
fn recoded(
    rows: &[&[Scalar]],
    len: usize,
    bits: usize,
    digits: &[Digit],
) -> Result<Zeroizing<Vec<u64>>, Fault> {
    let shift = 1u64 << bits;
    let offsets = digits.iter().map(|digit| digit.offset() << digit.shift);
    let raise = offsets.sum::<u64>().wrapping_sub(shift);
    let mut words = Zeroizing::new(vec![0u64; rows.len() * len]);
    let mut surplus = 0u64;
    for (r, row) in rows.iter().enumerate() {
        for (i, scalar) in row.iter().enumerate() {
            let raised = Zeroizing::new((scalar + Scalar::from(shift)).to_bytes());
            let (limbs, _) = raised.as_chunks::<8>();
            let low = u64::from_le_bytes(limbs[0]);
            surplus |= limbs[1..]
                .iter()
                .fold(low >> (bits + 1), |any, limb| any | u64::from_le_bytes(*limb));
            // Of a scalar that is too large nothing is computed: the sum may wrap here.
            words[i * rows.len() + r] = low.wrapping_add(raise);
        }
    }
    if bool::from(surplus.ct_eq(&0)) {
        return Ok(words);
    }
    Err(Fault::usage(format!("a scalar does not fit {bits} bits and a sign")))
}

/// 0, 1, 2, .. times the point, as many as the longest digit needs.
fn multiples(point: &RistrettoPoint, digits: &[Digit]) -> Multiples {
    let mut multiples = [RistrettoPoint::default(); MULTIPLES];
    let needed = digits.iter().map(|digit| digit.offset() as usize).max().unwrap_or(0);
    for k in 1..=needed {
        multiples[k] = multiples[k - 1] + point;
    }
    multiples
}

/// The multiple by a digit; every multiple is read.
fn select<const COUNT: usize>(multiples: &[RistrettoPoint; COUNT], digit: u64) -> RistrettoPoint {
    let negative = digit >> 63;
    let sign = negative.wrapping_neg();
    let magnitude = (digit ^ sign).wrapping_sub(sign);
    let mut found = multiples[0];
    for (k, multiple) in multiples.iter().enumerate().skip(1) {
        found.conditional_assign(multiple, magnitude.ct_eq(&(k as u64)));
    }
    found.conditional_negate(Choice::from(negative as u8));
    found
}

/// The sum of one row: each digit's sums over all parts, shifted as the digit is.
fn joined(
    parts: &[Zeroizing<Vec<RistrettoPoint>>],
    row: usize,
    digits: &[Digit],
    rows: usize,
) -> RistrettoPoint {
    digits.iter().enumerate().rev().fold(RistrettoPoint::default(), |total, (window, digit)| {
        let shifted = (0..digit.size).fold(total, |point, _| point + point);
        parts.iter().fold(shifted, |sum, part| sum + part[window * rows + row])
    })
}
