//! Halving a vector of points, the inner step of logarithmic-size arguments.

use curve25519_dalek::traits::VartimeMultiscalarMul;
use curve25519_dalek::{RistrettoPoint, Scalar};

use super::points::build;
use super::workers::Workers;

/// out[i] = low * points[i] + high * points[i + h], where h is half of an even length.
pub fn vartime_fold(
    workers: &Workers,
    points: &[RistrettoPoint],
    low: &Scalar,
    high: &Scalar,
) -> Vec<RistrettoPoint> {
    let (lower, upper) = points.split_at(points.len() / 2);
    build(workers, lower.len(), |i| {
        RistrettoPoint::vartime_multiscalar_mul([low, high], [&lower[i], &upper[i]])
    })
}
