"""Plans for tests, each made once."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any

from gopa.planning import Plan, Terms
from tests.planning.samples import plan
from zkp.noise import GaussianTable, NoiseLaw, irwin_hall


@lru_cache(maxsize=64)
def planned(**target: Any) -> Plan:
    return plan(**{"epsilon": 1, "delta": "1e-5", "mask": "uniform", **target})


def terms(**changes: Any) -> Terms:
    """Small terms with little noise; what they are worth for privacy does not matter."""
    numbers: dict[str, Any] = {
        "parties": 6,
        "corrupt": 1,
        "survivors": 4,
        "loss": 2,
        "k": 3,
        "dimension": 1,
        "low": Decimal(0),
        "high": Decimal(1),
        "steps": 100,
        "noise": GaussianTable.with_scale("2.5", rows=31),
        "mask": "uniform",
        "mask_deviation": 0,
        "epsilon": Decimal(1),
        "delta": Decimal("1e-5"),
        "beta": Decimal("1e-7"),
        "rounds": 50,
        "charged": 1,
        "attempts": 3,
        "beacon": "commit-reveal",
        "threshold_numerator": 0,
        "threshold_denominator": 1,
    }
    numbers.update(changes)
    box = numbers["dimension"] * numbers["steps"] ** 2
    numbers.setdefault("squared_sensitivity", box)
    return Terms(**numbers)


def lasting(**changes: Any) -> Terms:
    """Terms that parties accept: a complete graph of eight, delta all but given away."""
    vector = changes.get("dimension", 1) > 1
    law: NoiseLaw = GaussianTable.with_scale("8", bits=40, rows=101)
    numbers = {
        "parties": 8,
        "survivors": 4,
        "loss": 4,
        "k": 7,
        "steps": 8,
        "noise": irwin_hall(28, 8) if vector else law,
        "epsilon": Decimal(100),
        "delta": Decimal("0.999"),
        "beta": Decimal(0),
        "attempts": 4,
    }
    return terms(**{**numbers, **changes})
