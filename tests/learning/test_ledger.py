"""A ledger grants what fits and not one step more, and a file of it survives everything."""

from __future__ import annotations

import json
import math
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import get_ident
from time import sleep
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from gopa import UsageError
from gopa.accounting import Loss, gaussian_sigma
from gopa.learning import BudgetExceeded, Charge, LedgerEntry, Privacy, PrivacyLedger
from gopa.learning.privacy import Relation

ASKED = Privacy(1.0, 1e-5)
SAMPLED = Privacy(1.0, 1e-5, relation="add-remove")
GAUSS = Charge.gaussian(20, 1)
LAPLACE = Charge.laplace(10, 1)


def granted(ledger: PrivacyLedger, charge: Charge, most: int = 10_000) -> int:
    """How many steps are granted one by one."""
    for step in range(most):
        try:
            ledger.charge(charge)
        except BudgetExceeded:
            return step
    return most


@pytest.mark.parametrize(
    ("privacy", "charge"),
    [
        (ASKED, GAUSS),
        (ASKED, LAPLACE),
        (Privacy(1.0), LAPLACE),
        (ASKED, Charge.discrete_laplace(10, 1)),
        (ASKED, Charge.randomised_response(0.1, 4)),
        (ASKED, Charge.guarantee(0.1, 1e-6)),
        (ASKED, Charge.guarantee(0.1)),
        (ASKED, Charge.guarantee(0.0, 1e-6)),
        (SAMPLED, Charge.gaussian(2, 1).subsampled(0.1, "add-remove")),
        (Privacy(1.0), LAPLACE.subsampled(0.5, "replace-one")),
    ],
    ids=str,
)
def test_exactly_as_many_steps_are_granted_as_fit(privacy: Privacy, charge: Charge) -> None:
    one_by_one, at_once = PrivacyLedger(privacy), PrivacyLedger(privacy)
    steps = granted(one_by_one, charge)
    assert 0 < steps < 10_000
    assert PrivacyLedger(privacy).room(charge) == steps
    with pytest.raises(BudgetExceeded) as caught:
        at_once.charge(charge, steps + 1)
    assert caught.value.room == steps
    assert caught.value.epsilon > privacy.epsilon
    assert at_once.entries == ()
    at_once.charge(charge, steps)
    assert at_once.spent(1) == one_by_one.spent(1)
    assert one_by_one.spent(1).within(privacy)


def test_normal_noise_composes_as_the_exact_curve_says() -> None:
    """k steps of deviation s are one step of s / sqrt(k)."""
    steps = PrivacyLedger(ASKED).room(GAUSS)
    needed = gaussian_sigma(1.0, 1e-5)
    assert steps == pytest.approx((20 / needed) ** 2, abs=1)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("times", [1, 7])
def test_calibrated_noise_fits_into_the_budget_it_was_made_for(epsilon: float, times: int) -> None:
    asked = Privacy(epsilon, 1e-5)
    sigma = gaussian_sigma(epsilon, 1e-5, 3.0) * math.sqrt(times)
    ledger = PrivacyLedger(asked)
    assert granted(ledger, Charge.gaussian(sigma * (1 + 1e-12), 3.0)) == times
    spent = ledger.spent()
    assert spent.within(asked)
    assert spent.epsilon == pytest.approx(epsilon, rel=0.001)
    assert Loss.gaussian(sigma, 3.0).repeated(times).epsilon(1e-5) == pytest.approx(
        epsilon, rel=0.01
    )
    assert PrivacyLedger(asked).room(Charge.gaussian(sigma * 0.999, 3.0)) < times


def test_basic_composition_is_exact_in_decimals() -> None:
    assert granted(PrivacyLedger(Privacy(1.0)), LAPLACE) == 10
    assert granted(PrivacyLedger(Privacy(0.3)), Charge.randomised_response(0.1)) == 3


def test_one_guarantee_fills_its_own_budget() -> None:
    ledger = PrivacyLedger(ASKED)
    ledger.charge(Charge.guarantee(1.0, 1e-5))
    assert ledger.spent().epsilon == 1.0
    with pytest.raises(BudgetExceeded):
        ledger.charge(Charge.guarantee(0.0, 1e-9))


def test_a_delta_that_is_used_up_is_said_to_be_the_cause() -> None:
    asked = Privacy(4.0, 1e-5)
    ledger = PrivacyLedger(asked)
    half = Charge.guarantee(1.0, 5e-6)
    ledger.charge(half)
    assert ledger.room(half, 9) == 1
    with pytest.raises(BudgetExceeded) as caught:
        ledger.charge(half, 2)
    assert caught.value.delta == pytest.approx(1.5e-5)
    assert caught.value.room == 1
    with pytest.raises(BudgetExceeded) as caught:  # here it is epsilon
        ledger.charge(Charge.guarantee(8.0, 1e-6))
    assert caught.value.delta < asked.delta
    assert 4 < caught.value.epsilon < math.inf


