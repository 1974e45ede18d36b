"""Ways to switch one defence off, beside those of `tests.auditing.disabling`.

Each takes away one check, wherever it is made, and leaves all others as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from commitments.group import Group, PointVec
from gopa.contract.framing import Message, Posted
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import Close, Roll, unpack_members
from gopa.contract.party import COMMIT, JOIN, PUBLISH, REVEAL, Join
from gopa.contract.phases import Phase
from gopa.protocol.organiser import Organiser
from gopa.protocol.party import closing
from gopa.protocol.party.chain import Chain
from gopa.protocol.party.confirming import narrow
from gopa.protocol.party.context import PartyContext
from gopa.protocol.party.states import PartyState, Published
from gopa.protocol.party.view import RoundView
from gopa.protocol.rules.closes import Bars, CutOff, Due, following
from gopa.protocol.rules.commit import CommitRules
from gopa.protocol.rules.final_phases import RecoverRules
from gopa.protocol.rules.findings import Removed
from gopa.protocol.rules.join import CoinsRules, JoinRules
from gopa.protocol.rules.ledger import Ledger
from gopa.protocol.rules.mailbox import BreaksRule, PartyVerdict, Sorted, Sorter, absent, invalid
from gopa.protocol.rules.numbers import NumberProving
from gopa.protocol.rules.publish import AccusationJudge
from gopa.protocol.rules.roll_and_edges import CommitContent, PublishedValues
from gopa.protocol.rules.rollback import RollbackRules
from gopa.protocol.rules.round_state import CloseInputs, Failure, PhaseDecision, RoundState
from gopa.protocol.rules.rounds import RoundSequence
from gopa.protocol.rules.rows import RowProving
from gopa.rounds.context import RoundContext
from tests.auditing.disabling import Disable, replaced, together
from wire.errors import MalformedMessage

if TYPE_CHECKING:
    import pytest


def module(name: str) -> Any:
    return import_module(name)


def _nothing(*_: object, **__: object) -> None:
    """A check that looks at nothing."""


def _none(*_: object, **__: object) -> frozenset[int]:
    return frozenset()


# Parties


def unasked(*what: str) -> Disable:
    """No party asks for these things any more."""

    def disable(patch: pytest.MonkeyPatch) -> None:
        require = Chain.require

        def tolerant(chain: Chain, holds: bool, said: str, evidence: bytes = b"") -> None:
            require(chain, holds or said in what, said, evidence)

        patch.setattr(Chain, "require", tolerant)

    return disable


ANY_ROOT: Final = together(
    replaced(Chain, "require_root", _nothing),
    replaced(RoundSequence, "_require_root", _nothing),
)
"""Nobody compares the root of a close with the log (04-C7)."""

FEW_CONFIRMED: Final = unasked("too few confirmed", "too few confirmed around a party")
"""Parties go on, however few confirmed among all or around one of them (04-F2)."""


def _as_if_listed(
    party: PartyContext,
    state: PartyState,
    published: Published,
    members: tuple[frozenset[int], bool],
    closed: Any,
) -> Any:
    inside, final = members
    return narrow(party, state, published, (inside | {published.view.position}, final), closed)


def _unlisted(state: PartyState, *_: object) -> PartyState:
    return state


UNREAD: Final = replaced(module("gopa.protocol.party.checking"), "_require_revealed", _nothing)
"""Parties commit whatever the others have signed (04-V7)."""

OWN_PRESENCE: Final = together(
    replaced(closing, "narrow", _as_if_listed), replaced(closing, "_listed", _unlisted)
)
"""A party goes on although a list lacks it (04-C5); it looks at every list for itself."""


# Join and coins


def _any_join(proving: NumberProving, message: Message, context: RoundContext) -> Join:
    del proving, context
    return JOIN.decode(message.body)


def _any_reveal(stage: CoinsRules, message: Message) -> Any:
    del stage
    return REVEAL.decode(message.body)


ANY_JOIN: Final = replaced(NumberProving, "read_join", _any_join)
ANY_NONCE: Final = replaced(CoinsRules, "_read", _any_reveal)
ANYBODY: Final = replaced(Ledger, "_admitted", lambda *_: True)
SHARED_KEYS: Final = replaced(module("gopa.protocol.rules.join"), "_require_own_keys", _nothing)
STALE_JOINS: Final = replaced(JoinRules, "_require_fresh", _nothing)


# Commit and publish


def _padded(patch: pytest.MonkeyPatch) -> None:
    read = CommitRules._read

    def padding(stage: CommitRules, message: Message) -> CommitContent:
        commit = COMMIT.decode(message.body)
        degree = stage.state.drawn.neighbours(stage.state.places[message.author]).size
        edges = (*commit.edges, *[bytes(32)] * (degree - len(commit.edges)))
        return read(stage, replace(message, body=COMMIT.encode(replace(commit, edges=edges))))

    patch.setattr(CommitRules, "_read", padding)


FEWER_EDGES: Final = _padded
"""Edges that are missing are taken for void ones."""

ANY_SIZES: Final = replaced(NumberProving, "_require_sizes", _nothing)


def _all_good(group: Group, encodings: list[bytes]) -> list[bool]:
    del group
    return [True] * len(encodings)


def _with_identity(group: Group, commits: Mapping[int, CommitContent], parties: int) -> PointVec:
    found = group.points([])
    for place in range(parties):
        own = group.identity
        for data in (commits[place].output, commits[place].self_mask) if place in commits else ():
            own = own + group.decode_point(data, allow_identity=True)
        found = found.concat(group.points([own]))
    return found


THE_IDENTITY: Final = together(
    replaced(module("gopa.protocol.rules.numbers"), "good_points", _all_good),
    replaced(module("gopa.protocol.rules.commit"), "_own_points", _with_identity),
)
"""The identity is a point like any other, also where the points are added up."""


# Messages


def _as_it_was_said(sorter: Sorter[Any], message: Message) -> Any:
    try:
        return sorter._content(message)
    except BreaksRule as error:
        return invalid(error.rule, message.index, error.message)
    except MalformedMessage as error:
        return invalid(sorter.rule, message.index, str(error))


def _as_much_as_fits(patch: pytest.MonkeyPatch) -> None:
    content = Sorter._content

    def cut(sorter: Sorter[Any], message: Message) -> Any:
        return content(sorter, replace(message, body=message.body[: sorter.largest]))

    patch.setattr(Sorter, "_content", cut)


def _one_chunk(patch: pytest.MonkeyPatch) -> None:
    bounded = Ledger._bounded

    def whole(ledger: Ledger, posted: Posted) -> Posted:
        entry = replace(posted.entry, chunk=0, chunks=1)
        return bounded(ledger, replace(posted, entry=entry))

    patch.setattr(Ledger, "_bounded", whole)


def _first_only(state: RoundState, phase: Phase, message: Message) -> None:
    del phase
    if message.author not in state.mail.first(Phase(message.phase)):
        state.mail.put(message)


def _always_striking(patch: pytest.MonkeyPatch) -> None:
    sort = Sorter.sort

    def strict(sorter: Sorter[Any], authors: Iterable[bytes], cut: int) -> Sorted[Any]:
        sorter.strikes = True
        return sort(sorter, authors, cut)

    patch.setattr(Sorter, "sort", strict)


ANY_ANSWER: Final = replaced(Sorter, "_judge", _as_it_was_said)
"""Messages count whatever they act on."""

LONGER: Final = _as_much_as_fits
"""What is too long is read as far as it may be long."""

CHUNKS_IGNORED: Final = _one_chunk
"""Every entry is a message of its own."""

TWO_MESSAGES: Final = replaced(module("gopa.protocol.rules.routing"), "_receive", _first_only)
TWO_SIGNATURES: Final = replaced(Ledger, "_equivocation", _nothing)
STRIKES_FOR_EVER: Final = _always_striking
"""Evidence changes lists also behind the final close."""


# Lists


def _omitting(patch: pytest.MonkeyPatch) -> None:
    told: list[frozenset[bytes]] = []
    proceed, sort = RoundSequence._proceed, Sorter.sort

    def believing(rounds: RoundSequence, message: Message, said: Any) -> None:
        listed = _listed(rounds, said)
        rounds._tried = None
        if listed is not None:
            told.append(listed)
        try:
            proceed(rounds, message, said)
        finally:
            told.clear()

    def forgetting(sorter: Sorter[Any], authors: Iterable[bytes], cut: int) -> Sorted[Any]:
        found = sort(sorter, authors, cut)
        for listed in told:
            for author in found.read.keys() - listed:
                del found.read[author]
                found.out[author] = absent(sorter.missing)
        return found

    patch.setattr(RoundSequence, "_proceed", believing)
    patch.setattr(Sorter, "sort", forgetting)
    patch.setattr(Organiser, "_observe", _goes_on)


_observe = Organiser._observe


def _goes_on(organiser: Organiser, event: Posted) -> None:
    """No defence: the liar's machine takes what it posted for what it meant to post."""
    _observe(organiser, event)
    if event.entry.author.data == organiser._manifest.organiser:
        organiser._unseen = ()


