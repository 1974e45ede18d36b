"""A prover in which one computation goes wrong releases nothing, wherever it happens.

Faults are injected into the results of the group, one call after the other, on the
reference backend, where every operation is a method of Python. A fault that makes no
difference (a zero where a zero belongs) leaves the honest proof, byte by byte: nothing
else may come out. What depends on public data alone is computed beforehand.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Literal, TypeAlias

import pytest

from commitments import Pedersen, ristretto255
from commitments.group import Group
from commitments.reference.group import ReferenceGroup
from commitments.reference.points import ReferencePoint, ReferencePointVec
from commitments.reference.scalar_vectors import ReferenceScalarVec, ReferenceSecretScalarVec
from commitments.reference.scalars import ReferenceScalar, ReferenceSecretScalar
from tests.randomness import seeded
from tests.zkp.bits.samples import sample
from tests.zkp.bits.samples import transcript as bound
from tests.zkp.noise_samples import transcript
from tests.zkp.sigma.samples import context, secret
from tests.zkp.test_weighted_noise import INTERVAL, LAW, party
from wire.errors import GopaError
from wire.randomness import Rng
from zkp import Interval, RangeStatement, prove_range, sigma
from zkp import bits as bit_argument
from zkp.noise.weighted_bits import WeightedNoisePlan, commit_weighted_noise
from zkp.sigma import AnyOf, ChildWitnesses
from zkp.sigma.statements import discrete_log, opening, witness
from zkp.transcript import NonceSource, Transcript

Kind: TypeAlias = Literal["zeros", "shifted"]

_CLASSES = (
    ReferenceGroup,
    ReferencePointVec,
    ReferencePoint,
    ReferenceScalarVec,
    ReferenceSecretScalarVec,
    ReferenceScalar,
    ReferenceSecretScalar,
)

_OPERATORS = {"__add__", "__sub__", "__mul__", "__neg__", "__getitem__"}


class Calls:
    """Counts the calls that a prover makes of the group, and spoils the result of one of them."""

    def __init__(self, at: int | None, kind: Kind) -> None:
        self.count = 0
        self._at = at
        self._kind = kind
        self._inside = False
        self.site = ("", "")
        """The function whose result was spoiled, and the one that called it."""

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def counted(*arguments: Any, **named: Any) -> Any:
            if self._inside:
                return function(*arguments, **named)
            self._inside = True
            try:
                result = function(*arguments, **named)
                place, self.count = self.count, self.count + 1
                if place != self._at:
                    return result
                self.site = function.__name__, sys._getframe(1).f_code.co_name
                return spoiled(result, self._kind)
            finally:
                self._inside = False

        return counted


@contextmanager
def fault(at: int | None, kind: Kind) -> Iterator[Calls]:
    """Inside, call number `at` of the reference group gives a wrong result; None for no call."""
    calls = Calls(at, kind)
    with pytest.MonkeyPatch.context() as patched:
        for owner in _CLASSES:
            for name, function in list(vars(owner).items()):
                if callable(function) and (name in _OPERATORS or not name.startswith("_")):
                    patched.setattr(owner, name, calls.around(function))
        yield calls


def spoiled(result: Any, kind: Kind) -> Any:
    """Zeros of the same type and size, or the first number or point moved by one."""
    if isinstance(result, ReferenceSecretScalarVec | ReferenceSecretScalar):
        return spoiled(result.reveal(), kind).secret()
    if isinstance(result, ReferenceScalarVec):
        order = result.curve.order
        changed = [(value + 1) % order if kind == "shifted" else 0 for value in result.ints()]
        kept = changed[1:] if kind == "zeros" else result.ints()[1:]
        return ReferenceGroup(result.curve).scalars(changed[:1] + kept)
    if isinstance(result, ReferenceScalar):
        one = ReferenceGroup(result.curve).scalar(1)
        return result + one if kind == "shifted" else result - result
    if isinstance(result, ReferencePoint):
        generator = ReferenceGroup(result.curve).generator
        return result + generator if kind == "shifted" else result - result
    if isinstance(result, ReferencePointVec):
        points = list(result)
        moved = [spoiled(point, kind) for point in points]
        return ReferenceGroup(result.curve).points(
            moved if kind == "zeros" else moved[:1] + points[1:]
        )
    return _spoiled_plain(result, kind)


def _spoiled_plain(result: Any, kind: Kind) -> Any:
    """Bytes and integers; what is neither stays as it is."""
    if isinstance(result, bytes) and result:
        return bytes(len(result)) if kind == "zeros" else bytes([result[0] ^ 1]) + result[1:]
    if isinstance(result, list) and result and isinstance(result[0], int):
        return [0] * len(result) if kind == "zeros" else [result[0] ^ 1, *result[1:]]
    return result


NOTHING = ristretto255("reference").secret_scalars([])
Prover = Callable[[], bytes]
KINDS: tuple[Kind, ...] = ("zeros", "shifted")

HARMLESS = {
    ("secret_scalar", "<dictcomp>"),
    ("secret_scalar", "_plan_any"),
    ("concat", "draw_commitment"),
}
"""The offset of a known leaf under a threshold: with any other the proof has the same law.
And bits that change before they are committed: others are hidden as well."""

FAST = 25
"""So many calls of each prover are tried outside of soaks."""


def bit_prover(group: Group) -> Prover:
    made = sample(group, 3, ["committed", "2", "public"])
    statement, hidden = made.statement(), group.secret_scalars(made.bits)
    openings = made.secret_openings()
    return lambda: bit_argument.prove(statement, hidden, openings, bound(), rng=seeded(1))


def early_bits(group: Group) -> Prover:
    """What is published before the coins: a point."""
    layout, hidden = bit_argument.layout_of(3), group.secret_scalars([1, 0, 1])

    def published() -> bytes:
        early = bit_argument.commit_bits(group, layout, hidden, bound(), rng=seeded(1))
        return repr(vars(ReferencePoint)["element"].__get__(early.point)).encode()

    return published


def range_prover(group: Group) -> Prover:
    value = group.secret_scalars([5])
    commitment, known = Pedersen(group).commit_fresh(value, rng=seeded(1))
    statement = RangeStatement(commitment, (Interval(0, 7),))
    return lambda: prove_range(statement, known, transcript(), rng=seeded(2))


def noise_prover(group: Group) -> Prover:
    """The private coins are committed by the same prover, as in a session."""
    plan = WeightedNoisePlan(group, LAW, 1, INTERVAL, inputs_committed=True)
    made = party(plan, [4])

    def proved() -> bytes:
        inputs = group.secret_scalars([4])
        hidden = commit_weighted_noise(plan, inputs, transcript(), rng=seeded("hidden 1"))
        point = repr(vars(ReferencePoint)["element"].__get__(hidden.point)).encode()
        made_again = type(made)(made.statement, made.openings, lambda: hidden, made.noise)
        return point + made_again.prove()

    return proved


def sigma_prover(group: Group) -> Prover:
    key = Pedersen(group)
    v, r = secret(group, "v"), secret(group, "r")
    statement = opening(group, key, key.value_base * v + key.blinding_base * r)
    known = witness(group, v, r)
    return lambda: sigma.prove(statement, known, context(), rng=seeded(1))


def threshold_prover(group: Group) -> Prover:
    x = secret(group, "x")
    other = group.generator * secret(group, "y")
    statement = AnyOf(1, (discrete_log(group, group.generator * x), discrete_log(group, other)))
    known = ChildWitnesses(witness(group, x), None)
    return lambda: sigma.prove(statement, known, context(), rng=seeded(1))


PROVERS: dict[str, Callable[[Group], Prover]] = {
    "bits": bit_prover,
    "early bits": early_bits,
    "range": range_prover,
    "weighted noise": noise_prover,
    "sigma": sigma_prover,
    "threshold": threshold_prover,
}


@pytest.fixture(autouse=True)
def _unhedged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nonces come from the generator alone: what only hedges them makes no difference here."""

    def source(  # noqa: PLR0917  the method it stands for has as many
        transcript: Transcript, label: bytes, group: Group, n: int, witness: object, rng: Rng
    ) -> NonceSource:
        del transcript, witness
        session = hashlib.sha256(label).digest()
        return NonceSource(group, n, session, rng(32), NOTHING)

    monkeypatch.setattr(Transcript, "nonce_source", source)