def test_two_mechanisms_compose() -> None:
    ledger = PrivacyLedger(ASKED)
    for _ in range(3):
        ledger.charge(GAUSS)
        ledger.charge(Charge.laplace(40, 1))
    expected = Loss.gaussian(20, 1).repeated(3).then(Loss.laplace(40, 1).repeated(3))
    assert ledger.spent().epsilon == pytest.approx(expected.epsilon(1e-5), rel=1e-3)
    assert ledger.room(GAUSS) < PrivacyLedger(ASKED).room(GAUSS)


def test_a_sample_hides_more_and_replacing_costs_more_than_leaving() -> None:
    """By enumeration of two-valued randomised response on a user who may take part."""
    epsilon, rate = 0.7, 0.3
    charge = Charge.laplace(1 / epsilon, 1)
    left = charge.subsampled(rate, "add-remove").pure
    replaced = charge.subsampled(rate, "replace-one").pure
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    absent, there, other = 0.5, truth, 1 - truth
    # Against 1/2 each answer has a ratio below e^epsilon; against its opposite e^epsilon.
    seen, unseen = (rate * each + (1 - rate) * absent for each in (there, other))
    assert math.log(seen / absent) <= left < epsilon
    assert math.log(seen / unseen) <= replaced
    assert left < replaced < 2 * left


@pytest.mark.parametrize("times", [1, 10])
def test_normal_noise_is_charged_by_its_exact_curve(times: int) -> None:
    """Of Balle and Wang, written out: half a sensitivity would be half an epsilon."""
    ledger = PrivacyLedger(Privacy(50.0, 1e-5))
    ledger.charge(Charge.gaussian(sigma=3.0, sensitivity=2.0), times)
    epsilon, shift = ledger.spent().epsilon, math.sqrt(times) * 2 / 3
    below = norm.cdf(shift / 2 - epsilon / shift)
    delta = below - math.exp(epsilon) * norm.cdf(-shift / 2 - epsilon / shift)
    assert delta == pytest.approx(1e-5, rel=0.01)


@pytest.mark.parametrize(
    "charge",
    [GAUSS, LAPLACE, Charge.randomised_response(0.1, 4)],
    ids=lambda charge: charge.law,
)
def test_everybody_in_the_sample_costs_as_much_as_nearly_everybody(charge: Charge) -> None:
    """To replace a row moves a sum by twice what one row more moves it by."""

    def spent(rate: float, relation: Relation) -> float:
        ledger = PrivacyLedger(Privacy(50.0, 1e-5, relation=relation))
        ledger.charge(charge.subsampled(rate, relation))
        return ledger.spent().epsilon

    replaced, left = (spent(1.0, each) for each in ("replace-one", "add-remove"))
    assert replaced == pytest.approx(spent(1 - 1e-9, "replace-one"), rel=1e-4)
    assert left == pytest.approx(spent(1 - 1e-9, "add-remove"), rel=1e-4)
    assert 1.9 * left < replaced
    assert charge.subsampled(1.0, "replace-one").pure == pytest.approx(2 * charge.pure)


@pytest.mark.parametrize("steps", [5, 10, 15, 20, 37])
def test_a_budget_that_is_shared_out_in_floats_is_enough(steps: int) -> None:
    each = 1.0 / steps
    assert PrivacyLedger(Privacy(1.0)).room(Charge.laplace(1 / each, 1)) == steps
    shared = Charge.guarantee(each, 1e-5 / steps)
    assert PrivacyLedger(Privacy(1.0, 1e-5)).room(shared) == steps
    ledger = PrivacyLedger(Privacy(1.0))
    ledger.charge(Charge.laplace(1 / each, 1), steps)
    assert ledger.spent().within(Privacy(1.0))
    assert ledger.room(Charge.laplace(1e9, 1)) == 0


def test_noise_of_a_quotient_of_floats_fits_its_own_budget() -> None:
    rng = np.random.default_rng(0)
    for epsilon, sensitivity in rng.uniform(0.01, 9, (300, 2)).tolist():
        charge = Charge.laplace(sensitivity / epsilon, sensitivity)
        assert PrivacyLedger(Privacy(epsilon)).room(charge) == 1


