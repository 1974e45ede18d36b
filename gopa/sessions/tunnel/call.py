"""Works out one call of a party that is called: from a state and a request to what is said.

Requests are believed as far as they prove themselves. `specs/12-sessions.md`, section 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from bulletin_board import SignedCheckpoint, Submission
from bulletin_board.client.forks import FORK_EVIDENCE, ForkEvidence, verify_fork
from bulletin_board.entry import verify_entry
from bulletin_board.note import open_checkpoint
from bulletin_board.tree import RightEdge, leaf_hash, old_root, verify_consistency, verify_subset
from gopa.aggregation.values import Value
from gopa.contract.framing import Posted
from gopa.contract.manifest import DrandBeacon, Manifest
from gopa.protocol.party import (
    Dated,
    Event,
    Fetch,
    Fetched,
    Finished,
    Halted,
    LocalPolicy,
    Output,
    Part,
    PostedClose,
    Supplied,
    TimedOut,
    Witnessed,
)
from gopa.protocol.party.states import Done, Enrolled, Invited, Outside, Stopped, opened_of
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.contribution import encoding_for, offered
from gopa.sessions.following import ManifestSearch, entries_of_session, matching
from gopa.sessions.parties.stepped import blames, lacking
from gopa.sessions.ticket import Ticket, checked_manifest
from gopa.sessions.tunnel.called import CalledParty
from gopa.sessions.tunnel.hiding import restored
from gopa.sessions.tunnel.messages import (
    REPLY,
    VERSION,
    HiddenEntry,
    OwnEntry,
    TunnelEntry,
    TunnelReply,
    TunnelRequest,
    Want,
)
from gopa.sessions.tunnel.state import OpenedState, SeedRng, TunnelState
from wire.ed25519 import SigningKey
from wire.errors import (
    InvalidProof,
    MalformedMessage,
    ProtocolError,
    SuspectedPartyOrBoard,
)
from wire.secret import Guarded


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TunnelInput(Guarded):
    """The value for a round, in its own units; a session with weights needs one."""

    value: Value
    weight: float | None = None
    clip: bool = False


Supply = Callable[[int], TunnelInput | None]
"""Called with the number of a logical round that is open; None takes no part in it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a party stands. `last` is the last round that ended for it.

    `part` is why it is not in the round that is open, `error` why it says nothing more.
    """

    counter: int
    round: int
    part: Part | None
    needs_value: bool
    last: Finished | None
    over: bool
    error: ProtocolError | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallParts(Guarded):
    """What every call of a party needs."""

    ticket: Ticket
    identity: SigningKey
    policy: LocalPolicy
    most: Decimal | None
    sums: bool
    clock: Callable[[], float]
    toolkit: Toolkit | None


class PartyCall(Guarded):
    """One call worked out: from a state and a request to what is kept and answered."""

    def __init__(
        self,
        parts: CallParts,
        opened: OpenedState,
        shown: TunnelRequest | None,
        told: bytes,
    ) -> None:
        state = opened.content
        self._parts = parts
        self._state = state
        self._shown = shown
        self._author = parts.identity.public.data
        self._slots = opened.slots
        self._checkpoint = state.checkpoint
        self._evidence = b""
        self._manifest_body = state.manifest
        self._manifest = self._read_manifest() if state.manifest else None
        self._start, self._spent = state.start, state.spent
        self._needs_log = False
        self._now = self._time()
        self._rng = SeedRng(state.seed, told, str(self._now).encode())
        self._horizon = self._seen()
        self._pool: tuple[Posted, ...] = ()
        self._roots: Mapping[int, bytes] = {}
        self._hidden = frozenset[int]()
        self._party = self._restored(self._manifest) if self._manifest and state.machine else None

    def run(self, supply: Supply | None) -> None:
        """Take what the request shows, as far as it proves itself."""
        request = self._request
        signed = self._verified(request)
        if self._evidence:
            return
        self._pool = self._entries(request, signed)
        self._checkpoint, self._horizon = request.checkpoint, signed
        self._enter()
        if self._party is None:
            return
        if self._hear(self._party):
            self._supply(self._party, supply)

    def leave(self) -> None:
        """Wait no longer in the open round."""
        if self._party is not None:
            self._party.step(TimedOut(self._party.state.chain.round))

    def following(self) -> TunnelState:
        """What is kept until the next call. Behind a fork only the evidence is (12-W6)."""
        machine, slots = b"", tuple[bytes, ...]()
        if self._party is not None and not self._evidence:
            machine, slots = self._party.checkpoint()
        return replace(
            self._state,
            seed=self._rng.following(machine, self._evidence),
            spent=self._spent,
            manifest=self._manifest_body,
            checkpoint=self._checkpoint,
            start=self._start,
            machine=machine,
            slots=slots,
            evidence=self._evidence,
        )

    def reply(self, state: TunnelState) -> bytes:
        """What the host is told."""
        party = None if state.evidence else self._party
        stage = None if party is None else party.state.stage
        fetch = None if party is None else party.wanted
        want = Want.LOG if self._needs_log else Want.ENTRIES
        return REPLY.encode(
            TunnelReply(
                version=VERSION,
                session=self._parts.ticket.session,
                party=self._author,
                size=0 if self._horizon is None else self._horizon.size,
                start=self._start,
                want=want if fetch else Want.NOTHING,
                fetch=fetch,
                needs_value=party is not None and self._lacks_value(party),
                over=bool(state.evidence) or isinstance(stage, Done | Stopped),
                posts=() if party is None else _unsent(party),
            )
        )

    def standing(self, counter: int) -> Standing:
        """Where the party stands."""
        party = self._joined
        stage = party.state.stage
        return Standing(
            counter=counter,
            round=party.state.chain.round,
            part=stage.part if isinstance(stage, Outside) else None,
            needs_value=self._lacks_value(party),
            last=party.last,
            over=isinstance(stage, Done | Stopped),
            error=stage.error if isinstance(stage, Stopped) else None,
        )

    @property
    def _request(self) -> TunnelRequest:
        if self._shown is None:
            raise MalformedMessage("there is no request")
        return self._shown

    @property
    def _joined(self) -> CalledParty:
        if self._party is None:
            raise MalformedMessage("the session's manifest has not been shown")
        return self._party

    def _read_manifest(self) -> Manifest:
        return checked_manifest(self._parts.ticket, self._manifest_body)

    def _time(self) -> int | None:
        """The time, where coins come from a beacon; elsewhere nothing may depend on it."""
        if self._shown is None or self._manifest is None:
            return None
        if not isinstance(self._manifest.beacon, DrandBeacon):
            return None
        return math.ceil(max(0.0, self._parts.clock()))

    def _seen(self) -> SignedCheckpoint | None:
        log = self._parts.ticket.log
        return open_checkpoint(self._checkpoint, log) if self._checkpoint else None

    def _restored(self, manifest: Manifest) -> CalledParty:
        parts = self._parts
        return CalledParty(
            manifest,
            parts.identity,
            parts.policy,
            rng=self._rng,
            slots=self._slots,
            checkpoint=self._state.machine,
            toolkit=parts.toolkit,
            session=parts.ticket.session,
            sums=parts.sums,
        )

    def _verified(self, request: TunnelRequest) -> SignedCheckpoint:
        """The checkpoint, which holds under the policy and extends the one seen before (12-W1)."""
        signed = self._parts.ticket.trust.open(request.checkpoint)
        seen = self._horizon
        if (seen is None or seen.size in {0, signed.size}) and request.consistency:
            raise InvalidProof("a proof where nothing is to be proved", "12-N2")
        if seen is None or not seen.size:
            return signed
        if signed.size < seen.size:
            raise InvalidProof("a request older than the one before it", "12-N2")
        if signed.size == seen.size:
            shown = signed.root
        else:
            proof = request.consistency
            shown = old_root(seen.size, signed.size, proof, signed.root, same=seen.root)
        if shown != seen.root:
            fork = ForkEvidence(seen.to_bytes(), signed.to_bytes(), request.consistency)
            evidence = FORK_EVIDENCE.encode(fork)
            verify_fork(evidence, self._parts.ticket.log)  # nobody is accused without proof
            self._evidence = evidence
        return signed

    def _entries(self, request: TunnelRequest, signed: SignedCheckpoint) -> tuple[Posted, ...]:
        """What the request shows, each entry included in the log and signed by its author."""
        made = self._made()
        found: list[Posted | HiddenEntry] = []
        unverified: list[Submission] = []
        leaves: list[tuple[int, bytes]] = []
        for each in request.shown:
            if isinstance(each, HiddenEntry):
                found.append(each)
                leaves.append((each.index, each.leaf))
                continue
            raw = made.get(each.leaf) if isinstance(each, OwnEntry) else each.raw
            if isinstance(each, OwnEntry) and raw is None:
                leaves.append((each.index, each.leaf))  # of a round that this party has left
                continue
            submission = Submission.decode(raw or b"")
            if submission.entry.session != request.session:
                raise InvalidProof("an entry of another session", "12-N2")
            if isinstance(each, TunnelEntry):
                unverified.append(submission)
            found.append(Posted(each.index, submission.leaf, submission.entry))
            leaves.append((each.index, submission.leaf))
        proof, cuts = request.proof, request.cuts
        roots = verify_subset(leaves, signed.size, proof, signed.root, cuts)
        self._roots = dict(zip(cuts, roots, strict=True))
        self._require_prefix(request, signed)
        for submission in unverified:  # last: it costs most, and only the log can ask for it
            verify_entry(submission)
        return self._whole(found)

    def _whole(self, found: Sequence[Posted | HiddenEntry]) -> tuple[Posted, ...]:
        """What is shown, if nothing is hidden but sums that this party does not ask for."""
        plain = tuple(each for each in found if isinstance(each, Posted))
        if len(plain) == len(found):
            return plain
        if self._manifest is None or self._parts.sums:
            raise InvalidProof("sums that are asked for are hidden", "12-N12")
        self._hidden = frozenset(each.index for each in found if isinstance(each, HiddenEntry))
        return restored(found, self._manifest.organiser)

    def _require_prefix(self, request: TunnelRequest, signed: SignedCheckpoint) -> None:
        """Require that `whole` is how the log of the checkpoint begins, entry for entry."""
        size = len(request.whole)
        if not size:
            if request.prefix:
                raise InvalidProof("a proof of no entries", "12-N2")
            return
        edge = RightEdge()
        edge.extend(map(leaf_hash, request.whole))
        verify_consistency(size, signed.size, request.prefix, edge.root(), signed.root)

    def _made(self) -> dict[bytes, bytes]:
        if self._party is None:
            return {}
        posts = self._party.remembered
        return {leaf_hash(raw): raw for post in posts for raw in post.entries}

    def _enter(self) -> None:
        """Begin to follow the session once its manifest is there, if the policy accepts it."""
        if self._party is not None:
            return
        search = ManifestSearch(self._parts.ticket.session)
        if not any(search.take(posted) for posted in self._pool) or search.body is None:
            return
        self._manifest_body = search.body
        self._manifest = self._read_manifest()
        self._now = self._time()
        self._party = self._restored(self._manifest)

    def _hear(self, party: CalledParty) -> bool:
        """Tell the party what it and the organiser said, in the order of the log (12-W2).

        Whether it has answers to all that it asks for: it hears nothing more until then.
        """
        if not self._answer(party):
            return False
        heard = {party.manifest.organiser, self._author}
        for posted in self._pool:
            author = posted.entry.author.data
            if posted.index < self._start or author not in heard:
                continue
            if author == party.manifest.organiser:
                self._witness(party)
                self._obey(party, posted)
            else:
                self._tell(party, posted)
            self._start = posted.index + 1
            if not self._answer(party):
                return False
        return True

    def _obey(self, party: CalledParty, posted: Posted) -> None:
        """Tell an entry of the organiser; of a close with the root at its cut (04-C7).

        A root that was proved to be another one stops the party: nothing was left out then.
        """
        claim = party.state.chain.claim_in(posted)
        if claim is None:
            self._tell(party, posted)
            return
        cut, named = claim
        root = self._roots.get(cut)
        if root is None:
            raise InvalidProof("the root at the cut of a close is not shown", "12-N2")
        self._tell(party, PostedClose(posted, root), shown=root != named)

    def _tell(self, party: CalledParty, event: Event, *, shown: bool = False) -> None:
        attempt = party.attempt(event)
        # A request with a gap is refused: it must not make the party stop for good (12-W2).
        if not shown and any(map(_leaves_out, attempt.outputs)):
            raise InvalidProof("something that the organiser said before is not shown", "12-N2")
        # Only the last leaf of a run is named by what is shown: no other one convicts anybody.
        told = event.posted if isinstance(event, PostedClose) else event
        hidden = isinstance(told, Posted) and told.index in self._hidden
        if hidden and any(map(blames, attempt.outputs)):
            raise InvalidProof("what is hidden does not follow what was shown before", "12-N12")
        attempt.commit()
        stage = party.state.stage
        if self._now is not None and isinstance(stage, Enrolled) and stage.noted is None:
            party.step(Dated(self._now))

    def _witness(self, party: CalledParty) -> None:
        """Tell the newest checkpoint before the organiser's next entry (12-W5)."""
        horizon = self._horizon
        if horizon is not None and horizon.size > party.state.seen_size:
            party.step(Witnessed(horizon.size, horizon.root))

    def _answer(self, party: CalledParty) -> bool:
        """Give the party what it asks for, if the request shows it; else say what it has to show.

        What a request leaves out must not make the party accuse or stop (attack `lying-lookup`).
        """
        while (wanted := party.wanted) is not None:
            entries = matching(wanted, self._others(self._pool))
            if not lacking(wanted, entries):
                attempt = party.attempt(Fetched(wanted.phase, entries))
                if not any(map(blames, attempt.outputs)):
                    attempt.commit()
                    continue
                self._needs_log = True
            if not self._read_through(party, wanted):
                return False
            self._needs_log = False
        return True

    def _read_through(self, party: CalledParty, wanted: Fetch) -> bool:
        """Answer with all that the log has below the cut, if the request shows it (12-W3)."""
        raws = self._request.whole
        if len(raws) < wanted.cut:
            return False
        asked = replace(wanted, authors=(*wanted.authors, self._author))
        whole = matching(asked, entries_of_session(raws[: wanted.cut], self._request.session))
        landed = {leaf for leaf, _ in party.state.landed}
        for mine in whole:
            if mine.entry.author.data == self._author and mine.leaf not in landed:
                party.step(mine)
        if party.wanted == wanted:  # else it has left the round (12-R4)
            party.step(Fetched(wanted.phase, self._others(whole)))
        return True

    def _others(self, entries: Sequence[Posted]) -> tuple[Posted, ...]:
        return tuple(each for each in entries if each.entry.author.data != self._author)

    def _lacks_value(self, party: CalledParty) -> bool:
        stage = party.state.stage
        return isinstance(stage, Invited) and stage.opened.logical >= self._spent

    def _supply(self, party: CalledParty, supply: Supply | None) -> None:
        """Give the open round its value, if it has none and one is there."""
        opened = opened_of(party.state.stage)
        if supply is None or opened is None or not self._lacks_value(party):
            return
        given = supply(opened.logical)
        if given is None:
            return
        most = None if given.weight is None else self._parts.most
        encoding = encoding_for(party.manifest, given.weight, most)
        value = offered(party.manifest, encoding, given.value, clip=given.clip, rng=self._rng)
        self._tell(party, Supplied(opened.logical, value.row))
        self._spent = opened.logical + 1


def _leaves_out(output: Output) -> bool:
    """Whether a party stops because something before an entry of the organiser is missing."""
    return isinstance(output, Halted) and isinstance(output.error, SuspectedPartyOrBoard)


def _unsent(party: CalledParty) -> tuple[bytes, ...]:
    """What was said in the open round and is not known to be in the log (12-W4)."""
    landed = {leaf for leaf, _ in party.state.landed}
    posts = (raw for post in party.remembered for raw in post.entries)
    return tuple(raw for raw in posts if leaf_hash(raw) not in landed)
