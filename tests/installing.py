"""`python -m tests.installing DIST`: installs what `make wheel` built as users do, and uses it.

For every Python from 3.11 on that is at hand the wheel goes into an environment of its own, and for
the oldest and the newest of them the source archive, with and without a Rust toolchain. Packages
come from a folder that holds what `requirements/user.txt` pins and nothing else: an installation
that needs more fails. The source is installed by the lines that the README shows. Then the programs
of the README run, their result is audited, and so do the commands with which people begin. The
wheel for the first Python at hand runs the programs as they stand; everywhere else fewer vote in
them. What no wheel shows is tried with the source: that it builds, and runs the programs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.request import urlopen

ROOT: Final = Path(__file__).resolve().parents[1]
WHEELHOUSE: Final = ROOT / "build" / "wheelhouse"
OLDEST: Final = 11
NEWEST: Final = 14
NATIVE: Final = "native"
REFERENCE: Final = "reference"
PROGRAM: Final = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELL: Final = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECONDS: Final = 300
"""The longest that one command may take, on a machine that does something else too."""

CORE_IN_A_HURRY: Final = {
    "CARGO_TARGET_DIR": str(ROOT / "build" / "install-target"),
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
}
"""How the core is built out of the source archive: that it builds is asked, not how fast it is."""

FEWER: Final = {"n = 300 if": "n = 30 if", "else 60 ": "else 16 "}
"""How many vote in the README's program where it does not run as it stands."""


class Failed(Exception):
    """Says which command of an installation went wrong, with the end of what it printed."""


@dataclass(frozen=True, slots=True)
class Python:
    """Holds an interpreter that can make environments."""

    minor: int
    path: Path

    def __str__(self) -> str:
        return f"Python 3.{self.minor}"


@dataclass(frozen=True, slots=True)
class Case:
    """Holds what is installed with which interpreter, and the backend that has to run then.

    Programs run as they stand if it is `whole`.
    """

    python: Python
    file: Path
    rust: bool
    backend: str
    whole: bool = False

    def __str__(self) -> str:
        kind = "wheel" if self.file.suffix == ".whl" else "source"
        return f"{self.python}, {kind}, {'with' if self.rust else 'without'} Rust"


def pythons(places: Sequence[Path]) -> list[Python]:
    """One interpreter of each supported version, the first that answers."""
    found = {}
    for minor in range(OLDEST, NEWEST + 1):
        for place in places:
            path = place / f"python3.{minor}"
            if minor in found or not os.access(path, os.X_OK):
                continue
            real = _answering(path, minor)
            if real is not None:
                found[minor] = Python(minor, real)
    return list(found.values())


def usual_places() -> list[Path]:
    """Where interpreters stand: the search path, and folders of tools that fetch them."""
    fetched = (".pyenv/versions/*/bin", ".local/share/uv/python/*/bin")
    own = [path for each in fetched for path in sorted(Path.home().glob(each))]
    return [*map(Path, os.environ.get("PATH", "").split(os.pathsep)), *own]


def _answering(path: Path, minor: int) -> Path | None:
    """Where it stands itself: what the path names may be a script that chooses a version.

    None if it chooses none, and if it cannot make environments because `ensurepip` is missing.
    """
    asked = "import ensurepip, venv, sys; print(sys.version_info.minor, sys.executable)"
    done = subprocess.run(
        [path, "-c", asked], capture_output=True, text=True, check=False, env=plain_environment()
    )
    said, _, executable = done.stdout.strip().partition(" ")
    return Path(executable) if done.returncode == 0 and said == str(minor) else None


def plain_environment() -> dict[str, str]:
    """This process's environment without what would lead a command back into this checkout."""
    ours = ("GOPA_", "PYTHON", "VIRTUAL_ENV", "PIP_FIND_LINKS")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def run(
    command: Sequence[str | Path], where: Path, environment: Mapping[str, str], code: int = 0
) -> subprocess.CompletedProcess[str]:
    """The command as it ended; raises `Failed` if that was with another code."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=where,
        env=environment,
        timeout=SECONDS,
    )
    if done.returncode != code:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        shown = " ".join(map(str, command))[:200]
        raise Failed(f"{shown}\nended with {done.returncode} instead of {code}:\n{said}")
    return done


def download(python: Python) -> None:
    """Puts the pinned packages for this version beside those for the others."""
    command = [sys.executable, "-m", "pip", "--python", str(python.path), "download", "--quiet"]
    command += ["--require-hashes", f"--requirement={ROOT / 'requirements' / 'user.txt'}"]
    command += ["--only-binary=:all:", f"--dest={WHEELHOUSE}"]
    run(command, ROOT, plain_environment())


def cases(found: Sequence[Python], dist: Path) -> Iterator[Case]:
    """All that has to work with what `make wheel` left in this folder.

    What runs and which packages there are differs with every Python, and the wheel shows it. That
    the source builds differs with the ends: what an old one lacks, and what a new one took away.
    """
    dist = dist.resolve()
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    rust = shutil.which("cargo") is not None
    for python in found:
        yield Case(python, wheel, rust=False, backend=NATIVE, whole=python == found[0])
        if python in {found[0], found[-1]}:
            yield Case(python, source, rust=False, backend=REFERENCE)
            if rust:
                yield Case(python, source, rust=True, backend=NATIVE)


def try_out(case: Case) -> float:
    """Installs and uses it; how long that took. Raises `Failed`."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environment = plain_environment() | {
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(WHEELHOUSE),
            "OPENBLAS_NUM_THREADS": "1",
        }
        environment |= CORE_IN_A_HURRY if case.rust else {"PATH": str(place / "env" / "bin")}
        # Whoever installs has all modules compiled; here those are compiled that are used.
        environment |= {"PIP_COMPILE": "0", "PIP_QUIET": "1"}
        if case.file.suffix == ".whl":
            run([case.python.path, "-m", "venv", "env"], place, environment)
            run(["env/bin/python", "-m", "pip", "install", case.file], place, environment)
        else:
            as_the_page_says(case, place, environment)
        use(place, environment, case)
    return time.monotonic() - began


