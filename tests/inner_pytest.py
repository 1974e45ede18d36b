"""Runs pytest inside a test of pytest, without a process of its own."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

# These watch over the whole process, and the outer run has them already.
_OUTER: Final = (
    "cacheprovider", "xdist", "faulthandler", "unraisableexception", "threadexception",
    "hypothesispytest",
)  # fmt: skip


def run_inside(place: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of `pytest` with these arguments, started in a folder.

    What a test there takes from its own folder is forgotten afterwards; modules of this library
    stay loaded, so that there is no second copy of a class.
    """
    out = io.StringIO()
    options = [part for name in _OUTER for part in ("-p", f"no:{name}")]
    with _as_before(place), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = pytest.main([*options, *arguments])
    return int(code), out.getvalue()


@contextlib.contextmanager
def _as_before(place: Path) -> Iterator[None]:
    was, path, finders = Path.cwd(), [*sys.path], [*sys.meta_path]
    modules, environment = set(sys.modules), dict(os.environ)
    os.chdir(place)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        os.chdir(was)
        sys.path[:], sys.meta_path[:] = path, finders
        os.environ.clear()
        os.environ.update(environment)
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).parent == place:
                del sys.modules[name]
