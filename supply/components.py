"""What the product is made of: locked packages and crates, and which needs which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

from packaging.utils import canonicalize_name

from supply import crates as crate_lock
from supply.licence_record import read_record
from supply.locks import lock_files
from supply.pins import LockFile, Pin
from supply.project import Project, read_project

# From the address of a component to those of what it needs.
Edges = dict[str, set[str]]


class Scope(StrEnum):
    """Who needs a component: every user, users of an extra, or only who works on the product."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class Component:
    """One package or crate in one version."""

    purl: str
    name: str
    version: str
    scope: Scope
    licence: str
    hashes: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()


def bill(root: Path) -> tuple[Component, tuple[Component, ...], Edges]:
    """The product, its components by address, and the graph between them.

    Raises:
        ValueError: a lock or the record of licences lacks something.
    """
    project, record = read_project(root), read_record(root)
    product = Component(
        _purl("generic", project.name, project.version),
        project.name,
        project.version,
        Scope.REQUIRED,
        project.licence,
    )
    components, edges = _python(lock_files(root), project, product.purl, record.python)
    crates, crate_edges, native = _crates(root, record.crates)
    edges |= crate_edges
    edges[product.purl].add(native)
    everything = sorted([*components, *crates], key=lambda component: component.purl)
    return product, tuple(everything), edges


def _purl(kind: str, name: str, version: str) -> str:
    return f"pkg:{kind}/{quote(name)}@{quote(version)}"


def _pin_purl(pin: Pin) -> str:
    return _purl("pypi", pin.name, str(pin.version))


def _licence(name: str, record: dict[str, str]) -> str:
    if name not in record:
        raise ValueError(f"no licence is recorded for {name}: see `python -m supply licences`")
    return record[name]


def _python(
    locks: Iterable[LockFile], project: Project, product: str, record: dict[str, str]
) -> tuple[list[Component], Edges]:
    edges: Edges = {product: set()}
    required: set[str] = set()
    optional: set[str] = set()
    components: dict[str, Component] = {}
    for lock in locks:
        if lock.findings:
            raise ValueError(f"{lock.name} is no sound lock: see `python -m supply locks`")
        for pin in lock.pins:
            _add(components, pin, lock.name, _licence(pin.name, record))
        _connect(lock, project, edges)
        required |= _direct(project, lock, ())
        optional |= _direct(project, lock, project.extras)
    edges[product] = required | optional
    needed, perhaps = _reached(required, edges), _reached(optional, edges)
    for purl, component in components.items():
        edges.setdefault(purl, set())
        if purl in needed | perhaps:
            scope = Scope.REQUIRED if purl in needed else Scope.OPTIONAL
            components[purl] = replace(component, scope=scope)
    return list(components.values()), edges


def _add(components: dict[str, Component], pin: Pin, lock: str, licence: str) -> None:
    purl = _pin_purl(pin)
    properties = [("gopa:lock", lock)]
    if pin.marker is not None:
        properties.append(("gopa:marker", str(pin.marker)))
    known = components.get(purl)
    if known is not None:
        properties = sorted({*known.properties, *properties})
        hashes = tuple(sorted({*known.hashes, *pin.hashes}))
        components[purl] = replace(known, hashes=hashes, properties=tuple(properties))
        return
    components[purl] = Component(
        purl,
        pin.name,
        str(pin.version),
        Scope.EXCLUDED,
        licence,
        pin.hashes,
        tuple(properties),
    )


def _connect(lock: LockFile, project: Project, edges: Edges) -> None:
    """The comments of a lock say who asked for a pin: names, which the environments settle."""
    names = {pin.name for pin in lock.pins}
    for pin in lock.pins:
        for parent in pin.wanted_by:
            if parent.startswith("-"):
                continue
            if canonicalize_name(parent) not in names:
                raise ValueError(f"{lock.name}: {pin.name} is wanted by {parent}, unknown there")
            for environment in project.everywhere:
                above = lock.pin_in(parent, environment.markers)
                if above is not None and pin.applies(environment.markers):
                    edges.setdefault(_pin_purl(above), set()).add(_pin_purl(pin))


def _direct(project: Project, lock: LockFile, extras: Iterable[str]) -> set[str]:
    """What the product itself asks for: without extras, or by these extras."""
    extras = tuple(extras)
    wanted = [r for extra in extras for r in project.extras[extra]] if extras else project.required
    found = set()
    for environment in project.everywhere:
        for requirement in wanted:
            if requirement.marker is None or requirement.marker.evaluate(environment.markers):
                pin = lock.pin_in(requirement.name, environment.markers)
                found |= {_pin_purl(pin)} if pin is not None else set()
    return found


def _reached(roots: set[str], edges: Edges) -> set[str]:
    reached, waiting = set(roots), list(roots)
    while waiting:
        new = edges.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached


def _crates(root: Path, record: dict[str, str]) -> tuple[list[Component], Edges, str]:
    """All crates are linked into what users get, or build that, so all are required."""
    crates, manifest = crate_lock.read_crates(root), crate_lock.read_manifest(root)
    purls = {
        crate: _purl("cargo" if crate.source else "generic", crate.name, crate.version)
        for crate in crates
    }
    components = [
        Component(
            purls[crate],
            crate.name,
            crate.version,
            Scope.REQUIRED,
            _licence(crate.name, record) if crate.source else manifest.licence,
            (crate.checksum,) if crate.checksum else (),
            (("gopa:lock", "Cargo.lock"),),
        )
        for crate in crates
    ]
    edges = {
        purls[crate]: {purls[needed] for needed in crate_lock.resolve(crate, crates)}
        for crate in crates
    }
    return components, edges, _purl("generic", manifest.name, manifest.version)
