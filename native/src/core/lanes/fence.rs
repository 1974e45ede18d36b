//! All unsafe code of the core: whether the CPU has the instructions, and what reads and writes
//! memory eight words at a time. The rest of `lanes` is safe code.
#![allow(unsafe_code)]

use std::env;
#[cfg(target_arch = "x86_64")]
use std::ptr;
use std::sync::OnceLock;

use zeroize::Zeroizing;

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{
    __m512i, _mm256_loadu_si256, _mm512_castsi256_si512, _mm512_inserti64x4, _mm512_loadu_epi64,
    _mm512_storeu_epi64,
};

use crate::core::bounded_msm::Digit;
use crate::core::residues::Residue;
use crate::core::tables::BitRows;

/// How many numbers lie side by side.
pub const LANES: usize = 8;
/// "0" leaves the instructions unused.
const VARIABLE: &str = "GOPA_LANES";

/// Says that this CPU has the instructions: there is no other way to have one than to find out.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub struct Lanes(());

/// Never exists: other machines do not have the instructions.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug)]
pub struct Lanes(std::convert::Infallible);

impl Lanes {
    /// Whether this CPU has the instructions, and the environment lets them be used.
    pub fn here() -> Option<Self> {
        static WANTED: OnceLock<bool> = OnceLock::new();
        if !*WANTED.get_or_init(|| env::var_os(VARIABLE).is_none_or(|value| value != "0")) {
            return None;
        }
        // Compilers take the first for implied by the second; a virtual machine may hide it alone.
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512ifma")
        {
            return Some(Self(()));
        }
        None
    }
}

/// What tables run on, in a word.
pub fn status() -> &'static str {
    if Lanes::here().is_some() { "avx512ifma" } else { "portable" }
}

#[cfg(target_arch = "x86_64")]
macro_rules! enter {
    ($lanes:expr, $call:expr) => {{
        let Lanes(()) = $lanes;
        // SAFETY: the function asks for no more than the instructions, and these lanes exist only
        // where `here` has found them.
        unsafe { $call }
    }};
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! enter {
    ($lanes:expr, $call:expr) => {
        match $lanes.0 {}
    };
}

/// Functions of other files that need the instructions, as methods that anybody may call.
macro_rules! entries {
    ($($(#[$doc:meta])* $file:ident::$name:ident($($argument:ident: $type:ty),*) -> $out:ty;)*) => {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
        impl Lanes {
            $($(#[$doc])*
            pub fn $name(self, $($argument: $type),*) -> $out {
                enter!(self, super::$file::$name($($argument),*))
            })*
        }
    };
}

entries! {
    /// As in `tables`, of lines from the entries of `low` to those of `high` or to zeros.
    tables::fold(out: &mut [Residue], low: &[Residue], high: &[Residue], by: &Residue) -> ();
    /// The sums of products of lows, and of steps.
    tables::pair_sums(left: Halves<'_>, right: Halves<'_>) -> [Residue; 2];
    /// For each k the sum of low^(e-k) step^k, where e is from 2 to 8.
    tables::power_sums(line: Halves<'_>, exponent: usize) -> [Residue; 9];
    /// The inner product of two tables of one length.
    tables::inner(left: &[Residue], right: &[Residue]) -> Residue;
    /// The inner product of a table and words, as many.
    tables::inner_words(table: &[Residue], words: &[u64]) -> Residue;
    /// Each entry times that of the other table, which is as long.
    tables::times(out: &mut [Residue], left: &[Residue], right: &[Residue]) -> ();
    /// Each entry times a factor.
    tables::scaled(out: &mut [Residue], table: &[Residue], factor: &Residue) -> ();
    /// Sums of entries times factors are added; tables may be shorter.
    tables::combine(out: &mut [Residue], factors: &[Residue], tables: &[&[Residue]]) -> ();
    /// The sum of rows of integers times weights; of every row the columns from `start` on.
    tables::combine_rows(
        out: &mut [Residue], rows: &[i64], width: usize, start: usize, weights: &[Residue]
    ) -> ();
    /// For tables of one length the inner products with one that has products of factors as entries.
    tables::inners_of_products(
        tables: &[&[Residue]], factors: [&[Residue]; 2], fill: Fill<'_>
    ) -> Vec<Residue>;
    /// Signed integers as residues.
    tables::from_integers(out: &mut [Residue], values: &[i64]) -> ();
    /// As in `tables`, for the strings from `start` on.
    bits::bit_inners(out: &mut [Residue], table: &[Residue], bits: BitRows<'_>, start: usize) -> ();
    /// As in `tables`, for the bits from `start` on.
    bits::combine_bits(out: &mut [Residue], weights: &[Residue], bits: BitRows<'_>, start: usize) -> ();
    /// As in `tables`, for rows of integers; the sums of each row in a slice of its own.
    bits::row_bit_sums(out: &mut [&mut [i64]], rows: &[i64], bits: BitRows<'_>) -> ();
    /// The encodings of sums of multiples of points, given by their encodings, one for each row.
    bounded::row_sums(
        encodings: &[[u8; 32]], words: &[u64], rows: usize, digits: &[Digit]
    ) -> Zeroizing<Vec<[u8; 32]>>;
}

#[cfg(all(test, target_arch = "x86_64"))]
entries! {
    /// What the operations of `field` make of two numbers.
    field::all_of(left: &[[u8; 32]; LANES], right: &[[u8; 32]; LANES]) -> [[[u8; 32]; LANES]; 7];
}

/// The entries of a table where the first bit is 0, and those where it is 1; zeros are left out.
pub type Halves<'a> = (&'a [Residue], &'a [Residue]);

/// Writes where the factors of the entries from an index on stand, in a first table and a second.
pub type Fill<'a> = &'a dyn Fn(usize, &mut [[usize; 2]; LANES]);

/// Eight words, in this order.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512ifma")]
#[inline]
pub fn load(words: &[u64; LANES]) -> __m512i {
    // SAFETY: 64 bytes are read, which the array has; they need no alignment.
    unsafe { _mm512_loadu_epi64(words.as_ptr().cast()) }
}

/// Write eight words, in this order.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512ifma")]
#[inline]
pub fn store(words: &mut [u64; LANES], value: __m512i) {
    // SAFETY: 64 bytes are written, which the array has; they need no alignment.
    unsafe { _mm512_storeu_epi64(words.as_mut_ptr().cast(), value) }
}

/// The limbs of two residues, one behind the other.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512ifma")]
#[inline]
pub fn load_pair(first: &Residue, second: &Residue) -> __m512i {
    // SAFETY: 32 bytes are read of each residue, which is laid out as its four words are.
    let (low, high) = unsafe {
        let (first, second) = (ptr::from_ref(first), ptr::from_ref(second));
        (_mm256_loadu_si256(first.cast()), _mm256_loadu_si256(second.cast()))
    };
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}

/// The limbs of eight residues, eight words at a time.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn limbs(residues: &[Residue; LANES]) -> &[[u64; LANES]; 4] {
    // SAFETY: a residue is laid out as its four words are: both are 32 words, aligned as words.
    unsafe { &*ptr::from_ref(residues).cast() }
}

/// The same, to be written.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn limbs_mut(residues: &mut [Residue; LANES]) -> &mut [[u64; LANES]; 4] {
    // SAFETY: as above, and any words are limbs.
    unsafe { &mut *ptr::from_mut(residues).cast() }
}
