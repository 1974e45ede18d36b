"""Terms at random, many of them near a limit: what two judges have to agree on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from gopa.contract.terms import Terms
from gopa.planning.worth import Worth
from tests.planning.judged import TermsJudgement, explain_judgement
from tests.planning.terms_vectors import COMPLETE
from wire.errors import UsageError
from zkp.noise import GaussianTable, NoiseLaw, WeightedBits, binomial, irwin_hall

LAWS: Final[tuple[NoiseLaw, ...]] = (
    GaussianTable(16, 1, bits=48, rows=57),
    GaussianTable(1, 4, bits=40, rows=7),
    GaussianTable(900, 1, bits=60, rows=301),
    GaussianTable(64, 1, bits=20, rows=13),
    binomial(8),
    binomial(200),
    irwin_hall(12, 5),
    irwin_hall(4, 10),
    irwin_hall(2, 12),
)
NEAR: Final = ("0.5", "0.99", "0.9985", "0.9995", "1.0005", "1.0015", "1.01", "2")
"""What is claimed, of what holds."""


def given(terms: Terms, record: Any) -> tuple[Any, Any]:
    """The terms and their law as the second verifier reads them."""
    law = terms.noise
    runs = law.runs if isinstance(law, WeightedBits) else ()
    weights = [run.weight for run in runs for _ in range(run.count)]
    fields = {field: getattr(terms, field) for field in Terms.__slots__}
    return record(**fields), record(m=list(law.masses), R=law.radius, T=law.total, weights=weights)


def _some(source: random.Random) -> Terms:
    """Any terms; `UsageError` where they do not fit together."""
    n = source.choice([source.randint(4, 30), source.randint(30, 300), source.randint(300, 4000)])
    missing = source.choice([0, source.randint(0, 3), source.randint(0, n // 4)])
    mask: Any = source.choice(["uniform", "uniform", "gaussian"])
    k = min(n - 1, source.choice([n - 1, source.randint(5, 30), source.randint(20, 150)]))
    charged = source.choice([0, 0, 1, 3])
    dimension = source.choice([1, 1, 1, 2, 50, 10_000])
    steps = round(2 ** source.uniform(0, 7))
    box = dimension * steps**2
    return replace(
        COMPLETE,
        parties=n,
        corrupt=source.choice([1, max(1, n // 10), max(1, n // 4)]),
        survivors=n - missing,
        loss=min(missing, source.choice([0, 1, 2, 4, 8])),
        k=k,
        dimension=dimension,
        steps=steps,
        squared_sensitivity=box if dimension == 1 else max(1, source.choice([box, steps**2])),
        noise=source.choice(LAWS),
        mask=mask,
        mask_deviation=0 if mask == "uniform" else round(2 ** source.uniform(4, 16)),
        epsilon=Decimal(source.choice(["0.001", "0.1", "0.5", "1", "2", "5", "20", "100"])),
        delta=Decimal(source.choice(["1e-9", "1e-6", "0.001", "0.1", "0.7"])),
        beta=Decimal(source.choice(["0", "1e-12", "1e-7", "0.001", "0.3", "0.9"])),
        rounds=source.choice([1, 1, 1, 2, 7, 100]),
        charged=charged,
        attempts=charged + source.choice([1, 2, 6]),
        beacon=source.choice(["drand", "commit-reveal"]),
        threshold_numerator=source.choice([0, 0, 1, 2]),
        threshold_denominator=3,
    )  # fmt: skip


def terms_at_random(seed: str, count: int) -> Iterator[Terms]:
    """So many; where they are worth something, their claim is near it."""
    source = random.Random(seed)
    while count:
        try:
            terms = _some(source)
            worth = explain_judgement(terms).strict
            if 0 < worth < 1:
                claim = Decimal(worth) * Decimal(source.choice(NEAR))
                terms = replace(terms, delta=Decimal(f"{claim:.12e}"))
        except UsageError:
            continue
        count -= 1
        yield terms


def compared(seed: str, count: int, second: Any, record: Any) -> Counter[tuple[str, str]]:
    """How often the package says one thing and the second verifier another."""
    seen = Counter[tuple[str, str]]()
    for terms in terms_at_random(seed, count):
        found: TermsJudgement = explain_judgement(terms)
        theirs = second.judged(*given(terms, record))
        seen[found.worth.value, theirs] += 1
        pair = {found.worth.value, theirs}
        assert pair != {Worth.KEPT.value, Worth.BROKEN.value}, (terms, found)
    return seen
