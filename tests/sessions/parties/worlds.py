"""Parties of a simulation that keep vaults, crash, and start again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from bulletin_board import Submission
from bulletin_board.entry import Slot
from bulletin_board.tree import leaf_hash
from gopa.contract.framing import Posted
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import (
    Event,
    Fetched,
    Finished,
    Output,
    Party,
    PartyState,
    Post,
    Witnessed,
    with_root,
)
from gopa.protocol.party.states import Done, Stopped
from gopa.protocol.simulation import Script, Simulation, SimulationOptions
from gopa.protocol.simulation.party import SimulatedParty
from gopa.protocol.simulation.setup import permissive
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.parties.durable import DurableParty
from gopa.sessions.vault import MemoryVault, Vault
from tests.board.faults import Killed
from tests.protocol.simulation.worlds import FULL, SCALAR
from tests.randomness import seeded
from tests.rounds.doubles import ProofDoubles
from wire.randomness import Rng

DOUBLES = Toolkit(proofs=ProofDoubles())


def secrets_of(name: str) -> Callable[[Vault], Rng]:
    """Round secrets that depend on the generation: so a crash does not change the log."""

    def of(vault: Vault) -> Rng:
        def draw(count: int) -> bytes:
            memory = vault.memory() or b""
            return hashlib.shake_256(name.encode() + memory).digest(count)

        return draw

    return of


class DyingVault(MemoryVault):
    """Dies before or after it has stored record number `at`, counted over all generations."""

    def __init__(self) -> None:
        super().__init__()
        self.at = -1
        self.after = False
        self.stored = 0
        self.copies: list[MemoryVault] = []
        self.copying = False

    def append(self, *parts: bytes, leaves: bool = True) -> None:
        self._stored(lambda: super(DyingVault, self).append(*parts, leaves=leaves))

    def begin(self, memory: bytes) -> None:
        self._stored(lambda: super(DyingVault, self).begin(memory))

    def _stored(self, store: Callable[[], None]) -> None:
        dies, self.stored = self.stored == self.at, self.stored + 1
        if dies and not self.after:
            raise Killed
        store()
        if self.copying:
            self.copies.append(self.copy())
        if dies:
            raise Killed


@dataclass
class Restarting:
    """Stands where a simulation has a `Party`: a durable one that is made anew when it dies."""

    make: Callable[[], DurableParty]
    revive: Callable[[], None] = lambda: None
    sent: list[bytes] = field(default_factory=list)
    deaths: int = 0
    durable: DurableParty = field(init=False)
    rounds: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.durable = self._made()

    def step(self, state: PartyState, event: Event) -> tuple[PartyState, tuple[Output, ...]]:
        """What a client sends and asks for; behind a crash, what the vault remembers."""
        del state
        outputs = self._stepped(event)
        for output in outputs:
            if isinstance(output, Post):
                self.sent += output.entries
        return self.durable.state, outputs

    def _stepped(self, event: Event) -> tuple[Output, ...]:
        before = self.durable
        try:
            outputs = before.step(event)
        except Killed:
            self.deaths += 1
            self.revive()
            told = len(before.state.landed), before.state.chain, before.state.seen_size
            self.durable = self._made()
            now = self.durable.state
            if not _moved(before, self.durable, told):
                return self._stepped(event)
            if isinstance(now.stage, Done | Stopped) or before.last != self.durable.last:
                last = self.durable.last
                outputs = () if last is None else (last,)
            else:
                wanted = self.durable.wanted
                outputs = (*self.durable.remembered, *(() if wanted is None else (wanted,)))
        return tuple(each for each in outputs if self._is_new(each))

    def _is_new(self, output: Output) -> bool:
        if isinstance(output, Finished):
            if output.round in self.rounds:
                return False
            self.rounds.append(output.round)
        return True

    def _made(self) -> DurableParty:
        while True:
            try:
                return self.make()
            except Killed:
                self.deaths += 1
                self.revive()


def _moved(before: DurableParty, now: DurableParty, told: tuple[object, ...]) -> bool:
    """Whether the step that was cut short had been stored."""
    state = now.state
    changed = (len(state.landed), state.chain, state.seen_size) != told
    same = type(before.state.stage) is type(state.stage)
    inputs = len(before.state.inputs) == len(state.inputs)
    posts = len(before.remembered) == len(now.remembered)
    return changed or not (same and inputs and posts)


def durable(
    actor: SimulatedParty, vault: Vault, name: str = "secrets", toolkit: Toolkit | None = DOUBLES
) -> DurableParty:
    """The party of an actor, with a vault."""
    access = actor.access
    return DurableParty(
        vault,
        access.manifest,
        access.key,
        permissive(access.manifest.terms),
        rng=secrets_of(name)(vault),
        toolkit=toolkit,
        session=access.session,
    )


def replace_party(actor: SimulatedParty, restarting: Restarting) -> None:
    """Let a durable party act instead of the actor's own; it hears of the manifest first."""
    actor.party = cast("Party", restarting)
    for posted in actor.access.board.entries:
        event = with_root(restarting.durable.state.chain, posted, actor.access.board.root_at)
        restarting.step(restarting.durable.state, event)
    actor.access.state = restarting.durable.state


