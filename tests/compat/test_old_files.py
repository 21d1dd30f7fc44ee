"""Files of every release since the first open, verify and replay; their exports can be imported."""

from __future__ import annotations

import json
import zipfile
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.compat.make import HERE, START, buy, found, make, take
from treadle.errors import KeyExpired
from treadle.testing import ManualClock

RELEASES = sorted(HERE.glob("treadle-*.zip"))


def test_this_release_has_a_file() -> None:
    assert HERE / f"treadle-{version('treadle')}.zip" in RELEASES, "run `python -m tests.compat.make`"


@pytest.fixture(params=RELEASES, ids=lambda path: path.stem)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """What a release wrote, unpacked."""
    with zipfile.ZipFile(request.param) as packed:
        packed.extractall(tmp_path)
    return tmp_path


def expected(release: Path) -> Any:
    return json.loads((release / "expected.json").read_text())


def opened(release: Path, name: str) -> treadle.Database:
    return treadle.open(release / f"{name}.db", create=False, clock=ManualClock(START + timedelta(days=3)))


def check(release: Path, name: str) -> None:
    """A database of a release holds what it has to, verifies, and goes on."""
    wanted = expected(release)[name]
    signatures = wanted.pop("signatures", 0)
    with opened(release, name) as db:
        assert found(db) == wanted
        report = db.verify(head=(wanted["head"][0], wanted["head"][1]))
        assert report.ok, report.problems
        assert report.evaluated + report.not_evaluated > 3 and report.signatures == signatures
        assert db.run(*take(2, 1), principal="desk").ok
        assert db.run(*buy(20), principal="desk").ok
        assert db.verify().ok


def test_it_opens_verifies_and_goes_on(release: Path) -> None:
    names = set(expected(release))
    assert names >= {"library", "pruned"}
    for name in sorted(names):
        check(release, name)


def test_what_the_next_release_will_write(tmp_path: Path) -> None:
    (tmp_path / "expected.json").write_text(json.dumps(make(tmp_path)))
    assert set(expected(tmp_path)) == {"library", "pruned", "signed"}
    for name in expected(tmp_path):
        check(tmp_path, name)


def test_receipts_replay(release: Path) -> None:
    with opened(release, "library") as db:
        for command in (buy(3), take(3, 1), take(3, 2)):
            receipt = db.run(*command, principal="desk")
            assert receipt.ok and receipt.replayed
        stale = db.run(*take(3, 9), principal="desk")
        assert not stale.ok and stale.replayed
        assert db.head[0] == expected(release)["library"]["head"][0]


def test_pruned_keys_stay_refused(release: Path) -> None:
    with opened(release, "pruned") as db:
        with pytest.raises(KeyExpired):
            db.run(*buy(3), principal="desk")
        assert db.run(*take(3, 2), principal="desk").replayed


def test_statements_are_there(release: Path) -> None:
    with opened(release, "library") as db:
        for pattern in (
            '<urn:book:3> <urn:shelf> "north", "2"^^<urn:d>',
            "GRAPH <urn:g> { <urn:a> a <urn:b> }",
        ):
            assert db.graph.query(f"ASK {{ {pattern} }}") is True


def test_its_export_can_be_imported(release: Path) -> None:
    with treadle.open(release / "new.db", clock=ManualClock(START)) as db:
        db.deploy(release / "archive" / "contract.riff")
        done = db.import_archive(release / "archive", "compat")
        assert done.rows == 8
        row = db.row("Book", ("north", 3))
        assert row is not None and row.fields["fence"] == 2
        assert db.verify().ok


def test_a_file_of_a_later_format_is_refused_and_left_alone(release: Path) -> None:
    path = release / "library.db"
    data = bytearray(path.read_bytes())
    data[60:64] = (99).to_bytes(4)
    path.write_bytes(data)
    with pytest.raises(treadle.StoreError) as caught:
        opened(release, "library")
    assert caught.value.code == "database_newer" and path.read_bytes() == data
