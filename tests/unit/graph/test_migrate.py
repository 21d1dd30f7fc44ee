"""Migration: what it writes, what it refuses to guess, and that afterwards everything folds."""

from __future__ import annotations

import pytest

from tests.support.legacy import R, legacy_plan, legacy_run, v1
from tests.support.quads import MemoryQuads
from tests.support.workflows import NAMES, OPERATOR, Release, number, text, without
from treadle.graph.entities import read_plan
from treadle.graph.fold import current_registrations, fold_all
from treadle.graph.guard import Verdict, judge
from treadle.graph.guard.fields import entity_problem
from treadle.graph.migrate import Answers, Migration, Severity, plan_migration
from treadle.graph.terms import IRI, BlankNode, Literal, Quad
from treadle.graph.vocabulary import ACCEPTED_UNSIGNED, LABEL, RDF_TYPE, Kind

KEYS = R.registration_quads()
SUBMIT = v1("submit", "2025-01-01T00:00:00Z")
INITIAL = Answers(initial={R.plan: "Draft"})
REJECT = v1("reject", "2025-01-02T00:00:00Z")


def migrate(quads: set[Quad], answers: Answers | None = None) -> tuple[Migration, MemoryQuads]:
    """The migration and the dataset after it; a second one then finds nothing to do."""
    view = MemoryQuads(quads)
    migration = plan_migration(view, NAMES, current_registrations(view, NAMES), answers or Answers())
    view.apply(migration.delta)
    again = plan_migration(view, NAMES, current_registrations(view, NAMES), answers or Answers())
    assert not again.delta
    assert again.blocked == migration.blocked
    return migration, view


def blocks(migration: Migration) -> list[tuple[str, str | None]]:
    return [(str(i.entity), i.field) for i in migration.items if i.severity is Severity.BLOCKS]


def check_enrolled(view: MemoryQuads) -> None:
    """Every entity is whole, every run folds, and the next signed advance is accepted."""
    for kind in (Kind.DEFINITION, Kind.STEP, Kind.RUN):
        entity = NAMES.entities[kind]
        for subject, graph in view.subjects(RDF_TYPE, entity.marker, None):
            assert entity_problem(entity, view.facts(subject, graph)) is None
    for folded in fold_all(view, NAMES, current_registrations(view, NAMES)):
        assert folded.ok, folded.problems


def test_nothing_to_do_for_whole_data() -> None:
    migration, _ = migrate(R.setup())
    assert migration.done
    assert migration.items == ()


def test_a_legacy_plan_and_run_become_whole() -> None:
    migration, view = migrate(legacy_plan() | KEYS | legacy_run("Draft") | SUBMIT | REJECT, INITIAL)
    assert not migration.blocked
    assert not migration.done
    check_enrolled(view)
    plan = read_plan(view, R.plan, None, NAMES)
    assert plan is not None
    assert plan.initial == "Draft"
    assert plan.terminal == {"Released"}
    assert set(view.objects(R.run, NAMES.current_revision, None)) == {number(2)}
    advance = R.advance("submit", "Draft", "Review", 2)
    answer = judge(view, view.delta(advance.removed(), advance.added()), OPERATOR)
    assert isinstance(answer, Verdict)


def test_events_are_not_touched() -> None:
    migration, _ = migrate(legacy_plan() | KEYS | legacy_run("Review") | SUBMIT)
    event = next(iter(SUBMIT)).s
    assert not [quad for quad in (*migration.delta.added, *migration.delta.removed) if quad.s == event]


def test_every_written_statement_is_reported() -> None:
    migration, _ = migrate(legacy_plan() | KEYS | legacy_run("Review") | SUBMIT)
    reported = {(item.entity, item.field) for item in migration.items if item.severity is Severity.WRITES}
    assert {(q.s, NAMES.short(q.p)) for q in migration.delta.added} == reported


def test_a_lone_workflow_that_is_other_data_is_left_alone() -> None:
    lone = {Quad(IRI("urn:x:w"), RDF_TYPE, NAMES.workflow), Quad(IRI("urn:x:w"), LABEL, text("other"))}
    migration, _ = migrate(lone)
    assert migration.done
    assert migration.items == ()


def test_a_missing_label_becomes_the_name() -> None:
    _, view = migrate(without(legacy_plan(), LABEL))
    assert set(view.objects(R.step("submit"), LABEL, None)) == {text("submit")}
    assert set(view.objects(R.plan, LABEL, None)) == {text("plan")}


