"""Lists the plans that are audited by default, and reads others from `gopa plan --json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gopa.adversary.privacy.claims import MeasuredView
from gopa.adversary.privacy.coalitions import (
    FEWEST,
    LATE,
    NEIGHBOURS,
    ORGANISER,
    RECOVERY,
    ROLLBACK,
    VETO,
    Coalition,
)
from gopa.contract.terms import Terms
from gopa.planning.planner import plan
from gopa.support.wording import NO_EPSILON
from wire.errors import MalformedMessage, UsageError
from wire.strict_json import read_json
from zkp.noise import NoiseLaw, decode_noise_law

if TYPE_CHECKING:
    import numpy as np


EPSILON: Final = "1"
DELTA: Final = "0.05"


@dataclass(frozen=True, slots=True)
class AuditedPlan:
    """Names a plan to audit, and which views of it are measured."""

    options: tuple[tuple[str, Any], ...]
    coalitions: tuple[Coalition, ...]

    @classmethod
    def of(cls, *coalitions: Coalition, **options: Any) -> AuditedPlan:
        return cls(tuple(options.items()), coalitions)

    @property
    def terms(self) -> Terms:
        """Planned once in a process."""
        return _planned(self.options)


@lru_cache(maxsize=64)
def _planned(options: tuple[tuple[str, Any], ...]) -> Terms:
    standard: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "charged": 0, "attempts": 1}
    return plan(**(standard | dict(options))).terms


_AROUND: Final = (NEIGHBOURS, ORGANISER, ROLLBACK, LATE)
_MANY: Final = {"n": 24, "corrupt": 10}
_TWO: Final = {"n": 6, "corrupt": 4, "dropout": 0}
_RETRY: Final = {"n": 16, "corrupt": 4, "charged": 1, "attempts": 2}
_VECTOR: Final = {"n": 8, "corrupt": 2, "dropout": 0, "dimension": 4}

UNIFORM: Final = AuditedPlan.of(*_AROUND, **_MANY, mask="uniform")
GAUSSIAN: Final = AuditedPlan.of(*_AROUND, **_MANY, mask="gaussian", objective="peers")
TWO_UNIFORM: Final = AuditedPlan.of(FEWEST, **_TWO, mask="uniform")
TWO_GAUSSIAN: Final = AuditedPlan.of(FEWEST, **_TWO, mask="gaussian")
RETRY_UNIFORM: Final = AuditedPlan.of(VETO, **_RETRY, mask="uniform")
RETRY_GAUSSIAN: Final = AuditedPlan.of(VETO, **_RETRY, mask="gaussian")
RECOVERING: Final = AuditedPlan.of(RECOVERY, n=12, corrupt=2, recovery="2/3", mask="gaussian")
VECTOR_UNIFORM: Final = AuditedPlan.of(FEWEST, **_VECTOR, mask="uniform")
VECTOR_GAUSSIAN: Final = AuditedPlan.of(FEWEST, **_VECTOR, mask="gaussian")
NARROW: Final = AuditedPlan.of(FEWEST, **_MANY, mask="gaussian", objective="masks")
SMALL_DELTA: Final = AuditedPlan.of(FEWEST, **_TWO, mask="uniform", delta="1e-6")

HOUSES: Final = (
    UNIFORM,
    GAUSSIAN,
    TWO_UNIFORM,
    TWO_GAUSSIAN,
    RETRY_UNIFORM,
    RETRY_GAUSSIAN,
    NARROW,
    RECOVERING,
    VECTOR_UNIFORM,
    VECTOR_GAUSSIAN,
    SMALL_DELTA,
)


def default_views(rng: np.random.Generator) -> list[MeasuredView]:
    """The views of a default audit."""
    found = [each.view(house.terms, rng) for house in HOUSES for each in house.coalitions]
    return [view for view in found if view is not None]


_DECIMALS: Final = frozenset({"low", "high", "epsilon", "delta", "beta"})
_LARGEST: Final = 1 << 20


def read_plan(path: Path) -> Terms:
    """The terms of a plan; whoever relies on them asks what they are worth.

    Raises:
        UsageError: no such file, other contents, or numbers that do not fit each other.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path} is larger than a plan", "plan")
        found = read_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "plan") from None
    except ValueError:
        raise UsageError(f"{path} is no JSON: write it with `gopa plan --json`", "plan") from None
    return terms_from(found)


def terms_from(record: object) -> Terms:
    """The terms in what `gopa plan --json` wrote. Raises `UsageError` for anything else."""
    terms, noise = _part(record, "terms"), _part(record, "noise")
    wanted = {each.name for each in fields(Terms)} - {"noise"}
    if set(terms) != wanted:
        wrong = ", ".join(sorted(map(str, set(terms) ^ wanted)))
        raise UsageError(f"the terms of this version; differing: {wrong}", "plan")
    values: dict[str, Any] = {
        name: _decimal(value, name) if name in _DECIMALS else value for name, value in terms.items()
    }
    return Terms(noise=_law(noise), **values)


def _part(record: object, name: str) -> Mapping[str, object]:
    part = record.get(name) if isinstance(record, dict) else None
    if not isinstance(part, dict):
        raise UsageError(
            f"must be an object with {name!r}, as `gopa plan --json` prints it", "plan"
        )
    return part


def _decimal(value: object, name: str) -> Decimal:
    if (name, value) == ("epsilon", NO_EPSILON):
        raise UsageError("an exact sum promises none that could be measured", name)
    if not isinstance(value, str):
        raise UsageError("must be a decimal number as text", name)
    try:
        return Decimal(value)
    except InvalidOperation:
        raise UsageError("must be a decimal number as text", name) from None


def _law(noise: Mapping[str, object]) -> NoiseLaw:
    encoding = noise.get("encoding")
    if not isinstance(encoding, str):
        raise UsageError("the encoding of a noise law in hexadecimal", "noise")
    try:
        law = decode_noise_law(bytes.fromhex(encoding))
    except (ValueError, MalformedMessage):
        raise UsageError("the encoding of a noise law in hexadecimal", "noise") from None
    if noise.get("hash") != law.table_hash().hex():
        raise UsageError("the hash of another table than the one that is encoded", "noise")
    return law
