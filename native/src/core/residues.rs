//! Residues mod the group order in Montgomery form, for work with many products.
//!
//! A residue v is held as v 2^256 mod q, below q. Nothing here branches on a value or indexes
//! by one.

use std::array;

use curve25519_dalek::Scalar;
use zeroize::DefaultIsZeroes;

const LIMBS: usize = 4;
type Limbs = [u64; LIMBS];

pub(super) const ORDER: Limbs =
    [0x5812_631a_5cf5_d3ed, 0x14de_f9de_a2f7_9cd6, 0, 0x1000_0000_0000_0000];
/// -1 / q mod 2^64.
pub(super) const FACTOR: u64 = 0xd2b5_1da3_1254_7e1b;
/// 2^256 mod q.
const RADIX: Limbs =
    [0xd6ec_3174_8d98_951d, 0xc6ef_5bf4_737d_cf70, 0xffff_ffff_ffff_fffe, 0x0fff_ffff_ffff_ffff];
/// 2^512 mod q.
const RADIX_SQUARED: Limbs =
    [0xa406_11e3_449c_0f01, 0xd00e_1ba7_6885_9347, 0xceec_73d2_17f5_be65, 0x0399_411b_7c30_9a3d];

/// A residue mod the group order.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Residue(pub(super) Limbs);

impl DefaultIsZeroes for Residue {}

impl Residue {
    /// Zero.
    pub const ZERO: Self = Self([0; LIMBS]);
    /// One.
    pub const ONE: Self = Self(RADIX);

    /// The residue of a scalar.
    pub fn from_scalar(scalar: &Scalar) -> Self {
        let (words, _) = scalar.as_bytes().as_chunks::<8>();
        let mut limbs = [0; LIMBS];
        for (limb, word) in limbs.iter_mut().zip(words) {
            *limb = u64::from_le_bytes(*word);
        }
        product(&limbs, &RADIX_SQUARED)
    }

    /// The scalar of a residue.
    pub fn to_scalar(self) -> Scalar {
        let [a, b, c, d] = self.0;
        let Self(limbs) = reduce([a, b, c, d, 0, 0, 0, 0]);
        let mut bytes = [0; 32];
        for (word, limb) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(limbs) {
            *word = limb.to_le_bytes();
        }
        Scalar::from_bytes_mod_order(bytes)
    }

    /// Its limbs of 52 bits.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn narrow_limbs(&self) -> [u64; 5] {
        narrow(self.0)
    }

    /// The residue of a word.
    pub fn from_word(word: u64) -> Self {
        product(&[word, 0, 0, 0], &RADIX_SQUARED)
    }

    /// The residue of a signed integer.
    pub fn from_integer(value: i64) -> Self {
        Self::from_word(value.unsigned_abs()).negated_if(sign_mask(value))
    }

    /// The residue of a longer signed integer.
    pub fn from_wide(value: i128) -> Self {
        let size = value.unsigned_abs();
        let words = [size as u64, (size >> 64) as u64, 0, 0];
        product(&words, &RADIX_SQUARED).negated_if(sign_mask((value >> 64) as i64))
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        let (sum, carry) = each(|i, carry| add(self.0[i], other.0[i], carry));
        below_order(sum, carry)
    }

    /// The difference.
    pub fn minus(&self, other: &Self) -> Self {
        let (difference, borrow) = each(|i, borrow| subtract(self.0[i], other.0[i], borrow));
        let mask = borrow.wrapping_neg();
        Self(each(|i, carry| add(difference[i], ORDER[i] & mask, carry)).0)
    }

    /// The product.
    pub fn times(&self, other: &Self) -> Self {
        product(&self.0, &other.0)
    }

    /// The other one where the mask is all ones, this one where it is 0.
    pub fn or(&self, other: &Self, mask: u64) -> Self {
        Self(array::from_fn(|i| self.0[i] ^ (mask & (self.0[i] ^ other.0[i]))))
    }

    /// The negative where the mask is all ones, the residue itself where it is 0.
    pub fn negated_if(&self, mask: u64) -> Self {
        self.or(&Self::ZERO.minus(self), mask)
    }
}

