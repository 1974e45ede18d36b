"""The commands of the page about running sessions, for long vectors with private weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gopa
from tests.sessions.processes.worlds import world

PARTIES, WIDTH, MOST = 5, 200, 2
PLAN = (
    *("--epsilon", "none", "--corrupt", "1", "--dropout", "0.1", "--path", "rows"),
    *("--dimension", str(WIDTH + 1), "--low", "-1", "--high", "1", "--norm", "1", "--weighted"),
    *("--steps", "1024", "--least-chance", "0"),
)
ACCEPTED = ("--delta", "1e-5", "--accept-exact-sum")


@pytest.mark.soak
def test_a_session_of_weighted_vectors_from_the_shell(tmp_path: Path) -> None:
    """One party is killed when it has joined and started again; the mean is the simulation's."""
    source = np.random.default_rng(1)
    vectors = [source.integers(-3, 4, WIDTH) / 64 for _ in range(PARTIES)]
    weights = [1, 2, 0, 2, 1]
    with world(tmp_path, PARTIES, plan=PLAN) as place:
        place.prepare()
        organiser = place.open()
        how = []
        for number, vector in enumerate(vectors):
            file = place.home(number) / "vector.npy"
            np.save(file, vector)
            how.append(("--file", file, "--weight", weights[number], "--max-weight", MOST))
        dies = place.join(0, *how[0], accepted=ACCEPTED)
        dies.awaited("phase", phase="join")
        dies.strike()
        parties = [place.join(each, *how[each], accepted=ACCEPTED) for each in range(PARTIES)]
        assert [each.wait() for each in parties] == [0] * PARTIES
        assert organiser.wait() == 0
        audit = place.facts("auditor", "audit", place.url, "--anchors", place.place.anchors_path)
        terms = place.place.manifest(place.ticket).terms
    assert audit["verdict"] == "VALID"
    expected = gopa.average(vectors, weights=weights, max_weight=MOST, plan=plan_again(terms))
    for each in parties:
        said = each.said("result")
        assert said is not None
        assert said["mean"] == json.loads(json.dumps(expected.mean.tolist()))


def plan_again(terms: gopa.planning.Terms) -> gopa.Plan:
    """The plan of the session, made here."""
    made = gopa.plan(
        n=PARTIES,
        epsilon=None,
        corrupt=1,
        dropout=0.1,
        path="rows",
        dimension=WIDTH + 1,
        range=(-1, 1),
        norm=1,
        weighted=True,
        steps=1024,
        least_chance=0,
    )
    assert made.terms == terms
    return made
