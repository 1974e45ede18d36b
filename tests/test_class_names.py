"""A public class name exists once, and the count that says so finds the ones that do not."""

from __future__ import annotations

from pathlib import Path

from tests.class_names import ROOT, duplicates


def module(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_every_public_class_name_exists_once() -> None:
    assert duplicates(ROOT) == {}


def test_the_packages_are_where_the_count_looks(tmp_path: Path) -> None:
    module(tmp_path, "gopa/one.py", "class Row:\n    pass\n")
    assert duplicates(tmp_path) == {}
    module(tmp_path, "zkp/deep/two.py", "class Row:\n    pass\n")
    assert duplicates(tmp_path) == {"Row": ["gopa/one.py", "zkp/deep/two.py"]}


def test_private_and_inner_classes_may_share_a_name(tmp_path: Path) -> None:
    module(tmp_path, "gopa/one.py", "class _Row:\n    class Inner:\n        pass\n")
    module(tmp_path, "zkp/two.py", "class _Row:\n    class Inner:\n        pass\n")
    assert duplicates(tmp_path) == {}
