"""Shows an audit to people: in five lines, or with all that was found.

The five lines are the verdict, the result, who is in it, its privacy, and what an audit does not
say. Where something is wanting lines in between say what, and what to do about it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from typing import Final

from bulletin_board.display import visible
from gopa.auditing.composing import SIMULATED, not_anchored, veto
from gopa.auditing.described import warning_of
from gopa.auditing.judging import Judgement
from gopa.auditing.reading import Trace
from gopa.auditing.report import (
    NO_RESULT_CODE,
    Anchor,
    CheckResult,
    Report,
    RoundReport,
    SessionReport,
    Status,
    Verdict,
)
from gopa.protocol.rules import RULES
from gopa.support.rounding import listed, short
from gopa.support.wording import (
    DOUBTS,
    EXACT,
    EXACT_DIFFERENCE,
    STATUSES,
    TRUSTED_VERDICTS,
    UNANCHORED,
    VERDICTS,
    abort_because,
    answered,
    counted,
    exclusion_reason,
)

_WIDTH: Final = 92
_MOST: Final = 20
_MOST_NAMED: Final = 3
_MOST_WANTING: Final = 4
_MOST_LIMITS: Final = 2
_NO_RESULT: Final = "All rules were kept, but no round has a result: there is no number to rely on."
_LONGEST: Final = 2_000
_GOOD: Final = frozenset({Status.PASS, Status.SKIPPED})

_MISMATCH: Final = (
    "This is not what --anchors names: see that the text is the right one; if it is, do not rely "
    "on this transcript."
)

_TRUSTED: Final = {
    Anchor.OUTSIDE: "anchored",
    Anchor.EMBEDDED: "not anchored: the transcript's own word",
    Anchor.MISSING: "not anchored",
}

_OF_LOGS: Final = {
    "05-C4": "a log has one history",
    "05-W1": "a witness remembers what it has cosigned, and cosigns only what continues it",
}

_ABSENT: Final = (
    "Nothing here can be compared with --anchors yet: see the other checks, or wait for the "
    "session."
)

ADVICE: Final = {
    "0.1": "Get the file again; check that it is a .gopa archive, a board's directory or address.",
    "0.2": "Ask somebody you trust for the key of the board's log, and pass it with --anchors.",
    "0.3": "Ask for the hash of the manifest that was announced, and pass it with --anchors.",
    "0.4": "Make sure yourself that the organiser cannot know the beacon's values beforehand.",
    "1.1": "Check that the key is that of this board; if it is, do not rely on this copy.",
    "1.2": "Fetch the log again later, with a note that a quorum has cosigned.",
    "1.3": "Get the transcript again, from the board or from another copy.",
    "1.4": "Get the transcript again; keep this one, as it may convict the board.",
    "1.5": "Get a newer copy; if the log has forked, keep both and warn its users.",
    "2.1": "Wait until the session has begun; without --session, and a manifest in --anchors, the "
    "audit lists the sessions of a log.",
    "2.3": "Audit again when the session is over, or follow it with --follow.",
    "3.1": "Get the transcript again; if the rest of it holds, its board let this in: keep it.",
    "4.4": "Install what is missing and audit again.",
    "5.2": "Nothing speaks against the plan; its claim is too close to what holds to be confirmed.",
    "7.3": "The result holds; its privacy cost could not be computed.",
}
"""What to do about a check that is wanting; one that failed is not mended by waiting."""

_OF_A_COPY: Final = frozenset({"0.1", "0.2", "0.3", "1.1", "1.3", "1.4", "1.5", "3.1"})
"""Where these fail another copy or another key may help."""


def screen(report: Report) -> str:
    """Shows in five lines what a reader has to know."""
    return "\n".join(visible(line, _LONGEST) for line in _brief(report)) + "\n"


def details_screen(report: Report) -> str:
    """Shows the whole report as text."""
    return "\n".join(_lines(report)) + "\n"


def _brief(report: Report) -> Iterator[str]:
    unread = next((each for each in report.checks if each.check.number == "0.1"), None)
    if report.verdict in {Verdict.UNSUPPORTED, Verdict.INTERNAL_ERROR}:
        yield f"{_headline(report)}: {report.summary}"
        return
    if unread is not None and unread.status not in _GOOD:
        yield f"{_headline(report)}: {unread.detail}. {_advice(report, unread)}"
        return
    if _exact(report):
        yield f"Exact     {EXACT}; {EXACT_DIFFERENCE}"
    yield f"{_headline(report)}: {_meaning(report)}"
    yield from _wanting(report)
    last = next((each for each in reversed(report.rounds) if each.outcome == "result"), None)
    yield f"Result    {_result(report, last)}"
    if last is not None and (noisy := _noise(report.session, last)):
        yield f"Warning   {noisy}"
    shown = last or next(reversed(report.rounds), None)
    yield f"Who       {_who(shown)}"
    yield f"Privacy   {_privacy(report, last)}"
    yield f"Not said  {_unsaid(report)}"


def _headline(report: Report) -> str:
    absent = ", without a result" if report.code == NO_RESULT_CODE else ""
    return f"{report.verdict.value}{absent} (exit code {report.code})"


def _meaning(report: Report) -> str:
    """What the verdict means; a log that vouches for itself is never called valid without doubt."""
    if report.verdict.value not in TRUSTED_VERDICTS:
        return report.summary
    table = VERDICTS if report.anchored else UNANCHORED
    parts = [
        "" if report.anchored else not_anchored(report.verdict),
        _NO_RESULT if report.code == NO_RESULT_CODE else table[report.verdict.value].meaning,
        *map(veto, report.rounds),
        SIMULATED if report.simulation else "",
    ]
    return " ".join(filter(None, parts))


def _wanting(report: Report) -> Iterator[str]:
    """The first checks that did not pass, those that failed in front, each with what to do."""
    found = [each for each in report.checks if each.status not in _GOOD]
    if report.other_session is not None:  # said in front of all, and nothing else failed
        found = [each for each in found if each.status is not Status.FAIL]
    found.sort(key=lambda each: each.status is not Status.FAIL)
    for each in found[:_MOST_WANTING]:
        ended = f"check {each.check.number} {STATUSES[each.status.value].ended}"
        asked = answered(each.check.question, each.status.value)
        yield f"Why       {ended}: {asked}: {each.detail}"
        advice = _advice(report, each)
        if advice:
            yield f"          -> {advice}"
    if len(found) > _MOST_WANTING:
        more = counted(len(found) - _MOST_WANTING, "more check")
        yield f"          and {more} (see --details)"
    faults = [] if report.other_session else report.faults
    for fault in [each for each in faults if not each.handled][:_MOST_NAMED]:
        yield f"Fault     {fault}"


def _result(report: Report, last: RoundReport | None) -> str:
    if last is None:
        return _without_result(report)
    doubt = DOUBTS.get(report.verdict.value, "")
    count = sum(each.outcome == "result" for each in report.rounds)
    more = f"; the last of {count} results" if count > 1 else ""
    if not last.mean or report.session is None:
        return f"sums, and no mean (see --details){more}{doubt}"
    inputs = f"of inputs from {report.session.low} to {report.session.high}"
    return f"mean {listed(last.mean, _errors(last))}, {inputs}{more}{doubt}"


def _without_result(report: Report) -> str:
    if not report.rounds:
        return "none: there is no round that could be read"
    last = report.rounds[-1]
    if last.outcome != "abort":
        return "none yet: the last round is not over"
    return f"none after {counted(len(report.rounds), 'attempt')}: {abort_because(last.abort)}"


def _who(found: RoundReport | None) -> str:
    if found is None:
        return "nobody: there is no round that could be read"
    said = f"{len(found.included)} of {counted(len(found.joined), 'party', 'parties')} that joined"
    gone = [
        f"{each.author.hex()[:16]} {exclusion_reason(each.phase, each.cause, each.rule)}"
        for each in found.excluded[:_MOST_NAMED]
    ]
    left = len(found.excluded) - len(gone)
    more = [f"and {left} more (see --details)"] if left else []
    if gone:
        gone[0] = f"left out: {gone[0]}"
    return "; ".join([said, *gone, *more])


def _privacy(report: Report, last: RoundReport | None) -> str:
    """The claim of the plan; what holds against others is among the details."""
    if last is None and report.verdict.value in TRUSTED_VERDICTS:
        return "no result was published"
    if last is None:
        return "not established"
    if _exact(report):
        assumed = "" if report.session is None else report.session.delta
        return f"none: {EXACT}; the rest stays hidden but for a chance of {assumed}"
    if last.privacy is None or not last.privacy.claims:
        return "not established (see --details)"
    claim, planned = last.privacy.claims[0], report.session
    if float(claim.delta) >= 1:
        return f"nothing is promised: {claim.how}"
    who = "" if planned is None else f" (at most {planned.corrupt} of {planned.parties})"
    worth = f"epsilon {last.privacy.epsilon}, delta {short(claim.delta, 3)}"
    return f"{worth}, {claim.against}{who}{DOUBTS.get(report.verdict.value, '')}"


def _exact(report: Report) -> bool:
    return report.session is not None and report.session.exact


def _unsaid(report: Report) -> str:
    first, *rest = report.limits[:_MOST_LIMITS] or ("",)
    left = len(report.limits) - _MOST_LIMITS
    return " ".join([first, *rest, f"{left} more: --details." if left > 0 else ""]).rstrip()


def _noise(session: SessionReport | None, found: RoundReport) -> str:
    """Says that an answer is mostly noise; nothing where it is not, or there is none."""
    return warning_of(session, found.stderr) if session is not None and found.mean else ""


def _errors(found: RoundReport) -> tuple[str, ...]:
    return found.stderr if len(found.stderr) == len(found.mean) else ("",) * len(found.mean)


def judged_screen(judgement: Judgement, expected: bytes | None) -> str:
    """Shows what a file of evidence proves; `expected` is the manifest's hash from --anchors."""
    if not judgement.convicts:
        return f"PROVES NOTHING\n  {visible(judgement.what, 1_000)}\n"
    lines = [
        f"CONVICTS {_convicted(judgement)}",
        f"  broken     {judgement.rule}{_in_round(judgement.round)}: {_rule(judgement.rule)}",
        f"  shown      {visible(judgement.what, 1_000)}",
    ]
    for key in judgement.witnesses:
        lines.append(f"CONVICTS witness {visible(key)}")
        lines.append(f"  broken     05-W1: {_rule('05-W1')}")
        lines.append("  shown      its cosignature stands on both histories")
    if judgement.culprit is None:
        lines.append(
            "  part       not shown: who is the organiser, and who a party, the manifest says"
        )
    if judgement.session:
        lines.append(f"  session    {judgement.session.hex()}")
    if judgement.manifest:
        lines.append(f"  manifest   {judgement.manifest.hex()}")
        if expected not in {None, judgement.manifest}:
            lines.append("             another session than that of the manifest in --anchors!")
    if judgement.log_key:
        whose = "that you trust" if judgement.anchored else "that the manifest names"
        lines.append(f"  log        {visible(judgement.log_key)}, {whose}")
    return "\n".join(lines) + "\n"


