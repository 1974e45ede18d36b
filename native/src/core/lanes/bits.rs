//! What `tables` computes with strings of bits: sums of up to 8 values for each byte of a string,
//! eight words at a time.

use core::arch::x86_64::_mm512_add_epi64;

use zeroize::Zeroizing;

use super::eight::MASK;
use super::fence::{LANES, load, store};
use crate::core::residues::{Residue, WordSum};
use crate::core::tables::{BitRows, GROUP};

type Words = [u64; LANES];
/// The sums of up to 8 values, by the bits of an index.
type Sums = [Words; 1 << GROUP];

/// Sums of 8 residues that fit in 64 bits of a limb of 52.
const MOST: usize = 256;

#[target_feature(enable = "avx512ifma")]
#[inline]
fn add(sum: &mut Words, words: &Words) {
    store(sum, _mm512_add_epi64(load(sum), load(words)));
}

#[target_feature(enable = "avx512ifma")]
#[inline]
fn add_subsets(sums: &mut Sums, values: &[Words]) {
    for (i, value) in values.iter().enumerate() {
        let (old, new) = sums.split_at_mut(1 << i);
        for (slot, low) in new.iter_mut().zip(old) {
            *slot = *low;
            add(slot, value);
        }
    }
}

/// The limbs of up to 8 residues.
fn limbs(residues: &[Residue]) -> Zeroizing<[Words; GROUP]> {
    let mut found = Zeroizing::new([[0; LANES]; GROUP]);
    for (slot, residue) in found.iter_mut().zip(residues) {
        slot[..5].copy_from_slice(&residue.narrow_limbs());
    }
    found
}

/// What limbs have above 52 bits is carried. A sixth limb has what more than 2^20 residues reach.
fn carry(totals: &mut [Words]) {
    for total in totals {
        for i in 0..5 {
            total[i + 1] += total[i] >> 52;
            total[i] &= MASK;
        }
    }
}

fn write(out: &mut [Residue], totals: &[Words]) {
    for (slot, [a, b, c, d, e, f, ..]) in out.iter_mut().zip(totals) {
        *slot = WordSum::of_limbs(&[*a, *b, *c, *d, *e, *f]).residue();
    }
}

#[target_feature(enable = "avx512ifma")]
pub fn bit_inners(out: &mut [Residue], table: &[Residue], bits: BitRows<'_>, start: usize) {
    let mut totals = Zeroizing::new(vec![[0; LANES]; out.len()]);
    let mut sums = Zeroizing::new([[0; LANES]; 1 << GROUP]);
    for (group, values) in table.chunks(GROUP).enumerate() {
        add_subsets(&mut sums, &limbs(values)[..values.len()]);
        for (k, total) in (start..).zip(totals.iter_mut()) {
            add(total, &sums[bits.group(k, group)]);
        }
        if (group + 1).is_multiple_of(MOST) {
            carry(&mut totals);
        }
    }
    write(out, &totals);
}

#[target_feature(enable = "avx512ifma")]
pub fn combine_bits(out: &mut [Residue], weights: &[Residue], bits: BitRows<'_>, start: usize) {
    let mut totals = Zeroizing::new(vec![[0; LANES]; out.len()]);
    let mut sums = Zeroizing::new([[0; LANES]; 1 << GROUP]);
    for (group, values) in weights.chunks(GROUP).enumerate() {
        add_subsets(&mut sums, &limbs(values)[..values.len()]);
        let first = GROUP * group;
        let mut block = [0; GROUP];
        for (j, total) in (start..).zip(totals.iter_mut()) {
            if j == start || j.is_multiple_of(8) {
                block = bits.across(first, values.len(), j / 8);
            }
            add(total, &sums[usize::from(block[j % 8])]);
        }
        if (group + 1).is_multiple_of(MOST) {
            carry(&mut totals);
        }
    }
    write(out, &totals);
}

#[target_feature(enable = "avx512ifma")]
pub fn row_bit_sums(out: &mut [&mut [i64]], rows: &[i64], bits: BitRows<'_>) {
    let (len, mut sums) = (bits.len(), Zeroizing::new([[0; LANES]; 1 << GROUP]));
    let mut totals = Zeroizing::new(vec![[0; LANES]; bits.count()]);
    for (slots, rows) in out.chunks_mut(LANES).zip(rows.chunks(LANES * len)) {
        totals.fill([0; LANES]);
        for group in 0..len.div_ceil(GROUP) {
            let mut values = Zeroizing::new([[0; LANES]; GROUP]);
            let columns = GROUP * group..len.min(GROUP * (group + 1));
            for (lane, row) in rows.chunks_exact(len).enumerate() {
                for (slot, value) in values.iter_mut().zip(&row[columns.clone()]) {
                    slot[lane] = value.cast_unsigned();
                }
            }
            add_subsets(&mut sums, &values[..columns.len()]);
            for (k, total) in totals.iter_mut().enumerate() {
                add(total, &sums[bits.group(k, group)]);
            }
        }
        for (lane, slots) in slots.iter_mut().enumerate() {
            for (slot, total) in slots.iter_mut().zip(totals.iter()) {
                *slot = total[lane].cast_signed();
            }
        }
    }
}
