"""What the log shows while a session runs, and what an audit says about it behind."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bulletin_board import LogReader, Submission
from bulletin_board.policy import TrustPolicy
from bulletin_board.server.public_files import live_directory
from gopa.contract.framing import Posted
from gopa.protocol.rules import Findings, Ledger, RoundFindings, RoundPicture, check_log
from gopa.rounds.toolkit import Toolkit
from tests.randomness import seeded
from tests.sessions.processes.running import ended
from tests.sessions.processes.worlds import World
from wire.errors import ProtocolError


def reader(world: World) -> LogReader:
    """From the board's disk: whether it runs does not matter."""
    policy = TrustPolicy.single_log(world.ticket.log)
    return LogReader.open(live_directory(world.board_directory / "public"), policy)


def size_of(world: World) -> int:
    """How many entries the board has published; 0 while its files cannot be read."""
    with suppress(ProtocolError):
        return reader(world).size
    return 0


@dataclass
class Observer:
    """Follows the log with the rules, as anybody may."""

    world: World
    _ledger: Ledger = field(default_factory=lambda: Ledger(Toolkit(), rng=seeded("observer")))
    size: int = 0

    @property
    def round(self) -> RoundPicture | None:
        """The round as it is now."""
        with suppress(ProtocolError):  # the board is writing, or is gone: look again later
            shown = reader(self.world)
            for raw in list(shown.entries(self.size, shown.size)):
                submission = Submission.decode(raw)
                posted = Posted(self.size, submission.leaf, submission.entry)
                if submission.entry.session == self.world.ticket.session:
                    self._ledger.observe(posted)
                self.size += 1
        return self._ledger.state.round


def findings(world: World) -> Findings:
    """What every rule says about the log."""
    entries = reader(world).entries()
    return check_log(entries, rng=seeded("findings"), session=world.ticket.session)


def included(found: RoundFindings) -> set[bytes]:
    """The keys of those whose values are in the result."""
    assert found.final is not None
    return {found.roll[position] for position in found.final}


def require_sum(world: World, found: RoundFindings, values: Mapping[bytes, float]) -> None:
    """The result is the sum of these values, but for noise of the planned size.

    Twelve standard deviations: an honest result never lies outside.
    """
    terms = world.place.manifest(world.ticket).terms
    assert found.sums is not None
    plain = sum(value * terms.steps for value in values.values())
    noise = math.sqrt(len(values) * float(terms.noise.variance))
    assert abs(found.sums[0] - plain) <= 12 * noise + len(values)


def audit(world: World, *more: object) -> tuple[int, dict[str, Any]]:
    """Exit code and report of an audit, far from the board, of the exported log."""
    archive = world.root / "session.gopa"
    if not archive.exists():
        _export(world, archive)
    anchors = world.place.anchors_path
    audited = ended("audit", archive, "--anchors", anchors, "--json", *more)
    return audited.code, json.loads(audited.out)


def _export(world: World, archive: Path) -> None:
    session = world.ticket.session.hex()
    trusted = () if world.policy is None else ("--policy", world.policy)
    made = ended("board", "export", world.board_directory, archive, "--session", session, *trusted)
    assert made.code == 0, made.complaint


def write_value(
    directory: Path, number: int, value: float
) -> tuple[tuple[object, ...], str | None]:
    """The options that give a value, in a different way for each party, and its standard input."""
    kinds = ("option", "stdin", "text", "json")
    kind = kinds[number % len(kinds)]
    if kind == "option":
        return ("--value", value), None
    if kind == "stdin":
        return ("--value", "-"), f"{value}\n"
    path = directory / f"value{number}.{'txt' if kind == 'text' else 'json'}"
    path.write_text(json.dumps(value))
    return ("--file", path), None
