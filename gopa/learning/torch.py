"""Trains modules of PyTorch on data that stays with its users, by verified sums alone.

Every user trains a copy of the module by a function of yours. What leaves it is one vector: by how
much the trainable parameters changed, shortened to a bound. A round publishes the noisy mean, and a
rule of the server makes the next module of it. `UserCopies` is all that touches PyTorch, which is
imported when it is used and comes with the extra `torch`; the rounds are those of
`gopa.learning.federated.updates`.

    >>> from gopa.learning.torch import ServerAdam
    >>> ServerAdam(rate=0.02)
    ServerAdam(rate=0.02, beta1=0.9, beta2=0.99, tau=0.001)

Specification: `specs/22-federated.md`, section 3 (22-F26); how to use it: `docs/learning/torch.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from gopa import Aggregator, UsageError
from gopa.learning.checks import fresh_seed, generator
from gopa.learning.federated import AdaptiveClip, Setting
from gopa.learning.federated.setting import Mode
from gopa.learning.federated.training import before_of
from gopa.learning.federated.updates import ArrayLayout, ServerAdam, ServerSGD, UpdateRun
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import Outcome, Progress
from gopa.learning.privacy import Privacy
from gopa.support.arrays import Floats
from gopa.support.extras import missing

if TYPE_CHECKING:
    import torch

__all__ = ["AdaptiveClip", "ServerAdam", "ServerSGD", "fedavg"]

Local: TypeAlias = Callable[[Any, Any], object]
"""Trains a copy of the module on the data of one user."""

_Tensors: TypeAlias = Mapping[str, Any]
_KINDS: Final = ("float16", "bfloat16", "float32", "float64")
_PRECISE: Final = "train in float32, or take a smaller rate or bound"
_FIXED: Final = (
    "take GroupNorm or LayerNorm for BatchNorm, or put that into its eval() mode; what is frozen "
    "stays as it is, and nothing is added to a module or taken away while it is trained"
)


class UserCopies:
    """The copies of a module that users train, each from the same public weights.

    Only trainable parameters move. All else, buffers and frozen parameters, is the same after a
    user's training as before, or the module is refused: it has no place in the vector, so nothing
    would shorten it.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        users: Sequence[Any] | Mapping[Any, Any],
        local: Local,
        seed: int,
    ) -> None:
        self._torch = _require_module(module)
        self._module, self._local, self._seed = module, local, seed
        if not callable(local):
            raise UsageError("a function of a copy of the module and of a user's data", "local")
        if isinstance(users, self._torch.utils.data.DataLoader):
            # Where batches mix rows of users, what is hidden would be a batch, and not a user.
            message = "one element for each user, not batches: list(loader), if each is a user"
            raise UsageError(message, "users")
        self.users = list(users.values()) if isinstance(users, Mapping) else list(users)
        try:
            # No state of one user's copy, not even in attributes or hooks, reaches another one.
            self._template = deepcopy(module)
        except (RuntimeError, TypeError) as error:
            raise UsageError(f"every user trains a copy of it: {error}", "module") from None
        devices = {each.device for each in module.parameters()}
        self._cuda = [each for each in devices if each.type == "cuda"]
        trained = [(name, each) for name, each in module.named_parameters() if each.requires_grad]
        self.layout = ArrayLayout({name: tuple(each.shape) for name, each in trained})
        self.show(self.weights())

    def weights(self) -> Floats:
        """The trainable parameters of the module as one vector of doubles."""
        return self._read(_tensors(self._module))

    def show(self, weights: Floats) -> None:
        """Writes weights into the module and into what users copy, each in its own precision."""
        for module in (self._module, self._template):
            parameters, torch = dict(module.named_parameters()), self._torch
            with torch.no_grad():
                for name, part in self.layout.split(weights).items():
                    parameters[name].copy_(torch.from_numpy(part))
                    if not torch.isfinite(parameters[name]).all():
                        message = f"{name} has a number that its precision cannot hold: {_PRECISE}"
                        raise UsageError(message, "module")

    def updates(self, weights: Floats, number: int) -> Floats:
        """By how much the training of every user changes these weights, one row each."""
        del weights  # the template has them, in the precision that users train in
        begun, own = _tensors(self._template), _tensors(self._module)
        start = self._read(begun)
        found = [self._trained(begun, number, place) for place in range(len(self.users))]
        if changed := _differing(own, _tensors(self._module)):
            # Else what somebody's rows did to the module itself would be published unshortened.
            self._put_back(own)
            message = f"local changed {changed} of the module itself: train the copy that it gets"
            raise UsageError(message, "local")
        return np.stack(found) - start

    def _trained(self, begun: _Tensors, number: int, place: int) -> Floats:
        torch, copy = self._torch, deepcopy(self._template)
        draws = generator(self._seed, "local", str(number), str(place))
        with torch.random.fork_rng(devices=self._cuda):
            torch.manual_seed(int(draws.integers(2**63)))
            self._local(copy, self.users[place])
        after = _tensors(copy)
        rest = [{name: each for name, each in found.items() if name not in self.layout.shapes}
                for found in (begun, after)]  # fmt: skip
        if changed := _differing(*rest):
            # A user's numbers in it would leave with the module, and no bound shortens them.
            message = f"local changed {changed}, which is no trainable parameter: {_FIXED}"
            raise UsageError(message, "module")
        return self._read(after)

    def _read(self, tensors: _Tensors) -> Floats:
        there = {name: tensors[name] for name in self.layout.shapes if name in tensors}
        return self.layout.joined({name: each.double().numpy() for name, each in there.items()})

    def _put_back(self, tensors: _Tensors) -> None:
        with self._torch.no_grad():
            for name, each in _named(self._module):
                if name in tensors:
                    each.copy_(tensors[name])


