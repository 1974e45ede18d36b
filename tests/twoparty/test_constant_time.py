"""The time of the native kernels depends on no label: valgrind follows every undefined byte."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[2] / "native"
NEEDED = ("cargo", "valgrind", "vgdb")
LEAKED = 9

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(
        not all(map(shutil.which, NEEDED)), reason="needs cargo and the package valgrind"
    ),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example that garbles and evaluates with labels of its own."""
    target = tmp_path_factory.mktemp("target")
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--no-default-features"]
    options = ["--example", "constant_time", "--target-dir", str(target)]
    subprocess.run([*command, *options], cwd=NATIVE, check=True)
    return str(target / "release" / "examples" / "constant_time")


def marked(program: str, *arguments: str) -> tuple[int, str]:
    """Exit code and complaints of a run whose labels are undefined from the start."""
    checked = ["valgrind", "--quiet", "--vgdb=yes", f"--error-exitcode={LEAKED}"]
    with subprocess.Popen(
        [*checked, program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address, size = process.stdout.readline().split()
        mark = ["make_memory", "undefined", address, size]
        vgdb = shutil.which("vgdb") or "vgdb"
        subprocess.run(
            [vgdb, f"--pid={process.pid}", "--wait=20", *mark],
            check=True,
            capture_output=True,
            timeout=60,
        )
        _, complaints = process.communicate("\n", timeout=120)
    return process.returncode, complaints


def test_no_branch_and_no_address_depends_on_labels(program: str) -> None:
    assert marked(program) == (0, "")


def test_a_branch_on_a_select_bit_is_seen(program: str) -> None:
    code, complaints = marked(program, "leak")
    assert code == LEAKED
    assert "depends on uninitialised value" in complaints