def world(
    terms: Terms = SCALAR,
    setting: SessionSetting = FULL,
    script: Script | None = None,
    *,
    watch: Callable[[SimulatedParty], None] | None = None,
    toolkit: Toolkit = DOUBLES,
    seed: int | str = 1,
) -> Simulation:
    """A session whose manifest is posted; nobody has a vault yet."""
    options = SimulationOptions(toolkit=toolkit, remember_noise=True, watch=watch)
    return Simulation(terms, rng=seeded(seed), setting=setting, script=script, options=options)


def by_slot(raws: Iterable[bytes]) -> dict[Slot, set[bytes]]:
    """All bytes that were ever sent for each slot."""
    slots: dict[Slot, set[bytes]] = {}
    for raw in raws:
        slots.setdefault(Submission.decode(raw).entry.slot, set()).add(raw)
    return slots


def require_one_voice(raws: Sequence[bytes]) -> None:
    """No slot ever got two different entries."""
    assert raws
    assert all(len(found) == 1 for found in by_slot(raws).values())


def catch_up(party: DurableParty, actor: SimulatedParty) -> list[Output]:
    """What a client does at its start: all it has missed, in the order of the log (12-W4).

    Returns everything that the steps gave; only `party.remembered` would be sent.
    """
    board, access = actor.access.board, actor.access
    mine = {access.manifest.organiser, actor.author}
    outputs: list[Output] = []
    start = party.state.chain.last + 1
    missed = [posted for posted in board.entries[start:] if posted.entry.author.data in mine]
    events: list[Event] = [Witnessed(board.size, board.root), *missed]
    for event in events:
        if isinstance(event, Posted):
            outputs += party.step(with_root(party.state.chain, event, board.root_at))
        else:
            outputs += party.step(event)
        while (wanted := party.wanted) is not None:
            outputs += party.step(Fetched(wanted.phase, board.fetch(wanted, access.session)))
    return outputs


def in_log(actor: SimulatedParty) -> dict[Slot, Posted]:
    """The first entry of the party in each of its slots."""
    found: dict[Slot, Posted] = {}
    for posted in actor.access.board.entries:
        if posted.entry.author.data == actor.author:
            found.setdefault(posted.entry.slot, posted)
    return found


def contradictions(party: DurableParty, actor: SimulatedParty) -> list[Slot]:
    """Slots of the log in which the party would now say something else."""
    known = in_log(actor)
    said = [raw for post in party.remembered for raw in post.entries]
    pairs = [(Submission.decode(raw).entry.slot, leaf_hash(raw)) for raw in said]
    return [slot for slot, leaf in pairs if slot in known and known[slot].leaf != leaf]
