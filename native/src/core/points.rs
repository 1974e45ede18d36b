//! Vectors of group elements.

use std::sync::OnceLock;

use curve25519_dalek::traits::{IsIdentity, MultiscalarMul};
use curve25519_dalek::{RistrettoPoint, Scalar};

use super::codec::{SIZE, encode_points};
use super::fault::Fault;
use super::scalars::{Values, check_len};
use super::workers::Workers;

/// Group elements, with their encodings once these are known.
///
/// An encoding costs an inverse square root, which batches that are decoded or
/// produced with precomputed halves get for free: hence the cache.
#[derive(Default)]
pub struct Points {
    values: Vec<RistrettoPoint>,
    encodings: OnceLock<Vec<u8>>,
}

impl Points {
    /// Elements whose encodings are not known yet.
    pub fn new(values: Vec<RistrettoPoint>) -> Self {
        Self { values, encodings: OnceLock::new() }
    }

    /// Elements and their encodings, one after the other.
    pub fn with_encodings(values: Vec<RistrettoPoint>, encodings: Vec<u8>) -> Self {
        Self { values, encodings: OnceLock::from(encodings) }
    }

    /// The elements.
    pub fn values(&self) -> &[RistrettoPoint] {
        &self.values
    }

    /// The encodings, one after the other, once they are known.
    pub fn known_encodings(&self) -> Option<&[u8]> {
        self.encodings.get().map(Vec::as_slice)
    }

    /// Keep the encodings, which `encode_points` made of these elements.
    ///
    /// They are not made inside the cell: a process forked meanwhile would inherit a
    /// cell that is being filled by a thread it does not have, and wait for ever.
    pub fn remember(&self, encodings: Vec<u8>) -> &[u8] {
        self.encodings.get_or_init(|| encodings)
    }

    /// The encodings, one after the other.
    pub fn encodings(&self, workers: &Workers) -> &[u8] {
        match self.known_encodings() {
            Some(known) => known,
            None => self.remember(encode_points(workers, &self.values)),
        }
    }

    /// Elements one by one, each perhaps with its encoding.
    pub fn gather(items: impl Iterator<Item = (RistrettoPoint, Option<[u8; SIZE]>)>) -> Self {
        let (values, encodings): (Vec<_>, Vec<_>) = items.unzip();
        match encodings.into_iter().collect::<Option<Vec<_>>>() {
            Some(known) => Self::with_encodings(values, known.into_flattened()),
            None => Self::new(values),
        }
    }

    /// The encoding of one element, if it is known.
    pub fn known_encoding(&self, index: usize) -> Option<[u8; SIZE]> {
        self.encodings.get()?.as_chunks().0.get(index).copied()
    }

    /// The elements at these positions, which exist.
    pub fn select(&self, positions: impl Iterator<Item = usize> + Clone) -> Self {
        let values = positions.clone().map(|i| self.values[i]).collect();
        match self.encodings.get() {
            None => Self::new(values),
            Some(known) => {
                let encoding = |i: usize| &known[i * SIZE..(i + 1) * SIZE];
                Self::with_encodings(values, positions.flat_map(encoding).copied().collect())
            }
        }
    }

    /// These elements, then those.
    pub fn concat(&self, other: &Self) -> Self {
        let values = [self.values(), other.values()].concat();
        match (self.encodings.get(), other.encodings.get()) {
            (Some(a), Some(b)) => Self::with_encodings(values, [&a[..], b].concat()),
            _ => Self::new(values),
        }
    }
}

/// One group element for every position, or one for each.
#[derive(Clone, Copy)]
pub enum Operands<'a> {
    /// The same element everywhere.
    One(&'a RistrettoPoint),
    /// Position by position.
    Many(&'a [RistrettoPoint]),
}

impl<'a> Operands<'a> {
    /// The element at this position.
    pub fn at(&self, index: usize) -> &'a RistrettoPoint {
        match self {
            Self::One(point) => point,
            Self::Many(points) => &points[index],
        }
    }

    /// Refuse a vector of another length.
    pub fn check_len(&self, len: usize) -> Result<(), Fault> {
        match self {
            Self::One(_) => Ok(()),
            Self::Many(points) => check_len(len, points.len()),
        }
    }
}

/// `value(i)` for each i below `len`.
pub fn build(
    workers: &Workers,
    len: usize,
    value: impl Fn(usize) -> RistrettoPoint + Sync,
) -> Vec<RistrettoPoint> {
    let mut out = vec![RistrettoPoint::default(); len];
    workers.fill(&mut out, |start, piece| {
        for (i, slot) in piece.iter_mut().enumerate() {
            *slot = value(start + i);
        }
    });
    out
}

/// Element-wise scalar multiples, constant-time; the lengths agree.
pub fn multiply(
    workers: &Workers,
    points: &[RistrettoPoint],
    scalars: Values<'_>,
) -> Vec<RistrettoPoint> {
    build(workers, points.len(), |i| points[i] * scalars.at(i))
}

/// The identity for no points.
pub fn sum(workers: &Workers, points: &[RistrettoPoint]) -> RistrettoPoint {
    workers.map(points.len(), |range| points[range].iter().sum::<RistrettoPoint>()).iter().sum()
}

/// Sum of scalars[i] * points[i], constant-time; the lengths agree.
pub fn msm(workers: &Workers, scalars: &[Scalar], points: &[RistrettoPoint]) -> RistrettoPoint {
    // The tables of so many terms fit the second-level cache.
    const CHUNK: usize = 512;
    let sums = workers.map(points.len(), |range| {
        let terms = scalars[range.clone()].chunks(CHUNK).zip(points[range].chunks(CHUNK));
        let products = terms.map(|(s, p)| RistrettoPoint::multiscalar_mul(s, p));
        products.sum::<RistrettoPoint>()
    });
    sums.iter().sum()
}

/// The first position that holds the identity.
pub fn find_identity(points: &Points) -> Option<usize> {
    match points.known_encodings() {
        // One encoding alone is that of the identity.
        Some(known) => known.as_chunks::<SIZE>().0.iter().position(|each| *each == [0; SIZE]),
        None => points.values().iter().position(IsIdentity::is_identity),
    }
}
