//! Constant-time sums with secret scalars that are known to be small.

use curve25519_dalek::{RistrettoPoint, Scalar};
use subtle::{Choice, ConditionallyNegatable, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::fault::Fault;
use super::workers::Workers;

/// The most bits of a small scalar.
pub const MOST_BITS: usize = 58;
const DIGIT: usize = 4;
const OFFSET: u64 = 1 << (DIGIT - 1);
const MULTIPLES: usize = OFFSET as usize + 1;

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
    let windows = windows(bits)?;
    let columns = recoded(rows, points.len(), bits, windows)?;
    let parts = workers.map(points.len(), |range| {
        let mut sums = Zeroizing::new(vec![RistrettoPoint::default(); rows.len() * windows]);
        for i in range {
            let multiples = multiples(&points[i]);
            let digits = &columns[i * rows.len()..(i + 1) * rows.len()];
            for (sums, digits) in sums.chunks_exact_mut(windows).zip(digits) {
                for (window, sum) in sums.iter_mut().enumerate() {
                    *sum += select(&multiples, digits >> (DIGIT * window));
                }
            }
        }
        sums
    });
    Ok((0..rows.len()).map(|row| joined(&parts, row, windows)).collect())
}

/// Digits that hold every integer of [-2^bits, 2^bits).
fn windows(bits: usize) -> Result<usize, Fault> {
    if !(1..=MOST_BITS).contains(&bits) {
        return Err(Fault::usage(format!("small scalars have 1 to {MOST_BITS} bits, not {bits}")));
    }
    Ok((bits + 2).div_ceil(DIGIT))
}

/// The digits of all scalars, each raised by the offset: point by point, one word per row.
fn recoded(
    rows: &[&[Scalar]],
    len: usize,
    bits: usize,
    windows: usize,
) -> Result<Zeroizing<Vec<u64>>, Fault> {
    let shift = 1u64 << bits;
    let raise = (0..windows).map(|window| OFFSET << (DIGIT * window)).sum::<u64>() - shift;
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

/// 0 to 8 times the point.
fn multiples(point: &RistrettoPoint) -> [RistrettoPoint; MULTIPLES] {
    let mut multiples = [RistrettoPoint::default(); MULTIPLES];
    for k in 1..MULTIPLES {
        multiples[k] = multiples[k - 1] + point;
    }
    multiples
}

/// The multiple by the lowest digit less the offset; every multiple is read.
fn select(multiples: &[RistrettoPoint; MULTIPLES], digits: u64) -> RistrettoPoint {
    let digit = digits & (2 * OFFSET - 1);
    let negative = 1 ^ (digit >> (DIGIT - 1));
    let sign = negative.wrapping_neg();
    let magnitude = (digit.wrapping_sub(OFFSET) ^ sign).wrapping_sub(sign);
    let mut found = multiples[0];
    for (k, multiple) in multiples.iter().enumerate().skip(1) {
        found.conditional_assign(multiple, magnitude.ct_eq(&(k as u64)));
    }
    found.conditional_negate(Choice::from(negative as u8));
    found
}

/// The sum of one row: 16^window times the sum of each window, over all parts.
fn joined(parts: &[Zeroizing<Vec<RistrettoPoint>>], row: usize, windows: usize) -> RistrettoPoint {
    (0..windows).rev().fold(RistrettoPoint::default(), |total, window| {
        let shifted = (0..DIGIT).fold(total, |point, _| point + point);
        parts.iter().fold(shifted, |sum, part| sum + part[row * windows + window])
    })
}
