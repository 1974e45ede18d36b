"""Modules of PyTorch: what training changes leaves as one shortened vector, or not at all."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from examples import torch_fedavg
from gopa import UsageError
from gopa.learning import BudgetExceeded, Outcome, Privacy, PrivacyLedger, Table
from gopa.learning.clipping import clip, length
from gopa.learning.federated import SumSession
from gopa.learning.torch import ServerAdam, ServerSGD, fedavg

ROOT = Path(__file__).resolve().parents[2]
NEAR = {"corrupt": 1, "dropout": 0.0, "charged": 0}
ROWS = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(1))
USERS = [(rows, (rows.sum(dim=1) > 0).float()[:, None]) for rows in ROWS]
BOUND = 0.25


def local(copy: Any, data: Any) -> None:
    rows, answers = data
    optimizer = torch.optim.SGD(copy.parameters(), lr=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        nn.functional.mse_loss(copy(rows), answers).backward()
        optimizer.step()


def run(module: Any, how: Any = local, **asked: Any) -> Outcome:
    right: dict[str, Any] = {
        "privacy": None, "seed": 1, "clip": BOUND, "rounds": 1, "mode": "off", "session": NEAR,
        "progress": False,
    }  # fmt: skip
    return fedavg(module, USERS, how, **right | asked)


def linear(**how: Any) -> nn.Linear:
    torch.manual_seed(2)
    return nn.Linear(3, 1, **how)


def state(module: Any) -> dict[str, Any]:
    return {name: each.detach().clone() for name, each in module.state_dict().items()}


def refused(field: str, call: Callable[[], Any]) -> UsageError:
    with pytest.raises(UsageError) as caught:
        call()
    assert caught.value.field == field
    return caught.value


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray[Any, Any]]:
    """All vectors that leave users, one array for each round."""
    found: list[np.ndarray[Any, Any]] = []
    honest = SumSession.sum

    def spied(session: SumSession, vectors: Any) -> Any:
        found.append(np.array(vectors))
        return honest(session, vectors)

    monkeypatch.setattr(SumSession, "sum", spied)
    return found


def by_hand(module: Any, how: Any = local) -> np.ndarray[Any, Any]:
    """What each user changes, computed on copies made in another way."""
    found = []
    for data in USERS:
        copy = nn.Linear(3, 1)
        copy.load_state_dict(module.state_dict())
        how(copy, data)
        pairs = zip(copy.parameters(), module.parameters(), strict=True)
        found.append(torch.cat([(a.detach() - b.detach()).double().ravel() for a, b in pairs]))
    return np.asarray(torch.stack(found).numpy())


def test_the_module_moves_by_the_mean_of_shortened_updates(sent: list[Any]) -> None:
    module = linear()
    begun, changes = state(module), by_hand(module)
    assert (length(changes, 2) > BOUND).any()
    outcome = run(module)
    moved = clip(changes, 2, BOUND)
    assert np.allclose(sent[0] * BOUND, moved, atol=1e-7)
    weight, bias = (begun[name].numpy() for name in ("weight", "bias"))
    assert np.allclose(outcome.model["weight"], weight + moved.mean(0)[:3], atol=1e-6)
    assert np.allclose(outcome.model["bias"], bias + moved.mean(0)[3:], atol=1e-6)
    assert torch.equal(module.weight, torch.tensor(outcome.model["weight"]).float())


def test_users_may_be_named_and_what_local_returns_goes_nowhere() -> None:
    first = run(linear())
    named = dict(enumerate(USERS))

    def returns(copy: Any, data: Any) -> Any:
        local(copy, data)
        return data

    asked: dict[str, Any] = {
        "privacy": None, "seed": 1, "clip": BOUND, "rounds": 1, "mode": "off", "session": NEAR,
    }  # fmt: skip
    assert fedavg(linear(), named, returns, **asked).digest() == first.digest()


@pytest.mark.parametrize("mode", ["signed", "full"])
def test_a_verified_session_has_a_log(mode: str) -> None:
    asked: dict[str, Any] = {"session": NEAR, "mode": mode, "rounds": 2}
    outcome = run(linear(), privacy=Privacy(20.0, 1e-3), **asked)
    audit = outcome.audit()
    assert audit.rounds == 2
    assert not audit.missing


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_precision_keeps_small_steps(kind: Any) -> None:
    """A step that is lost in the module's precision is not lost in the model."""
    module = linear(dtype=kind)
    begun = module.weight.detach().double().numpy().copy()

    def little(copy: Any, _: Any) -> None:
        with torch.no_grad():
            copy.weight += 0.01

    outcome = run(module, little, rounds=2, server=ServerAdam(rate=1e-6, tau=1e-3))
    assert module.weight.dtype is kind
    moved = outcome.model["weight"] - begun
    assert (moved > 1e-7).all()
    assert (moved < 1e-5).all()
    assert torch.equal(module.weight, torch.tensor(outcome.model["weight"]).to(kind))


