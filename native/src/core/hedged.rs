//! Nonces that depend on a witness, without a copy of either outside of wiped memory.

use curve25519_dalek::Scalar;
use zeroize::Zeroizing;

use super::fault::Fault;
use super::shake::{RATE, Shake128};

/// n scalars from 64 bytes each of the sponge that starts with `session` and absorbs
/// `fresh` and the encodings of the witness, both framed.
pub fn hedged_scalars(
    n: usize,
    session: &[u8; 32],
    fresh: &[u8],
    witness: &[Scalar],
) -> Result<Vec<Scalar>, Fault> {
    let mut sponge = Shake128::default();
    let mut start = [0u8; RATE];
    start[..session.len()].copy_from_slice(session);
    sponge.absorb(&start);
    sponge.absorb(&frame_length(fresh.len())?);
    sponge.absorb(fresh);
    sponge.absorb(&frame_length(witness.len().saturating_mul(32))?);
    for scalar in witness {
        sponge.absorb(scalar.as_bytes());
    }
    let mut output = sponge.squeeze();
    let mut wide = Zeroizing::new([0u8; 64]);
    let mut scalars = Vec::with_capacity(n);
    for _ in 0..n {
        output.fill(&mut *wide);
        scalars.push(Scalar::from_bytes_mod_order_wide(&wide));
    }
    Ok(scalars)
}

fn frame_length(length: usize) -> Result<[u8; 4], Fault> {
    let length = u32::try_from(length)
        .map_err(|_| Fault::usage("at most 2^32 - 1 bytes fit in one frame"))?;
    Ok(length.to_le_bytes())
}
