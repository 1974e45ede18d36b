"""Masks, shares and shared points stay in: the accidental ways out are closed."""

from __future__ import annotations

import copy
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from commitments.group import Group
from gopa.rounds.masks import UniformMask, deal, edge_mask, edge_masks, self_mask
from tests.randomness import seeded
from tests.rounds.masks.samples import OWN, both_ends, edge_key_of, secret
from wire.errors import UsageError


def secrets(group: Group) -> list[Any]:
    own = self_mask(group, secret("seed"), OWN, 1)
    dealing = deal(group, own, [1, 2], 2, seeded(1))
    return [
        both_ends(group)[0],
        edge_key_of(group),
        edge_mask(group, secret("key"), UniformMask(), 1),
        edge_masks(group, [secret("key")], UniformMask(), 1),
        own,
        dealing,
        dealing.shares[0],
        dealing.shares[0].to_bytes(),
    ]


@pytest.mark.parametrize(
    "attempt",
    [pickle.dumps, copy.copy, copy.deepcopy, hash, lambda s: s == s, lambda s: s != 1],  # noqa: PLR0124
    ids=["pickle", "copy", "deepcopy", "hash", "equal", "unequal"],
)
def test_ways_out(group: Group, attempt: Callable[[Any], Any]) -> None:
    for value in secrets(group):
        with pytest.raises(UsageError) as caught:
            attempt(value)
        assert len("".join(traceback.format_exception(caught.value))) < 4000


def test_nothing_prints(group: Group) -> None:
    point = both_ends(group)[0].reveal().to_bytes().hex()
    for value in secrets(group):
        text = f"{value} {value!r} {[value]}"
        assert len(text) < 200
        assert point[:8] not in text
        assert "secret" in text.lower()
