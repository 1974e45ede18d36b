"""`python -m tests.adversary.page > docs/attacks.md`: the catalogue as a page.

A row says what an attack tries, what catches it, and what comes of it in a build that lacks
that one check; `python -m tests.adversary.page NAME` prints the row of one attack. The tests
hold the page against what happens.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby

from gopa.adversary import AttackResult, attacks, named
from gopa.adversary.outcome import Catch, How
from tests.adversary.weakened import came_of, names_asked_for, what_happens
from tests.adversary.weaknesses import WEAKNESSES

_HEAD = """# The catalogue of attacks

Every attack that `gopa attack` knows, and what becomes of it twice. With everything in place it
fails: the check of the [audit](../specs/11-audit.md) and the rule of the
[specifications](../specs/04-protocol.md) that are named catch it. In a build that lacks the one
check of the last columns, and nothing else, it succeeds. The tests run both; and the command
`python -m tests.adversary.weakened` prints the second table. [Security](security.md) says how to
run them and how to write others.
"""

_COLUMNS = "| attack | tries | caught by | without | succeeds: |\n|---|---|---|---|---|"


def page() -> Iterator[str]:
    """All lines; runs every attack in its weakened build."""
    yield _HEAD
    for family, members in groupby(attacks().values(), key=lambda each: each.family):
        yield f"## {family.capitalize()}\n"
        yield _COLUMNS
        for each in members:
            yield line(each.name, came_of(each.name))
        yield ""


def line(name: str, weakened: AttackResult) -> str:
    """The row of an attack; `weakened` is what came of it without its defence."""
    attack = named(name)
    cells = (
        f"`{name}`",
        attack.story.tries,
        "; ".join(map(_cited, attack.expects)),
        WEAKNESSES[name].without,
        what_happens(weakened),
    )
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _cited(rule: str) -> str:
    check = Catch(rule, "", How.CONVICTED).check
    return f"{check} [{rule}]".strip()


if __name__ == "__main__":
    asked = names_asked_for("tests.adversary.page", __doc__)
    lines = [line(name, came_of(name)) for name in asked] or page()
    sys.stdout.write("\n".join(lines).rstrip() + "\n")
