"""What a round says about long vectors proved in rows: what coins decide, what a party holds.

Everything here is pure; parties, organiser and rules share it. Read `words` (what is posted),
`inputs` (what is committed to), `challenges` (what coins ask), then `statements`.
`tests/rounds/rows/test_rounds.py` goes through a round of them.

Specification: `specs/14-long-vectors.md`.
"""