def _listed(rounds: RoundSequence, said: Any) -> frozenset[bytes] | None:
    """Whom a close lists."""
    state = rounds._state
    if not isinstance(said, Close) or state is None:
        return None
    if isinstance(said.content, Roll):
        return frozenset(each.author for each in said.content.parties)
    members = unpack_members(said.content.members, len(state.enrolled))
    return frozenset(state.authors(members))


def _silent_stay(patch: pytest.MonkeyPatch) -> None:
    received = RollbackRules._received

    def patient(stage: RollbackRules, cut: int, verdicts: dict[bytes, PartyVerdict]) -> Any:
        read = received(stage, cut, verdicts)
        for author in [each for each in verdicts if verdicts[each].rule == "04-O3"]:
            del verdicts[author]
        return read

    patch.setattr(RollbackRules, "_received", patient)


def _readmitting(patch: pytest.MonkeyPatch) -> None:
    routing = module("gopa.protocol.rules.routing")
    keep_late, demand = routing._keep_late, RollbackRules.demand

    def keep(state: RoundState, phase: Phase, message: Message) -> None:
        keep_late(state, phase, message)
        if phase is Phase.PUBLISH:
            values = state.at(PublishedValues).values
            values[state.places[message.author]] = PUBLISH.decode(message.body).value

    def grow(stage: RollbackRules, cut: int, given: CloseInputs) -> PhaseDecision:
        values = stage.state.at(PublishedValues).values
        late = {place for place, data in enumerate(values) if data}
        stage.members = tuple(sorted({*stage.members, *late}))
        return demand(stage, cut, given)

    patch.setattr(routing, "_keep_late", keep)
    patch.setattr(RollbackRules, "demand", grow)


