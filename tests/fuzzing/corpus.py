"""Real messages to begin with: everything that stands in the published transcripts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO, Final

from bulletin_board import Checkpoint, Submission
from bulletin_board.archive import ArchiveParts
from bulletin_board.note import SignedNote
from gopa.contract.framing import Assembler, Message, Posted

TRANSCRIPTS: Final = Path(__file__).parents[2] / "specs" / "vectors" / "transcripts"
_MOST: Final = 40


@cache
def entries() -> Sequence[bytes]:
    """Entries of all transcripts, the same bytes once."""
    found: dict[bytes, None] = {}
    for path in sorted(TRANSCRIPTS.glob("*.gopa")):
        with path.open("rb") as stream:
            for bundle in _bundles(stream):
                found.update(dict.fromkeys(bundle))
    return tuple(found)


@cache
def bodies() -> Mapping[int, Sequence[bytes]]:
    """Bodies of whole messages by kind: of each length some."""
    found: dict[int, dict[int, list[bytes]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(TRANSCRIPTS.glob("*.gopa")):
        for message in _messages(path):
            same = found[message.kind][len(message.body)]
            if len(same) < 3 and message.body not in same:
                same.append(message.body)
    return {
        kind: tuple(body for same in by_length.values() for body in same)[:_MOST]
        for kind, by_length in found.items()
    }


def archives() -> Sequence[bytes]:
    """The smallest transcripts, as files."""
    paths = sorted(TRANSCRIPTS.glob("*.gopa"), key=lambda path: path.stat().st_size)
    return tuple(path.read_bytes() for path in paths[:6])


def _bundles(stream: BinaryIO) -> Iterator[list[bytes]]:
    parts = ArchiveParts(stream)
    return parts.bundles(Checkpoint.from_text(SignedNote.parse(parts.note).text))


def _messages(path: Path) -> Sequence[Message]:
    assembler = Assembler()
    found: list[Message] = []
    with path.open("rb") as stream:
        raws = [raw for bundle in _bundles(stream) for raw in bundle]
    for index, raw in enumerate(raws):
        submission = Submission.decode(raw)
        posted = Posted(index, submission.leaf, submission.entry)
        found += [each for each in assembler.observe(posted) if isinstance(each, Message)]
    return found
