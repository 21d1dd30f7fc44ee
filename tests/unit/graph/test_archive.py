"""Archiving: what leaves, what stays, and that what left cannot be played again."""

from __future__ import annotations

from collections.abc import Collection

from tests.support.legacy import legacy_run
from tests.support.quads import MemoryQuads
from tests.support.workflows import NAMES, OPERATOR, Release, number
from treadle.graph.archive import Archive, plan_archive
from treadle.graph.fold import current_registrations, fold_all
from treadle.graph.guard import Refusal, Verdict, judge
from treadle.graph.terms import IRI, Quad, Resource
from treadle.graph.vocabulary import ARCHIVED

R = Release()
STEPS = (("submit", "Draft", "Review"), ("reject", "Review", "Draft"), ("submit", "Draft", "Review"))
ADVANCES = [R.advance(*step, revision) for revision, step in enumerate(STEPS)]
ADVANCES.append(R.advance("approve", "Review", "Released", 3))


def finished() -> set[Quad]:
    events = set().union(*(advance.event_quads() for advance in ADVANCES))
    return R.plan_quads() | R.registration_quads() | R.run_quads("Released", 4) | events


def archive(
    view: MemoryQuads, runs: Collection[Resource] | None = None, plans: Collection[Resource] = ()
) -> Archive:
    return plan_archive(view, NAMES, current_registrations(view, NAMES), runs=runs, plans=plans)


def test_a_finished_run_leaves_with_its_events_and_a_record_stays() -> None:
    view = MemoryQuads(finished())
    planned = archive(view)
    assert [folded.run for folded in planned.runs] == [R.run]
    view.apply(planned.delta)
    assert set(view) == R.plan_quads() | R.registration_quads() | R.about(R.run, (ARCHIVED, number(4)))


def test_what_is_removed_is_what_an_export_needs() -> None:
    view = MemoryQuads(finished())
    exported = MemoryQuads({*archive(view).delta.removed, *R.plan_quads(), *R.registration_quads()})
    assert all(one.ok for one in fold_all(exported, NAMES, current_registrations(exported, NAMES)))


def test_its_signed_advances_cannot_be_played_again() -> None:
    view = MemoryQuads(finished())
    view.apply(archive(view).delta)
    started = judge(view, view.delta(added=R.run_quads()), OPERATOR)
    assert isinstance(started, Refusal)
    assert started.reason == "run_not_initial"
    other = Release(R.prefix, IRI("http://example.org/g"))
    elsewhere = judge(view, view.delta(added=other.plan_quads() | other.run_quads()), OPERATOR)
    assert isinstance(elsewhere, Refusal)
    assert elsewhere.reason == "run_not_initial"
    fresh = R.run_quads(run=IRI("http://example.org/a/another-run"))
    assert isinstance(judge(view, view.delta(added=fresh), OPERATOR), Verdict)


def test_an_active_run_stays() -> None:
    view = MemoryQuads(R.setup())
    assert archive(view).runs == ()
    assert archive(view, [R.run]).kept == ((R.run, None, "it is not finished"),)


def test_a_run_that_does_not_fold_stays() -> None:
    view = MemoryQuads(finished() - ADVANCES[0].event_quads())
    planned = archive(view, [R.run])
    assert not planned.delta
    assert "does not fold" in planned.kept[0][2]


def test_an_unmigrated_run_stays() -> None:
    view = MemoryQuads(R.plan_quads() | R.registration_quads() | legacy_run("Released"))
    assert "never migrated" in archive(view, [R.run]).kept[0][2]


def test_only_the_named_runs() -> None:
    view = MemoryQuads(finished())
    assert archive(view, [IRI("urn:x:other")]).runs == ()


def test_an_abandoned_plan_leaves_with_its_last_run() -> None:
    view = MemoryQuads(finished())
    planned = archive(view, plans=[R.plan])
    assert planned.plans == ((R.plan, None),)
    view.apply(planned.delta)
    assert set(view) == R.registration_quads() | R.about(R.run, (ARCHIVED, number(4)))


def test_a_plan_with_runs_stays() -> None:
    second = IRI("http://example.org/a/second-run")
    view = MemoryQuads(finished() | R.run_quads(run=second))
    planned = archive(view, plans=[R.plan])
    assert planned.plans == ()
    assert planned.kept == ((R.plan, None, "1 of its runs stay"),)


def test_a_step_that_another_plan_declares_stays() -> None:
    second = IRI("http://example.org/a/second-plan")
    other = {q._replace(s=second) for q in R.definition_quads()}
    view = MemoryQuads(R.plan_quads() | other)
    view.apply(archive(view, plans=[R.plan]).delta)
    assert set(view) == (R.plan_quads() - R.definition_quads()) | other
    view.apply(archive(view, plans=[second]).delta)
    assert set(view) == set()
