"""The log of 05: archive, tree, notes, policies, entries; and messages made of entries (04, 1)."""

from __future__ import annotations

import base64
import binascii
import re
from hashlib import sha256
from typing import Any

import curve
from codec import FORMATS, Reader, Record, Unsupported, Wrong, decode, require, strict

LARGEST_BODY = 60_000
LONGEST = {1: 33_626_086, 2: 36, 3: 101_777_495, 4: 14_680_114, 5: 4_194_349, 16:
           2_097_705, 17: 64, 18: 8_459_490, 19: 327, 20: 269_484_457, 21: 2_359_295, 22: 32, 23:
           64, 24: 4_456_415, 25: 2_168_124}  # fmt: skip
"""The longest body of each kind of 04 and 14, by the bounds of its structs."""


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


def _base64(text: str) -> bytes:
    """Standard, padded and canonical."""
    data: bytes = strict(lambda text: binascii.a2b_base64(text.encode(), strict_mode=True), text)
    require(base64.b64encode(data).decode() == text)
    return data


def _is_name(name: str) -> bool:
    """05-N1."""
    strange = any(each == "+" or each.isspace() or not each.isprintable() for each in name)
    return 1 <= len(name.encode()) <= 255 and not strange


def parse_key(encoded: bytes, kind: int) -> Record:
    """A verifier key: name, id and data. Kind 1 signs checkpoints, kind 4 cosigns them."""
    name, identity, material = (strict(bytes.decode, encoded) + "++").split("+", 2)
    data = _base64(material[:-2])
    require(len(data) == 33 and data[0] == kind and _is_name(name))
    curve.decode_key(data[1:])
    key_id = sha256(name.encode() + b"\n" + data).digest()[:4]  # C2SP signed-note
    require(identity == key_id.hex())
    return Record(name=name, id=key_id, data=data)


def open_note(data: bytes, *keys: Record, lax: bool = False) -> Record:
    """05-N1 to 05-N5: size, root, signers. The first key is the log's; `lax`: 11-K3."""
    content = strict(bytes.decode, data)
    text, _, rest = content.rpartition("\n\n")
    *lines, end = rest.split("\n")
    require(text and not end and len(data) <= 65_536 and 1 <= len(lines) <= 128)
    require(not re.search(r"[\x00-\x09\x0b-\x1f]", content))
    head = text.split("\n")
    require(len(head) == 3 and _is_name(head[0]) and re.fullmatch(r"0|[1-9][0-9]{0,18}", head[1]))
    size, root = int(head[1]), _base64(head[2])
    require(size < 2**63 and len(root) == 32 and (size or root == Tree([]).root(0)))
    signers = set()
    for line in lines:
        dash, name, encoded = (*line.split(" ", 2), "", "")[:3]
        signature = _base64(encoded)
        require(dash == "\N{EM DASH}" and _is_name(name) and len(signature) > 4)
        for key in keys:
            if (name, signature[:4]) == (key.name, key.id):  # 05-N4: every line of a known key
                time, said, signature = 0, text + "\n", signature[4:]
                if key.data[0] == 4:  # 05-N5
                    time, signature = int.from_bytes(signature[:8]), signature[8:]
                    said = f"cosignature/v1\ntime {time}\n{text}\n"
                good = time < 2**63 and curve.signed(key.data[1:], said.encode(), signature)
                require(good or (lax and key.data[0] == 4), "05-N4")
                signers |= {key.data} if good else set()
    for log in keys[:1]:
        require(head[0] == log.name and log.data in signers, "05-N4")  # and 05-N3
    return Record(size=size, root=root, signers=signers)


class Policy:
    """05-P1, 05-P2 and C2SP tlog-policy: one log, witnesses, groups, one quorum."""

    def __init__(self, text: bytes) -> None:
        require(re.fullmatch(rb"(?:[\t\x20-\x7e\x80-\xff]*\n)*", text) and len(text) <= 262_144)
        rows = [re.split(rb"[ \t]+", row.strip(b" \t")) for row in text.split(b"\n")]
        rows = [words for words in rows if words[0] and not words[0].startswith(b"#")]
        self.logs: list[Record] = []
        self.witnesses: list[Record] = []
        self.members: dict[bytes, Any] = {b"none": (0, [])}
        self.quorum, self._used = b"", list[bytes]()
        for kind, *words in rows:
            self._define(kind, (*words, b"")[0], words[1:])
        require(len(self.logs) == 1 and self.quorum and len(rows) <= 256)
        self.log = self.logs[0]

    def _define(self, kind: bytes, name: bytes, rest: list[bytes]) -> None:
        new, count = name not in self.members, len(rest)
        if kind == b"log" and count < 2:
            self.logs.append(parse_key(name, 1))
        elif kind == b"witness" and new and 1 <= count < 3:
            key = self.members[name] = parse_key(rest[0], 4)
            require(key.data not in [each.data for each in self.witnesses])
            self.witnesses.append(key)
        elif kind == b"group" and new and count > 1:
            least = {b"any": b"1", b"all": b"%d" % (count - 1)}.get(rest[0], rest[0])
            require(re.fullmatch(b"[1-9][0-9]{0,3}", least) and int(least) < count)
            self._used += rest[1:]
            require(self.members.keys() - {b"none"} >= set(rest[1:]))
            require(len(set(self._used)) == len(self._used))
            self.members[name] = int(least), rest[1:]
        else:
            require(kind == b"quorum" and not (self.quorum or rest or new))
            self.quorum = name

    def open(self, data: bytes, *, lax: bool = False) -> Record:
        """05-P2: a checkpoint that the log signed; `enough` if the quorum cosigned it."""
        found = open_note(data, self.log, *self.witnesses, lax=lax)
        return found.changed(enough=self._is_quorum(found.signers, self.quorum))

    def _is_quorum(self, signers: set[bytes], name: bytes) -> bool:
        member = self.members[name]
        if isinstance(member, Record):
            return member.data in signers
        least: int = member[0]
        return sum(self._is_quorum(signers, each) for each in member[1]) >= least


