"""Enrollment: three-valued configuration, the shared record, and what is in the way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.legacy import legacy_plan, legacy_run
from tests.support.quads import MemoryQuads
from tests.support.workflows import NAMES, OPERATOR, Release
from treadle.errors import ConfigError, DatabaseCorrupt, DatabaseNewer, Refused, TreadleError
from treadle.graph.doctor import Surroundings
from treadle.graph.enrollment import (
    RULE_VERSION,
    Enrollment,
    Settings,
    capabilities,
    enroll,
    follow,
    guard_context,
)
from treadle.graph.fold import current_registrations
from treadle.graph.guard import Context
from treadle.graph.terms import IRI
from treadle.graph.vocabulary import BASE_NS, vocabulary

R = Release()
KEYS = "http://example.org/identity"
STORED = Enrollment(BASE_NS, (KEYS, "default"), ("urn:x:note",))


def enrolled(quads: set[Any], settings: Settings | None = None) -> Enrollment:
    view = MemoryQuads(quads)
    record, _ = enroll(view, settings or Settings(), current_registrations(view, NAMES), Surroundings())
    return record


@pytest.mark.parametrize("enforce, enrolls", [(None, False), (False, False), (True, True)])
def test_a_database_that_is_not_enrolled(enforce: bool | None, enrolls: bool) -> None:
    assert follow(None, Settings(enforce=enforce)) is enrolls


@pytest.mark.parametrize("enforce", [None, True])
def test_an_enrolled_database_is_followed(enforce: bool | None) -> None:
    assert follow(STORED, Settings(enforce=enforce)) is False
    assert follow(STORED, Settings(enforce=enforce, identity_graphs=("default", KEYS))) is False


def test_false_contradicts_an_enrolled_database() -> None:
    with pytest.raises(ConfigError, match="disenroll"):
        follow(STORED, Settings(enforce=False))


@pytest.mark.parametrize(
    "stored, settings, named",
    [
        (STORED, Settings(base_ns="urn:other:"), "base_ns"),
        (STORED, Settings(identity_graphs=(KEYS,)), "identity_graphs"),
        (Enrollment(BASE_NS, None, ()), Settings(identity_graphs=(KEYS,)), "identity_graphs"),
        (Enrollment(BASE_NS, None, (), RULE_VERSION - 1), Settings(), "rules"),
    ],
)
def test_other_rules_are_a_mismatch(stored: Enrollment, settings: Settings, named: str) -> None:
    with pytest.raises(TreadleError, match=named) as caught:
        follow(stored, settings)
    assert caught.value.code == "enrollment_mismatch"


def test_the_record_survives_json() -> None:
    for record in (STORED, Enrollment(BASE_NS, None, ())):
        assert Enrollment.from_fields(json.loads(json.dumps(record.to_fields()))) == record


@pytest.mark.parametrize("fields", [{}, {"rule_version": "x"}, {**STORED.to_fields(), "identity_graphs": 3}])
def test_a_damaged_record_is_said(fields: dict[str, Any]) -> None:
    with pytest.raises(DatabaseCorrupt):
        Enrollment.from_fields(fields)


def test_a_record_of_a_later_release_is_said() -> None:
    with pytest.raises(DatabaseNewer):
        Enrollment.from_fields({**STORED.to_fields(), "rule_version": RULE_VERSION + 1})


def test_enrolling_records_the_rules() -> None:
    settings = Settings(True, identity_graphs=("default", KEYS, KEYS), event_predicates=("urn:x:note",))
    assert enrolled(R.setup(), settings) == Enrollment(BASE_NS, ("default", KEYS), ("urn:x:note",))
    assert enrolled(set()) == Enrollment(BASE_NS, None, ())


def test_unmigrated_data_is_in_the_way() -> None:
    with pytest.raises(Refused) as caught:
        enrolled(legacy_plan() | legacy_run("Draft"))
    assert caught.value.reason == "unmigrated"
    assert R.plan.value in str(caught.value)
    assert R.run.value in str(caught.value)
    assert "migrate" in caught.value.remedy


def test_what_only_warns_is_handed_on() -> None:
    view = MemoryQuads(R.plan_quads())
    _, findings = enroll(view, Settings(), current_registrations(view, NAMES), Surroundings())
    assert {finding.code for finding in findings} == {"no_registration", "identity_graphs_open"}


@pytest.mark.parametrize(
    "bad",
    [{"base_ns": "nonsense"}, {"identity_graphs": ("not an IRI",)}, {"event_predicates": ("x",)}],
)
def test_settings_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Settings(**bad)


def test_what_the_guard_is_told() -> None:
    assert guard_context(None, Settings(), identity=False, define=False) == Context(enrolled=False)
    signed = guard_context(None, Settings(verify_transitions=True), identity=True, define=True)
    assert (signed.enrolled, signed.verify_transitions) == (False, True)
    told = guard_context(STORED, Settings(verify_transitions=True), identity=True, define=True)
    assert told.enrolled
    assert told.identity_graphs == {None, IRI(KEYS)}
    assert told.event_predicates == {IRI("urn:x:note")}
    assert told.names is vocabulary()
    plain = guard_context(Enrollment(BASE_NS, None, ()), Settings(), identity=True, define=True)
    assert plain == OPERATOR


def test_the_capabilities_say_nothing_else() -> None:
    assert capabilities(STORED) == {"processing": "enabled", "signatureVersions": [2]}
    assert capabilities(None) == {"processing": "disabled", "signatureVersions": [1]}
