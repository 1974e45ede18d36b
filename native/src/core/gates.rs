//! Garbling and evaluating a vector of gates by half gates, and the hash behind it.
//!
//! A label has 16 bytes, little-endian, and its lowest bit is the select bit. Labels and the
//! offset between the two labels of a wire are secret: nothing here branches on them or
//! indexes by them.

use std::hint::black_box;

use aes::Aes128Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use zeroize::Zeroize;

use super::fault::Fault;

/// Bytes of a label, a key and a hash.
pub const BLOCK: usize = 16;
/// Bytes of the table of one AND gate.
pub const TABLE: usize = 2 * BLOCK;
/// Words that describe one gate: its kind and the wires of its two inputs.
pub const GATE: usize = 3;

/// The kind of a gate that costs nothing.
pub const XOR: u32 = 0;
/// The kind of a gate with a table.
pub const AND: u32 = 1;

/// H(x, i) = P(P(x) + i) + P(x) with + for bitwise exclusive or, P for AES-128 under one key.
pub struct Hash(Aes128Enc);

impl Hash {
    /// The hash under this key.
    pub fn new(key: &[u8; BLOCK]) -> Self {
        Self(Aes128Enc::new(&Array(*key)))
    }

    /// The hashes of N blocks, each under its own tweak; N are in flight at a time.
    pub fn blocks<const N: usize>(&self, blocks: [u128; N], tweaks: [u128; N]) -> [u128; N] {
        let inner: [u128; N] = self.permute(blocks);
        let outer: [u128; N] = self.permute(std::array::from_fn(|i| inner[i] ^ tweaks[i]));
        std::array::from_fn(|i| outer[i] ^ inner[i])
    }

    fn permute<const N: usize>(&self, blocks: [u128; N]) -> [u128; N] {
        let mut state = blocks.map(|block| Array(block.to_le_bytes()));
        self.0.encrypt_blocks(&mut state);
        state.map(|block| u128::from_le_bytes(block.0))
    }
}

/// A checked vector of gates: gate k has the wire `inputs + k`, and its inputs come before it.
pub struct Gates<'a> {
    gates: &'a [[u32; GATE]],
    inputs: usize,
    ands: usize,
}

impl<'a> Gates<'a> {
    /// These gates over this many wires, the inputs among them.
    pub fn new(words: &'a [u32], wires: usize) -> Result<Self, Fault> {
        let (gates, rest) = words.as_chunks::<GATE>();
        if !rest.is_empty() || gates.len() > wires {
            return Err(Fault::usage("three words make a gate, and every gate has a wire"));
        }
        let inputs = wires - gates.len();
        let known = |(k, [kind, a, b]): (usize, &[u32; GATE])| {
            *kind <= AND && (*a.max(b) as usize) < inputs + k
        };
        if !gates.iter().enumerate().all(known) {
            return Err(Fault::usage("a gate is 0 (xor) or 1 (and) of two wires before it"));
        }
        let ands = gates.iter().filter(|gate| gate[0] == AND).count();
        Ok(Self { gates, inputs, ands })
    }

    /// How many gates need a table.
    pub fn ands(&self) -> usize {
        self.ands
    }

    /// Fill in the zero labels of all gates and return the tables of the AND gates.
    ///
    /// Gate k of the ANDs takes the tweaks `tweak + 2 k` and `tweak + 2 k + 1`.
    /// Neither the offset nor a label is left on the stack.
    pub fn garble(&self, hash: &Hash, tweak: u128, delta: &u128, labels: &mut [u128]) -> Vec<u8> {
        let tables = self.garbled(hash, tweak, delta, labels);
        scrub_stack();
        tables
    }

    #[inline(never)]
    fn garbled(&self, hash: &Hash, tweak: u128, delta: &u128, labels: &mut [u128]) -> Vec<u8> {
        let delta = *delta;
        let mut tables = Vec::with_capacity(TABLE * self.ands);
        let mut tweak = tweak;
        for (k, &[kind, a, b]) in self.gates.iter().enumerate() {
            let (a, b) = (labels[a as usize], labels[b as usize]);
            labels[self.inputs + k] = if kind == XOR {
                a ^ b
            } else {
                let next = tweak.wrapping_add(1);
                let hashes = hash.blocks([a, a ^ delta, b, b ^ delta], [tweak, tweak, next, next]);
                tweak = next.wrapping_add(1);
                let garbler = hashes[0] ^ hashes[1] ^ (delta & mask(b));
                let evaluator = hashes[2] ^ hashes[3];
                tables.extend_from_slice(&garbler.to_le_bytes());
                tables.extend_from_slice(&(evaluator ^ a).to_le_bytes());
                hashes[0] ^ (garbler & mask(a)) ^ hashes[2] ^ (evaluator & mask(b))
            };
        }
        tables
    }

    /// Fill in the labels of all gates, given one label for each input.
    pub fn evaluate(
        &self,
        hash: &Hash,
        tweak: u128,
        tables: &[u8],
        labels: &mut [u128],
    ) -> Result<(), Fault> {
        let (tables, rest) = tables.as_chunks::<BLOCK>();
        if !rest.is_empty() || tables.len() != 2 * self.ands {
            return Err(Fault::malformed("every AND gate has a table of 32 bytes", 0));
        }
        let mut tables = tables.iter().map(|half| u128::from_le_bytes(*half));
        let mut tweak = tweak;
        for (k, &[kind, a, b]) in self.gates.iter().enumerate() {
            let (a, b) = (labels[a as usize], labels[b as usize]);
            labels[self.inputs + k] = if kind == XOR {
                a ^ b
            } else {
                let next = tweak.wrapping_add(1);
                let [left, right] = hash.blocks([a, b], [tweak, next]);
                tweak = next.wrapping_add(1);
                let (garbler, evaluator) = tables.next().zip(tables.next()).unwrap_or_default();
                left ^ (garbler & mask(a)) ^ right ^ ((evaluator ^ a) & mask(b))
            };
        }
        Ok(())
    }
}

/// Overwrite what the last call has left below this frame, which it shares.
#[inline(never)]
fn scrub_stack() {
    let mut frame = [0u8; 4096];
    frame.zeroize();
    black_box(&mut frame);
}

/// All ones where the select bit of a label is 1, else zero.
fn mask(label: u128) -> u128 {
    (label & 1).wrapping_neg()
}
