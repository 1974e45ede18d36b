"""Composes the report from what was read, with its sentences: summary and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Final

from gopa.auditing.checks import CHECKS, CheckTally
from gopa.auditing.described import session_report
from gopa.auditing.log_checks import check_foundation, session_of_other_anchors
from gopa.auditing.reading import LogState
from gopa.auditing.report import (
    Anchor,
    Anchoring,
    CheckResult,
    Culprit,
    LogReport,
    OtherSession,
    Report,
    RoundReport,
    SessionReport,
    Status,
    Verdict,
)
from gopa.auditing.session_checks import check_session, remarks, rounds_of
from gopa.contract.manifest import Mode, Path
from gopa.contract.terms import Terms
from gopa.planning.explanation import noise_of_liars, proved_bounds
from gopa.support.wording import (
    EXACT,
    EXACT_DIFFERENCE,
    OTHER_SESSION,
    ROW_NOISE,
    SUMMARIES,
    counted,
    hidden_among,
    sentence,
    summaries_of,
)

_NOT_ANCHORED: Final = "Keys not anchored."
_CONSISTENT: Final = "Self-consistent; keys not anchored."
_MOST_NAMED: Final = 8
_MOST_COMPARED: Final = 16
"""Results, each with each."""

SIMULATED: Final = "This is a simulation: one process played all parties."


def summary(  # noqa: PLR0913 - what a summary may not leave out
    verdict: Verdict,
    anchors: Anchoring,
    tally: CheckTally,
    rounds: tuple[RoundReport, ...],
    *,
    other: OtherSession | None,
    simulation: bool,
    exact: bool,
    in_rows: bool,
) -> str:
    """Says how it ended, with everything that nobody must miss."""
    parts = [f"{other} {OTHER_SESSION.meaning}" if other else ""]
    parts.append(f"{sentence(EXACT)}." if exact else "")
    table = summaries_of(exact=exact, in_rows=in_rows)
    parts += [
        _first(verdict, tally, rounds, table),
        *map(veto, rounds),
        *_outcomes(verdict, rounds),
    ]
    if Anchor.EMBEDDED in {anchors.log, anchors.manifest}:
        parts.append(not_anchored(verdict))
    if simulation:
        parts.append(SIMULATED)
    return " ".join(filter(None, parts))


def veto(found: RoundReport) -> str:
    """Says that the organiser ended a round which could have gone on (04-X7); else nothing."""
    if not found.vetoed:
        return ""
    ended, *left = found.vetoed
    if not left:
        return (
            f"Round {found.number} was VETOED by its organiser: the log before its abort (entry "
            f"{ended}) has all that the round needed."
        )
    were = "entry" if len(left) == 1 else "entries"
    return (
        f"Round {found.number} was VETOED by its organiser: its abort (entry {ended}) cut off "
        f"{were} {', '.join(map(str, left[:_MOST_NAMED]))}"
        f"{' and more' if len(left) > _MOST_NAMED else ''}, which would have carried the round on."
    )


def not_anchored(verdict: Verdict) -> str:
    """Says what is not anchored; a transcript is called consistent only where all holds (11-I3)."""
    return _CONSISTENT if verdict.value in SUMMARIES else _NOT_ANCHORED


def _first(
    verdict: Verdict,
    tally: CheckTally,
    rounds: tuple[RoundReport, ...],
    table: Mapping[str, str],
) -> str:
    if verdict.value in table:
        results = any(each.outcome == "result" for each in rounds)
        return table[verdict.value] if results else "Everything went by the rules."
    if verdict is Verdict.INVALID:
        failed = [each.check.number for each in tally.results() if each.status is Status.FAIL]
        blamed = sorted({fault.culprit.value for fault in tally.faults if not fault.handled})
        nobody = blamed == [Culprit.UNATTRIBUTABLE.value]
        whom = "nobody can be named for it" if nobody else f"broken by: {', '.join(blamed)}"
        checks = "check" if len(failed) == 1 else "checks"
        return f"Do not rely on it: {checks} {', '.join(failed)} failed ({whom})."
    wanting = [
        f"{each.check.number} ({each.status.value})"
        for each in tally.results()
        if each.status in {Status.MISSING, Status.ERROR, Status.NOT_IMPLEMENTED}
    ]
    return f"Nothing is established yet. Open checks: {', '.join(wanting) or 'not begun'}."


def _outcomes(verdict: Verdict, rounds: tuple[RoundReport, ...]) -> Iterator[str]:
    if verdict is Verdict.INVALID:
        return
    results = [each for each in rounds if each.outcome == "result"]
    if rounds and not results:
        yield "No round has a result."
    for each in results:
        yield (
            f"Round {each.number}: {counted(len(each.included), 'party', 'parties')} included, "
            f"{len(each.excluded)} excluded."
        )


def limits(  # noqa: PLR0913 - what a report may not leave out
    verdict: Verdict,
    session: SessionReport | None,
    anchors: Anchoring,
    log: LogReport | None,
    *,
    witnessed: bool,
    simulation: bool,
    terms: Terms | None,
    rounds: Sequence[RoundReport],
) -> tuple[str, ...]:
    """Says what the audit does not say.

    Of vectors that are proved row by row the length is proved, but the law of their noise is not.
    """
    in_rows = terms is not None and terms.squared_norm > 0
    within = "length" if in_rows else "range"
    lines = [f"Whether inputs are true is not known: a party chooses its own within the {within}."]
    if session is not None:
        lines.append(
            f"Of {session.parties} parties at most {session.corrupt} may collude, as is assumed; "
            "no log shows whether more do."
        )
        if session.exact:
            lines.append(f"{sentence(EXACT)}; {EXACT_DIFFERENCE}.")
            lines.append(f"{sentence(hidden_among(session.fewest - session.corrupt))}.")
            lines.extend(islice(differing_by_one(rounds), _MOST_NAMED))
        if terms is not None and in_rows:
            lines.append(proved_bounds(terms))
            lines.extend([] if session.exact else [ROW_NOISE])
            lines.append(f"{sentence(noise_of_liars(terms))}.")
        if terms is not None and terms.bounds_length and not in_rows:
            lines.append("That vectors keep to the planned length is NOT proved.")
        if session.mode == "signed":
            lines.append(f"Inputs {'are' if session.exact else 'and noise are'} NOT proved.")
        if session.trust != "malicious":
            lines.append("Parties were trusted to keep the rules: whoever lied is not found.")
    lines.append("What parties check for themselves before they go on leaves no trace in a log.")
    lines.extend(_age(log))
    if not witnessed:
        lines.append("No quorum of witnesses: a single view of the log is assumed.")
    if not anchors.whole:
        made = "Whoever made the transcript may have made all of its keys."
        lines.append(f"{not_anchored(verdict)} {made}")
    if simulation:
        lines.append(SIMULATED)
    return tuple(lines)


def _age(log: LogReport | None) -> Iterator[str]:
    """Says what is known of when it was: a log has no times, but witnesses date what they see."""
    if log is not None and log.seen:
        yield (
            "When the session took place is not known: entries carry no time. By the clocks of a "
            f"quorum of witnesses all that is in this log was there at {log.seen}."
        )
    elif log is not None:
        yield "When the session took place is not known: its log knows no time."


def differing_by_one(rounds: Sequence[RoundReport]) -> Iterator[str]:
    """Names parties whose value two exact sums show if the others gave the same to both."""
    results = [each for each in rounds if each.outcome == "result"][:_MOST_COMPARED]
    for first, second in combinations(results, 2):
        if abs(len(first.included) - len(second.included)) != 1:
            continue
        apart = set(first.included).symmetric_difference(second.included)
        if len(apart) == 1:
            name, pair = apart.pop().hex()[:16], f"rounds {first.number} and {second.number}"
            yield (
                f"The exact sums of {pair} differ by party {name}: they show its value if the "
                "others gave the same to both."
            )


_NOTHING = Anchoring(Anchor.MISSING, Anchor.MISSING)


def compose(state: LogState, *, opened: bool = True) -> Report:
    """Composes the report about a log, as far as it was read."""
    tally = CheckTally()
    if not opened:
        tally.say("0.1", Status.MISSING, state.lacking)
    log = check_foundation(state, tally)
    findings = check_session(state, tally)
    rounds = tuple(rounds_of(state, findings, tally))
    manifest, session = None if findings is None else findings.manifest, None
    if manifest is not None:
        session = session_report(state.reading.choice.chosen or b"", manifest)
    simulation = session is not None and manifest is not None and manifest.simulation
    in_rows = manifest is not None and manifest.path is Path.ROWS
    verdict = tally.verdict(
        signed_only=manifest is not None and manifest.mode is Mode.SIGNED,
        exclusions=any(each.excluded for each in rounds),
        strict=state.options.strict,
    )
    policy, other = state.policy, session_of_other_anchors(state, tally)
    return Report(
        verdict=verdict,
        summary=summary(
            verdict,
            state.anchoring,
            tally,
            rounds,
            other=other,
            simulation=simulation,
            exact=session is not None and session.exact,
            in_rows=in_rows,
        ),
        anchors=state.anchoring,
        other_session=other,
        simulation=simulation,
        complete=tally.passes("1.3", "2.3"),
        log=log,
        session=session,
        rounds=rounds,
        checks=tally.results(),
        faults=tuple(tally.faults),
        remarks=remarks(state, findings),
        limits=limits(
            verdict,
            session,
            state.anchoring,
            log,
            witnessed=policy is not None and policy.needs_witnesses and tally.passes("1.2"),
            simulation=simulation,
            terms=None if manifest is None else manifest.terms,
            rounds=rounds,
        ),
    )


def unsupported(name: str, why: str) -> Report:
    """Reports a transcript of another version, about which nothing else is said (11-I5)."""
    said = f"{name}: {why}. Use a newer version of the auditor."
    return _without_checks(Verdict.UNSUPPORTED, said, Status.SKIPPED, why)


def failed_inside(error: BaseException) -> Report:
    """Reports that the auditor itself failed, which says nothing about the transcript (11-V2)."""
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    said = f"The auditor itself failed ({why}); this says nothing about the transcript."
    return _without_checks(Verdict.INTERNAL_ERROR, said, Status.ERROR, why)


def _without_checks(verdict: Verdict, said: str, status: Status, why: str) -> Report:
    return Report(
        verdict=verdict,
        summary=said,
        anchors=_NOTHING,
        other_session=None,
        simulation=False,
        complete=False,
        log=None,
        session=None,
        rounds=(),
        checks=tuple(CheckResult(check, status, why, 0) for check in CHECKS),
        faults=(),
        remarks=(),
        limits=(),
    )
