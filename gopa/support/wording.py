"""The words that people read for phases, aborts, causes, parts, modes and verdicts.

The one place of each: the page of an audit, the command line, results and the board's page all
read them here. Keys are the names that reports use: of verdicts their values, of all other
enumerations the names of their members in small letters (`name_of`). Whoever reads a report
of somebody else looks a name up with `get` and shows an unknown one as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Final

_FEW_NAMES: Final = 8


def name_of(member: Enum) -> str:
    """Gives the key of a member of an enumeration in the tables below."""
    return member.name.lower()


def plain_name(name: str) -> str:
    """Spells the name of an enumeration as reports do, as a key of the tables below."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def sentence(words: str) -> str:
    """Puts a capital letter in front of the words."""
    return words[:1].upper() + words[1:]


def meant(name: str, known: Iterable[str], otherwise: str) -> str:
    """What a misspelt name may be meant to be; behind `otherwise` some of those there are."""
    names = list(known)
    close = get_close_matches(name, names, n=2)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"{otherwise} {', '.join(names[:_FEW_NAMES])}{', ..' if len(names) > _FEW_NAMES else ''}"


def counted(count: int, one: str, many: str = "") -> str:
    """Writes `1 entry`, `2 entries`; without `many` an `s` makes one more than one."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """How a verdict is shown: a tone, which decides colour and symbol, and two sentences."""

    tone: str
    headline: str
    meaning: str


VERDICTS: Final = {
    "VALID": VerdictWords(
        "good",
        "Valid",
        "Everything was computed as the protocol says. Whoever repeats this audit finds the same.",
    ),
    "VALID WITH EXCLUSIONS": VerdictWords(
        "good",
        "Valid, with exclusions",
        "Everything was computed as the protocol says, and somebody was left out as its rules "
        "demand.",
    ),
    "SIGNED-ONLY": VerdictWords(
        "part",
        "Correct sum, inputs not proved",
        "Everybody signed what they sent and the sum is right. That inputs lie in the allowed "
        "range and that the protecting noise is real was not proved in this session.",
    ),
    "INCOMPLETE": VerdictWords(
        "open",
        "Not decided",
        "No check failed, but not everything could be checked. Below it says what is missing.",
    ),
    "INVALID": VerdictWords(
        "bad",
        "Not valid",
        "A check failed. Do not rely on any number of this session.",
    ),
    "UNSUPPORTED VERSION": VerdictWords(
        "open",
        "Unknown version",
        "This auditor is too old for this transcript. Nothing is said about what it holds.",
    ),
    "INTERNAL ERROR": VerdictWords(
        "open",
        "The auditor failed",
        "The audit itself went wrong. Nothing is said about the transcript.",
    ),
}

OTHER_SESSION: Final = VerdictWords(
    "bad",
    "The anchors are of another session",
    "Bring the anchors of this session, or the transcript of that one. If nobody mixed them up, "
    "this is not the session that was announced.",
)
"""What stands for INVALID where nothing but the comparison with the anchors failed."""

_SHOWN_DIGITS: Final = 16


def other_session(log: str, manifest: str, found_log: str, found_manifest: str) -> str:
    """Names the session of the anchors and the one in the transcript; logs by their keys."""
    both = manifest != ""
    named = _session_words(log, manifest)
    held = _session_words(found_log if log else "", found_manifest if both else "")
    of = "session" if both else "log"
    return (
        f"The anchors you gave are of another {of}: they name {named}, the transcript is of {held}."
    )


def _session_words(log: str, manifest: str) -> str:
    parts = [f"the manifest {manifest[:_SHOWN_DIGITS]}" if manifest else ""]
    parts.append(f"the log {'+'.join(log.split('+')[:2])}" if log else "")
    return " in ".join(filter(None, parts))


_IF_REAL: Final = (
    "If this transcript is the real one, everything was computed as the protocol says. That it "
    "is the real one was not checked."
)

UNANCHORED: Final = {
    "VALID": VerdictWords("part", "Valid in itself", _IF_REAL),
    "VALID WITH EXCLUSIONS": VerdictWords("part", "Valid in itself, with exclusions", _IF_REAL),
    "SIGNED-ONLY": VerdictWords(
        "part",
        "Correct sum in itself, inputs not proved",
        "If this transcript is the real one, everybody signed what they sent and the sum is "
        "right. That inputs lie in the allowed range and that the protecting noise is real was "
        "not proved in this session.",
    ),
}
"""What stands for these verdicts where the keys are those that the transcript names itself."""

SUMMARIES: Final = {
    "VALID": "Every result is the sum over exactly the listed parties, of inputs in the "
    "range and noise from the stated law.",
    "VALID WITH EXCLUSIONS": "Every result is the sum over exactly the listed parties, of "
    "inputs in the range and noise from the stated law; not everybody is in it.",
    "SIGNED-ONLY": "Every result is the sum of what the listed parties signed. "
    "Inputs and noise are NOT proved.",
}
"""What the report itself says for these verdicts."""

ROW_SUMMARIES: Final = {
    **SUMMARIES,
    "VALID": "Every result is the sum over exactly the listed parties, of vectors no longer than "
    "stated and noise that nobody could aim.",
    "VALID WITH EXCLUSIONS": "Every result is the sum over exactly the listed parties, of vectors "
    "no longer than stated and noise that nobody could aim; not everybody is in it.",
}
"""What it says where vectors are proved row by row."""

ROW_NOISE: Final = "Noise: isotropic, its law is NOT proved for parties that lie."

EXACT_SUMMARIES: Final = {
    "VALID": "Every result is the sum over exactly the listed parties, of inputs in the range.",
    "VALID WITH EXCLUSIONS": "Every result is the sum over exactly the listed parties, of "
    "inputs in the range; not everybody is in it.",
    "SIGNED-ONLY": "Every result is the sum of what the listed parties signed. "
    "Inputs are NOT proved.",
}
"""The same of sessions without noise."""

EXACT_ROW_SUMMARIES: Final = {
    **EXACT_SUMMARIES,
    "VALID": "Every result is the sum over exactly the listed parties, of vectors no longer than "
    "stated.",
    "VALID WITH EXCLUSIONS": "Every result is the sum over exactly the listed parties, of vectors "
    "no longer than stated; not everybody is in it.",
}
"""The same where vectors are proved row by row."""


def summaries_of(*, exact: bool, in_rows: bool) -> Mapping[str, str]:
    """What a report says for each verdict, of sessions with and without noise and rows."""
    if in_rows:
        return EXACT_ROW_SUMMARIES if exact else ROW_SUMMARIES
    return EXACT_SUMMARIES if exact else SUMMARIES


DOUBTS: Final = {
    "INVALID": "; do NOT rely on it",
    "INCOMPLETE": "; not established",
}
"""What follows a result on the screen where the verdict is one of these."""

TRUSTED_VERDICTS: Final = frozenset(UNANCHORED)
"""Those that say that a transcript is consistent."""

UNKNOWN_VERDICT: Final = VerdictWords("open", "Unknown verdict", "Read the JSON report.")


@dataclass(frozen=True, slots=True)
class StatusWords:
    """How a check ended: a tone, how many `ended` so, and the `answer` to its question."""

    tone: str
    ended: str
    answer: str


STATUSES: Final = {
    "pass": StatusWords("good", "passed", "yes"),
    "fail": StatusWords("bad", "failed", "no"),
    "error": StatusWords("open", "auditor failed", "the auditor failed"),
    "missing": StatusWords("open", "missing", "not known"),
    "not_implemented": StatusWords("open", "not implemented", "nobody looked"),
    "skipped": StatusWords("none", "nothing to check", "nothing to check"),
}


def answered(question: str, status: str) -> str:
    """The question of a check with its answer, by which nobody takes the one for the other."""
    known = STATUSES.get(plain_name(status))
    return f"{question} {sentence(status if known is None else known.answer)}"


CULPRITS: Final = {
    "party": "a party",
    "board": "the board",
    "witness": "a witness",
    "organiser": "the organiser",
    "unattributable": "nobody can be named",
}

NAMED_CULPRITS: Final = {
    "party": "Party",
    "organiser": "The organiser",
}
"""What stands in front of the key of whoever has one."""

ROLES: Final = {
    "organiser": "the organiser",
    "party": "a party",
    "stranger": "a stranger",
    "board": "the board",
}
"""In what part somebody broke a rule, as the rules say it."""

MODES: Final = {
    "full": "full: inputs in range and honest noise are proved",
    "signed": "signed: inputs and noise are NOT proved",
    "off": "off: an experiment without a log; nothing can be checked",
}

ROW_MODES: Final = {
    "full": "full: lengths of vectors and of noise are proved, and that nobody aims noise",
}
"""The words of `MODES` where vectors are proved row by row, which is in full mode only."""

EXACT: Final = "the exact sum is released: nothing is hidden by noise"
"""What everything that shows a session or a result without noise says first."""

NO_EPSILON: Final = "none"

EXACT_DIFFERENCE: Final = (
    "two exact sums over sets of parties that differ by one party reveal that party's value"
)


_PAIR: Final = 2


def hidden_among(honest: int) -> str:
    """The words for what an exact sum hides a value in."""
    found = f"a value is hidden only in the sum of {honest} honest parties or more"
    return f"{found}; of two each knows the other's" if honest == _PAIR else found


EXACT_MODES: Final = {
    "full": "full, exact: inputs in range are proved; no noise",
    "signed": "signed, exact: inputs are NOT proved; no noise",
    "off": "off, exact: an experiment without a log or noise; nothing can be checked",
}
"""The words of `MODES` for sessions without noise."""

EXACT_ROW_MODES: Final = {"full": "full, exact: lengths of vectors are proved; no noise"}
"""The words of `ROW_MODES` for sessions without noise."""


def modes_of(*, exact: bool, in_rows: bool) -> Mapping[str, str]:
    """The words for what each mode proves, with and without noise and rows."""
    if in_rows:
        return EXACT_ROW_MODES if exact else ROW_MODES
    return EXACT_MODES if exact else MODES


def epsilon_text(epsilon: object | None) -> str:
    """An epsilon as reports and programs are told of it; "none" where nobody adds noise."""
    return NO_EPSILON if epsilon is None else str(epsilon)


def promise_of(epsilon: object | None, delta: object) -> str:
    """What a session promises about privacy, in one phrase; no epsilon is no noise."""
    return EXACT if epsilon is None else f"epsilon {epsilon}, delta {delta}"


TRUSTS: Final = {
    "malicious": "parties may do anything; liars are found",
    "honest_but_curious": "parties are assumed to keep the rules; liars are not found",
}

NOISES: Final = {
    "GaussianTable": "discrete Gaussian, table",
    "WeightedBits": "sum of weighted bits, table",
    "NoNoise": "none",
}
"""What a law of noise is called in front of the hash of its table, by its name in reports."""

BEACONS: Final = {
    "commit_reveal": "all parties together",
    "drand": "a public beacon (drand)",
    "simulation": "test coins, for simulations only",
}

ABORTS: Final = {
    "too_few_joined": "too few parties joined",
    "too_many_withheld": "too many parties kept back their part of the coins",
    "too_few_left": "too few parties were left",
    "too_many_rollbacks": "parties kept dropping out while masks were taken back",
    "not_confirmed": "too few parties confirmed the final list",
    "not_unmasked": "a party did not open its own mask at the end",
    "organiser": "the organiser stopped it",
}
"""Why a round ended without a result, as the end of a sentence after `because`."""


@dataclass(frozen=True, slots=True)
class PhaseWords:
    """How people speak of a phase.

    `name` says what it is called, `doing` what goes on in it, `done` what a party is that is
    through with it, and `absent` what one did that sent nothing.
    """

    name: str
    doing: str
    done: str = ""
    absent: str = "sent nothing in time"


PHASES: Final = {
    "organiser": PhaseWords("organiser", "waiting for the organiser"),
    "join": PhaseWords("join", "joining", "joined", "did not join"),
    "coins": PhaseWords(
        "coins",
        "drawing coins",
        "coins are out",
        "did not reveal its part of the coins in time",
    ),
    "commit": PhaseWords(
        "commit",
        "committing",
        "committed",
        "joined, but did not commit to an input in time",
    ),
    "accuse": PhaseWords("accusations", "accusing"),
    "publish": PhaseWords(
        "publish",
        "publishing",
        "published",
        "committed, but did not publish its masked value in time",
    ),
    "rollback": PhaseWords(
        "rollback",
        "taking masks back",
        "published",
        "did not take back the masks that it shared with parties that had left",
    ),
    "prove": PhaseWords(
        "prove",
        "proving masks",
        "proved masks",
        "published, but did not prove what its masked vector is made of in time",
    ),
    "confirm": PhaseWords("confirm", "confirming", "confirmed", "did not confirm the final list"),
    "unmask": PhaseWords("unmask", "unmasking", "unmasked", "did not open its own mask at the end"),
    "recover": PhaseWords(
        "recover",
        "recovering masks",
        "recovered",
        "did not help to recover the mask of a party that had left",
    ),
}


def doing(phase: str) -> str:
    """The words for what goes on in a reported phase; an unknown name as it is."""
    known = PHASES.get(plain_name(phase))
    return phase if known is None else known.doing


def abort_because(reason: str) -> str:
    """The words for why a round was aborted; an unknown name as it is."""
    return ABORTS.get(plain_name(reason), reason)


PARTS: Final = {
    "active": "your value is in it",
    "late": "what you sent came after the end of a phase, or not at all",
    "unwilling": "you had no value ready, or it asked for more than you accept",
    "lost": "too many of your neighbours were gone",
    "undated": "you heard who takes part when the coins could be known to others: see that "
    "your connection and your clock are good, or ask the organiser for a longer --drand-margin",
    "timed_out": "you were away, or nothing was heard for too long",
}
"""What part a party had in a round, said to its owner; all but `active` say why it is not in it."""

_BY_RULE: Final = {
    "04-J1": "was not invited, or may not take part",
    "04-J3": "did not prove that it knows its own key",
    "04-J4": "used a key that somebody else has too",
    "04-J5": "changed its input between attempts, or used the same noise twice",
    "04-J6": "came when all places were taken",
    "04-K1": "sent a commitment that does not have the right parts",
    "04-K2": "sent a commitment with invalid points",
    "04-K3": "did not prove that its input is in range and its noise honest: the proof is wrong",
    "04-K6": "did not prove that its numbers respect its weight: the proof is wrong",
    "04-P1": "published a value that is not the one it had committed to",
    "04-O2": "opened a mask that is not the one it had committed to",
    "04-U1": "opened a mask of its own that is not the one it had committed to",
    "04-U5": "gave its neighbours shares of another mask than its own",
    "04-V1": "revealed another number than the one it had fixed",
    "04-X5": "was barred because of what it did before",
    "04-E2": "sent a message of the wrong kind, or only a part of one",
    "04-E4": "answered another message than the one it had to answer",
}


@dataclass(frozen=True, slots=True)
class CauseWords:
    """Why somebody was left out: in short, and as the end of a sentence about the party."""

    short: str
    full: str


CAUSES: Final = {
    "absent": CauseWords("absent", "sent nothing in time"),
    "invalid": CauseWords("invalid", "sent a message that breaks a rule"),
    "struck": CauseWords(
        "signed two things", "sent two different messages where only one is allowed"
    ),
    "convicted": CauseWords(
        "convicted", "gave a neighbour a wrong mask or share, and the neighbour proved it"
    ),
    "lost": CauseWords(
        "lost its neighbours",
        "lost so many neighbours that it would not have been protected; not its fault",
    ),
    "barred": CauseWords("barred", "was barred because of what it did before"),
}

FAULTLESS: Final = frozenset({"absent", "lost"})
"""Causes that accuse nobody."""


def exclusion_reason(phase: str, cause: str, rule: str) -> str:
    """The words for why somebody was left out, behind the party as subject."""
    cause, phase = plain_name(cause), plain_name(phase)
    if cause == "convicted" and rule in {"04-A1", "04-A2", "04-A5"}:
        return "accused a neighbour falsely"
    if cause == "invalid" and rule in _BY_RULE:
        return _BY_RULE[rule]
    if cause == "absent" and rule == "04-C6":
        return "sent its message before the phase was closed, but the organiser cut it off"
    if cause == "absent" and phase in PHASES:
        return PHASES[phase].absent
    known = CAUSES.get(cause)
    return f"was left out: {cause}" if known is None else known.full
