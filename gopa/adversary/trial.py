"""Runs a session with its liars, then audits the log as a stranger would.

It also tells what the log shows to everybody who takes every message at its word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from bulletin_board import Entry, LogReader, Submission, TrustPolicy, VerifierKey
from gopa.adversary.malicious import Actor, script_of
from gopa.adversary.outcome import PASSED_OVER, STRANGER, AttackOutcome, OpenToAll, RoundOutcome
from gopa.adversary.setup import SessionSetup
from gopa.auditing import Anchors, Report, audit
from gopa.contract.manifest import Path
from gopa.contract.organiser import RESULT
from gopa.contract.party import OPENING
from gopa.contract.phases import Kind
from gopa.contract.row_terms import origin
from gopa.protocol.rules import Findings, RoundFindings
from gopa.protocol.simulation import Simulation
from wire.errors import GopaError, MalformedMessage


def open_to_all(
    log: LogReader, found: RoundFindings, keys: Sequence[bytes], numbers: Sequence[int]
) -> OpenToAll:
    """The secrets of one round that anybody reads. `numbers` are the roll's parties.

    Openings are read from single entries: one has room for more than 1,000 edges.
    """
    values, seeds = set[int](), {numbers[at] for at in found.unmasked}
    edges, commits = set[frozenset[int]](), set[int]()
    for entry in _entries(log, found.number):
        author = keys.index(entry.author.data) if entry.author.data in keys else None
        if author is None:
            continue
        if entry.kind == Kind.COMMIT:
            commits.add(author)
        elif entry.kind == Kind.PUBLISH:
            values.add(author)
        elif entry.kind == Kind.UNMASK:
            seeds.add(author)
        elif entry.kind == Kind.OPENING:
            edges |= {frozenset({author, other}) for other in _neighbours(entry.body, numbers)}
    return OpenToAll(frozenset(values), frozenset(seeds), frozenset(edges), frozenset(commits))


def announced_in(log: LogReader, organiser: bytes, number: int) -> tuple[int, ...] | None:
    """The sum that the organiser's first result of a round states, whatever it is worth."""
    said = [
        entry
        for entry in _entries(log, number)
        if entry.kind == Kind.RESULT and entry.author.data == organiser
    ]
    first = {entry.seq: entry.body for entry in reversed(said)}
    try:
        return RESULT.decode(b"".join(first[seq] for seq in sorted(first))).sums if said else None
    except MalformedMessage:
        return None


def _neighbours(body: bytes, numbers: Sequence[int]) -> Iterator[int]:
    try:
        opening = OPENING.decode(body)
    except MalformedMessage:
        return
    for edge in opening.edges:
        if edge.neighbour < len(numbers):
            yield numbers[edge.neighbour]


def _entries(log: LogReader, number: int) -> Iterator[Entry]:
    for raw in log.entries():
        entry = Submission.decode(raw).entry
        if entry.round == number:
            yield entry


class TwinFailed(GopaError):
    """A session without a right result although nobody lies: attacks in it show nothing."""


def try_out(setup: SessionSetup, actors: Iterable[Actor]) -> AttackOutcome:
    """Tries out these liars in this setup, and says what comes of them.

    The same session without liars is run first, once for each setup.

    Raises:
        TwinFailed: that honest session has no right result.
    """
    require_honest_twin(setup)
    return played(setup, tuple(actors))


@lru_cache(maxsize=64)
def require_honest_twin(setup: SessionSetup) -> None:
    """Raises `TwinFailed` unless the honest session has a right result that an audit accepts."""
    outcome = played(setup, ())
    if not (outcome.accepted and outcome.right and outcome.has_result) or outcome.caught:
        raise TwinFailed(f"without liars: {outcome.report}")


def played(setup: SessionSetup, actors: Sequence[Actor]) -> AttackOutcome:
    """The session and its audit, without a look at the honest twin."""
    simulation = setup.simulation(script_of(actors))
    rounds = 0
    while rounds < setup.rounds and not simulation.over:
        simulation.run_round(setup.inputs())
        rounds += 1
    return outcome_of(simulation, actors)


def outcome_of(
    simulation: Simulation,
    actors: Sequence[Actor],
    acted: Iterable[tuple[int, int]] | None = None,
) -> AttackOutcome:
    """What a session came to, with an audit of its log; it must remember inputs and noise.

    `acted` says, where it was watched, which parties departed from the rules in which rounds.
    """
    keys = tuple(actor.author for actor in simulation.parties)
    findings = simulation.findings()
    return AttackOutcome(
        actors=tuple(actors),
        keys=keys,
        organiser=simulation.manifest.organiser,
        findings=findings,
        report=_audited(simulation),
        rounds=tuple(_round(simulation, keys, each) for each in findings.rounds),
        halted={each.index: each.halted for each in simulation.parties if each.halted},
        passed_over=_passed_over(simulation, findings),
        acted=None if acted is None else frozenset(acted),
    )


def _passed_over(simulation: Simulation, findings: Findings) -> tuple[tuple[str, bytes], ...]:
    """Entries that convict nobody and count for nothing: the rule, and who posted them."""
    notes = [each for each in findings.notes if each.rule in PASSED_OVER]
    if not notes:
        return ()
    authors = [Submission.decode(raw).entry.author.data for raw in simulation.log().entries()]
    return tuple((each.rule, authors[at]) for each in notes for at in each.entries)


def _audited(simulation: Simulation) -> Report:
    """The report of an auditor with the log and the anchors alone."""
    manifest = simulation.manifest
    key = VerifierKey.parse(manifest.log.decode())
    digest = hashlib.sha256(manifest.to_bytes()).digest()
    return audit(simulation.log(), anchors=Anchors(TrustPolicy.single_log(key), digest))


def _round(simulation: Simulation, keys: tuple[bytes, ...], found: RoundFindings) -> RoundOutcome:
    numbers = tuple(keys.index(key) if key in keys else STRANGER for key in found.roll)
    final = found.final
    included = None if final is None else tuple(numbers[at] for at in final)
    expected = None
    if included is not None and found.sums is not None:
        expected = _contributed(simulation, [(found.number, each) for each in included])
    shown = open_to_all(simulation.log(), found, keys, numbers)
    announced = announced_in(simulation.log(), simulation.manifest.organiser, found.number)
    return RoundOutcome(found, numbers, included, expected, shown, announced)


def _contributed(simulation: Simulation, places: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The sum of what these parties put in, by round and number: inputs and noise.

    Where lengths are proved inputs are measured from an origin, and so is their sum.
    """
    manifest = simulation.manifest
    zeros = [origin(manifest.terms)] * manifest.terms.dimension
    if manifest.weighted:
        zeros[-1] = 0
    parts = [
        part
        for place in places
        for part in (simulation.inputs_for_tests[place], simulation.noise_for_tests[place])
    ]
    moved = [0] * len(zeros) if manifest.path is not Path.ROWS else zeros
    columns = zip(moved, zip(*parts, strict=True), strict=True)
    return tuple(sum(column) - len(places) * zero for zero, column in columns)
