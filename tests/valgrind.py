"""Runs an example of the native core under valgrind, with its secrets marked as undefined.

The example prints the address and size of its secrets and waits for a line. valgrind then follows
every byte that depends on them, and complains where a branch or an address does.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

NATIVE: Final = Path(__file__).resolve().parents[1] / "native"
NEEDED: Final = ("cargo", "valgrind", "vgdb")
LEAKED: Final = 9

needed = pytest.mark.skipif(
    not all(map(shutil.which, NEEDED)), reason="needs cargo and the package valgrind"
)


def built(example: str, target: Path) -> str:
    """The path of an example, built into a folder of its own."""
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--no-default-features"]
    options = ["--example", example, "--target-dir", str(target)]
    subprocess.run([*command, *options], cwd=NATIVE, check=True)
    return str(target / "release" / "examples" / example)


def marked(program: str, *arguments: str) -> tuple[int, str]:
    """Exit code and complaints of a run whose secrets are undefined from the start."""
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