def test_a_step_of_two_starts_becomes_two_steps_of_one_name() -> None:
    cancel = R.step_quads("cancel", "Draft", "Cancelled") | R.about(
        R.step("cancel"), (NAMES.from_state, text("Review"))
    )
    plan = legacy_plan() | cancel | R.about(R.plan, (NAMES.has_step, R.step("cancel")))
    events = SUBMIT | v1("cancel", "2025-01-03T00:00:00Z", states=("Review", "Cancelled"))
    migration, view = migrate(plan | KEYS | legacy_run("Cancelled") | events, INITIAL)
    assert not migration.blocked, migration.items
    check_enrolled(view)
    found = read_plan(view, R.plan, None, NAMES)
    assert found is not None
    cancels = {(step.from_state, step.to_state) for step in found.steps if step.name == "cancel"}
    assert cancels == {("Draft", "Cancelled"), ("Review", "Cancelled")}


def test_a_split_step_is_declared_by_each_plan_that_shares_it() -> None:
    cancel = R.step_quads("cancel", "Draft", "Cancelled") | R.about(
        R.step("cancel"), (NAMES.from_state, text("Review"))
    )
    second = IRI("http://example.org/a/second-plan")
    one = legacy_plan() | R.about(R.plan, (NAMES.has_step, R.step("cancel")))
    two = {q._replace(s=second) for q in one if q.s == R.plan}
    answers = Answers(initial={R.plan: "Draft", second: "Draft"})
    migration, view = migrate(one | two | cancel, answers)
    assert not migration.blocked, migration.items
    for plan in (R.plan, second):
        found = read_plan(view, plan, None, NAMES)
        assert found is not None
        assert len([step for step in found.steps if step.name == "cancel"]) == 2


def test_a_step_of_many_starts_and_ends_is_not_guessed() -> None:
    extra = R.about(R.step("submit"), (NAMES.from_state, text("Idea")), (NAMES.to_state, text("Dropped")))
    migration, _ = migrate(legacy_plan() | extra)
    assert (R.step("submit").value, "aegis:toState") in blocks(migration)


def test_an_initial_state_is_written_only_where_one_is_first() -> None:
    """Every state of the plan's loop is led to, unless the plan says more."""
    migration, _ = migrate(legacy_plan())
    assert blocks(migration) == [(R.plan.value, "aegis:initialState")]
    answered, view = migrate(legacy_plan(), INITIAL)
    assert not answered.blocked
    assert set(view.objects(R.plan, NAMES.initial_state, None)) == {text("Draft")}


def test_a_wrong_answer_is_caught() -> None:
    migration, _ = migrate(legacy_plan(), Answers(initial={R.plan: "Nowhere"}))
    assert migration.blocked


def test_terminal_states_may_be_answered() -> None:
    loop = R.step_quads("reopen", "Released", "Draft") | R.about(R.plan, (NAMES.has_step, R.step("reopen")))
    initial = R.about(R.plan, (NAMES.initial_state, text("Draft")))
    migration, _ = migrate(legacy_plan() | loop | initial)
    assert blocks(migration) == [(R.plan.value, "aegis:terminalState")]
    wrong, _ = migrate(legacy_plan() | loop | initial, Answers(terminal={R.plan: ["Released"]}))
    assert wrong.blocked  # a step leaves it


def test_an_edge_out_of_a_terminal_state_is_reported() -> None:
    quads = legacy_plan() | R.about(
        R.plan, (NAMES.initial_state, text("Draft")), (NAMES.terminal_state, text("Review"))
    )
    migration, _ = migrate(quads)
    assert (R.plan.value, "aegis:hasStep") in blocks(migration)


@pytest.mark.parametrize(
    "extra, field",
    [
        ((NAMES.has_step, IRI("http://example.org/nowhere/step")), "aegis:hasStep"),
        ((NAMES.has_step, text("submit")), "aegis:hasStep"),
        ((LABEL, text("A second label")), "rdfs:label"),
        ((NAMES.initial_state, text("Second")), "aegis:initialState"),
    ],
)
def test_what_cannot_be_repaired_blocks(extra: tuple[IRI, IRI | Literal], field: str) -> None:
    initial = R.about(R.plan, (NAMES.initial_state, text("Draft")))
    migration, _ = migrate(legacy_plan() | initial | R.about(R.plan, extra))
    assert field in {at for _, at in blocks(migration)}


def test_a_step_in_another_graph_blocks_and_says_so() -> None:
    moved = {q._replace(g=IRI("urn:g:1")) if q.s == R.step("reject") else q for q in legacy_plan()}
    migration, _ = migrate(moved)
    assert any("another graph" in item.detail for item in migration.items if item.severity is Severity.BLOCKS)


def test_blank_nodes_block() -> None:
    blank = {q._replace(s=BlankNode("p")) for q in legacy_plan() if q.s == R.plan}
    migration, _ = migrate((legacy_plan() | blank) | {Quad(BlankNode("r"), RDF_TYPE, NAMES.run)})
    assert {"_:p", "_:r"} <= {entity for entity, _ in blocks(migration)}


