//! Eight residues mod the group order at once, in five limbs of 52 bits.
//!
//! Products are Montgomery products over 2^260, not over 2^256 as those of `Residue`: what they
//! give is a sixteenth of that.

use core::arch::x86_64::*;

use zeroize::Zeroizing;

use super::fence::{LANES, limbs, limbs_mut, load, load_pair, store};
use super::wide::Wide;
use crate::core::residues::{ORDER, Residue, narrow};

/// Limbs of a residue.
pub const LIMBS: usize = 5;
/// Bits of a limb.
pub const BITS: u32 = 52;
/// All bits of a limb.
pub const MASK: u64 = (1 << BITS) - 1;
/// The order in limbs.
pub const ORDER_LIMBS: [u64; LIMBS] = narrow(ORDER);

/// Eight residues, each as a number below 2^260 that is congruent to it; limbs are below 2^52.
#[derive(Clone, Copy)]
pub struct Eight(pub [__m512i; LIMBS]);

/// One word in all lanes.
#[target_feature(enable = "avx512ifma")]
#[inline]
pub fn all(word: u64) -> __m512i {
    _mm512_set1_epi64(word.cast_signed())
}

/// What is above the lowest 52 bits is carried into the next limb, as signed numbers.
#[target_feature(enable = "avx512ifma")]
#[inline]
pub fn carried(mut limbs: [__m512i; LIMBS]) -> [__m512i; LIMBS] {
    for i in 0..LIMBS - 1 {
        limbs[i + 1] = _mm512_add_epi64(limbs[i + 1], _mm512_srai_epi64::<BITS>(limbs[i]));
        limbs[i] = _mm512_and_si512(limbs[i], all(MASK));
    }
    limbs
}

impl Eight {
    /// These residues.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn load(residues: &[Residue; LANES]) -> Self {
        Self::cut::<0, 52, 12, 40, 24, 28, 36, 16>(words(limbs(residues)))
    }

    /// The residues at these places.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn gathered(table: &[Residue], places: &[usize; LANES]) -> Self {
        let [a, b, c, d, e, f, g, h] = places.map(|place| &table[place]);
        let rows = [load_pair(a, b), load_pair(c, d), load_pair(e, f), load_pair(g, h)];
        Self::cut::<0, 52, 12, 40, 24, 28, 36, 16>(words_of_rows(rows))
    }

    /// Sixteen times each of these residues, which a product makes the residue again.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn load_sixteenfold(residues: &[Residue; LANES]) -> Self {
        Self::cut::<4, 48, 16, 36, 28, 24, 40, 12>(words(limbs(residues)))
    }

    /// The same residue in all lanes.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn repeated(residue: &Residue) -> Self {
        let limbs = residue.narrow_limbs();
        Self([all(limbs[0]), all(limbs[1]), all(limbs[2]), all(limbs[3]), all(limbs[4])])
    }

    /// Words as limbs, shifted to the left by the first number; the others are where words are cut.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    fn cut<
        const UP: u32,
        const A: u32,
        const B: u32,
        const C: u32,
        const D: u32,
        const E: u32,
        const F: u32,
        const G: u32,
    >(
        [a, b, c, d]: [__m512i; 4],
    ) -> Self {
        let mask = all(MASK);
        let first = _mm512_slli_epi64::<UP>(a);
        let second = _mm512_or_si512(_mm512_srli_epi64::<A>(a), _mm512_slli_epi64::<B>(b));
        let third = _mm512_or_si512(_mm512_srli_epi64::<C>(b), _mm512_slli_epi64::<D>(c));
        let fourth = _mm512_or_si512(_mm512_srli_epi64::<E>(c), _mm512_slli_epi64::<F>(d));
        Self([
            _mm512_and_si512(first, mask),
            _mm512_and_si512(second, mask),
            _mm512_and_si512(third, mask),
            _mm512_and_si512(fourth, mask),
            _mm512_srli_epi64::<G>(d),
        ])
    }

    /// Write residues, which are below the order.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn store(self, residues: &mut [Residue; LANES]) {
        let [a, b, c, d, e] = self.0;
        let words = [
            _mm512_or_si512(a, _mm512_slli_epi64::<52>(b)),
            _mm512_or_si512(_mm512_srli_epi64::<12>(b), _mm512_slli_epi64::<40>(c)),
            _mm512_or_si512(_mm512_srli_epi64::<24>(c), _mm512_slli_epi64::<28>(d)),
            _mm512_or_si512(_mm512_srli_epi64::<36>(d), _mm512_slli_epi64::<16>(e)),
        ];
        write_words(limbs_mut(residues), words);
    }

    /// The difference and the order: below twice the order, for residues below the order.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn minus(&self, other: &Self) -> Self {
        let mut limbs = self.0;
        for i in 0..LIMBS {
            let raised = _mm512_add_epi64(limbs[i], all(ORDER_LIMBS[i]));
            limbs[i] = _mm512_sub_epi64(raised, other.0[i]);
        }
        Self(carried(limbs))
    }

    /// The sum, as a number.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn plus(&self, other: &Self) -> Self {
        let mut limbs = self.0;
        for (limb, more) in limbs.iter_mut().zip(other.0) {
            *limb = _mm512_add_epi64(*limb, more);
        }
        Self(carried(limbs))
    }

    /// The product over 2^260 of numbers whose product is below 2^6 q^2: below 5/4 q.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn times(&self, other: &Self) -> Self {
        let mut wide = Wide::zero();
        wide.add(self, other);
        wide.reduced()
    }

    /// The number, less `2^LOG` times the order unless it is below that.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    fn less<const LOG: u32>(&self) -> Self {
        let mut reduced = self.0;
        for i in 0..LIMBS {
            reduced[i] = _mm512_sub_epi64(reduced[i], all(ORDER_LIMBS[i] << LOG));
        }
        let reduced = carried(reduced);
        let below = _mm512_cmplt_epi64_mask(reduced[LIMBS - 1], _mm512_setzero_si512());
        let mut limbs = self.0;
        for i in 0..LIMBS {
            limbs[i] = _mm512_mask_blend_epi64(below, reduced[i], limbs[i]);
        }
        Self(limbs)
    }

    /// Below the order, for a number below twice that.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn below_order(&self) -> Self {
        self.less::<0>()
    }

    /// Below the order, for a number below four times that.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn below_order_from_four(&self) -> Self {
        self.less::<1>().less::<0>()
    }

    /// The sum of all eight, which are below eight times the order.
    #[target_feature(enable = "avx512ifma")]
    pub fn total(&self) -> Residue {
        let mut residues = Zeroizing::new([Residue::ZERO; LANES]);
        self.less::<2>().less::<1>().less::<0>().store(&mut residues);
        residues.iter().fold(Residue::ZERO, |sum, residue| sum.plus(residue))
    }
}

