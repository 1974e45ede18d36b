//! SHAKE128 of secret input: state and buffers are wiped when they are dropped.

use zeroize::Zeroizing;

/// Bytes absorbed or squeezed between two permutations.
pub const RATE: usize = 168;

const LANES: usize = 25;
const PAD_FIRST: u8 = 0x1f;
const PAD_LAST: u8 = 0x80;

const ROUND_CONSTANTS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];
/// Rotations and target lanes of the step that moves lanes around (rho and pi).
const ROTATIONS: [u32; 24] =
    [1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44];
const TARGETS: [usize; 24] =
    [10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1];

/// What is absorbed so far. `squeeze` ends the input.
pub struct Shake128 {
    state: Zeroizing<[u64; LANES]>,
    position: usize,
}

impl Default for Shake128 {
    fn default() -> Self {
        Self { state: Zeroizing::new([0; LANES]), position: 0 }
    }
}

impl Shake128 {
    /// Append to the input.
    pub fn absorb(&mut self, data: &[u8]) {
        for &byte in data {
            self.mix(byte);
            self.position += 1;
            if self.position == RATE {
                permute(&mut self.state);
                self.position = 0;
            }
        }
    }

    /// The output stream of the input.
    pub fn squeeze(mut self) -> Output {
        self.mix(PAD_FIRST);
        self.position = RATE - 1;
        self.mix(PAD_LAST);
        permute(&mut self.state);
        Output { state: self.state, position: 0 }
    }

    fn mix(&mut self, byte: u8) {
        self.state[self.position / 8] ^= u64::from(byte) << (8 * (self.position % 8));
    }
}

/// Squeezed bytes in order.
pub struct Output {
    state: Zeroizing<[u64; LANES]>,
    position: usize,
}

impl Output {
    /// The next bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        for byte in out {
            if self.position == RATE {
                permute(&mut self.state);
                self.position = 0;
            }
            *byte = (self.state[self.position / 8] >> (8 * (self.position % 8))) as u8;
            self.position += 1;
        }
    }
}

/// Keccak-f\[1600\] (FIPS 202, section 3.3).
fn permute(state: &mut [u64; LANES]) {
    let mut columns = Zeroizing::new([0u64; 5]);
    for constant in ROUND_CONSTANTS {
        for x in 0..5 {
            columns[x] = (0..5).fold(0, |sum, y| sum ^ state[5 * y + x]);
        }
        for x in 0..5 {
            let mixed = columns[(x + 4) % 5] ^ columns[(x + 1) % 5].rotate_left(1);
            (0..5).for_each(|y| state[5 * y + x] ^= mixed);
        }
        let mut carried = state[1];
        for (target, rotation) in TARGETS.into_iter().zip(ROTATIONS) {
            let next = state[target];
            state[target] = carried.rotate_left(rotation);
            carried = next;
        }
        for row in state.chunks_exact_mut(5) {
            columns.copy_from_slice(row);
            for x in 0..5 {
                row[x] = columns[x] ^ (!columns[(x + 1) % 5] & columns[(x + 2) % 5]);
            }
        }
        state[0] ^= constant;
    }
}
