"""Asks the witnesses of a log what they hold of it before its board opens it.

A storage that comes whole from a backup agrees with itself. Only others know that the log was
longer: whatever such a board signs next contradicts what it has signed already.
"""

from __future__ import annotations

import ipaddress
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from bulletin_board.client.http import Transport
from bulletin_board.display import visible
from bulletin_board.note import SignatureLine, cosignature_time
from bulletin_board.policy import KnownServer, TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.storage import Overtaken, Unconfirmed
from bulletin_board.storage.files import EvidenceFolder
from bulletin_board.witness.asking import WitnessRefusal, ask_witness, keep_refusal, require_own
from wire.errors import Unattributed

_LOG: Final = logging.getLogger("gopa.board")

CLOCK_TOLERANCE = 60
"""Seconds between the clocks of a board and of a witness that it believes when it opens a log."""


@dataclass(frozen=True, slots=True)
class OpeningCheck:
    """The question to all witnesses of a policy at once, until the answer is clear.

    That takes at most `seconds` for an empty log, and `patience` for one with entries.
    """

    policy: TrustPolicy
    transport: Transport
    evidence: EvidenceFolder
    seconds: float
    patience: float
    clock: Callable[[], float] = time.time

    def require_newest(
        self, open_reader: Callable[[], LogReader], *, risk_fork: bool = False
    ) -> None:
        """Return if a quorum of witnesses has cosigned what the reader has.

        Each of them has a reader of its own. With `risk_fork` too few answers are enough, as
        long as they do not say that there is more. Raises `Overtaken` if the witnesses that
        hold more leave no quorum, and `Unconfirmed` if too few say what they hold: whoever
        brings back an old storage may be the one that keeps the others from answering. Of an
        empty log nobody can be expected to know.
        """
        if not self.policy.needs_witnesses:
            return
        size = open_reader().size
        held = self._answers(open_reader, size)
        if self._is_quorum(held, at_most=size):
            return
        asked = [name for name in self._asked if not 0 <= held.get(name, -1) <= size]
        if size and not risk_fork:
            raise _unconfirmed(asked, size)
        missing = ", ".join(map(visible, asked))
        _LOG.warning("too few witnesses say what they hold of the log: %s", missing)

    @property
    def _asked(self) -> dict[str, KnownServer]:
        return {name: peer for name, peer in self.policy.witnesses.items() if peer.url}

    def _answers(self, open_reader: Callable[[], LogReader], size: int) -> dict[str, int]:
        """The sizes that witnesses hold, -1 for those that do not say it."""
        answers: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        asked = self._asked
        for name, peer in asked.items():
            arguments = name, peer, open_reader, answers
            threading.Thread(
                target=self._ask, args=arguments, name="board-opening", daemon=True
            ).start()
        held: dict[str, int] = {}
        deadline = time.monotonic() + (self.patience if size else self.seconds)
        while len(held) < len(asked) and not self._is_quorum(held, at_most=size):
            try:
                name, found = answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            held[name] = found
            require_possible(self.policy, {n: s for n, s in held.items() if s > size}, size)
        return held

    def _is_quorum(self, held: Mapping[str, int], *, at_most: int) -> bool:
        witnesses = self.policy.witnesses
        return self.policy.is_quorum(
            witnesses[name].key for name, size in held.items() if 0 <= size <= at_most
        )

    def _ask(
        self,
        name: str,
        peer: KnownServer,
        open_reader: Callable[[], LogReader],
        answers: queue.SimpleQueue[tuple[str, int]],
    ) -> None:
        """Answers with the size that the witness holds, -1 if that is not known."""
        held = -1
        try:
            reader = open_reader()
            asked = self.clock()
            lines = ask_witness(self.transport, peer, reader, 0)
            own = require_own(peer, reader.signed.note, lines)
            # Whoever brings back a backup can replay the cosignatures that it contains.
            require_fresh(own, asked, self.clock())
            held = reader.size
        except WitnessRefusal as error:
            if error.ahead is not None:
                held = error.ahead
                stored = keep_refusal(self.evidence, peer, error, int(self.clock()))
                _LOG.critical("witness %s holds %d entries; %s", visible(name), held, stored)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is this witness's
            _LOG.warning("witness %s does not say what it holds: %s", visible(name), error)
        answers.put((name, held))


def require_fresh(own: Iterable[SignatureLine], asked: float, answered: float) -> None:
    """Return if one of these verified cosignatures was made while its witness was asked.

    The old ones of a backup's checkpoint are public: whoever is on the way to a witness could
    answer with one of them. Raises `Unattributed` for those.
    """
    times = [cosignature_time(line.signature) for line in own]
    earliest, latest = asked - CLOCK_TOLERANCE, answered + CLOCK_TOLERANCE
    if not any(earliest <= time <= latest for time in times):
        raise Unattributed(
            f"its cosignature states the time {max(times)}, and it is {int(answered)} here: this is"
            " no answer of now, or one of the two clocks is wrong"
        )


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


def _unconfirmed(silent: Iterable[str], size: int) -> Unconfirmed:
    names = ", ".join(map(visible, silent)) or "none of them has an address in the policy"
    return Unconfirmed(
        f"too few witnesses say that they hold no more than the {size} entries of this log, and"
        " if its storage comes from a backup, going on would fork the log. These did not cosign"
        f" its checkpoint: {names}. What they answered was logged before this. Start the board"
        " again when they answer; only if you know that nobody has brought back an older storage,"
        " start it once with --risk-fork"
    )


def address_warnings(policy: TrustPolicy) -> Iterator[str]:
    """Sentences about addresses that are missing, or that anybody on the way can answer for."""
    located = {name: peer for name, peer in policy.witnesses.items() if peer.url}
    if policy.needs_witnesses and not policy.is_quorum(peer.key for peer in located.values()):
        without = ", ".join(visible(name) for name in policy.witnesses if name not in located)
        yield (
            "the witnesses that have an address in the policy make no quorum: no barrier will be"
            " acknowledged, and once the log has entries it will not open again. Add addresses"
            f" of {without}"
        )
    for name, peer in located.items():
        if not _is_protected(peer.url):
            yield (
                f"the address of witness {visible(name)} is plain http to another machine: whoever"
                " is on the way can keep it from warning this board of an old storage. Use https"
            )


def _is_protected(url: str) -> bool:
    """Whether nobody between the board and this address can answer in its place."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme == "https" or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
