"""Parties that are not quite what `gopa join` is: one that lies, one that waits to be let through.

python -m tests.sessions.processes.stranger lies|waits TICKET IDENTITY HOME
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Final

from bulletin_board import Submission
from gopa.adversary.deeds.kinds import flipped
from gopa.contract.framing import MessageSlot, sign_message
from gopa.contract.party import PUBLISH
from gopa.contract.phases import KIND_IN, Phase
from gopa.protocol.party import LocalPolicy
from gopa.sessions.board_access import Alone
from gopa.sessions.client import Client
from gopa.sessions.contribution import RoundStatus
from gopa.sessions.following import BoardLink, SelectiveLog
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import Vault, identity
from wire.ed25519 import SigningKey
from wire.errors import GopaError
from wire.randomness import Rng

VALUE: Final = 0.5
GATED: Final = (Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.PUBLISH, Phase.UNMASK)
"""Phases that every round has and that a party says it is in."""

_PAUSE: Final = 0.1


def gate(home: Path, phase: Phase) -> Path:
    """The file that lets a party that waits say what it has to say in this phase."""
    return home / f"may-{phase.name.lower()}"


class LyingLog(SelectiveLog):
    """Keeps to the protocol but for the masked value: publishes another one."""

    def __init__(self, link: BoardLink, session: bytes, key: SigningKey) -> None:
        super().__init__(link, session)
        self._key = key

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        await super().submit(tuple(map(self._exchanged, entries)))

    def _exchanged(self, raw: bytes) -> bytes:
        entry = Submission.decode(raw).entry
        if entry.phase != Phase.PUBLISH:
            return raw
        content = PUBLISH.decode(entry.body)
        body = PUBLISH.encode(replace(content, value=flipped(content.value)))
        kind = KIND_IN[Phase.PUBLISH]
        place = MessageSlot(
            entry.session, Phase.PUBLISH, kind, entry.round, entry.seq, entry.prev_own_leaf
        )
        return sign_message(body, place, self._key).entries[0]


class GatedLog(SelectiveLog):
    """Holds what the party says in a gated phase until there is a file: the phase stays open."""

    def __init__(self, link: BoardLink, session: bytes, home: Path) -> None:
        super().__init__(link, session)
        self._home = home

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        phase = Phase(Submission.decode(entries[0]).entry.phase)
        while phase in GATED and not gate(self._home, phase).exists():  # noqa: ASYNC110 - a file
            await asyncio.sleep(_PAUSE)
        await super().submit(entries)


class Strange(Alone):
    """Reaches the board through a log of another kind."""

    def __init__(self, kind: str, key: SigningKey, home: Path) -> None:
        self._kind, self._key, self._home = kind, key, home

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SelectiveLog:
        link = BoardLink(ticket.board, ticket.trust, vault.board, rng=rng)
        if self._kind == "lies":
            return LyingLog(link, ticket.session, self._key)
        return GatedLog(link, ticket.session, self._home)


def say(event: str, **facts: object) -> None:
    sys.stdout.write(json.dumps({"event": event} | facts) + "\n")
    sys.stdout.flush()


def _tell(news: RoundStatus) -> None:
    if news.opens is not None:
        say("phase", phase=news.opens.name.lower())


async def take_part(kind: str, ticket: Path, key: SigningKey, home: Path) -> None:
    policy = LocalPolicy(Decimal(100), Decimal("0.1"))
    connect = Strange(kind, key, home)
    async with Client(key, policy, home=home / "sessions", connect=connect, rng=os.urandom) as one:
        found = await one.contribute(ticket, VALUE, watch=_tell)
        say("result", sum=float(found.sum), parties=found.count, included=found.included)


def main() -> None:
    """Ends when the round is over, or when a liar notices itself."""
    kind, ticket, own, home = sys.argv[1], *map(Path, sys.argv[2:])
    try:
        asyncio.run(take_part(kind, ticket, identity.load(own), home))
    except GopaError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
