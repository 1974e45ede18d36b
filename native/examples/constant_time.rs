//! Hashes, garbles and evaluates with labels that a checker of memory has marked as undefined.
//!
//! Prints where the labels stand and waits for a line; `tests/twoparty/test_constant_time.py` marks
//! them in the meantime, runs this under valgrind, and demands that no branch and no address
//! depends on them. With the argument `leak` there is such a branch, which has to be seen.

use std::hint::{black_box, spin_loop};
use std::io::stdin;
use std::thread;

use _native::core::gates::{AND, BLOCK, Gates, Hash, XOR};

const INPUTS: usize = 8;
const GATES: usize = 200;

fn main() {
    let leak = std::env::args().any(|argument| argument == "leak");
    let words: Vec<u32> = (0..GATES as u32)
        .flat_map(|k| [if k % 3 == 0 { XOR } else { AND }, k, k * 5 % (k + INPUTS as u32)])
        .collect();
    let wires = INPUTS + GATES;
    let gates = Gates::new(&words, wires).expect("a vector of gates");
    let hash = Hash::new(&[7; BLOCK]);
    // The offset, then the labels of the inputs.
    let secret: Vec<u128> =
        (0..=INPUTS as u128).map(|k| (k + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c)).collect();
    println!("{:p} {}", secret.as_ptr(), BLOCK * secret.len());
    // The checker takes commands from a thread that runs, not from one that sleeps.
    let told = thread::spawn(|| stdin().read_line(&mut String::new()));
    while !told.is_finished() {
        spin_loop();
    }

    let mut labels = vec![0; wires];
    labels[..INPUTS].copy_from_slice(&secret[1..]);
    let tables = gates.garble(&hash, 0, &secret[0], &mut labels);
    let mut active = vec![0; wires];
    active[..INPUTS].copy_from_slice(&secret[1..]);
    gates.evaluate(&hash, 0, &tables, &mut active).expect("as many tables as gates");
    let hashed = hash.blocks([active[wires - 1]], [1]);
    if leak && labels[wires - 1] & 1 == 1 {
        black_box(&labels);
    }
    black_box((labels, active, hashed));
}
