"""Views of real sessions are what the audit draws: to the bit, and in law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from commitments import ristretto255
from gopa.adversary.privacy import linking
from gopa.adversary.privacy.evidence import RoundMessages, StrippedValue, Stripper, evidence_of
from gopa.adversary.privacy.linking import ViewComparison, link
from gopa.adversary.privacy.live import FULL_SESSIONS, SESSIONS, SIGNED_SESSIONS, Live, Played
from gopa.adversary.privacy.views import Law, Masks
from gopa.rounds.context import RoundContext
from wire.errors import UsageError
from wire.secret import SecretBytes

ROUNDS = {live.name: 2 if live in FULL_SESSIONS else 4 for live in SESSIONS}


def check(found: ViewComparison, rounds: int) -> None:
    assert found.rounds >= rounds
    assert found.values >= 4 * found.rounds
    assert found.wrong == 0
    assert found.holds


@pytest.mark.thirds
@pytest.mark.parametrize("live", SESSIONS, ids=lambda each: each.name)
def test_real_views_are_as_simulated(live: Live) -> None:
    rounds = ROUNDS[live.name]
    check(link(live, rounds, np.random.default_rng(31)), rounds)


@pytest.mark.soak
@pytest.mark.parametrize("live", SESSIONS, ids=lambda each: each.name)
def test_hundreds_of_real_views_are_as_simulated(live: Live) -> None:
    rounds = 40 if live in FULL_SESSIONS else 300
    found = link(live, rounds, np.random.default_rng(32))
    check(found, rounds)
    if not live.masks_stay or not live.script.parties:
        assert found.totals is not None
        assert found.singles is not None


def tampered(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[RoundMessages], None]
) -> ViewComparison:
    def changed(*arguments: object) -> RoundMessages:
        evidence = evidence_of(*arguments)  # type: ignore[arg-type]
        change(evidence)
        return evidence

    live, rng = SIGNED_SESSIONS[0], np.random.default_rng(33)
    assert link(live, 1, rng).holds
    monkeypatch.setattr(linking, "evidence_of", changed)
    return link(live, 1, rng)


def shift_a_value(evidence: RoundMessages) -> None:
    place = max(evidence.values)
    evidence.values[place] = (evidence.values[place][0] + 1, *evidence.values[place][1:])


def forget_an_opening(evidence: RoundMessages) -> None:
    evidence.edges.pop(max(evidence.edges, key=sorted))


def forget_a_seed(evidence: RoundMessages) -> None:
    evidence.seeds.pop(max(evidence.seeds))


def another_seed(evidence: RoundMessages) -> None:
    evidence.seeds[max(evidence.seeds)] = SecretBytes(bytes(32))


@pytest.mark.parametrize(
    "change",
    [shift_a_value, forget_an_opening, forget_a_seed, another_seed],
    ids=lambda each: each.__name__,
)
def test_a_log_that_says_something_else_is_noticed(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[RoundMessages], None]
) -> None:
    found = tampered(monkeypatch, change)
    assert found.wrong > 0
    assert not found.holds


def played_once(monkeypatch: pytest.MonkeyPatch, live: Live, rounds: int) -> None:
    """From now on there is one session, however often it is compared."""
    played = live.played(rounds, np.random.default_rng(34).bytes)
    monkeypatch.setattr(Live, "played", lambda *_: played)
    monkeypatch.setattr(linking, "_ROUNDS", rounds)


@pytest.mark.slow
def test_other_noise_than_planned_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Views would be drawn from a wider law than that of the sessions."""
    live, rng = SIGNED_SESSIONS[1], np.random.default_rng(34)
    assert live.terms.dimension == 3
    played_once(monkeypatch, live, 16)
    honest = link(live, 16, rng)
    assert honest.totals is not None
    assert honest.holds
    drawn = Law.of
    monkeypatch.setattr(Law, "of", lambda law: drawn(law).total(16))
    found = link(live, 16, rng)
    assert found.wrong == 0
    assert not found.holds


@pytest.mark.slow
def test_masks_of_another_width_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    curious = next(live for live in SIGNED_SESSIONS if live.masks_stay)
    vectors = replace(SIGNED_SESSIONS[1].terms, k=6, mask="gaussian", mask_deviation=40)
    live, rng = replace(curious, terms=vectors), np.random.default_rng(35)
    played_once(monkeypatch, live, 10)
    honest = link(live, 10, rng)
    assert honest.singles is not None
    assert honest.holds
    law = Masks.law
    monkeypatch.setattr(Masks, "law", lambda masks: law(Masks(16 * masks.deviation)))
    found = link(live, 10, rng)
    assert found.wrong == 0
    assert not found.holds


@lru_cache(maxsize=1)
def one_round() -> tuple[Played, Stripper]:
    played = SIGNED_SESSIONS[0].played(1, np.random.default_rng(36).bytes)
    simulation = played.simulation
    context = RoundContext(simulation.manifest, simulation.session, 1, ristretto255())
    found = simulation.findings().rounds[0]
    return played, Stripper(context, found, evidence_of(simulation.log(), context, found))


def rests(*coalition: int) -> dict[int, StrippedValue]:
    played, stripper = one_round()
    secrets = played.of_round(1)
    return stripper.rests({place: secrets[place] for place in coalition})


def test_a_coalition_of_nobody_takes_off_what_was_opened() -> None:
    """Party 5 is gone: its edges are open, and every seed of the others."""
    found = rests()
    assert set(found) == {0, 1, 2, 3, 4, 6}
    assert not any(5 in rest.hidden or rest.closed for rest in found.values())
    assert all(rest.hidden for rest in found.values())


def test_a_larger_coalition_leaves_fewer_masks() -> None:
    few, many = rests(0), rests(0, 1, 2, 3)
    assert set(many) == {4, 6}
    for place, rest in many.items():
        assert set(rest.hidden) < set(few[place].hidden)
        assert not {0, 1, 2, 3} & set(rest.hidden)


def test_all_but_one_see_input_and_noise() -> None:
    played, _ = one_round()
    (rest,) = rests(0, 1, 2, 3, 4).values()
    assert rest.hidden == ()
    size = 1 << played.simulation.manifest.word_width
    assert rest.values == tuple(value % size for value in played.plain(1, 6))


def test_messages_of_many_entries_are_refused() -> None:
    played, stripper = one_round()
    log = played.simulation.log()

    class Chunked:
        def entries(self) -> list[bytes]:
            raise UsageError("asked for", "log")

    assert evidence_of(log, stripper.context, stripper.found).values
    with pytest.raises(UsageError):
        evidence_of(Chunked(), stripper.context, stripper.found)  # type: ignore[arg-type]
