"""A party that survives its process. `specs/12-sessions.md`, sections 1 and 2.

A step that is repeated after a crash says the same words.
"""

from __future__ import annotations

from gopa.contract.manifest import Manifest
from gopa.protocol.party import Finished, LocalPolicy, PartyState
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.parties.journal import RECORD, posts_parts
from gopa.sessions.parties.memory import MEMORY, PartyMemory
from gopa.sessions.parties.stepped import Step, SteppedParty
from gopa.sessions.vault.interface import StateDiverged, Vault
from wire.ed25519 import SigningKey
from wire.errors import MalformedMessage, UsageError
from wire.randomness import Rng


class DurableParty(SteppedParty):
    """A `Party` with a vault: what a step returns is on disk, and a restart repeats it.

    Event and posts are stored as one record (12-H3). When a round is over, halted or left, memory
    and journal are replaced (12-H5). After an error of the vault make a new one with the vault
    opened again.

    Raises:
        Refusal: the manifest does not satisfy the policy. Nothing was said.
        StateDiverged: the journal, told again, says other bytes than it did (12-R3).
        UsageError: the vault is that of another key or session.
    """

    __slots__ = ("_vault",)

    def __init__(  # noqa: PLR0913 - what a party is made of
        self,
        vault: Vault,
        manifest: Manifest,
        key: SigningKey,
        policy: LocalPolicy,
        *,
        rng: Rng,
        toolkit: Toolkit | None = None,
        session: bytes | None = None,
    ) -> None:
        """`session` spares hashing the manifest again where the caller has done so."""
        super().__init__(manifest, key, policy, rng=rng, toolkit=toolkit, session=session)
        self._vault = vault
        memory = vault.memory()
        if memory is None:
            self._begin(self._party.start(), frozenset(), None)
        else:
            self._restore(memory)
            self._replay(vault.journal())

    def _store(self, step: Step) -> None:
        if self._ends(step):
            ended = [each for each in step.outputs if isinstance(each, Finished)]
            self._begin(step.state, step.spoken, ended[-1] if ended else self._last)
        else:
            parts = (*step.parts, *posts_parts(step.posts))
            self._vault.append(*parts, leaves=bool(step.posts))
            self._take(step)

    def _begin(self, state: PartyState, spoken: frozenset[int], last: Finished | None) -> None:
        """Begin a new generation with a new secret, and go on from what its memory says."""
        data = MEMORY.encode(self._rested(state, spoken, last))
        self._vault.begin(data)
        self._restore(data)

    def _restore(self, data: bytes) -> None:
        try:
            memory = MEMORY.decode(data)
            self._require_own(memory)
            self._resume(memory)
        except MalformedMessage as error:
            raise StateDiverged(f"the memory of the vault cannot be read: {error}") from None

    def _require_own(self, memory: PartyMemory) -> None:
        if memory.author != self._author:
            message = "it is that of another key: another key needs another state directory"
            raise UsageError(message, "vault")
        place = memory.chain.session, memory.chain.organiser
        if place != (self._session.id, self.manifest.organiser):
            raise UsageError("the vault is that of another session", "vault")

    def _replay(self, journal: tuple[bytes, ...]) -> None:
        for number, data in enumerate(journal):
            try:
                recorded = RECORD.decode(data)
                step = self._stepped(recorded.event)
            except (MalformedMessage, UsageError):
                raise _diverged(number) from None
            if step.posts != recorded.posts or self._ends(step):
                raise _diverged(number)
            self._take(step)


def _diverged(number: int) -> StateDiverged:
    return StateDiverged(
        f"record {number} of the journal is not what this version of the library makes of it: "
        "go on with the version that wrote it, or with the next session"
    )
