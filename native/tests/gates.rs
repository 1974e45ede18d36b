//! Half gates against plain bits, the hash against its definition, and what is refused.

mod common;

use _native::core::fault::Fault;
use _native::core::gates::{AND, BLOCK, GATE, Gates, Hash, TABLE, XOR};
use _native::core::stream::Stream;

const KEY: [u8; BLOCK] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const INPUTS: usize = 6;

fn blocks(tag: u8, n: usize) -> Vec<u128> {
    let mut bytes = vec![0; BLOCK * n];
    Stream::new(&[tag; 32], b"gates blocks").read(0, &mut bytes);
    bytes.as_chunks::<BLOCK>().0.iter().map(|block| u128::from_le_bytes(*block)).collect()
}

/// Gates of both kinds, each of any two wires before it.
fn gates(n: usize) -> Vec<u32> {
    let draws = blocks(1, n);
    let gate = |(k, draw): (usize, &u128)| {
        let wire = |shift: u32| (draw >> shift) as u32 % (INPUTS + k) as u32;
        [if draw & 3 == 0 { XOR } else { AND }, wire(8), wire(48)]
    };
    draws.iter().enumerate().flat_map(gate).collect()
}

#[test]
fn the_cipher_is_that_of_fips_197() {
    // With tweak P(x) + y the hash is P(y) + P(x); the standard lists P of this x.
    let plain = 0xffee_ddcc_bbaa_9988_7766_5544_3322_1100;
    let cipher = u128::from_be_bytes(0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes());
    let cipher = u128::from_le_bytes(cipher.to_be_bytes());
    let [hash] = Hash::new(&KEY).blocks([plain], [cipher ^ plain]);
    assert_eq!(hash, 0);
}

#[test]
fn blocks_in_flight_do_not_mix() {
    let hash = Hash::new(&KEY);
    let given = blocks(2, 4);
    let together = hash.blocks([given[0], given[1], given[2], given[3]], [9, 8, 7, 6]);
    for (i, tweak) in [9, 8, 7, 6].into_iter().enumerate() {
        assert_eq!(hash.blocks([given[i]], [tweak]), [together[i]]);
    }
}

#[test]
fn labels_follow_the_values() {
    let (n, hash) = (500, Hash::new(&KEY));
    let words = gates(n);
    let checked = Gates::new(&words, INPUTS + n).expect("gates");
    let delta = blocks(3, 1)[0] | 1;
    let mut zero = blocks(4, INPUTS);
    zero.resize(INPUTS + n, 0);
    let tables = checked.garble(&hash, u128::MAX - 5, &delta, &mut zero);
    assert_eq!(tables.len(), TABLE * checked.ands());
    for input in 0..1 << INPUTS {
        let mut bits: Vec<bool> = (0..INPUTS).map(|i| input >> i & 1 == 1).collect();
        for gate in words.as_chunks::<GATE>().0 {
            let (a, b) = (bits[gate[1] as usize], bits[gate[2] as usize]);
            bits.push(if gate[0] == AND { a & b } else { a ^ b });
        }
        let label = |i: usize| if bits[i] { zero[i] ^ delta } else { zero[i] };
        let mut active: Vec<u128> = (0..INPUTS).map(label).collect();
        active.resize(INPUTS + n, 0);
        checked.evaluate(&hash, u128::MAX - 5, &tables, &mut active).expect("tables");
        assert!((0..INPUTS + n).all(|i| active[i] == label(i)));
    }
}

#[test]
fn wrong_gates_and_tables_are_refused() {
    assert!(Gates::new(&[AND, 0, 1], 3).is_ok());
    for wrong in [[2, 0, 1], [AND, 2, 1], [XOR, 0, 2], [u32::MAX, 0, 0]] {
        assert!(matches!(Gates::new(&wrong, 3), Err(Fault::Usage(_))));
    }
    for (words, wires) in [(vec![AND, 0], 3), (vec![AND, 0, 1, XOR, 0, 1], 1)] {
        assert!(matches!(Gates::new(&words, wires), Err(Fault::Usage(_))));
    }
    let gates = Gates::new(&[AND, 0, 1], 3).expect("gates");
    for size in [0, TABLE - 1, TABLE + 1, 2 * TABLE] {
        let found = gates.evaluate(&Hash::new(&KEY), 0, &vec![0; size], &mut [0; 3]);
        assert!(matches!(found, Err(Fault::Malformed { .. })));
    }
}
