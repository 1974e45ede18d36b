"""Collecting all secrets of a session while it runs, and everything that is logged."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gopa.sessions.parties.durable import DurableParty
from gopa.sessions.parties.stepped import Attempt
from tests.protocol.simulation.worlds import SCALAR
from tests.sessions.hostile.prying import secrets_of
from zkp.noise import GaussianTable

if TYPE_CHECKING:
    import pytest

ROW = (7, 13, 2, 19, 11, 17, 3, 5, 18, 6, 14, 1)
VALUE = np.array(ROW) / 20
FINE = replace(
    SCALAR,
    rounds=1,
    attempts=1,
    charged=0,
    dimension=len(ROW),
    squared_sensitivity=400 * len(ROW),
    noise=GaussianTable.with_scale("8", bits=20, rows=31),
)
PASSPHRASE = "correct horse battery staple"  # noqa: S105 - a secret that the test looks for


class SecretsSeen:
    """Collects every secret of every party, whenever one takes a step."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.secrets: dict[bytes, str] = {}
        self.shown: list[str] = []
        take, attempt = DurableParty._keep, DurableParty.attempt
        seen = self

        def keep(party: DurableParty, step: object) -> None:
            seen.look(party, step)
            take(party, step)  # type: ignore[arg-type]
            seen.look(party)

        def attempted(party: DurableParty, event: object) -> Attempt:
            found = attempt(party, event)  # type: ignore[arg-type]
            seen.shown += [repr(found), repr(event)]
            return found

        monkeypatch.setattr(DurableParty, "_keep", keep)
        monkeypatch.setattr(DurableParty, "attempt", attempted)

    def look(self, party: DurableParty, *others: object) -> None:
        for found in secrets_of((party.state, *others), "state"):
            if len(found.data) >= 8:
                self.secrets.setdefault(found.data, found.name)
        self.secrets[party._secret.reveal()] = "round secret"
        self.shown += [repr(party), repr(party.state), repr(party._vault), *map(repr, others)]


@contextmanager
def everything_logged() -> Iterator[io.StringIO]:
    """All loggers at their lowest level, into a text."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s %(args)r"))
    root = logging.getLogger()
    before, loggers = root.level, [logging.getLogger(n) for n in root.manager.loggerDict]
    levels = [each.level for each in loggers]
    root.addHandler(handler)
    root.setLevel(1)
    for each in loggers:
        each.setLevel(1)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)


def value_spellings() -> dict[bytes, str]:
    """Some neighbouring components of the value, as numbers are printed side by side."""
    floats = [str(each) for each in VALUE[:4]]
    integers = [str(each) for each in ROW[:4]]
    texts = {sign.join(some) for some in (floats, integers) for sign in (", ", " ", ",", "\n")}
    return {text.encode(): "value" for text in (*texts, str(VALUE)[:20], repr(ROW[3:9])[1:-1])}
