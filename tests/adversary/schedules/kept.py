"""A party with a memory that can be restarted at any time, and stumble in any step."""

from __future__ import annotations

from gopa.contract.manifest import Manifest
from gopa.protocol.party import Event, LocalPolicy, Output, Party, PartyState, Post
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.parties.durable import DurableParty
from gopa.sessions.vault.interface import MemoryVault
from wire.ed25519 import SigningKey
from wire.randomness import Rng


class KeptParty(Party):
    """Steps as the machine does, from a journal that a restart reads again.

    `stumbles` lets the next step be made, lost in a crash, and made again.
    """

    __slots__ = ("_durable", "_parts", "_vault", "stumbles")

    def __init__(
        self,
        manifest: Manifest,
        key: SigningKey,
        policy: LocalPolicy,
        *,
        rng: Rng,
        toolkit: Toolkit,
        session: bytes,
    ) -> None:
        super().__init__(manifest, key, policy, rng=rng, toolkit=toolkit, session=session)
        self._parts = manifest, key, policy, rng, toolkit, session
        self._vault = MemoryVault()
        self._durable = self._opened()
        self.stumbles = False

    @property
    def state(self) -> PartyState:
        return self._durable.state

    def step(self, state: PartyState, event: Event) -> tuple[PartyState, tuple[Output, ...]]:
        """The state that it is told is the one that it has."""
        del state
        lost: list[Post] | None = None
        if self.stumbles:
            self.stumbles = False
            lost = _posts(self._durable.attempt(event).outputs)
            self.restart()
        outputs = self._durable.step(event)
        assert lost is None or lost == _posts(outputs), (
            "a step that was repeated says another thing"
        )
        return self._durable.state, outputs

    def restart(self) -> tuple[Post, ...]:
        """What it says again: the bytes that it said, or nothing."""
        before = self._durable.state
        self._vault = self._vault.copy()
        self._durable = self._opened()
        assert self._durable.state.sent == before.sent
        assert self._durable.state.chain == before.chain
        return self._durable.remembered

    def _opened(self) -> DurableParty:
        manifest, key, policy, rng, toolkit, session = self._parts
        return DurableParty(
            self._vault, manifest, key, policy, rng=rng, toolkit=toolkit, session=session
        )


def _posts(outputs: tuple[Output, ...]) -> list[Post]:
    return [each for each in outputs if isinstance(each, Post)]
