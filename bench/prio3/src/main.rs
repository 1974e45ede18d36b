//! Times one report of Prio3SumVec: `prio3-sum-vec DIMENSION BITS REPEAT` prints a line of JSON.
//!
//! A client shards a vector, each of two aggregators checks its share, and the sum of one report
//! is compared with the vector. Times are those of this thread on the processor, the mean of all
//! repetitions; bytes are those of what the client uploads.

use std::{env, fs};

use prio::codec::Encode;
use prio::vdaf::prio3::{optimal_chunk_length, Prio3};
use prio::vdaf::{Aggregator, Client, Collector, VerifyTransition};

const CONTEXT: &[u8] = b"bench vectors";
const NONCE: [u8; 16] = [7; 16];
const KEY: [u8; 32] = [9; 32];

/// Seconds that this thread has had a processor.
fn processor_time() -> f64 {
    let said = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts them");
    let spent: u64 = said.split(' ').next().unwrap().parse().unwrap();
    spent as f64 / 1e9
}

/// The last result, and the mean time of so many; the counter is coarser than one short call.
fn timed<T>(repeat: usize, work: impl Fn() -> T) -> (T, f64) {
    let mut result = work();
    let begun = processor_time();
    for _ in 0..repeat {
        result = work();
    }
    (result, (processor_time() - begun) / repeat as f64)
}

fn main() {
    let given: Vec<usize> = env::args().skip(1).map(|each| each.parse().unwrap()).collect();
    let (dimension, bits, repeat) = (given[0], given[1], given[2]);
    let most = (1u128 << bits) - 1;
    let vdaf = Prio3::new_sum_vec(2, most, dimension, optimal_chunk_length(dimension * bits))
        .unwrap();
    let vector: Vec<u128> = (0..dimension as u128).map(|j| j * 7919 % (most + 1)).collect();
    let ((public, shares), client) =
        timed(repeat, || vdaf.shard(CONTEXT, &vector, &NONCE).unwrap());
    let mut bytes = public.get_encoded().unwrap().len();
    let (mut states, mut said, mut aggregator) = (Vec::new(), Vec::new(), 0.0);
    for (number, share) in shares.iter().enumerate() {
        bytes += share.get_encoded().unwrap().len();
        let ((state, told), spent) = timed(repeat, || {
            vdaf.verify_init(&KEY, CONTEXT, number, &(), &NONCE, &public, share).unwrap()
        });
        aggregator = spent;
        states.push(state);
        said.push(told);
    }
    let message = vdaf.verifier_shares_to_message(CONTEXT, &(), said).unwrap();
    let sums = states.into_iter().map(|state| {
        match vdaf.verify_next(CONTEXT, state, message.clone()).unwrap() {
            VerifyTransition::Finish(share) => vdaf.aggregate(&(), [share]).unwrap(),
            VerifyTransition::Continue(..) => panic!("a report takes one round"),
        }
    });
    let total = vdaf.unshard(&(), sums.collect::<Vec<_>>(), 1).unwrap();
    assert!(total == vector, "the sum is wrong");
    println!(
        "{{\"client_s\": {client:.4}, \"aggregator_s\": {aggregator:.4}, \"bytes\": {bytes}}}"
    );
}
