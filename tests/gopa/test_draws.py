"""Draws are those of the specification, whatever is asked for at a time, and have exact laws."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gopa.support.draws import Draws, Seed, threshold_of, thresholds_of
from wire.errors import UsageError

WORDS = 2**64


def part(value: str | int | bytes) -> bytes:
    if isinstance(value, int):
        kind, body = b"i", value.to_bytes((max(value.bit_length(), 1) + 7) // 8)
    else:
        kind, body = (b"s", value.encode()) if isinstance(value, str) else (b"b", value)
    return kind + len(body).to_bytes(8) + body


def words(seed: Seed, *purpose: str | int) -> Iterator[int]:
    """Section 1 of the specification, word by word."""
    key = b"gopa/v1/simulation/draws" + (1 + len(purpose)).to_bytes(4)
    key += b"".join(part(each) for each in (seed, *purpose))
    block = 0
    while True:
        stream = hashlib.shake_128(key + block.to_bytes(8)).digest(8192)
        yield from (int.from_bytes(stream[i : i + 8], "little") for i in range(0, 8192, 8))
        block += 1


@pytest.mark.parametrize("seed", [0, 1, 255, 256, 2**200, b"", b"\x01", bytes(32)])
def test_the_stream_is_that_of_the_specification(seed: Seed) -> None:
    drawn = Draws(seed, "purpose", 7).words(2500).tolist()
    assert drawn == list(islice(words(seed, "purpose", 7), 2500))


@given(st.lists(st.integers(0, 1500), min_size=1, max_size=6), st.sampled_from([6, 3 * 2**61]))
def test_it_does_not_matter_how_much_is_asked_for_at_a_time(parts: list[int], bound: int) -> None:
    whole, pieces = Draws(3), Draws(3)
    drawn = np.concatenate([pieces.below(bound, count) for count in parts])
    assert np.array_equal(whole.below(bound, sum(parts)), drawn)


@pytest.mark.parametrize("bound", [1, 2, 10, 2**32 + 1, 3 * 2**61, 2**63 - 1, 2**63])
def test_words_that_favour_some_are_skipped(bound: int) -> None:
    fair = (word % bound for word in words(5) if word < WORDS - WORDS % bound)
    assert Draws(5).below(bound, 300).tolist() == list(islice(fair, 300))


def test_seeds_and_purposes_are_kept_apart() -> None:
    names: list[tuple[Seed, tuple[str | int, ...]]] = [
        (1, ()),
        (b"\x01", ()),
        (256, ()),
        (b"", ("a",)),
        (b"a", ()),
        (1, ("ab", "c")),
        (1, ("a", "bc")),
        (1, ("a", "b", "c")),
        (1, (1,)),
        (1, ("\x01",)),
    ]
    firsts = {int(Draws(seed, *purpose).words(1)[0]) for seed, purpose in names}
    assert len(firsts) == len(names)


@pytest.mark.parametrize("seed", [-1, True, 1.0, "text", None, np.array([1, 2])])
def test_what_is_no_seed_is_refused(seed: object) -> None:
    number: Any = np.int64(1)
    assert Draws(number).words(1) == Draws(1).words(1)
    with pytest.raises(UsageError):
        Draws(seed)  # type: ignore[arg-type]


def test_integers_below_a_bound_are_uniform() -> None:
    drawn = Draws(1, "uniform").below(37, 1_000_000)
    assert stats.chisquare(np.bincount(drawn, minlength=37)).pvalue > 1e-4


@pytest.mark.parametrize(
    "weights",
    [[1.0], [1.0, 1.0, 1.0], [0.0, 1e-300, 1.0, 0.0], [1e300, 3.0, 0.1], [0.1] * 7, [2.0, 0, 0]],
)
def test_shares_are_the_weights_as_fractions(weights: list[float]) -> None:
    thresholds = [*map(int, thresholds_of(weights)), WORDS]
    pieces = np.diff([0, *thresholds]).tolist()
    total = sum(map(Fraction, weights))
    pieces += [0] * (len(weights) - len(pieces))
    for weight, piece in zip(weights, pieces, strict=True):
        assert abs(Fraction(piece) - WORDS * Fraction(weight) / total) < 1
        assert weight or not piece
    assert sum(pieces) == WORDS


def test_integers_are_shared_out_by_weights() -> None:
    weights = np.array([0.5, 0.0, 2.0, 7.0, 1e-9, 0.25])
    drawn = Draws(2).shared_out(thresholds_of(weights), 1_000_000)
    counts = np.bincount(drawn, minlength=6)
    assert counts[1] == 0
    assert counts[4] <= 1
    some = [0, 2, 3, 5]
    shares = weights[some] / weights[some].sum()
    assert stats.chisquare(counts[some], counts[some].sum() * shares).pvalue > 1e-4


@pytest.mark.parametrize("weights", [[], [0.0], [1.0, -1.0], [np.nan], [np.inf], [[1.0]]])
def test_weights_that_share_nothing_out_are_refused(weights: list[float]) -> None:
    assert len(thresholds_of([1.0, 0.0, 2.0])) == 2
    with pytest.raises(UsageError):
        thresholds_of(weights)


def test_words_below_a_threshold_have_the_probability() -> None:
    assert threshold_of(0.0) == 0
    assert threshold_of(1.0) == WORDS
    assert threshold_of(0.25) == WORDS // 4
    for probability in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError):
            threshold_of(probability)


def test_all_orders_are_equally_likely() -> None:
    draws = Draws(4)
    seen = Counter(tuple(draws.order(4).tolist()) for _ in range(12_000))
    assert set(seen) == set(permutations(range(4)))
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


IN_A_NEW_PROCESS = """
import hashlib
from gopa.graph import geometric, random_regular, watts_strogatz
from gopa.learning.clocks import EdgeClock, Poisson, events
graphs = (watts_strogatz(60, 6, 0.3, 1), random_regular(40, 5, 2), geometric(90, 0.2, 3))
clocks = (Poisson(9), Poisson(3, [0.1, 0.2, 0.3]), EdgeClock(graphs[0]))
arrays = [each.targets for each in graphs]
arrays += [events(each, 7, steps=500, runs=2).actors for each in clocks]
print(hashlib.sha256(b"".join(each.astype("<i8").tobytes() for each in arrays)).hexdigest())
"""


def in_a_new_process(**settings: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_NEW_PROCESS],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("core", "threads"),
    [("Sandybridge", "2"), pytest.param("Nehalem", "1", marks=pytest.mark.soak)],
)
def test_processors_and_threads_change_nothing(
    core: str, threads: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(IN_A_NEW_PROCESS, {})  # noqa: S102
    here = capsys.readouterr().out.strip()
    assert len(here) == 64
    there = in_a_new_process(
        OPENBLAS_CORETYPE=core, OPENBLAS_NUM_THREADS=threads, PYTHONHASHSEED=threads
    )
    assert there == here
