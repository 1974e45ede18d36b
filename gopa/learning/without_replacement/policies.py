"""Decides when a node mixes its own model into the public one.

Specification: `specs/19-without-replacement.md`, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.checks import number
from gopa.support.arrays import Floats
from gopa.support.draws import Draws, threshold_of

Chosen: TypeAlias = npt.NDArray[np.bool_]


class Controller(Protocol):
    """The decisions of one node, step by step."""

    def choose(self, models: Floats, losses: Floats) -> Chosen:
        """Which models of which runs become public in this step."""

    def told(self, losses: Floats) -> None:
        """Hears the losses on the same rows after the step."""


class Policy(Protocol):
    """The controllers of all nodes."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def reads_data(self) -> bool:
        """Whether decisions depend on rows: then they betray them."""

    def controller(self, node: int, *, runs: int, models: int, width: int, seed: int) -> Controller:
        """Decides for one node in so many runs, for so many models of each."""


@dataclass(frozen=True, slots=True)
class Coin:
    """The rule that makes a model public with the same chance in every step, whatever the rows are.

    A run has one coin for all of its models.
    """

    chance: float = 0.1

    reads_data = False

    def __post_init__(self) -> None:
        if not 0 <= number(self.chance, "chance") <= 1:
            raise UsageError("a chance lies between 0 and 1", "chance")

    @property
    def name(self) -> str:
        """What reports call it."""
        return {0.0: "never public", 1.0: "always public"}.get(
            self.chance, f"public with chance {self.chance:g}"
        )

    def controller(self, node: int, *, runs: int, models: int, width: int, seed: int) -> Controller:
        del width
        coins = [Draws(seed, "without replacement", "coins", run, node) for run in range(runs)]
        return _Coins(coins, threshold_of(self.chance), models)


ALWAYS: Final = Coin(1.0)
NEVER: Final = Coin(0.0)


class _Coins:
    """A coin for each run."""

    def __init__(self, coins: list[Draws], threshold: int, models: int) -> None:
        self._coins, self._threshold, self._models = coins, threshold, models

    def choose(self, models: Floats, losses: Floats) -> Chosen:
        del models, losses
        heads = [int(coin.words(1)[0]) < self._threshold for coin in self._coins]
        return np.repeat(np.array(heads)[:, None], self._models, axis=1)

    def told(self, losses: Floats) -> None:
        """Nothing: a coin hears of no losses."""
