"""What `gopa attack` prints."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Final

from gopa.adversary.attack import Attack, Row
from gopa.adversary.outcome import Catch, How
from gopa.adversary.served import Unserved

_WIDTH: Final = 96
_COLUMNS: Final = (26, 26, 24, 8)


def head() -> str:
    """The names of the columns of `line`."""
    return _columns("attack", "caught by", "who", "result")


def line(row: Row) -> str:
    """One attack as a line of a table, and more lines where something is wrong."""
    caught, *more = _by_rule(row.caught) or [("nothing", "")]
    lines = [_columns(row.attack, *caught, row.result)]
    lines += [_columns("", *each, "") for each in more]
    lines += [f"  ! {text}" for text in _wrong(row)]
    return "\n".join(each.rstrip() for each in lines)


def summary(rows: Sequence[Row]) -> str:
    """How many held."""
    held = sum(row.held for row in rows)
    if held == len(rows):
        what = "The attack" if held == 1 else f"All {held} attacks"
        return f"{what} failed and {'was' if held == 1 else 'were'} caught as expected."
    failed = ", ".join(row.attack for row in rows if not row.held)
    return f"{len(rows) - held} of {len(rows)} attacks were NOT caught as expected: {failed}"


def unfit_lines(unfit: Mapping[str, Unserved]) -> Iterator[str]:
    """How many attacks cannot be tried over HTTP, and why."""
    for why in Unserved:
        count = sum(each is why for each in unfit.values())
        if count:
            yield f"{count} not tried over HTTP, each because {why.value}."


def unfit_facts(unfit: Mapping[str, Unserved]) -> Iterator[str]:
    """The same for programs: one object for each attack."""
    for name, why in unfit.items():
        yield json.dumps({"attack": name, "unserved": why.name.lower(), "why": why.value})


def listing(chosen: Sequence[Attack]) -> str:
    """Names with what they try, family by family."""
    lines: list[str] = []
    for family, members in groupby(chosen, key=lambda each: each.family):
        lines.append(f"{family}:")
        for each in members:
            lines += _wrapped(each.name, each.story.tries, indent=2)
    return "\n".join(lines) + "\n"


def story(attack: Attack) -> str:
    """Everything to know of one attack."""
    parts = (
        ("tries", attack.story.tries),
        ("caught", attack.story.caught),
        ("costs", attack.story.costs),
    )
    lines = [attack.name]
    for name, text in parts:
        lines += _wrapped(name, text, indent=2, column=10)
    return "\n".join([*lines, ""])


def facts(attack: Attack) -> dict[str, object]:
    """The same for programs."""
    return {
        "name": attack.name,
        "family": attack.family,
        **asdict(attack.story),
        "expects": list(attack.expects),
    }


def row_facts(row: Row) -> dict[str, object]:
    """What came of an attack, for programs."""
    caught = [
        {"rule": each.rule, "check": each.check, "who": each.who, "how": each.how.name.lower()}
        for each in row.caught
    ]
    return {**asdict(row), "caught": caught, "held": row.held}


def _by_rule(caught: Sequence[Catch]) -> list[tuple[str, str]]:
    """Rules in the order in which they were found, with all whom each of them caught."""
    found: dict[tuple[str, str, How], list[str]] = {}
    for each in caught:
        found.setdefault((each.rule, each.check, each.how), []).append(each.who)
    return [
        (
            f"check {check} [{rule}]" if check else f"[{rule}]",
            f"{', '.join(dict.fromkeys(who))} {how.value}",
        )
        for (rule, check, how), who in found.items()
    ]


def _wrong(row: Row) -> Iterator[str]:
    if row.succeeded:
        yield "the attack succeeded"
    yield from row.harm
    for rule in row.missed:
        yield f"{rule} should have caught it"


def _columns(*texts: str) -> str:
    return " ".join(f"{text:<{width}}" for text, width in zip(texts, _COLUMNS, strict=True))


def _wrapped(name: str, text: str, *, indent: int, column: int = 28) -> list[str]:
    first = f"{'':<{indent}}{name:<{column - indent - 1}} "
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * column)
