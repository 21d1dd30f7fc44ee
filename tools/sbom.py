"""The bill of materials of a release, CycloneDX 1.6 in JSON: `make dist` writes it beside the wheel.

    python -m tools.sbom FILE

It lists what `pip install treadle[...]` brings with all extras for users, in the versions that the tests ran
with. No time and no serial number stand in it, so that the same environment gives the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

NAME = "treadle"
EXTRAS = ("client", "lsp", "mcp", "otel", "postgres", "server")


def canonical(name: str) -> str:
    """A distribution's name as indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(installed: Distribution, extras: frozenset[str]) -> dict[str, frozenset[str]]:
    """What a distribution needs here, directly: canonical name → the extras it asks for."""
    needed: dict[str, frozenset[str]] = {}
    for text in installed.requires or ():
        one = Requirement(text)
        choices = [{"extra": extra} for extra in ("", *extras)]
        if one.marker is None or any(one.marker.evaluate(choice) for choice in choices):
            key = canonical(one.name)
            needed[key] = needed.get(key, frozenset()) | frozenset(one.extras)
    return needed


def closure(name: str, extras: frozenset[str] = frozenset()) -> dict[str, frozenset[str]]:
    """Everything that a distribution brings on this system, itself left out: name → what that needs directly.

    Raises importlib.metadata.PackageNotFoundError when something of it is not installed.
    """
    asked: dict[str, frozenset[str]] = {}
    edges: dict[str, frozenset[str]] = {}
    waiting = [(name, extras)]
    while waiting:
        here, wanted = waiting.pop()
        asked[here] = asked.get(here, frozenset()) | wanted
        needed = requirements(distribution(here), asked[here])
        edges[here] = frozenset(needed)
        waiting += [(key, more) for key, more in needed.items() if key not in asked or more - asked[key]]
    del edges[name]
    return edges


def component(name: str) -> dict[str, Any]:
    metadata = distribution(name).metadata
    entry: dict[str, Any] = {
        "type": "application" if name == NAME else "library",
        "bom-ref": name,
        "name": name,
        "version": metadata["Version"],
        "purl": f"pkg:pypi/{name}@{metadata['Version']}",
    }
    fields = metadata.json
    if expression := fields.get("license_expression"):
        entry["licenses"] = [{"expression": expression}]
    elif (licence := str(fields.get("license", "")).strip()) and "\n" not in licence:
        entry["licenses"] = [{"license": {"name": licence}}]
    return entry


def bill() -> dict[str, Any]:
    """The whole document as plain values."""
    edges = closure(NAME, frozenset(EXTRAS))
    direct = requirements(distribution(NAME), frozenset(EXTRAS))
    graph = {NAME: frozenset(direct), **edges}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(NAME)},
        "components": [component(name) for name in sorted(edges)],
        "dependencies": [{"ref": name, "dependsOn": sorted(graph[name])} for name in sorted(graph)],
    }


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.sbom FILE")
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
