"""Whatever bytes arrive, a codec decodes them to what encodes to them, or says what is wrong."""

from __future__ import annotations

import ast
import os
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bulletin_board
import commitments
import gopa
import wire
import zkp
from bulletin_board.entry import ENTRY, SIGNED_ENTRY
from commitments import ristretto255
from gopa.contract.bodies import BODIES
from tests.built_on import BUILT_ON_OTHERS
from tests.contract.samples import MESSAGES, ROW_MESSAGES
from tests.fuzzing.corpus import bodies, entries
from tests.fuzzing.mutations import changed
from tests.fuzzing.samples import values
from tests.rounds.test_proofs import MAKERS, REAL, bad
from wire.codec import Codec
from wire.errors import GopaError, MalformedMessage

_ROOTS: Final = (wire, commitments, zkp, bulletin_board, gopa)


_OPTIONAL: Final = ("gopa.executors.cluster",)


_MOST: Final = 24


@cache
def codecs() -> Mapping[str, Codec[Any]]:
    """By where they stand, such as `gopa.contract.party.JOIN`; each once."""
    found: dict[str, Codec[Any]] = {}
    known: set[int] = set()
    for name in sorted(_modules()):
        module = import_module(name)
        for attribute, value in vars(module).items():
            if isinstance(value, Codec) and id(value) not in known:
                known.add(id(value))
                found[f"{name}.{attribute}"] = value
    return found


@cache
def seeds() -> Mapping[str, Sequence[bytes]]:
    """Encodings that each codec gives to values of the transcripts, and to their parts."""
    found: dict[str, dict[bytes, None]] = defaultdict(dict)
    found_values = list(_values())
    for name, codec in codecs().items():
        for value in found_values:
            if len(found[name]) >= _MOST:
                break
            with suppress(GopaError, AttributeError, TypeError, LookupError):
                data = codec.encode(value)
                if codec.encode(codec.decode(data)) == data:
                    found[name][data] = None
    return {name: tuple(each) for name, each in found.items()}


def _values() -> Iterator[Any]:
    """Whatever stands in a message, from the whole down to single fields; then the samples."""
    for value in values():
        yield from _parts(value)
    for raw in entries()[:40]:
        signed = SIGNED_ENTRY.decode(raw)
        yield signed
        yield ENTRY.decode(raw[: -len(signed.signature)])
    for kind, some in bodies().items():
        for body in some[:6]:
            with suppress(GopaError):
                yield from _parts(BODIES[kind].decode(body))
    for _, message in (MESSAGES | ROW_MESSAGES).values():
        yield from _parts(message)


def _parts(value: Any) -> Iterator[Any]:
    yield value
    if is_dataclass(value):
        for each in fields(value):
            yield from _parts(getattr(value, each.name))
    elif isinstance(value, tuple):
        for item in value[:3]:
            yield from _parts(item)


def _modules() -> Iterator[str]:
    for root in _ROOTS:
        for found in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
            if found.name.startswith(BUILT_ON_OTHERS):
                continue
            if found.name not in _OPTIONAL and "__main__" not in found.name:
                yield found.name


EXAMPLES = int(os.environ.get("GOPA_FUZZ_EXAMPLES", "20"))


SLOWLY = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def decodes(name: str, data: bytes) -> bool:
    """Whether it decodes; anything but one spelling, or one kind of error, fails."""
    codec = codecs()[name]
    try:
        value = codec.decode(data)
    except MalformedMessage:
        return False
    assert codec.encode(value) == data
    return True


@pytest.mark.parametrize("name", sorted(codecs()))
def test_what_is_changed_is_refused_or_another_value(name: str) -> None:
    corpus = seeds()[name]
    assert corpus, "no value of this kind is known: add one to the samples"
    assert all(decodes(name, data) for data in corpus)

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=SLOWLY)
    @given(data=changed(corpus))
    def run(data: bytes) -> None:
        decodes(name, data)

    run()


@pytest.mark.parametrize("name", sorted(codecs()))
def test_any_bytes(name: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None)
    @given(data=st.binary(max_size=400))
    def run(data: bytes) -> None:
        decodes(name, data)

    run()


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(codecs()))
def test_many_changes(name: str) -> None:
    @settings(max_examples=5_000, deadline=None, suppress_health_check=SLOWLY)
    @given(data=changed(seeds()[name], most=6))
    def run(data: bytes) -> None:
        decodes(name, data)

    run()


ROOT: Final = Path(__file__).parents[2]


PACKAGES: Final = ("wire", "commitments", "zkp", "bulletin_board", "gopa")


NAME: Final = re.compile(
    r"(parse|decode|from_json|from_text)(_\w+)?|unpack_\w+|open_(answer|pair|note)"
)


FUZZED_IN: Final = ("tests/fuzzing", "tests/board/test_spec.py")