/// All ones for a negative integer, else 0.
pub fn sign_mask(value: i64) -> u64 {
    (value >> 63) as u64
}

/// A sum of products of residues that is reduced once, for at most 2^64 of them.
#[derive(Clone, Copy, Default)]
pub struct ProductSum([u64; 2 * LIMBS + 1]);

impl DefaultIsZeroes for ProductSum {}

impl ProductSum {
    /// Add a product.
    pub fn add(&mut self, left: &Residue, right: &Residue) {
        let (wide, mut carry) = (wide_product(&left.0, &right.0), 0);
        for (limb, word) in self.0.iter_mut().zip(wide) {
            (*limb, carry) = add(*limb, word, carry);
        }
        self.0[2 * LIMBS] += carry;
    }

    /// The sum as a residue.
    pub fn residue(&self) -> Residue {
        let [a, b, c, d, e, f, g, h, top] = self.0;
        let low = reduce([a, b, c, d, 0, 0, 0, 0]);
        let middle = product(&[e, f, g, h], &RADIX);
        let high = product(&[top, 0, 0, 0], &RADIX_SQUARED);
        low.plus(&middle).plus(&high)
    }
}

/// A sum of at most 8 residues that was not reduced: it is below 2^256.
#[derive(Clone, Copy, Default)]
pub struct ShortSum(Limbs);

impl DefaultIsZeroes for ShortSum {}

impl ShortSum {
    /// The most residues that may be added.
    pub const MOST: usize = 8;

    /// The sum with one residue more.
    pub fn plus(&self, residue: &Residue) -> Self {
        let (sum, _) = each(|i, carry| add(self.0[i], residue.0[i], carry));
        Self(sum)
    }
}

/// A sum of residues times words that is reduced once, for at most 2^64 of them.
#[derive(Clone, Copy, Default)]
pub struct WordSum([u64; LIMBS + 2]);

impl DefaultIsZeroes for WordSum {}

impl WordSum {
    /// Add a residue times a word.
    pub fn add(&mut self, residue: &Residue, word: u64) {
        let (mut high, mut carry) = (0, 0);
        for i in 0..LIMBS {
            let low;
            (low, high) = multiply(residue.0[i], word, high);
            (self.0[i], carry) = add(self.0[i], low, carry);
        }
        (self.0[LIMBS], carry) = add(self.0[LIMBS], high, carry);
        self.0[LIMBS + 1] += carry;
    }

    /// Add a sum of residues.
    pub fn add_sum(&mut self, sum: &ShortSum) {
        let mut carry = 0;
        for (limb, word) in self.0.iter_mut().zip(sum.0) {
            (*limb, carry) = add(*limb, word, carry);
        }
        (self.0[LIMBS], carry) = add(self.0[LIMBS], 0, carry);
        self.0[LIMBS + 1] += carry;
    }

    /// A sum in limbs of 52 bits that were not carried; it is below 2^312.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn of_limbs(limbs: &[u64; 6]) -> Self {
        let (mut sum, mut above) = (0u128, [0; LIMBS + 2]);
        let mut cut = [0; 6];
        for (slot, limb) in cut.iter_mut().zip(limbs) {
            sum += u128::from(*limb);
            *slot = sum as u64 & ((1 << 52) - 1);
            sum >>= 52;
        }
        let [a, b, c, d, e, f] = cut;
        above[..5].copy_from_slice(&[
            a | b << 52,
            b >> 12 | c << 40,
            c >> 24 | d << 28,
            d >> 36 | e << 16,
            e >> 48 | f << 4,
        ]);
        Self(above)
    }

    /// The sum as a residue.
    pub fn residue(&self) -> Residue {
        let [a, b, c, d, e, f] = self.0;
        product(&[a, b, c, d], &RADIX).plus(&product(&[e, f, 0, 0], &RADIX_SQUARED))
    }
}

