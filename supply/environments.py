"""The environments that the project says it runs in, as values of packaging markers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PYTHON: Final = "Programming Language :: Python :: "
SYSTEMS: Final = {
    "Operating System :: MacOS": ("posix", "darwin", "Darwin"),
    "Operating System :: POSIX :: Linux": ("posix", "linux", "Linux"),
    "Operating System :: Microsoft :: Windows": ("nt", "win32", "Windows"),
}


@dataclass(frozen=True, slots=True)
class Environment:
    """One Python on one system."""

    label: str
    markers: dict[str, str]


def environments(classifiers: list[str]) -> tuple[Environment, ...]:
    """Every stated Python on every stated system."""
    pythons = [
        stated.removeprefix(PYTHON)
        for stated in classifiers
        if stated.startswith(PYTHON) and "." in stated.removeprefix(PYTHON)
    ]
    systems = [SYSTEMS[stated] for stated in classifiers if stated in SYSTEMS]
    return tuple(_environment(python, *system) for python in pythons for system in systems)


def everywhere(classifiers: list[str]) -> tuple[Environment, ...]:
    """Every stated Python on every system that a lock file may speak of."""
    pythons = [stated for stated in classifiers if stated.startswith(PYTHON)]
    return environments([*pythons, *SYSTEMS])


def _environment(python: str, os_name: str, sys_platform: str, system: str) -> Environment:
    markers = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "os_name": os_name,
        "sys_platform": sys_platform,
        "platform_system": system,
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_version": "",
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "extra": "",
    }
    return Environment(f"Python {python} on {system}", markers)
