"""A session over a real board on loopback, which nobody has opened yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bulletin_board import Entry, Submission
from bulletin_board.client.board import Patience
from bulletin_board.client.http import Transport
from bulletin_board.client.state import ClientState, MemoryState
from bulletin_board.policy import TrustPolicy
from gopa.contract.manifest import Manifest
from gopa.contract.terms import Terms
from gopa.protocol.admission.policy import ProtocolAdmission
from gopa.protocol.organiser import SessionSetting, new_manifest
from gopa.protocol.rules import Findings, check_log
from gopa.protocol.simulation.setup import permissive
from gopa.sessions.client import Client
from gopa.sessions.following import BoardLink
from gopa.sessions.ticket import Ticket
from tests.board.live import live_board
from tests.board.tools import log_key, trust
from tests.randomness import seeded
from tests.sessions.following.worlds import stored
from wire.ed25519 import SigningKey
from wire.randomness import Rng

BRIEF = Patience(4, 0.01, 0.05)
Ahead = Callable[[bytes], list[bytes]]


@dataclass
class Scene:
    """The ticket of a session, the keys of its organiser and its roster, and its log.

    What is on `stack` ends with the scene.
    """

    root: Path
    stack: ExitStack
    ticket: Ticket
    manifest: Manifest
    organiser: SigningKey
    identities: list[SigningKey]
    terms: Terms
    policy: TrustPolicy | None

    def member(self, number: int, **options: Any) -> Client:
        """Party `number` of the roster, which accepts the session."""
        return Client(self.identities[number], permissive(self.terms), **options)

    def raws(self, transport: Transport | None = None) -> list[bytes]:
        """The log as it is served now, whoever has cosigned it."""
        way = BoardLink(
            self.ticket.board, trust(), MemoryState(), rng=os.urandom, transport=transport
        )
        return list(way.client.reader().entries())

    def entries(self, transport: Transport | None = None) -> list[Entry]:
        """The same, decoded."""
        return [Submission.decode(raw).entry for raw in self.raws(transport)]

    def findings(self, transport: Transport | None = None) -> Findings:
        """What every rule says about it."""
        return check_log(self.raws(transport), rng=seeded(1), session=self.ticket.session)


_S = TypeVar("_S", bound=Scene)


@contextmanager
def staged(
    kind: type[_S],
    root: Path,
    terms: Terms,
    *,
    setting: SessionSetting | None = None,
    policy: TrustPolicy | None = None,
    ahead: Ahead | None = None,
    first: SigningKey | None = None,
) -> Iterator[_S]:
    """A board that serves, and a session.

    `ahead` makes entries that its log begins with; `first` is the key of party 0, who is
    the first on the roster anyway if there is none.
    """
    organiser = SigningKey.generate(os.urandom)
    made = [SigningKey.generate(os.urandom) for _ in range(terms.parties - (first is not None))]
    identities = sorted(made, key=lambda each: each.public.data)
    if first is not None:
        identities.insert(0, first)
    manifest = new_manifest(
        terms,
        [each.public.data for each in identities],
        organiser=organiser.public.data,
        log=log_key(),
        rng=os.urandom,
        setting=setting,
        policy=policy,
    )
    if ahead is not None:
        stored(root / "board", ahead(manifest.session))
    with ExitStack() as stack:
        url = stack.enter_context(
            live_board(root / "board", policy=policy, admission=ProtocolAdmission)
        )
        yield kind(
            root=root,
            stack=stack,
            ticket=Ticket(url, log_key(), manifest.session, manifest.policy),
            manifest=manifest,
            organiser=organiser,
            identities=identities,
            terms=terms,
            policy=policy,
        )


def link(
    ticket: Ticket, state: ClientState, transport: Transport | None = None, rng: Rng = os.urandom
) -> BoardLink:
    """A way to the board of the ticket, of little patience."""
    return BoardLink(
        ticket.board, ticket.trust, state, rng=rng, transport=transport, patience=BRIEF
    )
