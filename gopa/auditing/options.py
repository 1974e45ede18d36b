"""Names what the reader of a transcript asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from gopa.auditing.anchors import Anchors
from gopa.beacon.drand import DrandChain
from gopa.beacon.known import KNOWN_CHAINS
from gopa.rounds.toolkit import Toolkit

LARGEST_SAVED: Final = 65_536


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Holds everything that a report depends on besides the log.

    `session` names one where the log has several; `since` is a checkpoint of the log, as
    saved by an earlier audit, `receipts` what its board gave out; `chains` are the beacons
    that the reader knows; `trace` begins the key of an author whose entries are kept.
    """

    anchors: Anchors = field(default_factory=Anchors)
    session: bytes | None = None
    trust_embedded: bool = False
    strict: bool = False
    since: bytes | None = None
    receipts: tuple[bytes, ...] = ()
    chains: tuple[DrandChain, ...] = KNOWN_CHAINS
    toolkit: Toolkit = field(default_factory=Toolkit)
    trace: str = ""
