"""Says what every command ends with: the codes, what they mean, and which error leads to which.

`docs/errors.md`, the help of commands and the rules of the services in `deploy/systemd/` are held
against the table here. Errors are named and not imported: a command that fails does not load the
rest of the library to say so.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import Final, NamedTuple

import click

FAILED_EXIT: Final = 1
"""What was received is wrong, or storage, witnesses or an address forbid to go on."""

USAGE_EXIT: Final = 2
"""A person has to change something here."""

ABORTED_EXIT: Final = 3
"""The round ended without a result, and nobody's value was used."""

LATER_EXIT: Final = 4
"""It cannot go on now and may later: the same command goes on."""

INTERNAL_EXIT: Final = 5
"""What `gopa audit` ends with when it fails itself: 1 would accuse somebody."""

INTERRUPTED_EXIT: Final = 130
"""What a command ends with that is stopped from the keyboard, as shells expect it."""

EXIT_OF: Final = {
    "GopaError": USAGE_EXIT,
    "ProtocolError": FAILED_EXIT,
    "StorageError": FAILED_EXIT,
    "CannotListen": FAILED_EXIT,
    "Aborted": ABORTED_EXIT,
    "NetworkError": LATER_EXIT,
    "NotShown": LATER_EXIT,
    "BoardUnreachable": LATER_EXIT,
    "VaultBroken": LATER_EXIT,
    "VaultInUse": LATER_EXIT,
    "ComputationFault": LATER_EXIT,
    "MemoryError": LATER_EXIT,
}
"""Codes by the names of errors; what descends from one ends with the same, or stands here."""

