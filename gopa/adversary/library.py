"""All attacks there are: the catalogue, and what the user of the library has added."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import gopa.adversary.catalogue  # noqa: F401 - it registers its attacks
from gopa.adversary.attack import KNOWN, Attack
from wire.errors import UsageError

ALL: Final = "all"


def attacks() -> Mapping[str, Attack]:
    """By name, in the order of the catalogue."""
    return MappingProxyType(KNOWN)


def named(name: str) -> Attack:
    """The attack of this name; `UsageError` suggests others."""
    if name in KNOWN:
        return KNOWN[name]
    close = difflib.get_close_matches(name, KNOWN, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "`gopa attack --list` has all"
    raise UsageError(f"no attack is named {name!r}: {hint}", "name")


def chosen(names: Sequence[str]) -> list[Attack]:
    """Attacks by their names, those of a family by its name, or `all`; each once.

    Raises:
        UsageError: a name that is none of these.
    """
    families = {each.family for each in KNOWN.values()}
    found: dict[str, Attack] = {}
    for name in names:
        if name == ALL:
            found |= KNOWN
        elif name in families:
            found |= {each.name: each for each in KNOWN.values() if each.family == name}
        else:
            found[name] = named(name)
    return list(found.values())


def of_family(family: str, among: Sequence[Attack]) -> list[Attack]:
    """Those attacks that belong to a family.

    Raises:
        UsageError: there is no such family; the message names all.
    """
    families = sorted({each.family for each in KNOWN.values()})
    if family not in families:
        raise UsageError(f"must be one of {', '.join(families)}", "--family")
    return [each for each in among if each.family == family]
