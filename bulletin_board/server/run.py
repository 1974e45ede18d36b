"""A board put together from its directory, and served: only here a board's socket is opened."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

import uvicorn
from starlette.applications import Starlette  # noqa: TC002 - a light module
from starlette.types import ASGIApp  # noqa: TC002 - a light module

from bulletin_board.admission import AdmissionPolicy
from bulletin_board.client.http import HttpTransport
from bulletin_board.committer import Committer
from bulletin_board.display import visible
from bulletin_board.note import NoteSigner, SignedCheckpoint, SignedNote
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import CHECKPOINT, DirectorySource, LogReader
from bulletin_board.sequencer import Sequencer
from bulletin_board.server.accepting import (
    CannotListen,
    ConnectionAcceptor,
    OpenConnection,
    OpenConnections,
    most_connections,
)
from bulletin_board.server.app import build_app
from bulletin_board.server.connection import BoundedConnection
from bulletin_board.server.lookups import LookupService
from bulletin_board.server.page import NoView, SessionView
from bulletin_board.server.public_files import OutgrownFiles
from bulletin_board.server.quotas import WritingLimits, usage_of
from bulletin_board.server.service import BoardService, ServerLimits
from bulletin_board.storage import Overtaken, StorageError
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.storage.files import EvidenceFolder, replace_file
from bulletin_board.storage.sqlite import SqliteIndexReader
from bulletin_board.witness.collecting import Collector
from bulletin_board.witness.opening import OpeningCheck, address_warnings
from wire.errors import GopaError, MalformedMessage, UsageError

_LOG: Final = logging.getLogger("gopa.board")

_WITNESS_SECONDS = 5.0
_OPENING_SECONDS = 5.0
_ADMITTING_SECONDS = 10.0
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
    access_log: bool = False,
) -> Starlette:
    """Open the log and start its threads; `stack` releases the directory at the end.

    Raises `StorageError` if the log cannot be opened, of which `Overtaken` means that the
    witnesses know a newer one, and `Unconfirmed` that too few of them answer, which
    `risk_fork` puts up with this once; `UsageError` if the policy is about another log, or names
    none of the witnesses that the log had: also for that `risk_fork` is needed once.

    `state.admit_anew()` of the application asks `admission` for another policy, which is shown
    the log before it counts.
    """
    if policy.log.key != signer.verifier:
        raise UsageError("the policy names another log than this board's key")
    for warning in address_warnings(policy):
        _LOG.warning("%s", warning)
    stack.enter_context(place.writing())
    _require_former_witnesses(place, policy, risk_fork=risk_fork)
    collector: Collector | None = None

    def committed(_: Sequencer) -> None:
        if collector is not None:
            collector.notify()

    public = DirectorySource(place.public)
    witnesses = _witnesses_first(policy, place)
    # The operator knows what the storage is now, and not what it is after a write that fails.
    risks = iter([risk_fork])
    starts = iter([True])

    def opened() -> Sequencer:
        if not next(starts, False):
            place.require_room()
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

    committer = Committer(opened, committed=committed, watch=_watching(place))
    _remember_policy(place, policy, risk_fork=risk_fork)
    usage = partial(usage_of, place.public)
    service = BoardService(
        committer,
        public,
        policy,
        limits or ServerLimits(writing=WritingLimits.of_disk(usage())),
        view or NoView(),
        disk=usage,
        exposed=place.exposed,
        access_log=access_log,
    )
    service.lookups = _lookups(service, place)
    if policy.witnesses:
        collector = service.collector = _collector(service, place)
        collector.start()
    app = build_app(service)
    app.state.admit_anew = partial(_admit_anew, committer, admission)
    return app


def _admit_anew(committer: Committer, admission: Callable[[], AdmissionPolicy]) -> None:
    """Strangers may fill the queue, and an operator has to be able to shut somebody out."""
    if not committer.call(lambda it: it.admit_anew(admission), _ADMITTING_SECONDS):
        raise StorageError("the log has too much to write for now: ask again")


def _require_former_witnesses(
    place: BoardDirectory, policy: TrustPolicy, *, risk_fork: bool
) -> None:
    """Return unless the log had witnesses and the policy has none of them.

    They alone would know that a copy of the directory is not the newest state of the log. A
    policy file that was forgotten with the copy would have it signed all the same.
    """
    former = _former_witnesses(place, policy)
    kept = {each.key.name for each in policy.witnesses.values()}
    if not former or (policy.needs_witnesses and not kept.isdisjoint(former)):
        return
    names = ", ".join(map(visible, former))
    if not risk_fork:
        raise UsageError(
            f"this log had witnesses ({names}), and no policy names one now: give their policy. If"
            " it is to go on without them, and you know that this is the newest state of the log,"
            " start it once with --risk-fork",
            "--policy",
        )
    _LOG.warning("this log had witnesses (%s), and goes on without them from now on", names)


def _former_witnesses(place: BoardDirectory, policy: TrustPolicy) -> tuple[str, ...]:
    """The names of those under whom the log was served last.

    Where no policy was kept, those who cosigned the published checkpoint: a copy may have
    that and no more. A witness that the policy names, and does not need, is none of them.
    """
    try:
        if place.policy_path.exists():
            known = TrustPolicy.parse(place.policy_path.read_bytes())
            named = known.witnesses.values() if known.needs_witnesses else ()
            return tuple(each.key.name for each in named)
        checkpoint = place.public / CHECKPOINT
        lines = SignedNote.parse(checkpoint.read_bytes()).signatures if checkpoint.exists() else ()
    except (OSError, MalformedMessage) as error:
        raise StorageError(f"the log's last policy cannot be read: {error}") from error
    own = {policy.log.key.name, *(each.key.name for each in policy.witnesses.values())}
    return tuple(line.name for line in lines if line.name not in own)


def _remember_policy(place: BoardDirectory, policy: TrustPolicy, *, risk_fork: bool) -> None:
    """Note under which policy the log is served; one that never had witnesses needs no note."""
    known = place.policy_path.read_bytes() if place.policy_path.exists() else None
    data = policy.to_bytes()
    if data == known or (known is None and not policy.needs_witnesses and not risk_fork):
        return
    try:
        replace_file(place.policy_path, data, private=True)
    except OSError as error:
        raise StorageError(f"{place.policy_path} cannot be written: {error.strerror}") from error


def _watching(place: BoardDirectory) -> Callable[[], None]:
    """A look that logs when others may use what is the board's alone, and when no more."""
    said = ""

    def look() -> None:
        nonlocal said
        found = place.exposed()
        if found != said:
            _LOG.warning("%s", found or "nobody else may use the files of the board any more")
        said = found

    return look


