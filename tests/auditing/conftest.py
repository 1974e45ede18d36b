"""`gopa audit` as a fixture."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gopa import cli


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str


Gopa = Callable[..., Answer]


@pytest.fixture
def gopa(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Gopa:
    """`gopa audit` in this process, through its entry point."""

    def run(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["gopa", "audit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsysbinary.readouterr()
        assert isinstance(ended.value.code, int)
        return Answer(ended.value.code, out.decode(), err.decode())

    return run
