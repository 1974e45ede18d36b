"""A session across networks that delay and break: one cut that heals, one that does not."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from gopa.auditing.report import Verdict
from gopa.cli.exits import LATER_EXIT
from gopa.contract.phases import Phase
from tests.sessions.processes.judging import audit, findings, included, require_sum
from tests.sessions.processes.stranger import GATED, VALUE
from tests.sessions.processes.trouble import Trouble
from tests.sessions.processes.worlds import World, world

_DELAY: Final = ("netem", "delay", "20ms", "5ms")


_LONG: Final = 60.0


class NotPermitted(Exception):
    """This machine makes no network namespaces; the text says why."""


def ip(*arguments: str) -> None:
    """iproute2; what it complains about becomes a `NotPermitted`."""
    _command("ip", *arguments)


def _command(*arguments: str) -> None:
    path = shutil.which(arguments[0])
    if path is None:
        raise NotPermitted(f"{arguments[0]} is not installed")
    done = subprocess.run(
        [path, *arguments[1:]], capture_output=True, text=True, timeout=_LONG, check=False
    )
    if done.returncode:
        raise NotPermitted(f"{' '.join(arguments)}: {done.stderr.strip()}")


@dataclass
class Network:
    """Nodes have addresses 10.77.0.1, ... in the order in which they were added.

    Nothing leads out of it. `delayed` says whether the kernel can make links slow.
    """

    mark: str
    nodes: dict[str, int] = field(default_factory=dict)
    delayed: bool = True

    @property
    def hub(self) -> str:
        return f"gopa-{self.mark}"

    def add(self, node: str) -> str:
        """A node with a link to the bridge; its address."""
        number = self.nodes[node] = len(self.nodes) + 1
        space, port = self.space(node), self._port(node)
        ip("netns", "add", space)
        ip(
            "-n",
            self.hub,
            "link",
            "add",
            port,
            "type",
            "veth",
            "peer",
            "name",
            "up0",
            "netns",
            space,
        )
        ip("-n", self.hub, "link", "set", port, "master", "br0", "up")
        ip("-n", space, "addr", "add", f"10.77.0.{number}/24", "dev", "up0")
        ip("-n", space, "link", "set", "lo", "up")
        ip("-n", space, "link", "set", "up0", "up")
        self._slow(space)
        return f"10.77.0.{number}"

    def prefix(self, node: str) -> tuple[str, ...]:
        """What runs a command on a node; strangers to the network run beside it."""
        if node not in self.nodes:
            return ()
        return ("ip", "netns", "exec", self.space(node))

    def cut(self, node: str) -> None:
        ip("-n", self.hub, "link", "set", self._port(node), "down")

    def heal(self, node: str) -> None:
        ip("-n", self.hub, "link", "set", self._port(node), "up")

    def space(self, node: str) -> str:
        return f"{self.hub}-{node}"

    def _port(self, node: str) -> str:
        return f"port{self.nodes[node]}"

    def _slow(self, space: str) -> None:
        if not self.delayed:
            return
        try:
            _command("tc", "-n", space, "qdisc", "add", "dev", "up0", "root", *_DELAY)
        except NotPermitted:
            self.delayed = False

    def remove(self) -> None:
        """Also what is half made."""
        for space in (*map(self.space, self.nodes), self.hub):
            with suppress(NotPermitted):
                ip("netns", "del", space)


@contextmanager
def network() -> Iterator[Network]:
    """A bridge without nodes, gone with the block. Raises `NotPermitted`."""
    made = Network(os.urandom(3).hex())
    try:
        ip("netns", "add", made.hub)
        ip("-n", made.hub, "link", "add", "br0", "type", "bridge")
        ip("-n", made.hub, "link", "set", "br0", "up")
        yield made
    finally:
        made.remove()


PARTIES = 8


WAITS, HEALED, LOST = 0, 2, 5


@pytest.fixture
def net() -> Iterator[Network]:
    with ExitStack() as stack:
        try:
            made = stack.enter_context(network())
            for node in ("board", "organiser", *(f"p{number}" for number in range(PARTIES))):
                made.add(node)
        except NotPermitted as error:
            pytest.skip(f"network namespaces are not permitted here: {error}")
        yield made


@pytest.mark.soak
def test_a_partition_that_heals_and_one_that_does_not(tmp_path: Path, net: Network) -> None:
    host = f"10.77.0.{net.nodes['board']}"
    with world(tmp_path, PARTIES, host=host, prefix=net.prefix) as place:
        place.prepare()
        trouble = Trouble(place, place.open(), excused={LOST})
        with trouble.told(f"p{HEALED} is cut off for a while, p{LOST} for good"):
            _gather(trouble)
            _cut(trouble, net)
            trouble.to_the_end()
            _require_ends(trouble)
            _require_result(place)


def value(number: int) -> float:
    return VALUE if number == WAITS else number / 10


def _gather(trouble: Trouble) -> None:
    """One party keeps commit open until both are cut off."""
    place = trouble.world
    for phase in GATED:
        if phase is not Phase.COMMIT:
            place.let_through(WAITS, phase)
    for number in range(PARTIES):
        patience = ("--patience", 5) if number == LOST else ()
        start = partial(place.join, number, "--value", value(number), *patience)
        trouble.begin(number, partial(place.stranger, "waits", WAITS) if number == WAITS else start)


def _cut(trouble: Trouble, net: Network) -> None:
    """Both are cut off in commit; one link comes back when nobody waits for anybody else."""
    both = {trouble.world.keys[number] for number in (HEALED, LOST)}

    def only_they_are_missing() -> bool:
        now = trouble.watching.round
        return now is not None and (now.opens is not Phase.COMMIT or now.expected <= both)

    for number in (HEALED, LOST):
        trouble.until(partial(trouble.is_in, number, Phase.COMMIT), f"p{number} commits")
        net.cut(f"p{number}")
        trouble.chronicle.note(f"p{number} is cut off")
    trouble.world.let_through(WAITS, Phase.COMMIT)
    trouble.until(only_they_are_missing, "the others commit")
    net.heal(f"p{HEALED}")
    trouble.chronicle.note(f"p{HEALED} is back")


def _require_ends(trouble: Trouble) -> None:
    """Each party ends by itself: with the result, or with what kept it from the board."""
    for number, party in trouble.parties.items():
        code = party.wait()
        result = party.said("result")
        if number == LOST:
            assert code == LATER_EXIT, party.complaint
            assert result is None
            assert party.said("board-lost") is not None
            assert party.complaint.startswith("gopa: no board for 5 seconds")
            assert "Traceback" not in party.complaint
            continue
        assert code == 0, (number, party.complaint)
        assert result is not None
        assert result["included"]


def _require_result(place: World) -> None:
    """Nobody is blamed for a network; who was cut off for good is out, or recovered."""
    found = findings(place)
    assert found.faults == ()
    last = found.rounds[-1]
    inside = included(last)
    assert set(place.keys) - inside <= {place.keys[LOST]}
    keys = place.keys
    require_sum(place, last, {keys[n]: value(n) for n in range(PARTIES) if keys[n] in inside})
    code, report = audit(place)
    assert (code, report["verdict"]) == (Verdict.VALID.code, Verdict.VALID.value)
    excluded = {each["author"] for each in report["rounds"][-1]["excluded"]}
    assert excluded == {key.hex() for key in place.keys if key not in inside}
