from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.markers import Marker

from supply import crates, locks, sbom
from supply.__main__ import main
from supply.commands import Exit
from supply.licence_record import RECORD
from supply.project import read_project
from tests.supply.trees import ROOT, edit, found

Document = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Document:
    read: Document = json.loads((ROOT / sbom.FILE).read_text())
    return read


def components(document: Document) -> dict[str, Document]:
    return {component["bom-ref"]: component for component in document["components"]}


def needs(document: Document) -> dict[str, set[str]]:
    return {entry["ref"]: set(entry["dependsOn"]) for entry in document["dependencies"]}


def named(document: Document, name: str) -> list[Document]:
    return [component for component in document["components"] if component["name"] == name]


def complaints(text: str) -> list[str]:
    errors = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text, all_errors=True)
    return [error.data.json_path for error in errors or ()]


def test_the_file_in_the_tree_is_current() -> None:
    assert main(["sbom", "--check", str(ROOT / sbom.FILE)], ROOT) == Exit.FINE


def test_it_keeps_to_the_official_schema(document: Document) -> None:
    assert complaints((ROOT / sbom.FILE).read_text()) == []
    document = json.loads(json.dumps(document))
    document["components"][0]["scope"] = "perhaps"
    document["serialNumber"] = "1"
    assert set(complaints(json.dumps(document))) == {"$.components[0].scope", "$.serialNumber"}


def test_it_names_everything_that_is_locked_and_nothing_else(document: Document) -> None:
    python = {(p.name, str(p.version)) for lock in locks.lock_files(ROOT) for p in lock.pins}
    native = {(crate.name, crate.version) for crate in crates.read_crates(ROOT)}
    listed = {(component["name"], component["version"]) for component in document["components"]}
    assert listed == python | native
    assert len(document["components"]) == len(python) + len(native)
    product = document["metadata"]["component"]
    project = read_project(ROOT)
    assert (product["name"], product["version"]) == (project.name, project.version)


def test_hashes_are_those_of_the_locks(document: Document) -> None:
    listed = components(document)
    for lock in locks.lock_files(ROOT):
        for pin in lock.pins:
            hashes = listed[f"pkg:pypi/{pin.name}@{pin.version}"]["hashes"]
            assert {entry["content"] for entry in hashes} == set(pin.hashes)
    for crate in crates.read_crates(ROOT):
        if crate.source:
            hashes = listed[f"pkg:cargo/{crate.name}@{crate.version}"]["hashes"]
            assert [entry["content"] for entry in hashes] == [crate.checksum]


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("cryptography", "required"),
        ("cffi", "required"),
        ("numpy", "required"),
        ("gopa-native", "required"),
        ("curve25519-dalek", "required"),
        ("starlette", "optional"),
        ("anyio", "optional"),
        ("matplotlib", "optional"),
        ("pytest", "excluded"),
        ("setuptools-rust", "excluded"),
        ("dp-accounting", "excluded"),
        ("uv", "excluded"),
    ],
)
def test_scopes_say_who_needs_a_component(document: Document, name: str, scope: str) -> None:
    found = named(document, name)
    assert found
    assert {component["scope"] for component in found} == {scope}


def test_the_graph_is_closed_and_reaches_all_that_users_get(document: Document) -> None:
    listed, graph = components(document), needs(document)
    product = document["metadata"]["component"]["bom-ref"]
    assert graph.keys() == listed.keys() | {product}
    assert set().union(*graph.values()) <= listed.keys()
    reached, waiting = set[str](), [product]
    while waiting:
        new = graph[waiting.pop()] - reached
        reached |= new
        waiting += new
    assert reached == {ref for ref, part in listed.items() if part["scope"] != "excluded"}