# --- runs -----------------------------------------------------------------------------------------------


def whole_plan() -> set[Quad]:
    return R.plan_quads() | KEYS


def test_two_live_states_are_not_guessed() -> None:
    quads = whole_plan() | legacy_run("Draft") | R.about(R.run, (NAMES.current_state, text("Review")))
    migration, _ = migrate(quads)
    assert blocks(migration) == [(R.run.value, "aegis:currentState")]


def test_a_missing_state_follows_from_the_events() -> None:
    migration, view = migrate(whole_plan() | without(legacy_run("Draft"), NAMES.current_state) | SUBMIT)
    assert not migration.blocked
    assert set(view.objects(R.run, NAMES.current_state, None)) == {text("Review")}
    check_enrolled(view)


def test_a_state_that_the_events_do_not_lead_to_blocks() -> None:
    migration, _ = migrate(whole_plan() | legacy_run("Draft") | SUBMIT)
    assert blocks(migration) == [(R.run.value, "aegis:currentState")]


def test_a_revision_that_is_not_the_number_of_events_blocks() -> None:
    migration, _ = migrate(whole_plan() | R.run_quads("Review", 5) | SUBMIT)
    assert blocks(migration) == [(R.run.value, "aegis:currentRevision")]


def test_a_revision_that_is_spelled_as_text_is_replaced() -> None:
    run = legacy_run("Review") | R.about(R.run, (NAMES.current_revision, text("1")))
    migration, view = migrate(whole_plan() | run | SUBMIT)
    assert not migration.blocked
    assert set(view.objects(R.run, NAMES.current_revision, None)) == {number(1)}


def test_events_that_do_not_fold_block_an_active_run() -> None:
    migration, _ = migrate(whole_plan() | legacy_run("Draft") | REJECT)
    assert migration.blocked


def test_and_only_warn_for_a_finished_one() -> None:
    approve = v1("approve", "2025-01-03T00:00:00Z")
    migration, view = migrate(whole_plan() | legacy_run("Released") | approve)
    assert not migration.blocked
    assert [item.severity for item in migration.items] == [Severity.WARNS, Severity.WARNS]
    assert not list(view.objects(R.run, NAMES.current_revision, None))
    check = list(fold_all(view, NAMES, current_registrations(view, NAMES)))
    assert [folded.legacy for folded in check] == [True]


def test_a_finished_run_that_folds_is_migrated_too() -> None:
    approve = v1("approve", "2025-01-03T00:00:00Z")
    _, view = migrate(whole_plan() | legacy_run("Released") | SUBMIT | approve)
    check_enrolled(view)
    assert set(view.objects(R.run, NAMES.current_revision, None)) == {number(2)}


@pytest.mark.parametrize("broken", ["unsigned", "doubtful"])
def test_unsigned_events_block_until_they_are_accepted(broken: str) -> None:
    event = v1("submit", "2025-01-01T00:00:00Z", signed=False)
    if broken == "doubtful":
        event |= {Quad(next(iter(event)).s, NAMES.signature, text("0" * 128))}
    quads = whole_plan() | legacy_run("Review") | event
    migration, _ = migrate(quads)
    assert blocks(migration) == [(R.run.value, "aegis:signature")]
    for accepted in (frozenset([R.run]), None):
        answered, view = migrate(quads, Answers(unsigned=accepted))
        assert not answered.blocked
        assert set(view.objects(R.run, ACCEPTED_UNSIGNED, None)) == {number(1)}
        assert all(f.ok for f in fold_all(view, NAMES, current_registrations(view, NAMES)))
    other, _ = migrate(quads, Answers(unsigned=frozenset([IRI("urn:x:other-run")])))
    assert other.blocked


def test_a_run_of_no_definition_blocks() -> None:
    migration, _ = migrate(legacy_run("Draft"))
    assert blocks(migration) == [(R.run.value, "aegis:runOf")]


def test_the_same_names_in_two_graphs_are_migrated_apart() -> None:
    other = Release(R.prefix, IRI("http://example.org/g"))
    quads = legacy_plan() | KEYS | legacy_run("Draft") | SUBMIT | REJECT
    quads |= legacy_plan(other) | other.about(other.plan, (NAMES.initial_state, text("Draft")))
    quads |= legacy_run("Draft", other)
    migration, view = migrate(quads, INITIAL)
    assert not migration.blocked
    assert set(view.objects(R.run, NAMES.current_revision, None)) == {number(2)}
    assert set(view.objects(R.run, NAMES.current_revision, other.graph)) == {number(0)}
