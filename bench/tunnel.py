"""Rounds over a tunnel: what a party computes, and what it and its host send each other."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

import gopa
from bench.measure import Numbers, Scale, cpu_time, ms, require
from bench.randomness import seeded
from bulletin_board import KeyKind, NoteSigner, Submission
from gopa.contract.bodies import BODIES
from gopa.contract.manifest import Mode
from gopa.contract.phases import Kind, Phase
from gopa.planning import Plan, plan
from gopa.protocol.organiser import SessionSetting, new_manifest
from gopa.protocol.rules import check_log
from gopa.protocol.simulation.setup import permissive
from gopa.sessions import Ticket
from gopa.sessions.organising import Deadlines, DurableOrganiser, OrganiserPace, Schedule
from gopa.sessions.tunnel import (
    LocalBoard,
    MemoryGuard,
    SealingKey,
    TunnelInput,
    TunnelParty,
    hold,
)
from gopa.sessions.vault import MemoryVault
from wire.ed25519 import SigningKey
from wire.secret import SecretBytes

SIZES = 5, 20
Sent: TypeAlias = Literal["signed", "full"]
MODES: dict[Sent, Mode] = {"signed": Mode.SIGNED, "full": Mode.FULL}
RECOVERY: dict[str, str | None] = {"": None, "_recovery": "auto"}
HEAVY = 1_000
"""The dimension of the rounds with vectors, which n = 5 parties hold in mode `signed`."""


@dataclass
class Cost:
    """What one party computed, was told and said, in a session of one round."""

    seconds: list[float] = field(default_factory=list)
    down: list[int] = field(default_factory=list)
    up: list[int] = field(default_factory=list)


def run(scale: Scale) -> Numbers:
    """Numbers with n = 5 and 20, vectors with n = 5; `full` also has vectors with proofs."""
    found: Numbers = {
        "bench": "tunnel",
        "unit": "a party and a round: processor milliseconds of its calls, checks of signatures "
        "and proofs among them; calls; bytes of their requests (down) and replies (up) without its "
        "masked vector. The call that shows the manifest comes before all rounds (start). In mode "
        "off nothing is sent: the numbers are those of the whole sum, for each party",
        "sessions": "one round on a log of this process, nobody leaves; mean of the parties",
    }
    sizes, width = scale.of((5,), SIZES, SIZES), scale.of(10, HEAVY, HEAVY)
    for parties in sizes:
        found |= off(parties)
    for mode in MODES:
        for parties in sizes:
            for name, recovery in RECOVERY.items():
                made = planned(mode, parties, recovery)
                found |= measured(f"{mode}{parties}{name}", mode, made)
    heavy: tuple[Sent, ...] = scale.of(("signed", "full"), ("signed",), ("signed", "full"))
    for mode in heavy:
        found |= measured(f"{mode}5_d{width}", mode, planned(mode, 5, None, width))
    return found


def off(parties: int) -> Numbers:
    """The same sum without keys, messages and proofs."""
    made = planned("signed", parties, None)
    values = [number % 2 for number in range(parties)]
    timed = cpu_time(lambda: gopa.sum(values, made, mode="off", seed=1), repeat=3)
    require(timed.result.included == tuple(range(parties)), "somebody is missing")
    return {f"off{parties}_party_ms": ms(timed.seconds / parties), f"off{parties}_calls": 0}


def planned(mode: Sent, parties: int, recovery: str | None, width: int = 1) -> Plan:
    """A plan in which one party colludes; with the recovery that plans have, or without any."""
    return plan(
        n=parties,
        epsilon=10,
        delta=1e-5,
        corrupt=1,
        dropout=0.01,
        dimension=width,
        mode=mode,
        least_chance=0,
        recovery=recovery,
    )


def measured(name: str, mode: Sent, made: Plan) -> Numbers:
    """One session; its result is right, or there are no numbers."""
    terms = made.terms
    log = NoteSigner("board.example/log", KeyKind.LOG, SecretBytes(os.urandom(32)))
    organiser, *people = [SigningKey.generate(os.urandom) for _ in range(terms.parties + 1)]
    keys = sorted(each.public.data for each in people)
    identities = {each.public.data: each for each in people}
    manifest = new_manifest(
        terms,
        keys,
        organiser=organiser.public.data,
        log=log.verifier,
        rng=os.urandom,
        setting=SessionSetting(mode=MODES[mode]),
    )
    ticket = Ticket("https://board.example", log.verifier, manifest.session)
    guard, secret = MemoryGuard(), SealingKey(SecretBytes(os.urandom(32)))
    states, costs = dict.fromkeys(keys, b""), defaultdict[bytes, Cost](Cost)
    values = {key: number % 2 for number, key in enumerate(keys)}

    def given(key: bytes, _: int) -> TunnelInput:
        width = terms.dimension
        return TunnelInput(values[key] if width == 1 else [values[key]] * width)

    def send(requests: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        replies: dict[bytes, bytes] = {}
        for key, request in requests.items():
            cost, begun = costs[key], time.process_time()
            party = TunnelParty(
                ticket, identities[key], permissive(terms), secret=secret, guard=guard
            )
            states[key], replies[key] = party.answer(states[key], request, partial(given, key))
            cost.seconds.append(time.process_time() - begun)
            cost.down.append(len(request))
            cost.up.append(len(replies[key]))
        return replies

    board = LocalBoard(log)
    opener = DurableOrganiser(
        MemoryVault(),
        manifest,
        organiser,
        Schedule(Deadlines(join=600, phase=600)),
        rng=os.urandom,
    )
    asyncio.run(hold(opener, board, keys, send, pace=OrganiserPace(poll_seconds=0.001)))
    raws = list(board.reader().entries())
    findings = check_log(raws, rng=seeded(1), session=manifest.session)
    require(not findings.faults, "an honest party is at fault")
    require(findings.rounds[0].final == tuple(range(len(keys))), "somebody is missing")
    sums = findings.rounds[0].sums
    require(sums is not None and len(sums) == terms.dimension, "there is no sum")
    masked = [_masked(raws, key, terms.dimension) for key in keys]
    everybody = [costs[key] for key in keys]

    def mean(what: Callable[[Cost], float]) -> float:
        return statistics.fmean(map(what, everybody))

    return {
        f"{name}_party_ms": ms(mean(lambda cost: sum(cost.seconds[1:]))),
        f"{name}_calls": max(len(each.down) for each in everybody) - 1,
        f"{name}_down_bytes": round(mean(lambda cost: sum(cost.down[1:]))),
        f"{name}_up_bytes": round(mean(lambda cost: sum(cost.up[1:])) - statistics.fmean(masked)),
        f"{name}_start_bytes": round(mean(lambda cost: cost.down[0] + cost.up[0])),
        f"{name}_parameters": f"k={terms.k}, d={terms.dimension}, "
        f"recovery {terms.threshold_numerator}/{terms.threshold_denominator}",
    }


def _masked(raws: list[bytes], key: bytes, width: int) -> int:
    """Bytes of the masked vector of a party, one or several entries."""
    entries = [Submission.decode(raw).entry for raw in raws]
    own = [e for e in entries if (e.author.data, e.phase) == (key, Phase.PUBLISH)]
    require(bool(own), "somebody published nothing")
    ordered = sorted(own, key=lambda each: each.chunk)
    value = BODIES[Kind.PUBLISH].decode(b"".join(each.body for each in ordered)).value
    require(len(value) >= width, "a masked vector is too short")
    return len(value)
