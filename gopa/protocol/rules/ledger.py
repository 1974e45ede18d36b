"""One session of a log, followed entry by entry from its manifest on (04-S1 to 04-S3, 04-S5).

`check` does so for a whole log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from typing import Final

from gopa.contract.cutting import chunks_of
from gopa.contract.framing import NO_LEAF, Assembler, Broken, Equivocation, Message, Posted
from gopa.contract.limits import most_chunks
from gopa.contract.manifest import MANIFEST, Manifest, session_id
from gopa.contract.parameters import Roster
from gopa.contract.phases import Kind, Phase
from gopa.planning.result import Worth, guarantee, judge
from gopa.protocol.rules.findings import (
    BeaconValue,
    Chains,
    Control,
    Fault,
    Findings,
    Notes,
    Role,
    Views,
)
from gopa.protocol.rules.forks import Leaves, anchored, read_session, with_views
from gopa.protocol.rules.mailbox import BreaksRule, RootAt, Tools
from gopa.protocol.rules.round_state import CloseInputs
from gopa.protocol.rules.rounds import RoundSequence
from gopa.protocol.rules.view import SessionState
from gopa.rounds.toolkit import Toolkit
from wire.errors import GopaError, MalformedMessage, UsageError
from wire.randomness import Rng


def is_manifest(message: Message, session: bytes) -> bool:
    """Whether this is the message whose hash names the session (04-S1)."""
    return message.kind == Kind.MANIFEST and session_id(message.body) == session


def read_manifest(message: Message) -> Manifest:
    """Decode a manifest and require that its parts fit together (04-S2).

    Its author has to be the organiser that it names: anybody can post somebody else's manifest.

    Raises:
        BreaksRule: it is none.
    """
    try:
        manifest = MANIFEST.decode(message.body)
    except (MalformedMessage, UsageError) as error:
        raise BreaksRule("04-S2", str(error)) from None
    if manifest.organiser != message.author:
        raise BreaksRule("04-S2", "the manifest names another organiser than its author")
    return manifest


def chunk_limits(manifest: Manifest) -> Mapping[Phase, int]:
    """How many entries a message of each phase takes at most (04-S4).

    Raises `BreaksRule` for a session in which nobody could prove anything: its vectors
    are too long for one proof.
    """
    try:
        return {phase: most_chunks(manifest, phase) for phase in Phase}
    except UsageError as error:
        raise BreaksRule("04-S2", error.message) from None


def require_one_sum(manifest: Manifest) -> None:
    """Require of a session without noise that a logical round releases one sum at most (04-S5).

    Two exact sums over sets of parties that differ by one show that party's value: an organiser
    could end the round behind the first and have others in the second (attack `second-exact-sum`).

    Raises:
        BreaksRule: it could release several.
    """
    if manifest.terms.exact and not manifest.releases_one_sum:
        message = (
            "without noise masks are uniform, no retry is charged, more than half of the honest "
            "parties are in a sum, and where anybody may come there is one attempt"
        )
        raise BreaksRule("04-S5", message)


def require_worth(manifest: Manifest) -> None:
    """Require that the terms keep what they claim about privacy (04-S3).

    Stops an organiser that promises an epsilon and delta which its numbers do not give. Terms
    that are too close to call are let pass: see `is_undecided`.

    Raises:
        BreaksRule: they are worth less.
    """
    terms = manifest.terms
    try:
        found = judge(terms)
    except GopaError as error:
        raise BreaksRule("04-S3", f"the terms cannot be evaluated: {error}") from None
    if found is Worth.BROKEN:
        worth = guarantee(terms).total
        raise BreaksRule("04-S3", f"delta {terms.delta} is claimed, {worth:.3g} holds")


def is_undecided(manifest: Manifest) -> bool:
    """Whether the delta of the terms is too close to what holds to be judged (04-S3)."""
    return judge(manifest.terms) is Worth.UNDECIDED


_PHASES: Final = frozenset(Phase)
MOST_TRIED: Final = 8
"""Authors whose first messages are read until one of them is the manifest."""


def _unknown(_: int) -> None:
    """Knows no root: for a session whose log is not there."""


class Ledger:
    """The rules, applied to the entries of one session in the order of the log.

    Feed it every entry of the session, once, in order, with signature and inclusion
    verified. Nothing in an entry makes it raise: whatever is wrong becomes a finding.
    Every message of the organiser is compared, byte for byte, with what the rules
    demand at its cut; the first wrong one ends the session (04-C3).

    `rng` only weighs equations that are checked together: the findings do not depend on
    it, nor on `executor`. `root_at` gives the root that the log had at a size, or None where that
    is not known: then what closes say about it is believed.
    """

    def __init__(
        self,
        toolkit: Toolkit,
        *,
        rng: Rng,
        executor: Executor | None = None,
        root_at: RootAt = _unknown,
    ) -> None:
        self._tools = Tools(toolkit, rng, executor, root_at)
        self._assembler = Assembler()
        self._session: bytes | None = None
        self._manifest: Manifest | None = None
        self._roster: tuple[bytes, ...] | None = None
        self._rounds: RoundSequence | None = None
        self._failed = False
        self._faults: list[Fault] = []
        self._notes = Notes()
        self._views = Views()
        self._chains = Chains()
        self._candidates: set[bytes] = set()
        self._most_chunks: Mapping[Phase, int] = {}
        self._last = -1

    def observe(self, posted: Posted) -> None:
        """Take the next entry of the session.

        Raises:
            UsageError: an entry of another session, or one out of order.
        """
        entry = posted.entry
        if self._session not in {None, entry.session} or posted.index <= self._last:
            raise UsageError("the entries of one session in the order of the log", "posted")
        self._session, self._last = entry.session, posted.index
        if entry.seen_size:
            self._views.add(entry.seen_size, entry.seen_root, posted.index)
        if not self._chains.follows(posted):
            what = "the entry does not name its author's last one"
            self._notes.add("04-E1", what, entry.round, posted.index)
        for item in self._assembler.observe(self._bounded(posted)):
            self._take(item)

    def next_control(
        self,
        cut: int,
        *,
        root: bytes | None = None,
        checkpoint: bytes = b"",
        beacon: BeaconValue | None = None,
    ) -> Control | None:
        """The message that the rules demand from the organiser now, with this cut.

        The caller has observed every entry of the session below `cut`, where the log has `root`,
        which may be left out if the ledger can tell. None when the session is over. An `Open` has
        no cut of its own: pass any. Asking often is cheap: what was verified once is not verified
        again.

        Raises:
            UsageError: before the manifest; a cut below the last one; a root, checkpoint or
                beacon that the close needs is missing or does not hold. The next three raise it
                likewise.
        """
        known = self._tools.root_at(cut) if root is None else root
        given = CloseInputs(checkpoint, beacon, known or NO_LEAF)
        control = self._session_rounds().next_control(cut, given)
        if known is None and control is not None and control.kind is Kind.CLOSE:
            raise UsageError("a close needs the root of the log at its cut", "root")
        return control

    def abort(self, cut: int) -> Control | None:
        """The organiser's own abort, which no rule demands (04-X1); None outside a round."""
        return self._session_rounds().abort(cut)

    def fails(self, cut: int) -> bool:
        """Whether the rules demand an abort of the round with this cut."""
        return self._session_rounds().fails(cut)

    def carries_on(self, cut: int) -> bool:
        """Whether an abort for no reason would be a veto (04-X7) with this cut as its index."""
        return self._session_rounds().carries_on(cut)

    def pending_faults(self, cut: int) -> tuple[Fault, ...]:
        """What parties did wrong in the open phase, as its close with this cut would find.

        Raises:
            UsageError: before the manifest; a cut below the last one.
            InvalidProof: the phase needs a value of the beacon.
        """
        return self._session_rounds().pending_faults(cut)

    @property
    def manifest(self) -> Manifest | None:
        """The session's manifest, once it was seen."""
        return self._manifest

    @property
    def state(self) -> SessionState:
        """Where the session stands after everything observed so far."""
        rounds = self._rounds
        failed = self._failed or (rounds is not None and rounds.failed)
        return SessionState(
            session=self._session or b"",
            manifest=self._manifest,
            round=None if rounds is None else rounds.view(),
            rounds_ended=0 if rounds is None else rounds.ended,
            results=0 if rounds is None else rounds.results,
            releases=0 if rounds is None else rounds.releases,
            over=failed or (rounds is not None and rounds.over),
            failed=failed,
        )

    def findings(self) -> Findings:
        """Everything found so far. Late accusations are judged here too, for the report."""
        rounds, state = self._rounds, self.state
        found = () if rounds is None else rounds.reports()
        faults = [*self._faults, *(() if rounds is None else rounds.faults())]
        return Findings(
            session=state.session,
            manifest=state.manifest,
            rounds=found,
            faults=tuple(sorted(set(faults), key=_fault_order)),
            notes=self._notes.all(),
            complete=state.over and not state.failed,
        )

    def views(self) -> Views:
        """Every root that an entry or a close of the session rests on (04-E6, 04-C4)."""
        return self._views

    def _session_rounds(self) -> RoundSequence:
        if self._rounds is None:
            raise UsageError("the rules demand nothing before there is a valid manifest")
        return self._rounds

    def _bounded(self, posted: Posted) -> Posted:
        """The entry, without its body where no rule can need it (04-S4).

        It takes its slot all the same, and what a hostile author sends takes no memory.
        """
        entry = posted.entry
        if not self._needed(posted):
            return replace(posted, entry=replace(entry, body=b"", chunk=0, chunks=1))
        if self._manifest is None or entry.chunks <= self._most_chunks[Phase(entry.phase)]:
            return posted
        role = Role.ORGANISER if entry.phase == Phase.ORGANISER else Role.PARTY
        what = f"a message of {entry.chunks} entries, more than any honest one has"
        author, entries = entry.author.data, (posted.index,)
        self._faults.append(Fault(role, author, "04-S4", what, entries, entry.round))
        # The second chunk of two without the first: it belongs to no message.
        return replace(posted, entry=replace(entry, body=b"", chunk=1, chunks=2))

    def _needed(self, posted: Posted) -> bool:
        """Whether the entry can be part of a message that is read."""
        entry, manifest, author = posted.entry, self._manifest, posted.entry.author.data
        if manifest is None or self._rounds is None:
            return self._may_be_manifest(posted)
        own = author == manifest.organiser
        if entry.phase not in _PHASES or (entry.phase == Phase.ORGANISER) != own:
            return False
        return own or (entry.round == self._rounds.number and self._admitted(author))

    def _may_be_manifest(self, posted: Posted) -> bool:
        """Whether to read it: of a few authors only, so that strangers cost little memory."""
        entry, author = posted.entry, posted.entry.author.data
        if (entry.phase, entry.round) != (Phase.ORGANISER, 0):
            return False
        if len(self._candidates) < MOST_TRIED:
            self._candidates.add(author)
        return author in self._candidates and entry.chunks <= chunks_of(MANIFEST.max_size)

    def _take(self, item: Message | Equivocation | Broken) -> None:
        if self._manifest is None:
            self._before_manifest(item)
        elif isinstance(item, Equivocation):
            self._equivocation(item)
        elif isinstance(item, Broken):
            self._broken(item)
        elif item.author == self._manifest.organiser:
            self._organiser(item)
        else:
            self._party(item)

    def _before_manifest(self, item: Message | Equivocation | Broken) -> None:
        """Look for the manifest, which is known by its hash (04-S1).

        Strangers can post in front of it, and cannot take its place.
        """
        at_start = isinstance(item, Message) and (item.phase, item.round, item.seq) == (0, 0, 0)
        if not isinstance(item, Message) or not at_start:
            self._notes.add("04-S1", "an entry before the manifest", item.round, item.index)
        elif not is_manifest(item, self._session or b""):
            self._notes.add("04-S1", "no manifest of this session", 0, item.index)
        elif not self._failed:
            self._begin(item)

    def _begin(self, message: Message) -> None:
        session = self._session or b""
        try:
            manifest = read_manifest(message)
            self._most_chunks = chunk_limits(manifest)
            require_one_sum(manifest)
            require_worth(manifest)
        except BreaksRule as error:
            self._blame_organiser(message.author, error.rule, error.message, message.index)
            self._failed = True
            return
        self._manifest = manifest
        admission = manifest.admission
        self._roster = admission.keys if isinstance(admission, Roster) else None
        self._rounds = RoundSequence(
            self._tools, manifest, session, message, self._notes, self._views
        )

    def _admitted(self, author: bytes) -> bool:
        roster = self._roster
        if roster is None:
            return True
        place = bisect_left(roster, author)
        return place < len(roster) and roster[place] == author

    def _equivocation(self, item: Equivocation) -> None:
        """Report two entries for one slot (04-E3): the two together convict whoever signed both.

        It could show one to each half of the readers (attacks `equivocate`, `two-closes`).
        """
        what = "two entries for one slot"
        if self._manifest is not None and item.author == self._manifest.organiser:
            self._blame_organiser(
                item.author, "04-E3", what, item.first, item.index, number=item.round
            )
        elif not self._admitted(item.author):
            self._stranger(item.round, item.index)
        elif self._rounds is not None:
            entries = (item.first, item.index)
            fault = Fault(Role.PARTY, item.author, "04-E3", what, entries, item.round)
            self._faults.append(fault)
            self._rounds.equivocation(item)

    def _broken(self, item: Broken) -> None:
        """Take note of an entry that continues no message (04-E1).

        A board that leaves out an entry breaks a message, too: so nobody is convicted.
        """
        if self._rounds is not None and item.author == self._rounds.manifest.organiser:
            if item.phase == Phase.ORGANISER:
                self._rounds.broken_control(item)
            else:
                self._not_a_party(item)
        else:
            what = "an entry that continues no message"
            self._notes.add("04-E1", what, item.round, item.index)

    def _organiser(self, message: Message) -> None:
        if self._rounds is None:
            return
        if message.phase == Phase.ORGANISER:
            self._rounds.control(message)
        else:
            self._not_a_party(message)

    def _not_a_party(self, item: Message | Broken) -> None:
        """The organiser has its phase, and is nobody in those of the parties (04-E2)."""
        what = "it takes part under its own key"
        self._blame_organiser(item.author, "04-E2", what, item.index, number=item.round)

    def _party(self, message: Message) -> None:
        rounds = self._rounds
        if rounds is None or not self._admitted(message.author):
            self._stranger(message.round, message.index)
        elif message.phase not in _PHASES or message.phase == Phase.ORGANISER:
            what = "a message in no phase of a party"
            entries = (message.index,)
            fault = Fault(Role.PARTY, message.author, "04-E2", what, entries, message.round)
            self._faults.append(fault)
        else:
            rounds.party(message)

    def _stranger(self, number: int, index: int) -> None:
        self._notes.add("04-J1", "the author is not on the roster", number, index)

    def _blame_organiser(
        self, author: bytes, rule: str, what: str, *entries: int, number: int = 0
    ) -> None:
        self._faults.append(Fault(Role.ORGANISER, author, rule, what, entries, number))


