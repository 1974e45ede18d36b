"""Builds with one thing broken: a search of schedules has to find out about each."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from gopa.contract.framing import Message
from gopa.contract.party import OPENING, REVEAL, UNMASK, EdgeOpenings, OpenedEdge, Unmask
from gopa.contract.phases import Phase
from gopa.protocol.party import opening
from gopa.protocol.party.chain import Chain
from gopa.protocol.party.states import Unmasked
from gopa.protocol.rules.final_phases import UnmaskRules
from gopa.protocol.rules.join import CoinsRules
from gopa.protocol.rules.mailbox import Mailbox, Sorter
from gopa.protocol.rules.publish import PublishRules
from gopa.protocol.rules.rounds import RoundSequence
from gopa.rounds.real_proofs import RealProofs
from gopa.sessions.parties.stepped import StepRng
from tests.adversary.schedules.arena import Arena
from tests.adversary.schedules.worlds import RowDoubles
from wire.secret import SecretBytes

Patch = Callable[[pytest.MonkeyPatch], None]

_FAR: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Broken:
    """What is broken, in which worlds it shows, and what liars do there: empty for everything."""

    patch: Patch
    worlds: tuple[str, ...] = ("four", "five")
    deeds: frozenset[str] = frozenset()
    examples: int = 600


def opens_listed_edges(patch: pytest.MonkeyPatch) -> None:
    """Parties that owe an edge open those to listed parties as well."""
    honest = opening._open

    def generous(party: Any, state: Any, published: Any, inside: Any, closed: Any) -> Any:
        state, posts = honest(party, state, published, inside, closed)
        if not posts or not state.stage.keys:
            return state, posts
        edges = tuple(OpenedEdge(v, key.reveal()) for v, key in sorted(published.keys.items()))
        body = OPENING.encode(EdgeOpenings(closed.leaf, edges))
        state, post = party.say(state, Phase.ROLLBACK, body, published.next_seq)
        return state, [post]

    patch.setattr(opening, "_open", generous)


def opens_after_confirming(patch: pytest.MonkeyPatch) -> None:
    """Parties open one more edge behind their confirmation."""
    honest = opening._confirm

    def chatty(party: Any, state: Any, published: Any, inside: Any, closed: Any) -> Any:
        state, posts = honest(party, state, published, inside, closed)
        v, key = min(published.keys.items())
        body = OPENING.encode(EdgeOpenings(closed.leaf, (OpenedEdge(v, key.reveal()),)))
        state, post = party.say(state, Phase.ROLLBACK, body, published.next_seq)
        return state, [*posts, post]

    patch.setattr(opening, "_confirm", chatty)


def unmasks_before_counting(patch: pytest.MonkeyPatch) -> None:
    """Parties unmask whoever confirmed (04-F2)."""

    def hasty(party: Any, state: Any, counting: Any, found: Any) -> Any:
        del found
        confirmed = counting.confirmed
        stage = Unmasked(
            confirmed.opened, confirmed.view, confirmed.final, counting.listed, confirmed.shares
        )
        body = UNMASK.encode(Unmask(counting.leaf, confirmed.seed.reveal()))
        state, post = party.say(replace(state, stage=stage), Phase.UNMASK, body)
        return state, [post]

    patch.setattr("gopa.protocol.party.machine.count", hasty)


def draws_anew(patch: pytest.MonkeyPatch) -> None:
    """A step that is made again has other chance than the first time (12-R1)."""
    honest, begin = StepRng.begin, Arena.__init__
    asked: Counter[bytes] = Counter()

    def fresh(self: StepRng, secret: SecretBytes, chain: bytes) -> None:
        place = secret.reveal() + chain
        asked[place] += 1
        honest(self, secret, chain + asked[place].to_bytes(8))

    def forgetful(self: Arena, *given: Any) -> None:
        asked.clear()
        begin(self, *given)

    patch.setattr(StepRng, "begin", fresh)
    patch.setattr(Arena, "__init__", forgetful)


def ignores_cuts(patch: pytest.MonkeyPatch) -> None:
    """Late messages of every phase count (04-C2)."""
    honest = Sorter.sort
    patch.setattr(Sorter, "sort", lambda self, authors, _: honest(self, authors, _FAR))


def counts_late_values(patch: pytest.MonkeyPatch) -> None:
    """Values behind the cut count (04-P2)."""
    honest = Sorter.sort

    def sort(self: Any, authors: Any, cut: int) -> Any:
        return honest(self, authors, _FAR if self.phase is Phase.PUBLISH else cut)

    patch.setattr(Sorter, "sort", sort)


def believes_cuts(patch: pytest.MonkeyPatch) -> None:
    """A cut may lie ahead (04-C2)."""
    honest = RoundSequence._proceed

    def proceed(self: RoundSequence, message: Message, said: Any) -> None:
        honest(self, replace(message, first=max(message.first, said.cut)), said)

    patch.setattr(RoundSequence, "_proceed", proceed)
    patch.setattr(Chain, "require_cut", lambda *_: None)


def _believing(patch: pytest.MonkeyPatch, name: str) -> None:
    def nobody(self: object, claims: Sequence[object], *_: object, **__: object) -> frozenset[int]:
        del self, claims
        return frozenset()

    for proofs in (RowDoubles, RealProofs):
        patch.setattr(proofs, name, nobody)


def believes_accusers(patch: pytest.MonkeyPatch) -> None:
    """Accusations need no proof (04-A2)."""
    _believing(patch, "bad_shared")


def believes_noise(patch: pytest.MonkeyPatch) -> None:
    """Inputs and noise need no proof (04-K3)."""
    _believing(patch, "bad_noises")


def believes_values(patch: pytest.MonkeyPatch) -> None:
    """Masked values need not open their commitments (04-P1)."""
    patch.setattr(PublishRules, "_wrong_among", lambda *_: frozenset())


def believes_seeds(patch: pytest.MonkeyPatch) -> None:
    """Self-masks need not be those that were committed to (04-U1)."""
    patch.setattr(UnmaskRules, "_wrong", lambda *_: frozenset())


def believes_nonces(patch: pytest.MonkeyPatch) -> None:
    """Nonces need not fit their hashes (04-V1)."""
    patch.setattr(CoinsRules, "_read", lambda _, message: REVEAL.decode(message.body))


def strikes_nobody(patch: pytest.MonkeyPatch) -> None:
    """Who signs two entries for a slot stays in the lists (04-E3)."""
    patch.setattr(Mailbox, "is_struck", lambda *_: False)


def blames_whoever_saw_another_log(patch: pytest.MonkeyPatch) -> None:
    """Faults convict, whatever log their author was shown (04-E6)."""
    patch.setattr(sys.modules["gopa.protocol.rules.forks"], "_weighed", lambda fault, _: fault)


BREAKS: Final[dict[str, Broken]] = {
    "parties open edges to listed parties": Broken(opens_listed_edges),
    "parties open edges behind their confirmation": Broken(opens_after_confirming),
    "restarts draw anew": Broken(draws_anew),
    "cuts are ignored": Broken(ignores_cuts),
    "cuts may lie ahead": Broken(believes_cuts),
    "late values count": Broken(counts_late_values),
    "accusations need no proof": Broken(believes_accusers),
    "noise needs no proof": Broken(believes_noise),
    "values need not open": Broken(believes_values, deeds=frozenset({"spoil value"})),
    "any seed unmasks": Broken(believes_seeds, deeds=frozenset({"wrong seed"})),
    "any nonce counts": Broken(believes_nonces, deeds=frozenset({"another nonce"})),
    "nobody is struck": Broken(strikes_nobody, deeds=frozenset({"twice", "twice later"})),
    "forks excuse nobody": Broken(blames_whoever_saw_another_log),
}