def _named(module: Any) -> list[tuple[str, Any]]:
    """All parameters and buffers, each once, those too that no state dict has."""
    return [*module.named_parameters(), *module.named_buffers()]


def _tensors(module: Any) -> _Tensors:
    """Copies of them all, off the device on which they are."""
    return {name: each.detach().to("cpu", copy=True) for name, each in _named(module)}


def _differing(before: _Tensors, after: _Tensors) -> str:
    """The names of tensors that are not the same, NaN being like NaN."""
    return ", ".join(
        name
        for name in sorted({*before, *after})
        if name not in before or name not in after or not _same(before[name], after[name])
    )


def _same(one: Any, two: Any) -> bool:
    if (one.shape, one.dtype) != (two.shape, two.dtype):
        return False
    return bool(((one == two) | ((one != one) & (two != two))).all())  # noqa: PLR0124


def _require_module(module: Any) -> Any:
    """PyTorch, if this is a module whose trainable parameters can be one vector."""
    try:
        import torch
    except ImportError:
        raise missing("torch") from None
    if not isinstance(module, torch.nn.Module):
        raise UsageError("a torch.nn.Module", "module")
    for name, part in module.named_modules():
        if part.training and getattr(part, "running_mean", None) is not None:
            message = f"{name} keeps means of users' rows, which no bound shortens: {_FIXED}"
            raise UsageError(message, "module")
    for name, each in _named(module):
        _require_numbers(torch, name, each)
    if not any(each.requires_grad for each in module.parameters()):
        raise UsageError("it has no trainable parameter: set requires_grad of some", "module")
    _require_apart(dict(_named(module)))
    return torch


def _require_numbers(torch: Any, name: str, each: Any) -> None:
    if torch.nn.parameter.is_lazy(each) or each.is_meta or each.layout is not torch.strided:
        raise UsageError(f"{name} is not dense, or has no numbers before it is run once", "module")
    if each.requires_grad and str(each.dtype).removeprefix("torch.") not in _KINDS:
        raise UsageError(f"{name} is {each.dtype}: take one of {', '.join(_KINDS)}", "module")
    if each.requires_grad and not torch.isfinite(each).all():
        raise UsageError(f"{name} has a number that is not finite", "module")


def _require_apart(named: _Tensors) -> None:
    """Refuses tensors that overlap in memory without being one: two places of a vector would be."""
    places = []
    for name, each in named.items():
        if each.numel():
            reach = sum(
                (many - 1) * step for many, step in zip(each.shape, each.stride(), strict=True)
            )
            first = each.data_ptr()
            places.append(
                (str(each.device), first, first + (reach + 1) * each.element_size(), name)
            )
    for (where, _, end, one), (there, first, _, two) in pairwise(sorted(places)):
        if where == there and first < end:
            message = f"{one} and {two} share memory: make them one Parameter, or clone one of them"
            raise UsageError(message, "module")


def fedavg(  # noqa: PLR0913 - every algorithm is called like this
    module: torch.nn.Module,
    users: Sequence[Any] | Mapping[Any, Any],
    local: Local,
    *,
    privacy: Privacy | None,
    seed: int | None,
    clip: float | AdaptiveClip,
    rounds: int = 10,
    server: ServerSGD | ServerAdam = ServerSGD(),  # noqa: B008 - it is frozen
    mode: Mode = "signed",
    session: Mapping[str, Any] | None = None,
    ledger: PrivacyLedger | None = None,
    aggregator: Aggregator | None = None,
    callback: Callable[[int, torch.nn.Module], None] | None = None,
    start: Outcome | None = None,
    progress: Progress = None,
) -> Outcome:
    """Trains a module by federated averaging, in verified rounds in which all users take part.

    `local(copy, data)` trains a copy of the module on one user's data, which are an element of
    `users` of whatever kind; what it returns is dropped. By how much it changes the trainable
    parameters, all of them one vector, is shortened to `clip`, and `server` makes the next module
    of the noisy mean. The module has its weights after every round, and the outcome has them as
    arrays by name. Users count alike. An update that is not finite counts as none.

    `privacy` is for all of a user. `mode`, `session`, `ledger` and `aggregator` are those of
    `Setting`. After each round `callback` hears its number and the module, and `StopIteration`
    from it ends the run: all that was planned is spent. The weights of `module` are taken for
    public, unless they are those of the outcome `start`: what that has cost is charged beside.

    Raises:
        BackendError: PyTorch is not installed.
        BudgetExceeded: the ledger does not cover the session, or nothing is left after `start`.
        UsageError: anything else about the arguments; `field` names it.
    """
    if not (start is None or isinstance(start, Outcome)):
        raise UsageError("an outcome of fedavg; weights that are public are the module's", "start")
    drawn = fresh_seed() if seed is None else seed
    copies = UserCopies(module, users, local, drawn)
    before = () if start is None else before_of(start, privacy)
    assumed = () if start is None else start.spent.assumptions
    setting = Setting(privacy, drawn, None, mode, session, ledger, aggregator, before, assumed)
    run = UpdateRun(
        setting,
        copies.layout,
        copies.weights() if start is None else copies.layout.joined(start.model),
        copies.updates,
        users=len(copies.users),
        rounds=rounds,
        clip=clip,
        server=server,
        show=copies.show,
    )
    copies.show(run.weights)

    def after(number: int, _: Any) -> None:
        if callback is not None:
            callback(number, module)

    problem: Any = copies.users
    return run.carried_out(problem, rounds, progress, after)