def _witnesses_first(policy: TrustPolicy, place: BoardDirectory) -> OpeningCheck:
    transport = HttpTransport(seconds=_CONFIRMING_SECONDS)
    evidence = EvidenceFolder(place.evidence, private=True)
    return OpeningCheck(policy, transport, evidence, _OPENING_SECONDS, _CONFIRMING_SECONDS)


def _lookups(service: BoardService, place: BoardDirectory) -> LookupService:
    committer = service.committer

    def size() -> int | None:
        sequencer = committer.sequencer
        return None if sequencer is None else sequencer.signed.size

    places = SqliteIndexReader.open(place.index_path)
    return LookupService(places, service.public, size, lambda: committer.waiting > 0)


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


_GRACE_SECONDS = 30
_KEEP_ALIVE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Where to listen, and the certificate for TLS; without one put a proxy in front.

    At most `connections` are open, fewer if the process may not open so many files, and at
    most `per_address` from one address. Those from this machine are not counted by address:
    behind a proxy on it, all come from there. What a `proxy` says in X-Forwarded-For is
    believed of requests that come from its address.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    certificate: Path | None = None
    certificate_key: Path | None = None
    connections: int = 1_024
    per_address: int = 256
    proxy: str | None = None


Listening = Callable[[list[str]], None]
Renew = Callable[[], None]
_TAKEN: Final = frozenset({errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM})
"""Why an address cannot be had that can be had later, as the one of a network that comes up."""


