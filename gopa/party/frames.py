"""What a traceback would keep alive."""

from __future__ import annotations


def forget_frames(error: BaseException) -> None:
    """Drop all frames of an error: they hold the state, with every secret of the round ([X6])."""
    chain: list[BaseException | None] = [error]
    while chain:
        found = chain.pop()
        if found is not None and found.__traceback__ is not None:
            found.__traceback__ = None
            chain += [found.__cause__, found.__context__]
