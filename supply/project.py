"""What pyproject.toml asks for."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from supply.environments import Environment, environments, everywhere


@dataclass(frozen=True, slots=True)
class Project:
    """The package as it states itself; extras that name other extras are expanded."""

    name: str
    version: str
    licence: str
    required: tuple[Requirement, ...]
    extras: dict[str, tuple[Requirement, ...]]
    build: tuple[Requirement, ...]
    environments: tuple[Environment, ...]
    everywhere: tuple[Environment, ...]


def read_project(root: Path) -> Project:
    """Read pyproject.toml and the version that it points at."""
    document = tomllib.loads((root / "pyproject.toml").read_text())
    project = document["project"]
    extras = {
        name: tuple(map(Requirement, stated))
        for name, stated in project["optional-dependencies"].items()
    }
    return Project(
        project["name"],
        _version(root, document["tool"]["setuptools"]["dynamic"]["version"]["attr"]),
        project["license"],
        tuple(map(Requirement, project["dependencies"])),
        {name: _expanded(project["name"], name, extras) for name in extras},
        tuple(map(Requirement, document["build-system"]["requires"])),
        environments(project["classifiers"]),
        everywhere(project["classifiers"]),
    )


def _version(root: Path, attribute: str) -> str:
    module, _, name = attribute.rpartition(".")
    source = (root / module.replace(".", "/")).with_suffix(".py").read_text()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return str(ast.literal_eval(node.value))
    raise ValueError(f"{module} does not assign {name}: pyproject.toml has to point at the version")


def _expanded(
    project: str, extra: str, extras: dict[str, tuple[Requirement, ...]]
) -> tuple[Requirement, ...]:
    found: list[Requirement] = []
    waiting, seen = [extra], {extra}
    while waiting:
        for requirement in extras[waiting.pop()]:
            if requirement.name == project:
                waiting += sorted(requirement.extras - seen)
                seen |= requirement.extras
            else:
                found.append(requirement)
    return tuple(found)
