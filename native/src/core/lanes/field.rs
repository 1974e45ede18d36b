//! Eight numbers mod 2^255 - 19 at once, in five limbs of 51 bits.

use core::arch::x86_64::*;

use super::eight::all;
use super::fence::{LANES, load, store};

const LIMBS: usize = 5;
const BITS: u32 = 51;
const MASK: u64 = (1 << BITS) - 1;
/// Twice the prime.
const TWICE: [u64; LIMBS] = [2 * (MASK - 18), 2 * MASK, 2 * MASK, 2 * MASK, 2 * MASK];

/// The constants of RFC 9496 and of the curve.
pub const D: [u64; LIMBS] =
    [0x34dca135978a3, 0x1a8283b156ebd, 0x5e7a26001c029, 0x739c663a03cbb, 0x52036cee2b6ff];
/// 2 d.
pub const TWICE_D: [u64; LIMBS] =
    [0x69b9426b2f159, 0x35050762add7a, 0x3cf44c0038052, 0x6738cc7407977, 0x2406d9dc56dff];
/// SQRT_M1.
pub const ROOT: [u64; LIMBS] =
    [0x61b274a0ea0b0, 0x0d5a5fc8f189d, 0x7ef5e9cbd0c60, 0x78595a6804c9e, 0x2b8324804fc1d];
/// INVSQRT_A_MINUS_D.
pub const INVERSE_ROOT: [u64; LIMBS] =
    [0x0fdaa805d40ea, 0x2eb482e57d339, 0x007610274bc58, 0x6510b613dc8ff, 0x786c8905cfaff];
const ONE: [u64; LIMBS] = [1, 0, 0, 0, 0];

/// Limbs as they lie in memory.
pub type Stored = [[u64; LANES]; LIMBS];

/// Eight numbers; limbs are below 2^51 + 2^15, so that products have room.
#[derive(Clone, Copy)]
pub struct Field([__m512i; LIMBS]);

/// Numbers of limbs below 2^62, with smaller limbs.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn carried(limbs: [__m512i; LIMBS]) -> Field {
    let mask = all(MASK);
    let [a, b, c, d, e] = limbs;
    let above = _mm512_srli_epi64::<BITS>(e);
    Field([
        _mm512_add_epi64(_mm512_and_si512(a, mask), nineteenfold(above)),
        _mm512_add_epi64(_mm512_and_si512(b, mask), _mm512_srli_epi64::<BITS>(a)),
        _mm512_add_epi64(_mm512_and_si512(c, mask), _mm512_srli_epi64::<BITS>(b)),
        _mm512_add_epi64(_mm512_and_si512(d, mask), _mm512_srli_epi64::<BITS>(c)),
        _mm512_add_epi64(_mm512_and_si512(e, mask), _mm512_srli_epi64::<BITS>(d)),
    ])
}

#[target_feature(enable = "avx512ifma")]
#[inline]
fn nineteenfold(word: __m512i) -> __m512i {
    let threefold = _mm512_add_epi64(word, _mm512_slli_epi64::<1>(word));
    _mm512_add_epi64(threefold, _mm512_slli_epi64::<4>(word))
}

/// Numbers from the limbs of products: the high halves of products weigh twice a limb.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn joined(low: &[__m512i; 2 * LIMBS], high: &[__m512i; 2 * LIMBS]) -> Field {
    let mut limbs = [_mm512_setzero_si512(); LIMBS];
    for k in 0..LIMBS {
        let own = _mm512_add_epi64(low[k], _mm512_slli_epi64::<1>(high[k]));
        let above = _mm512_add_epi64(low[k + LIMBS], _mm512_slli_epi64::<1>(high[k + LIMBS]));
        limbs[k] = _mm512_add_epi64(own, nineteenfold(above));
    }
    carried(limbs)
}

