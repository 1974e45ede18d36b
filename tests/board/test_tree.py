"""Proofs and tiles against external vectors and a transcription of RFC 6962."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bulletin_board.tree import (
    EMPTY_ROOT,
    Bundle,
    RightEdge,
    Tile,
    TileContent,
    TileNodes,
    bundles,
    consistency_proof,
    edge_tiles,
    inclusion_proof,
    is_resource,
    leaf_hash,
    node_hash,
    old_root,
    parse_path,
    resources,
    tile_at,
    tiles,
    tree_root,
    verify_consistency,
    verify_inclusion,
)
from tests.external import vectors
from wire.errors import InvalidProof, UsageError


def load(name: str) -> list[tuple[str, dict[str, object]]]:
    return sorted(json.loads(vectors(f"merkle/{name}.json").read_text()).items())


def decoded(value: object) -> bytes:
    assert isinstance(value, str)
    return base64.b64decode(value)


def number(value: object) -> int:
    assert isinstance(value, int)
    return value


def hashes(value: object) -> list[bytes]:
    assert value is None or isinstance(value, list)
    return [decoded(item) for item in value or []]


def test_inclusion_vectors() -> None:
    cases = load("inclusion")
    assert len(cases) == 98
    for _, case in cases:
        arguments = (
            number(case["leafIdx"]),
            number(case["treeSize"]),
            decoded(case["leafHash"]),
            hashes(case["proof"]),
            decoded(case["root"]),
        )
        if case["wantErr"]:
            with pytest.raises(InvalidProof):
                verify_inclusion(*arguments)
        else:
            verify_inclusion(*arguments)


def test_consistency_vectors() -> None:
    cases = load("consistency")
    assert len(cases) == 98
    for _, case in cases:
        arguments = (
            number(case["size1"]),
            number(case["size2"]),
            hashes(case["proof"]),
            decoded(case["root1"]),
            decoded(case["root2"]),
        )
        if case["wantErr"]:
            with pytest.raises(InvalidProof):
                verify_consistency(*arguments)
        else:
            verify_consistency(*arguments)


# A transcription of RFC 6962, section 2.1, as slow and as plain as the text.


def split(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def mth(d: list[bytes]) -> bytes:
    if not d:
        return hashlib.sha256(b"").digest()
    if len(d) == 1:
        return d[0]
    k = split(len(d))
    return hashlib.sha256(b"\x01" + mth(d[:k]) + mth(d[k:])).digest()


def path(m: int, d: list[bytes]) -> list[bytes]:
    if len(d) == 1:
        return []
    k = split(len(d))
    if m < k:
        return [*path(m, d[:k]), mth(d[k:])]
    return [*path(m - k, d[k:]), mth(d[:k])]


def subproof(m: int, d: list[bytes], whole: bool) -> list[bytes]:
    if m == len(d):
        return [] if whole else [mth(d)]
    k = split(len(d))
    if m <= k:
        return [*subproof(m, d[:k], whole), mth(d[k:])]
    return [*subproof(m - k, d[k:], False), mth(d[:k])]


def leaves(count: int) -> list[bytes]:
    return [leaf_hash(i.to_bytes(4)) for i in range(count)]


def grown(count: int) -> tuple[RightEdge, TileNodes]:
    edge = RightEdge()
    contents = {c.tile: c.hashes for c in edge.extend(leaves(count))}
    contents |= {c.tile: c.hashes for c in edge.partial()}
    assert set(contents) == set(tiles(count))
    return edge, TileNodes(count, contents.__getitem__)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 1200), st.data())
def test_proofs_equal_those_of_the_rfc(size: int, data: st.DataObject) -> None:
    edge, node = grown(size)
    d = leaves(size)
    assert edge.root() == tree_root(size, node) == mth(d)
    index = data.draw(st.integers(0, size - 1))
    proof = inclusion_proof(index, size, node)
    assert proof == path(index, d)
    verify_inclusion(index, size, d[index], proof, mth(d))
    older = data.draw(st.integers(1, size))
    proof = consistency_proof(older, size, node)
    assert proof == subproof(older, d, True)
    verify_consistency(older, size, proof, mth(d[:older]), mth(d))


def test_a_tree_of_70000_leaves_has_the_tiles_of_the_standard() -> None:
    found = list(tiles(70_000))
    count = {(tile.level, tile.width): 0 for tile in found}
    for tile in found:
        count[tile.level, tile.width] += 1
    assert count == {(0, 256): 273, (0, 112): 1, (1, 256): 1, (1, 17): 1, (2, 1): 1}
    assert len(list(bundles(70_000))) == 274


def test_a_root_and_all_nodes_across_three_levels() -> None:
    edge, node = grown(66_000)
    assert edge.root() == mth(leaves(66_000)) == tree_root(66_000, node)


def test_nodes_that_are_forgotten_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    edge, node = grown(600)
    data = leaves(600)

    def fetch(tile: Tile) -> list[bytes]:
        height = 8 * tile.level
        first = tile.number * 256
        return [node(height, first + at) for at in range(tile.width)]

    module = import_module("bulletin_board.tree.tiles")  # the package has a function of this name
    monkeypatch.setattr(module, "_MOST_REMEMBERED", 3)
    few = TileNodes(600, fetch)
    for index in (0, 300, 599, 0):
        proof = inclusion_proof(index, 600, few)
        verify_inclusion(index, 600, data[index], proof, edge.root())
        assert len(few.inner) <= 4


def test_paths() -> None:
    assert Tile(0, 1_234_067, 256).path == "tile/0/x001/x234/067"
    assert Tile(2, 0, 1).path == "tile/2/000.p/1"
    assert Bundle(273, 112).path == "tile/entries/273.p/112"
    for good in ("tile/0/x001/x234/067", "tile/63/000.p/255", "tile/entries/000"):
        found = parse_path(good)
        assert found is not None
        assert found.path == good


@pytest.mark.parametrize(
    "bad",
    [
        "tile/00/000",
        "tile/64/000",
        "tile/0/0",
        "tile/0/x000/001",
        "tile/0/001/002",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/000/",
        "tile/0/../0/000",
        "/tile/0/000",
        "tile/0/000\n",
        "tile/0/\u0660\u0660\u0660",
        "tile/entries/..",
        "checkpoint",
    ],
)
def test_other_spellings_are_no_paths(bad: str) -> None:
    assert parse_path("tile/0/000") is not None
    assert parse_path(bad) is None


def test_there_are_tiles_only_where_there_are_leaves() -> None:
    assert tile_at(0, 1, 257) == Tile(0, 1, 1)
    for level, index in ((0, 2), (0, -1), (1, 1), (2, 0)):
        with pytest.raises(UsageError):
            tile_at(level, index, 257)


def test_an_edge_needs_exactly_its_partial_tiles() -> None:
    edge, _ = grown(300)
    assert RightEdge(300, edge.partial()).root() == edge.root()
    assert [tile.width for tile in edge_tiles(300)] == [44, 1]
    with pytest.raises(UsageError):
        RightEdge(300, edge.partial()[:1])
    with pytest.raises(UsageError):
        RightEdge(300, [TileContent(c.tile, c.hashes[:-1]) for c in edge.partial()])


def test_constants() -> None:
    assert hashlib.sha256(b"").digest() == EMPTY_ROOT
    assert leaf_hash(b"x") == hashlib.sha256(b"\0x").digest()
    assert node_hash(b"l", b"r") == hashlib.sha256(b"\1lr").digest()
    with pytest.raises(UsageError):
        inclusion_proof(1, 1, lambda _h, _i: b"")
    with pytest.raises(UsageError):
        consistency_proof(0, 1, lambda _h, _i: b"")


def test_proofs_of_the_wrong_length_are_named_as_such() -> None:
    data = leaves(7)
    proof = path(6, data)
    verify_inclusion(6, 7, data[6], proof, mth(data))
    for wrong in ([*proof, data[0]], proof[:-1], []):
        with pytest.raises(InvalidProof) as caught:
            verify_inclusion(6, 7, data[6], wrong, mth(data))
        assert caught.value.check == "05-T1"


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 600, 65_536, 65_793, 70_000])
def test_what_a_log_of_a_size_has(size: int) -> None:
    expected = set(resources(size))
    for path in expected:
        assert is_resource(path, size)
    others = set(resources(size + 1)) | set(resources(max(0, size - 1))) | set(resources(2 * size))
    others |= {"checkpoint", "tile/0", "tile/9/000", "tile/entries/000.p/256", "tile/0/-01"}
    for path in others - expected:
        assert not is_resource(path, size)


def test_hashes_of_other_lengths_shift_no_bytes() -> None:
    """Two neighbours whose bytes are divided elsewhere give the same node, and another old root."""
    leaves = [leaf_hash(bytes([n])) for n in range(4)]
    left, right = node_hash(*leaves[:2]), node_hash(*leaves[2:])
    root = node_hash(left, right)
    good = [leaves[2], leaves[3], left]
    assert old_root(3, 4, good, root, same=root) == node_hash(left, leaves[2])
    shifted = [leaves[2] + leaves[3][:1], leaves[3][1:], left]
    assert node_hash(*shifted[:2]) == right
    with pytest.raises(InvalidProof) as caught:
        old_root(3, 4, shifted, root, same=root)
    assert caught.value.check == "05-T3"
    verify_inclusion(2, 4, leaves[2], [leaves[3], left], root)
    with pytest.raises(InvalidProof) as caught:
        verify_inclusion(2, 4, shifted[0], [shifted[1], left], root)
    assert caught.value.check == "05-T1"
