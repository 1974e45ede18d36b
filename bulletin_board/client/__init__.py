"""The reader's and writer's side of a board, which trusts nothing.

Read `board` (`BoardClient`: submit, update, look up), `state` (what it remembers, so that a board
cannot show it two histories), `forks` (what it does when one did), then `http`; `aio` is the same
for programs with an event loop. How long it waits is said once:

    >>> from bulletin_board.client.board import Patience
    >>> Patience().attempts
    8

Specification: `specs/05-bulletin-board.md`, section 9. `tests/board/test_client.py` uses one.
"""