def as_the_page_says(case: Case, place: Path, environment: Mapping[str, str]) -> None:
    """Pastes what stands under Install into a shell, where the source archive was unpacked."""
    with tarfile.open(case.file) as archive:
        archive.extractall(place / "source", filter="data")
    (source,) = (place / "source").iterdir()
    commands = place / "bin"
    commands.mkdir()
    (commands / "python3").symlink_to(case.python.path)
    page = (ROOT / "README.md").read_text()
    (block,) = SHELL.findall(page.split("\n## Install\n")[1].split("\n## ")[0])
    path = {"HOME": str(place), "PATH": f"{commands}{os.pathsep}{environment['PATH']}"}
    # The toolchain stays where it is; `~` of the page is a folder of this trial.
    rust = {f"{name.upper()}_HOME": str(Path.home() / f".{name}") for name in ("cargo", "rustup")}
    run(["/bin/bash", "-euc", block], source, {**rust, **environment, **path})
    (place / "env").symlink_to(place / "gopa-env")


def programs(page: str, *, whole: bool) -> list[str]:
    """The programs of a page, as they stand or with fewer votes. Raises `Failed`."""
    found = PROGRAM.findall(page)
    if whole or not found:
        return found
    for number, fewer in FEWER.items():
        if found[0].count(number) != 1:
            raise Failed(f"the first program does not say once {number!r}")
        found[0] = found[0].replace(number, fewer)
    return found


def use(place: Path, environment: Mapping[str, str], case: Case) -> None:
    """What people begin with: the README's programs, and the commands that it names."""
    gopa = place / "env" / "bin" / "gopa"
    said = run([gopa, "doctor", "--json"], place, environment).stdout
    findings = json.loads(said)["findings"]
    active = {each["topic"]: each["value"] for each in findings}["backend"]
    if active != case.backend:
        raise Failed(f"the backend is {active} and should be {case.backend}")
    for program in programs((ROOT / "README.md").read_text(), whole=case.whole):
        run([place / "env" / "bin" / "python", "-c", program], place, environment)
    known = ["--anchors", "anchors.txt"]
    asked = ["audit", "votes.gopa", *known, "--html", "page.html"]
    verdict = run([gopa, *asked], place, environment).stdout
    if not verdict.startswith("VALID ") or not (place / "page.html").is_file():
        raise Failed(f"the result is not audited:\n{verdict}")
    if case.file.suffix == ".whl":
        use_commands(gopa, place, environment)


def use_commands(gopa: Path, place: Path, environment: Mapping[str, str]) -> None:
    """The other commands that people begin with, and what they say of what is wrong."""
    known = ["--anchors", "anchors.txt"]
    run([gopa, "audit", "damaged.gopa", *known], place, environment, code=1)
    run([gopa, "keygen", "key"], place, environment)
    run([gopa, "join", "--help"], place, environment)
    wanted = ["plan", "-n", "100", "--epsilon", "1", "--delta", "1e-5", "--plot", "plan.svg"]
    said = run([gopa, *wanted], place, environment, code=2).stderr
    if "pip install '.[plot]'" not in said or "Traceback" in said:
        raise Failed(f"a missing extra is not named:\n{said}")
    run([gopa, "board", "init", "board", "--origin", "board.example/1"], place, environment)
    serve([gopa, "board", "serve", "board", "--sessions", "--port", "0"], place, environment)


def serve(command: Sequence[str | Path], where: Path, environment: Mapping[str, str]) -> None:
    """Starts a board, looks at its page, and stops it as a service manager does."""
    with subprocess.Popen(
        [*command, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=where,
        env=environment,
    ) as process:
        try:
            said = process.stdout.readline() if process.stdout else ""
            if "listening" not in said:
                raise Failed(f"the board does not say where it listens: {said!r}")
            with urlopen(json.loads(said)["listening"], timeout=SECONDS) as page:  # noqa: S310
                page.read()
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
    if process.returncode not in {0, -signal.SIGTERM, 128 + signal.SIGTERM}:
        raise Failed(f"the board ended with {process.returncode}:\n{errors}")


def attempt(case: Case) -> str | None:
    """Tries a case and says how it went; returns what went wrong."""
    try:
        seconds = try_out(case)
    except (Failed, subprocess.TimeoutExpired, OSError, ValueError) as error:
        print(f"FAILED {case}: {error}", flush=True)
        return str(error)
    print(f"{case}: {case.backend} backend, {seconds:.0f} s", flush=True)
    return None


def main(dist: Path) -> int:
    """Tries everything; 1 if something does not work, or no interpreter was found."""
    if not all(any(dist.glob(each)) for each in ("*.whl", "*.tar.gz")):
        print(f"{dist} does not hold a wheel and a source archive: run `make wheel`")
        return 2
    found = pythons(usual_places())
    missing = {*range(OLDEST, NEWEST + 1)} - {each.minor for each in found}
    if missing:
        print("not at hand: " + ", ".join(f"Python 3.{each}" for each in sorted(missing)))
    WHEELHOUSE.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        list(threads.map(download, found))
        ended = list(threads.map(attempt, cases(found, dist)))
    wrong = len([each for each in ended if each])
    print(f"{len(ended) - wrong} passed, {wrong} failed")
    return 1 if wrong or not ended else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