impl Field {
    /// The same number in all lanes.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn repeated(limbs: &[u64; LIMBS]) -> Self {
        Self([all(limbs[0]), all(limbs[1]), all(limbs[2]), all(limbs[3]), all(limbs[4])])
    }

    /// Ones.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn one() -> Self {
        Self::repeated(&ONE)
    }

    /// Zeros.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn zero() -> Self {
        Self([_mm512_setzero_si512(); LIMBS])
    }

    /// Numbers from memory.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn load(limbs: &Stored) -> Self {
        let [a, b, c, d, e] = limbs;
        Self([load(a), load(b), load(c), load(d), load(e)])
    }

    /// Write them.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn store(&self, limbs: &mut Stored) {
        for (slot, limb) in limbs.iter_mut().zip(self.0) {
            store(slot, limb);
        }
    }

    /// Limbs that are below 2^51 already.
    #[inline]
    pub fn of_limbs(limbs: [__m512i; LIMBS]) -> Self {
        Self(limbs)
    }

    /// The sum.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn plus(&self, other: &Self) -> Self {
        let mut limbs = self.0;
        for (limb, more) in limbs.iter_mut().zip(other.0) {
            *limb = _mm512_add_epi64(*limb, more);
        }
        carried(limbs)
    }

    /// The difference.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn minus(&self, other: &Self) -> Self {
        let mut limbs = self.0;
        for ((limb, less), twice) in limbs.iter_mut().zip(other.0).zip(TWICE) {
            *limb = _mm512_sub_epi64(_mm512_add_epi64(*limb, all(twice)), less);
        }
        carried(limbs)
    }

    /// The negative.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn negative(&self) -> Self {
        Self::zero().minus(self)
    }

    /// The product.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn times(&self, other: &Self) -> Self {
        let none = _mm512_setzero_si512();
        let (mut low, mut high) = ([none; 2 * LIMBS], [none; 2 * LIMBS]);
        for i in 0..LIMBS {
            for j in 0..LIMBS {
                let at = i + j;
                low[at] = _mm512_madd52lo_epu64(low[at], self.0[i], other.0[j]);
                high[at + 1] = _mm512_madd52hi_epu64(high[at + 1], self.0[i], other.0[j]);
            }
        }
        joined(&low, &high)
    }

    /// The square.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn squared(&self) -> Self {
        let none = _mm512_setzero_si512();
        let (mut low, mut high) = ([none; 2 * LIMBS], [none; 2 * LIMBS]);
        for i in 0..LIMBS {
            for j in i + 1..LIMBS {
                let at = i + j;
                low[at] = _mm512_madd52lo_epu64(low[at], self.0[i], self.0[j]);
                high[at + 1] = _mm512_madd52hi_epu64(high[at + 1], self.0[i], self.0[j]);
            }
        }
        for k in 1..2 * LIMBS {
            (low[k], high[k]) = (_mm512_slli_epi64::<1>(low[k]), _mm512_slli_epi64::<1>(high[k]));
        }
        for (i, limb) in self.0.into_iter().enumerate() {
            low[2 * i] = _mm512_madd52lo_epu64(low[2 * i], limb, limb);
            high[2 * i + 1] = _mm512_madd52hi_epu64(high[2 * i + 1], limb, limb);
        }
        joined(&low, &high)
    }

    /// Squared so many times.
    #[target_feature(enable = "avx512ifma")]
    fn squared_times(&self, count: usize) -> Self {
        let mut power = *self;
        for _ in 0..count {
            power = power.squared();
        }
        power
    }

    /// The powers by 2^250 - 1 and by 11.
    #[target_feature(enable = "avx512ifma")]
    fn long_powers(&self) -> (Self, Self) {
        let second = self.squared();
        let ninth = second.squared_times(2).times(self);
        let eleventh = ninth.times(&second);
        let ones_5 = eleventh.squared().times(&ninth);
        let ones_10 = ones_5.squared_times(5).times(&ones_5);
        let ones_20 = ones_10.squared_times(10).times(&ones_10);
        let ones_40 = ones_20.squared_times(20).times(&ones_20);
        let ones_50 = ones_40.squared_times(10).times(&ones_10);
        let ones_100 = ones_50.squared_times(50).times(&ones_50);
        let ones_200 = ones_100.squared_times(100).times(&ones_100);
        (ones_200.squared_times(50).times(&ones_50), eleventh)
    }

    /// The inverse, or zero of zero.
    #[target_feature(enable = "avx512ifma")]
    pub fn inverse(&self) -> Self {
        let (ones, eleventh) = self.long_powers();
        ones.squared_times(5).times(&eleventh)
    }

    /// 1 over the root of the number, not negative: of a number that is a square.
    #[target_feature(enable = "avx512ifma")]
    pub fn inverse_root(&self) -> Self {
        let third = self.squared().times(self);
        let seventh = third.squared().times(self);
        let (ones, _) = seventh.long_powers();
        let found = ones.squared_times(2).times(&seventh).times(&third);
        // What was found is off by a fourth root of 1, and its square by 1 or -1.
        let turned = found.times(&Self::repeated(&ROOT));
        let check = self.times(&found.squared());
        let right = check.minus(&Self::one()).is_zero();
        turned.or(&found, right).absolute()
    }

    /// The numbers below the prime.
    #[target_feature(enable = "avx512ifma")]
    fn reduced(&self) -> [__m512i; LIMBS] {
        let mut limbs = self.0;
        for _ in 0..2 {
            ripple(&mut limbs);
            let above = nineteenfold(_mm512_srli_epi64::<BITS>(limbs[LIMBS - 1]));
            limbs[LIMBS - 1] = _mm512_and_si512(limbs[LIMBS - 1], all(MASK));
            limbs[0] = _mm512_add_epi64(limbs[0], above);
        }
        ripple(&mut limbs);
        // 1 if the number and 19 reach 2^255.
        let mut reaches = all(19);
        for limb in limbs {
            reaches = _mm512_srli_epi64::<BITS>(_mm512_add_epi64(limb, reaches));
        }
        limbs[0] = _mm512_add_epi64(limbs[0], nineteenfold(reaches));
        ripple(&mut limbs);
        limbs[LIMBS - 1] = _mm512_and_si512(limbs[LIMBS - 1], all(MASK));
        limbs
    }

    /// Which of them are zero.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn is_zero(&self) -> __mmask8 {
        let [a, b, c, d, e] = self.reduced();
        let ab = _mm512_or_si512(a, b);
        let seen = _mm512_or_si512(_mm512_or_si512(ab, c), _mm512_or_si512(d, e));
        _mm512_cmpeq_epi64_mask(seen, _mm512_setzero_si512())
    }

    /// Which of them are odd.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn is_negative(&self) -> __mmask8 {
        _mm512_test_epi64_mask(self.reduced()[0], all(1))
    }

    /// Those that are odd are negated.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn absolute(&self) -> Self {
        self.or(&self.negative(), self.is_negative())
    }

    /// The other number where the mask has a 1.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn or(&self, other: &Self, mask: __mmask8) -> Self {
        let mut limbs = self.0;
        for (limb, other) in limbs.iter_mut().zip(other.0) {
            *limb = _mm512_mask_blend_epi64(mask, *limb, other);
        }
        Self(limbs)
    }

    /// From encodings: numbers below 2^255.
    #[target_feature(enable = "avx512ifma")]
    pub fn from_bytes(encodings: &[[u8; 32]; LANES]) -> Self {
        let mut limbs: Stored = [[0; LANES]; LIMBS];
        for (lane, bytes) in encodings.iter().enumerate() {
            let (words, _) = bytes.as_chunks::<8>();
            let word = |i: usize| u64::from_le_bytes(words[i]);
            let (a, b, c, d) = (word(0), word(1), word(2), word(3));
            let cut = [a, a >> 51 | b << 13, b >> 38 | c << 26, c >> 25 | d << 39, d >> 12];
            for (slot, limb) in limbs.iter_mut().zip(cut) {
                slot[lane] = limb & MASK;
            }
        }
        Self::load(&limbs)
    }

    /// The encodings.
    #[target_feature(enable = "avx512ifma")]
    pub fn to_bytes(self) -> [[u8; 32]; LANES] {
        let mut limbs: Stored = [[0; LANES]; LIMBS];
        Self(self.reduced()).store(&mut limbs);
        let mut encodings = [[0; 32]; LANES];
        for (lane, bytes) in encodings.iter_mut().enumerate() {
            let [a, b, c, d, e] = limbs.map(|limb| limb[lane]);
            let words = [a | b << 51, b >> 13 | c << 38, c >> 26 | d << 25, d >> 39 | e << 12];
            for (slot, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *slot = word.to_le_bytes();
            }
        }
        encodings
    }
}