@pytest.mark.parametrize(
    "charge",
    [
        Charge.guarantee(1000.0, 1e-6),
        Charge.laplace(1e-3, 1),
        Charge.laplace(1e8, 1),
        Charge.discrete_laplace(1e8, 1),
        Charge.randomised_response(1e-12),
        Charge.laplace(1e-3, 1).subsampled(0.5, "replace-one"),
    ],
    ids=str,
)
def test_what_has_no_loss_that_a_float_holds_is_added_up(charge: Charge) -> None:
    """Whatever else is composed by its losses."""
    ledger = PrivacyLedger(Privacy(1e5, 1e-5))
    ledger.charge(GAUSS, 10)
    composed = ledger.spent().epsilon
    ledger.charge(charge, 3)
    assert ledger.spent().epsilon == pytest.approx(composed + 3 * charge.pure, rel=2e-3)
    assert ledger.spent().epsilon >= composed


@pytest.mark.parametrize(
    "asked", [Privacy(1.0, 1e-40), Privacy(1e-12, 1e-30), Privacy(101.0, 1e-9)]
)
def test_budgets_that_normal_noise_is_not_calibrated_to_have_ledgers(asked: Privacy) -> None:
    assert PrivacyLedger(asked).room(Charge.laplace(2 / asked.epsilon, 1)) == 2


def test_what_does_not_move_costs_nothing() -> None:
    for still in (Charge.gaussian(1, 0), Charge.laplace(1, 0), Charge.discrete_laplace(1, 0)):
        ledger = PrivacyLedger(ASKED)
        ledger.charge(GAUSS)
        before = ledger.spent().epsilon
        ledger.charge(still, 1000)
        assert ledger.spent().epsilon == before
        assert PrivacyLedger(Privacy(1.0)).room(still, 7) == 7


def test_no_budget_covers_a_number_without_noise() -> None:
    ledger = PrivacyLedger(Privacy(50.0, 0.5))
    assert ledger.room(Charge.guarantee(1.0)) > 0
    assert ledger.room(Charge.exact()) == 0
    with pytest.raises(BudgetExceeded):
        ledger.charge(Charge.exact())
    assert ledger.spent().epsilon == 0


def test_normal_noise_has_no_pure_epsilon() -> None:
    with pytest.raises(BudgetExceeded):
        PrivacyLedger(Privacy(100.0)).charge(GAUSS)


def test_without_a_budget_everything_is_granted_and_nothing_claimed() -> None:
    ledger = PrivacyLedger(None)
    ledger.charge(Charge.exact(), 1000)
    assert not ledger.spent().hides
    assert len(ledger.entries) == 1


def test_a_curve_rises_to_what_was_spent() -> None:
    ledger = PrivacyLedger(ASKED, assumptions=["noise is drawn as it should be"])
    for step in range(20):
        ledger.charge(GAUSS, note=f"round {step}")
    spent = ledger.spent()
    assert spent.curve is not None
    epsilons = spent.curve["epsilon"]
    assert spent.curve["steps"].tolist()[0::16] == [0, 20]
    assert (np.diff(epsilons) > 0).all()
    assert epsilons[-1] == spent.epsilon
    assert spent.assumptions == ("noise is drawn as it should be",)
    assert ledger.entries[3] == LedgerEntry(GAUSS, 1, "round 3")


