"""What a small network of PyTorch loses to privacy, on digits of 400 users.

    GOPA_DATA=FOLDER python -m examples.torch_fedavg digits --out figures

Every user has 20 digits, and all of them are hidden together. Rounds are those of a session, in
mode off: the same grid and noise without keys and proofs. Beside it are the same without privacy,
and DP-SGD by a curator who sees all rows, where one row is hidden. Needs the extra `torch`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gopa.learning import Charge, History, Privacy, PrivacyLedger, Table, generator, iid, load
from gopa.learning.experiments import FigureRun, FigureSet
from gopa.learning.torch import ServerAdam, ServerSGD, fedavg
from gopa.support.extras import missing

if TYPE_CHECKING:
    import torch

figures = FigureSet(__doc__.partition("\n")[0])
DELTA: Final = 1e-5
EPSILONS: Final = (2.0, 4.0, 8.0)
USERS, ROUNDS, SEEDS = 400, 10, 3
NEAR: Final = {"corrupt": 1, "dropout": 0.0, "charged": 0}
"""A plan for users of whom nobody fails and no two collude."""

BATCH, STEPS, STEP = 400, 200, 1.0
MOMENTUM: Final = ServerSGD(momentum=0.5)
ADAM: Final = ServerAdam(rate=0.02)


def network(seed: int) -> torch.nn.Module:
    """A network of 6,634 numbers for 14 by 14 pixels; everybody begins with the same."""
    try:
        import torch
    except ImportError:
        raise missing("torch") from None
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    layers = torch.nn.Linear(196, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10)
    return torch.nn.Sequential(*layers)


def local(copy: Any, data: Any) -> None:
    """Five steps on all rows of a user."""
    import torch

    rows, digits = data
    optimizer = torch.optim.SGD(copy.parameters(), lr=0.5)
    for _ in range(5):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(copy(rows), digits).backward()
        optimizer.step()


def pooled_pixels(table: Table) -> Table:
    """Each square of 2 by 2 pixels as one."""
    squares = table.features.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4))
    return Table(squares.reshape(len(squares), 196), table.labels, table.source)


def tensors(rows: Any, digits: Any) -> Any:
    """Rows and digits as PyTorch has them."""
    import torch

    return torch.tensor(rows, dtype=torch.float32), torch.tensor(digits)


def accuracy(module: Any, test: Table) -> float:
    """Which part of the digits it reads right."""
    rows, digits = tensors(test.features, test.labels)
    return float((module(rows).argmax(dim=1) == digits).double().mean())


def federated(table: Table, epsilon: float | None, server: Any, seed: int, size: Any) -> History:
    """The accuracy after each round, and what had been spent by then."""
    users, rounds = size
    train, test = table.split(0.8, seed)
    dealt = [tensors(*each) for each in iid(train, users, seed).pairs()]
    module, right = network(seed), [0.0]
    outcome = fedavg(
        module,
        dealt,
        local,
        privacy=None if epsilon is None else Privacy(epsilon, DELTA),
        seed=seed,
        clip=100.0 if epsilon is None else 1.0,
        rounds=rounds,
        server=server,
        mode="off",
        session=NEAR,
        progress=False,
        callback=lambda _, found: right.append(accuracy(found, test)),
    )
    curve = outcome.spent.curve
    spent = np.full(rounds + 1, np.inf) if curve is None else curve["epsilon"]
    return History({"round": range(rounds + 1), "epsilon": spent, "accuracy": right})


def curator(table: Table, epsilon: float, seed: int, steps: int) -> History:
    """DP-SGD with Poisson samples, for one row replaced by another, by the same accountant."""
    import torch

    train, test = table.split(0.8, seed)
    rows, digits = tensors(train.features, train.labels)
    module, rate = network(seed), min(1.0, BATCH / len(rows))
    ledger, (low, high) = PrivacyLedger(Privacy(epsilon, DELTA, unit="record")), (0.3, 30.0)
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        fits = ledger.room(_sampled(middle, rate), steps) >= steps
        low, high = (low, middle) if fits else (middle, high)
    weights = {name: each.detach() for name, each in module.named_parameters()}

    def loss(found: Any, row: Any, digit: Any) -> Any:
        scores = torch.func.functional_call(module, found, (row[None],))
        return torch.nn.functional.cross_entropy(scores, digit[None])

    slopes = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    draws, noise = generator(seed, "samples"), torch.Generator().manual_seed(seed)
    ledger.charge(_sampled(high, rate), steps)
    for _ in range(steps):
        drawn = torch.tensor(draws.random(len(rows)) < rate)
        found = slopes(weights, rows[drawn], digits[drawn])
        lengths = sum(each.flatten(1).square().sum(dim=1) for each in found.values()).sqrt()
        shares = (1 / lengths).clamp(max=1)
        for name, each in found.items():
            total = torch.einsum("r,r...->...", shares, each)
            total += high * torch.randn(total.shape, generator=noise)
            weights[name] = weights[name] - STEP * total / BATCH
    module.load_state_dict(weights)
    return History({"epsilon": [ledger.spent().epsilon], "accuracy": [accuracy(module, test)]})


def _sampled(sigma: float, rate: float) -> Charge:
    return Charge.gaussian(sigma, 1.0).subsampled(rate, "replace-one")


@figures.figure("digits")
def digits(run: FigureRun) -> None:
    """Accuracy on other digits by rounds and by epsilon, beside DP-SGD and no privacy."""
    table = pooled_pixels(load("mnist"))
    run.uses(table)
    size, steps = ((40, 2), 10) if run.quick else ((USERS, ROUNDS), STEPS)
    seeds = range(run.seed, run.seed + (2 if run.quick else SEEDS))
    asked: dict[str, Callable[[int], History]] = {
        f"epsilon {each:g}": partial(federated, table, each, MOMENTUM, size=size)
        for each in EPSILONS
    }
    asked["epsilon 8, FedAdam"] = partial(federated, table, 8.0, ADAM, size=size)
    asked["no privacy"] = partial(federated, table, None, MOMENTUM, size=size)
    for each in EPSILONS:
        asked[f"curator, epsilon {each:g} for a row"] = partial(curator, table, each, steps=steps)
    found = {
        name: [run.part(f"{name}, seed {seed}", partial(make, seed)) for seed in seeds]
        for name, make in asked.items()
    }
    for name, parts in found.items():
        last = np.array([part["accuracy"][-1] for part in parts])
        for what, value in (("mean", last.mean()), ("least", last.min()), ("most", last.max())):
            run.number(f"{name}: {what}", value)
    for number, spent in enumerate(found["epsilon 8"][0]["epsilon"]):
        run.number(f"epsilon 8: spent after round {number}", spent)
    _draw(run, found, size[0])


def _draw(run: FigureRun, found: dict[str, list[History]], users: int) -> None:
    titles = f"MNIST t10k, {users} users", "the same, by what had been spent"
    with run.picture(*titles) as (by_round, by_epsilon):
        for name, parts in found.items():
            right = np.mean([part["accuracy"] for part in parts], axis=0)
            if name.startswith("curator"):
                by_epsilon.plot(parts[0]["epsilon"], right, "k^")
                continue
            by_round.plot(parts[0]["round"][1:], right[1:], label=name)
            if name != "no privacy":
                by_epsilon.plot(parts[0]["epsilon"][1:], right[1:], ".-", label=name)
        by_epsilon.plot([], [], "k^", label="curator, DP-SGD, for one row")
        by_round.set(xlabel="round", ylabel="accuracy on other digits", ylim=(0, 1))
        by_epsilon.set(xlabel="epsilon, for all of a user", ylim=(0, 1))
        for axes in (by_round, by_epsilon):
            axes.legend(loc="lower right")


if __name__ == "__main__":
    figures.main()
