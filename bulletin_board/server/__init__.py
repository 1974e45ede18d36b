"""The board over HTTP.

Read `service` (what a board offers and its limits), `app` (paths to handlers), `accepting` (how an
entry comes in), then `run`, which puts all of it together for `gopa board serve`. What may be asked
for stands in one table:

    >>> from bulletin_board.server.service import ServerLimits
    >>> ServerLimits().body_bytes
    65535

Specification: `specs/05-bulletin-board.md`, section 8. `gopa board serve` runs one.
"""
