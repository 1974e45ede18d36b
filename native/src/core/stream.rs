//! A deterministic stream of secret bytes, and integers drawn from it.

use std::sync::atomic::{AtomicU64, Ordering};

use chacha20::cipher::{Block, StreamCipherCore};
use chacha20::variants::Ietf;
use chacha20::{ChaChaCore, Key, KeyIvInit, Nonce, R20};
use curve25519_dalek::Scalar;
use zeroize::Zeroizing;

use super::fault::Fault;
use super::workers::Workers;

type Cipher = ChaChaCore<R20, Ietf>;

const BLOCK: u64 = 64;
/// 2^32 blocks: the block counter has 32 bits and must not come round.
const LIMIT: u64 = BLOCK << 32;
/// Bytes of key stream made at a time: enough to keep the vector units busy.
const STRIDE: usize = 4096;
/// Bytes of a draw for a permutation.
const DRAW: usize = 4;

/// ChaCha20 (RFC 8439) with byte-granular continuation.
///
/// Calls claim consecutive ranges and then expand them independently, so threads
/// may share one stream, and one call may use several threads.
pub struct Stream {
    seed: Zeroizing<[u8; 32]>,
    domain: [u8; 12],
    claimed: AtomicU64,
}

impl Stream {
    /// The stream of this key and nonce, from block 0.
    pub fn new(seed: &[u8; 32], domain: &[u8; 12]) -> Self {
        Self { seed: Zeroizing::new(*seed), domain: *domain, claimed: AtomicU64::new(0) }
    }

    /// Claim the next `count * size` bytes and return where they start.
    pub fn claim(&self, count: usize, size: usize) -> Result<u64, Fault> {
        let end = |start: u64| {
            let length = u64::try_from(count.checked_mul(size)?).ok()?;
            start.checked_add(length).filter(|&end| end <= LIMIT)
        };
        self.claimed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end).map_err(|start| {
            let left = LIMIT - start;
            Fault::usage(format!("the stream has {left} bytes left: use another domain"))
        })
    }

    /// The bytes of a claimed range.
    pub fn read(&self, start: u64, mut out: &mut [u8]) {
        let (key, nonce): (&Key, &Nonce) = ((&*self.seed).into(), (&self.domain).into());
        let mut cipher = Cipher::new(key, nonce);
        // Below 2^32 for every claimed position.
        cipher.set_block_pos((start / BLOCK) as u32);
        let skip = (start % BLOCK) as usize;
        if skip > 0 {
            out = copy_block(&mut cipher, skip, out);
        }
        let (blocks, mut tail) = Block::<Cipher>::slice_as_chunks_mut(out);
        cipher.write_keystream_blocks(blocks);
        if !tail.is_empty() {
            tail = copy_block(&mut cipher, 0, tail);
        }
        debug_assert!(tail.is_empty());
    }

    /// n uniform scalars from 64 bytes each.
    pub fn scalars(&self, workers: &Workers, start: u64, n: usize) -> Vec<Scalar> {
        self.expand(workers, start, n, 64, Scalar::ZERO, |bytes| {
            let mut wide = Zeroizing::new([0u8; 64]);
            wide.copy_from_slice(bytes);
            Scalar::from_bytes_mod_order_wide(&wide)
        })
    }

    /// n uniform integers of `width` (1..=64) bits from ceil(width / 8) bytes each.
    pub fn bits(&self, workers: &Workers, start: u64, width: u32, n: usize) -> Zeroizing<Vec<u64>> {
        let mask = u64::MAX >> (64 - width);
        Zeroizing::new(self.expand(workers, start, n, bit_bytes(width), 0, |bytes| {
            let word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            word & mask
        }))
    }

    /// A uniform permutation of n places, by exchanges from the last place on; each draw takes 4
    /// bytes, and is drawn again where it would favour small places. It is public: this takes a time
    /// that depends on it.
    pub fn permutation(&self, n: usize) -> Result<Vec<u32>, Fault> {
        let too_many = || Fault::usage("a permutation has at most 2^31 places");
        let count = u32::try_from(n).ok().filter(|&n| n <= 1 << 31).ok_or_else(too_many)?;
        let mut places: Vec<u32> = (0..count).collect();
        let mut bytes = [0; STRIDE];
        let mut left: &[[u8; DRAW]] = &[];
        for last in (1..count).rev() {
            let range = last + 1;
            let chosen = loop {
                let Some((draw, rest)) = left.split_first() else {
                    // As many as will be needed for sure: what follows begins behind them.
                    let size = DRAW * (last as usize).min(STRIDE / DRAW);
                    let start = self.claim(size, 1)?;
                    self.read(start, &mut bytes[..size]);
                    (left, _) = bytes[..size].as_chunks();
                    continue;
                };
                left = rest;
                let draw = u32::from_le_bytes(*draw);
                if is_unbiased(draw, range) {
                    break draw % range;
                }
            };
            places.swap(last as usize, chosen as usize);
        }
        Ok(places)
    }

    /// Add or subtract one uniform word per element, wrapping.
    pub fn add_to<W: Word>(&self, workers: &Workers, start: u64, words: &mut [W], subtract: bool) {
        workers.fill(words, |first, piece| {
            let mut position = start + (first * W::SIZE) as u64;
            let mut bytes = Zeroizing::new([0u8; STRIDE]);
            for chunk in piece.chunks_mut(STRIDE / W::SIZE) {
                let used = &mut bytes[..chunk.len() * W::SIZE];
                self.read(position, used);
                position += used.len() as u64;
                W::add_bytes(chunk, used, subtract);
            }
        });
    }

    /// n values made of `size` stream bytes each.
    fn expand<T: Copy + Send>(
        &self,
        workers: &Workers,
        start: u64,
        n: usize,
        size: usize,
        blank: T,
        value: impl Fn(&[u8]) -> T + Sync,
    ) -> Vec<T> {
        let mut out = vec![blank; n];
        workers.fill(&mut out, |first, piece| {
            let mut position = start + (first * size) as u64;
            let mut bytes = Zeroizing::new([0u8; STRIDE]);
            for chunk in piece.chunks_mut(STRIDE / size) {
                let used = &mut bytes[..chunk.len() * size];
                self.read(position, used);
                position += used.len() as u64;
                for (slot, bytes) in chunk.iter_mut().zip(used.chunks_exact(size)) {
                    *slot = value(bytes);
                }
            }
        });
        out
    }
}

