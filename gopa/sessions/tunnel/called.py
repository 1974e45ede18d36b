"""A party that goes on where its last call ended, instead of repeating its journal."""

from __future__ import annotations

from dataclasses import replace

from gopa.contract.manifest import Manifest
from gopa.contract.organiser import ResultMessage
from gopa.protocol.party import Finished, LocalPolicy
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.parties.memory import LAST
from gopa.sessions.parties.stepped import Step, SteppedParty
from gopa.sessions.tunnel.checkpoint import Surroundings, late, read_state, write_state
from gopa.sessions.tunnel.slots import LateBytes, Slots
from wire.ed25519 import SigningKey
from wire.randomness import Rng


class CalledParty(SteppedParty):
    """A `Party` between two checkpoints: nothing of a call counts until its state is sealed.

    A party from a checkpoint is the one that was written down: the same secret of the round, the
    same chain of events, the same state, so that it says what it would have said (12-N11).

    Raises:
        Refusal: the manifest does not satisfy the policy. Nothing was said.
        StateDiverged: another version of the library wrote the checkpoint.
        VaultDamaged: a slot that is needed was changed.
    """

    __slots__ = ("_ended", "_slots", "_sums")

    def __init__(  # noqa: PLR0913 - what a party is made of
        self,
        manifest: Manifest,
        key: SigningKey,
        policy: LocalPolicy,
        *,
        rng: Rng,
        slots: Slots,
        checkpoint: bytes = b"",
        toolkit: Toolkit | None = None,
        session: bytes | None = None,
        sums: bool = True,
    ) -> None:
        """Without a checkpoint it has heard nothing yet; without `sums` none are kept."""
        self._sums = sums
        super().__init__(manifest, key, policy, rng=rng, toolkit=toolkit, session=session)
        self._slots = slots
        self._ended: bytes | LateBytes = b""
        if not checkpoint:
            self._resume(self._rested(self._party.start(), frozenset(), None))
            return
        found = read_state(checkpoint, self._surroundings)
        self._secret, self._chain, spoken, made, self._ended, self._state = found
        self._spoken, self._made, self._heard = frozenset(spoken), set(made), []

    def checkpoint(self) -> tuple[bytes, tuple[bytes, ...]]:
        """What the next call goes on from, and the names of the slots that it needs."""
        if self._last is not None:
            last = self._last if self._sums else _without_sums(self._last)
            self._ended = late(LAST.encode(last), self._surroundings)
        spoken, made = tuple(sorted(self._spoken)), tuple(sorted(self._made))
        kept = (self._secret, self._chain, spoken, made, self._ended, self._state)
        return write_state(kept, self._surroundings)

    @property
    def last(self) -> Finished | None:
        """The last round that ended; a result without sums if they were not kept."""
        last = self._last
        if last is None and self._ended:
            kept = self._ended
            last = LAST.decode(kept if isinstance(kept, bytes) else kept.found())
        if last is None or not isinstance(last.outcome, ResultMessage):
            return last
        whole = self._sums and len(last.outcome.sums) == self.manifest.terms.dimension
        return last if whole else replace(last, outcome=replace(last.outcome, sums=()))

    @property
    def _surroundings(self) -> Surroundings:
        return Surroundings(self._session, self._slots)

    def _store(self, step: Step) -> None:
        if not self._ends(step):
            self._take(step)
            return
        ended = [each for each in step.outputs if isinstance(each, Finished)]
        last = ended[-1] if ended else self._last
        self._resume(self._rested(step.state, step.spoken, last))


def _without_sums(last: Finished) -> Finished:
    """The end of a round with one sum in the place of all (12-N12)."""
    if not isinstance(last.outcome, ResultMessage):
        return last
    return replace(last, outcome=replace(last.outcome, sums=last.outcome.sums[:1]))
