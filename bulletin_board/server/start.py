"""Putting a board together from its directory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import NoReturn

from starlette.applications import Starlette  # noqa: TC002 - a light module

from bulletin_board.admission import AdmissionPolicy
from bulletin_board.client.http import HttpTransport
from bulletin_board.committer import Committer
from bulletin_board.durable import EvidenceFolder
from bulletin_board.note import NoteSigner, SignedCheckpoint
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.sequencer import Sequencer
from bulletin_board.server.app import build_app
from bulletin_board.server.limits import ServerLimits
from bulletin_board.server.lookup import Lookups
from bulletin_board.server.service import BoardService
from bulletin_board.server.static import OutgrownFiles
from bulletin_board.server.view import NoView, SessionView
from bulletin_board.source import DirectorySource
from bulletin_board.storage import Overtaken
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.storage.places import SqlitePlaces
from bulletin_board.witness.addresses import address_warnings
from bulletin_board.witness.collect import Collector
from bulletin_board.witness.opening import WitnessesFirst
from wire.errors import UsageError

log = logging.getLogger("gopa.board")

_WITNESS_SECONDS = 5.0
_OPENING_SECONDS = 5.0
_CONFIRMING_SECONDS = 15.0
"""The longer one where a log has entries: it does not open without its witnesses."""


def start_board(  # noqa: PLR0913, PLR0917 - the composition root
    place: BoardDirectory,
    signer: NoteSigner,
    policy: TrustPolicy,
    admission: Callable[[], AdmissionPolicy],
    stack: ExitStack,
    limits: ServerLimits | None = None,
    view: SessionView | None = None,
    *,
    risk_fork: bool = False,
) -> Starlette:
    """Open the log and start its threads; `stack` releases the directory at the end.

    Raises `StorageError` if the log cannot be opened, of which `Overtaken` means that the
    witnesses know a newer one, and `Unconfirmed` that too few of them answer, which
    `risk_fork` puts up with this once; `UsageError` if the policy is about another log.
    """
    if policy.log.key != signer.verifier:
        raise UsageError("the policy names another log than this board's key")
    for warning in address_warnings(policy):
        log.warning("%s", warning)
    stack.enter_context(place.writing())
    collector: Collector | None = None

    def committed(_: Sequencer) -> None:
        if collector is not None:
            collector.notify()

    public = DirectorySource(place.public)
    witnesses = _witnesses_first(policy, place)
    # The operator knows what the storage is now, and not what it is after a write that fails.
    risks = iter([risk_fork])

    def opened() -> Sequencer:
        sequencer = Sequencer(place.storage(), signer, admission)
        try:
            signed = sequencer.signed
            witnesses.require_newest(
                lambda: LogReader(OutgrownFiles(public), signed), risk_fork=next(risks, False)
            )
        except BaseException:
            sequencer.close()
            raise
        return sequencer

    committer = Committer(opened, committed=committed)
    service = BoardService(committer, public, policy, limits or ServerLimits(), view or NoView())
    service.lookups = _lookups(service, place)
    if policy.witnesses:
        collector = service.collector = _collector(service, place)
        collector.start()
    return build_app(service)


def _witnesses_first(policy: TrustPolicy, place: BoardDirectory) -> WitnessesFirst:
    transport = HttpTransport(seconds=_CONFIRMING_SECONDS)
    evidence = EvidenceFolder(place.evidence, private=True)
    return WitnessesFirst(policy, transport, evidence, _OPENING_SECONDS, _CONFIRMING_SECONDS)


def _lookups(service: BoardService, place: BoardDirectory) -> Lookups:
    committer = service.committer

    def size() -> int | None:
        sequencer = committer.sequencer
        return None if sequencer is None else sequencer.signed.size

    places = SqlitePlaces.open(place.index_path)
    return Lookups(places, service.public, size, lambda: committer.waiting > 0)


def _collector(service: BoardService, place: BoardDirectory) -> Collector:
    committer = service.committer

    def current() -> SignedCheckpoint | None:
        sequencer = committer.sequencer
        return None if sequencer is None else sequencer.signed

    return Collector(
        service.policy,
        HttpTransport(seconds=_WITNESS_SECONDS),
        OutgrownFiles(service.public),
        current,
        lambda signed: committer.call(lambda sequencer: sequencer.publish_cosigned(signed)),
        EvidenceFolder(place.evidence, private=True),
        overtaken=lambda error: committer.call(lambda _: _give_up(error)),
    )


def _give_up(error: Overtaken) -> NoReturn:
    raise error