def _convicted(judgement: Judgement) -> str:
    if judgement.culprit is None:
        return f"the author {judgement.author.hex()}"
    if not judgement.author:
        return f"the {judgement.culprit.value}"
    return f"{judgement.culprit.value} {judgement.author.hex()}"


def _in_round(number: int) -> str:
    return f", round {number}" if number else ""


def _rule(name: str) -> str:
    return RULES.get(name) or _OF_LOGS[name]


def trace_screen(found: Trace) -> str:
    """Shows what the log has about one author."""
    lines = ["", f"Everything of {found.author.hex()}:"]
    for step in found.steps:
        lines.append(f"  entry {step.index}: {step.what}")
        lines += [f"      {visible(each, 500)}" for each in step.verdicts]
    lines += [f"  {fate}" for fate in found.fates]
    return "\n".join(lines) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"{report.verdict.value}  (exit code {report.code})"
    for line in textwrap.wrap(visible(report.summary, 2_000), _WIDTH):
        yield f"  {line}"
    if report.verdict in {Verdict.UNSUPPORTED, Verdict.INTERNAL_ERROR}:
        return
    for each in report.rounds:
        yield ""
        yield from _round(report, each)
    yield ""
    yield from _provenance(report)
    yield from _checks(report)
    yield from _faults(report)
    if report.remarks:
        count = sum(each.count for each in report.remarks)
        shown = "1 entry that changes" if count == 1 else f"{count} entries that change"
        yield f"Remarks   {shown} nothing (see --json)"
    yield "What this does not say:"
    for line in report.limits:
        yield f"  - {line}"