/// A number in limbs of 52 bits.
#[cfg(target_arch = "x86_64")]
pub(super) const fn narrow(words: Limbs) -> [u64; 5] {
    const MASK: u64 = (1 << 52) - 1;
    let [a, b, c, d] = words;
    [
        a & MASK,
        (a >> 52 | b << 12) & MASK,
        (b >> 40 | c << 24) & MASK,
        (c >> 28 | d << 36) & MASK,
        d >> 16,
    ]
}

/// A limb at a time, the lowest first, with what each of them hands to the next one.
fn each(mut step: impl FnMut(usize, u64) -> (u64, u64)) -> (Limbs, u64) {
    let mut handed = 0;
    let limbs = array::from_fn(|i| {
        let limb;
        (limb, handed) = step(i, handed);
        limb
    });
    (limbs, handed)
}

fn add(left: u64, right: u64, carry: u64) -> (u64, u64) {
    let sum = u128::from(left) + u128::from(right) + u128::from(carry);
    (sum as u64, (sum >> 64) as u64)
}

fn subtract(left: u64, right: u64, borrow: u64) -> (u64, u64) {
    let difference = u128::from(left).wrapping_sub(u128::from(right) + u128::from(borrow));
    (difference as u64, (difference >> 64) as u64 & 1)
}

fn multiply(left: u64, right: u64, carry: u64) -> (u64, u64) {
    let wide = u128::from(left) * u128::from(right) + u128::from(carry);
    (wide as u64, (wide >> 64) as u64)
}

fn multiply_add(sum: u64, left: u64, right: u64, carry: u64) -> (u64, u64) {
    let wide = u128::from(left) * u128::from(right) + u128::from(sum) + u128::from(carry);
    (wide as u64, (wide >> 64) as u64)
}

/// The value, less the order unless it is below; it is below twice the order.
fn below_order(value: Limbs, carry: u64) -> Residue {
    let (reduced, borrow) = each(|i, borrow| subtract(value[i], ORDER[i], borrow));
    // Without a carry a borrow says that the value was below the order.
    let keep = (borrow & (carry ^ 1)).wrapping_neg();
    Residue(reduced).or(&Residue(value), keep)
}

fn wide_product(left: &Limbs, right: &Limbs) -> [u64; 2 * LIMBS] {
    let mut wide = [0; 2 * LIMBS];
    for i in 0..LIMBS {
        let mut carry = 0;
        for j in 0..LIMBS {
            (wide[i + j], carry) = multiply_add(wide[i + j], left[i], right[j], carry);
        }
        wide[i + LIMBS] = carry;
    }
    wide
}

/// The product of a number below 2^256 and one below the order, over 2^256.
fn product(left: &Limbs, right: &Limbs) -> Residue {
    reduce(wide_product(left, right))
}

/// A number below 2^256 q, over 2^256 mod q.
fn reduce(mut wide: [u64; 2 * LIMBS]) -> Residue {
    let mut above = 0;
    for i in 0..LIMBS {
        let factor = wide[i].wrapping_mul(FACTOR);
        let mut carry;
        (_, carry) = multiply_add(wide[i], factor, ORDER[0], 0);
        (wide[i + 1], carry) = multiply_add(wide[i + 1], factor, ORDER[1], carry);
        // The third limb of the order is zero, the last one a power of two.
        (wide[i + 2], carry) = add(wide[i + 2], carry, 0);
        let (low, high) = (factor << 60, factor >> 4);
        let (sum, over) = add(wide[i + 3], low, carry);
        wide[i + 3] = sum;
        // Together below 2^64: high is below 2^60.
        (wide[i + 4], above) = add(wide[i + 4], high + over, above);
    }
    let [_, _, _, _, a, b, c, d] = wide;
    below_order([a, b, c, d], above)
}
