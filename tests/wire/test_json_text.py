"""Deep nesting ends a reader in C, and the process with it, where somebody raised the limit."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from wire.strict_json import MOST_DEPTH, read_json

DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    "data",
    [
        b"[" * (MOST_DEPTH + 1) + b"]" * (MOST_DEPTH + 1),
        b'["]",' * (MOST_DEPTH + 1) + b"1" + b"]" * (MOST_DEPTH + 1),
        b'["\\"]",' * (MOST_DEPTH + 1) + b"1" + b"]" * (MOST_DEPTH + 1),
        b'{"a":' * (MOST_DEPTH + 1) + b"1" + b"}" * (MOST_DEPTH + 1),
        json.dumps([1]).encode("utf-16"),
        b"[1] 2",
        b"",
        b"\xff",
    ],
    ids=["lists", "strings", "escapes", "objects", "other encoding", "more", "empty", "no text"],
)
def test_what_is_too_deep_or_no_json_is_refused(data: bytes) -> None:
    assert read_json(b"[" * MOST_DEPTH + b"]" * MOST_DEPTH) is not None
    assert read_json(b'["' + b"[" * 1_000 + b'", {"a": [1, null]}]') == [
        "[" * 1_000,
        {"a": [1, None]},
    ]
    with pytest.raises(ValueError, match=r"."):
        read_json(data)


def test_members_can_be_looked_at() -> None:
    assert read_json(b'{"a": 1, "a": 2}', pairs=list) == [("a", 1), ("a", 2)]


def test_a_raised_limit_of_recursion_ends_no_process() -> None:
    program = f"""
import sys
from bulletin_board.admission import parse_problem
from wire.errors import MalformedMessage
sys.setrecursionlimit(10_000_000)
try:
    parse_problem({DEEP[:10]!r}[:1] * 100_000 + b"]" * 100_000)
except MalformedMessage:
    print("refused")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "refused\n"
