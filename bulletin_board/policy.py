"""Whom a reader trusts: a log, witnesses, groups and a quorum (C2SP tlog-policy)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bulletin_board.note import (
    Cosignature,
    KeyKind,
    SignedCheckpoint,
    VerifierKey,
    cosignature_time,
    open_checkpoint,
    verify_note,
)
from wire.brief import Brief
from wire.errors import InvalidProof, MalformedMessage

LARGEST_POLICY = 262_144
_LONGEST_SHOWN = 80
MOST_DEFINITIONS = 256

_ALLOWED = re.compile(rb"[\t\n\x20-\x7e\x80-\xff]*")
_NONE = "none"


@dataclass(frozen=True, slots=True, repr=False)
class KnownServer(Brief):
    """The key of a log or a witness, and where to reach it if the policy says so."""

    key: VerifierKey
    url: str = ""


@dataclass(frozen=True, slots=True)
class WitnessGroup:
    """Witnesses that count as one, when at least `threshold` of them have cosigned."""

    threshold: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class TrustPolicy(Brief):
    """Trust in one log, any witnesses, one quorum. Built by `parse` or `single_log`."""

    log: KnownServer
    witnesses: Mapping[str, KnownServer] = field(default_factory=dict)
    groups: Mapping[str, WitnessGroup] = field(default_factory=dict)
    quorum: str = _NONE

    @property
    def needs_witnesses(self) -> bool:
        return self.quorum != _NONE

    @classmethod
    def single_log(cls, log: VerifierKey, url: str = "") -> TrustPolicy:
        """Trust one log's signature alone. Results must say: a single view of the log."""
        return cls(KnownServer(log, url))

    @classmethod
    def parse(cls, data: bytes) -> TrustPolicy:
        """Read the text of a policy file; raises `MalformedMessage` that names the line.

        Exactly one log is required: this board serves one log, and a policy that
        accepted several would accept entries of one as entries of another.
        """
        if len(data) > LARGEST_POLICY or _ALLOWED.fullmatch(data) is None:
            raise MalformedMessage("a policy is text of at most 256 kB without controls", "policy")
        # Latin-1 keeps octets above 127 opaque, as the format demands: a Kelvin
        # sign is never a K here.
        return _Parser().run(data.decode("latin-1"))

    def to_bytes(self) -> bytes:
        """A policy file that parses to this policy."""
        lines = [b"log " + _located(self.log)]
        for name, witness in self.witnesses.items():
            lines.append(b"witness " + name.encode("latin-1") + b" " + _located(witness))
        for name, group in self.groups.items():
            words = ["group", name, str(group.threshold), *group.members]
            lines.append(" ".join(words).encode("latin-1"))
        lines.append(b"quorum " + self.quorum.encode("latin-1"))
        return b"\n".join(lines) + b"\n"

    def open(self, data: bytes) -> SignedCheckpoint:
        """Parse a checkpoint and verify the log's signature and the quorum.

        Raises `MalformedMessage`, `InvalidSignature`, or `InvalidProof` (05-P2)
        when too few witnesses cosigned.
        """
        signed = open_checkpoint(data, self.log.key)
        self.check_quorum(signed)
        return signed

    def cosignatures(self, signed: SignedCheckpoint) -> tuple[Cosignature, ...]:
        """The verified cosignatures of this policy's witnesses.

        Raises `InvalidSignature` if one of a known witness does not verify.
        """
        keys = [witness.key for witness in self.witnesses.values()]
        found = verify_note(signed.note, keys)
        return tuple(Cosignature(key, cosignature_time(signature)) for key, signature in found)

    def check_quorum(self, signed: SignedCheckpoint) -> None:
        """Return if the quorum cosigned, raise `InvalidProof` otherwise."""
        if not self.is_quorum(cosignature.witness for cosignature in self.cosignatures(signed)):
            raise InvalidProof("too few witnesses cosigned this checkpoint", "05-P2")

    def is_quorum(self, cosigners: Iterable[VerifierKey]) -> bool:
        """Whether these witnesses together are enough; each counts once."""
        return not self.needs_witnesses or self._witnessed(self.quorum, set(cosigners))

    def _witnessed(self, name: str, cosigners: set[VerifierKey]) -> bool:
        if name in self.witnesses:
            return self.witnesses[name].key in cosigners
        group = self.groups[name]
        return sum(self._witnessed(m, cosigners) for m in group.members) >= group.threshold


