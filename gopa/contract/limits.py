"""Computes how long a message may be in one session. 04-S4; 14-M3, E6, E9.

Every bound is the length of the longest honest message, so a board that keeps to them
refuses nobody who keeps the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from commitments import ristretto255
from commitments.group import Group
from gopa.contract.cutting import MOST_SUMS_TOGETHER, SHORT, SHORT_HEADS, chunks_of
from gopa.contract.manifest import (
    CommitReveal,
    DrandBeacon,
    Manifest,
    Mode,
    Path,
    most_neighbours,
)
from gopa.contract.organiser import (
    ABORT,
    CLOSE,
    ENROLLED,
    LARGEST_CHECKPOINT,
    LARGEST_SIGNATURE,
    OPEN,
    REMOVAL,
    RESULT,
    Abort,
    AbortReason,
    Close,
    Coins,
    Members,
    Released,
    ResultMessage,
    Roll,
    RollEntry,
)
from gopa.contract.party import (
    ACCUSATION,
    COMMIT,
    CONFIRM,
    JOIN,
    MOST_NEIGHBOURS,
    OPENED_EDGE,
    OPENING,
    PUBLISH,
    RECOVER,
    RECOVERED_SHARE,
    REVEAL,
    UNMASK,
)
from gopa.contract.phases import Phase
from gopa.contract.row_terms import equation_points, length_bounds, losses_allowed, weight_bound
from gopa.contract.rows import PROVE, ROW_COMMIT, ROW_JOIN, ROW_PUBLISH
from gopa.contract.terms import Terms
from gopa.contract.words import packed_size
from zkp import Interval
from zkp.bits import layout_of, proof_size
from zkp.noise import NoiseSetting
from zkp.range import last_largest_layout
from zkp.rows.shape import RowShape

POINT: Final = 32
SHARE: Final = 64
SUM: Final = 8
EQUALITY_PROOF: Final = 96
NONE: Final = bytes(32)


def largest_body(manifest: Manifest, phase: Phase, *, degree_bound: int | None = None) -> int:
    """The most bytes that the body of an honest message of this phase has.

    Zero for a phase that the session does not have. `degree_bound` is at least the number
    of neighbours of every party. The manifest itself, which comes before, is not covered
    by the organiser's bound.
    """
    if phase is not Phase.ORGANISER and phase not in manifest.phases:
        return 0
    degree = most_neighbours(manifest.terms) if degree_bound is None else degree_bound
    largest = _LARGEST | _LARGEST_OF_ROWS if manifest.path is Path.ROWS else _LARGEST
    return largest[phase](manifest, max(1, min(degree, MOST_NEIGHBOURS)))


def most_chunks(manifest: Manifest, phase: Phase) -> int:
    """The most entries of an honest message of this phase."""
    long = phase is Phase.ORGANISER and manifest.terms.dimension > MOST_SUMS_TOGETHER
    short = SHORT_HEADS if phase in {Phase.COMMIT, Phase.PROVE} else SHORT if long else 0
    return chunks_of(largest_body(manifest, phase)) + short


def _join(manifest: Manifest, _: int) -> int:
    nonce = POINT if isinstance(manifest.beacon, CommitReveal) else 0
    fixed = 1 if manifest.terms.exact else 2  # the input, and the seed of the noise
    return JOIN.min_size + nonce + (fixed * POINT if manifest.mode is Mode.FULL else 0)


def _reveal(manifest: Manifest, _: int) -> int:
    return REVEAL.max_size if isinstance(manifest.beacon, CommitReveal) else 0


def _commit(manifest: Manifest, degree: int) -> int:
    size = COMMIT.min_size + degree * POINT
    if manifest.terms.threshold is not None:
        size += manifest.coefficients(degree) * POINT + degree * SHARE
    if manifest.mode is not Mode.FULL:
        return size
    output = 0 if manifest.terms.exact else POINT
    return size + output + noise_proof_size(manifest) + weighing_size(manifest)


def _publish(manifest: Manifest, _: int) -> int:
    dimension, width = manifest.terms.dimension, manifest.word_width
    full = manifest.mode is Mode.FULL
    value = (dimension + 1) * POINT if full else packed_size(dimension, width)
    return PUBLISH.min_size - 1 + value


def _recover(_: Manifest, degree: int) -> int:
    return RECOVER.min_size + (degree - 1) * RECOVERED_SHARE.max_size


def noise_proof_size(manifest: Manifest) -> int:
    """The length of every proof of input and noise, if any, in full mode (04-K3)."""
    return _noise_proof_size(manifest, ristretto255())


def weighing_size(manifest: Manifest) -> int:
    """The length of every proof about weights (04-K6); 0 without."""
    return _weighing_size(manifest, ristretto255()) if manifest.weighted else 0


@lru_cache(maxsize=64)
def _noise_proof_size(manifest: Manifest, group: Group) -> int:
    terms = manifest.terms
    setting = NoiseSetting(group, terms.dimension, Interval(0, terms.steps))
    return terms.noise.proof_size(setting)


@lru_cache(maxsize=64)
def _weighing_size(manifest: Manifest, group: Group) -> int:
    terms = manifest.terms
    return proof_size(group, last_largest_layout(terms.dimension, terms.steps))


def _organiser(manifest: Manifest, _: int) -> int:
    terms, parties = manifest.terms, manifest.terms.parties
    abort = Abort(NONE, 0, AbortReason.ORGANISER, Released.NONE, ())
    result = ResultMessage(NONE, 0, (0,), (), 0, 0)
    return max(
        OPEN.max_size,
        _roll(manifest),
        _close(manifest, Phase.COINS, _coins(manifest)) + _other_nonces(manifest),
        _close(manifest, Phase.COMMIT, Members(_bits(parties), final=False)),
        len(RESULT.encode(result)) + (terms.dimension - 1) * SUM + parties * REMOVAL.max_size,
        len(ABORT.encode(abort)) + parties * 4,
    )


def _roll(manifest: Manifest) -> int:
    nonce_hash = NONE if isinstance(manifest.beacon, CommitReveal) else b""
    enrolled = RollEntry(NONE, NONE, nonce_hash)
    one = Close(NONE, 0, NONE, Phase.JOIN, b"", Roll((enrolled,), 0))
    others = manifest.terms.parties - 1
    return len(CLOSE.encode(one)) + others * len(ENROLLED.encode(enrolled))


def _coins(manifest: Manifest) -> Coins:
    parties = manifest.terms.parties
    if isinstance(manifest.beacon, CommitReveal):
        return Coins(_bits(parties), (NONE,), b"", b"")
    if isinstance(manifest.beacon, DrandBeacon):
        signature = bytes(LARGEST_SIGNATURE)
        return Coins(_bits(parties), (), signature, signature)
    return Coins(_bits(parties), (), b"", b"")


def _other_nonces(manifest: Manifest) -> int:
    """The bytes of all nonces but one, which `_coins` has."""
    reveals = isinstance(manifest.beacon, CommitReveal)
    return (manifest.terms.parties - 1) * len(NONE) if reveals else 0


def _close(manifest: Manifest, phase: Phase, content: Coins | Members) -> int:
    checkpoint = bytes(LARGEST_CHECKPOINT if manifest.quorum else 0)
    return len(CLOSE.encode(Close(NONE, 0, NONE, phase, checkpoint, content)))


def _bits(parties: int) -> bytes:
    return bytes(-(-parties // 8))


_LARGEST: Final[dict[Phase, Callable[[Manifest, int], int]]] = {
    Phase.ORGANISER: _organiser,
    Phase.JOIN: _join,
    Phase.COINS: _reveal,
    Phase.COMMIT: _commit,
    Phase.ACCUSE: lambda *_: ACCUSATION.min_size + EQUALITY_PROOF,
    Phase.PUBLISH: _publish,
    Phase.ROLLBACK: lambda _, degree: OPENING.min_size + (degree - 1) * OPENED_EDGE.max_size,
    Phase.CONFIRM: lambda *_: CONFIRM.max_size,
    Phase.UNMASK: lambda *_: UNMASK.max_size,
    Phase.RECOVER: _recover,
}


_POINT: Final = 32
_SHARE: Final = 64
_INPUT_FIXED: Final = 3 + 7 + 22 + 3
_WEIGHTED: Final = 7
_MASK_FIXED: Final = 1 + 4 + 3


def join_size(manifest: Manifest) -> int:
    """The size of the longest join with rows."""
    shape = RowShape(manifest.terms.dimension)
    nonce = 32 if isinstance(manifest.beacon, CommitReveal) else 0
    more = 2 * (shape.rows - 1) + shape.pad_rows - 1
    return ROW_JOIN.min_size + nonce + more * _POINT


def commit_size(manifest: Manifest, degree: int) -> int:
    """The longest commit of a party with so many neighbours."""
    size = ROW_COMMIT.min_size + degree * _POINT + length_proof_size(manifest)
    if manifest.terms.threshold is None:
        return size
    return size + manifest.coefficients(degree) * _POINT + degree * _SHARE


def publish_size(manifest: Manifest) -> int:
    """The size of the longest publish with rows."""
    shape = RowShape(manifest.terms.dimension)
    words = packed_size(manifest.terms.dimension, manifest.word_width)
    more = shape.rows - 1 + shape.pad_rows - 1
    return ROW_PUBLISH.min_size - 1 + words + more * _POINT


def prove_size(manifest: Manifest, degree: int) -> int:
    """The longest prove of a party with so many neighbours."""
    points = most_points(manifest.terms)
    return PROVE.min_size + degree * _POINT + mask_proof_size(manifest.terms, points)


def most_points(terms: Terms) -> int:
    """The points at which masks are shown where everybody has published."""
    losses = losses_allowed(terms.parties, terms.survivors, terms.late)
    return equation_points(terms.parties, losses, RowShape(terms.dimension).bits)


def length_proof_size(manifest: Manifest) -> int:
    """The length of every proof about vector and noise (14-E6)."""
    return _length_proof_size(manifest.terms, manifest.weighted)


@lru_cache(maxsize=64)
def _length_proof_size(terms: Terms, weighted: bool) -> int:
    shape, weight = RowShape(terms.dimension), weight_bound(terms) if weighted else None
    intervals = length_bounds(terms).intervals + (weight.intervals if weight else ())
    points = _INPUT_FIXED + 8 * shape.bits + 2 * shape.column_bits
    hidden = sum(len(interval.weights) for interval in intervals)
    ranges = proof_size(ristretto255(), layout_of(hidden))
    return _POINT * (points + (_WEIGHTED if weighted else 0)) + ranges


def mask_proof_size(terms: Terms, points: int) -> int:
    """The length of every proof about masks at so many points (14-E9)."""
    shape = RowShape(terms.dimension)
    return _POINT * (_MASK_FIXED + 2 * shape.bits + points + 2 * shape.column_bits)


_LARGEST_OF_ROWS: Final[dict[Phase, Callable[[Manifest, int], int]]] = {
    Phase.JOIN: lambda manifest, _: join_size(manifest),
    Phase.COMMIT: commit_size,
    Phase.PUBLISH: lambda manifest, _: publish_size(manifest),
    Phase.PROVE: prove_size,
}
