//! The arithmetic without Python, for comparison with `python -m bench group`:
//! `cargo run --release --no-default-features --example core`.
//!
//! Best wall time of five on one thread, in microseconds for each item.

use std::hint::black_box;
use std::time::Instant;

use _native::core::codec::{decode_points, map_to_points};
use _native::core::fixed_bases::FixedBases;
use _native::core::msm::vartime_msm;
use _native::core::stream::Stream;
use _native::core::workers::Workers;
use curve25519_dalek::{RistrettoPoint, Scalar};

const ITEMS: usize = 10_000;

fn main() {
    let scalars = scalars(1);
    let points = points(2);
    let bases = FixedBases::new(&Workers::INLINE, &points[..2]);
    let blindings = self::scalars(3);
    let encoded: Vec<u8> = points.iter().flat_map(|p| p.compress().to_bytes()).collect();

    report("commit_us", || {
        let columns: [&[Scalar]; 2] = [&scalars, &blindings];
        let committed = bases.combine(&Workers::INLINE, &columns, ITEMS);
        committed.encodings(&Workers::INLINE).len()
    });
    report("msm_us_per_point_10000", || vartime_msm(&Workers::INLINE, &scalars, &points));
    report("decode_us", || {
        decode_points(&Workers::INLINE, &encoded, ITEMS, false).expect("valid encodings")
    });
}

fn report<T>(name: &str, work: impl Fn() -> T) {
    let best = (0..6).map(|_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    });
    let micros = best.min().expect("six runs").as_secs_f64() * 1e6 / ITEMS as f64;
    println!("{name:<24} {micros:.3}");
}

fn scalars(tag: u8) -> Vec<Scalar> {
    Stream::new(&[tag; 32], b"core example").scalars(&Workers::INLINE, 0, ITEMS)
}

fn points(tag: u8) -> Vec<RistrettoPoint> {
    let mut bytes = vec![0; 64 * ITEMS];
    Stream::new(&[tag; 32], b"core example").read(0, &mut bytes);
    map_to_points(&Workers::INLINE, &bytes).expect("whole strings")
}
