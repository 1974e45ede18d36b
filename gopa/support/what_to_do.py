"""What to do about an error, a refusal of a board, a round without a result, and a verdict.

`docs/errors.md` is made from these tables, and a command that ends because a board or a party is at
fault says the words of its error. Errors are named and not imported: whatever fails does
not load the rest of the library to say so. Exit codes have their words in `gopa/cli/exits.py`,
checks of an audit in `gopa/cli/audit_screen.py`.
"""

from __future__ import annotations

from typing import Final

ERRORS: Final = {
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

REFUSALS: Final = {
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

ABORTS: Final = {
    "too_few_joined": "Enlist more parties, or wait longer for them.",
    "too_many_withheld": "Wait longer in this phase, or plan for a larger dropout.",
    "too_few_left": "Plan for a larger dropout, or enlist more parties.",
    "too_many_rollbacks": "Wait longer in the phase publish; see who kept dropping out.",
    "not_confirmed": "Wait longer in the phase confirm, or plan for a larger dropout.",
    "not_unmasked": "Plan with recovery, which does without a party that vanishes at the end.",
    "organiser": "Ask the organiser; `gopa audit` says whether it was a veto.",
}
"""By the reasons for which rounds end."""

VERDICTS: Final = {
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
    blamed = next((ERRORS[name] for name in _BLAMING if name in kinds), "")
    return f"{error}. {blamed}" if blamed else str(error)
