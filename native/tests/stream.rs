//! The seeded stream against key stream bytes computed by another implementation of
//! RFC 8439 (OpenSSL), with the key and nonce of its section 2.4.2.

mod common;

use _native::core::fault::Fault;
use _native::core::stream::Stream;
use _native::core::workers::Workers;
use common::all_workers;

const NONCE: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0x4a, 0, 0, 0, 0];

fn stream() -> Stream {
    let key: [u8; 32] = std::array::from_fn(|i| i as u8);
    Stream::new(&key, &NONCE)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn read(start: u64, n: usize) -> Vec<u8> {
    let mut out = vec![0; n];
    stream().read(start, &mut out);
    out
}

#[test]
fn bytes_are_the_key_stream_from_block_zero() {
    assert_eq!(hex(&read(0, 16)), "af051e40bba0354981329a806a140eaf");
    let block_1 = "224f51f3401bd9e12fde276fb8631ded8c131f823d2c06e27e4fcaec9ef3cf78";
    assert_eq!(hex(&read(64, 32)), block_1);
    assert_eq!(hex(&read(4090, 16)), "a6cfc7156f9eea12a8a23a4e724b1c11");
    assert_eq!(hex(&read((64 << 32) - 16, 16)), "bf858ce5718fa4e76389ea4eb50a9475");
}

#[test]
fn every_range_is_a_part_of_one_stream() {
    let whole = read(0, 700);
    for start in [0, 1, 63, 64, 65, 127, 128, 300] {
        for n in [0, 1, 2, 63, 64, 65, 129, 400] {
            assert_eq!(read(start as u64, n), whole[start..start + n], "{start} {n}");
        }
    }
}

#[test]
fn claims_follow_each_other_and_end_with_the_last_block() {
    let stream = stream();
    let total = 64u64 << 32;
    assert_eq!(stream.claim(3, 1), Ok(0));
    assert_eq!(stream.claim(2, 64), Ok(3));
    assert_eq!(stream.claim(0, 8), Ok(131));
    assert!(matches!(stream.claim(usize::MAX, 2), Err(Fault::Usage(_))));
    let left = (total - 131) as usize;
    assert!(matches!(stream.claim(left + 1, 1), Err(Fault::Usage(_))));
    assert_eq!(stream.claim(left, 1), Ok(131), "a refused claim consumes nothing");
    assert!(matches!(stream.claim(1, 1), Err(Fault::Usage(_))));
}

#[test]
fn scalars_reduce_64_bytes_each() {
    let expected = "2025621e5805df5fa353db49ddbe1285fe3b57c48da597aa561d2fcd7f65a204";
    let whole = stream().scalars(&Workers::INLINE, 0, 300);
    assert_eq!(hex(whole[1].as_bytes()), expected);
    for workers in all_workers() {
        assert_eq!(stream().scalars(&workers, 64, 299), whole[1..]);
    }
}

#[test]
fn bits_keep_the_low_bits_of_whole_bytes() {
    let expected = [804_234_593_711, 662_272_297_269, 27_293_159_134_314];
    assert_eq!(stream().bits(&Workers::INLINE, 0, 45, 3)[..], expected);
    for width in 1..=64u32 {
        let size = width.div_ceil(8) as usize;
        let bytes = read(5, 900 * size);
        let mask = u64::MAX >> (64 - width);
        let expected: Vec<u64> = bytes
            .chunks_exact(size)
            .map(|chunk| {
                let mut word = [0; 8];
                word[..size].copy_from_slice(chunk);
                u64::from_le_bytes(word) & mask
            })
            .collect();
        for workers in all_workers() {
            assert_eq!(stream().bits(&workers, 5, width, 900)[..], expected, "{width}");
        }
    }
}

#[test]
fn words_are_added_and_taken_away_with_wrapping() {
    let bytes = read(7, 4 * 3000);
    for workers in all_workers() {
        let start: Vec<u32> = (0..3000u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let mut words = start.clone();
        stream().add_to(&workers, 7, &mut words, false);
        for ((word, old), mask) in words.iter().zip(&start).zip(bytes.chunks_exact(4)) {
            let mask = u32::from_le_bytes(mask.try_into().expect("4 bytes"));
            assert_eq!(*word, old.wrapping_add(mask));
        }
        stream().add_to(&workers, 7, &mut words, true);
        assert_eq!(words, start);
    }
}

#[test]
fn signed_and_wide_words_see_the_same_bytes() {
    let (mut unsigned, mut signed) = (vec![0u64; 600], vec![0i64; 600]);
    stream().add_to(&Workers::INLINE, 0, &mut unsigned, false);
    stream().add_to(&Workers::INLINE, 0, &mut signed, false);
    let bytes: Vec<u8> = unsigned.iter().flat_map(|w| w.to_le_bytes()).collect();
    assert_eq!(bytes, read(0, 4800));
    assert_eq!(unsigned, signed.iter().map(|w| w.cast_unsigned()).collect::<Vec<_>>());
}
