"""A party that keeps to the protocol but for its masked value: it publishes another one."""

from __future__ import annotations

import asyncio
import os
import sys
from decimal import Decimal
from pathlib import Path

from bulletin_board import Submission
from gopa.messages.framing import Place, sign_message
from gopa.messages.party import PUBLISH
from gopa.messages.phases import KIND_IN, Phase
from gopa.party import LocalPolicy
from gopa.sessions.client import Client
from gopa.sessions.entrance import Alone
from gopa.sessions.following import Link, SelectiveLog
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import Vault, identity
from gopa.simulation.faults import WrongMask
from wire.ed25519 import SigningKey
from wire.errors import GopaError
from wire.randomness import Rng


class LyingLog(SelectiveLog):
    """Exchanges what the party publishes on its way to the board."""

    def __init__(self, link: Link, session: bytes, key: SigningKey) -> None:
        super().__init__(link, session)
        self._key = key

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        await super().submit(tuple(map(self._exchanged, entries)))

    def _exchanged(self, raw: bytes) -> bytes:
        entry = Submission.decode(raw).entry
        if entry.phase != Phase.PUBLISH:
            return raw
        body = PUBLISH.encode(WrongMask().change(PUBLISH.decode(entry.body)))
        kind = KIND_IN[Phase.PUBLISH]
        place = Place(
            entry.session, Phase.PUBLISH, kind, entry.round, entry.seq, entry.prev_own_leaf
        )
        return sign_message(body, place, self._key).entries[0]


class Lying(Alone):
    """Reaches the board through a log that lies."""

    def __init__(self, key: SigningKey) -> None:
        self._key = key

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SelectiveLog:
        return LyingLog(
            Link(ticket.board, ticket.trust, vault.board, rng=rng), ticket.session, self._key
        )


async def cheat(ticket: Path, key: SigningKey, home: Path) -> None:
    policy = LocalPolicy(Decimal(100), Decimal("0.1"))
    async with Client(key, policy, home=home, connect=Lying(key), rng=os.urandom) as client:
        await client.contribute(ticket, 0.5)


def main() -> None:
    """TICKET IDENTITY HOME: ends when the round is over, or when the party notices itself."""
    ticket, own, home = map(Path, sys.argv[1:])
    try:
        asyncio.run(cheat(ticket, identity.load(own), home))
    except GopaError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
