"""Holds what was read of a log, as the checks look at it."""

from __future__ import annotations

from dataclasses import dataclass, field

from bulletin_board import Checkpoint
from bulletin_board.policy import TrustPolicy
from gopa.auditing.options import AuditOptions
from gopa.auditing.reading import EntryReading
from gopa.auditing.report import Anchor, Anchoring, AuditFault, ShownEntry
from gopa.contract.manifest import Manifest, policy_of


@dataclass(slots=True)
class LogState:
    """Holds one log under one note. `checkpoint` is None where the note could not be read.

    `breaks` are faults of the transcript that came up while it was read, `lacking` says
    what could not be had of it; `forks` is evidence that its board signed
    two histories; `ended` that its last entry was reached and all of them lead
    to the checkpoint.
    """

    name: str
    options: AuditOptions
    reading: EntryReading
    note: bytes = b""
    checkpoint: Checkpoint | None = None
    breaks: list[AuditFault] = field(default_factory=list)
    lacking: str = ""
    forks: list[bytes] = field(default_factory=list)
    ended: bool = False

    @property
    def manifest(self) -> Manifest | None:
        """The manifest of the session, once it was seen and is valid."""
        return self.reading.check.ledger.manifest

    @property
    def manifest_hash(self) -> bytes | None:
        """SHA-256 of the manifest's body, also of one that is not valid."""
        return self.reading.choice.found.get(self.reading.choice.chosen or b"")

    @property
    def policy(self) -> TrustPolicy | None:
        """Whom to believe about the log: the reader's policy, else what the manifest says."""
        if self.options.anchors.policy is not None:
            return self.options.anchors.policy
        return None if self.manifest is None else embedded_policy(self.manifest)

    @property
    def anchoring(self) -> Anchoring:
        """Where trust comes from."""
        stands_in = Anchor.MISSING
        if self.options.trust_embedded and self.manifest is not None:
            stands_in = Anchor.EMBEDDED
        anchors = self.options.anchors
        return Anchoring(
            log=stands_in if anchors.policy is None else Anchor.OUTSIDE,
            manifest=stands_in if anchors.manifest is None else Anchor.OUTSIDE,
        )

    def shown(self, *indexes: int) -> tuple[ShownEntry, ...]:
        """Entries with their leaf hashes."""
        return tuple(ShownEntry(index, self.reading.check.leaf(index)) for index in indexes)


def embedded_policy(manifest: Manifest) -> TrustPolicy:
    """Gives the policy in a manifest, or trust in the one log that it names."""
    policy = policy_of(manifest.policy)
    if policy is not None:
        return policy
    return TrustPolicy.parse(b"log " + manifest.log + b"\nquorum none\n")
