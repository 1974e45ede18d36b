"""Values from files, as `gopa join` and `gopa simulate` read them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gopa.cli.options import read_value
from wire.errors import UsageError


def test_a_file_of_several_arrays_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "value.npy"
    np.save(path, np.array([0.5, 0.25]))
    assert read_value(None, path).tolist() == [0.5, 0.25]
    np.save(path, np.array(0.5))
    assert read_value(None, path) == 0.5
    with path.open("wb") as file:
        np.savez(file, np.array([0.5, 0.25]))
    with pytest.raises(UsageError):
        read_value(None, path)