def _round(report: Report, each: RoundReport) -> Iterator[str]:
    why = abort_because(each.abort)
    ends = {"result": "a result", "abort": f"no result: {why}", "open": "not over"}
    if each.vetoed:
        ends["abort"] = f"no result: VETOED by its organiser ({why})"
    place = f"logical {each.logical}, attempt {each.attempt}"
    doubt = DOUBTS.get(report.verdict.value, "") if each.outcome == "result" else ""
    yield f"Round {each.number} ({place}): {ends[each.outcome]}{doubt}"
    session = report.session
    if session is not None and each.mean:
        yield f"  computed   mean {listed(each.mean, _errors(each))}"
        yield f"             of inputs from {session.low} to {session.high}"
        if each.total:
            errors = [_times(error, len(each.included)) for error in _errors(each)]
            yield f"             sum {listed(each.total, errors)}"
        if noisy := _noise(session, each):
            yield from textwrap.wrap(f"  WARNING    {noisy}", _WIDTH, subsequent_indent=" " * 13)
    if each.sums and not each.mean:
        yield "  computed   weights too small for a mean; see the sums in --json"
    joined = counted(len(each.joined), "party", "parties")
    yield f"  by         {len(each.included)} of {joined} that joined"
    for gone in each.excluded[:_MOST]:
        where = "" if gone.entry is None else f", entry {gone.entry}"
        why = f"{exclusion_reason(gone.phase, gone.cause, gone.rule)} [{gone.rule}{where}]"
        yield f"  excluded   {gone.author.hex()[:16]}: {why}"
    if len(each.excluded) > _MOST:
        yield f"             and {len(each.excluded) - _MOST} more (see --json)"
    if each.privacy is not None:
        for claim in each.privacy.claims:
            worth = f"epsilon {each.privacy.epsilon}, delta {short(claim.delta, 3)}"
            yield f"  private    {worth}, {claim.against}"


