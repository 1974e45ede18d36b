"""Limits are the longest honest messages, byte for byte."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from commitments import ristretto255
from gopa.contract.beacon import QUICKNET
from gopa.contract.bodies import BODIES, bodies_of
from gopa.contract.cutting import chunks_of
from gopa.contract.limits import (
    largest_body,
    length_proof_size,
    mask_proof_size,
    noise_proof_size,
    weighing_size,
)
from gopa.contract.manifest import (
    CommitReveal,
    DrandBeacon,
    Manifest,
    Mode,
    OpenAdmission,
    Path,
    Trust,
    most_neighbours,
)
from gopa.contract.organiser import (
    Abort,
    AbortReason,
    Close,
    Coins,
    Members,
    Released,
    Removal,
    RemovalCause,
    ResultMessage,
    Roll,
    RollEntry,
)
from gopa.contract.party import (
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
from gopa.contract.rows import Prove, RowCommit, RowJoin, RowPublish
from gopa.rounds.real_proofs import RealProofs
from tests.contract.samples import POLICY, h, manifest, manifests, terms, vector_terms
from tests.randomness import seeded
from tests.rounds.samples import KINDS, context_of, noisy
from zkp.noise import GaussianTable, irwin_hall

DEGREE = 4
NUMBERS = terms()


def longest(given: Manifest) -> dict[Phase, Any]:
    """The longest honest message of each phase, for parties with DEGREE neighbours."""
    full, reveals = given.mode is Mode.FULL, isinstance(given.beacon, CommitReveal)
    agreed = given.terms
    if given.path is Path.ROWS:
        bits = replace(given, path=Path.BITS, terms=NUMBERS, word_width=0, weighted=False)
        others = {Phase.JOIN, Phase.COMMIT, Phase.PUBLISH, Phase.RECOVER}
        same = {phase: each for phase, each in longest(bits).items() if phase not in others}
        recovered = Recover(h(1), (RecoveredShare(1, bytes(64)),) * DEGREE)
        shared = {} if agreed.threshold is None else {Phase.RECOVER: recovered}
        return same | shared | longest_of_rows(given)
    point = h(1) if full else b""
    dimension = agreed.dimension
    value = bytes(32 * dimension) if full else bytes(-(-dimension * given.word_width // 8))
    needed = agreed.shares_needed(DEGREE)
    weighing = bytes(weighing_size(given)) if full else b""
    seeds = not full or not isinstance(agreed.noise, GaussianTable)
    found = {
        Phase.JOIN: Join(h(1), h(1), bytes(64), h(1) if reveals else b"", point, point),
        Phase.COMMIT: Commit(
            h(1), (h(1),) * DEGREE, h(1),
            () if needed is None else (h(1),) * (needed - 1 + seeds),
            () if needed is None else (bytes(64),) * DEGREE,
            point, bytes(noise_proof_size(given)) if full else b"", weighing,
        ),
        Phase.ACCUSE: Accusation(h(1), About.EDGE, 1, h(1), bytes(96)),
        Phase.PUBLISH: Publish(h(1), value, point),
    }  # fmt: skip
    if reveals:
        found[Phase.COINS] = Reveal(h(1), h(1))
    if given.trust is Trust.MALICIOUS:
        found[Phase.ROLLBACK] = EdgeOpenings(h(1), (OpenedEdge(1, h(1)),) * DEGREE)
        found[Phase.CONFIRM] = Confirm(h(1))
        found[Phase.UNMASK] = Unmask(h(1), h(1))
    if needed is not None:
        found[Phase.RECOVER] = Recover(h(1), (RecoveredShare(1, bytes(64)),) * DEGREE)
    return found


def longest_of_rows(given: Manifest) -> dict[Phase, Any]:
    """Those that have another body where vectors are proved row by row; d is 40."""
    needed = given.terms.shares_needed(DEGREE)
    nonce = h(1) if isinstance(given.beacon, CommitReveal) else b""
    rows, pads, tests = (h(1),) * 2, (h(1),) * 12, bytes(15 * 360)
    return {
        Phase.JOIN: RowJoin(h(1), h(1), bytes(64), nonce, rows, rows, pads),
        Phase.COMMIT: RowCommit(
            h(1), (h(1),) * DEGREE, h(1),
            () if needed is None else (h(1),) * needed,
            () if needed is None else (bytes(64),) * DEGREE,
            tests, bytes(length_proof_size(given)),
        ),
        Phase.PUBLISH: RowPublish(h(1), bytes(2 * 40), rows, pads),
        Phase.PROVE: Prove(
            h(1), (h(1),) * DEGREE, h(1), tests, bytes(mask_proof_size(given.terms, 1))
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", manifests())
@pytest.mark.parametrize("threshold", [(0, 1), (1, 2)], ids=["", "recovery"])
def test_limits_are_the_longest_honest_messages(name: str, threshold: tuple[int, int]) -> None:
    given = manifests()[name]
    above, below = threshold
    if given.trust is Trust.MALICIOUS:
        agreed = replace(given.terms, threshold_numerator=above, threshold_denominator=below)
        if above:  # as recovery asks where anybody may come
            agreed = replace(agreed, charged=agreed.attempts - 1)
        given = replace(given, terms=agreed)
    honest = longest(given)
    for phase in set(Phase) - {Phase.ORGANISER}:
        limit = largest_body(given, phase, degree_bound=DEGREE)
        if phase in honest:
            codec = bodies_of(given.path)[KIND_IN[phase]]
            assert limit == len(codec.encode(honest[phase])), phase
        else:
            assert limit == 0


@pytest.mark.parametrize("kind", KINDS)
def test_proofs_have_the_length_that_limits_count(kind: str) -> None:
    context = context_of(ristretto255(), kind)
    claim = noisy(context, 1).proved(RealProofs(), seeded(1))
    assert len(claim.proof) == noise_proof_size(context.manifest)
    assert len(claim.weighing) == weighing_size(context.manifest)


@pytest.mark.parametrize(
    "agreed",
    [
        terms(noise=GaussianTable(64, 1), steps=43, squared_sensitivity=43**2),
        vector_terms(100, noise=irwin_hall(4, 4), steps=1000, squared_sensitivity=10**8),
    ],
    ids=["table", "vectors"],
)
def test_sizes_of_proofs_are_known_without_one(agreed: Any) -> None:
    given = manifest(agreed, weighted=agreed.dimension > 1)
    assert 32 * 9 < noise_proof_size(given) < 32 * 50
    assert (weighing_size(given) > 0) == given.weighted


def closes(given: Manifest) -> list[tuple[Kind, Any]]:
    """The longest messages of the organiser."""
    parties = given.terms.parties
    reveals = isinstance(given.beacon, CommitReveal)
    bits = bytes(-(-parties // 8))
    checkpoint = bytes(65_535 if given.quorum else 0)
    enrolled = RollEntry(h(1), h(1), h(1) if reveals else b"")
    signature = bytes(96 if given.terms.beacon == "drand" else 0)
    coins = Coins(bits, (h(1),) * parties if reveals else (), signature, signature)
    return [
        (Kind.CLOSE, Close(h(1), 1, bytes(32), Phase.JOIN, b"", Roll((enrolled,) * parties, 1))),
        (Kind.CLOSE, Close(h(1), 1, bytes(32), Phase.COINS, checkpoint, coins)),
        (Kind.CLOSE, Close(h(1), 1, h(2), Phase.COMMIT, checkpoint, Members(bits, final=True))),
        (
            Kind.RESULT,
            ResultMessage(
                h(1), 1, (1,) * given.terms.dimension,
                (Removal(1, Phase.JOIN, RemovalCause.LOST),) * parties, 1, 1,
            ),
        ),
        (Kind.ABORT, Abort(h(1), 1, AbortReason.ORGANISER, Released.NONE, (1,) * parties)),
    ]  # fmt: skip


@pytest.mark.parametrize("name", manifests())
def test_the_organisers_limit_is_its_longest_message(name: str) -> None:
    given = manifests()[name]
    lengths = [len(BODIES[kind].encode(message)) for kind, message in closes(given)]
    assert largest_body(given, Phase.ORGANISER) == max(lengths)


def test_long_vectors_make_long_results() -> None:
    given = manifest(vector_terms(5000))
    lengths = [len(BODIES[kind].encode(message)) for kind, message in closes(given)]
    assert largest_body(given, Phase.ORGANISER) == max(lengths) == lengths[3]
    witnessed = replace(given, policy=POLICY)
    assert largest_body(witnessed, Phase.ORGANISER) > 65_535


@pytest.mark.parametrize("dimension", [1, 2, 9, 1000, 20_000])
@pytest.mark.parametrize("parties", [10, 64, 65, 999])
@pytest.mark.parametrize("beacon", ["commit-reveal", "drand"])
def test_lengths_are_computed_and_equal_to_encodings(
    dimension: int, parties: int, beacon: Any
) -> None:
    agreed = vector_terms(dimension) if dimension > 1 else terms()
    source: Any = DrandBeacon(QUICKNET) if beacon == "drand" else CommitReveal()
    agreed = replace(agreed, parties=parties, beacon=beacon)
    policy = POLICY if beacon == "drand" else b""
    given = manifest(agreed, beacon=source, simulation=False, policy=policy)
    lengths = [len(BODIES[kind].encode(message)) for kind, message in closes(given)]
    assert largest_body(given, Phase.ORGANISER) == max(lengths)


def test_nothing_as_long_as_a_result_is_made_to_learn_its_length() -> None:
    """A manifest of 400 bytes names the largest dimension: reading it stays cheap."""
    given = manifest(vector_terms(2**20))
    small = manifest(vector_terms(2))
    largest_body(small, Phase.ORGANISER)
    tracemalloc.start()
    try:
        assert largest_body(given, Phase.ORGANISER) > 2**23
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_degrees_are_bounded_where_nobody_says() -> None:
    small, large = terms(), terms(parties=1000, k=20)
    assert most_neighbours(small) == 4
    assert most_neighbours(large) == 144
    given = manifest(large, admission=OpenAdmission(1000))
    assert largest_body(given, Phase.COMMIT) == largest_body(given, Phase.COMMIT, degree_bound=144)
    assert largest_body(given, Phase.COMMIT) > largest_body(given, Phase.COMMIT, degree_bound=143)
    assert largest_body(given, Phase.ROLLBACK, degree_bound=0) == largest_body(
        given, Phase.ROLLBACK, degree_bound=1
    )


@pytest.mark.parametrize(("size", "chunks"), [(0, 1), (1, 1), (60_000, 1), (60_001, 2)])
def test_chunks(size: int, chunks: int) -> None:
    assert chunks_of(size) == chunks
