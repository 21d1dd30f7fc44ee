"""Switching on is an act of the database: enrolling, following, contrary configuration, switching off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

import treadle
from tests.support.graphs import ENFORCED, advance_text, insert, loop, state_of, table
from tests.support.legacy import legacy_plan, legacy_run
from tests.support.workflows import NAMES, Release
from treadle import GraphOptions
from treadle.access.roles import Role
from treadle.errors import ConfigError, Denied, Refused, TreadleError
from treadle.graph.migrate import Answers
from treadle.graph.terms import IRI

R = Release()
KEYS = "http://example.org/keys"
OTHER_NS = "http://example.org/flow/"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.db"


def opened(path: Path, **options: Any) -> treadle.Database:
    return treadle.open(path, graph=GraphOptions(**options))


def kinds(db: treadle.Database) -> list[str]:
    return [entry.kind for entry in db.log()]


def test_a_new_database_is_off_and_follows_nothing(path: Path) -> None:
    for options in ({}, {"enforce_workflows": False}, {"identity_graphs": [KEYS]}):
        with opened(path, **options) as db:
            assert db.graph.capabilities() == {"processing": "disabled", "signatureVersions": [1]}
            db.graph.update(insert(R.run_quads("Anywhere", 7)), principal="tests")
            assert kinds(db) == ["update"]


def test_enrolling_following_and_contrary_configuration(path: Path) -> None:
    with opened(path, enforce_workflows=True, identity_graphs=[KEYS]) as db:
        assert db.graph.capabilities() == {"processing": "enabled", "signatureVersions": [2]}
        (entry,) = db.log()
        assert (entry.kind, entry.body["identity_graphs"]) == ("enroll", [KEYS])
        with treadle.open(path) as follower:
            with pytest.raises(Refused) as caught:
                follower.graph.update(insert(R.run_quads()), principal="tests")
            assert caught.value.reason == "run_incomplete"
    for options in ({}, {"enforce_workflows": True}, {"identity_graphs": [KEYS]}, {"base_ns": NAMES.base}):
        with opened(path, **options) as db:
            assert kinds(db) == ["enroll", "refusal"]
            assert db.verify().ok
    with pytest.raises(ConfigError, match="disenroll"):
        opened(path, enforce_workflows=False)
    others: list[dict[str, Any]] = [
        {"identity_graphs": []},
        {"identity_graphs": ["default"]},
        {"base_ns": OTHER_NS},
    ]
    for differing in others:
        with pytest.raises(TreadleError) as mismatch:
            opened(path, enforce_workflows=True, **differing)
        assert mismatch.value.code == "enrollment_mismatch"
    other = apsw.Connection(str(path))
    assert other.pragma("user_version") == 2
    other.close()


def test_a_process_that_was_there_before_follows_at_once(path: Path) -> None:
    with treadle.open(path) as early:
        early.graph.update(insert(R.plan_quads()), principal="tests")
        with opened(path, enforce_workflows=True):
            with pytest.raises(Refused):
                early.graph.update(insert(R.run_quads("Review", 3)), principal="tests")
            early.graph.update(insert(R.run_quads()), principal="tests")
            assert early.graph.capabilities()["processing"] == "enabled"


def test_another_namespace(path: Path) -> None:
    with opened(path, enforce_workflows=True, base_ns=OTHER_NS) as db:
        db.graph.update(insert(R.run_quads("Anywhere", 7)), principal="tests")
        with pytest.raises(Refused):
            db.graph.update(f"INSERT DATA {{ <urn:r> a <{OTHER_NS}WorkflowRun> }}", principal="tests")
    with treadle.open(path) as db, pytest.raises(Refused):
        db.graph.update(f"INSERT DATA {{ <urn:r> a <{OTHER_NS}WorkflowRun> }}", principal="tests")
    with pytest.raises(ConfigError):
        opened(path, base_ns="no namespace")


def test_legacy_data_is_in_the_way_and_nothing_is_switched(path: Path) -> None:
    with treadle.open(path) as db:
        db.graph.update(insert(legacy_plan() | legacy_run("Draft")), principal="tests")
    with pytest.raises(Refused, match="treadle graph migrate|things are in the way") as caught:
        opened(path, enforce_workflows=True)
    assert caught.value.reason == "unmigrated"
    with treadle.open(path) as db:
        assert db.graph.capabilities()["processing"] == "disabled"
        assert [finding.code for finding in db.graph.doctor() if finding.severity == "blocks"]
        done, changed = db.graph.migrate(Answers(initial={R.plan: "Draft"}))
        assert done.items and changed.asserted
        assert list(db.log())[-1].name == "migrate"
    with opened(path, enforce_workflows=True) as db:
        db.graph.update(insert(R.registration_quads()), principal="tests")
        db.graph.update(advance_text(R.submit()), principal="tests")
        assert state_of(db) == ("Review", "1")
        with pytest.raises(Refused, match="nothing left to migrate"):
            db.graph.migrate()
        assert db.verify().ok


def test_what_blocks_a_migration_is_not_guessed(path: Path) -> None:
    with treadle.open(path) as db:
        db.graph.update(insert(legacy_plan() | legacy_run("Draft") | legacy_run("Review")), principal="tests")
        before = table(db)
        assert db.graph.plan_migration().blocked
        with pytest.raises(Refused) as caught:
            db.graph.migrate()
        assert caught.value.reason == "unmigrated"
        assert table(db) == before


def test_switching_off_is_logged(path: Path) -> None:
    with treadle.open(path, graph=ENFORCED) as db:
        db.graph.update(insert(R.setup()), principal="tests")
        db.graph.update(advance_text(R.submit()), principal="tests")
        assert db.graph.disenroll(principal="ann") == 4
        assert db.graph.disenroll(principal="ann") == 0
        assert (list(db.log())[-1].kind, list(db.log())[-1].principal) == ("disenroll", "ann")
        db.graph.update(f"DELETE WHERE {{ <{R.run}> ?p ?o }}", principal="tests")
        assert db.verify().ok
    with opened(path, enforce_workflows=False):
        pass


def test_only_an_administrator_switches(path: Path) -> None:
    roles = [Role(name="writer", graph=("read", "update", "define", "identity"))]
    with treadle.open(path) as db:
        db.deploy("contract C version 1 {}", roles=roles)
        for act in (db.graph.enroll, db.graph.disenroll, db.graph.migrate):
            with pytest.raises(Denied):
                act(principal="tests", role="writer")
        assert "enroll" not in kinds(db)


def test_verification_without_enforcement(path: Path) -> None:
    with opened(path, verify_transitions=True) as db:
        assert kinds(db) == ["graph"]
        db.graph.update(insert(R.setup()), principal="tests")
        with treadle.open(path) as follower:
            with pytest.raises(Refused) as caught:
                follower.graph.update(advance_text(R.submit(signature_text="00" * 64)), principal="tests")
            assert caught.value.reason == "signature_invalid"
        db.graph.update(insert(loop(R, 0).event_quads()), principal="tests")
        assert db.graph.capabilities() == {"processing": "disabled", "signatureVersions": [1]}
    for options in ({"verify_transitions": True}, {}, {"base_ns": NAMES.base}):
        with opened(path, **options) as db:
            assert kinds(db).count("graph") == 1
    with pytest.raises(ConfigError, match="disenroll"):
        opened(path, verify_transitions=False)
    with pytest.raises(TreadleError, match="identity_graphs"):
        opened(path, identity_graphs=[KEYS])
    with treadle.open(path) as db:
        db.graph.disenroll()
        db.graph.update(insert(R.submit(from_revision="9", signature_text="x").event_quads()), principal="t")


def test_options_that_are_none() -> None:
    for bad in (
        {"identity_graphs": ["not an IRI"]},
        {"event_predicates": ["x y"]},
        {"update_full_copy_max_facts": -1},
        {"seconds": 0},
    ):
        with pytest.raises(ConfigError):
            GraphOptions(**bad)


def test_predicates_listed_at_enrollment(path: Path) -> None:
    note = IRI("http://example.org/note")
    with opened(path, enforce_workflows=True, event_predicates=[note.value]) as db:
        db.graph.update(insert(R.setup()), principal="tests")
        advance = R.submit()
        noted = f"{advance_text(advance)} ; INSERT DATA {{ {advance.event.n3()} {note.n3()} 'x' }}"
        assert db.graph.update(noted, principal="tests").asserted == 13
