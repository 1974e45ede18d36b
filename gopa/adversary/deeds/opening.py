"""Lies about what is opened after the values are out, and accusations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gopa.adversary.deeds.kinds import change, flipped, key_of, knowing, only_at
from gopa.adversary.malicious import Deed
from gopa.contract.party import (
    ACCUSATION,
    OPENING,
    About,
    Accusation,
    EdgeOpenings,
    OpenedEdge,
    Recover,
    RecoveredShare,
)
from gopa.contract.phases import Phase
from gopa.protocol.party import Post
from gopa.protocol.party.states import Accusing, Comparing, Confirmed, Published
from gopa.protocol.simulation import Behaviour
from gopa.protocol.simulation.access import PartyAccess, first_entry
from gopa.protocol.simulation.script import Honest, Rounds, acts
from gopa.rounds.proofs import SharedKeyClaim


def wrong_key() -> Deed:
    """Opens its first owed edge with another key."""

    def lie(content: EdgeOpenings) -> EdgeOpenings:
        first, *rest = content.edges
        return replace(content, edges=(replace(first, key=flipped(first.key)), *rest))

    return only_at(Phase.ROLLBACK, change(lie))


def open_more(neighbour: int) -> Deed:
    """Opens the edge to somebody who is still there, beside those that it owes."""

    def lie(access: PartyAccess, content: EdgeOpenings) -> EdgeOpenings:
        stage = access.before.stage
        if not isinstance(stage, Published):
            return content
        place = stage.view.enrolment.positions.get(key_of(access, neighbour))
        owed = {each.neighbour for each in content.edges}
        if place is None or place in owed or place not in stage.keys:
            return content
        more = (*content.edges, OpenedEdge(place, stage.keys[place].reveal()))
        return replace(content, edges=tuple(sorted(more, key=lambda each: each.neighbour)))

    return only_at(Phase.ROLLBACK, knowing(lie))


def wrong_seed() -> Deed:
    """Opens another seed than the one that it committed to."""
    return only_at(
        Phase.UNMASK, change(lambda content: replace(content, seed=flipped(content.seed)))
    )


def wrong_recovery() -> Deed:
    """Gives out another share than it was dealt."""

    def lie(content: Recover) -> Recover:
        first, *rest = content.shares
        wrong = RecoveredShare(first.dealer, flipped(first.share))
        return replace(content, shares=(wrong, *rest))

    return only_at(Phase.RECOVER, change(lie))


def betray() -> Deed:
    """Confirms the final close, then opens the edges that it keeps inside of it."""

    def made(phase: Phase, rounds: Rounds) -> Behaviour:
        return _Betraying(phase, rounds)

    return only_at(Phase.CONFIRM, made)


def accuse(
    party: int | None = None,
    about: About = About.EDGE,
    *,
    proved: bool = True,
    forged: bool = False,
) -> Deed:
    """Accuses a party that did nothing wrong: this one, or its first neighbour that is listed.

    With `proved` the shared key and its proof are right, and show that nothing is wrong.
    With `forged` another key is shown with the proof for the right one.
    """

    def made(phase: Phase, rounds: Rounds) -> Behaviour:
        return _Accusing(phase, rounds, party, about, proved, forged)

    return only_at(Phase.ACCUSE, made)


@dataclass(frozen=True, slots=True)
class _Betraying(Honest):
    phase: Phase
    rounds: Rounds

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        before, now = access.before.stage, access.state.stage
        if acts(self.rounds, post) and isinstance(before, Published) and isinstance(now, Confirmed):
            kept = [(v, before.keys[v]) for v in sorted(before.keys) if v in now.final]
            edges = tuple(OpenedEdge(v, key.reveal()) for v, key in kept)
            access.memory["betrayed"] = EdgeOpenings(now.leaf, edges), before.next_seq
        return [post]

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        content, seq = (
            access.memory.pop("betrayed", (None, 0)) if phase is self.phase else (None, 0)
        )
        if content is None or not content.edges:
            return []
        return [access.sign(Phase.ROLLBACK, OPENING.encode(content), seq)]


@dataclass(frozen=True, slots=True)
class _Accusing(Honest):
    phase: Phase
    rounds: Rounds
    party: int | None
    about: About
    proved: bool
    forged: bool

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post):
            return [post]
        if post.phase is Phase.ACCUSE:
            access.memory["accusations", access.round] = first_entry(post.entries).seq + 1
        stage = access.before.stage
        comparing = stage.comparing if isinstance(stage, Accusing) else stage
        if post.phase is not Phase.PUBLISH or not isinstance(comparing, Comparing):
            return [post]
        accused = self._accused(access, comparing)
        if accused is None:
            return [post]
        body = ACCUSATION.encode(self._content(access, comparing, accused))
        seq = access.memory.pop(("accusations", access.round), 0)
        return [access.sign(Phase.ACCUSE, body, seq), post]

    def _accused(self, access: PartyAccess, comparing: Comparing) -> int | None:
        view = comparing.committed.view
        if self.party is None:
            return next((v for v in view.neighbours if v in comparing.listed), None)
        return view.enrolment.positions.get(key_of(access, self.party))

    def _content(self, access: PartyAccess, comparing: Comparing, accused: int) -> Accusation:
        committed, leaf = comparing.committed, comparing.leaf
        view = committed.view
        parties = view.enrolment.roll.parties
        shared = view.context.group.decode_point(parties[accused].key) * committed.secret
        claim = SharedKeyClaim(
            context=view.context,
            acts_on=leaf,
            party=view.own_id,
            own=parties[view.position].key,
            other=parties[accused].key,
            shared=shared.to_bytes(),
            proof=b"",
        )
        proof = access.toolkit.proofs.prove_shared(claim, committed.secret, access.rng)
        shown = proof if self.proved else flipped(proof)
        group = view.context.group
        key = (group.generator * group.random_scalars(1, access.rng)[0]).to_bytes()
        return Accusation(leaf, self.about, accused, key if self.forged else claim.shared, shown)