ELSEWHERE: Final = {
    "Codec.decode": "codecs are fuzzed one by one",
    "Curve.decode": "points: tests/group/test_containers.py",
    "Group.decode_point": "tests/group/test_containers.py: every class of wrong encoding",
    "Group.decode_points": "tests/group/test_containers.py",
    "Group.decode_scalars": "tests/group/test_containers.py",
    "ReferenceGroup.decode_point": "tests/group/test_containers.py: it tries both backends",
    "ReferenceGroup.decode_points": "tests/group/test_containers.py",
    "ReferenceGroup.decode_scalars": "tests/group/test_containers.py",
    "Pedersen.decode": "points in a row: tests/group/test_containers.py",
    "VectorPedersen.decode": "points in a row: tests/group/test_containers.py",
    "LinearRelation.decode": "tests/zkp/sigma/test_encoding_attacks.py, and the proofs here",
    "SignatureLine.parse": "part of notes, which are here",
    "OneHot.decode": "numbers of a result, no bytes",
    "WeightedRows.decode": "numbers of a result, no bytes",
    "Encoding.decode": "numbers of a result, no bytes",
    "Plain.decode": "numbers of a result, no bytes",
    "GarbledRun.decode": "labels of one length: tests/twoparty/test_runs.py",
    "Moments.decode": "numbers of a result, no bytes",
    "ByColumn.decode": "numbers of a result, no bytes",
    "WeightedRange.decode": "numbers of a result, no bytes",
    "WeightedBall.decode": "numbers of a result, no bytes",
    "decode_opening": "tests/commitments: every length and every unreduced scalar",
    "decode_commitments": "points in a row: tests/group/test_containers.py",
    "decode_seed_commitments": "points in a row: tests/group/test_containers.py",
    "decode_elements": "the reference backend's own: tests/group/test_containers.py",
    "decode_residues": "the reference backend's own: tests/group/test_containers.py",
    "decode_proof": "tests/zkp/bits/test_mutations.py, and the proofs here",
    "decode_noise_law": "a codec with a check behind it: both are here",
    "decode_items": "tests/zkp/sigma/test_encoding_attacks.py, and the proofs here",
    "decode_where_possible": "tests/zkp/sigma/test_encoding_attacks.py, and the proofs here",
    "decode_challenges": "the output of a hash",
    "decode_g1": "tests/contract/beacon: published vectors and points outside of the subgroup",
    "decode_g2": "tests/contract/beacon: published vectors and points outside of the subgroup",
    "decode_share": "two scalars: tests/rounds/masks/test_shares.py",
    "decode_close": "a codec of this page, with an error of another kind",
    "decode_result": "a codec of this page, with an error of another kind",
    "decode_commit_head": "a codec of this page, and what follows it",
    "decode_prove_head": "a codec of this page, and what follows it",
    "parse_base64": "part of notes and keys, which are here and in tests/board",
    "parse_hash": "part of notes and requests, which are in tests/board",
    "parse_session": "an option of the command line",
    "parse_log_key": "an option of the command line",
    "parse_public_key": "an option of the command line",
    "parse_decimal": "part of the codec of terms",
    "Codec.unpack_run": "the quick path of codecs, equal to the slow one in tests/wire",
    "Fixed.unpack_run": "the quick path of codecs, equal to the slow one in tests/wire",
    "Integer.unpack_run": "the quick path of codecs, equal to the slow one in tests/wire",
    "unpack_members": "tests/contract: all bits that may and may not be set",
    "unpack_words": "tests/rounds/masks/test_words.py",
    "open_answer": "tests/board/test_lookup.py and test_lookup_lies.py",
}


def parsers() -> Iterator[tuple[str, str]]:
    """Public functions that are named like parsers, methods as `Class.name`, with their files."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in named(ast.parse(path.read_text())):
                yield name, str(path.relative_to(ROOT))


def named(tree: ast.AST, owner: str = "") -> Iterator[str]:
    """Those of a module. A method says whose it is: many classes have one of the same name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and NAME.fullmatch(node.name):
            yield owner + node.name
        yield from named(node, f"{node.name}." if isinstance(node, ast.ClassDef) else owner)


def qualified(text: str) -> set[str]:
    """Words of a test that could call a parser, with and without what stands before the dot."""
    return set(re.findall(r"\w+", text)) | set(re.findall(r"\w+\.\w+", text))


def test_a_method_is_told_from_another_one_of_its_name() -> None:
    tree = ast.parse("class Note:\n def parse(self): pass\ndef parse_all(): pass")
    assert set(named(tree)) == {"Note.parse", "parse_all"}
    assert "Note.parse" not in qualified("Other.parse(data)")
    assert "Note.parse" in qualified("str(Note.parse(data))")


@pytest.mark.slow
def test_every_parser_is_fuzzed_or_says_where_it_is_tried() -> None:
    places = [ROOT / place for place in FUZZED_IN]
    files = [f for place in places for f in (place.rglob("*.py") if place.is_dir() else [place])]
    words = set().union(*(qualified(file.read_text()) for file in files if file != Path(__file__)))
    found = list(parsers())
    assert len(found) > 30
    missing = {name: path for name, path in found if name not in words and name not in ELSEWHERE}
    assert not missing
    assert set(ELSEWHERE) <= {name for name, _ in found}


NAMES = ("party", "acts_on", "joint")


"""Fields that are not read but bound: nobody sends them in a claim."""


def _with(claim: Any, name: str, value: bytes) -> Any:
    return replace(claim, **{name: value})


@pytest.mark.parametrize("maker", MAKERS)
def test_changed_claims_are_bad(maker: str) -> None:
    claim, other = (MAKERS[maker](REAL, ristretto255(), number) for number in (1, 2))
    assert not bad(REAL, claim, other)
    sent = [
        each.name
        for each in fields(claim)
        if isinstance(getattr(claim, each.name), bytes) and each.name not in NAMES
    ]
    corpus = {name: [getattr(each, name) for each in (claim, other)] for name in sent}

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sent))
        value = data.draw(changed(corpus[name]) | st.binary(max_size=200))
        if value != getattr(claim, name):
            assert bad(REAL, other, _with(claim, name, value)) == {1}

    run()
