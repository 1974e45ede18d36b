"""Content encodings: what a log may send is read, and a few bytes never become many."""

from __future__ import annotations

import gzip
import zlib

import pytest

from bulletin_board.compression import gzipped, takes_gzip, without_encoding
from wire.errors import MalformedMessage

DATA = bytes(range(256)) * 100


@pytest.mark.parametrize("encoding", ["gzip", " GZIP "])
def test_gzip_is_undone(encoding: str) -> None:
    assert without_encoding(gzipped(DATA), encoding, len(DATA)) == DATA
    assert without_encoding(gzip.compress(DATA), encoding, len(DATA)) == DATA
    assert gzipped(DATA) == gzipped(DATA)


@pytest.mark.parametrize("encoding", ["", "identity"])
def test_what_is_not_encoded_stays(encoding: str) -> None:
    assert without_encoding(DATA, encoding, len(DATA)) == DATA


def test_a_few_bytes_do_not_become_many() -> None:
    bomb = gzipped(bytes(10_000_000))
    assert len(bomb) < 100_000
    assert len(without_encoding(bomb, "gzip", 10_000_000)) == 10_000_000
    assert len(without_encoding(bomb, "gzip", 1_000)) == 1_001


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (gzipped(DATA)[:-1], "gzip"),
        (gzipped(DATA) + b"x", "gzip"),
        (gzipped(DATA) + gzipped(DATA), "gzip"),
        (b"", "gzip"),
        (DATA, "gzip"),
        (zlib.compress(DATA), "gzip"),
        (zlib.compress(DATA), "deflate"),
        (gzipped(gzipped(DATA)), "gzip, gzip"),
        (DATA, "br"),
    ],
)
def test_anything_else_is_refused(data: bytes, encoding: str) -> None:
    assert without_encoding(gzipped(DATA), "gzip", 10**6) == DATA
    with pytest.raises(MalformedMessage):
        without_encoding(data, encoding, 10**6)


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True),
        ("identity, GZIP;q=0.5", True),
        ("br;q=1.0, gzip;q=1", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("*", False),
        ("xgzip", False),
    ],
)
def test_who_takes_gzip(accepted: str, takes: bool) -> None:
    assert takes_gzip(accepted) is takes