def _provenance(report: Report) -> Iterator[str]:
    session, log = report.session, report.log
    if session is not None:
        title = visible(session.title) or "untitled"
        yield f"Session   {title}, mode {session.mode}, {session.session.hex()}"
        if session.coin_choices:
            alone, helped = (short(each) for each in _choices(session))
            yield f"Coins     {session.beacon}; liars choose among 2^{alone} of them, among"
            yield f"          2^{helped} if organiser and board help; only their own noise moves"
        yield f"Manifest  {session.manifest.hex()} ({_TRUSTED[report.anchors.manifest]})"
    if log is not None:
        size = counted(log.size, "entry", "entries")
        yield f"Log       {visible(log.origin)}, {size} ({_TRUSTED[report.anchors.log]})"
        yield f"Read from {visible(log.input, 500)}"


def _choices(session: SessionReport) -> tuple[str, str]:
    return session.coin_choices_alone, session.coin_choices


def _checks(report: Report) -> Iterator[str]:
    passed = sum(each.status is Status.PASS for each in report.checks)
    yield f"Checks    {passed} of {len(report.checks)} passed"
    for each in report.checks:
        if each.status in _GOOD:
            continue
        asked = answered(each.check.question, each.status.value)
        yield f"  {each.status.value.upper()} {each.check.number}: {asked}"
        yield f"      {visible(each.detail, 1_000)}"
        advice = _advice(report, each)
        if advice:
            yield f"      -> {advice}"
    yield from _skipped(report)


def _skipped(report: Report) -> Iterator[str]:
    """Checks that had nothing to look at, together with those that have the same reason."""
    reasons: dict[str, list[int]] = {}
    for place, each in enumerate(report.checks):
        if each.status is Status.SKIPPED:
            reasons.setdefault(each.detail, []).append(place)
    for why, places in reasons.items():
        runs = groupby(enumerate(places), key=lambda row: row[1] - row[0])
        ends = [(found[0][1], found[-1][1]) for found in (list(run) for _, run in runs)]
        names = [(report.checks[a].check.number, report.checks[b].check.number) for a, b in ends]
        named = ", ".join(a if a == b else f"{a} to {b}" for a, b in names)
        yield f"  skipped {named}: {visible(why, 1_000)}"


def _advice(report: Report, result: CheckResult) -> str:
    """What to do about a check that did not pass."""
    number, failed = result.check.number, result.status is Status.FAIL
    if number == "0.1" and not failed:
        return "Check the address, and that the board or the copy can be reached; then try again."
    brought = {"0.2": report.anchors.log, "0.3": report.anchors.manifest}.get(number)
    if brought is Anchor.OUTSIDE:
        return _MISMATCH if failed else _ABSENT
    if failed and number not in _OF_A_COPY:
        return "Do not rely on this result; the faults say who is to blame."
    return ADVICE.get(number, "")


def _faults(report: Report) -> Iterator[str]:
    if not report.faults:
        return
    handled = sum(fault.handled for fault in report.faults)
    spoils = f", {handled} of them dealt with by the rules: no reason to doubt" if handled else ""
    yield f"Faults    {len(report.faults)}{spoils}"
    for fault in report.faults[:_MOST]:
        yield f"  {visible(str(fault), 1_000)}"
    if len(report.faults) > _MOST:
        yield f"  and {len(report.faults) - _MOST} more (see --json)"


def _times(error: str, count: int) -> str:
    """The error of a sum, of that of its mean; empty where that is."""
    return str(count * Decimal(error)) if error else ""
