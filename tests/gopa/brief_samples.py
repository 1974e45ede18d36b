"""A dataclass whose one field holds anything."""

from __future__ import annotations

from dataclasses import dataclass

from wire.brief import Brief


@dataclass(frozen=True, slots=True, repr=False)
class Sample(Brief):
    value: object