# Section 7: archives


def read_archive(data: bytes) -> tuple[Record, bytes, list[bytes]]:
    """05-A1 to 05-A3 but for the signatures: header, note, entries."""
    if data[:16] != b"gopa-archive/v1\n":
        if data[:13] == b"gopa-archive/" and len(data) > 15:
            raise Unsupported("an archive of a version that is not known")
        raise Wrong
    reader, entries = Reader(data), list[bytes]()
    reader.take(16)
    header, note = decode("ArchiveHeader", reader.part(4, 1061)), reader.part(4, 65_536)
    signed = open_note(note)
    require(header.log == note.split(b"\n")[0], "05-A1")
    while len(entries) < signed.size:  # 05-A2: the checkpoint says how many bundles, how wide
        bundle = Reader(reader.part(4, 16_777_472))
        held = [bundle.part(2, 65_535) for _ in range(min(256, signed.size - len(entries)))]
        require(bundle.at == len(bundle.data))
        for raw in held:  # 11-I5: before anything else about the log
            if len(raw) > 2 and int.from_bytes(raw[:2]) > 1:
                raise Unsupported("an entry of a version that is not known")
        entries += held
    require(Tree(entries).root(signed.size) == signed.root, "05-A3")
    require(sha256(data[: reader.at]).digest() == data[reader.at :], "05-A3")
    return header, note, entries


# Section 3 and 04, section 1: entries and messages


def read_entry(index: int, leaf: bytes, raw: bytes) -> Record:
    """05-E1 to 05-E3: decoded, and signed by its author; with `index` and `leaf`."""
    payload = raw[:-64]
    entry: Record = decode("Entry", payload)
    curve.decode_key(entry.author)
    require(entry.version == 1 and entry.chunk < entry.chunks)
    kind = b"application/vnd.gopa.entry.v1"
    message = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)  # 00-P1
    require(curve.signed(entry.author, message, raw[-64:]), "05-E3")
    return entry.changed(index=index, first=index, leaf=leaf)


def chunks_of(size: int) -> int:
    """04-E1: how many entries a body takes of which all but the last are full."""
    return max(1, -(-size // LARGEST_BODY))


def cut_of(kind: int, beginning: bytes, chunks: int) -> tuple[int, int]:
    """04-E1: where what stands alone in the first chunk ends, and where sums do; or 0."""
    end = 43 + int.from_bytes(beginning[40:43])
    if kind == 4 and end > LARGEST_BODY:
        return 43, end
    return (end_of_head(kind, beginning) if chunks > 1 else 0), 0


def end_of_head(kind: int, beginning: bytes) -> int:
    """04-E1: where the head of a commit or a prove message ends; 0 unless it fits a chunk."""
    form, count = {18: ("Commit", 5), 25: ("Prove", 3)}.get(kind, ("Commit", 0))
    reader = Reader(beginning[:LARGEST_BODY])
    try:
        for field in FORMATS[form][0][:count]:
            reader.field(*field)
    except Wrong:
        return 0
    return reader.at


def place_of(chunk: int, first: int, sums: int) -> int:
    """04-E1: where a chunk begins in its body, with what `cut_of` gives."""
    if not first or not chunk:
        return chunk * LARGEST_BODY
    place = first + (chunk - 1) * LARGEST_BODY
    if place < sums or not sums:
        return place
    return sums + (chunk - 1 - chunks_of(sums - first)) * LARGEST_BODY


class Assembler:
    """04-E1, 04-E3: what each entry of a session, in order, completes or shows."""

    def __init__(self) -> None:
        self.slots: dict[Any, Record] = {}
        self.expected: dict[Any, int] = {}
        self.begun: dict[Any, Record] = {}

    def take(self, entry: Record) -> Record | None:
        """A message at `seq`, from `first` to `index`; or `what` is "twice" or "broken"."""
        stream = entry.author, entry.phase, entry.round
        held = self.slots.setdefault((*stream, entry.seq), entry)
        if held is not entry:
            same = held.leaf == entry.leaf
            return None if same else entry.changed(what="twice", first=held.index)
        begun = self.begun.pop(stream, None)
        message = entry.changed(what="message")
        if entry.seq != self.expected.get(stream, 0):
            return entry.changed(what="broken")
        self.expected[stream] = entry.seq + 1
        short = sum(map(bool, cut_of(entry.kind, entry.body, entry.chunks)))
        before = LARGEST_BODY * max(0, entry.chunks - 1 - short)
        if entry.chunk:
            if begun is None or not self._continues(begun, entry):
                return entry.changed(what="broken")
            seen = max(begun.seen_size, entry.seen_size)
            body = begun.body + entry.body
            message = message.changed(first=begun.first, seq=begun.seq, body=body, seen_size=seen)
        elif before and before >= LONGEST.get(entry.kind, LARGEST_BODY):
            return entry.changed(what="broken")
        if entry.chunk + 1 == entry.chunks:
            return message
        self.begun[stream] = message
        return None

    @staticmethod
    def _continues(begun: Record, entry: Record) -> bool:
        cut = cut_of(begun.kind, begun.body, begun.chunks)
        size = len(begun.body) + len(entry.body)
        full = len(begun.body) == place_of(entry.chunk, *cut)
        full = full and len(begun.body) < size <= place_of(entry.chunk + 1, *cut)
        same = (entry.chunks, entry.kind) == (begun.chunks, begun.kind)
        return full and same and bool(entry.prev_own_leaf == begun.leaf)
