"""The names that users import, and the examples in docstrings."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import gopa
import zkp
from gopa.aggregation.transcript import SessionTranscript
from gopa.cli.doctor import PACKAGES
from tests.built_on import BUILT_ON_OTHERS
from wire.secret import Guarded

MOST_NAMES = 50


OTHERS_NAME = "mean"


MODULES = sorted(
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
    if not module.name.endswith(("__main__", "_native"))
    and not module.name.startswith(BUILT_ON_OTHERS)
)


def test_every_public_name_survives_the_import_of_every_module() -> None:
    """A submodule that shares a function's name would replace it when imported."""
    before = {name: getattr(gopa, name) for name in dir(gopa)}
    for module in MODULES:
        importlib.import_module(module)
    for name, value in before.items():
        assert getattr(gopa, name) is value
        assert type(value) is not ModuleType


def guarded_classes() -> list[type[Guarded]]:
    """All of them in the packages, whatever module they stand in."""
    for module in MODULES:
        importlib.import_module(module)
    every, below = list[type[Guarded]](), [Guarded]
    while below:
        more = below.pop().__subclasses__()
        every += [each for each in more if each.__module__.split(".")[0] != "tests"]
        below += more
    return every


def test_no_dataclass_takes_the_guard_off() -> None:
    """`@dataclass` writes `__eq__` and `__hash__` of its own, unless it is told not to."""

    @dataclass(frozen=True)
    class Leaks(Guarded):
        secret: bytes

    guards = ("__eq__", "__hash__", "__reduce_ex__")
    assert Leaks.__eq__ is not Guarded.__eq__
    assert len(every := guarded_classes()) > 40
    assert [
        (each.__qualname__, guard)
        for each in every
        for guard in guards
        if getattr(each, guard) is not getattr(Guarded, guard)
    ] == []
    assert [
        each for each in every if "dataclass" in getattr(each.__repr__, "__qualname__", "")
    ] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_all_lists_what_exists_once_and_in_order(package: str) -> None:
    module = importlib.import_module(package)
    names = list(getattr(module, "__all__", []))
    assert names == sorted(set(names), key=lambda name: (not name.isupper(), name))
    for name in names:
        assert hasattr(module, name)


def test_users_see_what_they_call_and_proofs_stay_in_their_packages() -> None:
    assert dir(gopa) == vars(gopa)["__all__"]
    assert len(dir(gopa)) <= MOST_NAMES
    assert not set(dir(gopa)) & set(zkp.__all__)
    proof = "prove_range"
    assert proof in zkp.__all__
    with pytest.raises(AttributeError):
        getattr(gopa, proof)


@pytest.mark.slow
def test_whole_modules_are_there_without_an_import_of_their_own() -> None:
    code = "import gopa; gopa.noise.rounded_gaussian; gopa.accounting.Loss; gopa.graph.grid"
    subprocess.run([sys.executable, "-c", f"{code}; gopa.adversary.distinguish"], check=True)


