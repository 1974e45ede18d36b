"""What must hold of a session in an arena, whatever the schedule was."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from bulletin_board import TrustPolicy, VerifierKey
from gopa.adversary import AttackOutcome, Malicious, MaliciousOrganiser
from gopa.adversary.deeds import skip
from gopa.adversary.deeds.organising import AlteredResult
from gopa.adversary.harm import edges_opened, honest_blamed, inputs_exposed, wrong_sums
from gopa.adversary.outcome import RoundOutcome
from gopa.adversary.trial import open_to_all
from gopa.auditing import Anchors, Report, Verdict
from gopa.auditing.auditor import options_of, run
from gopa.contract.beacon import reveal_hash
from gopa.contract.framing import Posted, party_id
from gopa.contract.organiser import ABORT, CLOSE, Abort, Close
from gopa.contract.party import ACCUSATION, JOIN, OPENING, RECOVER, REVEAL, UNMASK
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules import Findings, RoundFindings
from tests.adversary.schedules.arena import Arena, Side
from tests.adversary.schedules.secrets import Pair
from tests.verifier.answers import anchors_of, report
from wire.errors import MalformedMessage

ACCEPTED = frozenset({Verdict.VALID, Verdict.SIGNED_ONLY, Verdict.VALID_WITH_EXCLUSIONS})


@dataclass(frozen=True, slots=True)
class Judged:
    """How a session ended on its first log."""

    verdict: Verdict
    results: int
    aborts: int


def require_everything(arena: Arena, *, second: bool = False) -> Judged:
    """Every invariant, on each log that the board has shown.

    With `second` another verifier has to agree.
    """
    judged = [_judge(arena, side, second=second) for side in arena.sides]
    require_shut(arena)
    require_one_sum(arena)
    honest_world = not (arena.lying_organiser or arena.forked)
    if honest_world:
        for actor in arena.parties:
            assert actor.index in arena.liars or actor.halted is None, actor.halted
        assert judged[0].verdict in ACCEPTED, judged[0].verdict
    return judged[0]


def _judge(arena: Arena, side: Side, *, second: bool) -> Judged:
    told, found = _audited(arena, side)
    outcome = _outcome(arena, side, found, told)
    harms = (*wrong_sums(outcome), *honest_blamed(outcome))
    if not arena.forked:  # what is open is then a matter of all logs together
        harms += (*edges_opened(outcome), *inputs_exposed(outcome))
    assert not harms, harms
    require_just(arena, side, outcome)
    if second and arena.world.real:
        require_second(arena, side, told)
    return Judged(
        told.verdict,
        sum(each.sums is not None for each in found.rounds),
        sum(each.abort is not None for each in found.rounds),
    )


def require_just(arena: Arena, side: Side, outcome: AttackOutcome) -> None:
    """No proof against anybody honest; no abort names one whose message was in time."""
    honest = {arena.parties[u].author for u in outcome.honest}
    if not arena.lying_organiser:
        honest.add(arena.manifest.organiser)
    for fault in outcome.findings.faults:
        assert not (fault.proved and fault.author in honest), fault
    if not arena.forked:
        for told in outcome.report.faults:
            assert told.culprit.value not in {"board", "witness"}, told
    if outcome.report.verdict in ACCEPTED:
        for each in outcome.findings.rounds:
            _require_late(arena, side, each, honest)
            require_timely(arena, side, each)


def require_timely(arena: Arena, side: Side, found: RoundFindings) -> None:
    """Everybody in a list has spoken in its phase below its cut, which does not lie ahead.

    Nobody is in a result who has signed two entries for a slot before the final list, or has
    opened another nonce than the one it joined with.
    """
    cut = 0
    for each in found.lists:
        assert cut <= each.cut <= each.index, "a cut goes back, or lies ahead"
        cut = each.cut
        if each.phase is Phase.ROLLBACK:
            continue
        spoken = {p.entry.author.data for p in _spoken(arena, side, found.number, each.phase, cut)}
        late = [place for place in each.members if found.roll[place] not in spoken]
        assert not late, f"{late} are in the list of {each.phase.name} and said nothing in time"
        if each.final or each.phase < Phase.ROLLBACK:
            double = _double(arena, side, found.number, cut)
            assert not double.intersection(found.roll[place] for place in each.members)
    if found.sums is not None:
        _require_nonces(arena, side, found)


def _spoken(arena: Arena, side: Side, number: int, phase: Phase, cut: int) -> list[Posted]:
    return [
        each
        for each in side.board.entries[:cut]
        if (each.entry.session, each.entry.round, each.entry.phase)
        == (arena.session, number, phase)
    ]


def _double(arena: Arena, side: Side, number: int, cut: int) -> set[bytes]:
    """Who has signed two entries for one slot of the round."""
    seen: dict[object, bytes] = {}
    found = set()
    for each in side.board.entries[:cut]:
        here = (each.entry.session, each.entry.round) == (arena.session, number)
        if here and seen.setdefault(each.entry.slot, each.leaf) != each.leaf:
            found.add(each.entry.author.data)
    return found


def _require_nonces(arena: Arena, side: Side, found: RoundFindings) -> None:
    """04-V1, over the first entries of those that count."""
    own = {found.roll[place] for place in found.final or ()}
    first: dict[tuple[bytes, int], bytes] = {}
    for posted in side.board.entries:
        entry = posted.entry
        if (entry.session, entry.round) == (arena.session, found.number):
            first.setdefault((entry.author.data, entry.phase), entry.body)
    for author in own:
        given = JOIN.decode(first[author, Phase.JOIN]).nonce_hash
        nonce = REVEAL.decode(first[author, Phase.COINS]).nonce
        right = reveal_hash(arena.session, found.number, party_id(author), nonce)
        assert given == right, "a nonce that does not fit its hash"


def _require_late(arena: Arena, side: Side, found: RoundFindings, honest: set[bytes]) -> None:
    """An honest culprit of an abort has said nothing in the last phase below its cut.

    In a log of a fork its message may stand before the close that it heard from the other.
    """
    if found.abort is None:
        return
    last = [each for each in side.board.entries if _ends(arena, each, found.number)]
    ended: Abort | Close = ABORT.decode(last[0].entry.body)
    before = _posted(side, ended.acts_on)
    if before.entry.kind == Kind.CLOSE:
        close = CLOSE.decode(before.entry.body)
        if close.phase is Phase.UNMASK:  # a culprit is then a dealer, by its word in unmask
            ended, before = close, _posted(side, close.acts_on)
    for place in found.culprits:
        author = found.roll[place]
        said = [
            each
            for each in side.board.entries[: ended.cut]
            if (each.entry.author.data, each.entry.session) == (author, arena.session)
            and (each.index > before.index or not arena.forked)
            and each.entry.body.startswith(ended.acts_on)
            and each.entry.phase != Phase.ACCUSE
        ]
        assert author not in honest or not said, f"{author.hex()} is a culprit and was in time"


def _posted(side: Side, leaf: bytes) -> Posted:
    return next(each for each in side.board.entries if each.leaf == leaf)


def require_second(arena: Arena, side: Side, told: Report) -> None:
    """The second verifier comes to the same verdict, with the same exit code."""
    out = io.BytesIO()
    side.board.archive(out, arena.session)
    manifest = hashlib.sha256(arena.manifest.to_bytes()).hexdigest()
    found = report(out.getvalue(), anchors_of(arena.manifest.log.decode(), manifest))
    assert (found["verdict"], found["code"]) == (told.verdict.value, told.code), found


def require_shut(arena: Arena) -> None:
    """What all logs together open, to whoever takes every message at its word.

    No edge between two honest parties that confirmed one final close. And while no more
    parties lie than the terms allow, every honest party whose value and self-mask are out has
    a shut edge with another honest one.
    """
    honest = frozenset(range(len(arena.parties))) - arena.liars
    sound = len(arena.liars) <= arena.manifest.terms.corrupt
    shown, final = _Shown(arena), arena.secrets.final
    for number in shown.rounds:
        opened = shown.edges(number)
        for u, v in combinations(sorted(honest), 2):
            if (number, u) in final and final[number, u] == final.get((number, v)):
                assert frozenset({u, v}) not in opened, f"edge {u}-{v} is open in round {number}"
        for u in honest & shown.published(number):
            if sound and shown.bare(number, u):
                live = arena.secrets.live.get((number, u), frozenset()) & honest
                shut = [v for v in live if frozenset({u, v}) not in opened]
                assert shut, f"nothing hides party {u} in round {number}"


def require_one_sum(arena: Arena) -> None:
    """Without noise honest parties open their masks for one final close of a logical round (04-S5).

    On all logs together, in all attempts: two sums could differ by one party.
    """
    sound = len(arena.liars) <= arena.manifest.terms.corrupt
    if not (arena.manifest.terms.exact and sound):
        return
    honest = frozenset(range(len(arena.parties))) - arena.liars
    shown, secrets = _Shown(arena), arena.secrets
    released: dict[int, set[bytes]] = {}
    for number in shown.rounds:
        for u in honest & shown.unmasked(number):
            closes = released.setdefault(secrets.logical[number, u], set())
            closes.add(secrets.final[number, u])
    for logical, closes in released.items():
        assert len(closes) == 1, f"{len(closes)} exact sums of logical round {logical}"


class _Shown:
    """What the logs of an arena show."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._posted = [
            posted
            for side in arena.sides
            for posted in side.board.entries
            if posted.entry.session == arena.session
        ]
        self.rounds = sorted({each.entry.round for each in self._posted} - {0})

    def edges(self, number: int) -> set[Pair]:
        """Edges whose right key, or the point it is made of, anybody has posted."""
        known = self._arena.secrets.edges
        return {
            known[number, key]
            for posted in self._of(number, Kind.OPENING, Kind.ACCUSATION)
            for key in _keys(posted)
            if (number, key) in known
        }

    def published(self, number: int) -> frozenset[int]:
        return self._authors(number, Kind.PUBLISH)

    def unmasked(self, number: int) -> frozenset[int]:
        """Who posted its own seed."""
        seeds = self._arena.secrets.seeds
        return frozenset(
            u
            for posted in self._of(number, Kind.UNMASK)
            for u in [self._arena.numbers.get(posted.entry.author.data)]
            if u is not None and _seed(posted) == seeds.get((number, u))
        )

    def bare(self, number: int, party: int) -> bool:
        """Whether its self-mask is open: by itself, or by enough shares, with those of liars."""
        if party in self.unmasked(number):
            return True
        around = self._arena.secrets.around.get((number, party), frozenset())
        needed = self._arena.manifest.terms.shares_needed(len(around))
        if needed is None:
            return False
        givers = {
            self._arena.numbers.get(posted.entry.author.data)
            for posted in self._of(number, Kind.RECOVER)
            if party in self._dealers(posted)
        }
        return len((givers | self._arena.liars) & around) >= needed

    def _dealers(self, posted: Posted) -> set[int]:
        """Whose shares a message gives; positions are those of a full roll or of any other."""
        try:
            places = [each.dealer for each in RECOVER.decode(posted.entry.body).shares]
        except MalformedMessage:
            return set()
        author = self._arena.numbers.get(posted.entry.author.data)
        roll = self._arena.secrets.rolls.get((posted.entry.round, author or 0), ())
        return {roll[place] for place in places if place < len(roll)}

    def _authors(self, number: int, kind: Kind) -> frozenset[int]:
        numbers = self._arena.numbers
        authors = {posted.entry.author.data for posted in self._of(number, kind)}
        return frozenset(numbers[each] for each in authors if each in numbers)

    def _of(self, number: int, *kinds: Kind) -> Iterator[Posted]:
        return (p for p in self._posted if p.entry.round == number and p.entry.kind in kinds)