def test_precisions_may_be_mixed() -> None:
    module = nn.Sequential(linear(), nn.Linear(1, 1, dtype=torch.bfloat16))

    def both(copy: Any, _: Any) -> None:
        with torch.no_grad():
            copy[0].bias += 0.125
            copy[1].bias += 0.125

    outcome = run(module, both)
    begun = nn.Sequential(linear(), nn.Linear(1, 1))[0].bias.item()
    assert outcome.model["0.bias"][0] == pytest.approx(begun + 0.125, abs=1e-6)
    assert module[1].bias.dtype is torch.bfloat16


def test_numbers_that_a_precision_cannot_hold_are_refused() -> None:
    def far(copy: Any, _: Any) -> None:
        with torch.no_grad():
            copy.weight += 60_000.0

    asked: dict[str, Any] = {"clip": 2e5, "server": ServerSGD(rate=2.0)}
    assert run(linear(), far, **asked).history["step"][0] > 1.2e5
    refused("module", lambda: run(linear(dtype=torch.float16), far, **asked))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = linear(bias=False), nn.Linear(3, 1, bias=False)
        self.second.weight = self.first.weight

    def forward(self, rows: Any) -> Any:
        return self.first(rows) + self.second(rows)


def test_tied_parameters_count_once(sent: list[Any]) -> None:
    module = Tied()
    outcome = run(module)
    assert list(outcome.model) == ["first.weight"]
    assert sent[0].shape == (4, 3)
    assert module.second.weight is module.first.weight


def test_parameters_that_share_memory_without_being_one_are_refused() -> None:
    module = nn.Sequential(linear(), nn.ReLU(), nn.Linear(1, 3))
    assert run(module, lambda *_: None).model
    module[2].weight.data = module[0].weight.data.view(3, 1)
    refused("module", lambda: run(module, lambda *_: None))


def test_frozen_parameters_stay_and_are_not_sent(sent: list[Any]) -> None:
    module = linear()
    module.bias.requires_grad_(False)
    begun = state(module)
    outcome = run(module, local)
    assert list(outcome.model) == ["weight"]
    assert sent[0].shape == (4, 3)
    assert torch.equal(module.bias, begun["bias"])
    assert not torch.equal(module.weight, begun["weight"])

    def thaws(copy: Any, data: Any) -> None:
        copy.bias.requires_grad_(True)
        local(copy, data)

    refused("module", lambda: run(module, thaws))
    assert torch.equal(module.bias, begun["bias"])


