"""Makes `specs/vectors/terms.json`: terms and what they are worth, some near each limit."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from gopa.contract.terms import Terms
from gopa.support.wording import epsilon_text
from tests.planning.samples import explain_judgement
from zkp.noise import GaussianTable, NoiseLaw, NoNoise, WeightedBits, binomial, irwin_hall

TABLE = GaussianTable(16, 1, bits=48, rows=57)

COMPLETE = Terms(
    parties=10,
    corrupt=2,
    survivors=8,
    loss=2,
    k=9,
    dimension=1,
    low=Decimal(0),
    high=Decimal(1),
    steps=4,
    squared_sensitivity=16,
    noise=TABLE,
    mask="uniform",
    mask_deviation=0,
    epsilon=Decimal(2),
    delta=Decimal("0.001"),
    beta=Decimal(0),
    rounds=1,
    charged=0,
    attempts=2,
    beacon="commit-reveal",
    threshold_numerator=0,
    threshold_denominator=1,
)
SPARSE = replace(
    COMPLETE,
    parties=100,
    corrupt=10,
    survivors=85,
    loss=5,
    k=16,
    steps=12,
    squared_sensitivity=144,
    beta=Decimal("0.0001"),
    delta=Decimal("0.01"),
    epsilon=Decimal(1),
)
LONG = replace(
    SPARSE,
    dimension=100,
    steps=20,
    squared_sensitivity=400,
    noise=irwin_hall(12, 5),
)


def cases() -> dict[str, Terms]:
    """All terms by name."""
    claim = explain_judgement(COMPLETE).strict
    exact = replace(COMPLETE, delta=Decimal(f"{claim:.12e}"))
    masks: dict[str, Any] = {"mask": "gaussian", "mask_deviation": 5000}
    recovery: dict[str, Any] = {"threshold_numerator": 2, "threshold_denominator": 3}
    return {
        "complete graph": COMPLETE,
        "claims exactly what it has": exact,
        "claims a hundredth less": replace(exact, delta=Decimal(f"{0.99 * claim:.12e}")),
        "claims a hundredth more": replace(exact, delta=Decimal(f"{1.01 * claim:.12e}")),
        "random graph": SPARSE,
        "random graph, no chance granted": replace(SPARSE, beta=Decimal(0)),
        "a thousand parties": replace(
            SPARSE, parties=1000, corrupt=100, survivors=900, loss=7, k=20, steps=38,
            squared_sensitivity=38**2, beta=Decimal("1e-7"),
        ),
        "unions in runs": replace(
            SPARSE, parties=3000, corrupt=100, survivors=2900, loss=5, k=20, steps=60,
            squared_sensitivity=3600, beta=Decimal("1e-7"),
        ),
        "recovery": replace(
            SPARSE, corrupt=5, k=40, attempts=1, beta=Decimal("0.001"), beacon="drand",
            **recovery,
        ),
        "recovery, picked coins": replace(SPARSE, corrupt=5, k=60, attempts=1, **recovery),
        "recovery, outvoted": replace(COMPLETE, corrupt=5, threshold_numerator=1,
            threshold_denominator=2),
        "recovery, nobody left": replace(COMPLETE, corrupt=1, survivors=5, loss=4,
            threshold_numerator=1, threshold_denominator=2),
        "recovery, Gaussian masks": replace(SPARSE, corrupt=5, k=60, loss=4, attempts=1,
            **masks, **recovery),
        "recovery, releases that nobody counts": replace(COMPLETE, corrupt=1, survivors=5, loss=3,
            attempts=3, delta=Decimal("0.05"), **recovery),
        "twelve releases": replace(COMPLETE, rounds=6, charged=1, epsilon=Decimal(6),
            delta=Decimal("0.1")),
        "hopeless": replace(COMPLETE, rounds=10_000),
        "narrow noise": replace(LONG, dimension=3, steps=2, squared_sensitivity=12,
            noise=binomial(8), epsilon=Decimal(20), delta=Decimal("0.5")),
        "Gaussian masks": replace(SPARSE, k=30, loss=4, **masks),
        "vectors": LONG,
        "no noise, complete graph": replace(COMPLETE, noise=NoNoise(), epsilon=None),
        "no noise, too many neighbours": replace(SPARSE, noise=NoNoise(), epsilon=None, k=2001,
            parties=5000, survivors=4990, loss=0),
        "too wide": replace(SPARSE, parties=2_000_000, survivors=1_999_990, loss=0,
            noise=irwin_hall(30, 8)),
    }  # fmt: skip


ONLY_JUST: Final = {
    "recovery, degrees of 2r": replace(
        SPARSE, corrupt=5, k=25, loss=5, attempts=1, beta=Decimal("0.0001"), beacon="drand",
        threshold_numerator=2, threshold_denominator=3,
    ),
    "half a chance": replace(
        SPARSE, beta=Decimal("0.9"), attempts=1, delta=Decimal("0.6"), beacon="drand"
    ),
    "Gaussian masks, many units": replace(
        SPARSE, parties=400, survivors=398, loss=2, k=60, mask="gaussian", mask_deviation=2**16,
        steps=100, squared_sensitivity=10**4, noise=irwin_hall(12, 5), beta=Decimal("1e-6"),
        epsilon=Decimal("0.4"), delta=Decimal("1e-6"),
    ),
    "exact sum": replace(
        SPARSE, noise=NoNoise(), epsilon=None, corrupt=5, k=25, loss=5, attempts=1,
        beta=Decimal("0.0001"), beacon="drand", threshold_numerator=2, threshold_denominator=3,
    ),
    "three releases of two": replace(
        COMPLETE, parties=12, corrupt=1, survivors=8, loss=2, k=11, charged=1, attempts=8,
        threshold_numerator=2, threshold_denominator=3, delta=Decimal("0.1"), epsilon=Decimal(1),
    ),
    "long vectors, many rounds": replace(
        LONG, parties=62, survivors=62, corrupt=2, k=61, loss=0, beta=Decimal(0),
        noise=GaussianTable.with_scale(8, bits=48, rows=113), dimension=2**17, steps=1,
        squared_sensitivity=1, rounds=1000, attempts=1, epsilon=Decimal("0.6"),
        delta=Decimal("0.5"),
    ),
}  # fmt: skip
"""One for each rule that decides; what they claim is moved to both sides of both limits."""

SIDES: Final = {"kept": "1.0015", "almost kept": "1.0005", "almost broken": "0.9995",
                "broken": "0.9985"}  # fmt: skip


def claiming(terms: Terms, factor: str) -> Terms:
    """The terms with a claim of so many times what holds, which depends a little on the claim."""
    for _ in range(20):
        worth = Decimal(explain_judgement(terms).strict)
        terms = replace(terms, delta=Decimal(f"{worth * Decimal(factor):.12e}"))
    return terms


def limits() -> dict[str, Terms]:
    """Terms on each side of each limit, and next to sizes at which nothing is shown."""
    found = dict(ONLY_JUST)
    for name, terms in ONLY_JUST.items():
        for side, factor in SIDES.items():
            found[f"{name}, {side}"] = claiming(terms, factor)
    few: dict[str, Any] = {"parties": 40, "survivors": 10, "corrupt": 1, "loss": 1}
    dense = replace(SPARSE, parties=3000, corrupt=10, survivors=3000, loss=0, beta=Decimal("1e-6"))
    widest = replace(dense, corrupt=1, k=40, noise=binomial(1024), steps=256,
        squared_sensitivity=2**16)  # fmt: skip
    return found | {
        "as many neighbours as are counted": replace(dense, k=2000),
        "one neighbour more": replace(dense, k=2001),
        "wide intervals": replace(SPARSE, k=9, **few),
        "as many lost as a party has": replace(SPARSE, parties=40, survivors=10, corrupt=1, k=9,
            loss=18),
        "as wide as is summed up": replace(widest, parties=2**18 + 1, survivors=2**18 + 1),
        "one party wider": replace(widest, parties=2**18 + 2, survivors=2**18 + 2),
    }  # fmt: skip


def record(name: str, terms: Terms) -> dict[str, object]:
    """One entry of the file."""
    found = explain_judgement(terms)
    law: NoiseLaw = terms.noise
    noise: dict[str, object] = {}
    if isinstance(law, WeightedBits):
        noise = {"runs": [[run.weight, run.count] for run in law.runs]}
    elif isinstance(law, GaussianTable):
        noise = {
            "square": [law.square_numerator, law.square_denominator],
            "bits": law.bits,
            "rows": law.rows,
        }
    fields = {
        field: getattr(terms, field)
        for field in Terms.__slots__
        if field not in {"noise", "low", "high", "epsilon", "delta", "beta"}
    }
    decimals = {"epsilon": epsilon_text(terms.epsilon)}
    decimals |= {field: str(getattr(terms, field)) for field in ("delta", "beta")}
    return {
        "name": name,
        "terms": fields | decimals | {"noise": noise},
        "delta_strict": f"{found.strict:.9e}",
        "delta_generous": f"{found.generous:.9e}",
        "energies": list(found.energies),
        "answer": found.worth.value,
    }


def records() -> dict[str, object]:
    """The content of the vector file."""
    return {
        "format": "terms as in 03, section 10; L at the smaller and larger chance, good to a "
        "ten-thousandth of delta; energies of Gaussian masks at both; the answer of [V35]",
        "terms": [record(name, terms) for name, terms in (cases() | limits()).items()],
    }
