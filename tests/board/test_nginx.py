"""The documented configuration of nginx keeps to itself what is for the operator."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

PAGE: Final = (Path(__file__).parents[2] / "docs" / "board" / "nginx.md").read_text()
LOCATIONS: Final = dict(re.findall(r"location (\S+(?: /\S*)?) \{\n(.*?)\n    \}", PAGE, re.DOTALL))
"""The directives of each location."""


def test_counters_are_not_public() -> None:
    assert "proxy_pass http://127.0.0.1:8765;" in LOCATIONS["/"]
    assert "deny all;" in LOCATIONS["= /metrics"]
    assert "proxy_pass" not in LOCATIONS["= /metrics"]
