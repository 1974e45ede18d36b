"""Class names exist once and docstrings name the thing; what does not is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.names_and_words import ROOT, duplicates, unclear


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


RIGHT = '''
class Judge:
    """The judge of one phase."""

    def peeled(self):
        """The list without whoever lost too many neighbours."""

    def close(self):
        """`Log.close`."""

class _Hidden:
    def plain(self): ...
'''


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The judge of one phase.", "Judges one phase."),
        ("The judge of one phase.", "Holds what judges one phase."),
        ("The list without whoever lost too many neighbours.", "The list."),
        ("The list without whoever lost too many neighbours.", "Of each graph the list."),
        ("The list without whoever lost too many neighbours.", "As the judge inside has it."),
        ("`Log.close`.", "Close it."),
        ('    """The judge of one phase."""\n', "    phase = 1\n"),
    ],
)
def test_docstrings_that_do_not_name_the_thing_are_found(right: str, wrong: str) -> None:
    assert list(unclear(RIGHT)) == []
    assert right in RIGHT
    assert len(list(unclear(RIGHT.replace(right, wrong)))) == 1
