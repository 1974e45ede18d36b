"""What runs below this process, and on which addresses it listens."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Final

_LISTEN: Final = "0A"


def below() -> dict[int, str]:
    """Process numbers and commands of all descendants that run."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,args="],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    rows = [(int(pid), int(parent), stat, args) for pid, parent, stat, args in map(_row, listed)]
    found: dict[int, str] = {}
    wanted = {os.getpid()}
    while wanted:
        children = {row[0]: row[3] for row in rows if row[1] in wanted and "Z" not in row[2]}
        wanted = children.keys() - found.keys()
        found |= {pid: name for pid, name in children.items() if not name.startswith("ps -A")}
    return found


def listening(pids: Iterable[int]) -> set[tuple[str, int]]:
    """Addresses and ports that these processes take connections on. Linux only."""
    inodes = {inode for pid in pids for inode in _sockets(pid)}
    found = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN and fields[9] in inodes:
                address, _, port = fields[1].partition(":")
                found.add((_readable(address), int(port, 16)))
    return found


def _sockets(pid: int) -> Iterator[str]:
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            target = str(entry.readlink())
            if target.startswith("socket:["):
                yield target[len("socket:[") : -1]


def _readable(address: str) -> str:
    """The kernel prints words of 32 bits in the byte order of the machine."""
    words = [int(address[at : at + 8], 16) for at in range(0, len(address), 8)]
    packed = b"".join(word.to_bytes(4, sys.byteorder) for word in words)
    found = ip_address(packed)
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


def _row(line: str) -> tuple[str, str, str, str]:
    pid, parent, stat, *rest = line.split(None, 3)
    return pid, parent, stat, rest[0] if rest else ""
