"""Proofs about long vectors that are committed to row by row.

`lengths` bounds the squares of an input and of noise, `masking` says what posted words are made of;
`length_prover` and `mask_prover` make the proofs that these two check. Both proofs consist of the
same parts: tests that entries are small (`product_tests`), a sum over a cube of indices that comes
down to one point (`sumcheck`), and an opening of the rows at that point (`opening`). Everything is
cut to the shape that `shape` computes from public numbers:

    >>> from zkp.rows.shape import RowShape
    >>> shape = RowShape(4000)
    >>> shape.rows, shape.width
    (32, 128)

Specification: `specs/14-long-vectors.md`.
"""
