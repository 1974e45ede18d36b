"""Runs `gopa doctor`: says what is installed, which backend runs and why, and what is wrong.

Extras that are not installed are named with what they give; that is no problem.
"""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import json
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from commitments import backend_status
from gopa.cli.exits import FAILED_EXIT
from gopa.cli.options import fitting
from gopa.support.extras import EXTRAS, NEEDED, Extra
from gopa.support.siblings import SIBLINGS
from gopa.support.version import VERSION
from wire.errors import BackendError

PACKAGES = (*SIBLINGS, "gopa")


@dataclass(frozen=True, slots=True)
class Finding:
    """Holds one line of the diagnosis. `problem` means that something must be done."""

    topic: str
    value: str
    hint: str = ""
    problem: bool = False


def diagnose(path: Iterable[str] | None = None) -> list[Finding]:
    """Looks at the installation; `path` stands in for `sys.path`."""
    search = list(sys.path if path is None else path)
    claims = importlib.metadata.packages_distributions()
    return [
        Finding("gopa", VERSION),
        Finding("python", f"{platform.python_version()} on {platform.platform()}"),
        *_backend(),
        *(_package(name, search, claims) for name in PACKAGES),
        *(_dependency(name) for name in NEEDED),
        *(_extra(each) for each in EXTRAS.values()),
    ]


def _backend() -> list[Finding]:
    try:
        status = backend_status()
    except BackendError as error:
        return [Finding("backend", "none", str(error), problem=True)]
    lines = [Finding("backend", status.active, f"because {status.reason}")]
    if status.details:
        lines.append(Finding("backend details", status.details))
    if status.hint is not None:
        lines.append(Finding("faster backend", "not installed", status.hint))
    return lines


def _package(name: str, search: list[str], claims: Mapping[str, list[str]]) -> Finding:
    """Another distribution's package of our name is a problem, before or behind ours."""
    home = Path(__file__).resolve().parents[2]
    places = (_location(name, entry) for entry in search)
    foreign = [str(place) for place in places if place not in (None, home / name)]
    foreign += [f"distribution {owner}" for owner in claims.get(name, ()) if owner != "gopa"]
    if foreign:
        where = ", ".join(dict.fromkeys(foreign))
        hint = "another package has this name: remove it, or use a fresh virtual environment"
        return Finding(f"package {name}", f"also in {where}", hint, problem=True)
    return Finding(f"package {name}", str(home / name))


def _location(name: str, entry: str) -> Path | None:
    """Where this path entry holds a regular package; bare folders shadow nothing."""
    spec = importlib.machinery.PathFinder.find_spec(name, [entry])
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin).resolve()
    return origin.parent if origin.name == "__init__.py" else origin


def _dependency(name: str) -> Finding:
    try:
        return Finding(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        hint = "install gopa anew with its dependencies"
        return Finding(name, "missing", hint, problem=True)


def _extra(extra: Extra) -> Finding:
    topic = f"extra {extra.name}"
    try:
        version = importlib.metadata.version(extra.package)
    except importlib.metadata.PackageNotFoundError:
        return Finding(topic, "not installed", f"{extra.gives}: {extra.command}")
    return Finding(topic, f"{extra.package} {version}", extra.gives)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def doctor(as_json: bool) -> None:
    """Show what is installed, which backend runs, why, and what to do.

    Exits with 1 when something must be mended.
    """
    findings = diagnose()
    if as_json:
        click.echo(json.dumps({"findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        _print(findings)
    if any(finding.problem for finding in findings):
        sys.exit(FAILED_EXIT)


def _print(findings: list[Finding]) -> None:
    """Prints a line for each, and below it what to do; paths stay whole where they are copied."""
    width = max(len(finding.topic) for finding in findings)
    for finding in findings:
        colour = "red" if finding.problem else None
        line = fitting(f"{finding.topic:<{width}}  {finding.value}")
        click.secho(line, fg=colour, bold=finding.problem or None)
        if finding.hint:
            hint = fitting(f"{'':<{width}}  {finding.hint}")
            click.secho(hint, fg=colour, dim=None if finding.problem else True)
