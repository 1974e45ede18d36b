//! Constant-time sums with secret scalars that are known to be small.

use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::{RistrettoPoint, Scalar};
use subtle::{Choice, ConditionallyNegatable, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::fault::Fault;
use super::points::Points;
use super::workers::Workers;

/// The most bits of a small scalar.
pub const MOST_BITS: usize = 58;

/// The bits of a digit at most.
const LONGEST: usize = 6;
/// Nanoseconds that adding a point takes, reading one of its multiples, and making one.
const PORTABLE: Costs = Costs { add: 240, read: 12, make: 240 };
const IN_LANES: Costs = Costs { add: 30, read: 0, make: 50 };

struct Costs {
    add: usize,
    read: usize,
    make: usize,
}

/// Smaller sums are not worth the way into lanes and back.
const LEAST_IN_LANES: usize = 64;

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
    bases: &Points,
    bits: usize,
) -> Result<Vec<RistrettoPoint>, Fault> {
    let (points, count) = (bases.values(), rows.len());
    let lanes = workers.lanes().filter(|_| count * points.len() >= LEAST_IN_LANES);
    let digits = digits(bits, count, if lanes.is_some() { &IN_LANES } else { &PORTABLE })?;
    let columns = recoded(rows, points.len(), bits, &digits)?;
    if let Some(lanes) = lanes {
        let (encodings, _) = bases.encodings(workers).as_chunks();
        let parts = workers.map(points.len(), |range| {
            let words = &columns[range.start * count..range.end * count];
            decoded(&lanes.row_sums(&encodings[range], words, count, &digits))
        });
        return Ok((0..count).map(|row| parts.iter().map(|part| part[row]).sum()).collect());
    }
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
pub struct Digit {
    pub(super) shift: usize,
    pub(super) size: usize,
    highest: bool,
}

/// The fastest digits that hold every integer of [-2^bits, 2^bits), for so many rows.
///
/// All but the highest leave out 2^(size-1). The highest one has it: nothing is carried out of it.
fn digits(bits: usize, rows: usize, costs: &Costs) -> Result<Vec<Digit>, Fault> {
    if !(1..=MOST_BITS).contains(&bits) {
        return Err(Fault::usage(format!("small scalars have 1 to {MOST_BITS} bits, not {bits}")));
    }
    let total = bits + 1;
    let size = |windows: usize, k: usize| (total + windows - 1 - k) / windows;
    let work = |windows: usize| {
        let digit = |k| costs.add + (costs.read << (size(windows, k) - 1));
        let each: usize = (0..windows).map(digit).sum();
        rows.saturating_mul(each).saturating_add(costs.make << (size(windows, 0) - 1))
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
    pub(super) fn offset(&self) -> u64 {
        1 << (self.size - 1)
    }

    /// How many multiples of a point it may choose, besides zero.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn multiples(&self) -> usize {
        1 << (self.size - 1)
    }

    /// All bits of a raised digit.
    pub(super) fn mask(&self) -> u64 {
        (1 << (self.size + usize::from(self.highest))) - 1
    }

    /// The digit of a recoded scalar, in two's complement.
    fn of(&self, word: u64) -> u64 {
        ((word >> self.shift) & self.mask()).wrapping_sub(self.offset())
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

/// The points of encodings that lanes have made.
fn decoded(encodings: &[[u8; 32]]) -> Zeroizing<Vec<RistrettoPoint>> {
    let decode = |bytes: &[u8; 32]| CompressedRistretto(*bytes).decompress();
    let points = encodings.iter().map(|bytes| decode(bytes).expect("lanes encode points"));
    Zeroizing::new(points.collect())
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
