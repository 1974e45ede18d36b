"""A snapshot in a file of its own."""

from __future__ import annotations

import logging
from pathlib import Path

from bulletin_board.durable import replace_file

log = logging.getLogger("gopa.board")


class FileSnapshots:
    """`Snapshots` in one file of the writer's."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> bytes | None:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("%s cannot be read: %s", self._path, error.strerror)
            return None

    def keep(self, data: bytes) -> None:
        replace_file(self._path, data, private=True)
