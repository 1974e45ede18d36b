"""Small sessions of every kind, and what tests expect of their findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from gopa.contract.manifest import CommitReveal, Manifest, Mode, TestCoins, Trust
from gopa.contract.organiser import RemovalCause, ResultMessage
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.rules import Control, Findings, RoundFindings
from gopa.rounds.graph import graph_of_round
from gopa.rounds.toolkit import GraphOfRound, Toolkit
from tests.contract.samples import manifest, signing_key, terms
from tests.protocol.scribe import World
from tests.rounds.doubles import ProofDoubles
from wire.codec import Codec
from zkp.noise import GaussianTable, NoNoise, binomial

TABLE = GaussianTable.with_scale("8", bits=20, rows=61)
FLIPS = binomial(64)
MORE_FLIPS = binomial(96)
"""For vectors with recovery: each round of two counts all of its three attempts."""
RECOVERY = {"threshold_numerator": 1, "threshold_denominator": 2, "loss": 1}
"""Half of the neighbours, and so few losses that whoever is recovered may have them twice."""
VECTOR: dict[str, Any] = {
    "dimension": 3,
    "noise": FLIPS,
    "squared_sensitivity": 1200,
}


def small_terms(**changes: Any) -> Terms:
    """Terms of five parties, all neighbours of each other, that are worth what they claim."""
    values: dict[str, Any] = {
        "k": 4,
        "noise": TABLE,
        "epsilon": Decimal(100),
        "delta": Decimal("0.9"),
        "beta": Decimal(0),
        "mask": "uniform",
        "mask_deviation": 0,
        "rounds": 1,
    }
    return terms(**values | changes)


def _vector(**changes: Any) -> Terms:
    return small_terms(**VECTOR | changes)


def _recovered_vector(**changes: Any) -> Terms:
    return _vector(**RECOVERY | {"noise": MORE_FLIPS} | changes)


EXACT: dict[str, Any] = {
    "noise": NoNoise(),
    "epsilon": None,
    "charged": 0,
    "survivors": 4,
    **RECOVERY,
}
"""No noise, and a logical round releases one sum."""

CURIOUS: dict[str, Any] = {"mask": "gaussian", "mask_deviation": 1000}

KINDS: dict[str, Callable[..., Manifest]] = {
    "scalar": lambda **t: manifest(small_terms(**t), beacon=CommitReveal()),
    "test coins": lambda **t: manifest(small_terms(**t), beacon=TestCoins()),
    "gaussian": lambda **t: manifest(
        small_terms(mask="gaussian", mask_deviation=1000, **t), beacon=CommitReveal()
    ),
    "recovery": lambda **t: manifest(small_terms(**RECOVERY | t), beacon=CommitReveal()),
    "vector": lambda **t: manifest(_vector(**t), beacon=CommitReveal()),
    "one vector, recovery": lambda **t: manifest(
        small_terms(noise=FLIPS, **RECOVERY | t), beacon=CommitReveal()
    ),
    "vector, recovery": lambda **t: manifest(_recovered_vector(**t), beacon=CommitReveal()),
    "signed, recovery": lambda **t: manifest(
        _recovered_vector(**t), beacon=CommitReveal(), mode=Mode.SIGNED, word_width=32
    ),
    "signed number, recovery": lambda **t: manifest(
        small_terms(**RECOVERY | t), beacon=CommitReveal(), mode=Mode.SIGNED, word_width=40
    ),
    "weighted": lambda **t: manifest(_vector(**t), beacon=CommitReveal(), weighted=True),
    "signed": lambda **t: manifest(
        _vector(**t), beacon=CommitReveal(), mode=Mode.SIGNED, word_width=32
    ),
    "wide words": lambda **t: manifest(
        _vector(**t), beacon=CommitReveal(), mode=Mode.SIGNED, word_width=40
    ),
    "curious": lambda **t: manifest(
        _vector(**CURIOUS | t),
        beacon=CommitReveal(),
        mode=Mode.SIGNED,
        word_width=64,
        trust=Trust.HONEST_BUT_CURIOUS,
    ),
    "exact": lambda **t: manifest(small_terms(**EXACT | t), beacon=CommitReveal()),
    "exact vector": lambda **t: manifest(_vector(**EXACT | t), beacon=CommitReveal()),
    "exact weights": lambda **t: manifest(
        _vector(**EXACT | t), beacon=CommitReveal(), weighted=True
    ),
    "exact words": lambda **t: manifest(
        _vector(**EXACT | t), beacon=CommitReveal(), mode=Mode.SIGNED, word_width=32
    ),
}
"""Every mode, by name."""


def make(
    kind: str = "scalar",
    *,
    real: bool = False,
    name: str = "world",
    graph: GraphOfRound = graph_of_round,
    max_rollbacks: int = 8,
    **changes: Any,
) -> World:
    """A session that has begun; `changes` are other terms."""
    agreed = KINDS[kind](**changes)
    if max_rollbacks != agreed.max_rollbacks:
        agreed = replace(agreed, max_rollbacks=max_rollbacks)
    toolkit = Toolkit(graph=graph) if real else Toolkit(proofs=ProofDoubles(), graph=graph)
    keys = [signing_key(f"party {number}") for number in range(agreed.terms.parties)]
    return World(agreed, toolkit, signing_key("organiser"), keys, name)


@lru_cache
def baseline(kind: str = "scalar", **changes: Any) -> Findings:
    """What an unmodified session gives: nothing to complain about, and the right sums."""
    world = make(kind, **changes)
    world.run()
    assert isinstance(world.view.ended, ResultMessage)
    assert world.view.ended.sums == world.expected_sums(range(world.manifest.terms.parties))
    found = world.check()
    assert found.faults == ()
    assert found.notes == ()
    assert found.rounds[0].removals == ()
    return found


Row: TypeAlias = tuple[int | None, Phase, RemovalCause, str]


def altered(codec: Codec[Any], due: Control | None, **fields: Any) -> bytes:
    """The body of a message of the organiser with other fields."""
    assert due is not None
    message: Any = due.message
    return codec.encode(replace(message, **fields))


def removals(found: Findings | RoundFindings, number: int = 1) -> set[Row]:
    """Who was removed in a round: place, phase, cause and rule."""
    one = found if isinstance(found, RoundFindings) else found.rounds[number - 1]
    return {(row.position, row.phase, row.cause, row.rule) for row in one.removals}


def blamed(world: World, found: Findings) -> set[tuple[int | str, str]]:
    """Who is blamed for what: parties by their number in the order of keys, and rules."""
    numbers: dict[bytes, int | str] = {p.author: n for n, p in enumerate(world.parties)}
    numbers[world.organiser.public.data] = "organiser"
    return {(numbers[fault.author], fault.rule) for fault in found.faults}


def require(
    world: World,
    out: Iterable[Row] = (),
    faults: Collection[tuple[int | str, str]] = (),
    included: Collection[int] | None = None,
    number: int = 1,
) -> Findings:
    """Check the log: exactly these removals and faults; the sum is that of the included.

    The ledger that followed the log as it grew has to agree with a fresh one.
    """
    found = world.check()
    assert found == world.ledger.findings()
    assert removals(found, number) == set(out)
    assert blamed(world, found) == set(faults)
    one = found.rounds[number - 1]
    if included is None:
        assert one.sums is None
    else:
        assert one.final == tuple(included)
        assert one.sums == world.expected_sums(included)
    return found
