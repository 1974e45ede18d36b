"""Options that are a time."""

from __future__ import annotations

import math
from typing import Any

import click


class Seconds(click.FloatRange):
    """A number of seconds, not negative; `inf` is for ever. `nan` would be, too, unasked."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(min=0.0)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; refuses everything else."""
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return found
