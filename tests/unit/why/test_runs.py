"""Why of a signed run: where it stands, who may sign what, and what was refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import treadle
from tests.support.graphs import ENFORCED, PRINCIPAL, advance_text, insert
from tests.support.workflows import NAMES, Release, text
from treadle.access.roles import Role
from treadle.database import Database
from treadle.graph import IRI
from treadle.graph.terms import Quad

RELEASE = Release()
ROLES = [Role("reader", graph=("read",)), Role("none")]


@pytest.fixture
def db() -> Iterator[Database]:
    with treadle.open(":memory:", graph=ENFORCED) as made:
        made.graph.update(insert(RELEASE.setup()), principal=PRINCIPAL)
        yield made


def test_a_run_at_its_beginning(db: Database) -> None:
    found = db.why_run(RELEASE.run.value)
    assert (found.state, found.revision, found.finished, found.enforced) == ("Draft", "0", False, True)
    assert [(one.name, one.to_state) for one in found.legal] == [("submit", "Review")]
    (signer,) = found.signers
    assert (signer.agent, signer.iri) == (RELEASE.agent_name, None)
    assert found.events == () and found.refusals == () and found.graph is None


def test_events_steps_and_refusals_as_it_goes_on(db: Database) -> None:
    db.graph.update(advance_text(RELEASE.submit()), principal=PRINCIPAL)
    bad = RELEASE.advance("approve", "Review", "Released", revision=1, signature_text="ed25519:nonsense")
    with pytest.raises(treadle.Refused):
        db.graph.update(advance_text(bad), principal="mallory")
    found = db.why_run(RELEASE.run.value)
    assert (found.state, found.revision) == ("Review", "1")
    assert {one.name for one in found.legal} == {"reject", "approve"}
    (event,) = found.events
    assert (event.from_state, event.to_state, event.revision) == ("Draft", "Review", "0")
    (refusal,) = found.refusals
    assert refusal.principal == "mallory" and refusal.entity == str(bad.event) and refusal.about_run
    good = RELEASE.advance("approve", "Review", "Released", revision=1)
    db.graph.update(advance_text(good), principal=PRINCIPAL)
    ended = db.why_run(RELEASE.run.value)
    assert ended.finished and ended.legal == ()
    assert [one.revision for one in ended.events] == ["1", "0"]


def test_refusals_are_those_of_the_run(db: Database) -> None:
    """Of two runs in one graph each shows its own, by the event or by the run that was named."""
    other = Release(prefix="http://example.org/b")
    db.graph.update(insert(other.setup()), principal=PRINCIPAL)
    for release, who in ((RELEASE, "mallory"), (other, "trudy")):
        bad = release.submit(signature_text="ed25519:nonsense")
        state = [Quad(release.run, NAMES.current_state, text("Released"), None)]
        for refused in (advance_text(bad), insert(state)):
            with pytest.raises(treadle.Refused):
                db.graph.update(refused, principal=who)
    for release, who in ((RELEASE, "mallory"), (other, "trudy")):
        found = db.why_run(release.run.value).refusals
        assert [(one.principal, one.about_run) for one in found] == [(who, True)] * 2
        assert found[0].entity == release.run.value
    submit = [Quad(RELEASE.step("submit"), NAMES.to_state, text("Released"), None)]
    with pytest.raises(treadle.Refused):
        db.graph.update(insert(submit), principal="mallory")
    for release in (RELEASE, other):
        newest = db.why_run(release.run.value).refusals[0]
        assert (newest.entity, newest.about_run) == (RELEASE.step("submit").value, False), "of no run"


def test_who_may_ask_and_what_is_shown(db: Database) -> None:
    db.deploy("contract C version 1 {}", roles=ROLES)
    with pytest.raises(treadle.Refused):
        db.graph.update(advance_text(RELEASE.submit(signature_text="ed25519:nonsense")), principal="mallory")
    seen = db.why_run(RELEASE.run.value, principal="bob", role="reader")
    assert seen.signers and [one.principal for one in seen.refusals] == ["•••"]
    with pytest.raises(treadle.Denied):
        db.why_run(RELEASE.run.value, principal="bob", role="none")


def test_a_run_in_a_named_graph_and_in_several(db: Database) -> None:
    other = Release(prefix="http://example.org/b", graph=IRI("http://example.org/g"))
    db.graph.update(insert(other.setup()), principal=PRINCIPAL)
    assert db.why_run(other.run.value).graph == "http://example.org/g"
    assert db.why_run(other.run.value, "http://example.org/g").state == "Draft"
    with pytest.raises(treadle.UnknownName, match="no run of that IRI"):
        db.why_run(other.run.value, "http://example.org/h")


def test_what_is_no_run(db: Database) -> None:
    with pytest.raises(treadle.UnknownName, match="there is no run of that IRI"):
        db.why_run("http://example.org/none")
    with pytest.raises(treadle.UnknownName):
        db.why_run(RELEASE.plan.value)
    with pytest.raises(treadle.InvalidInput):
        db.why_run("not an IRI")
