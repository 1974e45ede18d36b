//! Arithmetic mod 2^255 - 19 against a slow one, for numbers at all edges.

use super::{LANES, Lanes};

/// Four words, the lowest first.
type Number = [u64; 4];

const PRIME: Number = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];

fn plus(left: Number, right: Number) -> Number {
    let (mut sum, mut carry) = ([0; 4], 0);
    for (slot, (a, b)) in sum.iter_mut().zip(left.into_iter().zip(right)) {
        let wide = u128::from(a) + u128::from(b) + carry;
        (*slot, carry) = (wide as u64, wide >> 64);
    }
    assert_eq!(carry, 0);
    below_prime(sum)
}

fn less(left: Number, right: Number) -> Option<Number> {
    let (mut difference, mut borrow) = ([0; 4], false);
    for i in 0..4 {
        let (first, under) = left[i].overflowing_sub(right[i]);
        let (second, under_again) = first.overflowing_sub(u64::from(borrow));
        (difference[i], borrow) = (second, under || under_again);
    }
    (!borrow).then_some(difference)
}

fn below_prime(mut value: Number) -> Number {
    while let Some(smaller) = less(value, PRIME) {
        value = smaller;
    }
    value
}

fn times(left: Number, right: Number) -> Number {
    (0..256).rev().fold([0; 4], |sum, bit| {
        let double = plus(sum, sum);
        if right[bit / 64] >> (bit % 64) & 1 == 1 { plus(double, left) } else { double }
    })
}

fn to_bytes(value: Number) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (slot, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(value) {
        *slot = word.to_le_bytes();
    }
    bytes
}

/// 0, 1, 2, 19, p and its neighbours, 2^255 - 1, and what is next to where limbs end.
fn edges() -> Vec<Number> {
    let near = |low: u64| [low, u64::MAX, u64::MAX, u64::MAX >> 1];
    let mut found = vec![[0; 4], [1, 0, 0, 0], [2, 0, 0, 0], [19, 0, 0, 0]];
    found.extend([0, 1, 2, 17, 18, 19, 20, 21].map(|less| near(u64::MAX - less)));
    for bit in [50, 51, 52, 102, 103, 153, 204, 205, 254] {
        let mut power = [0; 4];
        power[bit / 64] = 1 << (bit % 64);
        found.push(power);
        found.extend(less(power, [1, 0, 0, 0]));
        found.extend(less(near(u64::MAX), power));
    }
    found
}

#[test]
fn arithmetic_of_the_field_is_right_at_all_edges() {
    let Some(lanes) = Lanes::here() else { return };
    let edges = edges();
    for shift in 0..edges.len() {
        for at in (0..edges.len()).step_by(LANES) {
            let take = |from: usize| -> [Number; LANES] {
                std::array::from_fn(|lane| edges[(from + lane) % edges.len()])
            };
            let (left, right) = (take(at), take(at + shift));
            let made = lanes.all_of(&left.map(to_bytes), &right.map(to_bytes));
            let [sums, differences, products, own, squares, inverses, seen] = made;
            for lane in 0..LANES {
                let (a, b) = (below_prime(left[lane]), below_prime(right[lane]));
                let (sum, difference) = (plus(a, b), plus(a, less(PRIME, b).expect("below")));
                assert_eq!(sums[lane], to_bytes(sum));
                assert_eq!(differences[lane], to_bytes(difference));
                assert_eq!(products[lane], to_bytes(times(sum, difference)));
                assert_eq!(own[lane], to_bytes(times(a, b)));
                assert_eq!(squares[lane], to_bytes(times(a, a)));
                let zero = a == [0; 4];
                assert_eq!(seen[lane][..2], [u8::from(zero), (a[0] & 1) as u8]);
                let inverse = inverses[lane].as_chunks::<8>().0;
                let inverse = std::array::from_fn(|i| u64::from_le_bytes(inverse[i]));
                assert_eq!(times(a, inverse), [u64::from(!zero), 0, 0, 0]);
            }
        }
    }
}
