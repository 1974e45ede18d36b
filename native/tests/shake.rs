//! SHAKE128 against values computed by another implementation (OpenSSL), and nonces made of it.

use _native::core::hedged::hedged_scalars;
use _native::core::shake::{RATE, Shake128};
use curve25519_dalek::Scalar;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn shake(input: &[u8], n: usize) -> Vec<u8> {
    let mut sponge = Shake128::default();
    sponge.absorb(input);
    let mut out = vec![0; n];
    sponge.squeeze().fill(&mut out);
    out
}

#[test]
fn known_answers() {
    let input: Vec<u8> = (0..0).map(|i: usize| i as u8).collect();
    assert_eq!(hex(&shake(&input, 300)[284..]), "613a7f1b1de33fd75081f592305f2e45");
    let input: Vec<u8> = (0..3).map(|i: usize| i as u8).collect();
    assert_eq!(hex(&shake(&input, 300)[284..]), "96b9bda17b7a62569ecfcebec56e4e3f");
    let input: Vec<u8> = (0..167).map(|i: usize| i as u8).collect();
    assert_eq!(hex(&shake(&input, 300)[284..]), "b39c7e6ce3c2344a4c64ee396c0914c5");
    let input: Vec<u8> = (0..168).map(|i: usize| i as u8).collect();
    assert_eq!(hex(&shake(&input, 300)[284..]), "b4ba560bfc91c13971b43b17169574e5");
    let input: Vec<u8> = (0..169).map(|i: usize| i as u8).collect();
    assert_eq!(hex(&shake(&input, 300)[284..]), "b5eaca0aba559914d805a89d83018a6e");
    let input: Vec<u8> = (0..500).map(|i: usize| i as u8).collect();
    assert_eq!(hex(&shake(&input, 300)[284..]), "c5ab8a2ff6cf1a6768bd71d522429373");
}

#[test]
fn pieces_are_parts_of_one_input_and_one_output() {
    let input: Vec<u8> = (0..3 * RATE).map(|i| i as u8).collect();
    let whole = shake(&input, 400);
    for cut in [0, 1, RATE - 1, RATE, RATE + 1, 3 * RATE] {
        let mut sponge = Shake128::default();
        sponge.absorb(&input[..cut]);
        sponge.absorb(&input[cut..]);
        let mut output = sponge.squeeze();
        let mut pieces = vec![0; 400];
        let (head, tail) = pieces.split_at_mut(cut.min(400));
        output.fill(head);
        output.fill(tail);
        assert_eq!(pieces, whole);
    }
}

#[test]
fn every_input_decides() {
    let (session, witness) = ([7; 32], [Scalar::from(3u8), Scalar::from(4u8)]);
    let drawn = |session: &[u8; 32], fresh: &[u8], witness: &[Scalar]| {
        hedged_scalars(3, session, fresh, witness).unwrap()
    };
    let first = drawn(&session, b"fresh", &witness);
    assert_eq!(first, drawn(&session, b"fresh", &witness));
    assert_ne!(first, drawn(&[8; 32], b"fresh", &witness));
    assert_ne!(first, drawn(&session, b"Fresh", &witness));
    assert_ne!(first, drawn(&session, b"fresh", &witness[..1]));
    assert_ne!(first[0], first[1]);
}
