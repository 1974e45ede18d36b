"""Errors carry facts, and carry them across processes."""

from __future__ import annotations

import ast
import copy
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NoReturn

import pytest

import wire
from wire import errors
from wire.errors import (
    Aborted,
    BackendError,
    ComputationFault,
    FaultyBoard,
    FaultyParty,
    GopaError,
    InvalidProof,
    InvalidSignature,
    MalformedMessage,
    ProtocolError,
    SuspectedPartyOrBoard,
    Unattributed,
    UsageError,
)

PARTY = bytes(range(32))

EXAMPLES: list[tuple[GopaError, dict[str, object]]] = [
    (GopaError("m"), {}),
    (UsageError("m", "edges[3].key"), {"message": "m", "field": "edges[3].key"}),
    (UsageError("m"), {"message": "m", "field": ""}),
    (BackendError("m"), {}),
    (ComputationFault("m"), {}),
    (Aborted("m", "masked"), {"message": "m", "released": "masked"}),
    (Aborted("m"), {"message": "m", "released": "none"}),
    (ProtocolError("m"), {}),
    (MalformedMessage("m", "f", 7), {"message": "m", "field": "f", "offset": 7}),
    (MalformedMessage("m"), {"message": "m", "field": "", "offset": None}),
    (InvalidProof("m", "06-B3", (1, 5)), {"message": "m", "check": "06-B3", "culprits": (1, 5)}),
    (InvalidProof("m"), {"message": "m", "check": "", "culprits": ()}),
    (InvalidSignature("m", "00-E8"), {"message": "m", "check": "00-E8", "culprits": ()}),
    (FaultyParty("m", PARTY, b"e"), {"message": "m", "party": PARTY, "evidence": b"e"}),
    (SuspectedPartyOrBoard("m", PARTY), {"message": "m", "party": PARTY}),
    (FaultyBoard("m", b"e"), {"message": "m", "evidence": b"e"}),
    (Unattributed("m"), {}),
]

IDS = [f"{index}-{type(error).__name__}" for index, (error, _) in enumerate(EXAMPLES)]


def throw(index: int) -> NoReturn:
    raise EXAMPLES[index][0]


def check(error: BaseException, index: int) -> None:
    original, attributes = EXAMPLES[index]
    assert type(error) is type(original)
    assert error.args == original.args
    assert str(error) == str(original)
    assert {name: getattr(error, name) for name in attributes} == attributes
    assert all(value in error.args for value in attributes.values())


def family(cls: type[GopaError]) -> set[type[GopaError]]:
    below = [family(sub) for sub in cls.__subclasses__() if sub.__module__ == errors.__name__]
    return {cls}.union(*below)


def test_every_class_has_an_example() -> None:
    assert {type(error) for error, _ in EXAMPLES} == family(GopaError)


@pytest.mark.parametrize("index", range(len(EXAMPLES)), ids=IDS)
def test_errors_survive_pickling_and_copying(index: int) -> None:
    error = EXAMPLES[index][0]
    check(error, index)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        check(pickle.loads(pickle.dumps(error, protocol)), index)  # noqa: S301 - made on this line
    check(copy.copy(error), index)


def test_errors_survive_the_way_back_from_a_worker_process() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for index in range(len(EXAMPLES)):
            with pytest.raises(GopaError) as caught:
                pool.submit(throw, index).result()
            check(caught.value, index)


def test_keywords_and_positions_mean_the_same() -> None:
    by_name: list[Any] = [
        UsageError(message="m", field="f"),
        MalformedMessage(message="m", field="f", offset=7),
        InvalidProof(message="m", check="c", culprits=(1,)),
        FaultyParty(message="m", party=PARTY, evidence=b"e"),
    ]
    for error in by_name:
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - made on this line
        assert vars(again) == vars(error)


def test_the_tree_says_who_can_cause_what() -> None:
    received = [MalformedMessage, InvalidProof, FaultyParty, SuspectedPartyOrBoard, FaultyBoard]
    assert all(issubclass(cls, ProtocolError) for cls in [*received, Unattributed])
    assert issubclass(InvalidSignature, InvalidProof)
    for cls in (UsageError, BackendError, Aborted):
        assert issubclass(cls, GopaError)
        assert not issubclass(cls, ProtocolError)


def test_the_text_holds_the_facts_but_never_the_evidence() -> None:
    evidence = b"EVIDENCE" * 9
    for error in (FaultyParty("m", PARTY, evidence), FaultyBoard("m", evidence)):
        assert "EVIDENCE" not in str(error)
        assert evidence.hex() not in str(error)
    assert PARTY.hex()[:16] in str(FaultyParty("m", PARTY))
    assert PARTY.hex()[:16] in str(SuspectedPartyOrBoard("m", PARTY))
    located = str(MalformedMessage("m", "a.b", 77))
    assert "a.b" in located
    assert "77" in located
    assert "00-E8" in str(InvalidSignature("m", "00-E8", (3,)))


ROOT = Path(wire.__file__).parent
ALLOWED = sys.stdlib_module_names | {"cryptography", "gmpy2", "wire"}


def imported(source: str) -> set[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports(path: Path) -> None:
    assert imported("import numpy.linalg\nfrom zkp.sigma import x") == {"numpy", "zkp"}
    assert imported(path.read_text()) <= ALLOWED
