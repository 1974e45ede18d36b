//! Works on tables of residues, integers and words that a checker of memory has marked as undefined.
//!
//! Prints where they stand and waits for a line; `tests/zkp/rows/test_constant_time.py` marks them
//! in the meantime, runs this under valgrind, and demands that no branch and no address depends on
//! them. With the argument `leak` there is such a branch, which has to be seen.

use std::hint::{black_box, spin_loop};
use std::io::stdin;
use std::thread;

use _native::core::equality;
use _native::core::residues::Residue;
use _native::core::tables::{self, BitRows, Moves};
use _native::core::workers::Workers;
use curve25519_dalek::Scalar;

const WIDTH: usize = 32;
const ROWS: usize = 3;
const ENTRIES: usize = WIDTH * ROWS;
const HALF: usize = 64;

fn main() {
    let leak = std::env::args().any(|argument| argument == "leak");
    let workers = &Workers::INLINE;
    let by = Residue::from_scalar(&Scalar::from(7u64).invert());
    let weights: Vec<Residue> = (1..=ROWS as u64).map(Residue::from_word).collect();
    let bits: Vec<u8> = (0..5 * WIDTH as u64 / 8).map(|k| (k * 37 + 11) as u8).collect();
    let strings = BitRows::new(&bits, WIDTH).expect("five strings");
    let signs: Vec<u8> = (0..ENTRIES as u64 / 8).map(|k| (k * 91 + 5) as u8).collect();
    let places: Vec<u32> = (0..ENTRIES as u32).map(|j| j * 5 % ENTRIES as u32).collect();
    let moves = Moves::new(&places, BitRows::new(&signs, ENTRIES).expect("a sign for each place"))
        .expect("a permutation");
    let secret: Vec<i64> = (0..ENTRIES as i64).map(|j| (j - 40) * 12_345_678_901).collect();
    println!("{:p} {}", secret.as_ptr(), size_of::<i64>() * ENTRIES);
    // The checker takes commands from a thread that runs, not from one that sleeps.
    let told = thread::spawn(|| stdin().read_line(&mut String::new()));
    while !told.is_finished() {
        spin_loop();
    }

    let words: Vec<u64> = secret.iter().map(|&value| value as u64).collect();
    let small: Vec<Residue> = secret.iter().map(|&value| Residue::from_integer(value)).collect();
    let square = tables::times(workers, &small, &small).expect("of one length");
    let table = tables::combine(workers, &[by, by], &[&small, &square]);
    let scalars: Vec<Scalar> = table.iter().map(|entry| entry.to_scalar()).collect();
    let table: Vec<Residue> = scalars.iter().map(Residue::from_scalar).collect();
    let pairs = tables::pair_sums(workers, &table, &small, HALF).expect("of one length");
    let powers = tables::power_sums(workers, &table, 8, HALF).expect("an exponent");
    let few: Vec<i64> = secret.iter().map(|value| value & 0xff).collect();
    let eighth = tables::integer_power_sums(workers, &few, 8, HALF).expect("small integers");
    let folded = tables::fold(workers, &table, &by, HALF);
    let inner = tables::inner(workers, &table, &small).expect("of one length");
    let masked = tables::inner_words(workers, &table, &words).expect("of one length");
    let chosen = tables::bit_inners(workers, &table[..WIDTH], strings).expect("strings of a row");
    let spread = tables::combine_bits(workers, &table[..5], strings).expect("five strings");
    let sums = tables::row_bit_sums(workers, &secret, strings).expect("whole rows");
    let rows = tables::combine_rows(workers, &secret, &weights).expect("whole rows");
    let moved = tables::permuted(&table, moves).expect("that fits");
    let weighed = equality::equal_words(workers, &[by; 7], &[by], &words).expect("seven bits");
    if leak && moved[0] == weighed {
        black_box(&moved);
    }
    black_box((pairs, powers, eighth, folded, inner, masked, chosen));
    black_box((spread, sums, rows, moved, weighed));
}
