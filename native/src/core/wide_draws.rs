//! Draws from wide tables out of a stream.

use curve25519_dalek::Scalar;
use zeroize::Zeroizing;

use super::scalars::from_i64;
use super::stream::{Stream, Word};
use super::wide::{DRAW_BYTES, WideTable};
use super::workers::Workers;

/// Draws made at a time: 4096 stream bytes keep the vector units busy.
const BATCH: usize = 256;
/// Draws searched for side by side.
const LANES: usize = 16;

impl Stream {
    /// n draws, by search.
    pub fn wide_draws(
        &self,
        workers: &Workers,
        start: u64,
        table: &WideTable,
        n: usize,
    ) -> Zeroizing<Vec<i64>> {
        let mut out = Zeroizing::new(vec![0; n]);
        workers.fill(&mut out, |first, piece| {
            let find = |draws: &[u128; LANES]| table.searched(draws);
            self.draw(start, first, piece, find, |slot, value| *slot = value);
        });
        out
    }

    /// n draws as scalars, by looking at every row for each of them.
    pub fn wide_scalars(
        &self,
        workers: &Workers,
        start: u64,
        table: &WideTable,
        n: usize,
    ) -> Vec<Scalar> {
        let mut out = vec![Scalar::ZERO; n];
        workers.fill(&mut out, |first, piece| {
            let find = |draws: &[u128; 1]| [table.scanned(draws[0])];
            self.draw(start, first, piece, find, |slot, value| *slot = from_i64(value));
        });
        out
    }

    /// Add or subtract one draw per word, wrapping; by search.
    pub fn add_wide_draws_to<W: Word>(
        &self,
        workers: &Workers,
        start: u64,
        table: &WideTable,
        words: &mut [W],
        subtract: bool,
    ) {
        let flip = -i64::from(subtract);
        workers.fill(words, |first, piece| {
            let find = |draws: &[u128; LANES]| table.searched(draws);
            self.draw(start, first, piece, find, |word, value| word.add((value ^ flip) - flip));
        });
    }

    /// Hand the values of draws `first`, `first` + 1, .. to the slots, in order.
    fn draw<T, const N: usize>(
        &self,
        start: u64,
        first: usize,
        slots: &mut [T],
        find: impl Fn(&[u128; N]) -> [i64; N],
        put: impl Fn(&mut T, i64),
    ) {
        let mut position = start + (first * DRAW_BYTES) as u64;
        let mut bytes = Zeroizing::new([0u8; BATCH * DRAW_BYTES]);
        let mut wide = Zeroizing::new([0u128; N]);
        let mut values = Zeroizing::new([0i64; N]);
        for batch in slots.chunks_mut(BATCH) {
            let used = &mut bytes[..batch.len() * DRAW_BYTES];
            self.read(position, used);
            position += used.len() as u64;
            let (draws, _) = used.as_chunks::<DRAW_BYTES>();
            for (slots, draws) in batch.chunks_mut(N).zip(draws.chunks(N)) {
                // Behind the last draw the lanes hold old ones, whose values nobody takes.
                for (wide, draw) in wide.iter_mut().zip(draws) {
                    *wide = u128::from_le_bytes(*draw);
                }
                *values = find(&wide);
                slots.iter_mut().zip(&*values).for_each(|(slot, &value)| put(slot, value));
            }
        }
    }
}
