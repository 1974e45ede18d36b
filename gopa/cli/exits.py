"""What every command ends with: codes, what they mean, which error leads to which, what to do.

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


ERRORS_TO_DO: Final = {
    "Aborted": "Try another round; no value became known.",
    "BackendError": "Run `gopa doctor`: it says which backend runs, and why.",
    "BoardUnreachable": "Check the address and the network, then give the same command again.",
    "BreaksRule": "Nothing: whoever reads the log turns it into a finding of the audit.",
    "BudgetExceeded": "Stop, ask for more privacy to spend, or add more noise; `room` says how "
    "many of the steps still fit.",
    "CannotListen": "Stop what listens there, or choose another `--host` or `--port`.",
    "ComputationFault": "Do it again; if it fails again do not trust this machine.",
    "DataNotFound": "Put the file where `file` says, and name the folder in `GOPA_DATA`.",
    "Declined": "Nothing: the owner of the value said no, and nothing was sent.",
    "FaultyBoard": "Stop using this board, keep the evidence and show it to its other users.",
    "FaultyParty": "Keep the evidence; the rules leave the party out.",
    "GopaError": "Catch it where any error of the library is to be caught.",
    "InUse": "Stop the other process that uses this directory.",
    "Inconsistent": "Run `gopa board fsck`, and read `docs/board/operating.md` before you restore "
    "anything.",
    "InvalidProof": "Refuse the message; `check` names the step of the specification.",
    "InvalidSignature": "Refuse the message; it may have been changed on its way.",
    "InvalidValue": "Change the value at `party` and `coordinate`.",
    "InvalidWeight": "Change the weight of `party`.",
    "LetterMissing": "Ask whoever carries letters for those before it; read them in order.",
    "LetterReplayed": "Drop it: whoever carries letters has sent it again.",
    "LogIsShorter": "Ask whether the board was restored from a backup, and keep what you have.",
    "LostLock": "Another server runs on this log, or the lock is of another one: stop one of them.",
    "MalformedMessage": "Refuse the bytes; get the file or the message again.",
    "Misdirected": "Drop it; if it should be for you, compare the id of the run and the keys.",
    "MissingResource": "Try again later; if it stays so, get the log from a mirror.",
    "NetworkError": "Check the address and the network, then try again.",
    "NeverHappened": "Run the attack again on a machine that is less busy.",
    "NotApplicable": "Take a deed that means something in this mode.",
    "NotShown": "Nothing: it is tried again.",
    "OutOfRange": "Change the value or the range; `clip=True` or `--clip` moves it into the range.",
    "OutOfTurn": "Begin a new run: both sides with the same circuit and the same context.",
    "Overtaken": "Never serve from an old backup: see `docs/board/operating.md`.",
    "ProtocolError": "See the classes below it: they say what is proved.",
    "Refusal": "Accept more if you want to: the line names the option.",
    "Refused": "See the refusals of a board above.",
    "RoundAborted": "See above, rounds without a result; `culprits` names who was missing.",
    "SessionAbsent": "Ask the organiser whether it is open, and whether this is the newest ticket.",
    "SessionOver": "Ask the organiser for another session.",
    "StaleMirror": "Read the log from its board, or wait until the mirror has caught up.",
    "StateDiverged": "Go on with the version of the library with which the session was begun.",
    "StateLost": "Give the last state, or begin with `lost=True` and sit out the rounds to which "
    "the party may have given a value.",
    "StateOfAnother": "Give each party, in each session, the state that it returned last.",
    "StateReplayed": "Go on with the state of the answer that left last. If that is gone: "
    "`begin(lost=True)`.",
    "DiskFull": "Make room on the disk; a running board goes on by itself.",
    "StorageError": "Look at the disk; start again when it works.",
    "SuspectedPartyOrBoard": "Try again, and compare with another copy of the log; keep both.",
    "TooManyRows": "Ask for less at once.",
    "TwinFailed": "Mend the session first: it fails without any attack.",
    "Unattributed": "Try again, or from another copy.",
    "Unconfirmed": "Start the witnesses and set the clocks, then start the board again.",
    "UnfitData": "Change the data as the message says: three parties or more, one width, numbers.",
    "UnfitStrategy": "Take one that averages, such as FedAvg, FedProx, FedAdam or FedYogi.",
    "UnprovenHistory": "Keep both checkpoints: the log may have forked. Warn its users.",
    "Unsupported": "Install a newer version.",
    "UsageError": "Change what `field` names, as the message says.",
    "VaultBroken": "Make room on the disk, then open the vault again.",
    "VaultOutdated": "Put the newest vault back if you have it; else take part in the next "
    "session.",
    "VaultUnmarked": "If the vault was moved, move its marks along with it; if they are lost, take "
    "part in the next session.",
    "VaultDamaged": "Do not restore it from a backup: an old state could say two things. Ask the "
    "organiser to go on without this party.",
    "VaultError": "See the classes below it.",
    "VaultExposed": "Take the directory away from others: `chmod 700`, and files `chmod 600`.",
    "VaultInUse": "Stop the other process, or wait for its end.",
    "WeightTooSmall": "Enlist more parties, or plan with less noise; `result` has the rest.",
    "WitnessRefusal": "Keep what the witness says: the log may have forked.",
    "WrongLabel": "Begin a new run; if it happens again, the two sides are not alike.",
    "WrongSecret": "Give the passphrase or key file with which the directory was made.",
}
"""By the names of classes."""

REFUSALS_TO_DO: Final = {
    "malformed": "Use a client of the board's version.",
    "signature": "Sign the entry with the key that it names.",
    "unregistered": "Have the key put on the roster.",
    "session": "Post the manifest first, as the organiser of the session.",
    "phase": "Nothing: it came too late, or too early.",
    "sequence": "Post the entries of a phase in their order.",
    "conflict": "Never post two entries in one slot: this is evidence against the key.",
    "too-large": "Post less at once.",
    "media-type": "Name the media type of an entry.",
    "quota": "Wait; or have the operator raise the limit.",
    "full": "Wait; or have the operator make room.",
    "address": "Wait as long as the answer says; or have the operator raise the limit.",
    "storage": "Wait; the operator has to make room on the disk, or raise the limit.",
    "busy": "Try again after the seconds that the answer names.",
    "unavailable": "Try again; the operator has to look at the disk.",
    "quorum": "Try again; the operator has to look at the witnesses.",
    "lookup": "Use a client of the board's version.",
    "too-wide": "Ask for less at once.",
}
"""By the codes of a board's reasons."""