class Kept(nn.Module):
    """A module with buffers of which no user's training should tell anything."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = linear()
        self.register_buffer("seen", torch.tensor([0.0, math.nan]))
        self.register_buffer("hidden", torch.zeros(2), persistent=False)
        self.noted: list[Any] = []

    def forward(self, rows: Any) -> Any:
        return self.inner(rows)


def _fill(name: str) -> Any:
    def how(copy: Any, data: Any) -> None:
        local(copy, data)
        getattr(copy, name)[:] = data[0].mean()

    return how


def _adds(copy: Any, data: Any) -> None:
    copy.more = nn.Parameter(data[0].mean(dim=0))


def _adds_buffer(copy: Any, data: Any) -> None:
    copy.register_buffer("more", data[0].mean(dim=0))


def _replaces(copy: Any, data: Any) -> None:
    copy.inner.weight = nn.Parameter(data[0].mean(dim=0))


def _drops(copy: Any, _: Any) -> None:
    copy.inner.bias = None


def _widens(copy: Any, _: Any) -> None:
    copy.seen = copy.seen.double()


@pytest.mark.parametrize(
    "how",
    [_fill("seen"), _fill("hidden"), _adds, _adds_buffer, _replaces, _drops, _widens],
)
def test_what_has_no_place_in_the_vector_may_not_change(how: Any, sent: list[Any]) -> None:
    module = Kept()
    run(module)
    assert len(sent) == 1
    begun = state(module)
    refused("module", lambda: run(module, how))
    assert len(sent) == 1
    assert all(
        torch.equal(each.nan_to_num(7), begun[name].nan_to_num(7))
        for name, each in module.state_dict().items()
    )
    assert set(module.state_dict()) == set(begun)


def test_what_a_copy_keeps_beside_its_tensors_reaches_nobody() -> None:
    module, seen = Kept(), []

    def notes(copy: Any, data: Any) -> None:
        seen.append(len(copy.noted))
        copy.noted.append(data)

    run(module, notes, rounds=2)
    assert seen == [0] * 8
    assert module.noted == []


def test_training_the_module_itself_is_refused_and_undone(sent: list[Any]) -> None:
    module = linear()
    begun = state(module)

    def wrong(_: Any, data: Any) -> None:
        local(module, data)

    refused("local", lambda: run(module, wrong))
    assert not sent
    assert all(torch.equal(each, begun[name]) for name, each in module.state_dict().items())
    run(module)
    assert len(sent) == 1


def test_running_statistics_are_refused_before_anybody_trains() -> None:
    called: list[int] = []

    def counted(copy: Any, data: Any) -> None:
        called.append(1)
        local(copy, data)

    def with_layer(layer: Any) -> nn.Sequential:
        return nn.Sequential(linear(), layer)

    account = PrivacyLedger(Privacy(4.0, 1e-5))
    asked: dict[str, Any] = {"privacy": Privacy(4.0, 1e-5), "ledger": account}
    refused("module", lambda: run(with_layer(nn.BatchNorm1d(1)), counted, **asked))
    assert not called
    assert list(account.entries) == []
    run(with_layer(nn.BatchNorm1d(1, track_running_stats=False)), counted, **asked)
    assert len(called) == 4
    assert len(account.entries) == 1
    still = with_layer(nn.BatchNorm1d(1).eval())
    run(still, counted)
    assert torch.equal(still[1].running_mean, torch.zeros(1))

    def awake(copy: Any, data: Any) -> None:
        local(copy.train(), data)

    refused("module", lambda: run(still, awake))


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_user_whose_update_is_not_finite_is_heard_as_nothing(
    wrong: float, sent: list[Any]
) -> None:
    module, rows = linear(), ROWS.clone()
    rows[1, 2, 0] = wrong
    users = [(each, data[1]) for each, data in zip(rows, USERS, strict=True)]
    asked: dict[str, Any] = {"rounds": 1, "mode": "off", "session": NEAR, "seed": 1}
    outcome = fedavg(module, users, local, privacy=None, clip=BOUND, **asked)
    assert not sent[0][1].any()
    assert sent[0][[0, 2, 3]].any(axis=1).all()
    assert outcome.history["broken"].tolist() == [1]
    assert all(torch.isfinite(each).all() for each in module.parameters())


def _complex() -> Any:
    return nn.ParameterDict({"a": nn.Parameter(torch.zeros(2, dtype=torch.complex64))})


def _frozen() -> Any:
    return linear().requires_grad_(False)


def _infinite() -> Any:
    module = linear()
    module.bias.data[:] = math.inf
    return module


def _uncopied() -> Any:
    module = linear()
    module.kept = module.weight * 2  # a tensor in the middle of a graph
    return module


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LazyLinear(1),
        lambda: linear(device="meta"),
        _complex,
        _frozen,
        _infinite,
        _uncopied,
        lambda: [linear()],
    ],
    ids=["lazy", "meta", "complex", "frozen", "infinite", "not copied", "no module"],
)
def test_modules_that_are_no_vector_are_refused(make: Callable[[], Any]) -> None:
    account = PrivacyLedger(Privacy(4.0, 1e-5))
    refused("module", lambda: run(make(), privacy=Privacy(4.0, 1e-5), ledger=account))
    assert list(account.entries) == []


def test_a_seed_is_a_run_and_nobody_elses_draws_change() -> None:
    def module() -> Any:
        return nn.Sequential(nn.Dropout(0.5), linear())

    torch.manual_seed(11)
    first = run(module(), rounds=2)
    torch.manual_seed(12)
    again = run(module(), rounds=2)
    assert first.digest() == again.digest()
    assert run(module(), rounds=2, seed=2).digest() != first.digest()
    asked = module()
    torch.manual_seed(13)
    before = torch.get_rng_state()
    run(asked)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_module_that_is_trained_on_has_other_noise(sent: list[Any]) -> None:
    """Else whoever calls it in a loop publishes the exact difference of two mean updates."""
    module, noises = linear(), []
    for _ in range(2):
        begun = np.append(module.weight.detach().numpy(), module.bias.detach().numpy())
        outcome = run(module, privacy=Privacy(20.0, 1e-3))
        ended = np.append(outcome.model["weight"], outcome.model["bias"])
        noises.append((ended - begun) * len(USERS) / BOUND - sent[-1].sum(axis=0))
    assert length(noises[1] - noises[0], 2) > 0.5 * length(noises[0], 2)


def test_what_is_no_procedure_or_no_list_of_users_is_refused_before_it_is_charged() -> None:
    account = PrivacyLedger(Privacy(8.0, 1e-5))
    asked: dict[str, Any] = {"privacy": Privacy(8.0, 1e-5), "ledger": account}
    refused("local", lambda: run(linear(), "sgd", **asked))
    rows = torch.utils.data.TensorDataset(torch.zeros(30, 3), torch.zeros(30, 1))
    loader: Any = torch.utils.data.DataLoader(rows, batch_size=6)
    batches: dict[str, Any] = {
        "seed": 1,
        "clip": BOUND,
        "rounds": 1,
        "mode": "off",
        "session": NEAR,
    }
    refused("users", lambda: fedavg(linear(), loader, local, **batches, **asked))
    assert not account.entries
    fedavg(linear(), list(loader), local, **batches, **asked)
    assert len(account.entries) == 1


def test_a_callback_sees_the_module_and_may_stop() -> None:
    module, modes, rounds = nn.Sequential(nn.Dropout(0.5), linear()), [], []

    def notes(copy: Any, data: Any) -> None:
        modes.append(copy.training)
        local(copy, data)

    def watches(number: int, found: Any) -> None:
        assert found is module
        rounds.append((number, found[1].weight.detach().clone()))
        found.eval()  # as whoever tries a model does
        if number == 2:
            raise StopIteration

    outcome = run(module, notes, rounds=5, callback=watches, privacy=Privacy(8.0, 1e-5))
    assert [number for number, _ in rounds] == [1, 2]
    assert modes == [True] * 8
    assert not torch.equal(rounds[0][1], rounds[1][1])
    assert len(outcome.history) == 2
    assert outcome.spent.epsilon == pytest.approx(8.0)


def test_going_on_is_charged_beside(tmp_path: Path) -> None:
    first = run(linear(), privacy=Privacy(4.0, 1e-5))
    kept = Outcome.load(first.save(tmp_path / "model.gopa"))
    assert kept.digest() == first.digest()
    module = linear()
    more = run(module, lambda *_: None, privacy=Privacy(8.0, 2e-5), start=kept, clip=1e-9)
    assert more.spent.epsilon == pytest.approx(8.0)
    assert np.allclose(module.weight.detach().numpy(), first.model["weight"], atol=1e-6)
    with pytest.raises(BudgetExceeded):
        run(linear(), privacy=Privacy(4.0, 1e-5), start=kept)
    wrong: Any = linear().state_dict()
    refused("start", lambda: run(linear(), privacy=None, start=wrong))
    refused("module", lambda: run(nn.Linear(2, 1), privacy=Privacy(8.0, 2e-5), start=kept))


def test_the_page_has_a_program_of_thirty_lines() -> None:
    page = (ROOT / "docs" / "learning" / "torch.md").read_text()
    program, *rest = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert not rest
    assert len(program.splitlines()) <= 30
    found: dict[str, Any] = {}
    exec(compile(program, "torch.md", "exec"), found)  # noqa: S102 - it is our own page
    assert found["right"] > 0.85
    assert found["outcome"].spent.within(Privacy(8, 1e-5))


def test_the_example_draws_its_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    digits = rng.integers(0, 10, 300)
    pixels = rng.random((300, 784)) * 0.2
    pixels[np.arange(300), digits * 70] = 1.0
    monkeypatch.setattr(torch_fedavg, "load", lambda name: Table(pixels, digits, name))
    made = torch_fedavg.figures.make("digits", tmp_path, quick=True)
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")
    assert made.name == "digits"
    lines = (tmp_path / "digits.csv").read_text().splitlines()
    spent = [float(each.split(",")[1]) for each in lines if "spent after round" in each]
    assert spent[0] == 0
    assert spent == sorted(spent)
    assert spent[-1] <= 8


def test_pytorch_is_the_pinned_one() -> None:
    pins = (ROOT / "requirements" / "torch.in").read_text()
    assert f"torch=={torch.__version__.partition('+')[0]}\n" in pins
    assert "gopa.learning.torch" in sys.modules
