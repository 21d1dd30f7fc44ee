"""The register of files that are made from other files.

    python -m tools.generated            write them all
    python -m tools.generated --check    say which are out of date, and exit 1 if one is

A generator is a function without arguments that returns, for each file it makes, the path relative to the
repository's root and the whole content. It writes nothing itself, so that checking is harmless while others
work. To add one: put a line into GENERATED. The test in tests/repo then checks it, and the checks of style
leave its files alone.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from treadle.riff.codes import CODES

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Generated:
    """`outputs` are named here too, so that a reader finds where a file comes from without running it."""

    render: str  # "module:function"
    outputs: tuple[str, ...]

    def files(self) -> Mapping[str, bytes]:
        """Runs the generator; raises ValueError when it makes other files than it is listed with."""
        module, _, function = self.render.partition(":")
        made: Mapping[str, str | bytes] = getattr(importlib.import_module(module), function)()
        if set(made) != set(self.outputs):
            raise ValueError(f"{self.render} makes {sorted(made)}, listed are {sorted(self.outputs)}")
        return {path: text.encode() if isinstance(text, str) else text for path, text in made.items()}


DIAGNOSTICS = ("index", *CODES)

GENERATED: tuple[Generated, ...] = (
    Generated("tools.reference:error_page", ("docs/reference/errors.md",)),
    Generated(
        "tools.reference:setting_pages", ("docs/reference/config.md", "docs/reference/treadle.schema.json")
    ),
    Generated("tools.limits_reference:limits_page", ("docs/reference/limits.md",)),
    Generated("tools.reference:command_page", ("docs/reference/cli.md",)),
    Generated("tools.http_reference:http_page", ("docs/reference/http.md",)),
    Generated("tools.textmate:files", ("editors/riff.tmLanguage.json", "editors/riffq.tmLanguage.json")),
    Generated("treadle.riff.generate:files", ("src/treadle/riff/riff.table.json",)),
    Generated("tools.clients:files", ("examples/generated_client/queue_client.py",)),
    Generated("treadle.riff.migrating.generate:files", ("src/treadle/riff/migrating/migrating.table.json",)),
    Generated(
        "tools.diagnostics:pages", tuple(f"docs/reference/diagnostics/{name}.md" for name in DIAGNOSTICS)
    ),
)


def outputs() -> frozenset[str]:
    """Every file that some generator makes, relative to the root."""
    return frozenset(path for each in GENERATED for path in each.outputs)


def stale(each: Generated) -> list[str]:
    """The outputs whose file is missing or differs from what the generator makes now."""
    return [path for path, content in each.files().items() if current(path) != content]


def current(path: str) -> bytes | None:
    file = ROOT / path
    return file.read_bytes() if file.is_file() else None


def write(each: Generated) -> list[str]:
    """Writes the stale outputs and returns their names."""
    content = each.files()
    changed = [path for path in content if current(path) != content[path]]
    for path in changed:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_bytes(content[path])
    return changed


def main() -> None:
    parser = argparse.ArgumentParser(description="Write or check the generated files.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    check = parser.parse_args().check
    act, verb = (stale, "out of date:") if check else (write, "wrote")
    touched = [path for each in GENERATED for path in act(each)]
    for path in touched:
        print(verb, path)
    if check and touched:
        sys.exit("run `make docs` and commit the result")


if __name__ == "__main__":
    main()
