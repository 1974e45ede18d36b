//! Vectors of scalars mod the group order.
//!
//! Constant-time throughout, except where a function says what leaks. Results are
//! allocated once at their final size, so that no copy of a secret stays behind.

use curve25519_dalek::Scalar;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, Zeroizing};

use super::fault::Fault;
use super::residues::{ProductSum, Residue};
use super::workers::Workers;

/// One scalar for every position, or one for each.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// The same scalar everywhere.
    One(&'a Scalar),
    /// Position by position.
    Many(&'a [Scalar]),
}

impl<'a> Values<'a> {
    /// The scalar at this position.
    pub fn at(&self, index: usize) -> &'a Scalar {
        match self {
            Self::One(scalar) => scalar,
            Self::Many(scalars) => &scalars[index],
        }
    }

    /// Refuse a vector of another length.
    pub fn check_len(&self, len: usize) -> Result<(), Fault> {
        match self {
            Self::One(_) => Ok(()),
            Self::Many(scalars) => check_len(len, scalars.len()),
        }
    }
}

/// Refuse vectors of different lengths.
pub fn check_len(left: usize, right: usize) -> Result<(), Fault> {
    if left == right {
        return Ok(());
    }
    Err(Fault::usage(format!("vectors of one length are needed, not {left} and {right}")))
}

/// Combine two operands position by position; the lengths agree.
pub fn zip_with(
    workers: &Workers,
    left: &[Scalar],
    right: Values<'_>,
    combine: impl Fn(&Scalar, &Scalar) -> Scalar + Sync,
) -> Vec<Scalar> {
    let mut out = vec![Scalar::ZERO; left.len()];
    workers.fill(&mut out, |start, piece| {
        for (i, slot) in piece.iter_mut().enumerate() {
            *slot = combine(&left[start + i], right.at(start + i));
        }
    });
    out
}

/// The negatives.
pub fn negate(scalars: &[Scalar]) -> Vec<Scalar> {
    scalars.iter().map(|s| -s).collect()
}

/// Zero for no scalars.
pub fn sum(scalars: &[Scalar]) -> Scalar {
    scalars.iter().sum()
}

/// Sum over i of left[i] * right[i]; the lengths agree.
pub fn inner(workers: &Workers, left: &[Scalar], right: &[Scalar]) -> Scalar {
    let mut parts = workers.map(left.len(), |range| {
        let mut total = Zeroizing::new(ProductSum::default());
        for (l, r) in left[range.clone()].iter().zip(&right[range]) {
            total.add(&Residue::from_scalar(l), &Residue::from_scalar(r));
        }
        total.residue().to_scalar()
    });
    let total = sum(&parts);
    parts.zeroize();
    total
}

/// One inverse. That it is zero leaks.
pub fn inverse(scalar: &Scalar) -> Result<Scalar, Fault> {
    if bool::from(scalar.ct_eq(&Scalar::ZERO)) {
        return Err(Fault::usage("zero has no inverse: check for it before"));
    }
    Ok(scalar.invert())
}

/// All inverses with one inversion. Only whether there is a zero leaks, not where.
pub fn inverses(scalars: &[Scalar]) -> Result<Vec<Scalar>, Fault> {
    let zero = scalars.iter().fold(Choice::from(0), |any, s| any | s.ct_eq(&Scalar::ZERO));
    if zero.into() {
        return Err(Fault::usage("zero has no inverse: check the vector for zeros before"));
    }
    let mut out = scalars.to_vec();
    if !out.is_empty() {
        Scalar::invert_batch_alloc(&mut out);
    }
    Ok(out)
}

/// 1, base, ..., base^(n-1). The exponents are public.
pub fn powers(workers: &Workers, base: &Scalar, n: usize) -> Vec<Scalar> {
    let mut out = vec![Scalar::ZERO; n];
    let base = Residue::from_scalar(base);
    workers.fill(&mut out, |start, piece| {
        let mut power = nth_power(&base, start);
        for slot in piece {
            *slot = power.to_scalar();
            power = power.times(&base);
        }
    });
    out
}

fn nth_power(base: &Residue, mut exponent: usize) -> Residue {
    let (mut result, mut square) = (Residue::ONE, *base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.times(&square);
        }
        square = square.times(&square);
        exponent >>= 1;
    }
    result
}

/// Sum over k of coefficients[k] * vectors[k]; every vector has `len` scalars.
pub fn combine(
    workers: &Workers,
    coefficients: &[Scalar],
    vectors: &[&[Scalar]],
    len: usize,
) -> Vec<Scalar> {
    let mut out = vec![Scalar::ZERO; len];
    let coefficients: Vec<_> = coefficients.iter().map(Residue::from_scalar).collect();
    workers.fill(&mut out, |start, piece| {
        for (i, slot) in piece.iter_mut().enumerate() {
            let mut total = Zeroizing::new(ProductSum::default());
            for (coefficient, vector) in coefficients.iter().zip(vectors) {
                total.add(coefficient, &Residue::from_scalar(&vector[start + i]));
            }
            *slot = total.residue().to_scalar();
        }
    });
    out
}

/// A signed integer mod the order, without a branch on its sign.
pub fn from_i64(value: i64) -> Scalar {
    let magnitude = Scalar::from(value.unsigned_abs());
    let negative = Choice::from((value as u64 >> 63) as u8);
    // Faster than a negation, which reduces a product.
    Scalar::conditional_select(&magnitude, &(Scalar::ZERO - magnitude), negative)
}

/// Consecutive little-endian integers of `width` bytes (1..=64), mod the order.
pub fn reduce(workers: &Workers, data: &[u8], width: usize) -> Result<Vec<Scalar>, Fault> {
    if !(1..=64).contains(&width) {
        return Err(Fault::usage(format!("the width must be 1 to 64 bytes, not {width}")));
    }
    if !data.len().is_multiple_of(width) {
        let len = data.len();
        return Err(Fault::usage(format!("{len} bytes do not divide into integers of {width}")));
    }
    let mut out = vec![Scalar::ZERO; data.len() / width];
    workers.fill(&mut out, |start, piece| {
        let mut wide = Zeroizing::new([0u8; 64]);
        for (slot, bytes) in piece.iter_mut().zip(data[start * width..].chunks_exact(width)) {
            wide[..width].copy_from_slice(bytes);
            *slot = reduced(&wide, width);
        }
    });
    Ok(out)
}

/// The first `width` bytes mod the order; the others are zero. Shorter ones take less time.
fn reduced(wide: &[u8; 64], width: usize) -> Scalar {
    const WORD: usize = size_of::<u128>();
    let (chunks, _) = wide.as_chunks::<WORD>();
    match (chunks, wide.first_chunk()) {
        ([low, ..], _) if width <= WORD => u128::from_le_bytes(*low).into(),
        (_, Some(low)) if width <= 2 * WORD => Scalar::from_bytes_mod_order(*low),
        _ => Scalar::from_bytes_mod_order_wide(wide),
    }
}
