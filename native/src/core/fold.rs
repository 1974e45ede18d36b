//! Halving a vector of points, the inner step of logarithmic-size arguments.

use curve25519_dalek::traits::VartimeMultiscalarMul;
use curve25519_dalek::{RistrettoPoint, Scalar};

use super::points::build;
use super::vartime;
use super::workers::Workers;

/// out[i] = low * points[i] + high * points[i + h] with h = ceil(len / 2).
///
/// The last element of the lower half of an odd vector has no partner.
pub fn vartime_fold(
    workers: &Workers,
    points: &[RistrettoPoint],
    low: &Scalar,
    high: &Scalar,
) -> Vec<RistrettoPoint> {
    let half = points.len().div_ceil(2);
    build(workers, half, |i| match points.get(half + i) {
        None => vartime::multiply(low, &points[i]),
        Some(partner) => {
            RistrettoPoint::vartime_multiscalar_mul([low, high], [&points[i], partner])
        }
    })
}