def _fault_order(fault: Fault) -> tuple[int, tuple[int, ...], str, bytes, str]:
    return fault.round, fault.entries, fault.rule, fault.author, fault.what


def check(  # noqa: PLR0913 - all of them are options
    entries: Iterable[Posted],
    toolkit: Toolkit | None = None,
    *,
    rng: Rng,
    executor: Executor | None = None,
    manifest_hash: bytes | None = None,
    session: bytes | None = None,
) -> Findings:
    """Evaluate all rules over the verified entries of a log, in its order.

    Entries of other sessions than `session` are passed over; without `session` the first
    entry's counts. `manifest_hash` is SHA-256 of the manifest's body, from outside the log.

    If the entries are the whole log from index 0, what authors and closes say about the log
    is compared with it, the roots of closes too; a fault that another view of the log would
    explain is then reported as not proved.
    """
    reading = LogCheck(toolkit, rng=rng, executor=executor)
    for posted in entries:
        reading.take_leaf(posted.index, posted.leaf)
        session = posted.entry.session if session is None else session
        if posted.entry.session == session:
            reading.judge(posted)
    found = reading.findings()
    if session is not None and not found.session:
        found = replace(found, session=session)
    return found if manifest_hash is None else anchored(found, manifest_hash)


class LogCheck:
    """The steps of `check`, for a caller who reads the log and chooses the session.

    The caller gives the leaf of every entry of the log, and every entry of one session, both in
    the order of the log and with signatures verified.
    """

    def __init__(
        self, toolkit: Toolkit | None = None, *, rng: Rng, executor: Executor | None = None
    ) -> None:
        self._leaves = Leaves()
        self.ledger = Ledger(
            toolkit or Toolkit(), rng=rng, executor=executor, root_at=self._leaves.root_at
        )

    def take_leaf(self, index: int, leaf: bytes) -> None:
        """Take the next entry of the log, of whatever session."""
        self._leaves.add(index, leaf)

    def judge(self, posted: Posted) -> None:
        """Judge the next entry of the session. Raises as `Ledger.observe`."""
        self.ledger.observe(posted)

    def leaf(self, index: int) -> bytes:
        """The leaf hash at this place, empty beyond the end."""
        hashes = self._leaves.hashes
        return hashes[index] if index < len(hashes) else b""

    def root(self, size: int) -> bytes | None:
        """The root that the log had at this size; None if it is not so long."""
        return self._leaves.roots([size]).get(size)

    def findings(self) -> Findings:
        """Everything found so far."""
        return with_views(self.ledger.findings(), self.ledger.views(), self._leaves)


def check_log(  # noqa: PLR0913 - all of them are options
    raws: Iterable[bytes],
    toolkit: Toolkit | None = None,
    *,
    rng: Rng,
    executor: Executor | None = None,
    manifest_hash: bytes | None = None,
    session: bytes | None = None,
) -> Findings:
    """Verify the signatures of raw entries, of a `LogReader` or an archive, and `check` them."""
    return check(
        read_session(raws, executor=executor),
        toolkit,
        rng=rng,
        executor=executor,
        manifest_hash=manifest_hash,
        session=session,
    )
