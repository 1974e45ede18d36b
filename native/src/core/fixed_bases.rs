//! Bases that are multiplied very often.

use curve25519_dalek::ristretto::RistrettoBasepointTable;
use curve25519_dalek::traits::MultiscalarMul;
use curve25519_dalek::{RistrettoPoint, Scalar};

use super::cpu;
use super::points::{Points, build};
use super::workers::Workers;

/// Constant-time sums of multiples of fixed bases.
///
/// Works on half of each base: doubling a sum of halves gives the wanted point, and
/// dalek encodes a batch of doubles without the inverse square root that each
/// single encoding costs.
pub struct FixedBases {
    halves: Halves,
}

enum Halves {
    /// 30 kB and 9 us for each base.
    Tables(Vec<RistrettoBasepointTable>),
    /// Nothing precomputed: with AVX-512, interleaved multiplication costs 8 us and
    /// then 3.6 us for each base, which beats tables from two bases on.
    Interleaved(Vec<RistrettoPoint>),
}

impl FixedBases {
    /// The faster way on this machine.
    pub fn new(workers: &Workers, bases: &[RistrettoPoint]) -> Self {
        if bases.len() > 1 && cpu::backend() == cpu::AVX512 {
            return Self::interleaved(bases);
        }
        Self::tables(workers, bases)
    }

    /// One table for each base.
    pub fn tables(workers: &Workers, bases: &[RistrettoPoint]) -> Self {
        let tables = workers.map(bases.len(), |range| {
            let halves = halves(&bases[range]);
            halves.iter().map(RistrettoBasepointTable::create).collect::<Vec<_>>()
        });
        Self { halves: Halves::Tables(tables.into_iter().flatten().collect()) }
    }

    /// All bases at once.
    pub fn interleaved(bases: &[RistrettoPoint]) -> Self {
        Self { halves: Halves::Interleaved(halves(bases)) }
    }

    /// How many bases there are.
    pub fn len(&self) -> usize {
        match &self.halves {
            Halves::Tables(tables) => tables.len(),
            Halves::Interleaved(points) => points.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Row i is the sum over j of columns[j][i] * bases[j], constant-time.
    ///
    /// There is one column for each base, all of `rows` scalars.
    pub fn combine(&self, workers: &Workers, columns: &[&[Scalar]], rows: usize) -> Points {
        let halves = build(workers, rows, |row| {
            let scalars = columns.iter().map(|column| &column[row]);
            match &self.halves {
                Halves::Tables(tables) => tables.iter().zip(scalars).map(|(t, s)| t * s).sum(),
                Halves::Interleaved(points) => RistrettoPoint::multiscalar_mul(scalars, points),
            }
        });
        let points = halves.iter().map(|half| half + half).collect();
        let encodings = workers.map(rows, |range| {
            let doubled = RistrettoPoint::double_and_compress_batch(&halves[range]);
            doubled.into_iter().flat_map(|encoding| encoding.to_bytes()).collect::<Vec<u8>>()
        });
        Points::with_encodings(points, encodings.concat())
    }
}

fn halves(bases: &[RistrettoPoint]) -> Vec<RistrettoPoint> {
    let half = Scalar::ONE.div_by_2();
    bases.iter().map(|base| base * half).collect()
}
