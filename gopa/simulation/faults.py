"""Lies: messages with a content that the rules do not allow. Each is one lie.

Every fault takes `rounds`, the numbers of the rounds in which it acts, or None for all.
What the rules make of it is in its first line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from commitments import ristretto255
from gopa.masks import deal_seed, shareable_seed
from gopa.messages.party import (
    ACCUSATION,
    COMMIT,
    JOIN,
    OPENING,
    PUBLISH,
    RECOVER,
    REVEAL,
    UNMASK,
    About,
    Accusation,
    Commit,
    EdgeOpenings,
    Join,
    OpenedEdge,
    Publish,
    Recover,
    RecoveredShare,
    Reveal,
    Unmask,
)
from gopa.messages.phases import Phase
from gopa.party import Post
from gopa.party.committing import sealed_shares, share_point
from gopa.party.states import Committed, Comparing
from gopa.rounds.proofs import SharedKeyClaim
from gopa.simulation.contents import body_of
from gopa.simulation.departures import Honest, Rounds, acts
from gopa.simulation.scene import PartyScene
from wire.codec import Codec

_Content = TypeVar("_Content")


@dataclass(frozen=True, slots=True)
class Altered(Honest, ABC, Generic[_Content]):
    """Changes the content of its message of one phase."""

    phase: ClassVar[Phase]
    codec: ClassVar[Codec[Any]]
    rounds: Rounds = None

    def says(self, scene: PartyScene, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not self.phase:
            return [post]
        return [scene.altered(post, self.codec, self.change)]

    @abstractmethod
    def change(self, content: _Content) -> _Content:
        """What is said instead."""


@dataclass(frozen=True, slots=True)
class Copied(Honest, ABC, Generic[_Content]):
    """Waits for a victim's message of one phase and mixes it with its own."""

    phase: ClassVar[Phase]
    codec: ClassVar[Codec[Any]]
    victim: bytes
    rounds: Rounds = None

    def says(self, scene: PartyScene, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not self.phase:
            return [post]
        scene.memory["own", self] = body_of(post.entries)
        return []

    def last_words(self, scene: PartyScene, phase: Phase) -> Sequence[Post]:
        own = scene.memory.pop(("own", self), None) if phase is self.phase else None
        seen = scene.board.stream(self.victim, self.phase, scene.round)
        if own is None or not seen:
            return []
        theirs = self.codec.decode(b"".join(posted.entry.body for posted in seen))
        return [scene.sign(phase, self.codec.encode(self.mix(self.codec.decode(own), theirs)))]

    @abstractmethod
    def mix(self, own: _Content, theirs: _Content) -> _Content:
        """What is said instead."""


@dataclass(frozen=True, slots=True)
class BadPossession(Altered[Join]):
    """Joins with a key that it does not prove to know: off the roll ([J3])."""

    phase = Phase.JOIN
    codec = JOIN

    def change(self, content: Join) -> Join:
        return replace(content, possession=flipped(content.possession))


@dataclass(frozen=True, slots=True)
class ChangedInput(Altered[Join]):
    """Joins with a commitment to another input: off the roll of a retry ([J5])."""

    phase = Phase.JOIN
    codec = JOIN

    def change(self, content: Join) -> Join:
        return replace(content, input=_point())


@dataclass(frozen=True, slots=True)
class CopiedKey(Copied[Join]):
    """Joins with another party's key and proof of possession: off the roll ([J3])."""

    phase = Phase.JOIN
    codec = JOIN

    def mix(self, own: Join, theirs: Join) -> Join:
        return replace(own, key=theirs.key, possession=theirs.possession)


@dataclass(frozen=True, slots=True)
class CopiedSeed(Copied[Join]):
    """Joins with another party's C_y: off the roll, because the later one goes ([J5])."""

    phase = Phase.JOIN
    codec = JOIN

    def mix(self, own: Join, theirs: Join) -> Join:
        return replace(own, seed=theirs.seed)


@dataclass(frozen=True, slots=True)
class BadNonce(Altered[Reveal]):
    """Reveals another nonce than the one whose hash it joined with: no member ([V1])."""

    phase = Phase.COINS
    codec = REVEAL

    def change(self, content: Reveal) -> Reveal:
        return replace(content, nonce=flipped(content.nonce))


@dataclass(frozen=True, slots=True)
class BadProof(Altered[Commit]):
    """Commits with a proof that does not hold: off the list ([K3])."""

    phase = Phase.COMMIT
    codec = COMMIT

    def change(self, content: Commit) -> Commit:
        return replace(content, proof=flipped(content.proof, 40))


@dataclass(frozen=True, slots=True)
class CopiedProof(Copied[Commit]):
    """Commits with another party's output and proof: off the list ([K3])."""

    phase = Phase.COMMIT
    codec = COMMIT

    def mix(self, own: Commit, theirs: Commit) -> Commit:
        return replace(own, output=theirs.output, proof=theirs.proof)


@dataclass(frozen=True, slots=True)
class BadEdge(Altered[Commit]):
    """Commits to something else on its edge number `edge`: void, and convicted ([A3])."""

    phase = Phase.COMMIT
    codec = COMMIT
    edge: int = 0

    def change(self, content: Commit) -> Commit:
        return replace(content, edges=_with(content.edges, self.edge, _point()))


@dataclass(frozen=True, slots=True)
class BadShare(Altered[Commit]):
    """Deals a share that does not fit its coefficients: convicted ([A4])."""

    phase = Phase.COMMIT
    codec = COMMIT
    recipient: int = 0

    def change(self, content: Commit) -> Commit:
        spoiled = flipped(content.shares[self.recipient])
        return replace(content, shares=_with(content.shares, self.recipient, spoiled))


@dataclass(frozen=True, slots=True)
class OtherSeed(Honest):
    """Deals right shares of another seed than its self-mask's: convicted once recovered ([U5])."""

    rounds: Rounds = None

    def says(self, scene: PartyScene, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not Phase.COMMIT:
            return [post]
        return [scene.altered(post, COMMIT, lambda content: of_another_seed(scene, content))]


@dataclass(frozen=True, slots=True)
class WrongMask(Altered[Publish]):
    """Publishes another value: off the list in full mode ([P1])."""

    phase = Phase.PUBLISH
    codec = PUBLISH

    def change(self, content: Publish) -> Publish:
        return replace(content, value=flipped(content.value))


@dataclass(frozen=True, slots=True)
class WrongOpening(Altered[EdgeOpenings]):
    """Opens its first owed edge with another key: off the next list ([O2])."""

    phase = Phase.ROLLBACK
    codec = OPENING

    def change(self, content: EdgeOpenings) -> EdgeOpenings:
        first = content.edges[0]
        wrong = OpenedEdge(first.neighbour, flipped(first.key))
        return replace(content, edges=_with(content.edges, 0, wrong))


@dataclass(frozen=True, slots=True)
class WrongSeed(Altered[Unmask]):
    """Opens another seed than the one it committed to: as if it had not ([U1])."""

    phase = Phase.UNMASK
    codec = UNMASK

    def change(self, content: Unmask) -> Unmask:
        return replace(content, seed=flipped(content.seed))


@dataclass(frozen=True, slots=True)
class WrongRecovery(Altered[Recover]):
    """Gives a share that it did not receive: the share does not count ([U3])."""

    phase = Phase.RECOVER
    codec = RECOVER

    def change(self, content: Recover) -> Recover:
        first = content.shares[0]
        wrong = RecoveredShare(first.dealer, flipped(first.share))
        return replace(content, shares=_with(content.shares, 0, wrong))


@dataclass(frozen=True, slots=True)
class FalseAccusation(Honest):
    """Accuses a neighbour that did nothing wrong: convicted itself ([A1], [A5]).

    With `proved` the shared key and its proof are right, and show that nothing is wrong.
    """

    about: About = About.EDGE
    proved: bool = True
    rounds: Rounds = None

    def says(self, scene: PartyScene, post: Post) -> Sequence[Post]:
        stage = scene.before.stage
        if not acts(self.rounds, post) or post.phase is not Phase.PUBLISH:
            return [post]
        if not isinstance(stage, Comparing):
            return [post]
        return [self._accusation(scene, stage), post]

    def _accusation(self, scene: PartyScene, comparing: Comparing) -> Post:
        committed = comparing.committed
        view = committed.view
        accused = next(v for v in view.neighbours if v in comparing.listed)
        parties = view.enrolment.roll.parties
        shared = committed.edges[accused].shared.reveal().to_bytes()
        claim = SharedKeyClaim(
            context=view.context,
            acts_on=comparing.leaf,
            party=view.own_id,
            own=parties[view.position].key,
            other=parties[accused].key,
            shared=shared,
            proof=b"",
        )
        proof = scene.toolkit.proofs.prove_shared(claim, committed.secret, scene.rng)
        proof = proof if self.proved else flipped(proof)
        content = Accusation(comparing.leaf, self.about, accused, shared, proof)
        return scene.sign(Phase.ACCUSE, ACCUSATION.encode(content))


def of_another_seed(scene: PartyScene, content: Commit) -> Commit:
    """The commit with shares of a fresh seed, which fit the coefficients that come with them."""
    stage = scene.state.stage
    if not isinstance(stage, Committed) or not scene.manifest.deals_seeds:
        return content
    view, group, needed = stage.view, scene.toolkit.group, len(content.coefficients)
    points = [share_point(v) for v in view.neighbours]
    dealt = deal_seed(group, shareable_seed(group, scene.rng), points, needed, scene.rng)
    data = dealt.commitments.to_bytes()
    return replace(
        content,
        coefficients=tuple(data[at : at + 32] for at in range(0, len(data), 32)),
        shares=sealed_shares(view, stage.edges, dealt),
    )


def flipped(data: bytes, at: int = 0) -> bytes:
    """The same bytes but for one bit."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _point() -> bytes:
    """A valid point that no honest party posts: its logarithm is known."""
    return ristretto255().generator.to_bytes()


def _with(items: tuple[Any, ...], at: int, item: object) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])
