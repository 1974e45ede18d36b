"""Sessions whose parties are functions of bytes, on a log in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from bulletin_board import LogReader, SignedCheckpoint, Submission, TrustPolicy
from bulletin_board.entry import Slot
from bulletin_board.note import open_checkpoint
from gopa.contract.manifest import MANIFEST, Manifest
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting, new_manifest
from gopa.protocol.party import LocalPolicy
from gopa.protocol.rules import Findings, check_log
from gopa.protocol.simulation import SimulatedWitnesses
from gopa.protocol.simulation.setup import permissive
from gopa.sessions.following import Horizon, entries_of_session
from gopa.sessions.organising import (
    Act,
    Deadlines,
    DurableOrganiser,
    Over,
    Schedule,
    Send,
    WaitUntil,
)
from gopa.sessions.ticket import Ticket
from gopa.sessions.tunnel import (
    Guard,
    LocalBoard,
    MemoryGuard,
    SealingKey,
    Supply,
    TunnelHost,
    TunnelInput,
    TunnelParty,
)
from gopa.sessions.tunnel.packing import unpack
from gopa.sessions.vault import MemoryVault
from tests.board.tools import log_key, signer
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.secret import SecretBytes

SECRET = SealingKey(SecretBytes(bytes(range(32))))


@dataclass
class Caller:
    """Calls one party, a new object each time, and keeps its bytes.

    With dictionaries it unpacks requests on their way, as any transport may: then all it keeps
    are plain messages.
    """

    party: Callable[[], TunnelParty]
    supply: Supply | None = None
    dictionaries: tuple[bytes, ...] = ()
    state: bytes = b""
    seen: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)
    silent: bool = False

    def __call__(self, request: bytes) -> bytes:
        before = self.state
        if self.dictionaries:
            request = unpack(request, self.dictionaries)
        self.state, reply = self.party().answer(before, request, self.supply)
        self.seen.append((before, request, reply))
        return reply


class WitnessedBoard(LocalBoard):
    """A board that shows what witnesses have cosigned, at the time that it is in its world."""

    def __init__(self, world: Tunnelled) -> None:
        super().__init__(signer())
        self._world = world

    def update(self) -> SignedCheckpoint:
        return self._cosigned(super().update())

    def reader(self) -> LogReader:
        reader = super().reader()
        reader.signed = self._cosigned(reader.signed)
        return reader

    def _cosigned(self, signed: SignedCheckpoint) -> SignedCheckpoint:
        assert self._world.witnesses is not None
        now = replace(self._world.witnesses, time=int(self._world.now))
        return open_checkpoint(now.cosigned(signed.to_bytes()), log_key())


@dataclass
class Tunnelled:
    """A session on a log of this process, and callers for its parties."""

    terms: Terms
    setting: SessionSetting | None = None
    guard: Guard = field(default_factory=MemoryGuard)
    policy: bytes = b""
    max_weight: float | None = None
    packed: bool = False
    sums: bool = True
    witnesses: SimulatedWitnesses | None = None
    now: float = 1_800_000_000.0
    read: int = 0

    def __post_init__(self) -> None:
        rng = seeded("tunnel")
        self.organiser = SigningKey.generate(rng)
        made = [SigningKey.generate(rng) for _ in range(self.terms.parties)]
        self.identities = sorted(made, key=lambda each: each.public.data)
        self.manifest: Manifest = new_manifest(
            self.terms,
            [each.public.data for each in self.identities],
            organiser=self.organiser.public.data,
            log=log_key(),
            rng=rng,
            setting=self.setting,
            policy=TrustPolicy.parse(self.policy) if self.policy else None,
        )
        self.board = LocalBoard(signer()) if self.witnesses is None else WitnessedBoard(self)
        self.ticket = Ticket(
            "https://board.example", log_key(), self.manifest.session, self.manifest.policy
        )
        self.callers = {
            each.public.data: Caller(
                self.maker(number),
                value_of(number, self.terms.dimension),
                () if self.packed else self.dictionaries,
            )
            for number, each in enumerate(self.identities)
        }
        self.host = TunnelHost(self.board, self.manifest.session, sums=self.sums)
        self.durable = DurableOrganiser(
            MemoryVault(),
            self.manifest,
            self.organiser,
            Schedule(Deadlines(join=30, phase=30)),
            rng=seeded("organiser"),
            clock=lambda: self.now,
        )

    @property
    def dictionaries(self) -> tuple[bytes, ...]:
        """What requests and replies are packed with."""
        session = self.manifest.session
        return MANIFEST.encode(self.manifest) + session, session

    def raws(self) -> list[bytes]:
        """The log."""
        return list(self.board.reader().entries())

    def maker(
        self,
        number: int,
        guard: Guard | None = None,
        secret: SealingKey = SECRET,
        policy: LocalPolicy | None = None,
        clock: Callable[[], float] | None = None,
    ) -> Callable[[], TunnelParty]:
        """Makes the party with this number anew."""

        def make() -> TunnelParty:
            return TunnelParty(
                self.ticket,
                self.identities[number],
                policy or permissive(self.terms),
                secret=secret,
                guard=guard or self.guard,
                max_weight=self.max_weight,
                sums=self.sums,
                rng=seeded(f"party {number}"),
                clock=clock or (lambda: self.now),
            )

        return make

    def caller(self, number: int) -> Caller:
        """The one that calls this party."""
        return self.callers[self.identities[number].public.data]

    def send(self, requests: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Call the parties that are not silent."""
        return {
            party: self.callers[party](request)
            for party, request in requests.items()
            if not self.callers[party].silent
        }

    def turn(self) -> bool:
        """Tell everybody what is new, post what they say."""
        return self.host.turn(tuple(self.callers), self.send)

    def act(self) -> Act:
        """Have the organiser read the log and do what is due."""
        reader = self.board.reader()
        raws = reader.entries(self.read)
        self.durable.take(entries_of_session(raws, self.manifest.session, self.read))
        self.read = reader.size
        horizon = Horizon(reader.size, reader.signed.root)
        self.durable.reached(horizon, reader.signed.to_bytes())
        act = self.durable.act()
        if isinstance(act, Send):
            for raw in act.entries:
                self.board.submit(raw)
        elif isinstance(act, WaitUntil) and act.until is not None:
            self.now = max(self.now, act.until)
        return act

    def next_request(self, number: int) -> bytes:
        """What the host shows a party once the organiser has spoken again."""
        while True:
            self.act()
            self.host.refresh()
            request = self.host.request(self.identities[number].public.data)
            if request is not None:
                return request

    def run(self, until: Callable[[], bool] = lambda: False) -> Self:
        """Hold the session, in lockstep, to its end or until something is the case."""
        while not until():
            over = isinstance(self.act(), Over)
            if not self.turn() and over:
                return self
        return self

    def findings(self) -> Findings:
        """What every rule says about the log."""
        return check_log(self.raws(), rng=seeded(1), session=self.manifest.session)


def value_of(number: int, width: int) -> Supply:
    """Gives party `number` a value that stands on the grid."""
    value = (number % 20) / 20
    return lambda _: TunnelInput(value if width == 1 else [value] * width)


def slots(raws: Sequence[bytes]) -> dict[Slot, set[bytes]]:
    """All bytes that were said for each slot."""
    found: dict[Slot, set[bytes]] = {}
    for raw in raws:
        found.setdefault(Submission.decode(raw).entry.slot, set()).add(raw)
    return found
