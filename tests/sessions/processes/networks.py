"""Network namespaces on one bridge: each node has a link that is slow and can be cut."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

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
