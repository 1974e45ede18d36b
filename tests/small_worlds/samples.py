"""Long lists of cases: some of them run always, all of them in `make soak`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet


def sampled(*lists: Iterable[object], every: int = 3) -> list[ParameterSet]:
    """All combinations; those that `make test` leaves out are marked as soaks."""
    return [
        pytest.param(*case, marks=() if number % every == 0 else pytest.mark.soak)
        for number, case in enumerate(product(*lists))
    ]
