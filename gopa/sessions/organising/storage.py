"""One session of an organiser on disk: its directory, and the records of its vault.

ticket.json    what parties get
anchors.txt    what auditors get: `gopa audit --anchors`
roster.txt     the roster with its names, if there was one; read by people alone
closed         there once no more rounds are to be opened
vault/         what only the organiser may read: `identity`, `session` (the manifest), and
               what it has said (12-O1 and 12-O2)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final, TypeAlias

from bulletin_board import VerifierKey
from bulletin_board.entry import LARGEST_ENTRY
from bulletin_board.storage.directory import read_secret, write_secret
from bulletin_board.storage.files import replace_file
from gopa.auditing.options import Anchors
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import LARGEST_CHECKPOINT
from gopa.contract.phases import Kind
from gopa.sessions.ticket import Ticket, checked_manifest
from gopa.sessions.vault import DirectoryVault, Secret
from gopa.sessions.vault import identity as identities
from wire.codec import Case, Codec, enumeration, fixed, opaque, record, select, u8, u16, u64, vector
from wire.ed25519 import SigningKey
from wire.errors import InvalidProof, MalformedMessage, UsageError
from wire.randomness import Rng
from wire.secret import SecretBytes


@dataclass(frozen=True, slots=True)
class OrganiserPlace:
    """The directory in which an organiser keeps one session."""

    root: Path

    @property
    def ticket_path(self) -> Path:
        return self.root / "ticket.json"

    @property
    def anchors_path(self) -> Path:
        return self.root / "anchors.txt"

    @property
    def roster_path(self) -> Path:
        return self.root / "roster.txt"

    @property
    def vault_path(self) -> Path:
        return self.root / "vault"

    @property
    def identity_path(self) -> Path:
        return self.vault_path / "identity"

    @property
    def session_path(self) -> Path:
        return self.vault_path / "session"

    @property
    def closed_path(self) -> Path:
        return self.root / "closed"

    def begin(self, rng: Rng, secret: Secret | None, identity: Path | None = None) -> SigningKey:
        """Make the directory, with a new key in it or a copy of that of `identity`.

        `keep` stores the session. `secret` seals the new key, and opens the other one.
        Raises `UsageError` if there is something in the directory.
        """
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(self.root.iterdir()):
                raise UsageError(f"{self.root} is not empty: choose a new directory")
            self.vault_path.mkdir(mode=0o700)
        except OSError as error:
            raise UsageError(f"{self.root} cannot be used: {error.strerror}") from None
        if identity is None:
            return identities.create(self.identity_path, rng=rng, secret=secret)
        identities.copy(identity, self.identity_path)
        return identities.load(self.identity_path, secret)

    def keep(self, manifest: Manifest, board: str, rng: Rng, secret: Secret | None) -> Ticket:
        """Store the session, the ticket last: a directory without one was not finished."""
        log = VerifierKey.parse(manifest.log.decode())
        ticket = Ticket(board, log, manifest.session, manifest.policy)
        write_secret(self.session_path, SecretBytes(manifest.to_bytes()))
        DirectoryVault(self.vault_path, log, rng=rng, secret=secret).close()
        digest = hashlib.sha256(manifest.to_bytes()).digest()
        replace_file(self.anchors_path, Anchors(ticket.trust, digest).to_bytes())
        ticket.write(self.ticket_path)
        return ticket

    def ticket(self) -> Ticket:
        """The ticket; raises `UsageError` where no session was created."""
        if not self.ticket_path.exists():
            raise UsageError(
                f"{self.root} holds no session: make one with `gopa session create` (if that was"
                " interrupted, remove the directory first)"
            )
        return Ticket.read(self.ticket_path)

    def manifest(self, ticket: Ticket) -> Manifest:
        """The session as it was created; raises `UsageError` if the ticket is of another one."""
        body = read_secret(self.session_path).reveal()
        try:
            return checked_manifest(ticket, body)
        except MalformedMessage as error:
            raise UsageError(f"{self.session_path} cannot be read: {error}") from None
        except InvalidProof as error:
            raise UsageError(f"{self.session_path} is damaged or another's: {error}") from None

    def key(self, secret: Secret | None) -> SigningKey:
        """The signing key of the organiser; raises as `identity.load`."""
        return identities.load(self.identity_path, secret)

    def vault(self, ticket: Ticket, rng: Rng, secret: Secret | None) -> DirectoryVault:
        """Open the memory; one process at a time has it."""
        return DirectoryVault(self.vault_path, ticket.log, rng=rng, secret=secret)

    @property
    def closed(self) -> bool:
        """Whether no more rounds are to be opened."""
        return self.closed_path.exists()

    def close(self) -> None:
        """Open no more rounds: holds for a process that is running, too, and for all later ones."""
        try:
            replace_file(self.closed_path, b"no more rounds\n")
        except OSError as error:
            raise UsageError(f"{self.closed_path} cannot be written: {error.strerror}") from None


MOST_CHUNKS: Final = 65_535


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A signed message: these bytes are sent, again and again, until the log has them."""

    kind: Kind
    round: int
    entries: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class PhaseStart:
    """When the phase began that this leaf opened, in milliseconds since 1970."""

    leaf: bytes
    since: int


@dataclass(frozen=True, slots=True)
class Covered:
    """The first cosigned checkpoint that covers the close of join.

    Later ones may state times at which the beacon's value was known already.
    """

    size: int
    checkpoint: bytes


Record: TypeAlias = StoredMessage | PhaseStart | Covered


@dataclass(frozen=True, slots=True)
class JournalStart:
    """How many rounds had ended when the journal began, and when that was."""

    ended: int
    since: int


class _Tag(IntEnum):
    SAID = 1
    OPENED = 2
    COVERED = 3


RECORD: Final[Codec[Record]] = select(
    "OrganiserRecord",
    enumeration(_Tag, u8),
    Case(
        _Tag.SAID,
        record(
            StoredMessage,
            kind=enumeration(Kind, u8),
            round=u16,
            entries=vector(opaque(1, LARGEST_ENTRY), 1, MOST_CHUNKS),
        ),
    ),
    Case(_Tag.OPENED, record(PhaseStart, leaf=fixed(32), since=u64)),
    Case(_Tag.COVERED, record(Covered, size=u64, checkpoint=opaque(1, LARGEST_CHECKPOINT))),
)
STANDING: Final[Codec[JournalStart]] = record(JournalStart, ended=u16, since=u64)
