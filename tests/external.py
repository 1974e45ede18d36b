"""Test vectors of public standards and projects, kept outside of this tree.

`GOPA_EXTERNAL_VECTORS` names their folder. Tests that need it are skipped where
it is not set; a file that is missing from a folder that is set is a failure.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

VARIABLE: Final = "GOPA_EXTERNAL_VECTORS"


def vectors(name: str) -> Path:
    """The path of one vector file, for example "ristretto255.json".

    Works inside a test and at the top of a test module alike.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"{VARIABLE} is not set", allow_module_level=True)
    path = Path(folder) / name
    if not path.is_file():
        pytest.fail(f"{VARIABLE} is set, but {path} does not exist")
    return path
