"""All attacks there are, the catalogue and files of one's own, and what comes of many of them."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import MappingProxyType
from typing import Final

import gopa.adversary.catalogue  # noqa: F401 - it registers its attacks
from gopa.adversary.attack import KNOWN, Attack, AttackResult
from gopa.adversary.served import run_served
from gopa.executors.tasks import keep_to_one_core
from wire.errors import GopaError, UsageError

ALL: Final = "all"


def attacks() -> Mapping[str, Attack]:
    """All attacks by name, in the order of the catalogue."""
    return MappingProxyType(KNOWN)


def named(name: str) -> Attack:
    """The attack of this name; `UsageError` suggests others."""
    if name in KNOWN:
        return KNOWN[name]
    close = difflib.get_close_matches(name, KNOWN, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "`gopa attack --list` has all"
    raise UsageError(f"no attack is named {name!r}: {hint}", "name")


def chosen(names: Sequence[str]) -> list[Attack]:
    """Attacks by their names, those of a family by its name, or `all`; each once.

    Raises:
        UsageError: a name that is none of these.
    """
    families = {each.family for each in KNOWN.values()}
    found: dict[str, Attack] = {}
    for name in names:
        if name == ALL:
            found |= KNOWN
        elif name in families:
            found |= {each.name: each for each in KNOWN.values() if each.family == name}
        else:
            found[name] = named(name)
    return list(found.values())


def of_family(family: str, among: Sequence[Attack]) -> list[Attack]:
    """The attacks among these that belong to a family.

    Raises:
        UsageError: there is no such family; the message names all.
    """
    families = sorted({each.family for each in KNOWN.values()})
    if family not in families:
        raise UsageError(f"must be one of {', '.join(families)}", "--family")
    return [each for each in among if each.family == family]


def run_all(
    names: Sequence[str], *, jobs: int = 1, load: Sequence[Path] = (), served: bool = False
) -> Iterator[AttackResult]:
    """One row for each attack, in the order of `names`.

    `load` are Python files with attacks of one's own; every process reads them. With `served`
    all sessions are over HTTP, on the loopback interface: see `gopa.adversary.served`.

    Raises:
        UsageError: an unknown name, a file that cannot be loaded, or with `served` an attack
            that cannot be tried like this.
    """
    for path in load:
        load_attacks(path)
    for name in names:
        named(name)
    run = _run_served if served else _run
    if jobs == 1:
        yield from map(run, names)
        return
    with ProcessPoolExecutor(jobs, initializer=_begin, initargs=(tuple(load),)) as pool:
        yield from pool.map(run, names)


def load_attacks(path: Path) -> None:
    """Runs a Python file whose attacks register themselves; a second time does nothing.

    Raises:
        UsageError: there is no such file, it is no Python, or it fails when it is run.
    """
    full = path.resolve()
    if full in _LOADED:
        return
    spec = spec_from_file_location(f"gopa_attacks_{path.stem}", full)
    if spec is None or spec.loader is None or not full.is_file():
        raise UsageError(f"{path} is no Python file", "load")
    try:
        spec.loader.exec_module(module_from_spec(spec))
    except GopaError:
        raise
    except Exception as error:
        raise UsageError(f"{path} cannot be loaded: {_place(error)}", "load") from error
    _LOADED.add(full)


def _place(error: Exception) -> str:
    """What went wrong, and in which line of which file."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = (
        "" if isinstance(error, SyntaxError) else f" ({Path(last.filename).name}, {last.lineno})"
    )
    return f"{type(error).__name__}: {error}{where}"


_LOADED: set[Path] = set()


def _begin(load: tuple[Path, ...]) -> None:
    keep_to_one_core()
    for path in load:
        load_attacks(path)


def _run(name: str) -> AttackResult:
    with _errors_of_own_files(name):
        return named(name).run()


def _run_served(name: str) -> AttackResult:
    with _errors_of_own_files(name):
        return run_served(named(name))


@contextmanager
def _errors_of_own_files(name: str) -> Iterator[None]:
    """A context that turns errors of a loaded file into one line with the file's line.

    All other errors are ours, and go on with everything that helps to find them.
    """
    try:
        yield
    except GopaError:
        raise
    except Exception as error:
        own = {str(path) for path in _LOADED}
        frames = traceback.extract_tb(error.__traceback__)
        last = next((each for each in reversed(frames) if each.filename in own), None)
        if last is None:
            raise
        where = f"{Path(last.filename).name}, line {last.lineno}, `{last.line}`"
        said = f"{type(error).__name__}: {error}"
        raise UsageError(f"{where} fails in the attack {name}: {said}", "load") from error
