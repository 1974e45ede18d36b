"""The log of 05: archive, tree, notes, policies, entries; and messages made of entries (04, 1)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import curve
from codec import ENTRY, HEADER, Broken, Malformed, Reader, Record, Unsupported, decode, require

LARGEST_BODY = 60_000
LONGEST = {1: 33_626_053, 2: 36, 3: 101_777_463, 4: 14_680_114, 5: 4_194_349, 16: 227, 17: 64,
           18: 8_421_358, 19: 327, 20: 268_435_525, 21: 2_359_295, 22: 32, 23: 64,
           24: 4_456_415}  # fmt: skip
"""The longest body of each kind of 04, by the bounds of its structs."""


def _require(holds: object, what: str) -> None:
    if not holds:
        raise Malformed(what)


class Tree:
    """The tree over entries (section 1), with its root at every size."""

    def __init__(self, entries: list[bytes]) -> None:
        self.leaves = [sha256(b"\x00" + entry).digest() for entry in entries]
        self._full: dict[tuple[int, int], bytes] = {}

    def root(self, size: int, start: int = 0) -> bytes:
        """The root of `size` leaves from `start` on, in the shape of RFC 6962."""
        if size < 2:
            return self.leaves[start] if size else sha256().digest()
        known = self._full.get((start, size))
        if known is None:
            left = 1 << (size - 1).bit_length() - 1
            pair = self.root(left, start) + self.root(size - left, start + left)
            known = sha256(b"\x01" + pair).digest()
            if size == 2 * left:
                self._full[start, size] = known
        return known


# Section 2: keys, notes, checkpoints


class Key(NamedTuple):
    """A named key; kind 1 signs checkpoints, kind 4 cosigns them."""

    name: str
    kind: int
    data: bytes

    @property
    def id(self) -> bytes:
        """As C2SP signed-note has it."""
        return sha256(self.name.encode() + b"\n" + bytes([self.kind]) + self.data).digest()[:4]


class Checkpoint(NamedTuple):
    """What a note says, whose known signatures hold."""

    size: int
    root: bytes
    signers: set[Key]


def _base64(text: str) -> bytes:
    """Standard, padded and canonical."""
    try:
        data = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except ValueError:
        raise Malformed("base64") from None
    _require(base64.b64encode(data).decode() == text, "base64 in its one spelling")
    return data


def _named(name: str) -> str:
    """[N1]: the name of a key."""
    strange = any(each == "+" or each.isspace() or not each.isprintable() for each in name)
    _require(1 <= len(name.encode()) <= 255 and not strange, "the name of a key")
    return name


def parse_key(text: str, kind: int) -> Key:
    """A verifier key: name, id and key."""
    name, identity, encoded = (text + "++").split("+", 2)
    material = _base64(encoded[:-2])
    _require(len(material) == 33 and material[0] == kind, f"a key of type {kind}")
    curve.decode_key(material[1:])
    key = Key(_named(name), kind, material[1:])
    _require(identity == key.id.hex(), "the id of the key")
    return key


def open_note(data: bytes, log: Key | None, witnesses: list[Key]) -> Checkpoint:
    """[N1] to [N5]; Broken if the log has not signed. Without a key nothing is verified."""
    try:
        content = data.decode()
    except UnicodeDecodeError:
        raise Malformed("a note is UTF-8") from None
    text, blank, rest = content.rpartition("\n\n")
    *lines, end = rest.split("\n")
    _require(blank and text and not end and len(data) <= 65_536, "a text and a blank line")
    _require(1 <= len(lines) <= 128, "1 to 128 signatures")
    _require(not re.search(r"[\x00-\x09\x0b-\x1f]", content), "a note without control characters")
    head = text.split("\n")
    _require(len(head) == 3 and re.fullmatch(r"0|[1-9][0-9]{0,18}", head[1]), "origin, size, root")
    size, root = int(head[1]), _base64(head[2])
    _require(_named(head[0]) and size < 2**63 and len(root) == 32, "size and root")
    _require(size or root == Tree([]).root(0), "the root of no leaves")
    signers = set()
    for line in lines:
        dash, name, encoded = (*line.split(" ", 2), "", "")[:3]
        signature = _base64(encoded)
        _require(dash == "\N{EM DASH}" and _named(name) and len(signature) > 4, "a signature line")
        for key in [log, *witnesses] if log else []:
            if (name, signature[:4]) == (key.name, key.id):
                _require_signed(key, text + "\n", signature[4:])
                signers.add(key)
    if log and (head[0] != log.name or log not in signers):  # [N3]
        raise Broken("05-N4", "the log has not signed the checkpoint")
    return Checkpoint(size, root, signers)


def _require_signed(key: Key, text: str, signature: bytes) -> None:
    """[N4], [N5]: every line of a known key verifies."""
    message, time = text, 0
    if key.kind == 4:
        time, signature = int.from_bytes(signature[:8]), signature[8:]
        message = f"cosignature/v1\ntime {time}\n{text}"
    if time >= 2**63 or not curve.signed(key.data, message.encode(), signature):
        raise Broken("05-N4", "a signature of the note does not hold")


class Policy:
    """[P1], [P2] and C2SP tlog-policy: one log, witnesses, groups, one quorum."""

    def __init__(self, text: bytes) -> None:
        is_text = re.fullmatch(rb"[\t\n\x20-\x7e\x80-\xff]*", text) and len(text) <= 262_144
        _require(is_text and text[-1:] in {b"", b"\n"}, "a policy is lines of text")
        self.logs: list[Key] = []
        self.members: dict[str, Key | tuple[int, list[str]]] = {"none": (0, [])}
        self.quorum, self._used = "", list[str]()
        rows = [re.split("[ \t]+", row.strip(" \t")) for row in text.decode("latin-1").split("\n")]
        rows = [words for words in rows if words[0] and not words[0].startswith("#")]
        for words in rows:
            self._define(words[0], (*words, "")[1], words[2:])
        _require(len(self.logs) == 1 and self.quorum and len(rows) <= 256, "one log, one quorum")
        self.log = self.logs[0]
        self.witnesses = [each for each in self.members.values() if isinstance(each, Key)]

    def _define(self, kind: str, name: str, rest: list[str]) -> None:
        new, count = name not in self.members, len(rest)
        if kind == "log" and count < 2:
            self.logs.append(parse_key(_utf8(name), 1))
        elif kind == "witness" and new and 1 <= count < 3:
            key = parse_key(_utf8(rest[0]), 4)
            known = [each.data for each in self.members.values() if isinstance(each, Key)]
            _require(key.data not in known, "each witness has a key of its own")
            self.members[name] = key
        elif kind == "group" and new and count > 1:
            least = {"any": "1", "all": str(count - 1)}.get(rest[0], rest[0])
            _require(re.fullmatch("[1-9][0-9]{0,3}", least) and int(least) < count, "a threshold")
            self._used += rest[1:]
            defined = self.members.keys() - {"none"} >= set(rest[1:])
            _require(defined and len(set(self._used)) == len(self._used), "members, each once")
            self.members[name] = int(least), rest[1:]
        else:
            _require(kind == "quorum" and not (self.quorum or rest or new), "a line of a policy")
            self.quorum = name

    def open(self, data: bytes) -> Checkpoint:
        """[P2]: signed by the log and cosigned by the quorum."""
        found = open_note(data, self.log, self.witnesses)
        if not self.is_quorum(found.signers):
            raise Broken("05-P2", "too few witnesses cosigned the checkpoint")
        return found

    def is_quorum(self, signers: set[Key], name: str = "") -> bool:
        """[P2]: whether these witnesses are enough."""
        member = self.members[name or self.quorum]
        if isinstance(member, Key):
            return member in signers
        return sum(self.is_quorum(signers, each) for each in member[1]) >= member[0]


def _utf8(text: str) -> str:
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise Malformed("the name of a key is UTF-8") from None


# Section 7: archives


def read_archive(data: bytes) -> tuple[Record, bytes, list[bytes]]:
    """[A1] to [A3] but for the signatures: header, note, entries."""
    if data[:16] != b"gopa-archive/v1\n":
        if data[:13] == b"gopa-archive/" and len(data) > 15:
            raise Unsupported("an archive of a version that is not known")
        raise Malformed("an archive of a log")
    reader, entries = Reader(data), list[bytes]()
    reader.take(16)
    header, note = decode(HEADER, _part(reader, 1061)), _part(reader, 65_536)
    signed = open_note(note, None, [])
    require(header.log == note.split(b"\n")[0], "05-A1")
    while len(entries) < signed.size:  # [A2]: the checkpoint says how many bundles, how wide
        bundle = Reader(_part(reader, 16_777_472))
        width = min(256, signed.size - len(entries))
        held = [bundle.take(int.from_bytes(bundle.take(2))) for _ in range(width)]
        _require(bundle.at == len(bundle.data), "a bundle of its width")
        _require_known(held, len(entries))
        entries += held
    if Tree(entries).root(signed.size) != signed.root:
        raise Broken("05-A3", "the entries do not lead to the checkpoint's root")
    if sha256(data[: reader.at]).digest() != data[reader.at :]:
        raise Broken("05-A3", "the archive is damaged")
    return header, note, entries


def _part(reader: Reader, most: int) -> bytes:
    """[A2]."""
    size = int.from_bytes(reader.take(4))
    _require(size <= most, "a part in its bound")
    return reader.take(size)


def _require_known(raws: list[bytes], start: int) -> None:
    """11, [I5]: said before anything else about the log, which a later version reads otherwise."""
    for number, raw in enumerate(raws):
        if len(raw) > 2 and int.from_bytes(raw[:2]) > 1:
            raise Unsupported(f"entry {start + number} has a version that is not known")


# Section 3 and 04, section 1: entries and messages


def read_entry(index: int, leaf: bytes, raw: bytes) -> Record:
    """[E1] to [E3]: decoded, and signed by its author; with `index` and `leaf`."""
    entry: Record = decode(ENTRY, raw[:-64])
    curve.decode_key(entry.author)
    _require(entry.version == 1 and entry.chunk < entry.chunks, f"version and chunk of {index}")
    kind, payload = b"application/vnd.gopa.entry.v1", raw[:-64]
    sizes = str(len(kind)).encode(), str(len(payload)).encode()
    message = b" ".join([b"DSSEv1", sizes[0], kind, sizes[1], payload])  # 00 [P1]
    if not curve.signed(entry.author, message, raw[-64:]):
        raise Broken("05-E3", f"entry {index} is not signed by its author")
    entry.index, entry.leaf = index, leaf
    return entry


class Assembler:
    """[E1], [E3]: what each entry of a session, in order, completes or shows."""

    def __init__(self) -> None:
        self.slots: dict[Any, Record] = {}
        self.expected: dict[Any, int] = {}
        self.begun: dict[Any, Record] = {}

    def take(self, entry: Record) -> Iterator[Record]:
        """A message, from entry `first` to `index`; or `what` is "twice" or "broken"."""
        stream = entry.author, entry.phase, entry.round
        first = self.slots.setdefault((*stream, entry.seq), entry)
        if first is not entry:
            if first.leaf != entry.leaf:
                yield Record(**{**vars(entry), "what": "twice", "first": first.index})
            return
        begun = self.begun.pop(stream, None)
        if entry.seq == self.expected.get(stream, 0):
            self.expected[stream] = entry.seq + 1
            if entry.chunk == 0 and self._fits(entry):
                begun = Record(**{**vars(entry), "what": "message", "first": entry.index})
            elif entry.chunk and begun is not None and self._continues(begun, entry):
                begun.body += entry.body
                begun.chunk, begun.index, begun.leaf = entry.chunk, entry.index, entry.leaf
            else:
                begun = None
            if begun is not None:
                if entry.chunk + 1 == entry.chunks:
                    yield begun
                else:
                    self.begun[stream] = begun
                return
        yield Record(**{**vars(entry), "what": "broken"})

    @staticmethod
    def _fits(entry: Record) -> bool:
        before = LARGEST_BODY * (entry.chunks - 1)
        return not before or before < LONGEST.get(entry.kind, LARGEST_BODY)

    @staticmethod
    def _continues(begun: Record, entry: Record) -> bool:
        full = len(begun.body) == entry.chunk * LARGEST_BODY and bool(entry.body)
        same = (entry.chunks, entry.kind) == (begun.chunks, begun.kind)
        return full and same and entry.prev_own_leaf == begun.leaf
