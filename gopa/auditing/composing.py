"""From what was read to the report."""

from __future__ import annotations

from gopa.auditing.checks import CHECKS, Status
from gopa.auditing.described import session_report
from gopa.auditing.log_checks import check_log
from gopa.auditing.report import Anchor, Anchoring, CheckResult, Report, Verdict
from gopa.auditing.session_checks import check_session, remarks, rounds_of
from gopa.auditing.state import LogState
from gopa.auditing.tally import Tally
from gopa.auditing.words import limits, summary
from gopa.messages.manifest import Mode

_NOTHING = Anchoring(Anchor.MISSING, Anchor.MISSING)


def compose(state: LogState, *, opened: bool = True) -> Report:
    """The report about a log, as far as it was read."""
    tally = Tally()
    if not opened:
        tally.say("0.1", Status.MISSING, state.lacking)
    log = check_log(state, tally)
    findings = check_session(state, tally)
    rounds = tuple(rounds_of(state, findings, tally))
    manifest, session = None if findings is None else findings.manifest, None
    if manifest is not None:
        session = session_report(state.reading.choice.chosen or b"", manifest)
    simulation = session is not None and manifest is not None and manifest.simulation
    verdict = tally.verdict(
        signed_only=manifest is not None and manifest.mode is Mode.SIGNED,
        exclusions=any(each.excluded for each in rounds),
        strict=state.options.strict,
    )
    policy = state.policy
    return Report(
        verdict=verdict,
        summary=summary(verdict, state.anchoring, tally, rounds, simulation=simulation),
        anchors=state.anchoring,
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
            witnessed=policy is not None and policy.needs_witnesses and tally.passes("1.2"),
            simulation=simulation,
            bounded=manifest is not None and manifest.terms.bounds_length,
        ),
    )


def unsupported(name: str, why: str) -> Report:
    """[I5]: nothing else is said about a transcript of another version."""
    said = f"{name}: {why}. Use a newer version of the auditor."
    return _without_checks(Verdict.UNSUPPORTED, said, Status.SKIPPED, why)


def failed_inside(error: BaseException) -> Report:
    """[V2]: the auditor itself failed, which says nothing about the transcript."""
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    said = f"The auditor itself failed ({why}); this says nothing about the transcript."
    return _without_checks(Verdict.INTERNAL_ERROR, said, Status.ERROR, why)


def _without_checks(verdict: Verdict, said: str, status: Status, why: str) -> Report:
    return Report(
        verdict=verdict,
        summary=said,
        anchors=_NOTHING,
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