def calls_of(prove: Prover, honest: bytes) -> int:
    with fault(None, "zeros") as calls:
        assert prove() == honest
    return calls.count


def released(prove: Prover, at: int, kind: Kind) -> bytes | None:
    """What the prover gives out with one wrong result; None where it noticed."""
    with fault(at, kind) as calls:
        try:
            found = prove()
        except GopaError:
            return None
    return None if calls.site in HARMLESS else found


def escapes(name: str, kind: Kind, most: int | None) -> list[int]:
    """The calls of a prover whose wrong result leads to something other than honest bytes."""
    prove = PROVERS[name](ristretto255("reference"))
    honest = prove()
    assert prove() == honest
    count = calls_of(prove, honest)
    stride = 1 if most is None else max(1, count // most)
    tried = range(_first(name, stride), count, stride)
    results = {at: released(prove, at, kind) for at in tried}
    # Many wrong results are noticed: the faults do reach the prover.
    assert sum(found is None for found in results.values()) > len(results) / 3
    return [at for at, found in results.items() if found not in {None, honest}]


def _first(name: str, stride: int) -> int:
    """Another first call for each prover, so that strides do not always meet the same steps."""
    return len(name) % stride


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PROVERS)
def test_some_faults(name: str, kind: Kind) -> None:
    assert escapes(name, kind, FAST) == []


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PROVERS)
def test_every_fault(name: str, kind: Kind) -> None:
    assert escapes(name, kind, None) == []
