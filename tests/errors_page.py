"""`python -m tests.errors_page > docs/errors.md`: every error and exit code, and what to do.

What an error means is the first line of its docstring; everything else are words of the product's
own tables. A test holds the page against both.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from typing import Final

from bulletin_board.admission import RefusalReason
from gopa.auditing.checks import BY_NUMBER
from gopa.auditing.report import Verdict
from gopa.cli import exits
from gopa.cli.audit_screen import ADVICE
from gopa.cli.exits import AUDIT, EVERY, EXIT_CODES, exit_code
from gopa.support.wording import ABORTS, VERDICTS, sentence
from tests.built_on import BUILT_ON_OTHERS
from wire.errors import GopaError

PACKAGES: Final = ("wire", "commitments", "zkp", "bulletin_board", "gopa")


def errors() -> list[type[GopaError]]:
    """Every class of errors, each behind the one that it descends from."""
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith("__main__") or module.name.startswith(BUILT_ON_OTHERS):
                continue
            importlib.import_module(module.name)
    return list(_below(GopaError))


def _below(found: type[GopaError]) -> Iterator[type[GopaError]]:
    yield found
    for each in sorted(set(found.__subclasses__()), key=lambda kind: kind.__name__):
        if each.__module__.partition(".")[0] in PACKAGES:
            yield from _below(each)


def meaning_of(kind: type[GopaError]) -> str:
    """The first line of the docstring, without the words with which it begins to say so."""
    first = (kind.__doc__ or "").strip().split("\n")[0]
    return sentence(_BEGINNING.sub("", first))


_BEGINNING: Final = re.compile(r"^(Says|Reports) that |^Reports |^Is ")
_HEAD: Final = """# Errors and exit codes

What each of them means, and what to do. Made from the code by
`python -m tests.errors_page > docs/errors.md`.

A command that cannot go on says so in one line on standard error, which begins with `gopa:`, and
ends with one of these codes. In Python every error of the library is a `GopaError`; its class says
what is proved about whom.
"""


def page() -> Iterator[str]:
    """All lines of the page."""
    yield _HEAD
    yield "## Exit codes\n"
    yield "*Again*: the same command may come further later; services start it again then.\n"
    yield from _table("command", "code", "again", "means", "what to do")
    for each in EXIT_CODES:
        command = each.command if each.command.startswith(EVERY) else f"`{each.command}`"
        again = "yes" if each.again else ""
        yield _row(command, each.code, again, each.means, each.to_do)
    yield "\n## Verdicts of an audit\n"
    yield f"`{AUDIT}` ends with the code of its verdict. Scripts should accept 0 alone.\n"
    yield from _table("verdict", "code", "means", "what to do")
    for name, to_do in exits.VERDICTS_TO_DO.items():
        yield _row(f"`{name}`", Verdict(name).code, VERDICTS[name].meaning, to_do)
    yield "\n## Checks of an audit that did not pass\n"
    yield "A check that failed because of what somebody did is mended by nothing: see the faults.\n"
    yield from _table("check", "asks", "what to do")
    for number, to_do in ADVICE.items():
        yield _row(number, BY_NUMBER[number].question, to_do)
    yield "\n## Rounds without a result\n"
    yield from _table("reason", "means", "what to do")
    for reason, means in ABORTS.items():
        yield _row(f"`{reason}`", f"{sentence(means)}.", exits.ABORTS_TO_DO[reason])
    yield "\n## Refusals of a board\n"
    yield from _table("reason", "status", "means", "what to do")
    for refusal in RefusalReason:
        to_do = exits.REFUSALS_TO_DO[refusal.code]
        yield _row(f"`{refusal.code}`", refusal.status, f"{refusal.title}.", to_do)
    yield "\n## Errors in Python\n"
    yield "A class stands below the one that it descends from; *exit* is the code of a command.\n"
    yield from _table("error", "is a", "exit", "means", "what to do")
    for kind in errors():
        name, base = kind.__name__, kind.__mro__[1].__name__
        where = f"{kind.__module__}.{name}"
        code = exit_code(kind)
        yield _row(f"`{where}`", f"`{base}`", code, meaning_of(kind), exits.ERRORS_TO_DO[name])


def _table(*heads: str) -> Iterator[str]:
    yield _row(*heads)
    yield "|---" * len(heads) + "|"


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(each).replace('|', chr(92) + '|') for each in cells)} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()) + "\n")