def test_a_thousand_equal_steps_take_few_compositions(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    repeated = Loss.repeated

    def counted(self: Loss, times: int) -> Loss:
        nonlocal count
        count += 1
        return repeated(self, times)

    monkeypatch.setattr(Loss, "repeated", counted)
    ledger = PrivacyLedger(Privacy(1.0, 1e-5))
    assert granted(ledger, Charge.laplace(120, 1)) > 1000
    assert count < 100


@pytest.mark.parametrize(
    "make",
    [
        lambda: Charge.gaussian(math.nan, 1),
        lambda: Charge.gaussian(-1, 1),
        lambda: Charge.laplace(math.inf, 1),
        lambda: Charge("poisson", (1.0,)),
        lambda: Charge("laplace", ("1", True)),  # type: ignore[arg-type]
        lambda: Charge("gaussian", (1.0,)),
        lambda: GAUSS.subsampled(0, "add-remove"),
        lambda: GAUSS.subsampled(1.5, "add-remove"),
        lambda: Charge.guarantee(1.0).subsampled(0.5, "add-remove"),
        lambda: PrivacyLedger(ASKED).charge(GAUSS, 0),
        lambda: PrivacyLedger(ASKED).charge(GAUSS, 1.5),  # type: ignore[arg-type]
        lambda: PrivacyLedger(ASKED).charge(Charge.gaussian(0, 1)),
        lambda: Charge.discrete_laplace(2.0, 0.5),  # type: ignore[arg-type]
        lambda: Charge.randomised_response(0.1, 1),
        lambda: Charge.randomised_response(0.1, 2.5),  # type: ignore[arg-type]
        lambda: Charge.guarantee(0.1, 1.5),
        lambda: Charge.gaussian(10**400, 1),
        lambda: GAUSS.subsampled("half", "add-remove"),  # type: ignore[arg-type]
        lambda: GAUSS.subsampled(0.5, "both"),  # type: ignore[arg-type]
        lambda: PrivacyLedger(None).charge("gaussian"),  # type: ignore[arg-type]
        lambda: PrivacyLedger(ASKED).charge(GAUSS, note=7),  # type: ignore[arg-type]
        lambda: PrivacyLedger(1.0),  # type: ignore[arg-type]
        lambda: PrivacyLedger.at("/dev/null", None),  # type: ignore[arg-type]
        lambda: PrivacyLedger(ASKED).charge(GAUSS.subsampled(0.5, "add-remove")),
    ],
)
def test_nonsense_is_refused_and_is_no_lack_of_budget(make: Callable[[], Any]) -> None:
    assert PrivacyLedger(SAMPLED).charge(GAUSS.subsampled(0.5, "add-remove"))
    with pytest.raises(UsageError) as caught:
        make()
    assert not isinstance(caught.value, BudgetExceeded)


def test_a_refusal_survives_pickling() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        PrivacyLedger(ASKED).charge(GAUSS, 100)
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert (copy.epsilon, copy.room, str(copy)) == (
        caught.value.epsilon,
        caught.value.room,
        str(caught.value),
    )


def test_a_file_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with PrivacyLedger.at(path, ASKED) as ledger:
        room = ledger.room(GAUSS)
        ledger.charge(GAUSS, room - 2, "before")
    with PrivacyLedger.at(path, ASKED) as again:
        assert again.entries == ledger.entries
        assert granted(again, GAUSS) == 2
        with pytest.raises(UsageError):
            ledger.charge(GAUSS)
    with PrivacyLedger.at(path, ASKED) as full, pytest.raises(BudgetExceeded):
        full.charge(GAUSS)


def test_one_process_has_it_open(tmp_path: Path) -> None:
    """Two runs with the same file would each see half of what both spend."""
    path = tmp_path / "ledger"
    with PrivacyLedger.at(path, ASKED), pytest.raises(UsageError):
        PrivacyLedger.at(path, ASKED)
    PrivacyLedger.at(path, ASKED).close()


def test_a_line_that_was_never_finished_was_never_granted(tmp_path: Path) -> None:
    path, asked = tmp_path / "ledger", Privacy(1.0)
    with PrivacyLedger.at(path, asked) as ledger:
        ledger.charge(LAPLACE, note="first")
        ledger.charge(LAPLACE, note="second")
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    ends = [len(b"".join(lines[:count])) for count in range(4)]
    near = {end + step for end in ends for step in (-1, 0, 1, 40)}
    for cut in sorted(near & set(range(len(whole) + 1))):
        path.write_bytes(whole[:cut])
        finished = whole[:cut].count(b"\n")
        with PrivacyLedger.at(path, asked) as found:
            assert len(found.entries) == max(0, finished - 1)
            found.charge(Charge.laplace(20, 1))
        assert path.read_bytes().startswith(b"".join(lines[: max(1, finished)]))
        with PrivacyLedger.at(path, asked) as found:
            assert found.entries[-1].charge == Charge.laplace(20, 1)


def test_a_full_disk_grants_nothing_and_spoils_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger"
    with PrivacyLedger.at(path, ASKED) as ledger:
        ledger.charge(GAUSS)
        before = path.read_bytes()
        real = os.write

        def full(handle: int, data: bytes) -> int:
            real(handle, data[:7])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="space"):
            ledger.charge(GAUSS)
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert len(ledger.entries) == 1
        ledger.charge(GAUSS)
    with PrivacyLedger.at(path, ASKED) as again:
        assert len(again.entries) == 2