def _keys(posted: Posted) -> list[bytes]:
    try:
        if posted.entry.kind == Kind.ACCUSATION:
            return [ACCUSATION.decode(posted.entry.body).shared]
        return [each.key for each in OPENING.decode(posted.entry.body).edges]
    except MalformedMessage:
        return []


def _seed(posted: Posted) -> bytes | None:
    try:
        return UNMASK.decode(posted.entry.body).seed
    except MalformedMessage:
        return None


def _ends(arena: Arena, posted: Posted, number: int) -> bool:
    entry = posted.entry
    own = (entry.author.data, entry.session) == (arena.manifest.organiser, arena.session)
    return own and entry.round == number and entry.kind == Kind.ABORT


def _audited(arena: Arena, side: Side) -> tuple[Report, Findings]:
    """What `gopa.audit` says with anchors from outside, and what the rules told it."""
    key = VerifierKey.parse(arena.manifest.log.decode())
    digest = hashlib.sha256(arena.manifest.to_bytes()).digest()
    options = options_of(
        anchors=Anchors(TrustPolicy.single_log(key), digest),
        session=arena.session,
        toolkit=arena.world.toolkit,
    )
    told, state = run(side.board.reader(), options, None)
    assert state is not None
    return told, state.reading.check.findings()


def _outcome(arena: Arena, side: Side, found: Findings, told: Report) -> AttackOutcome:
    """As the product's own judges of attacks want it."""
    actors: list[Malicious | MaliciousOrganiser] = [
        Malicious(u, Phase.PUBLISH, skip()) for u in sorted(arena.liars)
    ]
    if arena.lying_organiser:
        actors.append(MaliciousOrganiser(AlteredResult(lambda result: result)))
    return AttackOutcome(
        actors=tuple(actors),
        keys=tuple(actor.author for actor in arena.parties),
        organiser=arena.manifest.organiser,
        findings=found,
        report=told,
        rounds=tuple(_round(arena, side, each) for each in found.rounds),
        halted={a.index: a.halted for a in arena.parties if a.halted is not None},
    )


def _round(arena: Arena, side: Side, found: RoundFindings) -> RoundOutcome:
    numbers = tuple(arena.numbers[key] for key in found.roll)
    included = None if found.final is None else tuple(numbers[at] for at in found.final)
    keys = tuple(actor.author for actor in arena.parties)
    shown = open_to_all(side.board.reader(), found, keys, numbers)
    return RoundOutcome(found, numbers, included, _expected(arena, found, included), shown)


def _expected(
    arena: Arena, found: RoundFindings, included: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """Inputs and noise of exactly the included; in signed mode liars may say anything."""
    if included is None or found.sums is None:
        return None
    if not arena.world.full and arena.liars.intersection(included):
        return found.sums
    rows = arena.world.inputs(found.logical)
    noise = arena.secrets.noise
    parts = [(rows[u], noise.get((found.number, u))) for u in included]
    if any(each is None for _, each in parts):
        return None  # somebody is in it who never committed
    return tuple(
        sum(values[i] + (noises or ())[i] for values, noises in parts)
        for i in range(arena.manifest.terms.dimension)
    )
