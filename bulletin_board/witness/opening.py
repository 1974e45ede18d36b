"""What the witnesses of a log hold when its board opens it.

A storage that comes whole from a backup agrees with itself. Only others know that the log was
longer: whatever such a board signs next contradicts what it has signed already.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bulletin_board.client.http import Transport
from bulletin_board.durable import EvidenceFolder
from bulletin_board.policy import Peer, TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.storage import Overtaken
from bulletin_board.visible import visible
from bulletin_board.witness.ask import WitnessRefusal, ask_witness
from bulletin_board.witness.evidence import keep_refusal

log = logging.getLogger("gopa.board")


@dataclass(frozen=True, slots=True)
class WitnessesFirst:
    """Asks all witnesses of a policy at once, for `seconds` or until the answer is clear."""

    policy: TrustPolicy
    transport: Transport
    evidence: EvidenceFolder
    seconds: float
    clock: Callable[[], float] = time.time

    def require_newest(self, open_reader: Callable[[], LogReader]) -> None:
        """Raises `Overtaken` if the witnesses that hold more than the reader leave no quorum.

        One that is silent, or refuses for another reason, is not ahead. Each has a reader of
        its own.
        """
        answers: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        asked = {name: peer for name, peer in self.policy.witnesses.items() if peer.url}
        if not self.policy.needs_witnesses:
            return
        for name, peer in asked.items():
            arguments = name, peer, open_reader, answers
            threading.Thread(
                target=self._ask, args=arguments, name="board-opening", daemon=True
            ).start()
        held: dict[str, int] = {}
        deadline = time.monotonic() + self.seconds
        size = open_reader().size
        while len(held) < len(asked) and not self._is_quorum(held, at_most=size):
            try:
                name, found = answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                missing = ", ".join(visible(name) for name in asked if name not in held)
                log.warning("not all witnesses say what they hold of the log: %s", missing)
                return
            held[name] = found
            require_possible(self.policy, {n: s for n, s in held.items() if s > size}, size)

    def _is_quorum(self, held: Mapping[str, int], *, at_most: int) -> bool:
        witnesses = self.policy.witnesses
        return self.policy.is_quorum(
            witnesses[name].key for name, size in held.items() if 0 <= size <= at_most
        )

    def _ask(
        self,
        name: str,
        peer: Peer,
        open_reader: Callable[[], LogReader],
        answers: queue.SimpleQueue[tuple[str, int]],
    ) -> None:
        """Answers with the size that the witness holds, -1 if that is not known."""
        held = -1
        try:
            reader = open_reader()
            ask_witness(self.transport, peer, reader, 0)
            held = reader.size
        except WitnessRefusal as error:
            if error.ahead is not None:
                held = error.ahead
                stored = keep_refusal(self.evidence, peer, error, int(self.clock()))
                log.critical("witness %s holds %d entries; %s", visible(name), held, stored)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is this witness's
            log.warning("witness %s does not say what it holds: %s", visible(name), error)
        answers.put((name, held))


def require_possible(policy: TrustPolicy, ahead: Mapping[str, int], size: int) -> None:
    """Return if the witnesses that are not `ahead` make a quorum, raise `Overtaken` otherwise."""
    others = (peer.key for name, peer in policy.witnesses.items() if name not in ahead)
    if not ahead or policy.is_quorum(others):
        return
    found = ", ".join(f"{visible(name)} holds {held}" for name, held in sorted(ahead.items()))
    raise Overtaken(
        f"this log has {size} entries here and had more before ({found}): its storage comes from"
        " a backup. Nothing is signed, since that would fork the log. Bring back the newest"
        " storage; if it is lost, export what is here and begin a new log with `gopa board init`,"
        " under another key. If the witnesses are mistaken, ask whoever runs them, or take them"
        " out of the policy"
    )
