"""The page on pairs runs as it stands."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[3] / "docs/learning/pairwise.md").read_text()


def test_its_first_program_runs() -> None:
    program, *_ = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    said = StringIO()
    with redirect_stdout(said):
        exec(compile(program, "pairwise.md", "exec"), {})  # noqa: S102 - ours
    assert "no claim: nothing is hidden by noise" in said.getvalue()
    assert "epsilon 4 for all data of one user" in said.getvalue()
