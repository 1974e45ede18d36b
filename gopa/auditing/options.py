"""What an audit is asked to do, and the anchors, which its reader trusts already.

Specification: 11-I2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from bulletin_board.policy import LARGEST_POLICY, TrustPolicy
from gopa.contract.beacon.drand import KNOWN_CHAINS, DrandChain
from gopa.rounds.toolkit import Toolkit
from wire.errors import MalformedMessage, UsageError

LARGEST_ANCHORS: Final = LARGEST_POLICY + 256

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_KEY: Final = re.compile(rb"[0-9a-fA-F]{64}([ \t]+#.*)?")
_LOG_KEY: Final = re.compile(rb"[^ \t+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+")
_MANIFEST: Final = re.compile(rb"manifest[ \t]+([0-9a-f]{64})[ \t]*")


@dataclass(frozen=True, slots=True)
class Anchors:
    """The key of the board's log with a quorum, and SHA-256 of the manifest's body.

    Either may be missing: then its check is, too.
    """

    policy: TrustPolicy | None = None
    manifest: bytes | None = None

    @classmethod
    def parse(cls, data: bytes) -> Anchors:
        """The anchors in the text of a reader's file; `UsageError` names what is wrong.

        Comments, and empty lines, may stand in front. People copy and mail this text, so the
        traces that editors leave in it are passed over.
        """
        if len(data) > LARGEST_ANCHORS:
            raise UsageError(f"anchors have at most {LARGEST_ANCHORS} bytes", "anchors")
        lines = _plain(data).split(b"\n")
        first = next((at for at, line in enumerate(lines) if _says_something(line)), None)
        manifest = None
        if first is not None and lines[first].lstrip().startswith(b"manifest"):
            found = _MANIFEST.fullmatch(lines[first])
            if found is None:
                message = "the first line is `manifest` and 64 hexadecimal digits in lower case"
                raise UsageError(message, "anchors")
            manifest = bytes.fromhex(found[1].decode())
            del lines[first]
        if not any(map(_says_something, lines)):
            return cls(None, manifest)
        if any(line.lstrip().startswith(b"manifest") for line in lines):
            raise UsageError("one line must name the manifest, in front of all others", "anchors")
        try:
            return cls(TrustPolicy.parse(b"\n".join(lines)), manifest)
        except MalformedMessage as error:
            message = f"not a trust policy ({error}): `log VKEY` and `quorum none` is the least"
            raise UsageError(message, "anchors") from None

    def to_bytes(self) -> bytes:
        """The text that parses to these anchors."""
        head = b"" if self.manifest is None else f"manifest {self.manifest.hex()}\n".encode()
        return head + (b"" if self.policy is None else self.policy.to_bytes())


AnchorsLike: TypeAlias = Anchors | bytes | str | Path


def read_anchors(given: AnchorsLike | None) -> Anchors:
    """Reads anchors from text, or from the file of this path; a `str` is a path."""
    if given is None:
        return Anchors()
    if isinstance(given, Anchors):
        return given
    if isinstance(given, bytes):
        return Anchors.parse(given)
    try:
        with Path(given).open("rb") as file:
            data = file.read(LARGEST_ANCHORS + 1)
    except OSError as error:
        raise UsageError(f"{given} cannot be read: {error.strerror}", "anchors") from None
    if (what := _no_anchors(data)) is not None:
        raise UsageError(f"{given} is {what}", "anchors")
    return Anchors.parse(data)


_MISTAKEN: Final = {
    b"gopa-archive/": "a transcript: anchors are a short text, and come from somewhere else",
    b"gopa-evidence/": "evidence, and no anchors: hand it to --evidence",
    b"gopa-identity-": "a secret key, and no anchors: show it to nobody",
}
"""What files are that begin so, where people take them for anchors."""


def _no_anchors(data: bytes) -> str | None:
    """What a file is instead of anchors, where it is something that people have beside them."""
    found = next((what for magic, what in _MISTAKEN.items() if data.startswith(magic)), None)
    said = [line.strip() for line in _plain(data).split(b"\n") if _says_something(line)]
    if found is None and not said:
        found = "empty: it names neither a manifest nor a log; an audit without anchors needs none"
    elif found is None and len(said) == 1 and _KEY.fullmatch(said[0]):
        found = "one key or hash: anchors are lines `manifest HASH`, `log VKEY` and `quorum none`"
    elif found is None and len(said) == 1 and _LOG_KEY.fullmatch(said[0]):
        found = "the key of a log alone: write `log` in front of it, and `quorum none` below"
    return found


def _plain(data: bytes) -> bytes:
    """The text with the line ends of a policy, without a byte order mark."""
    text = data.removeprefix(_BYTE_ORDER_MARK).replace(b"\r\n", b"\n")
    return text if text.endswith(b"\n") else text + b"\n"


def _says_something(line: bytes) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(b"#")


LARGEST_SAVED: Final = 65_536


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Everything that a report depends on besides the log.

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
