"""Branches of a forked log, shown to the real machines of parties that have published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from bulletin_board.entry import Submission
from bulletin_board.tree import RightEdge
from gopa.adversary.setup import short_vectors
from gopa.contract.framing import NO_LEAF, MessageSlot, Posted, sign_message
from gopa.contract.organiser import CLOSE, Close, Members, pack_members
from gopa.contract.party import CONFIRM, OPENING, RECOVER, Confirm
from gopa.contract.phases import Kind, Phase
from gopa.contract.rows import NOT_LIVE, PROVE, TESTS_SIZE, Prove
from gopa.contract.terms import Terms
from gopa.protocol.party import Event, Fetch, Fetched, Output, PartyState, Post, with_root
from gopa.protocol.party.rows import said_of, shown_masks
from gopa.protocol.party.states import Published
from gopa.protocol.simulation import Simulation, SimulationOptions
from gopa.protocol.simulation.party import SimulatedParty
from gopa.rounds.toolkit import Toolkit
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import FULL, inputs_for
from tests.randomness import seeded
from tests.small_worlds.forks import Branch, Forked, Gained
from tests.small_worlds.graphs import drawn_as, pair
from tests.small_worlds.play import DOUBLES, terms_of
from tests.small_worlds.row_terms import SHORT


@dataclass(slots=True)
class Forking:
    """A round of real parties up to publish, and an organiser that goes on as it likes."""

    simulation: Simulation
    states: dict[int, PartyState] = field(default_factory=dict)
    inputs: list[list[int]] = field(default_factory=list)

    @classmethod
    def of(cls, world: Forked) -> Forking:
        terms = terms_of(world.parties, world.survivors, world.loss, world.threshold)
        return cls.begun(terms, Toolkit(proofs=DOUBLES, graph=drawn_as(world.edges)))

    @classmethod
    def in_rows(cls, world: Forked) -> Forking:
        """The same where vectors are proved row by row."""
        bounds = ("dimension", "low", "steps", "squared_sensitivity", "squared_norm")
        law = ("noise", "noise_square", "spike", "epsilon")
        rows = {each: getattr(SHORT, each) for each in (*bounds, *law)}
        terms = terms_of(world.parties, world.survivors, world.loss, world.threshold)
        terms = replace(terms, **rows, late=world.parties - world.survivors)
        return cls.begun(terms, Toolkit(proofs=SWIFT.proofs, graph=drawn_as(world.edges)))

    @classmethod
    def begun(cls, terms: Terms, toolkit: Toolkit | None = None) -> Forking:
        states: dict[int, PartyState] = {}

        def watch(actor: SimulatedParty) -> None:
            stage = actor.state.stage
            if isinstance(stage, Published) and actor.index not in states:
                states[actor.index] = actor.state

        options = SimulationOptions(toolkit=toolkit, watch=watch, remember_noise=True)
        simulation = Simulation(terms, rng=seeded("forking"), setting=FULL, options=options)
        in_rows = bool(terms.squared_norm)
        inputs = short_vectors(terms, weighted=False) if in_rows else inputs_for(terms)
        simulation.run_round(inputs)
        return cls(simulation, states, [list(row) for row in inputs])

    def follow(
        self,
        branch: Branch,
        corrupt: frozenset[int],
        *,
        misled: frozenset[int] = frozenset(),
        stays: bool = False,
    ) -> Gained:
        """What the parties that are shown a branch say on it.

        Where words are proved, the corrupt ones sign a false proof beside the right one if any
        are `misled`: these are shown the false one, which disputes all edges. Behind that they
        are in no list, unless the organiser lies and each `stays`.
        """
        telling = _Telling(self, branch, corrupt, dict(self.states), misled=misled, stays=stays)
        return telling.told()

    def close_of_publish(self) -> Posted:
        """The honest one, in the place of which the branches have others."""
        organiser = self.simulation.manifest.organiser
        entries = self.simulation.parties[0].access.board.stream(organiser, Phase.ORGANISER, 1)
        return next(
            each
            for each in entries
            if each.entry.kind == Kind.CLOSE
            and CLOSE.decode(each.entry.body).phase is Phase.PUBLISH
        )


@dataclass(slots=True)
class _Telling:
    """One branch as it grows: `leaves` are those of its entries, `said` has confirmations."""

    forking: Forking
    branch: Branch
    corrupt: frozenset[int]
    states: dict[int, PartyState]
    leaves: list[bytes] = field(default_factory=list)
    seq: int = 0
    leaf: bytes = NO_LEAF
    gained: Gained = field(default_factory=Gained)
    said: dict[int, Posted] = field(default_factory=dict)
    misled: frozenset[int] = frozenset()
    stays: bool = False
    false: dict[int, Posted] = field(default_factory=dict)

    def told(self) -> Gained:
        honest = self.forking.close_of_publish()
        board = self.forking.simulation.parties[0].access.board
        self.leaves = [each.leaf for each in board.entries[: honest.index]]
        self.seq = honest.entry.seq
        self.leaf = CLOSE.decode(honest.entry.body).acts_on
        in_rows = bool(self.forking.simulation.manifest.terms.squared_norm)
        out = bool(self.misled) and not self.stays
        left = self.branch.listed - (self.corrupt if out else frozenset())
        final = len(left) == len(self.forking.simulation.parties) and not self.misled
        posts = self._close(Phase.PUBLISH, self.branch.listed, final=final and not in_rows)
        if in_rows:
            proved = self._proved(posts)
            posts = self._close(Phase.PROVE, self.branch.listed, final=final, confirmed=proved)
        if not final:
            self._log(posts, Phase.ROLLBACK)
            if left != self.branch.listed:
                self._log(self._close(Phase.ROLLBACK, left), Phase.ROLLBACK)
            posts = self._close(Phase.ROLLBACK, left, final=True)
        confirmed = self._confirmed(posts, left)
        posts = self._close(Phase.CONFIRM, confirmed, confirmed=confirmed)
        unmasked = self._log(posts, Phase.UNMASK)
        self.gained |= Gained(seeds=frozenset(unmasked))
        if self.forking.simulation.manifest.terms.threshold is not None:
            bare = self.corrupt & left | frozenset(unmasked)
            self._log(self._close(Phase.UNMASK, bare), Phase.RECOVER)
        return self.gained

    def _proved(self, posts: dict[int, list[Posted]]) -> frozenset[int]:
        """Who proves its words; corrupt parties do on every branch, and tell what suits them."""
        for u in sorted(self.corrupt & self.branch.listed):
            posts[u] = _posted(self._said_by(u, right=True))
            if self.misled:
                false, *_ = _posted(self._said_by(u, right=False), self.index)
                self.leaves.append(false.leaf)
                self.false[u] = false
        return frozenset(self._log(posts, Phase.PROVE))

    def _said_by(self, u: int, *, right: bool) -> Sequence[bytes]:
        """What is right about each of its edges, or its own mask in the place of each of them.

        Nobody but an audit looks at the proof, so there is none.
        """
        stage = self.states[u].stage
        assert isinstance(stage, Published)
        shown = shown_masks(stage, self.leaf, len(self.branch.listed))
        edges = said_of(stage.keys, shown)
        edges = edges if right else dict.fromkeys(edges, shown.self_mask)
        neighbours = stage.view.neighbours
        said = Prove(
            self.leaf,
            tuple(edges.get(v, NOT_LIVE) for v in neighbours),
            shown.self_mask,
            bytes(TESTS_SIZE),
            b"",
        )
        session = self.forking.simulation.session
        place = MessageSlot(session, Phase.PROVE, Kind.PROVE, 1, 0, NO_LEAF)
        key = self.forking.simulation.parties[u].access.key
        return sign_message(PROVE.encode(said), place, key).entries

    def _close(
        self,
        phase: Phase,
        members: frozenset[int],
        *,
        final: bool = False,
        confirmed: Iterable[int] = (),
    ) -> dict[int, list[Posted]]:
        """Post a close; what those who are shown it then say."""
        simulation = self.forking.simulation
        packed = pack_members(members, len(simulation.parties))
        root = self._root_at(self.index)
        close = Close(self.leaf, self.index, root, phase, b"", Members(packed, final))
        place = MessageSlot(simulation.session, Phase.ORGANISER, Kind.CLOSE, 1, self.seq, self.leaf)
        signed = sign_message(CLOSE.encode(close), place, simulation._organiser_access.key)
        posted = _posted(signed.entries, self.index)[0]
        self.leaves.append(posted.leaf)
        self.seq, self.leaf = self.seq + 1, posted.leaf
        right = {u: self.said[u] for u in confirmed}
        both = {u: right | self.false if u in self.misled else right for u in self.branch.shown}
        self.false = {}
        return {
            u: self._shown(u, posted, sorted(both[u].values(), key=lambda each: each.index))
            for u in sorted(self.branch.shown)
        }

    @property
    def index(self) -> int:
        """That of the next entry."""
        return len(self.leaves)

    def _root_at(self, size: int) -> bytes:
        edge = RightEdge()
        edge.extend(self.leaves[:size])
        return edge.root()

    def _shown(self, u: int, posted: Posted, read: Sequence[Posted]) -> list[Posted]:
        outputs = self._step(u, with_root(self.states[u].chain, posted, self._root_at))
        for fetch in [each for each in outputs if isinstance(each, Fetch)]:
            answer = [each for each in read if each.entry.author.data in fetch.authors]
            outputs = self._step(u, Fetched(fetch.phase, tuple(answer)))
        return _posted([raw for post in outputs if isinstance(post, Post) for raw in post.entries])

    def _step(self, u: int, event: Event) -> tuple[Output, ...]:
        party = self.forking.simulation.parties[u].party
        self.states[u], outputs = party.step(self.states[u], event)
        return outputs

    def _confirmed(self, posts: dict[int, list[Posted]], final: frozenset[int]) -> frozenset[int]:
        """Who confirms; corrupt parties always do."""
        for u in sorted(self.corrupt & final):
            place = MessageSlot(
                self.forking.simulation.session, Phase.CONFIRM, Kind.CONFIRM, 1, 0, NO_LEAF
            )
            key = self.forking.simulation.parties[u].access.key
            signed = sign_message(CONFIRM.encode(Confirm(self.leaf)), place, key)
            posts[u] = _posted(signed.entries)
        return frozenset(self._log(posts, Phase.CONFIRM))

    def _log(self, posts: dict[int, list[Posted]], phase: Phase) -> list[int]:
        """The posts of a phase stand in the log now, and their authors know it."""
        spoke = []
        for u in sorted(posts):
            for posted in [each for each in posts[u] if each.entry.phase == phase]:
                landed = replace(posted, index=self.index)
                self.leaves.append(landed.leaf)
                self._understand(u, landed)
                if u not in self.corrupt:
                    self._step(u, landed)
                spoke.append(u)
        return spoke

    def _understand(self, u: int, posted: Posted) -> None:
        body = posted.entry.body
        if posted.entry.phase in {Phase.PROVE, Phase.CONFIRM}:
            if not posted.entry.chunk:  # what follows a head is for audits
                self.said[u] = posted
        elif posted.entry.phase == Phase.ROLLBACK:
            edges = OPENING.decode(body).edges
            self.gained |= Gained(opened=frozenset(pair(u, each.neighbour) for each in edges))
        elif posted.entry.phase == Phase.RECOVER:
            shares = RECOVER.decode(body).shares
            self.gained |= Gained(shares=frozenset((u, each.dealer) for each in shares))


def _posted(entries: Sequence[bytes], index: int = 0) -> list[Posted]:
    raws = [Submission.decode(raw) for raw in entries]
    return [Posted(index, each.leaf, each.entry) for each in raws]