def test_no_module_is_imported_before_its_name_is_used() -> None:
    slow = "{'numpy', 'zkp', 'gopa.aggregation', 'gopa.auditing', 'gopa.sessions'}"
    code = f"import gopa, sys; dir(gopa); assert not {slow} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_type_checkers_are_told_the_same_names() -> None:
    stub = ast.parse(Path(gopa.__file__).with_suffix(".pyi").read_text())
    rows = [
        (each.name, each.asname, node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    ]
    assert all(name == handed_on for name, handed_on, _ in rows)
    modules = {name: module for name, _, module in rows if module != "gopa"}
    assert modules == vars(gopa)["_MODULES"]
    assert {name for name, _, module in rows if module == "gopa"} == vars(gopa)["_WHOLE"]
    assert len(rows) == len({name for name, _, _ in rows})


def refused(call: Callable[[], object]) -> gopa.UsageError:
    with pytest.raises(gopa.UsageError) as caught:
        call()
    return caught.value


def field_of(call: Callable[[], object]) -> str:
    return refused(call).field


def message_of(call: Callable[[], object]) -> str:
    return refused(call).message


def test_first_guesses_end_in_errors_that_name_the_way() -> None:
    values, target = [0.5] * 30, {"epsilon": 4.0, "delta": 1e-6, "mode": "off"}
    average: Any = gopa.average
    result = average(values, **target)
    assert field_of(lambda: average(values, epsilon=1)) == "delta"
    assert field_of(lambda: average(values)) == "plan"
    assert "range=(low, high)" in message_of(lambda: average(values, bounds=(0, 9), **target))
    assert "epsilon" in message_of(lambda: average(values, epsilom=1, delta=1e-6))
    assert field_of(lambda: gopa.audit(None)) == "source"  # type: ignore[arg-type]
    assert result.transcript.session is None
    assert field_of(lambda: result.transcript.archive("log.gopa")) == "mode"
    for name in ("anchors", "keep", "check", "log"):
        assert hasattr(SessionTranscript, name) or name in SessionTranscript.__annotations__
        given = () if name in {"check", "log"} else ("a place",)
        assert field_of(partial(getattr(result.transcript, name), *given)) == "mode"
    with pytest.raises(AttributeError, match="average"):
        getattr(gopa, OTHERS_NAME)


def test_a_plan_takes_the_number_of_parties_first_and_names_wrong_keywords() -> None:
    plan: Any = gopa.plan
    assert plan(30, epsilon=4, delta=1e-6) == plan(n=30, epsilon=4, delta=1e-6)
    wrong = message_of(lambda: plan(30, epsilon=4, delta=1e-6, bounds=(0, 9)))
    assert "range=(low, high)" in wrong
    assert "dropout" in message_of(lambda: plan(30, epsilon=4, delta=1e-6, dropouts=0.1))


ROOT = Path(__file__).resolve().parents[2]
NAMES = dir(gopa)


SHOWN = ("audit", "average", "histogram", "plan", "sum", "variance")


"""Functions that users begin with: each has an example."""


PLAIN: pydoc.TextDoc = vars(pydoc)["plaintext"]


RAW = re.compile(r"\\x[0-9a-f]{2}|[0-9a-f]{32}")


"""Bytes and keys, as a repr spells them."""


def finder_of(module: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module))
    return [each for each in found if each.examples]


EXAMPLES = {
    each.name: each
    for module in (*PACKAGES, *MODULES)
    if ">>> " in Path(importlib.util.find_spec(module).origin).read_text()  # type: ignore[union-attr, arg-type]
    for each in finder_of(module)
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_in_docstrings_do_what_they_show(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example = EXAMPLES[name]
    example.globs = {"gopa": gopa}
    said: list[str] = []
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert found.attempted
    assert not found.failed, "".join(said)


ROOMS = [
    name
    for name in (*PACKAGES, *MODULES)
    if Path(importlib.util.find_spec(name).origin).name == "__init__.py"  # type: ignore[union-attr, arg-type]
    and not name.startswith(("gopa.adversary.", "gopa.sessions."))  # their room shows them
]
ELSEWHERE = re.compile(r"`((?:docs|examples|tests)/[\w./-]+)`")
"""A page or a program that shows a room at work, where no lines of a docstring can."""


def without_example(room: str) -> bool:
    text = importlib.import_module(room).__doc__ or ""
    pages = ELSEWHERE.findall(text)
    assert all((ROOT / page).exists() for page in pages), pages
    return ">>> " not in text and not pages


def test_every_room_shows_what_it_is_for() -> None:
    assert "zkp.sigma" in ROOMS
    assert [room for room in ROOMS if without_example(room)] == []
    assert without_example("gopa.support.version")


def gone(room: str, text: str) -> set[str]:
    """Names in the prose of a door that neither a file nor the code of the room has."""
    folder = Path(importlib.util.find_spec(room).origin).parent  # type: ignore[union-attr, arg-type]
    prose = "\n".join(line for line in text.splitlines() if ">>>" not in line)
    code = " ".join(file.read_text() for file in folder.rglob("*.py")).replace(text, "")
    modules = {path.stem for path in folder.iterdir()}
    names = set(re.findall(r"`([a-z_]\w*)`", prose)) - modules
    return {name for name in names if not re.search(rf"\b{name}\b", code)}


@pytest.mark.parametrize("room", ROOMS)
def test_doors_lead_to_what_is_there(room: str) -> None:
    assert gone(room, importlib.import_module(room).__doc__ or "") == set()
    assert gone(room, "Read `no_such_module` first.") == {"no_such_module"}


def test_an_example_that_is_wrong_is_found() -> None:
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner().run(wrong, out=lambda _: None).failed == 1


@pytest.mark.parametrize("name", SHOWN)
def test_who_begins_finds_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(gopa, name)) or "")


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_no_raw_keys(name: str) -> None:
    text = pydoc.render_doc(getattr(gopa, name), renderer=PLAIN)
    assert len(text) > 100
    assert RAW.search(text) is None, RAW.search(text)


def test_raw_keys_would_be_found() -> None:
    def ask(key: bytes = bytes(range(200, 232))) -> bytes:
        return key

    assert RAW.search(pydoc.render_doc(ask, renderer=PLAIN))
