"""Reads what the parties of a simulation keep secret, for tests that compare a result with it."""

from __future__ import annotations

import numpy as np

from commitments import Opening
from gopa.contract.framing import party_id
from gopa.protocol.party.states import Committed, PartyState, RowVectors
from gopa.rounds.masks import SelfContext, add_self_words, self_mask
from gopa.rounds.rows.challenges import signed_permutation
from wire.errors import UsageError


def noise_for_tests(state: PartyState, author: bytes, values: tuple[int, ...]) -> tuple[int, ...]:
    """The noise that a party has just committed to: its masked input, less mask and input.

    Raises:
        UsageError: the party is not in the stage right behind its commit.
    """
    stage = state.stage
    if not isinstance(stage, Committed):
        raise UsageError("the noise is known between the closes of coins and commit", "state")
    context = stage.view.context
    place = SelfContext(context.session, context.round, party_id(author))
    if isinstance(stage.masked, Opening):
        if stage.seed is None:
            raise UsageError("full mode has self-masks", "state")
        own = self_mask(context.group, stage.seed, place, context.dimension)
        plain = (stage.masked.values - own.values).reveal().ints()
        return tuple(
            _centred(y - x, context.group.order) for y, x in zip(plain, values, strict=True)
        )
    if isinstance(stage.masked, RowVectors):
        moved = signed_permutation(context, stage.view.joint, place.party)
        noise = moved.applied(stage.masked.drawn.rows.values)
        return tuple(noise[: context.dimension].tolist())
    words = stage.masked.copy()
    if stage.seed is not None:
        add_self_words(words, stage.seed, place, -1, group=context.group)
    plain = words.astype(np.uint64).tolist()
    return _differences(plain, values, 1 << (8 * words.itemsize))


def _differences(masked: list[int], values: tuple[int, ...], modulus: int) -> tuple[int, ...]:
    return tuple(_centred(y - x, modulus) for y, x in zip(masked, values, strict=True))


def _centred(value: int, modulus: int) -> int:
    """The representative next to zero."""
    reduced = value % modulus
    return reduced - modulus if reduced > modulus // 2 else reduced
