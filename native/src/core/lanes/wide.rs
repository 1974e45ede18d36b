//! Sums of products that are reduced once.

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::eight::{BITS, Eight, LIMBS, MASK, ORDER_LIMBS, all, carried};

/// How many products may be added to a sum before it is reduced.
pub const MOST: usize = 256;
/// -1 / q mod 2^52.
const FACTOR: u64 = crate::core::residues::FACTOR & MASK;

/// Eight sums of at most `MOST` products of numbers below twice the order, not carried: each of
/// the products adds less than 10 times 2^52 to a limb.
#[derive(Clone, Copy)]
pub struct Wide([__m512i; 2 * LIMBS]);

impl Zeroize for Wide {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl Wide {
    /// No product.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn zero() -> Self {
        Self([_mm512_setzero_si512(); 2 * LIMBS])
    }

    /// Add the products.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn add(&mut self, left: &Eight, right: &Eight) {
        let sum = &mut self.0;
        for i in 0..LIMBS {
            for j in 0..LIMBS {
                sum[i + j] = _mm512_madd52lo_epu64(sum[i + j], left.0[i], right.0[j]);
                sum[i + j + 1] = _mm512_madd52hi_epu64(sum[i + j + 1], left.0[i], right.0[j]);
            }
        }
    }

    /// Add the numbers times words: their lowest 52 bits, and those above.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn add_words(&mut self, left: &Eight, words: __m512i) {
        let sum = &mut self.0;
        let above = _mm512_srli_epi64::<BITS>(words);
        for i in 0..LIMBS {
            sum[i] = _mm512_madd52lo_epu64(sum[i], left.0[i], words);
            sum[i + 1] = _mm512_madd52hi_epu64(sum[i + 1], left.0[i], words);
            sum[i + 1] = _mm512_madd52lo_epu64(sum[i + 1], left.0[i], above);
            sum[i + 2] = _mm512_madd52hi_epu64(sum[i + 2], left.0[i], above);
        }
    }

    /// The sums over 2^260 mod the order, below that plus the sum over 2^260.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn reduced(&self) -> Eight {
        let (mut sum, none) = (self.0, _mm512_setzero_si512());
        let order = ORDER_LIMBS;
        for i in 0..LIMBS {
            let factor = _mm512_madd52lo_epu64(none, sum[i], all(FACTOR));
            sum[i] = _mm512_madd52lo_epu64(sum[i], factor, all(order[0]));
            sum[i + 1] = _mm512_madd52hi_epu64(sum[i + 1], factor, all(order[0]));
            // The fourth limb of the order is zero.
            for j in [1, 2, 4] {
                sum[i + j] = _mm512_madd52lo_epu64(sum[i + j], factor, all(order[j]));
                sum[i + j + 1] = _mm512_madd52hi_epu64(sum[i + j + 1], factor, all(order[j]));
            }
            sum[i + 1] = _mm512_add_epi64(sum[i + 1], _mm512_srli_epi64::<BITS>(sum[i]));
        }
        let [_, _, _, _, _, mut a, mut b, c, d, e] = sum;
        // Limbs may have 64 bits, which `carried` would take for a sign.
        b = _mm512_add_epi64(b, _mm512_srli_epi64::<BITS>(a));
        a = _mm512_and_si512(a, all(MASK));
        let c = _mm512_add_epi64(c, _mm512_srli_epi64::<BITS>(b));
        b = _mm512_and_si512(b, all(MASK));
        let d = _mm512_add_epi64(d, _mm512_srli_epi64::<BITS>(c));
        let c = _mm512_and_si512(c, all(MASK));
        Eight(carried([a, b, c, d, e]))
    }
}