def _unpeeled(state: RoundState, inside: Iterable[int]) -> tuple[int, ...]:
    del state
    return tuple(inside)


def _nobody_removed(*_: object, **__: object) -> tuple[Removed, ...]:
    return ()


OMISSIONS: Final = _omitting
"""Whoever a close leaves out is taken for absent."""

SILENT_STAY: Final = _silent_stay
"""Whoever opens nothing stays in the list, as if it owed nothing."""

READMITTED: Final = _readmitting
"""Values that come behind the close of publish are taken in by the next rollback."""

ANY_LOSS: Final = together(
    replaced(RoundState, "peeled", _unpeeled),
    replaced(RoundState, "losing", lambda *_: False),
    replaced(RoundView, "lost", lambda *_: 0),
    replaced(RoundView, "most_lost", lambda *_: 0),
)
"""Nobody applies the bound of the plan on lost neighbours: neither the rules nor the parties."""

UNWITNESSED: Final = together(
    replaced(module("gopa.protocol.rules.rounds"), "require_given", _nothing),
    replaced(RoundSequence, "_remember_checkpoint", _nothing),
)
"""Nobody opens the checkpoint of a close; what it says of the log is not kept either."""

NO_RECORD: Final = replaced(RoundState, "removed", _nobody_removed)
ANY_KEY: Final = replaced(module("gopa.protocol.rules.rollback"), "wrong_keys", _none)
NO_STRAYS: Final = replaced(module("gopa.protocol.rules.rollback"), "_stray_faults", _none)


# Long vectors

UNDISPUTED: Final = replaced(module("gopa.protocol.rules.rows"), "disputed_edges", lambda *_: ())
ANY_MASK_OF_SEEDS: Final = replaced(RowProving, "liars_about_seeds", lambda *_: {})


def _nobody_lied(
    proving: RowProving, state: RoundState, keys: Sequence[object]
) -> list[dict[int, tuple[int, int]]]:
    del proving, state
    return [{} for _ in keys]


ANY_MASK_OF_EDGES: Final = replaced(RowProving, "liars_about_edges", _nobody_lied)


# Accusations, recovery, retries


def _nobody_barred(*_: object) -> frozenset[bytes]:
    return frozenset()


def _blameless(patch: pytest.MonkeyPatch) -> None:
    demand = RecoverRules.demand

    def mild(stage: RecoverRules, cut: int, given: CloseInputs) -> PhaseDecision:
        return replace(demand(stage, cut, given), faults=())

    patch.setattr(RecoverRules, "demand", mild)


def _one_attempt_more(manifest: Manifest, last: RoundState | None) -> Due | None:
    terms = replace(manifest.terms, attempts=manifest.terms.attempts + 1)
    return following(replace(manifest, terms=terms), last)


NO_SHARE_FITS: Final = replaced(AccusationJudge, "_share_fits", lambda *_: False)
ANY_DEALT_SEED: Final = replaced(RecoverRules, "_of_another_seed", lambda *_: ())
NO_RECOVERY: Final = replaced(RecoverRules, "_mask", _nothing)
WRONG_SHARES_PASS: Final = _blameless
NOBODY_BARRED: Final = replaced(Bars, "for_round", _nobody_barred)
MORE_ATTEMPTS: Final = replaced(
    module("gopa.protocol.rules.rounds"), "following", _one_attempt_more
)


# Cuts


def _held_against(
    stage: Any, decision: PhaseDecision, cut: int, end: int, given: CloseInputs
) -> CutOff:
    del stage, cut, end, given
    said = decision.said
    return CutOff({}, False, said.culprits if isinstance(said, Failure) else ())


def _unseeing(patch: pytest.MonkeyPatch) -> None:
    proceed, follow = RoundSequence._proceed, Chain.require_cut

    def blind(rounds: RoundSequence, message: Message, said: Any) -> None:
        proceed(rounds, replace(message, seen=0), said)

    def trusting(chain: Chain, message: Message, cut: int) -> None:
        follow(chain, replace(message, seen=0), cut)

    patch.setattr(RoundSequence, "_proceed", blind)
    patch.setattr(Chain, "require_cut", trusting)


BLIND: Final = _unseeing
"""Nobody reads what the organiser says it has seen of the log."""

NO_GRACE: Final = replaced(module("gopa.protocol.rules.rounds"), "cut_off", _held_against)
"""Whoever was cut off is named and barred as if it had said nothing, and no veto is seen."""
