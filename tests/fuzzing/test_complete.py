"""No parser is forgotten: whatever the tree calls one is fuzzed, or says why not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("wire", "commitments", "zkp", "bulletin_board", "gopa")
NAME: Final = re.compile(
    r"(parse|decode|from_json|from_text)(_\w+)?|unpack_\w+|open_(answer|pair|note)"
)
FUZZED_IN: Final = ("tests/fuzzing", "tests/board/test_fuzz.py")

ELSEWHERE: Final = {
    "Codec.decode": "codecs are fuzzed one by one",
    "Curve.decode": "points: tests/group/test_decoding.py",
    "Group.decode_point": "tests/group/test_decoding.py: every class of wrong encoding",
    "Group.decode_points": "tests/group/test_decoding.py",
    "Group.decode_scalars": "tests/group/test_decoding.py",
    "ReferenceGroup.decode_point": "tests/group/test_decoding.py: it tries both backends",
    "ReferenceGroup.decode_points": "tests/group/test_decoding.py",
    "ReferenceGroup.decode_scalars": "tests/group/test_decoding.py",
    "Pedersen.decode": "points in a row: tests/group/test_decoding.py",
    "VectorPedersen.decode": "points in a row: tests/group/test_decoding.py",
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
    "decode_commitments": "points in a row: tests/group/test_decoding.py",
    "decode_seed_commitments": "points in a row: tests/group/test_decoding.py",
    "decode_elements": "the reference backend's own: tests/group/test_decoding.py",
    "decode_residues": "the reference backend's own: tests/group/test_decoding.py",
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
    "unpack_words": "tests/rounds/masks/test_packing.py",
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
