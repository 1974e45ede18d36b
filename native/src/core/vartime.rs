//! Public scalars seen as small signed integers.

use curve25519_dalek::{RistrettoPoint, Scalar};

/// A public scalar as sign and magnitude, the magnitude the smaller of s and order - s
/// whenever that is short enough to save time.
#[derive(Clone, Copy)]
pub struct Signed {
    /// The magnitude, as a scalar.
    pub magnitude: Scalar,
    /// Whether the value is order - magnitude.
    pub negative: bool,
}

impl Signed {
    /// The order is 2^252 + c with c < 2^125, so a scalar above 2^252 is -m, m < 2^125.
    pub fn of(scalar: &Scalar) -> Self {
        let bytes = scalar.as_bytes();
        let negative = bytes[31] == 0x10 && bytes[16..31].iter().all(|&b| b == 0);
        let magnitude = if negative { -scalar } else { *scalar };
        Self { magnitude, negative }
    }

    /// Bits in the magnitude.
    pub fn bits(&self) -> usize {
        let bytes = self.magnitude.as_bytes();
        match bytes.iter().rposition(|&b| b != 0) {
            None => 0,
            Some(top) => 8 * top + 8 - bytes[top].leading_zeros() as usize,
        }
    }

    /// The low 64 bits of the magnitude.
    pub fn low_bits(&self) -> u64 {
        let [low, ..] = self.magnitude.as_bytes().as_chunks().0 else { return 0 };
        u64::from_le_bytes(*low)
    }

    /// The point whose multiple by the magnitude is wanted.
    pub fn apply(&self, point: &RistrettoPoint) -> RistrettoPoint {
        if self.negative { -point } else { *point }
    }
}

/// One scalar multiple; its time grows with the bits of the magnitude.
pub fn multiply(scalar: &Scalar, point: &RistrettoPoint) -> RistrettoPoint {
    let signed = Signed::of(scalar);
    let base = signed.apply(point);
    if signed.magnitude == Scalar::ONE {
        return base;
    }
    // The second term is zero: what counts is that this function starts at the
    // highest digit that is set.
    RistrettoPoint::vartime_double_scalar_mul_basepoint(&signed.magnitude, &base, &Scalar::ZERO)
}
