"""Whole sessions: many parties in one event loop against a board in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from bench.measure import Numbers, Scale, require
from bulletin_board.client.state import MemoryState
from bulletin_board.note import KeyKind, NoteSigner
from bulletin_board.sequencer import first_checkpoint
from bulletin_board.storage.directory import BoardDirectory
from gopa.contract.terms import Terms
from gopa.planning import plan
from gopa.protocol.organiser import new_manifest
from gopa.protocol.party import LocalPolicy
from gopa.protocol.rules import check_log
from gopa.sessions.board_access import Together
from gopa.sessions.client import Client
from gopa.sessions.contribution import Contribution
from gopa.sessions.following import BoardLink, SelectiveLog
from gopa.sessions.organising import BoardLog, Deadlines, DurableOrganiser, OrganiserPace, Schedule
from gopa.sessions.organising import run as organise
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import MemoryVault, Vault
from wire.ed25519 import SigningKey
from wire.randomness import Rng, draw
from wire.secret import SecretBytes

PROBES = 4
"""Parties that follow the board by themselves, as in a process of their own."""

_SERVE = "from gopa.cli.board import board; board()"
_SECONDS = 600.0


def run(scale: Scale) -> Numbers:
    """200 parties; 2,000 with `full`."""
    parties = scale.of(10, 200, 2_000)
    made = plan(
        n=parties,
        epsilon=1,
        delta=1e-5,
        corrupt=0.05,
        dropout=1 / parties,
        charged=1,
        recovery=None,
        least_chance=0,
    )
    with tempfile.TemporaryDirectory() as folder, _board(Path(folder) / "board") as board:
        measured = asyncio.run(_measured(board, made.terms))
        usage = board.stop()
    return {
        "bench": "session",
        "unit": "wall seconds of one session on loopback; every proof checked by the organiser",
        "cores": os.cpu_count(),
        "parties": parties,
        "k": made.terms.k,
        "mode": "full",
        **measured,
        "server_cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "server_peak_mb": round(usage.ru_maxrss / 1024),
    }


@dataclass
class Board:
    """A server in a process of its own."""

    signer: NoteSigner
    url: str
    process: subprocess.Popen[bytes]

    def stop(self) -> resource.struct_rusage:
        """What it cost."""
        self.process.send_signal(signal.SIGTERM)
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        return usage


@contextmanager
def _board(root: Path) -> Iterator[Board]:
    signer = NoteSigner("board.example/session", KeyKind.LOG, SecretBytes(draw(os.urandom, 32)))
    BoardDirectory(root).create(signer, first_checkpoint(signer))
    command = [sys.executable, "-c", _SERVE, "serve", str(root), "--sessions", "--port=0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: S603 - our own server
    assert process.stdout is not None
    try:
        said = json.loads(process.stdout.readline())
        yield Board(signer, said["listening"], process)
    finally:
        if process.returncode is None:
            process.kill()
            process.wait(30)
        process.stdout.close()


class Probe:
    """A party that reads only what it needs, and counts it."""

    def __init__(self) -> None:
        self.links: list[BoardLink] = []

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SelectiveLog:
        """A log of its own for each party."""
        link = BoardLink(ticket.board, ticket.trust, vault.board, rng=rng)
        self.links.append(link)
        return SelectiveLog(link, ticket.session)

    async def close(self, log: object) -> None:
        """What was read is known by then."""
        if isinstance(log, SelectiveLog):
            await log.close()


async def _measured(board: Board, terms: Terms) -> Numbers:
    identities = [SigningKey.generate(os.urandom) for _ in range(terms.parties)]
    organiser = SigningKey.generate(os.urandom)
    log = board.signer.verifier
    manifest = new_manifest(
        terms,
        [each.public.data for each in identities],
        organiser=organiser.public.data,
        log=log,
        rng=os.urandom,
    )
    ticket = Ticket(board.url, log, manifest.session, manifest.policy)
    share = Fraction(terms.corrupt, terms.parties)
    policy = LocalPolicy(terms.promised_epsilon, terms.delta, corrupt_share=share)
    together, probe = Together(), Probe()
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        clients = [
            Client(
                identity, policy, connect=probe if place < PROBES else together, executor=executor
            )
            for place, identity in enumerate(identities)
        ]
        deadlines = Deadlines(join=_SECONDS, phase=_SECONDS)
        machine = DurableOrganiser(
            MemoryVault(),
            manifest,
            organiser,
            Schedule(deadlines),
            rng=os.urandom,
            executor=executor,
        )
        wall, cpu = time.perf_counter(), time.process_time()
        contributions = await _whole_session(machine, ticket, clients)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        link = together.logs[ticket.session]
        numbers: Numbers = {
            "wall_s": round(wall, 1),
            "parties_and_organiser_cpu_s": round(cpu, 1),
            "board_bytes_per_party": round(link.bytes_posted / (terms.parties - PROBES)),
            "bytes_read_per_party": round(sum(e.bytes_read for e in probe.links) / PROBES),
            "bytes_read_shared": link.bytes_read,
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }
        for client in clients:
            await client.close()
    _require_right(ticket, contributions)
    return numbers


async def _whole_session(
    machine: DurableOrganiser, ticket: Ticket, clients: Sequence[Client]
) -> list[Contribution]:
    link = BoardLink(ticket.board, ticket.trust, MemoryState(), rng=os.urandom)
    organiser = asyncio.create_task(
        organise(
            machine, BoardLog(link.client, ticket.session), pace=OrganiserPace(poll_seconds=0.2)
        )
    )
    try:
        values = [place % 2 for place in range(len(clients))]
        return list(
            await asyncio.gather(
                *(c.contribute(ticket, value) for c, value in zip(clients, values, strict=True))
            )
        )
    finally:
        await organiser
        await link.close()


def _require_right(ticket: Ticket, contributions: Sequence[Contribution]) -> None:
    """The log holds one round without any fault, in it everybody, and one result for all."""
    link = BoardLink(ticket.board, ticket.trust, MemoryState(), rng=os.urandom)
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        findings = check_log(
            link.client.reader().entries(),
            rng=os.urandom,
            session=ticket.session,
            executor=executor,
        )
    require(not findings.faults, "an honest party is at fault")
    only = findings.rounds[0]
    require(only.final == tuple(range(len(contributions))), "somebody is missing")
    require(all(each.included for each in contributions), "somebody thinks it is missing")
    require(len({each.mean for each in contributions}) == 1, "parties have different results")
