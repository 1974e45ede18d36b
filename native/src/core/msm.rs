//! Multi-scalar multiplication with public scalars.

use std::ops::Range;

use curve25519_dalek::traits::VartimeMultiscalarMul;
use curve25519_dalek::{RistrettoPoint, Scalar};

use super::buckets::{self, Plan};
use super::fault::Fault;
use super::points::build;
use super::vartime::{Signed, multiply};
use super::workers::Workers;

/// Terms handled at a time: their tables still fit the second-level cache, and the
/// work on the buckets is a few percent.
const CHUNK: usize = 10_240;

/// Sum of scalars[i] * points[i]; the lengths agree.
pub fn vartime_msm(
    workers: &Workers,
    scalars: &[Scalar],
    points: &[RistrettoPoint],
) -> RistrettoPoint {
    let sums = workers.map(points.len(), |range| {
        let chunk = chunk_size(range.len());
        let terms = scalars[range.clone()].chunks(chunk).zip(points[range].chunks(chunk));
        terms.map(|(scalars, points)| chunk_msm(scalars, points)).sum::<RistrettoPoint>()
    });
    sums.iter().sum()
}

/// One sum for each segment.
///
/// Many short segments go to the workers `across` them, few long ones are cut by the
/// workers `within` each; the other set is `Workers::INLINE`.
pub fn vartime_segment_msm(
    across: &Workers,
    within: &Workers,
    scalars: &[Scalar],
    points: &[RistrettoPoint],
    segments: &[Range<usize>],
) -> Vec<RistrettoPoint> {
    build(across, segments.len(), |k| {
        let range = segments[k].clone();
        vartime_msm(within, &scalars[range.clone()], &points[range])
    })
}

/// The ranges of consecutive runs, which must cover exactly `total` terms.
pub fn segments(lengths: &[usize], total: usize) -> Result<Vec<Range<usize>>, Fault> {
    let mut end = 0usize;
    let mut out = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let start = end;
        end = end.saturating_add(length);
        out.push(start..end);
    }
    if end != total {
        return Err(Fault::usage(format!("the lengths add up to {end}, the vector has {total}")));
    }
    Ok(out)
}

/// Equal chunks that are not larger than needed.
fn chunk_size(len: usize) -> usize {
    len.div_ceil(len.div_ceil(CHUNK).max(1)).max(1)
}

fn chunk_msm(scalars: &[Scalar], points: &[RistrettoPoint]) -> RistrettoPoint {
    if let ([scalar], [point]) = (scalars, points) {
        return multiply(scalar, point);
    }
    let signed: Vec<Signed> = scalars.iter().map(Signed::of).collect();
    let bits = signed.iter().map(Signed::bits).max().unwrap_or(0);
    if bits <= buckets::MAX_BITS {
        let plan = Plan::best(points.len(), bits);
        if plan.nanos < dalek_nanos(points.len(), bits) {
            return buckets::vartime_msm(plan, &signed, points);
        }
    }
    RistrettoPoint::vartime_multiscalar_mul(
        signed.iter().map(|s| s.magnitude),
        signed.iter().zip(points).map(|(s, p)| s.apply(p)),
    )
}

/// Time of dalek's algorithms on short scalars, measured with AVX-512. They walk all
/// 252 bits whatever the scalars are; the constant is what that alone costs.
fn dalek_nanos(terms: usize, bits: usize) -> usize {
    let (constant, term) = match terms {
        0..190 => (12_000, 720),
        190..500 => (120_000, 190),
        500..800 => (200_000, 190),
        _ => (355_000, 170),
    };
    constant + terms * (term + 5 * bits)
}