PASSING: Final = frozenset(
    {
        errno.EAGAIN,
        errno.EBUSY,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOBUFS,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EROFS,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)
"""What a system refuses because of its state, and not because of a name or a permission."""


def exit_code(error: BaseException | type[BaseException]) -> int:
    """The code of an error.

    What the system refuses ends with 2, also where that was said in other words, unless its
    number says that it may pass.
    """
    kind = error if isinstance(error, type) else type(error)
    found = (EXIT_OF[each.__name__] for each in kind.__mro__ if each.__name__ in EXIT_OF)
    code = next(found, USAGE_EXIT)
    if isinstance(error, type) or code != USAGE_EXIT:
        return code
    passing = any(
        isinstance(each, OSError) and each.errno in PASSING for each in (error, error.__context__)
    )
    return LATER_EXIT if passing else USAGE_EXIT


def complain(line: str) -> None:
    """Says in one line on stderr what is wrong, if that can be written: the code is what counts."""
    with suppress(OSError):
        click.echo(f"gopa: {line}", err=True)


class Meaning(NamedTuple):
    """What an exit code of a command means, what to do, and whether a supervisor does it.

    `again`: the same command, started again, may come further. Services start it again then.
    """

    command: str
    code: int
    means: str
    to_do: str = ""
    again: bool = False


EVERY: Final = "every command"
AUDIT: Final = "gopa audit"
_OTHERS: Final = f"{EVERY} but `{AUDIT}`"
SERVE: Final = "gopa board serve"
WITNESS: Final = "gopa board witness"
OPEN: Final = "gopa session open"
JOIN: Final = "gopa join"
_SAME: Final = "Give the same command again; services do."
_CHANGE: Final = "The line says what."
_ROOM: Final = "This machine has no room for it now: memory, files, a disk."

EXIT_CODES: Final = (
    Meaning(EVERY, 0, "It did what it was asked to do."),
    Meaning(
        _OTHERS,
        FAILED_EXIT,
        "Something that was received is wrong; the line says who is at fault, as far as it shows. "
        "Or a storage is.",
        "Audit the session with `gopa audit`; keep the directory of the party or organiser, which "
        "may hold evidence.",
    ),
    Meaning(
        EVERY,
        USAGE_EXIT,
        "Something has to be changed here: an option, a file, this machine.",
        _CHANGE,
    ),
    Meaning(
        _OTHERS,
        LATER_EXIT,
        "It cannot go on now and may later: no board in reach, no room, a directory in use.",
        _SAME,
        again=True,
    ),
    Meaning(
        EVERY,
        INTERRUPTED_EXIT,
        "It was stopped from the keyboard.",
        "Give the same command again: whatever can go on does.",
    ),
    Meaning(SERVE, 0, "It was stopped."),
    Meaning(
        SERVE,
        FAILED_EXIT,
        "Its storage, its witnesses or its address forbid to go on.",
        "The line says which: see docs/board/operating.md. It is started again until that is over.",
        again=True,
    ),
    Meaning(SERVE, USAGE_EXIT, "Something has to be changed here first.", _CHANGE),
    Meaning(SERVE, LATER_EXIT, _ROOM, _SAME, again=True),
    Meaning(SERVE, INTERRUPTED_EXIT, "It was stopped from the keyboard, as well as by SIGTERM."),
    Meaning(WITNESS, 0, "It was stopped."),
    Meaning(
        WITNESS,
        FAILED_EXIT,
        "Its storage or its address forbid to go on.",
        "The line says which. It is started again until that is over.",
        again=True,
    ),
    Meaning(WITNESS, USAGE_EXIT, "Something has to be changed here first.", _CHANGE),
    Meaning(WITNESS, LATER_EXIT, _ROOM, _SAME, again=True),
    Meaning(WITNESS, INTERRUPTED_EXIT, "It was stopped from the keyboard, as well as by SIGTERM."),
    Meaning(OPEN, 0, "The rounds are done, and there is a result."),
    Meaning(
        OPEN,
        FAILED_EXIT,
        "There is no result, a rule was broken, or the board refused for good.",
        "`gopa session status` says why; create another session.",
    ),
    Meaning(OPEN, USAGE_EXIT, "Something has to be changed here first.", _CHANGE),
    Meaning(OPEN, LATER_EXIT, "No board for an hour, or no room here now.", _SAME, again=True),
    Meaning(OPEN, INTERRUPTED_EXIT, "It was stopped; the same command goes on."),
    Meaning(JOIN, 0, "There is a result."),
    Meaning(
        JOIN,
        FAILED_EXIT,
        "Somebody broke the rules in a way that stopped you.",
        "The line says who; keep the vault, which may hold evidence of a fork.",
    ),
    Meaning(
        JOIN, USAGE_EXIT, "Something has to be changed here, or you said no: nothing sent.", _CHANGE
    ),
    Meaning(
        JOIN,
        ABORTED_EXIT,
        "The session ended without a result for you.",
        "Ask the organiser for another round or session; below it says why rounds end so.",
    ),
    Meaning(
        JOIN,
        LATER_EXIT,
        "No board or no such session for too long, or no room here now.",
        "Give the same command again; `--patience` waits longer.",
        again=True,
    ),
    Meaning(JOIN, INTERRUPTED_EXIT, "It was stopped; the same command goes on."),
    Meaning(
        "gopa simulate",
        FAILED_EXIT,
        "The session came to no result.",
        "Plan for more parties that fail: a larger `--dropout`.",
    ),
    Meaning("gopa doctor", FAILED_EXIT, "The installation needs mending.", "The table says how."),
    Meaning(
        "gopa attack",
        FAILED_EXIT,
        "An attack was not caught.",
        "Do not use this build; report it as SECURITY.md says.",
    ),
    Meaning(
        "gopa attack privacy",
        FAILED_EXIT,
        "What was measured lies outside of the claim.",
        "Do not use this plan; report it as SECURITY.md says.",
    ),
    Meaning(
        AUDIT,
        7,
        "All rules were kept, and no round has a result.",
        "There is nothing to use; the report says why the rounds were aborted.",
    ),
    Meaning(
        AUDIT,
        8,
        "Valid, if the keys that the transcript names itself are the right ones.",
        "Get anchors from somebody you trust, and audit again with `--anchors`.",
    ),
    Meaning(
        f"{AUDIT} --evidence",
        0,
        "The file convicts somebody.",
        "It is worth something where the key and the session matter to you.",
    ),
    Meaning(f"{AUDIT} --evidence", 1, "The file proves nothing.", "Believe nothing because of it."),
)
"""All other codes of `gopa audit` are those of `Verdict`."""


def exits_of(command: str) -> tuple[Meaning, ...]:
    """The rows of one command that has a row for each of its codes."""
    return tuple(each for each in EXIT_CODES if each.command == command)


def exit_help(command: str) -> str:
    """The part of a command's help that says what it ends with."""
    lines = (
        f" {each.code:>3}  {each.means[0].lower()}{each.means[1:-1]}" for each in exits_of(command)
    )
    return "\n".join(["\b", "Exit codes:", *lines])