ABORTS_TO_DO: Final = {
    "too_few_joined": "Enlist more parties, or wait longer for them.",
    "too_many_withheld": "Wait longer in this phase, or plan for a larger dropout.",
    "too_few_left": "Plan for a larger dropout, or enlist more parties.",
    "too_many_rollbacks": "Wait longer in the phase publish; see who kept dropping out.",
    "not_confirmed": "Wait longer in the phase confirm, or plan for a larger dropout.",
    "not_unmasked": "Plan with recovery, which does without a party that vanishes at the end.",
    "organiser": "Ask the organiser; `gopa audit` says whether it was a veto.",
}
"""By the reasons for which rounds end."""

VERDICTS_TO_DO: Final = {
    "VALID": "Use the result.",
    "VALID WITH EXCLUSIONS": "Look at who was left out and why, then use the result.",
    "SIGNED-ONLY": "Decide whether you trust the parties to keep to the range and to draw "
    "their noise.",
    "INCOMPLETE": "The lines that begin with `Why` say what is missing; get it and audit again.",
    "INVALID": "Use no number of it. Get the transcript again; if it fails again keep it, "
    "and have evidence written with `--evidence-dir`.",
    "UNSUPPORTED VERSION": "Install a newer version.",
    "INTERNAL ERROR": "Audit again, with more memory if the line says so; if it fails "
    "again, report it.",
}
"""By the names of an audit's verdicts."""

_BLAMING: Final = ("FaultyBoard", "FaultyParty", "SuspectedPartyOrBoard")


def last_words(error: BaseException) -> str:
    """What an error says, and what to do where it blames somebody: nothing can be mended then."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    blamed = next((ERRORS_TO_DO[name] for name in _BLAMING if name in kinds), "")
    return f"{error}. {blamed}" if blamed else str(error)