def bind(listen: ListenOptions) -> list[socket.socket]:
    """The sockets of a server, one for each address of the host; port 0 is any free one.

    Nobody can connect yet. Raises `UsageError` for an address that this process may never have,
    and `CannotListen` for one that it cannot have now.
    """
    try:
        found = socket.getaddrinfo(
            listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
        return [_bound(*item) for item in addresses[: None if listen.port else 1]]
    except OSError as error:
        said = f"{listen.host} port {listen.port} cannot be listened on: {error.strerror or error}"
        if error.errno in _TAKEN:
            raise CannotListen(said) from None
        raise UsageError(f"{said}. Choose another --host or --port") from None


def _bound(family: int, address: tuple[object, ...]) -> socket.socket:
    bound = socket.socket(family)
    try:
        if os.name != "nt":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


class BoardServer(uvicorn.Server):
    """The board under uvicorn, with bounds on connections; it reports when and where it listens.

    Once `asked` is set it calls `renew` and takes its certificate anew; what fails then is logged,
    and the server goes on with what it has.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        listen: ListenOptions,
        listening: Listening,
        asked: threading.Event,
        renew: Renew,
    ) -> None:
        super().__init__(config)
        self._listen = listen
        self._listening = listening
        self._asked = asked
        self._renew = renew
        self._acceptors: list[ConnectionAcceptor] = []
        self.connections = OpenConnections(most_connections(listen.connections), listen.per_address)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        found = bind(self._listen) if sockets is None else sockets
        self.lifespan.state["connections"] = self.connections  # of every request, for /metrics
        if os.name == "nt":  # its loop takes connections in its own way: they are not counted
            await super().startup(found)
        else:
            acceptors = [
                ConnectionAcceptor(each, self.connections, self._protocol, self.config.ssl)
                for each in found
            ]
            self._acceptors = acceptors
            await super().startup([])
            self.servers.extend(acceptors)  # type: ignore[arg-type]
            for acceptor in acceptors if self.started else ():
                acceptor.open()
        if self.started:
            scheme = "https" if self.config.is_ssl else "http"
            names = [bound.getsockname() for server in self.servers for bound in server.sockets]
            self._listening([f"{scheme}://{_shown(*name[:2])}" for name in names])

    async def on_tick(self, counter: int) -> bool:
        if self._asked.is_set():
            self._asked.clear()
            try:
                await asyncio.to_thread(self._read_anew)
            except (GopaError, OSError) as error:
                _LOG.error("nothing was read anew: %s", error)
        return await super().on_tick(counter)

    def _read_anew(self) -> None:
        """All of it or nothing: a new certificate counts for connections that come from now on."""
        listen, tls = self._listen, self.config.ssl
        if tls is not None and listen.certificate is not None:
            fresh = uvicorn.Config(
                self.config.app,
                ssl_certfile=listen.certificate,
                ssl_keyfile=listen.certificate_key,
                http=BoundedConnection,
                log_config=None,
            )
            fresh.load()
            tls = fresh.ssl
        self._renew()
        for acceptor in self._acceptors:
            acceptor.tls = tls

    def _protocol(self, opened: OpenConnection) -> BoundedConnection:
        return BoundedConnection(
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            opened=opened,
        )


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def make_server(
    app: ASGIApp,
    listen: ListenOptions,
    listening: Listening = lambda _: None,
    asked: threading.Event | None = None,
    renew: Renew = lambda: None,
) -> BoardServer:
    """A server with one worker: a log has one writer.

    SIGTERM and SIGINT stop it: no new connections, running requests are answered,
    what waits is committed, then it returns. `listening` is told the addresses as soon
    as connections are accepted there. Whenever `asked` is set it reads its certificate anew, and
    `renew` whatever else it depends on.
    """
    config = uvicorn.Config(
        app,
        host=listen.host,
        port=listen.port,
        ssl_certfile=listen.certificate,
        ssl_keyfile=listen.certificate_key,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        http=BoundedConnection,
        ws="none",
        access_log=False,
        proxy_headers=listen.proxy is not None,  # from others a header is what they want it to be
        forwarded_allow_ips=listen.proxy or "",
        server_header=False,
        log_level="warning",
    )
    return BoardServer(config, listen, listening, asked or threading.Event(), renew)