/// Word k of each of eight numbers of four words, for every k.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn words(rows: &[[u64; LANES]; 4]) -> [__m512i; 4] {
    words_of_rows([load(&rows[0]), load(&rows[1]), load(&rows[2]), load(&rows[3])])
}

/// The same, of registers that have two numbers each.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn words_of_rows([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let [first, second] = pairs();
    let low = _mm512_permutex2var_epi64(a, first, b);
    let high = _mm512_permutex2var_epi64(c, first, d);
    let low_above = _mm512_permutex2var_epi64(a, second, b);
    let high_above = _mm512_permutex2var_epi64(c, second, d);
    [
        _mm512_shuffle_i64x2::<0x44>(low, high),
        _mm512_shuffle_i64x2::<0xee>(low, high),
        _mm512_shuffle_i64x2::<0x44>(low_above, high_above),
        _mm512_shuffle_i64x2::<0xee>(low_above, high_above),
    ]
}

/// The way back.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn write_words(rows: &mut [[u64; LANES]; 4], [a, b, c, d]: [__m512i; 4]) {
    let [first, second] = pairs();
    let low = _mm512_shuffle_i64x2::<0x44>(a, b);
    let high = _mm512_shuffle_i64x2::<0xee>(a, b);
    let low_above = _mm512_shuffle_i64x2::<0x44>(c, d);
    let high_above = _mm512_shuffle_i64x2::<0xee>(c, d);
    store(&mut rows[0], _mm512_permutex2var_epi64(low, first, low_above));
    store(&mut rows[1], _mm512_permutex2var_epi64(low, second, low_above));
    store(&mut rows[2], _mm512_permutex2var_epi64(high, first, high_above));
    store(&mut rows[3], _mm512_permutex2var_epi64(high, second, high_above));
}

/// Which words of two registers of four words each are those of pairs of numbers.
#[target_feature(enable = "avx512ifma")]
#[inline]
fn pairs() -> [__m512i; 2] {
    [_mm512_setr_epi64(0, 4, 8, 12, 1, 5, 9, 13), _mm512_setr_epi64(2, 6, 10, 14, 3, 7, 11, 15)]
}