def test_a_process_that_is_killed_has_paid_for_what_it_sent(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    sent = tmp_path / "sent"
    child = os.fork()
    if not child:
        ledger = PrivacyLedger.at(path, Privacy(1.0))
        for step in range(10):
            ledger.charge(LAPLACE)
            sent.write_text(str(step + 1))
            if step == 6:
                os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with PrivacyLedger.at(path, Privacy(1.0)) as ledger:
        assert len(ledger.entries) == int(sent.read_text()) == 7


def test_a_forked_process_does_not_spend_the_rest_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with PrivacyLedger.at(path, Privacy(1.0)) as ledger:
        ledger.charge(LAPLACE)
        child = os.fork()
        if not child:
            try:
                ledger.charge(LAPLACE)
            except UsageError:
                os._exit(3)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        ledger.charge(LAPLACE)
        assert len(ledger.entries) == path.read_bytes().count(b"\n") - 1 == 2


def test_threads_share_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thinks for a while between asking for room and taking it."""
    ask = PrivacyLedger._room

    def slowly(ledger: PrivacyLedger, charge: Charge, most: int, ahead: int) -> int:
        room = ask(ledger, charge, most, ahead)
        sleep(0.001)
        return room

    monkeypatch.setattr(PrivacyLedger, "_room", slowly)
    ledger = PrivacyLedger(Privacy(1.0))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: granted(ledger, LAPLACE), range(8)))
    assert sum(found) == 10


def test_who_asks_for_room_while_another_charges_learns_nothing_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A room that was found before a charge and remembered after it would be spent twice."""
    ledger, search = PrivacyLedger(Privacy(1.0)), PrivacyLedger._search
    with ThreadPoolExecutor(1) as pool:

        def meanwhile(asked: PrivacyLedger, charge: Charge, low: int, most: int) -> int:
            found = search(asked, charge, low, most)
            if get_ident() == asking:
                wait([pool.submit(ledger.charge, LAPLACE, 10)], timeout=0.3)
            return found

        asking = get_ident()
        monkeypatch.setattr(PrivacyLedger, "_search", meanwhile)
        assert ledger.room(LAPLACE) == 10
    assert [each.times for each in ledger.entries] == [10]
    assert ledger.room(LAPLACE) == 0


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    one: Any = np.int64(1)
    charge = Charge.laplace(np.float64(10), one)
    assert charge == LAPLACE
    many: Any = np.arange(1, 3)
    half: Any = np.float32(0.5)
    assert repr(Privacy(many[0], half)) == repr(Privacy(1, 0.5))
    sampled = GAUSS.subsampled(half, "replace-one")
    with PrivacyLedger.at(tmp_path / "sampled", ASKED) as ledger:
        ledger.charge(sampled)
    with PrivacyLedger.at(tmp_path / "sampled", ASKED) as ledger:
        assert ledger.entries[0].charge == sampled
    with PrivacyLedger.at(tmp_path / "ledger", Privacy(np.float64(1.0))) as ledger:
        assert granted(ledger, charge) == 10
    with PrivacyLedger.at(tmp_path / "ledger", Privacy(1)) as again:
        assert len(again.entries) == 10


def changed(path: Path, place: int, **changes: Any) -> None:
    lines = path.read_text().splitlines()
    lines[place] = json.dumps({**json.loads(lines[place]), **changes})
    path.write_text("\n".join([*lines, ""]))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_text("no ledger\n"),
        lambda path: path.write_text("a letter without an end"),
        lambda path: path.write_bytes(b"\xff\n"),
        lambda path: path.write_text("[" * 5000 + "\n"),
        lambda path: changed(path, 0, format="gopa-privacy-ledger/v2"),
        lambda path: changed(path, 1, times=0),
        lambda path: changed(path, 1, times=-5),
        lambda path: changed(path, 1, times=1.0),
        lambda path: changed(path, 1, times=True),
        lambda path: changed(path, 1, extra=1),
        lambda path: changed(path, 1, charge={"law": "none"}),
        lambda path: changed(path, 1, charge=None),
        lambda path: changed(path, 1, note=None),
    ],
)
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(
    spoil: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = tmp_path / "ledger"
    with PrivacyLedger.at(path, ASKED) as ledger:
        ledger.charge(GAUSS)
    PrivacyLedger.at(path, ASKED).close()
    spoil(path)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(UsageError):
            PrivacyLedger.at(path, ASKED)
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    "other", [Privacy(2.0, 1e-5), Privacy(1.0, 1e-6), Privacy(1.0, 1e-5, unit="record"), SAMPLED]
)
def test_nobody_raises_a_budget_by_opening_it_again(other: Privacy, tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    PrivacyLedger.at(path, ASKED).close()
    with pytest.raises(UsageError):
        PrivacyLedger.at(path, other)
    PrivacyLedger.at(path, ASKED).close()


def test_others_cannot_read_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    PrivacyLedger.at(path, ASKED).close()
    assert path.stat().st_mode & 0o077 == 0
