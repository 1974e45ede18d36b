"""Proves statements about long vectors that are committed to row by row (specification 14).

`lengths` bounds the squares of an input and of noise, `masking` says what posted words are made of;
`length_prover` and `mask_prover` make the proofs that these two check. Both proofs consist of the
same parts: tests that entries are small, a sum over a cube of indices that comes down to one point,
and an opening of the rows at that point.
"""
