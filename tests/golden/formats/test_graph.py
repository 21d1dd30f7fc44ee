"""The page on the graph says which records there are, what their bodies hold, and what else is stored."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support.graphs import ENFORCED, advance_text, insert, loop
from tests.support.workflows import Release
from treadle.database import Database
from treadle.graph.live import stored
from treadle.graph.live.committing import PART
from treadle.graph.live.rules import ENROLLMENT, VERIFICATION
from treadle.history import Entry

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "graph.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([a-z]+)` \|([^|]*)\|([^|]*)\|([^|]*)\|$", PAGE, re.MULTILINE)
OPTIONAL = {"identity_graphs", "field", "graph", "commit"}
PLACES = re.findall(r"^\| (?:setting|space) `([a-z.]+)` \|", PAGE, re.MULTILINE)
RELEASE = Release()


def shown(kind: str, name: str = "") -> tuple[set[str], bool]:
    """What the page says of a record: the members of its body, and whether the graph changes."""
    for row_kind, row_name, body, effect in ROWS:
        names = re.findall(r"`([a-z-]+)`", row_name)
        if row_kind == kind and (name in names or (not names and (not name or row_name.strip()))):
            return set(re.findall(r"`([a-z_]+)`", body)), effect.strip().startswith("changes")
    raise AssertionError(f"{kind} {name} is not on the page")


def check(entry: Entry) -> None:
    members, changes = shown(entry.kind, entry.name)
    body = set(entry.body or {})
    assert members - OPTIONAL <= body <= members, entry
    assert bool(entry.graph and (entry.graph.added or entry.graph.removed)) == changes, entry


def last(db: Database) -> Entry:
    (entry,) = db.log(db.head[0])
    return entry


def test_enrolling_refusing_and_leaving(tmp_path: Path) -> None:
    with treadle.open(tmp_path / "g.db", graph=ENFORCED) as db:
        check(last(db))
        db.graph.update(insert(RELEASE.setup()), principal="a")
        check(last(db))
        db.graph.update(advance_text(loop(RELEASE, 0)), principal="a")
        with pytest.raises(treadle.Refused):
            db.graph.update(f"DELETE WHERE {{ {RELEASE.run.n3()} ?p ?o }}", principal="b")
        check(last(db))
        db.graph.update(
            advance_text(RELEASE.advance("approve", "Review", "Released", revision=1)), principal="a"
        )
        db.graph.archive(tmp_path / "done.nq")
        check(last(db))
        db.graph.disenroll()
        check(last(db))


def test_verifying_and_migrating(tmp_path: Path) -> None:
    with treadle.open(":memory:", graph=treadle.GraphOptions(verify_transitions=True)) as db:
        check(last(db))
    legacy = {quad for quad in RELEASE.setup() if quad.p.value.rpartition("/")[2] != "currentRevision"}
    with treadle.open(":memory:") as db:
        db.graph.update(insert(legacy), principal="a")
        db.graph.migrate()
        check(last(db))


def test_a_large_change_has_several_records() -> None:
    text = "".join(f"<urn:s{n}> <urn:p> <urn:o> .\n" for n in range(PART + 1))
    with treadle.open(":memory:") as db:
        done = db.graph.load(text, "ntriples", principal="a")
        first, second = db.log()
        assert (first.body, second.body or {}, done.tx) == ({"commit": 2}, {}, 2)
        assert f"{PART:,}" in PAGE


def test_settings_and_entries(tmp_path: Path) -> None:
    assert PLACES == [stored.COMMIT, ENROLLMENT, VERIFICATION, stored.CHANGES, stored.VERSIONS]
    with treadle.open(":memory:", graph=ENFORCED) as db:
        enrolled: Any = last(db).body
        db.graph.load("<urn:a> <urn:b> <urn:c> .", graph="urn:g", principal="a")
        with db._engine.store.read() as tx:
            assert tx.setting(stored.COMMIT) == b"2 1"
            assert json.loads(tx.setting(ENROLLMENT) or b"") == {"identity_graphs": None, **enrolled}
            assert [key for key, _ in tx.entries(stored.CHANGES, b"", None, 9)] == [
                b"\0" * 7 + b"\1",
                b"\0" * 7 + b"\2",
            ]
            assert tx.entries(stored.VERSIONS, b"", None, 9) == [(b"<urn:g>", b"\0" * 7 + b"\2")]
