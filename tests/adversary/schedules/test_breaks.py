"""The search finds out about builds in which something is broken."""

from __future__ import annotations

import pytest

from gopa.sessions.vault.errors import StateDiverged
from tests.adversary.schedules.breaks import BREAKS
from tests.adversary.schedules.searching import search

NUMBER = 1


@pytest.mark.soak
@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_build_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = BREAKS[name]
    search(20, NUMBER, broken.worlds)
    broken.patch(monkeypatch)
    with pytest.raises((AssertionError, StateDiverged)):
        search(broken.examples, NUMBER, broken.worlds, shrinks=False)