/// Stream bytes that make an integer of `width` bits.
pub fn bit_bytes(width: u32) -> usize {
    width.div_ceil(8) as usize
}

/// Whether a draw is below the largest multiple of the range that 32 bits hold.
fn is_unbiased(draw: u32, range: u32) -> bool {
    // 2^32 less the range is never above that multiple, and nearly all draws are below it.
    let enough = range.wrapping_neg();
    draw < enough || draw <= u32::MAX - enough % range
}

/// Copies the next block from `skip` on; returns what is still to be filled.
fn copy_block<'a>(cipher: &mut Cipher, skip: usize, out: &'a mut [u8]) -> &'a mut [u8] {
    let mut block = Zeroizing::new([0u8; BLOCK as usize]);
    cipher.write_keystream_block((&mut *block).into());
    let (head, rest) = out.split_at_mut(out.len().min(block.len() - skip));
    head.copy_from_slice(&block[skip..skip + head.len()]);
    rest
}

/// An integer type that stream words can be added to.
pub trait Word: Copy + Send {
    /// Bytes in a word.
    const SIZE: usize;

    /// Add or subtract the little-endian words in `bytes`, wrapping.
    fn add_bytes(words: &mut [Self], bytes: &[u8], subtract: bool);

    /// Add a signed integer, wrapping.
    fn add(&mut self, value: i64);
}

macro_rules! words {
    ($($type:ty)*) => {$(
        impl Word for $type {
            const SIZE: usize = size_of::<$type>();

            fn add_bytes(words: &mut [Self], bytes: &[u8], subtract: bool) {
                let (masks, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                for (word, mask) in words.iter_mut().zip(masks) {
                    let mask = <$type>::from_le_bytes(*mask);
                    let mask = if subtract { mask.wrapping_neg() } else { mask };
                    *word = word.wrapping_add(mask);
                }
            }

            fn add(&mut self, value: i64) {
                *self = self.wrapping_add(value as $type);
            }
        }
    )*};
}

words!(i32 u32 i64 u64);
