"""Stops the import of `gopa` where another project's package stands in front of ours.

Our packages have short names that others use too. Python takes the first on its path, so a
foreign `wire` or `zkp` would fail somewhere inside with a riddle, or be used for ours.
Importing this module is the check. It relies on nothing that could itself be foreign.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

SIBLINGS: Final = ("wire", "commitments", "zkp", "bulletin_board")


def _require_own(name: str, home: Path) -> None:
    spec = find_spec(name)
    if spec is None:
        raise ImportError(f"gopa's own package {name} is missing: reinstall gopa", name=name)
    # A folder without `__init__.py` has no origin. It hides an editable install, no other.
    places = [spec.origin] if spec.origin else spec.submodule_search_locations or []
    for place in (Path(found).resolve() for found in places):
        if place != home / name / "__init__.py":
            raise ImportError(
                f"{place} stands in front of gopa's own package {name}: "
                "remove it, or start Python elsewhere or in a fresh virtual environment",
                name=name,
                path=str(place),
            )


for _name in SIBLINGS:
    _require_own(_name, Path(__file__).resolve().parents[2])
