"""Checks many proofs of different kinds and sizes together (06-A11).

All equations of a chunk of proofs become one multi-scalar multiplication, in which
the bases the proofs share are counted once. If it fails, halves are checked until
every bad proof is named. Chunks keep the memory bounded however many proofs come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Protocol, TypeVar

from commitments.group import Group, Point, ScalarVec
from wire.domains import BATCH_WEIGHTS
from wire.errors import InvalidProof, ProtocolError, UsageError
from wire.randomness import Rng, draw
from zkp.equations import Equation, EquationSum
from zkp.transcript import DuplexSponge, Transcript, derive_session_id

T = TypeVar("T")

BATCH_CHECK: Final = "06-A11"

_SEED_SIZE: Final = 32
_WEIGHT_SIZE: Final = 16
_MOST_SCALARS: Final = 1 << 18
_MOST_IN_FLIGHT: Final = 16


class Verifiable(Protocol):
    """A statement with the equations that a proof of it has to satisfy."""

    @property
    def group(self) -> Group:
        """The group of all points in it."""

    def equations(self, proof: bytes, transcript: Transcript, /) -> tuple[Equation, ...]:
        """What must hold; raises `ProtocolError` for a proof that cannot hold.

        Afterwards the transcript has bound the statement and the whole proof.
        """


@dataclass(frozen=True, slots=True)
class ProofClaim:
    """A proof to check once, and the transcript that its prover started from."""

    statement: Verifiable
    proof: bytes
    transcript: Transcript


def verify_batch(claims: Iterable[ProofClaim], *, rng: Rng) -> None:
    """Check all claims. They may be made one by one: only a chunk is kept at a time.

    Raises:
        InvalidProof: some do not hold; `culprits` has the positions of all of them,
            malformed ones included.
        UsageError: the claims are over different groups.
    """
    _refuse(_find_culprits(lambda claim: claim, claims, draw(rng, _SEED_SIZE)))


def verify_items(
    load: Callable[[T], ProofClaim],
    items: Iterable[T],
    *,
    rng: Rng,
    executor: Executor | None,
    per_task: int = 128,
) -> None:
    """Do as `verify_batch`, for items that the workers of an executor load and check.

    `load` makes the claim of an item, in the worker; a `ProtocolError` it raises counts
    against the item. Without an executor all is done here and now. With a pool of
    processes, `load` and the items must be picklable (a transcript is not: send what is
    bound to it). The items themselves are read here, a bounded number ahead.

    Raises:
        InvalidProof: as `verify_batch`.
        UsageError: as `verify_batch`, or tasks of no items.
    """
    if per_task < 1:  # islice would find no items, and nothing would be checked
        raise UsageError("a task takes at least one item: raise per_task")
    if executor is None:
        _refuse(_find_culprits(load, items, draw(rng, _SEED_SIZE)))
        return
    source = iter(items)
    culprits: list[int] = []
    running: deque[tuple[int, Future[list[int]]]] = deque()
    start = 0
    while part := list(islice(source, per_task)):
        seed = draw(rng, _SEED_SIZE)
        running.append((start, executor.submit(_find_culprits, load, part, seed)))
        start += len(part)
        if len(running) >= _MOST_IN_FLIGHT:
            culprits += _next_result(running)
    while running:
        culprits += _next_result(running)
    _refuse(culprits)


def _next_result(running: deque[tuple[int, Future[list[int]]]]) -> list[int]:
    start, future = running.popleft()
    return [start + position for position in future.result()]


def _refuse(culprits: Sequence[int]) -> None:
    if culprits:
        raise InvalidProof("these proofs do not hold", BATCH_CHECK, tuple(culprits))


@dataclass(slots=True)
class _Chunk:
    """Claims that are well-formed, until they are checked together."""

    group: Group
    positions: list[int] = field(default_factory=list)
    equations: list[tuple[Equation, ...]] = field(default_factory=list)
    identifiers: list[bytes] = field(default_factory=list)
    scalars: int = 0

    def add(self, position: int, claim: ProofClaim) -> None:
        """Add a claim; raises `ProtocolError` for one that cannot hold."""
        if claim.statement.group != self.group:
            raise UsageError("all proofs of a batch are over one group")
        equations = claim.statement.equations(claim.proof, claim.transcript)
        self.identifiers.append(claim.transcript.digest(b"batch"))
        self.positions.append(position)
        self.equations.append(equations)
        self.scalars += sum(len(term.scalars) for each in equations for term in each.terms)

    def culprits(self, seed: bytes) -> list[int]:
        """The positions of the claims that do not hold."""
        weights = self._weights(seed)
        everything = range(len(self.positions))
        total = self._sum(everything, weights)
        return [self.positions[i] for i in self._bisect(everything, total, weights)]

    def _weights(self, seed: bytes) -> list[ScalarVec]:
        """Weights of 128 bits that depend on all statements, all proofs and the seed."""
        sponge = DuplexSponge(derive_session_id(BATCH_WEIGHTS))
        sponge.absorb(seed + b"".join(self.identifiers))
        counts = [len(equations) for equations in self.equations]
        drawn = self.group.reduce_scalars(sponge.squeeze(_WEIGHT_SIZE * sum(counts)), _WEIGHT_SIZE)
        weights, at = [], 0
        for count in counts:
            weights.append(drawn[at : at + count])
            at += count
        return weights

    def _sum(self, members: range, weights: Sequence[ScalarVec]) -> Point:
        total = EquationSum(self.group)
        for member in members:
            for equation, weight in zip(self.equations[member], weights[member], strict=True):
                total.add(equation, weight)
        return total.value()

    def _bisect(self, members: range, total: Point, weights: Sequence[ScalarVec]) -> Iterator[int]:
        """The bad members of a range whose weighted sum is known."""
        if total.is_identity():
            return
        if len(members) == 1:
            yield members[0]
            return
        middle = len(members) // 2
        lower = self._sum(members[:middle], weights)
        yield from self._bisect(members[:middle], lower, weights)
        yield from self._bisect(members[middle:], total - lower, weights)


def _find_culprits(load: Callable[[T], ProofClaim], items: Iterable[T], seed: bytes) -> list[int]:
    """The positions of the items that do not hold, in increasing order."""
    culprits: list[int] = []
    chunk: _Chunk | None = None
    for position, item in enumerate(items):
        try:
            claim = load(item)
            chunk = chunk or _Chunk(claim.statement.group)
            chunk.add(position, claim)
        except ProtocolError:
            culprits.append(position)
        if chunk and chunk.scalars >= _MOST_SCALARS:
            culprits += chunk.culprits(seed)
            chunk = _Chunk(chunk.group)
    if chunk:
        culprits += chunk.culprits(seed)
    return sorted(culprits)