/// Carries from limb to limb, but not out of the last one.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn ripple(limbs: &mut [__m512i; LIMBS]) {
    for i in 0..LIMBS - 1 {
        limbs[i + 1] = _mm512_add_epi64(limbs[i + 1], _mm512_srli_epi64::<BITS>(limbs[i]));
        limbs[i] = _mm512_and_si512(limbs[i], all(MASK));
    }
}

/// The sum, the difference, their product, the product, the square, the inverse of the first
/// number, and which numbers are zero or odd.
#[cfg(test)]
#[target_feature(enable = "avx512ifma")]
pub fn all_of(left: &[[u8; 32]; LANES], right: &[[u8; 32]; LANES]) -> [[[u8; 32]; LANES]; 7] {
    let (a, b) = (Field::from_bytes(left), Field::from_bytes(right));
    let (sum, difference) = (a.plus(&b), a.minus(&b));
    let (zero, odd) = (a.is_zero(), a.is_negative());
    let mut seen = [[0; 32]; LANES];
    for (lane, slot) in seen.iter_mut().enumerate() {
        (slot[0], slot[1]) = (zero >> lane & 1, odd >> lane & 1);
    }
    let made = [sum, difference, sum.times(&difference), a.times(&b), a.squared(), a.inverse()];
    let [c, d, e, f, g, h] = made.map(|each| each.to_bytes());
    [c, d, e, f, g, h, seen]
}
