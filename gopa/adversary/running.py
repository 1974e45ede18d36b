"""Runs many attacks, several at once if asked, and yields their rows in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from gopa.adversary.attack import Row
from gopa.adversary.library import named
from gopa.executors.cores import keep_to_one_core
from wire.errors import UsageError


def run_all(names: Sequence[str], *, jobs: int = 1, load: Sequence[Path] = ()) -> Iterator[Row]:
    """One row for each attack, in the order of `names`.

    `load` are Python files with attacks of one's own; every process reads them.

    Raises:
        UsageError: an unknown name, or a file that cannot be loaded.
    """
    for path in load:
        load_attacks(path)
    for name in names:
        named(name)
    if jobs == 1:
        yield from map(_run, names)
        return
    with ProcessPoolExecutor(jobs, initializer=_begin, initargs=(tuple(load),)) as pool:
        yield from pool.map(_run, names)


def load_attacks(path: Path) -> None:
    """Run a Python file whose attacks register themselves; a second time does nothing.

    Raises:
        UsageError: there is no such file, or it is no Python.
    """
    full = path.resolve()
    if full in _LOADED:
        return
    spec = spec_from_file_location(f"gopa_attacks_{path.stem}", full)
    if spec is None or spec.loader is None or not full.is_file():
        raise UsageError(f"{path} is no Python file", "load")
    _LOADED.add(full)
    spec.loader.exec_module(module_from_spec(spec))


_LOADED: set[Path] = set()


def _begin(load: tuple[Path, ...]) -> None:
    keep_to_one_core()
    for path in load:
        load_attacks(path)


def _run(name: str) -> Row:
    return named(name).run()
