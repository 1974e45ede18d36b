"""What a report says, in words for people who know nothing of cryptography."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


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

TRUSTED_VERDICTS: Final = frozenset(UNANCHORED)
"""Those that say that a transcript is consistent."""

UNKNOWN: Final = VerdictWords("open", "Unknown verdict", "Read the JSON report.")

STATUSES: Final = {
    "pass": ("good", "passed"),
    "fail": ("bad", "failed"),
    "error": ("open", "auditor failed"),
    "missing": ("open", "missing"),
    "not_implemented": ("open", "not implemented"),
    "skipped": ("none", "nothing to check"),
}

CULPRITS: Final = {
    "party": "a party",
    "board": "the board",
    "witness": "a witness",
    "organiser": "the organiser",
    "unattributable": "nobody can be named",
}

MODES: Final = {
    "full": "full: inputs in range and honest noise are proved",
    "signed": "signed: inputs and noise are taken on trust",
}

TRUSTS: Final = {
    "malicious": "parties may do anything; liars are found",
    "honest_but_curious": "parties are assumed to keep the rules; liars are not found",
}

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

PHASES: Final = {
    "join": "joining",
    "coins": "drawing coins",
    "commit": "committing",
    "accuse": "accusing",
    "publish": "publishing",
    "rollback": "taking masks back",
    "confirm": "confirming",
    "unmask": "unmasking",
    "recover": "recovering",
}

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

_ABSENT: Final = {
    "join": "did not join",
    "coins": "did not reveal its part of the coins in time",
    "commit": "joined, but did not commit to an input in time",
    "publish": "committed, but did not publish its masked value in time",
    "rollback": "did not take back the masks that it shared with parties that had left",
    "confirm": "did not confirm the final list",
    "unmask": "did not open its own mask at the end",
    "recover": "did not help to recover the mask of a party that had left",
}

_BY_CAUSE: Final = {
    "absent": "sent nothing in time",
    "invalid": "sent a message that breaks a rule",
    "struck": "sent two different messages where only one is allowed",
    "lost": "lost so many neighbours that it would not have been protected; not its fault",
    "barred": "was barred because of what it did before",
}

FAULTLESS: Final = frozenset({"absent", "lost"})
"""Causes that accuse nobody."""


def reason(phase: str, cause: str, rule: str) -> str:
    """Why somebody was left out, as the end of a sentence that begins with the party."""
    cause, phase = plain_name(cause), plain_name(phase)
    if cause == "convicted":
        if rule in {"04-A1", "04-A2", "04-A5"}:
            return "accused a neighbour falsely"
        return "gave a neighbour a wrong mask or share, and the neighbour proved it"
    if cause == "invalid" and rule in _BY_RULE:
        return _BY_RULE[rule]
    if cause == "absent" and rule == "04-C6":
        return "sent its message before the phase was closed, but the organiser cut it off"
    if cause == "absent" and phase in _ABSENT:
        return _ABSENT[phase]
    return _BY_CAUSE.get(cause, f"was left out: {cause}")


def plain_name(name: str) -> str:
    """A name of an enumeration in one spelling."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def sentence(words: str) -> str:
    """The words with a capital letter in front."""
    return words[:1].upper() + words[1:]
