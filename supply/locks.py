"""Are the Python packages locked: all of them, exactly, with hashes, within the stated bounds?"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from supply.environments import Environment
from supply.findings import Finding, Report, Rule
from supply.pins import COMPILE, LockFile, Pin, read_lock
from supply.project import Project, read_project

FOLDER: Final = "requirements"
DEVELOPMENT: Final = "dev.txt"


def lock_files(root: Path) -> tuple[LockFile, ...]:
    """Every lock file of Python packages, by name."""
    return tuple(map(read_lock, sorted((root / FOLDER).glob("*.txt"))))


def check(root: Path) -> Report:
    """Check the lock files by themselves, against what asks for them, and against each other."""
    project, locks = read_project(root), lock_files(root)
    findings = [
        *itertools.chain.from_iterable(lock.findings for lock in locks),
        *itertools.chain.from_iterable(_ambiguous(lock, project) for lock in locks),
        *_unasked(root, locks),
        *itertools.chain.from_iterable(_asked(root, lock, project) for lock in locks),
        *_stated(locks, project),
        *_disagreeing(locks, project),
    ]
    pins = sum(len(lock.pins) for lock in locks)
    return Report(f"{pins} pinned versions in {len(locks)} files", tuple(dict.fromkeys(findings)))


def _ambiguous(lock: LockFile, project: Project) -> Iterator[Finding]:
    for name, pins in itertools.groupby(sorted(lock.pins, key=_name), key=_name):
        versions = list(pins)
        for environment in project.everywhere:
            if sum(pin.applies(environment.markers) for pin in versions) > 1:
                yield Finding(Rule.AMBIGUOUS, lock.name, name, f"{environment.label}: {COMPILE}")


def _name(pin: Pin) -> str:
    return pin.name


def _unasked(root: Path, locks: Iterable[LockFile]) -> Iterator[Finding]:
    asked = {path.stem for path in (root / FOLDER).glob("*.in")}
    locked = {Path(lock.name).stem for lock in locks}
    for stem in sorted(asked ^ locked):
        yield Finding(Rule.NOT_LOCKED, FOLDER, stem, "keep one .in and one .txt of each name")


def _asked(root: Path, lock: LockFile, project: Project) -> Iterator[Finding]:
    source = (root / FOLDER / lock.name).with_suffix(".in")
    for raw in source.read_text().splitlines() if source.exists() else ():
        line = raw.partition("#")[0].strip()
        if not line or line == f"-c {DEVELOPMENT}":
            continue
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            yield Finding(Rule.UNEXPECTED, source.name, line, "name packages and bounds only")
            continue
        yield from _held([requirement], lock, project, source.name)


def _stated(locks: Iterable[LockFile], project: Project) -> Iterator[Finding]:
    for lock in locks:
        if lock.name == DEVELOPMENT:
            yield from _held(project.required, lock, project, "dependencies")
            yield from _held(project.build, lock, project, "build requirements")
            for extra, requirements in project.extras.items():
                yield from _held(requirements, lock, project, f"extra {extra}")


def _held(
    requirements: Iterable[Requirement], lock: LockFile, project: Project, where: str
) -> Iterator[Finding]:
    for requirement, environment in itertools.product(requirements, project.environments):
        problem = _problem(requirement, lock, environment)
        if problem is not None:
            remedy = f"{environment.label}: name it in {FOLDER}/*.in and {COMPILE}"
            yield Finding(problem, f"{where} in {lock.name}", str(requirement), remedy)


def _problem(requirement: Requirement, lock: LockFile, environment: Environment) -> Rule | None:
    if requirement.url is not None:
        return Rule.FOREIGN_SOURCE
    if requirement.marker and not requirement.marker.evaluate(environment.markers):
        return None
    pin = lock.pin_in(canonicalize_name(requirement.name), environment.markers)
    if pin is None:
        return Rule.NOT_LOCKED
    if not requirement.specifier.contains(pin.version, prereleases=True):
        return Rule.OUT_OF_BOUNDS
    return None


def _disagreeing(locks: Iterable[LockFile], project: Project) -> Iterator[Finding]:
    """One environment holds several files: they must not undo each other's pins."""
    for first, second in itertools.combinations(locks, 2):
        shared = {pin.name for pin in first.pins} & {pin.name for pin in second.pins}
        for name, environment in itertools.product(sorted(shared), project.everywhere):
            one = first.pin_in(name, environment.markers)
            other = second.pin_in(name, environment.markers)
            if one and other and one.version != other.version:
                where = f"{first.name} and {second.name}"
                yield Finding(Rule.DISAGREE, where, name, f"bound it in {FOLDER}/dev.in")
