"""`python -m tests.errors_page > docs/errors.md`: every error and exit code, and what to do.

What an error means is the first line of its docstring; exit codes, reasons, verdicts and checks
have their words in the tables of the code. What to do about the rest stands here. A test holds the
page against both.
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
from gopa.cli.audit_screen import ADVICE
from gopa.cli.exits import AUDIT, EVERY, EXIT_CODES, exit_code
from gopa.support.wording import ABORTS, VERDICTS, sentence
from tests.built_on import BUILT_ON_OTHERS
from wire.errors import GopaError

PACKAGES: Final = ("wire", "commitments", "zkp", "bulletin_board", "gopa")


VERDICTS_TO_DO: Final = {
    Verdict.VALID: "Use the result.",
    Verdict.VALID_WITH_EXCLUSIONS: "Look at who was left out and why, then use the result.",
    Verdict.SIGNED_ONLY: "Decide whether you trust the parties to keep to the range and to draw "
    "their noise.",
    Verdict.INCOMPLETE: "The lines that begin with `Why` say what is missing; get it and audit "
    "again.",
    Verdict.INVALID: "Use no number of it. Get the transcript again; if it fails again keep it, "
    "and have evidence written with `--evidence-dir`.",
    Verdict.UNSUPPORTED: "Install a newer version.",
    Verdict.INTERNAL_ERROR: "Audit again, with more memory if the line says so; if it fails "
    "again, report it.",
}

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

REFUSALS_TO_DO: Final = {
    RefusalReason.MALFORMED: "Use a client of the board's version.",
    RefusalReason.SIGNATURE: "Sign the entry with the key that it names.",
    RefusalReason.UNREGISTERED: "Have the key put on the roster.",
    RefusalReason.SESSION: "Post the manifest first, as the organiser of the session.",
    RefusalReason.PHASE: "Nothing: it came too late, or too early.",
    RefusalReason.SEQUENCE: "Post the entries of a phase in their order.",
    RefusalReason.CONFLICT: "Never post two entries in one slot: this is evidence against the key.",
    RefusalReason.TOO_LARGE: "Post less at once.",
    RefusalReason.MEDIA_TYPE: "Name the media type of an entry.",
    RefusalReason.QUOTA: "Wait; or have the operator raise the limit.",
    RefusalReason.FULL: "Wait; or have the operator make room.",
    RefusalReason.ADDRESS: "Wait as long as the answer says; or have the operator raise the limit.",
    RefusalReason.STORAGE: "Wait; the operator has to make room on the disk, or raise the limit.",
    RefusalReason.BUSY: "Try again after the seconds that the answer names.",
    RefusalReason.UNAVAILABLE: "Try again; the operator has to look at the disk.",
    RefusalReason.QUORUM: "Try again; the operator has to look at the witnesses.",
    RefusalReason.LOOKUP: "Use a client of the board's version.",
    RefusalReason.TOO_WIDE: "Ask for less at once.",
}

ABORTS_TO_DO: Final = {
    "too_few_joined": "Enlist more parties, or wait longer for them.",
    "too_many_withheld": "Wait longer in this phase, or plan for a larger dropout.",
    "too_few_left": "Plan for a larger dropout, or enlist more parties.",
    "too_many_rollbacks": "Wait longer in the phase publish; see who kept dropping out.",
    "not_confirmed": "Wait longer in the phase confirm, or plan for a larger dropout.",
    "not_unmasked": "Plan with recovery, which does without a party that vanishes at the end.",
    "organiser": "Ask the organiser; `gopa audit` says whether it was a veto.",
}


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
    for verdict, to_do in VERDICTS_TO_DO.items():
        yield _row(f"`{verdict.value}`", verdict.code, VERDICTS[verdict.value].meaning, to_do)
    yield "\n## Checks of an audit that did not pass\n"
    yield "A check that failed because of what somebody did is mended by nothing: see the faults.\n"
    yield from _table("check", "asks", "what to do")
    for number, to_do in ADVICE.items():
        yield _row(number, BY_NUMBER[number].question, to_do)
    yield "\n## Rounds without a result\n"
    yield from _table("reason", "means", "what to do")
    for reason, means in ABORTS.items():
        yield _row(f"`{reason}`", f"{sentence(means)}.", ABORTS_TO_DO[reason])
    yield "\n## Refusals of a board\n"
    yield from _table("reason", "status", "means", "what to do")
    for refusal in RefusalReason:
        yield _row(
            f"`{refusal.code}`", refusal.status, f"{refusal.title}.", REFUSALS_TO_DO[refusal]
        )
    yield "\n## Errors in Python\n"
    yield "A class stands below the one that it descends from; *exit* is the code of a command.\n"
    yield from _table("error", "is a", "exit", "means", "what to do")
    for kind in errors():
        name, base = kind.__name__, kind.__mro__[1].__name__
        where = f"{kind.__module__}.{name}"
        code = exit_code(kind)
        yield _row(f"`{where}`", f"`{base}`", code, meaning_of(kind), ERRORS_TO_DO[name])


def _table(*heads: str) -> Iterator[str]:
    yield _row(*heads)
    yield "|---" * len(heads) + "|"


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(each).replace('|', chr(92) + '|') for each in cells)} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()) + "\n")
