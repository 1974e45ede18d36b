"""The software bill of materials: CycloneDX 1.6, made from the lock files and from nothing else.

No clock, no random numbers, nothing of the machine: the same tree gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from pathlib import Path
from typing import Final

from supply.components import Component, Edges, bill

FILE: Final = "supply/sbom.cdx.json"
SCHEMA: Final = "http://cyclonedx.org/schema/bom-1.6.schema.json"
NAMESPACE: Final = uuid.UUID("4d9f7a39-3f0f-5f3d-9a55-0f6e1c6f2b7e")
NOTES: Final = {
    "gopa:hashes": "A Python package carries the SHA-256 of every file of its release that the"
    " lock admits; what is installed is one of them. A crate carries that of its one archive.",
    "gopa:scope": "required: the library needs it or is linked with it; optional: an extra needs"
    " it; excluded: only building, testing and measuring need it.",
}


def render(root: Path) -> str:
    """The document as text: one component or dependency a line, sorted.

    Raises:
        ValueError: a lock does not say what the bill has to say; `python -m supply locks` does.
    """
    product, components, edges = bill(root)
    parts: dict[str, object] = {
        "metadata": {
            "component": _component(product, product=True),
            "properties": [{"name": name, "value": value} for name, value in NOTES.items()],
        },
        "components": [_component(component) for component in components],
        "dependencies": _dependencies(edges),
    }
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    head: dict[str, object] = {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(NAMESPACE, digest).urn,
        "version": 1,
    }
    return _lines(head | parts)


def _component(component: Component, *, product: bool = False) -> dict[str, object]:
    document: dict[str, object] = {
        "type": "library",
        "bom-ref": component.purl,
        "name": component.name,
        "version": component.version,
    }
    if not product:
        document["scope"] = component.scope.value
    if component.hashes:
        document["hashes"] = [{"alg": "SHA-256", "content": digest} for digest in component.hashes]
    document["licenses"] = [_licence(component.licence)]
    document["purl"] = component.purl
    if component.properties:
        document["properties"] = [
            {"name": name, "value": value} for name, value in component.properties
        ]
    return document


def _licence(expression: str) -> dict[str, object]:
    if " " in expression or expression.startswith("LicenseRef-"):
        return {"expression": expression}
    return {"license": {"id": expression}}


def _dependencies(edges: Edges) -> list[dict[str, object]]:
    return [{"ref": ref, "dependsOn": sorted(needed)} for ref, needed in sorted(edges.items())]


def _lines(document: dict[str, object]) -> str:
    """JSON with one line for each item of a list, so that differences can be read."""
    fields = []
    for key, value in document.items():
        if isinstance(value, list):
            items = ",\n".join(f"    {_compact(item)}" for item in value)
            fields.append(f"  {json.dumps(key)}: [\n{items}\n  ]")
        else:
            fields.append(f"  {json.dumps(key)}: {_compact(value)}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
