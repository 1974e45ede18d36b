"""Deeds of `gopa.adversary.deeds` as scripts of a simulation take them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from gopa.adversary.deeds import change
from gopa.adversary.malicious import Deed, Malicious
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Behaviour


def lying(at: str | Phase, deed: Deed, rounds: Collection[int] | None = None) -> Behaviour:
    """Does this deed at a phase, in the rounds of these numbers or in all."""
    return Malicious(0, at, deed, rounds).behaviour()


def says(at: str | Phase, alter: Callable[[Any], Any]) -> Behaviour:
    """Another message of a phase, made of what the party would post."""
    return lying(at, change(alter))
