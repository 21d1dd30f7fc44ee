"""The guard over any data and any change, in every mode: it answers, and never breaks."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.support.legacy import legacy_plan, legacy_run, v1
from tests.support.quads import MemoryQuads
from tests.support.workflows import NAMES, OPERATOR, Release, key, number, text
from treadle.graph.delta import Respelled
from treadle.graph.doctor import Surroundings, examine
from treadle.graph.fold import current_registrations, fold_all
from treadle.graph.guard import Context, Refusal, Verdict, judge
from treadle.graph.guard.reasons import BY_NAME
from treadle.graph.migrate import Answers, plan_migration
from treadle.graph.terms import IRI, XSD, BlankNode, Literal, Quad, Resource, Term
from treadle.graph.view import Graph
from treadle.graph.vocabulary import ARCHIVED, RDF_TYPE

R = Release()
GRAPHS: list[Graph] = [None, IRI("urn:g:1")]
PREDICATES = sorted({p.iri for row in NAMES.entities.values() for p in row.properties} | {RDF_TYPE, ARCHIVED})
TYPES = sorted({t for row in NAMES.entities.values() for t in row.types})
SUBJECTS: list[Resource] = [
    R.plan,
    R.run,
    R.registration,
    R.step("submit"),
    R.step("approve"),
    R.submit().event,
    IRI("urn:x:"),
    BlankNode("b"),
]
ODD = [
    text(""),
    text("|"),
    text("\x00\x1f"),
    text("Draft"),
    text("Review"),
    text("\U0010ffff" * 3),
    text(key("a")),
    text("01" + "00" * 31),
    text("0" * 128),
    text("2026-11-30T20:00:00Z"),
    number(0),
    number(1),
    number("9" * 5000),
    number("-0"),
    number("not a number"),
    Literal("2", XSD + "int"),
    Literal("x", language="en-gb"),
    Literal("x", "urn:x:datatype"),
]
terms: st.SearchStrategy[Term] = st.one_of(
    st.sampled_from(ODD),
    st.sampled_from(SUBJECTS),
    st.sampled_from(TYPES),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5).map(Literal),
)
any_quads = st.builds(
    Quad, st.sampled_from(SUBJECTS), st.sampled_from(PREDICATES), terms, st.sampled_from(GRAPHS)
)
WHOLE = sorted(
    R.setup()
    | R.submit().added()
    | legacy_plan()
    | legacy_run("Review")
    | v1("submit", "2025-01-01T00:00:00Z"),
    key=lambda quad: quad[:3],
)
some_quads = st.sets(st.one_of(any_quads, st.sampled_from(WHOLE)), max_size=25)
CONTEXTS = [
    OPERATOR,
    Context(),
    replace(OPERATOR, enrolled=False, verify_transitions=True),
    Context(enrolled=False),
    replace(OPERATOR, identity_graphs=frozenset([IRI("urn:g:1")])),
]


@settings(max_examples=effort(300), deadline=None)
@given(some_quads, some_quads, some_quads, st.sampled_from(CONTEXTS), any_quads)
def test_the_guard_always_answers(
    before: set[Quad], removed: set[Quad], added: set[Quad], context: Context, written: Quad
) -> None:
    view = MemoryQuads(before)
    delta = replace(
        view.delta(removed, added), respelled=(Respelled("insert", written, written._replace(o=number(1))),)
    )
    answer = judge(view, delta, context)
    assert isinstance(answer, Verdict | Refusal)
    if isinstance(answer, Refusal):
        assert answer.reason in BY_NAME
        assert str(answer.error())


@settings(max_examples=effort(150), deadline=None)
@given(some_quads)
def test_fold_migration_and_doctor_always_answer(quads: set[Quad]) -> None:
    view = MemoryQuads(quads)
    registered = current_registrations(view, NAMES)
    for folded in fold_all(view, NAMES, registered):
        assert folded.ok or all(problem.detail for problem in folded.problems)
    migration = plan_migration(view, NAMES, registered, Answers(unsigned=None))
    assert all(item.detail for item in migration.items)
    assert all(finding.detail for finding in examine(view, NAMES, registered, Surroundings()))


@settings(max_examples=effort(150), deadline=None)
@given(some_quads)
def test_a_migration_that_is_not_blocked_leaves_nothing_to_migrate(quads: set[Quad]) -> None:
    view = MemoryQuads(quads)
    answers = Answers(unsigned=None, initial={R.plan: "Draft"}, terminal={R.plan: ["Released"]})
    migration = plan_migration(view, NAMES, current_registrations(view, NAMES), answers)
    view.apply(migration.delta)
    again = plan_migration(view, NAMES, current_registrations(view, NAMES), answers)
    assert not again.delta
    if not migration.blocked:
        assert not again.blocked
