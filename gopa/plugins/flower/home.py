"""What a node keeps and must not travel in its context: identity, guard, seals of sessions.

identity        the signing key
guard/          which answer left last, for each session
sessions/<id>   the secret that seals the states of a session; empty once it is over
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bulletin_board.storage.files import PRIVATE_DIRECTORY
from gopa.protocol.party import Refusal
from gopa.sessions.tunnel import FileGuard, SealingKey
from gopa.sessions.vault import identity
from gopa.sessions.vault.interface import VaultInUse
from gopa.sessions.vault.private_files import Ownership, PrivateFiles, write_all
from wire.ed25519 import SigningKey
from wire.errors import UsageError
from wire.randomness import Rng, draw
from wire.secret import SecretBytes

CONFIG: Final = "gopa-home"
_PARTITION: Final = "partition-id"
_SIZE: Final = 32
_PATIENCE: Final = 10.0


def home_of(given: str | Path | None, node_config: Mapping[str, object]) -> Path:
    """Where a node keeps its own: what its operator says, or a part of what the app says.

    In a simulation all nodes share a machine, so each has a directory of its number in there.
    """
    own = node_config.get(CONFIG)
    if isinstance(own, str) and own:
        return Path(own)
    if given is None:
        message = (
            f"say where this node keeps its key: flower-supernode --node-config '{CONFIG}=\"..\"'"
        )
        raise UsageError(message, CONFIG)
    part = node_config.get(_PARTITION)
    return Path(given) if part is None else Path(given) / f"node-{part}"


class NodeHome:
    """A directory that is this node's alone, made if it is not there."""

    def __init__(self, path: Path, rng: Rng = os.urandom) -> None:
        self._path, self._rng, self._files = path, rng, PrivateFiles()
        for each in (path, self._sessions):
            each.mkdir(PRIVATE_DIRECTORY, parents=True, exist_ok=True)

    @property
    def _sessions(self) -> Path:
        return self._path / "sessions"

    def guard(self) -> FileGuard:
        """What sees to it that no state is used twice."""
        return FileGuard(self._path / "guard")

    def identity(self) -> SigningKey:
        """The key of this node, made when it is asked for first."""
        path = self._path / "identity"
        if not path.exists():
            try:
                return identity.create(path, rng=self._rng)
            except UsageError:
                if not path.exists():
                    raise
        return identity.load(path)

    def seal(self, session: bytes, most: int | None) -> SealingKey:
        """The secret of a session; raises `Refusal` for one that is over or one too many."""
        path = self._sessions / session.hex()
        with self._alone():  # else two messages at once would begin two sessions where one may
            if not path.exists():
                begun = sum(1 for _ in self._sessions.iterdir())
                if most is not None and begun >= most:
                    message = (
                        f"{begun} sessions have begun here: each costs privacy anew. Raise"
                        " `sessions` if you accept that"
                    )
                    raise Refusal(message, "sessions", str(begun + 1))
                self._write(path, draw(self._rng, _SIZE))
            found = path.read_bytes()
        if len(found) != _SIZE:
            raise Refusal("this session is over here", "session")
        return SealingKey(SecretBytes(found))

    def forget(self, session: bytes) -> None:
        """Destroy the secret of a session: its states can be read by nobody from now on."""
        path = self._sessions / session.hex()
        if not path.exists():
            return
        handle = self._files.open_begin(path)
        try:
            write_all(self._files, handle, bytes(_SIZE))
            self._files.sync(handle)
        finally:
            self._files.close(handle)
        self._files.truncate(path, 0)

    def spare(self, session: bytes) -> None:
        """Count a session no more in which this node has said nothing: it was refused."""
        (self._sessions / session.hex()).unlink(missing_ok=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                owned = Ownership(self._path / "lock")
                break
            except VaultInUse:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
        try:
            yield
        finally:
            owned.release()

    def _write(self, path: Path, data: bytes) -> None:
        handle = self._files.create(path)
        try:
            write_all(self._files, handle, data)
            self._files.sync(handle)
        finally:
            self._files.close(handle)