class _Parser:
    def __init__(self) -> None:
        self._logs: list[KnownServer] = []
        self._witnesses: dict[str, KnownServer] = {}
        self._groups: dict[str, WitnessGroup] = {}
        self._quorum = ""
        self._used: set[str] = set()

    def run(self, text: str) -> TrustPolicy:
        for number, words in _definitions(text):
            try:
                self._line(words)
            except MalformedMessage as error:
                raise MalformedMessage(error.message, f"line {number}") from None
        if len(self._logs) != 1:
            raise MalformedMessage("must name exactly one log", "policy")
        if not self._quorum:
            raise MalformedMessage("must have exactly one quorum line", "policy")
        return TrustPolicy(self._logs[0], self._witnesses, self._groups, self._quorum)

    def _line(self, words: list[str]) -> None:
        match words:
            case ["log", vkey, *url] if len(url) < 2:
                self._logs.append(KnownServer(_key(vkey, KeyKind.LOG), "".join(url)))
            case ["witness", name, vkey, *url] if len(url) < 2:
                self._add_witness(name, KnownServer(_key(vkey, KeyKind.WITNESS), "".join(url)))
            case ["group", name, threshold, *members] if members:
                self._add_group(name, threshold, tuple(members))
            case ["quorum", name] if not self._quorum:
                if name != _NONE and not self._defined(name):
                    raise MalformedMessage(f"the quorum {name!r} must be defined above")
                self._quorum = name
            case _:
                shown = " ".join(words)[:_LONGEST_SHOWN]
                raise MalformedMessage(f"{shown!r} is no log, witness, group or first quorum line")

    def _add_witness(self, name: str, witness: KnownServer) -> None:
        self._check_new(name)
        # One witness under two names would be a quorum of two.
        if any(known.key.key == witness.key.key for known in self._witnesses.values()):
            raise MalformedMessage(f"witness {name!r} must have a key of its own")
        self._witnesses[name] = witness

    def _add_group(self, name: str, threshold: str, members: tuple[str, ...]) -> None:
        self._check_new(name)
        words = {"any": 1, "all": len(members)}
        count = words.get(threshold)
        if count is None:
            if re.fullmatch(r"[1-9][0-9]{0,3}", threshold) is None:
                raise MalformedMessage(f"the threshold {threshold!r} must be any, all or a number")
            count = int(threshold)
        if count > len(members):
            raise MalformedMessage(f"the threshold {threshold!r} exceeds the members")
        for member in members:
            # Defined above, so that groups hold no circle; once, so that none counts twice.
            if not self._defined(member) or member in self._used:
                raise MalformedMessage(
                    f"member {member!r} must be defined above, and in one group only"
                )
            self._used.add(member)
        self._groups[name] = WitnessGroup(count, members)

    def _defined(self, name: str) -> bool:
        return name in self._witnesses or name in self._groups

    def _check_new(self, name: str) -> None:
        if self._defined(name) or name == _NONE:
            raise MalformedMessage(f"the name {name!r} is taken already")


def _key(vkey: str, kind: KeyKind) -> VerifierKey:
    key = VerifierKey.parse(_utf8(vkey))
    if key.kind is not kind:
        raise MalformedMessage(f"{key.name!r} must have a key of type {int(kind):#04x}")
    return key


def _utf8(text: str) -> str:
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise MalformedMessage("key names must be UTF-8") from None


def _definitions(text: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered lines split at spaces and tabs, without comments and empty lines."""
    if text and not text.endswith("\n"):
        raise MalformedMessage("a newline after the last line", "policy")
    count = 0
    for number, line in enumerate(text.split("\n"), 1):
        words = [word for word in re.split(r"[ \t]+", line) if word]
        if not words or words[0].startswith("#"):
            continue
        count += 1
        if count > MOST_DEFINITIONS:
            raise MalformedMessage(f"at most {MOST_DEFINITIONS} definitions", f"line {number}")
        yield number, words


def _located(peer: KnownServer) -> bytes:
    return str(peer.key).encode() + (b" " + peer.url.encode("latin-1") if peer.url else b"")
