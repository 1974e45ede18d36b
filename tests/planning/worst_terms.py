"""Terms that take long to judge: the largest numbers of every kind that a manifest can name."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Any, Final

from gopa.contract.terms import Terms
from gopa.planning.result import Worth
from tests.planning.samples import TermsJudgement, explain_judgement
from tests.planning.terms_vectors import COMPLETE
from wire.errors import UsageError
from zkp.noise import GaussianTable, NoiseLaw, WeightedBits, binomial, irwin_hall

MOST: Final = 2_000_000


MOST_NAMED: Final = 2**20


"""A manifest names no more parties, though terms may have more."""


BASE = Terms(
    parties=MOST,
    corrupt=1,
    survivors=MOST,
    loss=0,
    k=20,
    dimension=1,
    low=Decimal(0),
    high=Decimal(1),
    steps=1000,
    squared_sensitivity=10**6,
    noise=GaussianTable(1, 1, rows=13),
    mask="uniform",
    mask_deviation=0,
    epsilon=Decimal(1),
    delta=Decimal("1e-20"),
    beta=Decimal("1e-22"),
    rounds=1,
    charged=0,
    attempts=1,
    beacon="commit-reveal",
    threshold_numerator=0,
    threshold_denominator=1,
)


LAWS: dict[str, NoiseLaw] = {
    "narrow table": GaussianTable(1, 1, rows=13),
    "wide table": GaussianTable(64**2, 1, bits=60, rows=901),
    "binomial": binomial(1024),
    "uniforms": irwin_hall(30, 8),
    "widest uniforms": irwin_hall(2, 12),
}


"""What a law weighs in convolutions: its rows, and its variance."""


def honest_at_the_limit(law: NoiseLaw) -> int:
    """The most honest parties whose noise is still summed up."""
    from gopa.planning.noise.exposure import most_summed

    return min(MOST - 1, most_summed(law))


def wide_sums() -> Iterator[tuple[str, Terms]]:
    """The widest sums of noise: numbers of parties with all ones in binary need most steps."""
    for name, law in LAWS.items():
        honest = honest_at_the_limit(law)
        ones = (1 << (honest.bit_length() - 1)) - 1
        for count in {honest, ones}:
            n = max(count + 1, 3)
            base = replace(BASE, parties=n, survivors=n, k=min(20, n - 1), noise=law)
            yield f"{name}, {count} parties", base
            for dimension in (2**10, 2**20):
                yield (
                    f"{name}, {count} parties, dimension {dimension}",
                    replace(
                        base,
                        dimension=dimension,
                        steps=2**14,
                        squared_sensitivity=2**20,
                    ),
                )


def many_releases() -> Iterator[tuple[str, Terms]]:
    """Composition: grids of losses that are long from the start, or grow."""
    for name, law in LAWS.items():
        for n in (4, 20, 300, min(20_000, honest_at_the_limit(law))):
            for steps in (1, 2, 5, 40):
                for rounds, charged in ((2, 0), (1, 1), (63, 0), (10_000, 0), (10_000, 100)):
                    yield (
                        f"{name}, {n} parties, {steps} steps, {rounds} x {charged + 1} releases",
                        replace(
                            BASE,
                            parties=n,
                            survivors=n,
                            k=min(20, n - 1),
                            steps=steps,
                            squared_sensitivity=steps**2,
                            noise=law,
                            rounds=rounds,
                            charged=charged,
                            attempts=charged + 1,
                            beta=Decimal("1e-30"),
                            delta=Decimal("0.01"),
                        ),
                    )


def large_graphs() -> Iterator[tuple[str, Terms]]:
    """Bounds on random graphs: many neighbours, wide ranges of parties, masks and thresholds."""
    for n in (3000, 10**6, MOST):
        for k in (20, 125, 500, 999, 2000):
            for missing in (0, n // 20, n // 3):
                shared = replace(
                    BASE,
                    parties=n,
                    corrupt=max(1, n // 5),
                    survivors=n - missing,
                    loss=min(missing, k // 4),
                    k=k,
                    steps=2**9,
                    squared_sensitivity=2**18,
                    delta=Decimal("0.5"),
                    beta=Decimal("0.001"),
                )
                name = f"{n} parties, {k} neighbours, {missing} missing"
                yield name, shared
                yield (
                    f"{name}, recovery",
                    replace(shared, threshold_numerator=2, threshold_denominator=3),
                )
                masks = replace(shared, mask="gaussian", mask_deviation=2**16)
                yield f"{name}, Gaussian masks", masks
                yield (
                    f"{name}, Gaussian masks of vectors",
                    replace(masks, dimension=2**20, squared_sensitivity=2**20),
                )


def mostly_corrupt() -> Iterator[tuple[str, Terms]]:
    """Graphs in which a party may choose anything from no corrupt ones to corrupt ones alone."""
    for k, tau in product((125, 500, 1000, 2000), (0, 1, 2)):
        for tenths, few in product((5, 7, 9), (20, 3)):
            corrupt = MOST_NAMED * tenths // 10
            survivors = MOST_NAMED - (MOST_NAMED - corrupt) // few
            recovering = min(k, 1000)
            yield (
                f"{tenths} of 10 corrupt, {k} neighbours, 1 of {few} missing, {tau} thirds",
                replace(
                    BASE,
                    parties=MOST_NAMED,
                    corrupt=corrupt,
                    survivors=survivors,
                    loss=k // 8,
                    k=recovering if tau else k,
                    steps=2**40 if tau == 1 else 30,
                    squared_sensitivity=2**80 if tau == 1 else 900,
                    mask="gaussian",
                    mask_deviation=2**16,
                    delta=Decimal("0.5"),
                    beta=Decimal("0.01"),
                    beacon="drand" if few == 3 else "commit-reveal",
                    threshold_numerator=tau * 21_845,
                    threshold_denominator=65_535,
                ),
            )


def masks_in_every_release() -> Iterator[tuple[str, Terms]]:
    """Losses of Gaussian masks, of which the two chances lead to different energies."""
    for (name, law), n, dimension in product(LAWS.items(), (160, 3000), (1, 2**20)):
        for steps, rounds, charged in product((1, 30), (1, 2, 10_000), (0, 100)):
            deviation = 40 if rounds == 1 else 2**12
            yield (
                (
                    f"{name}, {n} parties, masks, {steps} steps of {dimension}, "
                    f"{rounds} x {charged + 1} releases"
                ),
                replace(
                    BASE,
                    parties=n,
                    corrupt=n // 10,
                    survivors=n - n // 20,
                    loss=4,
                    k=100,
                    dimension=dimension,
                    steps=steps,
                    squared_sensitivity=steps**2,
                    noise=law,
                    mask="gaussian",
                    mask_deviation=deviation,
                    delta=Decimal("0.01"),
                    beta=Decimal("1e-12"),
                    rounds=rounds,
                    charged=charged,
                    attempts=min(1000, 10 * (charged + 1)),
                    threshold_numerator=0 if steps == 1 else 2,
                    threshold_denominator=3,
                ),
            )


def all_terms() -> dict[str, Terms]:
    """Every one of them, by name."""
    kinds = (wide_sums, many_releases, large_graphs, mostly_corrupt, masks_in_every_release)
    return dict(each for kind in kinds for each in kind())


LAWS_RANDOM: Final[tuple[NoiseLaw, ...]] = (
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
        noise=source.choice(LAWS_RANDOM),
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
