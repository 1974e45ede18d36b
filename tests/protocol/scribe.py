"""Honest parties in straight lines, and a log that holds whatever a test puts into it.

Nothing here uses the party's state machine: what both post has to be accepted by the
same rules. The organiser's messages come from the ledger; tests change them on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bulletin_board.entry import Submission
from bulletin_board.tree import PastRoots, leaf_hash
from commitments.group import Point, SecretScalar, SecretScalarVec
from gopa.contract.beacon import reveal_hash
from gopa.contract.framing import NO_LEAF, MessageSlot, Posted, party_id, sign_message
from gopa.contract.manifest import CommitReveal, Manifest, Mode, Trust
from gopa.contract.organiser import ABORT, CLOSE, OPEN, RESULT, Close
from gopa.contract.party import (
    ACCUSATION,
    COMMIT,
    CONFIRM,
    JOIN,
    OPENING,
    PUBLISH,
    RECOVER,
    REVEAL,
    UNMASK,
    About,
    Accusation,
    Commit,
    Confirm,
    EdgeOpenings,
    Join,
    OpenedEdge,
    Publish,
    Recover,
    RecoveredShare,
    Reveal,
    Unmask,
)
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.contract.words import pack_words, word_type
from gopa.protocol.rules import BeaconValue, Control, Findings, Ledger, RoundPicture, check
from gopa.rounds.context import RoundContext, commit, opening_of
from gopa.rounds.masks import (
    EdgeContext,
    RoundedGaussian,
    SelfContext,
    SharedPoint,
    UniformMask,
    add_edge_words,
    add_self_words,
    deal,
    deal_seed,
    edge_key,
    edge_key_hash,
    edge_mask,
    encode_commitments,
    open_share,
    seal_share,
    seed_hash,
    self_mask,
    share_key,
    shareable_seed,
    sign,
)
from gopa.rounds.proofs import NoiseClaim, PossessionClaim, SharedKeyClaim
from gopa.rounds.statements import noise_coins
from gopa.rounds.toolkit import Toolkit
from tests.randomness import seeded
from wire.domains import INPUT_AND_NOISE
from wire.ed25519 import SigningKey
from wire.randomness import Rng
from wire.secret import SecretBytes
from zkp.noise import NoiseSeed

CODECS: dict[Phase, Any] = {
    Phase.JOIN: JOIN,
    Phase.COINS: REVEAL,
    Phase.COMMIT: COMMIT,
    Phase.ACCUSE: ACCUSATION,
    Phase.PUBLISH: PUBLISH,
    Phase.ROLLBACK: OPENING,
    Phase.CONFIRM: CONFIRM,
    Phase.UNMASK: UNMASK,
    Phase.RECOVER: RECOVER,
}
CONTROLS: dict[Kind, Any] = {
    Kind.OPEN: OPEN,
    Kind.CLOSE: CLOSE,
    Kind.RESULT: RESULT,
    Kind.ABORT: ABORT,
}

Change = Callable[[Any], Any]


@dataclass(eq=False)
class ScribeParty:
    """An honest party: it remembers everything and hides nothing from the test."""

    key: SigningKey
    values: list[int]
    rng: Rng
    world: World
    given: Any = None
    secret: SecretScalar | None = None
    nonce: bytes = b""
    seeds: NoiseSeed | None = None
    noise: list[int] = field(default_factory=list)
    seed: bytes = b""
    mask: Any = None
    output: Any = None
    shares: dict[int, Any] = field(default_factory=dict)
    _points: dict[bytes, Point] = field(default_factory=dict)

    @property
    def author(self) -> bytes:
        return self.key.public.data

    @property
    def own_id(self) -> bytes:
        return party_id(self.author)

    @property
    def place(self) -> int:
        return self.world.place(self.author)

    # What it says in each phase

    def join(self, view: RoundPicture) -> Join:
        world, context = self.world, self.world.context
        group = context.group
        self.secret = group.random_scalars(1, self.rng)[0]
        self._points.clear()
        key = (group.generator * self.secret).to_bytes()
        claim = PossessionClaim(context, view.acts_on, self.own_id, key, b"")
        proof = world.toolkit.proofs.prove_possession(claim, self.secret, self.rng)
        nonce_hash = given = seed = b""
        if isinstance(world.manifest.beacon, CommitReveal):
            self.nonce = self.rng(32)
            session, number = context.session, context.round
            nonce_hash = reveal_hash(session, number, self.own_id, self.nonce)
        if context.proved:
            values = group.secret_scalars(self.values)
            if self.given is None:
                blinding = group.random_scalars(1, self.rng)[0]
                self.given = opening_of(context.key, values, blinding)
            given = self._encoded(self.given)
            seed = self._fresh_seeds(values)
        return Join(view.acts_on, key, proof, nonce_hash, given, seed)

    def reveal(self, view: RoundPicture) -> Reveal:
        return Reveal(view.acts_on, self.nonce)

    def commit(self, view: RoundPicture) -> Commit:
        context = self.world.context
        neighbours = self.world.neighbours(self.place)
        edges = tuple(self._edge_bytes(v) for v in neighbours)
        self.seed = self.rng(32)
        if self.world.manifest.deals_seeds:
            self.seed = shareable_seed(context.group, self.rng).reveal()
        if not context.proved:
            self.noise = self._free_noise()
            own = seed_hash(SecretBytes(self.seed), self._self_context())
            curious = self.world.manifest.trust is Trust.HONEST_BUT_CURIOUS
            own = bytes(32) if curious else own
            return Commit(view.acts_on, edges, own, *self._dealt(neighbours), b"", b"", b"")
        return self._proved(view, edges, neighbours)

    def accusation(self, view: RoundPicture, other: int, about: About = About.EDGE) -> Accusation:
        shared = self._shared(other).to_bytes()
        roll = view.roll
        claim = SharedKeyClaim(
            context=self.world.context,
            acts_on=view.acts_on,
            party=self.own_id,
            own=roll[self.place].key,
            other=roll[other].key,
            shared=shared,
            proof=b"",
        )
        group = self.world.context.group
        assert self.secret is not None
        proof = self.world.toolkit.proofs.prove_shared(claim, self.secret, self.rng)
        assert group.decode_point(shared)
        return Accusation(view.acts_on, about, other, shared, proof)

    def publish(self, view: RoundPicture) -> Publish:
        context = self.world.context
        live = self._live(view)
        if not context.committed_masks:
            return Publish(view.acts_on, self._words(live), b"")
        values, blinding = self.output.values, self.output.blindings[0]
        values = values + self.mask.values
        blinding = blinding + self.mask.blinding
        for other in live:
            mask = self._edge_mask(other)
            factor = context.group.scalar(self._sign(other))
            values = values + mask.values * factor
            blinding = blinding + mask.blinding * factor
        value = values.reveal().to_bytes()
        return Publish(view.acts_on, value, blinding.reveal().to_bytes())

    def opening(self, view: RoundPicture) -> EdgeOpenings:
        gone = [v for v in self._live(view) if v not in view.members]
        opened = {other for pair in self.world.opened for other in pair if self.place in pair}
        owed = sorted(set(gone) - opened)
        edges = tuple(OpenedEdge(v, self._edge_key(v).reveal()) for v in owed)
        self.world.opened |= {(self.place, v) for v in owed}
        return EdgeOpenings(view.acts_on, edges)

    def confirm(self, view: RoundPicture) -> Confirm:
        return Confirm(view.acts_on)

    def unmask(self, view: RoundPicture) -> Unmask:
        return Unmask(view.acts_on, self.seed)

    def recover(self, view: RoundPicture) -> Recover:
        shares = []
        for dealer in view.dealers[self.place]:
            posted = self.world.commits[dealer]
            at = self.world.neighbours(dealer).index(self.place)
            key = self._pad_key(dealer, dealer, self.place)
            share = open_share(self.world.context.group, posted.shares[at], key)
            shares.append(RecoveredShare(dealer, share.to_bytes().reveal()))
        return Recover(view.acts_on, tuple(shares))

    # How it works that out

    def _fresh_seeds(self, values: SecretScalarVec) -> bytes:
        context = self.world.context
        law = self.world.manifest.terms.noise
        hedge = context.transcript(INPUT_AND_NOISE, bytes(32), self.own_id)
        self.seeds = law.seed(context.noise_setting, values, hedge, rng=self.rng)
        return b"" if self.seeds is None else self.seeds.posted

    def _free_noise(self) -> list[int]:
        radius = self.world.manifest.terms.noise.radius
        draws = np.frombuffer(self.rng(8 * len(self.values)), dtype=np.uint64)
        return [int(draw % np.uint64(2 * radius + 1)) - radius for draw in draws]

    def _drawn_noise(self, view: RoundPicture) -> SecretScalarVec:
        context = self.world.context
        assert self.seeds is not None
        return self.seeds.noise(noise_coins(context, view.joint, self.own_id))

    def _proved(
        self, view: RoundPicture, edges: tuple[bytes, ...], neighbours: list[int]
    ) -> Commit:
        context, group = self.world.context, self.world.context.group
        if self.seeds is None:  # the exact input is masked, under the commitment of its join
            self.noise, self.output, posted = [0] * len(self.values), self.given, b""
        else:
            noise = self._drawn_noise(view)
            order = group.order
            self.noise = [n - order if n > order // 2 else n for n in noise.reveal().ints()]
            blinding = group.random_scalars(1, self.rng)[0]
            self.output = opening_of(context.key, self.given.values + noise, blinding)
            posted = self._encoded(self.output)
        self.mask = self_mask(
            group, SecretBytes(self.seed), self._self_context(), context.dimension
        )
        own = commit(context.key, self.mask.values, self.mask.blinding).to_bytes()
        joined = self.world.joins[self.place]
        claim = NoiseClaim(
            context=context,
            acts_on=view.acts_on,
            party=self.own_id,
            joint=view.joint,
            given=joined.input,
            seed=joined.seed,
            output=posted,
            proof=b"",
            weighing=b"",
        )
        proofs = self.world.toolkit.proofs
        proof, weighing = proofs.prove_noise(claim, self.seeds, self.given, self.output, self.rng)
        coefficients, shares = self._dealt(neighbours)
        return Commit(view.acts_on, edges, own, coefficients, shares, claim.output, proof, weighing)

    def _dealt(self, neighbours: list[int]) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        needed = self.world.manifest.terms.shares_needed(len(neighbours))
        if needed is None or not neighbours:
            return (), ()
        group = self.world.context.group
        points = [v + 1 for v in neighbours]
        if self.world.manifest.deals_seeds:
            dealt = deal_seed(group, SecretBytes(self.seed), points, needed, self.rng)
            data = dealt.commitments.to_bytes()
        else:
            dealt = deal(group, self.mask, points, needed, self.rng)
            data = encode_commitments(dealt.commitments)
        sealed = tuple(
            seal_share(group, share, self._pad_key(v, self.place, v))
            for v, share in zip(neighbours, dealt.shares, strict=True)
        )
        return tuple(data[at : at + 32] for at in range(0, len(data), 32)), sealed

    def _live(self, view: RoundPicture) -> list[int]:
        """Neighbours that are listed and posted the same bytes."""
        listed = next(each.members for each in view.lists if each.phase is Phase.COMMIT)
        mine = dict(
            zip(
                self.world.neighbours(self.place),
                self.world.commits[self.place].edges,
                strict=True,
            )
        )
        live = []
        for other, edge in mine.items():
            if other in listed:
                at = self.world.neighbours(other).index(self.place)
                if self.world.commits[other].edges[at] == edge:
                    live.append(other)
        return live

    def _words(self, live: list[int]) -> bytes:
        manifest = self.world.manifest
        total = np.array(self.values, dtype=np.int64) + np.array(self.noise, dtype=np.int64)
        words = total.astype(word_type(manifest.word_width))
        if manifest.trust is Trust.MALICIOUS:
            add_self_words(words, SecretBytes(self.seed), self._self_context())
        for other in live:
            add_edge_words(words, self._edge_key(other), self._sign(other), self._law())
        return pack_words(words, manifest.word_width)

    def _encoded(self, opening: Any) -> bytes:
        return commit(self.world.context.key, opening.values, opening.blindings[0]).to_bytes()

    def _law(self) -> UniformMask | RoundedGaussian:
        terms = self.world.manifest.terms
        return UniformMask() if terms.mask == "uniform" else RoundedGaussian(terms.mask_deviation)

    def _other_id(self, other: int) -> bytes:
        return party_id(self.world.view.roll[other].author)

    def _sign(self, other: int) -> int:
        return sign(self.own_id, self._other_id(other))

    def _shared(self, other: int) -> Point:
        assert self.secret is not None
        key = self.world.view.roll[other].key
        if key not in self._points:
            self._points[key] = self.world.context.group.decode_point(key) * self.secret
        return self._points[key]

    def _edge_context(self, other: int) -> EdgeContext:
        context = self.world.context
        return EdgeContext.between(
            context.session, context.round, self.own_id, self._other_id(other)
        )

    def _edge_key(self, other: int) -> SecretBytes:
        return edge_key(SharedPoint(self._shared(other)), self._edge_context(other))

    def _pad_key(self, other: int, dealer: int, recipient: int) -> SecretBytes:
        ids = [party_id(self.world.view.roll[each].author) for each in (dealer, recipient)]
        return share_key(SharedPoint(self._shared(other)), self._edge_context(other), *ids)

    def _edge_mask(self, other: int) -> Any:
        context = self.world.context
        return edge_mask(context.group, self._edge_key(other), self._law(), context.dimension)

    def _edge_bytes(self, other: int) -> bytes:
        context = self.world.context
        if not context.committed_masks:
            return edge_key_hash(self._edge_key(other), self._edge_context(other))
        mask = self._edge_mask(other)
        return commit(context.key, mask.values, mask.blinding).to_bytes()

    def _self_context(self) -> SelfContext:
        context = self.world.context
        return SelfContext(context.session, context.round, self.own_id)


@dataclass(eq=False)
class World:
    """One session in one log, kept in lists."""

    manifest: Manifest
    toolkit: Toolkit
    organiser: SigningKey
    keys: list[SigningKey]
    name: str = "world"
    raws: list[bytes] = field(default_factory=list)
    log: list[Posted] = field(default_factory=list)
    leaves: list[bytes] = field(default_factory=list)
    opened: set[tuple[int, int]] = field(default_factory=set)
    commits: dict[int, Commit] = field(default_factory=dict)
    joins: dict[int, Join] = field(default_factory=dict)
    said: list[Control] = field(default_factory=list)
    _seqs: dict[tuple[bytes, int, int], int] = field(default_factory=dict)
    _previous: dict[bytes, bytes] = field(default_factory=dict)
    _joins: dict[bytes, Join] = field(default_factory=dict)
    _places: dict[bytes, int] = field(default_factory=dict)
    _viewed: tuple[tuple[Ledger, int], RoundPicture] | None = None

    def __post_init__(self) -> None:
        self.forget()
        dimension = self.manifest.terms.dimension
        self.keys = sorted(self.keys, key=lambda key: key.public.data)
        self.parties = [
            ScribeParty(
                key,
                [(3 * number + i) % 7 for i in range(dimension)],
                seeded(f"{self.name} {number}"),
                self,
            )
            for number, key in enumerate(self.keys)
        ]
        if self.manifest.weighted:
            for party in self.parties:
                party.values[-1] = 7
        self.post(self.organiser, Phase.ORGANISER, self.manifest.to_bytes(), Kind.MANIFEST, 0)

    # What tests look at

    def forget(self) -> None:
        """Begin with an empty log."""
        self.raws, self.log, self.leaves = [], [], []
        self.past = PastRoots(self.leaves)
        rng = seeded(f"{self.name} ledger")
        self.ledger = Ledger(self.toolkit, rng=rng, root_at=self.past.at)

    @cached_property
    def session(self) -> bytes:
        return self.manifest.session

    @property
    def view(self) -> RoundPicture:
        """The round after the last entry; made once for each."""
        seen = self.ledger, len(self.log)
        if self._viewed is None or self._viewed[0] != seen:
            found = self.ledger.state.round
            assert found is not None
            self._viewed = seen, found
        return self._viewed[1]

    @property
    def context(self) -> RoundContext:
        return RoundContext(self.manifest, self.session, self.view.number, self.toolkit.group)

    def place(self, author: bytes) -> int:
        return self._places[author]

    def at(self, place: int) -> ScribeParty:
        """The party at a position of the roll."""
        author = self.view.roll[place].author
        return next(party for party in self.parties if party.author == author)

    def neighbours(self, place: int) -> list[int]:
        graph = self.view.graph
        assert graph is not None
        return [int(each) for each in graph.neighbours(place)]

    def expected_sums(self, places: Iterable[int]) -> tuple[int, ...]:
        """Inputs plus noise of these parties, in the clear."""
        chosen = [self.at(place) for place in places]
        rows = [[x + n for x, n in zip(p.values, p.noise, strict=True)] for p in chosen]
        return tuple(map(sum, zip(*rows, strict=True)))

    def check(self, **options: Any) -> Findings:
        """A fresh evaluation of the whole log."""
        rng = seeded(f"{self.name} check")
        return check(self.log, self.toolkit, **{"rng": rng} | options)

    # What tests do

    def post(  # noqa: PLR0917 - a place in the log
        self,
        key: SigningKey,
        phase: Phase,
        body: bytes,
        kind: Kind | None = None,
        number: int | None = None,
        seq: int | None = None,
    ) -> Posted:
        """Sign a message and append it; the last entry of it."""
        number = self.view.number if number is None else number
        author = key.public.data
        slot = author, int(phase), number
        place = MessageSlot(
            session=self.session,
            phase=phase,
            kind=KIND_IN[phase] if kind is None else kind,
            round=number,
            seq=self._seqs.get(slot, 0) if seq is None else seq,
            previous=self._previous.get(author, NO_LEAF),
        )
        signed = sign_message(body, place, key)
        self._seqs[slot] = max(self._seqs.get(slot, 0), signed.next_seq)
        self._previous[author] = signed.leaf
        for raw in signed.entries:
            self.append(raw)
        return self.log[-1]

    def append(self, raw: bytes) -> None:
        """An entry as it is."""
        posted = Posted(len(self.log), leaf_hash(raw), Submission.decode(raw).entry)
        self.raws.append(raw)
        self.log.append(posted)
        self.leaves.append(posted.leaf)
        self.ledger.observe(posted)

    def say(self, party: ScribeParty, phase: Phase, message: Any, **where: Any) -> Posted:
        """A party's message."""
        posted = self.post(party.key, phase, CODECS[phase].encode(message), **where)
        if phase is Phase.JOIN:
            self._joins.setdefault(party.author, message)
        if phase is Phase.COMMIT:
            self.commits.setdefault(party.place, message)
        return posted

    def again(self, party: ScribeParty, phase: Phase, message: Any) -> Posted:
        """A second message for the slot of the party's first one."""
        return self.say(party, phase, message, seq=0)

    def control(
        self,
        cut: int | None = None,
        change: Change | None = None,
        *,
        checkpoint: bytes = b"",
        beacon: BeaconValue | None = None,
    ) -> Control:
        """The organiser's next message, changed by the test if it likes."""
        where = len(self.log) if cut is None else cut
        due = self.ledger.next_control(where, checkpoint=checkpoint, beacon=beacon)
        assert due is not None
        self.said.append(due)
        body = due.body
        if change is not None:
            body = CONTROLS[due.kind].encode(self._rooted(due.message, change(due.message)))
        if due.kind is Kind.OPEN:
            self.opened, self.commits, self._joins, self._places = set(), {}, {}, {}
        self.post(self.organiser, Phase.ORGANISER, body, due.kind, due.round)
        state = self.ledger.state.round
        if state is not None and state.roll and not self._places:
            self._places = {each.author: place for place, each in enumerate(state.roll)}
            self.joins = {p: self._joins[a] for a, p in self._places.items() if a in self._joins}
        return due

    def _rooted(self, due: Any, said: Any) -> Any:
        """A close of which the cut was moved has the root that the log has there."""
        moved = isinstance(due, Close) and isinstance(said, Close) and due.cut != said.cut
        root = self.past.at(said.cut) if moved else None
        return said if root is None else replace(said, root=root)

    def phase(
        self,
        skip: Iterable[int] = (),
        change: Mapping[int, Change] | None = None,
    ) -> None:
        """Everybody that the open phase waits for says what an honest party says.

        Parties are numbered in the order of their keys. A change that returns None stands
        for silence.
        """
        view = self.view
        phase = view.opens
        assert phase is not None
        silent = set(skip)
        for number, party in enumerate(self.parties):
            if party.author not in view.expected or number in silent:
                continue
            said = _SAYS[phase](party, view)
            message = (change or {}).get(number, lambda each: each)(said)
            if message is not None:
                self.say(party, phase, message)

    def run(
        self,
        skip: Mapping[Phase, Iterable[int]] | None = None,
        change: Mapping[Phase, Mapping[int, Change]] | None = None,
        until: Phase | None = None,
    ) -> None:
        """A whole round, from its open; or up to the messages of one phase."""
        if self.ledger.state.round is None or self.view.ended is not None:
            self.control()
        while self.view.ended is None and not self.ledger.state.over:
            phase = self.view.opens
            if phase is not None:
                if phase is until:
                    return
                self.phase((skip or {}).get(phase, ()), (change or {}).get(phase))
            self.control()


_SAYS: dict[Phase, Callable[[ScribeParty, RoundPicture], Any]] = {
    Phase.JOIN: ScribeParty.join,
    Phase.COINS: ScribeParty.reveal,
    Phase.COMMIT: ScribeParty.commit,
    Phase.PUBLISH: ScribeParty.publish,
    Phase.ROLLBACK: ScribeParty.opening,
    Phase.CONFIRM: ScribeParty.confirm,
    Phase.UNMASK: ScribeParty.unmask,
    Phase.RECOVER: ScribeParty.recover,
}


def changed(**fields: Any) -> Change:
    """The same message with other fields."""
    return lambda message: replace(message, **fields)


__all__ = ["Mode", "ScribeParty", "World", "changed"]
