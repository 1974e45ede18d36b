"""Witnesses: they cosign one history of a log and no other, and are asked to (C2SP tlog-witness).

Read `judging` (pure: which request deserves a cosignature), `service` (a witness that remembers),
then `asking` and `collecting` (the board's side) and `opening` (what a board does before it
starts).

    >>> from bulletin_board.witness.judging import AddCheckpoint
    >>> AddCheckpoint.parse(b"not a request")
    Traceback (most recent call last):
    wire.errors.MalformedMessage: ...

Specification: `specs/05-bulletin-board.md`, section 10. How to run two:
`docs/board/two-witnesses.md`.
"""
