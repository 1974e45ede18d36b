"""`python -m tests.adversary.weakened`: every attack, and the defence without which it succeeds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pytest

from gopa.adversary import AttackResult, attacks, named
from gopa.adversary.attack import SessionAttack
from gopa.adversary.boards import require_honest_session
from gopa.adversary.catalogue.board import ShownAttack
from gopa.adversary.served import ServedAttack
from gopa.adversary.trial import require_honest_twin
from tests.adversary.weaknesses import WEAKNESSES

_WIDTHS: Final = (40, 30, 46)
_NOTHING: Final = "NOTHING"


@contextmanager
def weakened(name: str) -> Iterator[None]:
    """A build that lacks what stops this attack; everything else is there."""
    _forget_twins()
    try:
        with pytest.MonkeyPatch.context() as patch:
            WEAKNESSES[name].disable(patch)
            yield
    finally:
        _forget_twins()


def _forget_twins() -> None:
    """Honest sessions of another build."""
    require_honest_twin.cache_clear()
    require_honest_session.cache_clear()


def came_of(name: str) -> AttackResult:
    """What comes of the attack in the weakened build, whose honest sessions are as ever."""
    with weakened(name):
        return named(name).run()


def line(name: str) -> str:
    """The attack as a row of the table."""
    happens = what_happens(came_of(name))
    return _columns(name, _caught_by(name), WEAKNESSES[name].without, happens)


def what_happens(row: AttackResult) -> str:
    """What an attack comes to, in words."""
    if not row.succeeded:
        return _NOTHING
    return "; ".join(row.harm) or _aim_of(row.attack)


def names_asked_for(program: str, description: str | None) -> Sequence[str]:
    """The attacks that a command line names; none if it is to be all of them."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("names", nargs="*", metavar="NAME", help="an attack; without one, all")
    names: list[str] = parser.parse_args().names
    unknown = [name for name in names if name not in attacks()]
    if unknown:
        parser.error(f"no attack has this name: {', '.join(unknown)}; see `gopa attack --list`")
    return names


def main(names: Sequence[str]) -> int:
    """Print the table; 1 if an attack fails in spite of its weakness."""
    sys.stdout.write(
        _columns("attack", "caught by (check, rule)", "switched off", "what happens then") + "\n"
    )
    failed = 0
    for name in names or tuple(attacks()):
        text = line(name)
        failed += text.endswith(_NOTHING)
        sys.stdout.write(text + "\n")
    return int(failed > 0)


def _aim_of(name: str) -> str:
    """What the attack is after, in words."""
    attack = named(name)
    assert isinstance(attack, SessionAttack | ShownAttack | ServedAttack)
    return (attack.aim.__doc__ or "").strip().partition("\n")[0].rstrip(".")


def _caught_by(name: str) -> str:
    """With everything in place."""
    expected = named(name).expects
    found = [each for each in named(name).run().caught if each.rule in expected]
    texts = [f"{each.check} [{each.rule}]".strip() for each in found]
    return ", ".join(dict.fromkeys(texts))


def _columns(*texts: str) -> str:
    padded = [f"{text:<{width}}" for text, width in zip(texts, _WIDTHS, strict=False)]
    return " ".join([*padded, *texts[len(_WIDTHS) :]])


if __name__ == "__main__":
    sys.exit(main(names_asked_for("tests.adversary.weakened", __doc__)))
