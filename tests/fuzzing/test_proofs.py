"""Proofs of a round after any change: refused, whoever made the change, and never by a crash."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import ristretto255
from tests.fuzzing.mutations import changed
from tests.fuzzing.test_codecs import EXAMPLES
from tests.rounds.test_proofs import MAKERS, REAL, bad

NAMES = ("party", "acts_on", "joint")
"""Fields that are not read but bound: nobody sends them in a claim."""


def _with(claim: Any, name: str, value: bytes) -> Any:
    return replace(claim, **{name: value})


@pytest.mark.parametrize("maker", MAKERS)
def test_changed_claims_are_bad(maker: str) -> None:
    claim, other = (MAKERS[maker](REAL, ristretto255(), number) for number in (1, 2))
    assert not bad(REAL, claim, other)
    sent = [
        each.name
        for each in fields(claim)
        if isinstance(getattr(claim, each.name), bytes) and each.name not in NAMES
    ]
    corpus = {name: [getattr(each, name) for each in (claim, other)] for name in sent}

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sent))
        value = data.draw(changed(corpus[name]) | st.binary(max_size=200))
        if value != getattr(claim, name):
            assert bad(REAL, other, _with(claim, name, value)) == {1}

    run()
