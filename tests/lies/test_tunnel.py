"""Every lie of a party in a session over a tunnel: its board turns some away, which name nobody."""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest

from bulletin_board import RefusalReason, Refused
from gopa.contract.organiser import RemovalCause
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Script
from tests.lies.table import LEAVER, LIAR, LIES, PARTIES
from tests.lies.tunnel import TunnelledLies

TOLD: Final = [name for name, lie in LIES.items() if "exact" in lie.worlds]
REASONS: Final = {"04-S4": RefusalReason.TOO_LARGE, "04-O5": RefusalReason.PHASE}
"""Why a board takes no message that breaks one of these rules."""


@cache
def require_honest() -> None:
    """The session in which nobody lies has all parties in its sum."""
    world = TunnelledLies.told(Script())
    assert world.findings().faults == ()
    assert world.last().sums == (sum(range(PARTIES)),)


@pytest.mark.thirds
@pytest.mark.parametrize("name", TOLD)
def test_the_liar_alone_is_named_and_left_out(name: str) -> None:
    require_honest()
    lie = LIES[name]
    world = TunnelledLies.told(lie.script(rows=False))
    found = world.findings()
    keys = [each.public.data for each in world.identities]
    away = {reason for rule, reason in REASONS.items() if rule in lie.rules}
    assert away <= {each.reason for each in world.refused if isinstance(each, Refused)}
    rules = set() if away else lie.rules
    assert {(each.author, each.rule) for each in found.faults} == {
        (keys[LIAR], rule) for rule in rules
    }
    (only,) = found.rounds
    gone = {LEAVER} if lie.beside == "leaves" else set()
    gone |= {LIAR} if lie.left else set()
    included = set(range(PARTIES)) - gone
    assert {keys.index(only.roll[place]) for place in only.final or ()} == included
    assert only.sums == (sum(included),)
    rows = [(row.phase, row.cause) for row in only.removals if row.author == keys[LIAR]]
    left = [] if lie.left is None else [lie.left]
    if away and lie.left:  # as if it had said nothing, and who never joined is not removed
        phase, _ = lie.left
        left = [] if phase is Phase.JOIN else [(phase, RemovalCause.ABSENT)]
    assert rows == left
    assert only.recovered == (() if lie.recovered is None else (lie.recovered,))
