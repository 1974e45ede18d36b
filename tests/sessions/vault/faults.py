"""Files of a vault that stop at a chosen operation, and disks that lose power."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from gopa.sessions.vault.private_files import PrivateFiles
from tests.board.faults import FaultyFiles, Plan


class StoppingFiles(FaultyFiles, PrivateFiles):
    """Every operation is a step of the plan; a write that is stopped first writes half."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.plan = plan

    def open_end(self, path: Path) -> int:
        with self.plan.step("open end"):
            return super().open_end(path)

    def open_begin(self, path: Path) -> int:
        with self.plan.step("open begin"):
            return super().open_begin(path)

    def truncate(self, path: Path, size: int) -> None:
        with self.plan.step("truncate"):
            super().truncate(path, size)

    def sync(self, handle: int) -> None:
        with self.plan.step("sync"):
            super().sync(handle)


@dataclass
class Medium:
    """What a loss of power leaves: content that was synced, under names that were."""

    content: dict[int, bytes] = field(default_factory=dict)
    names: dict[Path, int] = field(default_factory=dict)


class PowerLossFiles(StoppingFiles):
    """Knows of each file which content and which name are on the medium.

    If `eager`, new names of old files and removals are there before their directory is
    synced, as they may be.
    """

    def __init__(self, plan: Plan, *, eager: bool = False) -> None:
        super().__init__(plan)
        self._eager = eager
        self.medium = Medium()
        self._live: dict[Path, int] = {}
        self._open: dict[int, Path] = {}

    def settle(self, directory: Path) -> None:
        """All that is there now is on the medium."""
        for path in files_in(directory):
            number = self._live.setdefault(path, len(self._live) + 10_000)
            self.medium.content[number] = path.read_bytes()
            self.medium.names[path] = number

    def create(self, path: Path) -> int:
        handle = super().create(path)
        self._live[path] = len(self.plan.steps)
        self._open[handle] = path
        return handle

    def open_end(self, path: Path) -> int:
        handle = super().open_end(path)
        self._open[handle] = path
        return handle

    def open_begin(self, path: Path) -> int:
        handle = super().open_begin(path)
        self._open[handle] = path
        return handle

    def sync(self, handle: int) -> None:
        super().sync(handle)
        path = self._open[handle]
        self.medium.content[self._live[path]] = path.read_bytes()

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        self._live[new] = self._live.pop(old)
        if self._eager:
            self.medium.names.pop(old, None)
            self.medium.names[new] = self._live[new]

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        del self._live[path]
        if self._eager:
            self.medium.names.pop(path, None)

    def sync_directory(self, path: Path) -> None:
        super().sync_directory(path)
        kept = {name: at for name, at in self.medium.names.items() if name.parent != path}
        now = {name: at for name, at in self._live.items() if name.parent == path}
        self.medium.names = kept | now

    def lose_power(self, directory: Path) -> None:
        """Leave what is on the medium."""
        for path in files_in(directory):
            path.unlink()
        for path, number in self.medium.names.items():
            path.write_bytes(self.medium.content.get(number, b""))
            path.chmod(0o600)


def files_in(directory: Path) -> list[Path]:
    """The files of a vault itself, without the lock and the board's memory."""
    return [path for path in sorted(directory.iterdir()) if path.is_file() and path.name != "lock"]
