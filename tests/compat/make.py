"""Make the files by which later releases are held to reading this one's: `python -m tests.compat.make`.

Writes tests/compat/treadle-VERSION.zip with a database, one whose log was pruned, one with signed runs whose
log was pruned, an export, and what a reader has to find in them. Run it once for each release, before it goes
out. A release's file is never made anew: what it holds was written by that release.
"""

from __future__ import annotations

import json
import sys
import tempfile
import uuid
import zipfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import treadle
from tests.support import pruning
from treadle.access.roles import Role
from treadle.testing import ManualClock

HERE: Final = Path(__file__).parent
SOURCE: Final = HERE.parent / "data" / "library.riff"
START: Final = datetime(2026, 11, 30, 12, tzinfo=UTC)
READER: Final = uuid.UUID(int=7)
WORKER: Final = Role("worker", commands=("Take",))


def buy(number: int) -> tuple[str, dict[str, Any]]:
    """The command that buys a book."""
    return "Buy", {
        "key": f"buy-{number}",
        "branch": "north",
        "book": number,
        "title": f"Böök {number} ✓",
        "isbn": f"isbn-{number}",
        "price": Decimal("12.50"),
        "bought": date(2026, 11, 29),
    }


def take(number: int, revision: int) -> tuple[str, dict[str, Any]]:
    """The command that takes a book home."""
    return "Take", {
        "key": f"take-{number}-{revision}",
        "branch": "north",
        "book": number,
        "reader_id": READER,
        "seconds": 60,
        "expected_revision": revision,
    }


def fill(database: treadle.Database, clock: ManualClock) -> None:
    """Rows, failures, a deleted row, events, a token, statements."""
    database.deploy(SOURCE, roles=[WORKER])
    desk = database.acting_as("desk")
    desk.run("Open", {"key": "o", "branch": "north", "name": "North"})
    desk.run_many([buy(number) for number in range(8)])
    desk.run(*buy(3))
    desk.run(*take(3, 1))
    desk.run(*take(3, 9))
    clock.advance(timedelta(days=1))
    desk.run(*take(3, 2))
    desk.run(*take(5, 1)).expect("Took")
    held = {"reader_id": READER, "token": 1, "expected_revision": 2}
    desk.run("Remove", {"key": "gone", "branch": "north", "book": 5, **held}).expect("Removed")
    database.tokens.create("worker-1", role="worker")


def found(database: treadle.Database) -> dict[str, Any]:
    """What a reader has to find: the head, and each book with its revision and its title."""
    number, digest = database.head
    rows = {str(place): database.row("Book", ("north", place)) for place in range(9)}
    return {
        "head": [number, digest],
        "books": {
            place: None if row is None else [row.revision, row.fields["title"]] for place, row in rows.items()
        },
    }


def make(folder: Path) -> dict[str, Any]:
    """Write everything into a folder; returns what has to be found."""
    clock = ManualClock(START)
    with treadle.open(folder / "library.db", clock=clock) as database:
        fill(database, clock)
        database.export(folder / "archive")
        database.graph.update(
            'INSERT DATA { <urn:book:3> <urn:shelf> "north", "2"^^<urn:d> . '
            "GRAPH <urn:g> { <urn:a> a <urn:b> } }",
            principal="desk",
        )
        expected = {"library": found(database)}
    clock = ManualClock(START)
    with treadle.open(folder / "pruned.db", clock=clock) as database:
        fill(database, clock)
        database.streams().retain("Bought", timedelta(seconds=1))
        clock.advance(timedelta(days=1))
        database.streams().sweep("Bought")
        database.retention().log(through=8)
        database.run(*take(4, 1), principal="desk")
        expected["pruned"] = found(database)
    clock = ManualClock(START)
    with treadle.open(folder / "signed.db", clock=clock) as database:
        database.deploy(SOURCE, roles=[WORKER])
        pruning.fill(database, folder)
        database.retention().log(through=database.head[0] - 1)
        desk = database.acting_as("desk")
        desk.run("Open", {"key": "o", "branch": "north", "name": "North"})
        desk.run_many([buy(number) for number in range(8)])
        desk.run_many([take(number, 1) for number in range(3, 8)])
        expected["signed"] = {"signatures": 2, **found(database)}
    return expected


def main() -> None:
    """Make this release's file."""
    target = HERE / f"treadle-{version('treadle')}.zip"
    if target.exists():
        sys.exit(f"{target.name} is there; a release's file is never made anew")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "expected.json").write_text(json.dumps(make(folder), indent=2, ensure_ascii=False))
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.name.endswith("-lock"):
                    packed.write(path, path.relative_to(folder))
    print(f"{target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
