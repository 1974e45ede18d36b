"""A board that repeats, drops and reorders what others signed: it changes no sum, blames nobody."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

import pytest

from bulletin_board import TrustPolicy
from gopa.adversary import Malicious
from gopa.adversary.deeds import leave, skip, wrong_edge
from gopa.adversary.malicious import script_of
from gopa.adversary.outcome import accepting
from gopa.adversary.setup import RECOVERING, SIGNED, SMALL, TWO_ROUNDS
from gopa.auditing import Anchors, Report, audit
from gopa.protocol.simulation.board import SimulatedBoard

PARTS: Final = range(3)
TRIES: Final = 20
"""In each part, of which a drawn one is tried by default."""

MOST_CHANGES: Final = 4

SESSIONS: Final = {
    "leaver": (SMALL, Malicious(3, at="publish", do=leave())),
    "recovery": (RECOVERING, Malicious(3, at="unmask", do=skip())),
    "void edge": (SIGNED, Malicious(1, at="commit", do=wrong_edge(0))),
    "retry": (TWO_ROUNDS, Malicious(1, at="unmask", do=skip(), rounds={1})),
}


@dataclass(frozen=True, slots=True)
class Played:
    """A log with its entries, and the key of the one that lied or left."""

    log: SimulatedBoard
    anchors: Anchors
    entries: tuple[bytes, ...]
    liar: bytes

    def shown(self, entries: Sequence[bytes]) -> Report:
        """What an audit says of other entries under the same keys."""
        return audit(self.log.copied(entries).reader(), anchors=self.anchors)


@cache
def played(name: str) -> Played:
    """One of the sessions, in whose log only the liar may be convicted."""
    setup, liar = SESSIONS[name]
    simulation = setup.simulation(script_of([liar]))
    simulation.run_round(setup.inputs())
    log, manifest = simulation.parties[0].access.board, simulation.manifest
    digest = hashlib.sha256(manifest.to_bytes()).digest()
    anchors = Anchors(TrustPolicy.single_log(log.signer.verifier), digest)
    entries = tuple(log.reader().entries())
    found = Played(log, anchors, entries, simulation.parties[liar.party].author)
    assert culprits(found.shown(entries)) <= {found.liar}
    return found


def culprits(report: Report) -> set[bytes]:
    """The authors that are convicted; a board has none."""
    return {each.author for each in report.faults if each.proved and each.author}


def sums(report: Report) -> list[object]:
    return [each.sums for each in report.rounds]


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("part", PARTS)
def test_entries_that_are_repeated_change_nothing(part: int) -> None:
    """Each of them, in several later places."""
    session = played("leaver")
    entries, twin = session.entries, session.shown(session.entries)
    assert accepting(twin)
    assert sums(twin) != [None]
    for at, raw in list(enumerate(entries))[part :: len(PARTS)]:
        for later in {at + 1, (at + len(entries)) // 2 + 1, len(entries)}:
            report = session.shown((*entries[:later], raw, *entries[later:]))
            assert accepting(report)
            assert sums(report) == sums(twin)
            assert culprits(report) == set()


@pytest.mark.thirds
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", SESSIONS)
def test_whatever_a_board_leaves_out_and_reorders_blames_nobody_honest(
    name: str, part: int
) -> None:
    session, chance = played(name), Random(f"{name}, part {part}")
    for _ in range(TRIES):
        assert culprits(session.shown(changed(session.entries, chance))) <= {session.liar}


def changed(raws: Sequence[bytes], chance: Random) -> list[bytes]:
    """Some are repeated, left out, or moved."""
    found = list(raws)
    for _ in range(chance.randint(1, MOST_CHANGES)):
        place, other = chance.randrange(len(found)), chance.randrange(len(found))
        deed = chance.randrange(3)
        if deed == 0:
            found.insert(other, found[place])
        elif deed == 1:
            found.pop(place)
        else:
            found.insert(other, found.pop(place))
    return found