def test_edges_join_what_can_be_installed_together(document: Document) -> None:
    listed, graph = components(document), needs(document)
    names = {component["name"]: set[str]() for component in listed.values()}
    for ref, component in listed.items():
        names[component["name"]].add(ref)
    assert max(map(len, names.values())) > 1
    joined = [(listed[above], listed[ref]) for above in listed for ref in graph[above]]
    assert all(together(above, below) for above, below in joined)


def together(*parts: Document) -> bool:
    markers = [
        Marker(entry["value"])
        for part in parts
        for entry in part["properties"]
        if entry["name"] == "gopa:marker"
    ]
    environments = read_project(ROOT).everywhere
    return any(all(m.evaluate(e.markers) for m in markers) for e in environments)


def test_licences_are_the_recorded_ones(document: Document) -> None:
    assert named(document, "click")[0]["licenses"] == [{"license": {"id": "BSD-3-Clause"}}]
    assert named(document, "rayon")[0]["licenses"] == [{"expression": "MIT OR Apache-2.0"}]
    assert named(document, "gopa-native")[0]["licenses"] == [{"license": {"id": "Apache-2.0"}}]


def test_it_is_the_same_in_another_process_elsewhere(tree: Path, tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from supply import sbom; "
    program += "sys.stdout.write(sbom.render(Path(sys.argv[1])))"
    for seed in ("1", "2"):
        environment = os.environ | {
            "PYTHONHASHSEED": seed,
            "TZ": f"X{seed}",
            "PYTHONPATH": str(ROOT),
        }
        printed = subprocess.run(
            [sys.executable, "-c", program, str(tree)],
            capture_output=True,
            check=True,
            cwd=tmp_path,
            env=environment,
        )
        assert printed.stdout == (ROOT / sbom.FILE).read_bytes()


def test_the_serial_number_follows_the_content(tree: Path) -> None:
    before = json.loads(sbom.render(tree))["serialNumber"]
    assert before == json.loads(sbom.render(tree))["serialNumber"]
    edit(tree, RECORD, 'click = "BSD-3-Clause"', 'click = "MIT"')
    assert json.loads(sbom.render(tree))["serialNumber"] != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("requirements/dev.txt", "sha256:0", "sha256:1"),
        ("native/Cargo.lock", 'checksum = "0', 'checksum = "1'),
        ("gopa/version.py", read_project(ROOT).version, "99.0"),
        (RECORD, 'click = "BSD-3-Clause"', 'click = "MIT"'),
        (sbom.FILE, '"version": 1', '"version": 2'),
    ],
)
def test_another_file_is_told_from_it(tree: Path, name: str, old: str, new: str) -> None:
    check = ["sbom", "--check", str(tree / sbom.FILE)]
    assert main(check, tree) == Exit.FINE
    edit(tree, name, old, new)
    assert main(check, tree) == Exit.WRONG
    assert main(["sbom"], tree) == Exit.FINE
    assert main(check, tree) == Exit.FINE


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (RECORD, 'click = "BSD-3-Clause"\n', ""),
        ("requirements/dev.txt", "click==", "click>="),
        (
            "requirements/dev.txt",
            found(r"^    # via [a-z].*\n", "requirements/dev.txt"),
            "    # via nobody\n",
        ),
        ("native/Cargo.lock", ' "crossbeam-epoch",', ' "gone",'),
    ],
)
def test_it_is_not_made_from_unsound_locks(tree: Path, name: str, old: str, new: str) -> None:
    assert main(["sbom", "--output", str(tree / "made.json")], tree) == Exit.FINE
    (tree / "made.json").unlink()
    edit(tree, name, old, new)
    assert main(["sbom", "--output", str(tree / "made.json")], tree) == Exit.WRONG
    assert not (tree / "made.json").exists()
    assert main(["sbom", "--check", str(tree / sbom.FILE)], tree) == Exit.WRONG


def test_a_file_that_is_not_there_cannot_be_compared(tree: Path) -> None:
    assert main(["sbom", "--check", str(tree / "absent.json")], tree) == Exit.COULD_NOT_RUN
